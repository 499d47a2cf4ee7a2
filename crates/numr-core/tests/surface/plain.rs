//! The CPU without its fused kernels: a runtime of thirty lines, on which the composites run.

use super::*;
use numr_core::Runtime;
use numr_core::classic::Client;
use numr_core::prim::{Meta, Prim};
use numr_core::runtime::{Outputs, Support};

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plain;

type Storage = <CpuRuntime as Runtime>::Storage;

fn moved<A: Runtime<Storage = Storage, Device = CpuDevice>, B: Runtime<Storage = Storage, Device = CpuDevice>>(
    t: &Tensor<A>,
) -> Tensor<B> {
    Tensor::from_storage(t.storage().clone(), t.layout().clone(), t.dtype(), *t.device())
}

impl Runtime for Plain {
    type Device = CpuDevice;
    type Storage = Storage;
    type Client = Client<Plain>;

    fn name() -> &'static str {
        "plain"
    }

    fn default_device() -> CpuDevice {
        device()
    }

    fn default_client(device: &CpuDevice) -> Client<Plain> {
        Client::new(*device)
    }

    fn supports(device: &CpuDevice, prim: &Prim, dtypes: &[DType]) -> Support {
        match prim {
            Prim::Fused(_) => Support::No { reason: "composites only".into() },
            prim => CpuRuntime::supports(device, prim, dtypes),
        }
    }

    fn run(device: &CpuDevice, prim: &Prim, inputs: &[&Tensor<Plain>], outs: &[Meta]) -> Result<Outputs<Plain>> {
        assert!(!matches!(prim, Prim::Fused(_)), "refused, and yet run");
        let inputs: Vec<T> = inputs.iter().map(|t| moved(t)).collect();
        let outputs = CpuRuntime::run(device, prim, &inputs.iter().collect::<Vec<_>>(), outs)?;
        Ok(outputs.iter().map(moved).collect())
    }

    fn upload(device: &CpuDevice, dtype: DType, bytes: &[u8]) -> Result<Storage> {
        CpuRuntime::upload(device, dtype, bytes)
    }

    fn download(tensor: &Tensor<Plain>, bytes: &mut [u8]) -> Result<()> {
        CpuRuntime::download(&moved(tensor), bytes)
    }

    fn same_storage(a: &Storage, b: &Storage) -> bool {
        CpuRuntime::same_storage(a, b)
    }

    fn synchronize(device: &CpuDevice) -> Result<()> {
        CpuRuntime::synchronize(device)
    }
}
