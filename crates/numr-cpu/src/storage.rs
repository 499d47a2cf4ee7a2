//! Memory for elements.
//!
//! Every block starts at a multiple of 64 bytes and is zeroed when it comes from the system, so that it holds
//! initialised bytes from then on: what a kernel sees in a block that was used before is stale, never undefined, and
//! all of it is overwritten before a tensor shows it.
//!
//! Freed blocks are kept: fresh pages cost the system ten times what the arithmetic on them costs. See `storage/cache.rs`.

mod cache;

use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::{NoUninit, Pod};
use numr_core::prim::Meta;
use numr_core::{DType, Error, Result, Shape, Tensor};

use crate::{CpuDevice, CpuRuntime};
use cache::Block;
pub use cache::{MemoryStats, empty_cache, memory_stats};

/// Shared memory of a tensor and its views.
pub type Storage = Arc<Buffer>;

/// The alignment of every block: a cache line, and the widest vector.
const ALIGN: usize = 64;

/// What any memory that a tensor lies in is aligned to: the size of the largest element.
const ALIGN_OF_ANY: usize = 16;

/// A block of memory: initialised, and written by its only owner until it is shared.
pub struct Buffer {
    data: NonNull<u8>,
    len: usize,
    held: Held,
}

/// Who frees the memory.
enum Held {
    /// It is ours.
    Block(Block),
    /// It goes when this does.
    Owner { _owner: Box<dyn Any + Send + Sync> },
}

// SAFETY: the memory is a block's, which may be sent, or its owner's, which may be, too.
unsafe impl Send for Buffer {}
// SAFETY: through a shared buffer memory is only read, and nobody else writes it: not to a block, and not to what an owner
// holds, by the contract of `from_owner`.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Memory of this many bytes, with whatever was in it before.
    ///
    /// # Errors
    /// `Error::OutOfMemory`.
    pub fn new(len: usize) -> Result<Buffer> {
        match Block::take(len) {
            Some(block) => Ok(Buffer { data: block.data(), len, held: Held::Block(block) }),
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
        // SAFETY: the memory is initialised, aligned to `ALIGN_OF_ANY` and `len` bytes long, and any bytes make a `Pod`.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr().cast(), self.len / size_of::<T>()) }
    }

    /// The elements that fit whole, to be written.
    pub fn slice_mut<T: Pod>(&mut self) -> &mut [T] {
        let () = Fits::<T>::CHECK;
        // SAFETY: as for `slice`; and the borrow is the only one. Memory of another owner is shared from the start, so
        // that no `&mut` to its buffer exists.
        unsafe { std::slice::from_raw_parts_mut(self.data.as_ptr().cast(), self.len / size_of::<T>()) }
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
    const CHECK: () = assert!(size_of::<T>() > 0 && align_of::<T>() <= ALIGN_OF_ANY);
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Held::Block(block) = &mut self.held {
            block.give_back();
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("len", &self.len).finish_non_exhaustive()
    }
}

/// Storage over the elements of a vector: not copied, if the vector's memory is aligned to 16 bytes, as that of any
/// allocator is but for the smallest.
///
/// # Errors
/// `Error::OutOfMemory`, where it is copied.
pub fn from_vec<T: NoUninit + Send + Sync>(data: Vec<T>) -> Result<Storage> {
    let (start, len) = (NonNull::from(data.as_slice()).cast(), size_of_val(data.as_slice()));
    // SAFETY: the vector's elements are initialised to the last byte (`NoUninit`), its memory stays where it is when the
    // vector is moved, and the vector goes with the storage, unwritten.
    unsafe { from_owner(start, len, data) }
}

/// Storage over memory of another, which lets it go with `owner`. Memory that is not aligned to 16 bytes is copied.
///
/// # Errors
/// `Error::OutOfMemory`, where it is copied.
///
/// # Safety
/// Until `owner` is dropped, the `len` bytes at `data` are there, initialised, and written by nobody.
pub unsafe fn from_owner(data: NonNull<u8>, len: usize, owner: impl Send + Sync + 'static) -> Result<Storage> {
    if data.addr().get().is_multiple_of(ALIGN_OF_ANY) {
        return Ok(Arc::new(Buffer { data, len, held: Held::Owner { _owner: Box::new(owner) } }));
    }
    let mut copy = Buffer::new(len)?;
    // SAFETY: the caller's promise; the owner is still there.
    copy.slice_mut::<u8>().copy_from_slice(unsafe { std::slice::from_raw_parts(data.as_ptr(), len) });
    Ok(copy.share())
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
