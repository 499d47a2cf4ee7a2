//! The contract between tensors and what runs them.
//!
//! A runtime is a type: a backend (`CpuRuntime`), or a decorator over another runtime (`Tape<R>` records, `Dual<R>`
//! carries tangents, `AnyRuntime` chooses at run time). `R: Runtime` is the only bound that generic code needs.
//!
//! # The contract
//! 1. Every operation arrives through [`Runtime::run`] as a [`Prim`]. There is no method per op.
//! 2. The caller has validated: [`Prim::infer`] accepted the operands, all are on `device`, and
//!    [`Runtime::supports`] did not say `No`. `outs` is what `infer` answered. A runtime need not check again.
//! 3. Operands come in any layout: negative strides, stride 0, offsets, no elements, no axes. A runtime refuses none
//!    and reads none beyond [`crate::Layout::span`].
//! 4. Results have the shapes and dtypes of `outs` (only `Nonzero` may be shorter on its first axis). Views share
//!    storage; everything else is fresh memory, fully written.
//! 5. Results are bit-identical from run to run on one device, whatever the number of threads.
//! 6. Nothing panics on what a caller's input can reach. A fault of the device, out-of-memory included, is an `Err`
//!    and leaves the device usable.
//! 7. Work may be asynchronous; [`Runtime::download`] and [`Runtime::synchronize`] wait, and report what went wrong
//!    before. What depends on data (an index out of range) may surface there.
//! 8. All methods may be called from any thread.
//! 9. A runtime without a native way says `No` and why. It never goes through the host on its own.

use crate::classic::RuntimeClient;
use crate::device::Device;
use crate::dtype::DType;
use crate::error::Result;
use crate::prim::{Meta, Prim};
use crate::tensor::Tensor;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::fmt::Debug;

/// The results of a primitive, nearly always one.
pub type Outputs<R> = SmallVec<[Tensor<R>; 1]>;

/// Can a device do it?
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Support {
    /// With a kernel of its own.
    Native,
    /// By computing in another dtype and rounding once.
    Via(DType),
    /// Not at all.
    No {
        /// Why, and what to do instead.
        reason: Cow<'static, str>,
    },
}

/// What runs tensors. See the module for the contract.
pub trait Runtime: Clone + Debug + Default + PartialEq + Send + Sync + 'static {
    /// Where its tensors live.
    type Device: Device;
    /// A handle to elements on a device, shared by views. Cheap to clone.
    type Storage: Clone + Debug + Send + Sync + 'static;
    /// The classic handle on a device that ops hang off (numr 0.5).
    type Client: RuntimeClient<Self>;

    /// The runtime's name, e.g. `"cpu"`.
    fn name() -> &'static str;

    /// The device that is used where none is named.
    fn default_device() -> Self::Device;

    /// The classic client of a device.
    fn default_client(device: &Self::Device) -> Self::Client;

    /// Can `device` run `prim` on operands of these dtypes?
    fn supports(device: &Self::Device, prim: &Prim, dtypes: &[DType]) -> Support;

    /// Runs a validated primitive; see the contract.
    ///
    /// # Errors
    /// Faults of the device and errors that depend on data.
    fn run(device: &Self::Device, prim: &Prim, inputs: &[&Tensor<Self>], outs: &[Meta]) -> Result<Outputs<Self>>;

    /// Row-major bytes from the host, in memory of their own on the device. `bytes` fits `dtype` and the caller's
    /// shape; bools are 0 or 1.
    ///
    /// # Errors
    /// `Error::OutOfMemory` and faults of the device.
    fn upload(device: &Self::Device, dtype: DType, bytes: &[u8]) -> Result<Self::Storage>;

    /// The elements in row-major order into host memory of just their size, after all work before.
    ///
    /// # Errors
    /// Faults of the device, and of work before.
    fn download(tensor: &Tensor<Self>, bytes: &mut [u8]) -> Result<()>;

    /// Are these handles on one storage?
    fn same_storage(a: &Self::Storage, b: &Self::Storage) -> bool;

    /// The same elements without a tie to what they were computed from. A runtime that records overrides it.
    fn detach(tensor: &Tensor<Self>) -> Tensor<Self> {
        tensor.clone()
    }

    /// Waits for all work before.
    ///
    /// # Errors
    /// Faults of the device, and of work before.
    fn synchronize(device: &Self::Device) -> Result<()>;
}
