//! The runtime: what a device is, and which file runs which primitive.

use crate::context::{self, Context};
use crate::memory::Buffer;
use crate::{contract, copy, fold, index, map, sort};
use numr_core::classic::Client;
use numr_core::prim::{Meta, Prim, ScatterOp};
use numr_core::runtime::{Outputs, Support};
use numr_core::{DType, Device, Error, Layout, Result, Runtime, Tensor};
use smallvec::{SmallVec, smallvec};
use std::fmt;
use std::sync::Arc;

/// An adapter, by its number in [`crate::devices`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct WgpuDevice {
    number: usize,
}

impl WgpuDevice {
    /// The adapter of this number, opened.
    ///
    /// # Errors
    /// `Error::Unsupported` if there is none; `Error::Backend` if it does not open.
    ///
    /// ```
    /// if let Ok(device) = numr_wgpu::WgpuDevice::new(0) {
    ///     let x = numr_core::Tensor::<numr_wgpu::WgpuRuntime>::from_slice(&[1.0f32, 2.0], &[2], &device);
    ///     assert_eq!(x.add(&x)?.to_vec::<f32>(), [2.0, 4.0]);
    /// }
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    pub fn new(number: usize) -> Result<WgpuDevice> {
        Context::of(number).map(|_| WgpuDevice { number })
    }

    /// Is it a processor of its own? Software is not.
    pub fn is_hardware(&self) -> bool {
        context::is_hardware(self.number)
    }
}

impl fmt::Display for WgpuDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("wgpu:{}", self.number))
    }
}

impl Device for WgpuDevice {
    fn id(&self) -> usize {
        self.number
    }

    fn name(&self) -> String {
        context::name(self.number).unwrap_or_else(|| self.to_string())
    }
}

/// The classic handle on an adapter.
pub type WgpuClient = Client<WgpuRuntime>;

/// Runs tensors through WebGPU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct WgpuRuntime;

/// The context of a device.
///
/// # Errors
/// Those of opening it.
pub(crate) fn context(device: &WgpuDevice) -> Result<Arc<Context>> {
    Context::of(device.number)
}

/// A contiguous tensor of this buffer.
pub(crate) fn tensor(context: &Context, buffer: Arc<Buffer>, meta: &Meta) -> Tensor<WgpuRuntime> {
    let device = WgpuDevice { number: context.number };
    Tensor::from_storage(buffer, Layout::contiguous(meta.shape.clone()), meta.dtype, device)
}

impl Runtime for WgpuRuntime {
    type Device = WgpuDevice;
    type Storage = Arc<Buffer>;
    type Client = WgpuClient;

