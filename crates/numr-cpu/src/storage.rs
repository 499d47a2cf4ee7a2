//! Memory for elements.
//!
//! Every block starts at a multiple of 64 bytes and is zeroed when it comes from the system, so that it holds
//! initialised bytes from then on: what a kernel sees in a block that was used before is stale, never undefined, and
//! all of it is overwritten before a tensor shows it.
//!
//! Freed blocks are kept: fresh pages cost the system ten times what the arithmetic on them costs. See `storage/cache.rs`.

mod cache;

use std::fmt;
use std::sync::Arc;

use bytemuck::Pod;
use numr_core::prim::Meta;
use numr_core::{DType, Error, Result, Shape, Tensor};

use crate::{CpuDevice, CpuRuntime};
use cache::Block;
pub use cache::{MemoryStats, empty_cache, memory_stats};

/// Shared memory of a tensor and its views.
pub type Storage = Arc<Buffer>;

/// The alignment of every block: a cache line, and the widest vector.
const ALIGN: usize = 64;

/// A block of memory: initialised, and written by its only owner until it is shared.
pub struct Buffer {
    block: Block,
    len: usize,
}

impl Buffer {
    /// Memory of this many bytes, with whatever was in it before.
    ///
    /// # Errors
    /// `Error::OutOfMemory`.
    pub fn new(len: usize) -> Result<Buffer> {
        match Block::take(len) {
            Some(block) => Ok(Buffer { block, len }),
            None => Err(Error::OutOfMemory { bytes: len, device: CpuDevice.to_string() }),
        }
    }

    /// Memory for `count` elements.
    ///
    /// # Errors
    /// `Error::OutOfMemory`, also where the size does not fit `usize`.
    pub fn for_elements(count: usize, dtype: DType) -> Result<Buffer> {
        let error = || Error::OutOfMemory { bytes: usize::MAX, device: CpuDevice.to_string() };
        Buffer::new(count.checked_mul(dtype.size_in_bytes()).ok_or_else(error)?)
    }

    /// Memory for a result.
    ///
    /// # Errors
    /// As [`Buffer::for_elements`].
    pub fn for_meta(meta: &Meta) -> Result<Buffer> {
        Buffer::for_elements(meta.shape.numel().unwrap_or(usize::MAX), meta.dtype)
    }

    /// Its size in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Has it no bytes?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements that fit whole.
    pub fn slice<T: Pod>(&self) -> &[T] {
        let () = Fits::<T>::CHECK;
        // SAFETY: the block is initialised, aligned to 64 bytes and `len` bytes long, and any bytes make a `Pod`.
        unsafe { std::slice::from_raw_parts(self.block.data().as_ptr().cast(), self.len / size_of::<T>()) }
    }

    /// The elements that fit whole, to be written.
    pub fn slice_mut<T: Pod>(&mut self) -> &mut [T] {
        let () = Fits::<T>::CHECK;
        // SAFETY: as for `slice`; and the borrow is the only one.
        unsafe { std::slice::from_raw_parts_mut(self.block.data().as_ptr().cast(), self.len / size_of::<T>()) }
    }

    /// Ends the writing.
    pub fn share(self) -> Storage {
        Arc::new(self)
    }

    /// A contiguous tensor of these elements.
    pub fn into_tensor(self, shape: Shape, dtype: DType) -> Tensor<CpuRuntime> {
        Tensor::from_storage(self.share(), numr_core::Layout::contiguous(shape), dtype, CpuDevice)
    }
}

/// What [`Buffer::slice`] takes for granted of its element type.
struct Fits<T>(T);
impl<T> Fits<T> {
    const CHECK: () = assert!(size_of::<T>() > 0 && align_of::<T>() <= ALIGN);
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.block.give_back();
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("len", &self.len).finish_non_exhaustive()
    }
}

/// The storage of a tensor as elements of `T`, after a check that the layout stays inside it: an element of the tensor
/// lies at each of [`numr_core::Layout::offsets`].
///
/// # Errors
/// `Error::Argument` if the tensor was put together with a layout or dtype that its storage does not hold.
pub fn elements<T: Pod>(tensor: &Tensor<CpuRuntime>) -> Result<&[T]> {
    let all = tensor.storage().slice::<T>();
    let inside = tensor.layout().span().is_none_or(|(_, last)| last < all.len());
    if inside && size_of::<T>() == tensor.dtype().size_in_bytes() {
        return Ok(all);
    }
    let reason = format!(
        "a layout of shape {}, strides {} and offset {} leaves a storage of {} bytes",
        tensor.layout().shape(),
        tensor.layout().strides(),
        tensor.layout().offset(),
        tensor.storage().len(),
    );
    Err(Error::argument("from_storage", "layout", reason))
}
