//! The runtime: what a device is, and which file runs which primitive.

use std::fmt;

use numr_core::classic::Client;
use numr_core::prim::{Meta, Prim};
use numr_core::runtime::{Outputs, Support};
use numr_core::{DType, Device, Result, Runtime, Tensor};
use smallvec::{SmallVec, smallvec};

use crate::storage::{Buffer, Storage};
use crate::{contract, copy, fused, gather, map, reduce, scan, sort};

/// The processor and its memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct CpuDevice;

impl CpuDevice {
    /// The processor.
    pub const fn new() -> CpuDevice {
        CpuDevice
    }
}

impl fmt::Display for CpuDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("cpu")
    }
}

impl Device for CpuDevice {
    fn id(&self) -> usize {
        0
    }

    fn name(&self) -> String {
        format!("cpu ({})", crate::isa::isa().name())
    }
}

/// The classic handle on the processor.
pub type CpuClient = Client<CpuRuntime>;

/// Runs tensors on the processor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct CpuRuntime;

impl Runtime for CpuRuntime {
    type Device = CpuDevice;
    type Storage = Storage;
    type Client = CpuClient;

    fn name() -> &'static str {
        "cpu"
    }

    fn default_device() -> CpuDevice {
        CpuDevice
    }

    fn default_client(device: &CpuDevice) -> CpuClient {
        Client::new(*device)
    }

    fn supports(_: &CpuDevice, prim: &Prim, dtypes: &[DType]) -> Support {
        match prim {
            Prim::Map(m) => map::supports(m, dtypes),
            Prim::View(_) | Prim::Contiguous | Prim::Concat { .. } | Prim::Assign { .. } => Support::Native,
            Prim::Reduce(r) => reduce::supports(r, dtypes),
            Prim::Scan(s) => scan::supports(s, dtypes),
            Prim::Contract { dtype } => contract::supports(*dtype, dtypes),
            Prim::Gather { .. } => gather::supports_gather(dtypes),
            Prim::Scatter { op, .. } => gather::supports_scatter(*op, dtypes),
            Prim::Nonzero => gather::supports_nonzero(dtypes),
            Prim::Sort { .. } => sort::supports(dtypes),
            Prim::Fused(f) => fused::supports(f, dtypes),
        }
    }

    fn run(_: &CpuDevice, prim: &Prim, inputs: &[&Tensor<CpuRuntime>], outs: &[Meta]) -> Result<Outputs<CpuRuntime>> {
        let one = |t: Result<Tensor<CpuRuntime>>| -> Result<Outputs<CpuRuntime>> { Ok(smallvec![t?]) };
        match (prim, inputs, outs) {
            (Prim::Map(m), _, _) => map::map(m, inputs, outs),
            (Prim::View(v), [x], _) => {
                let layout = v.apply(x.layout())?;
                one(Ok(Tensor::from_storage(x.storage().clone(), layout, x.dtype(), CpuDevice)))
            }
            (Prim::Contiguous, [x], [out]) => one(copy::contiguous(x, out)),
            (Prim::Concat { axis }, _, [out]) => one(copy::concat(*axis, inputs, out)),
            (Prim::Assign { view }, [base, src], [out]) => one(copy::assign(view, base, src, out)),
            (Prim::Reduce(r), [x], [out]) => one(reduce::reduce(r, x, out)),
            (Prim::Scan(s), [x], [out]) => one(scan::scan(s, x, out)),
            (Prim::Contract { .. }, [a, b], [out]) => one(contract::contract(a, b, out)),
            (Prim::Gather { axis }, [x, index], [out]) => one(gather::gather(*axis, x, index, out)),
            (Prim::Scatter { axis, op }, [base, index, src], [out]) => {
                one(gather::scatter(*axis, *op, base, index, src, out))
            }
            (Prim::Nonzero, [x], [out]) => one(gather::nonzero(x, out)),
            (Prim::Sort { axis, descending }, [x], _) => sort::sort(*axis, *descending, x, outs),
            (Prim::Fused(f), _, _) => fused::fused(f, inputs, outs),
            // `infer` has counted the operands and the results (contract, point 2).
            (_, _, _) => Ok(SmallVec::new()),
        }
    }

    fn upload(_: &CpuDevice, _: DType, bytes: &[u8]) -> Result<Storage> {
        let mut buffer = Buffer::new(bytes.len())?;
        buffer.slice_mut::<u8>().copy_from_slice(bytes);
        Ok(buffer.share())
    }

    fn download(tensor: &Tensor<CpuRuntime>, bytes: &mut [u8]) -> Result<()> {
        copy::download(tensor, bytes)
    }

    fn same_storage(a: &Storage, b: &Storage) -> bool {
        std::sync::Arc::ptr_eq(a, b)
    }

    fn synchronize(_: &CpuDevice) -> Result<()> {
        Ok(())
    }
}