    fn name() -> &'static str {
        "wgpu"
    }

    fn default_device() -> WgpuDevice {
        WgpuDevice::default()
    }

    fn default_client(device: &WgpuDevice) -> WgpuClient {
        Client::new(*device)
    }

    fn supports(device: &WgpuDevice, prim: &Prim, dtypes: &[DType]) -> Support {
        let context = match context(device) {
            Ok(context) => context,
            Err(e) => return Support::No { reason: e.to_string().into() },
        };
        if let Prim::Map(m) = prim {
            return map::supports(&context, m, dtypes);
        }
        let no = |reason: &'static str| Support::No { reason: reason.into() };
        if matches!(prim, Prim::View(_)) {
            return Support::Native;
        }
        let lack = |dtypes: &[DType]| match dtypes.iter().find_map(|&d| context.lacks(d)) {
            Some(reason) => no(reason),
            None => Support::Native,
        };
        // What is moved has a size and no meaning, and indices are read and written as two words: any adapter can.
        let movable = |dtype: DType| lack(&[context.moved(dtype)]);
        match prim {
            Prim::Map(_) | Prim::View(_) => Support::Native,
            Prim::Contiguous | Prim::Concat { .. } | Prim::Assign { .. } | Prim::Gather { .. } => movable(dtypes[0]),
            Prim::Scatter { op: ScatterOp::Set, .. } => movable(dtypes[0]),
            Prim::Reduce(r) => fold::supports(&context, r.op, dtypes),
            Prim::Scan(s) => fold::supports_scan(&context, s.op, dtypes),
            Prim::Contract { dtype } => contract::supports(&context, *dtype, dtypes),
            Prim::Scatter { .. } | Prim::Sort { .. } | Prim::Nonzero => lack(&dtypes[..1]),
            Prim::Fused(_) => no("it runs as the composite that defines it"),
        }
    }

    fn run(
        device: &WgpuDevice,
        prim: &Prim,
        inputs: &[&Tensor<WgpuRuntime>],
        outs: &[Meta],
    ) -> Result<Outputs<WgpuRuntime>> {
        let context = context(device)?;
        let one = |t: Result<Tensor<WgpuRuntime>>| -> Result<Outputs<WgpuRuntime>> { Ok(smallvec![t?]) };
        match (prim, inputs, outs) {
            (Prim::Map(m), _, _) => map::map(&context, m, inputs, outs),
            (Prim::View(v), [x], _) => {
                let layout = v.apply(x.layout())?;
                one(Ok(Tensor::from_storage(x.storage().clone(), layout, x.dtype(), *device)))
            }
            (Prim::Contiguous, [x], [out]) => one(map::contiguous(&context, x, out)),
            (Prim::Concat { axis }, _, [out]) => one(copy::concat(&context, *axis, inputs, out)),
            (Prim::Assign { view }, [base, src], [out]) => one(copy::assign(&context, view, base, src, out)),
            (Prim::Reduce(r), [x], [out]) => one(fold::reduce(&context, r, x, out)),
            (Prim::Scan(s), [x], [out]) => one(fold::scan(&context, s, x, out)),
            (Prim::Contract { .. }, [a, b], [out]) => one(contract::contract(&context, a, b, out)),
            (Prim::Gather { axis }, [x, i], [out]) => one(index::gather(&context, *axis, x, i, out)),
            (Prim::Scatter { axis, op }, [base, i, src], [out]) => {
                one(index::scatter(&context, *axis, *op, base, i, src, out))
            }
            (Prim::Nonzero, [x], [out]) => one(index::nonzero(&context, x, out)),
            (Prim::Sort { axis, descending }, [x], [values, order]) => {
                sort::sort(&context, *axis, *descending, x, values, order)
            }
            // `supports` said no, or `infer` has counted wrong (contract, point 2).
            (_, _, _) => Err(Error::unsupported(prim.name(), None, "wgpu", "it is not there yet")),
        }
    }

    fn upload(device: &WgpuDevice, _: DType, bytes: &[u8]) -> Result<Arc<Buffer>> {
        Buffer::upload(&context(device)?, bytes)
    }

    fn download(tensor: &Tensor<WgpuRuntime>, bytes: &mut [u8]) -> Result<()> {
        if tensor.is_contiguous() && tensor.layout().offset() == 0 {
            return tensor.storage().download(0, bytes);
        }
        let meta = Meta { shape: tensor.layout().shape().clone(), dtype: tensor.dtype() };
        map::contiguous(&context(tensor.device())?, tensor, &meta)?.storage().download(0, bytes)
    }

    fn same_storage(a: &Arc<Buffer>, b: &Arc<Buffer>) -> bool {
        Arc::ptr_eq(a, b)
    }

    fn synchronize(device: &WgpuDevice) -> Result<()> {
        context(device)?.wait()
    }
}

/// The strides of `t` along some axes, and their sizes.
pub(crate) fn axes_of(t: &Tensor<WgpuRuntime>, axes: &[usize]) -> (SmallVec<[usize; 8]>, SmallVec<[isize; 8]>) {
    (axes.iter().map(|&k| t.shape()[k]).collect(), axes.iter().map(|&k| t.strides()[k]).collect())
}
