//! The runtime: what a device is, and which file runs which primitive.

use crate::context::{Context, locked};
use crate::memory::{Buffer, MemoryStats};
use crate::{contract, copy, driver, fold, index, map, rows, scan, sort};
use numr_core::classic::Client;
use numr_core::prim::{Meta, Prim};
use numr_core::runtime::{Outputs, Support};
use numr_core::{DType, Device, Error, Layout, Result, Runtime, Tensor};
use smallvec::smallvec;
use std::fmt;
use std::sync::Arc;

/// A GPU, by its number in [`crate::devices`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct CudaDevice {
    number: usize,
}

impl CudaDevice {
    /// The GPU of this number, opened.
    ///
    /// # Errors
    /// `Error::Unsupported` if there is no driver or no such GPU.
    ///
    /// ```
    /// if let Ok(device) = numr_cuda::CudaDevice::new(0) {
    ///     let x = numr_core::Tensor::<numr_cuda::CudaRuntime>::from_slice(&[1.0f32, 2.0], &[2], &device);
    ///     assert_eq!(x.add(&x)?.to_vec::<f32>(), [2.0, 4.0]);
    /// }
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    pub fn new(number: usize) -> Result<CudaDevice> {
        Context::of(number).map(|_| CudaDevice { number })
    }

    /// What its memory is used for by this process.
    ///
    /// # Errors
    /// Those of opening it.
    pub fn memory_stats(&self) -> Result<MemoryStats> {
        Ok(locked(&Context::of(self.number)?.pool).stats)
    }
}

impl fmt::Display for CudaDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("cuda:{}", self.number))
    }
}

impl Device for CudaDevice {
    fn id(&self) -> usize {
        self.number
    }

    fn name(&self) -> String {
        driver::names().ok().and_then(|n| n.into_iter().nth(self.number)).unwrap_or_else(|| self.to_string())
    }
}

/// The classic handle on a GPU.
pub type CudaClient = Client<CudaRuntime>;

/// Runs tensors through CUDA.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct CudaRuntime;

/// A contiguous tensor of this buffer.
pub(crate) fn tensor(context: &Context, buffer: Arc<Buffer>, meta: &Meta) -> Tensor<CudaRuntime> {
    let device = CudaDevice { number: context.device.number };
    Tensor::from_storage(buffer, Layout::contiguous(meta.shape.clone()), meta.dtype, device)
}

impl Runtime for CudaRuntime {
    type Device = CudaDevice;
    type Storage = Arc<Buffer>;
    type Client = CudaClient;

    fn name() -> &'static str {
        "cuda"
    }

    fn default_device() -> CudaDevice {
        CudaDevice::default()
    }

    fn default_client(device: &CudaDevice) -> CudaClient {
        Client::new(*device)
    }

    fn supports(_: &CudaDevice, prim: &Prim, dtypes: &[DType]) -> Support {
        match prim {
            Prim::Map(m) => map::supports(m, dtypes),
            Prim::View(_) | Prim::Contiguous | Prim::Concat { .. } | Prim::Assign { .. } => Support::Native,
            Prim::Reduce(_) | Prim::Scan(_) | Prim::Contract { .. } => Support::Native,
            Prim::Gather { .. } | Prim::Scatter { .. } | Prim::Sort { .. } | Prim::Fused(_) | Prim::Nonzero => {
                Support::Native
            }
        }
    }

    fn run(
        device: &CudaDevice,
        prim: &Prim,
        inputs: &[&Tensor<CudaRuntime>],
        outs: &[Meta],
    ) -> Result<Outputs<CudaRuntime>> {
        let context = Context::of(device.number)?;
        let one = |t: Result<Tensor<CudaRuntime>>| -> Result<Outputs<CudaRuntime>> { Ok(smallvec![t?]) };
        match (prim, inputs, outs) {
            (Prim::Map(m), _, _) => map::map(context, m, inputs, outs),
            (Prim::View(v), [x], _) => {
                let layout = v.apply(x.layout())?;
                one(Ok(Tensor::from_storage(x.storage().clone(), layout, x.dtype(), *device)))
            }
            (Prim::Contiguous, [x], [out]) => one(map::contiguous(context, x, out)),
            (Prim::Concat { axis }, _, [out]) => one(copy::concat(context, *axis, inputs, out)),
            (Prim::Assign { view }, [base, src], [out]) => one(copy::assign(context, view, base, src, out)),
            (Prim::Reduce(r), [x], [out]) => one(fold::reduce(context, r, x, out)),
            (Prim::Scan(s), [x], [out]) => one(scan::scan(context, s, x, out)),
            (Prim::Contract { .. }, [a, b], [out]) => one(contract::contract(context, a, b, out)),
            (Prim::Gather { axis }, [x, i], [out]) => one(index::gather(context, *axis, x, i, out)),
            (Prim::Scatter { axis, op }, [base, i, src], [out]) => {
                one(index::scatter(context, *axis, *op, base, i, src, out))
            }
            (Prim::Sort { axis, descending }, [x], [values, order]) => {
                sort::sort(context, *axis, *descending, x, values, order)
            }
            (Prim::Nonzero, [x], _) => one(index::nonzero(context, x)),
            (Prim::Fused(f), _, _) => rows::fused(context, f, inputs, outs),
            // `supports` said no, or `infer` has counted wrong (contract, point 2).
            (_, _, _) => Err(Error::unsupported(prim.name(), None, "cuda", "it is not there yet")),
        }
    }

    fn upload(device: &CudaDevice, _: DType, bytes: &[u8]) -> Result<Arc<Buffer>> {
        let context = Context::of(device.number)?;
        let buffer = Buffer::new(context, bytes.len())?;
        // SAFETY: the buffer was made for as many bytes.
        unsafe { context.device.write(buffer.address, bytes)? };
        Ok(buffer)
    }

    fn download(tensor: &Tensor<CudaRuntime>, bytes: &mut [u8]) -> Result<()> {
        let context = Context::of(tensor.device().number)?;
        let copy;
        let mut source = tensor;
        if !tensor.is_contiguous() {
            let meta = Meta { shape: tensor.layout().shape().clone(), dtype: tensor.dtype() };
            copy = map::contiguous(context, tensor, &meta)?;
            source = &copy;
        }
        context.wait()?;
        let offset = source.layout().offset() * source.dtype().size_in_bytes();
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the layout lies inside the storage, and is contiguous from its offset.
        unsafe { context.device.read(source.storage().address + offset as u64, bytes) }
    }

    fn same_storage(a: &Arc<Buffer>, b: &Arc<Buffer>) -> bool {
        Arc::ptr_eq(a, b)
    }

    fn synchronize(device: &CudaDevice) -> Result<()> {
        Context::of(device.number)?.wait()
    }
}
