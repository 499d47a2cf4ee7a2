//! DLPack 1.x: CPU tensors to and from other libraries, without a copy either way.
//!
//! ```
//! use numr::interop::dlpack::Managed;
//! use numr::prelude::*;
//!
//! # fn main() -> numr::Result<()> {
//! let x = Tensor::<CpuRuntime>::from_slice(&[1.0f32, 2.0, 3.0], &[3], &CpuDevice::new());
//! // What a Python capsule named "dltensor_versioned" holds.
//! let raw = Managed::of(&x.flip(0)?)?.into_raw();
//! // SAFETY: `raw` is a DLPack tensor that nobody else has.
//! let back = unsafe { Managed::from_raw(raw) }?.into_tensor()?;
//! assert_eq!(back.to_vec::<f32>(), [3.0, 2.0, 1.0]);
//! # Ok(())
//! # }
//! ```
//!
//! Source: `dlpack.h` of the DLPack standard, version 1.1. The structures below are laid out as it says.

use numr_core::{DType, Error, Layout, Result, Strides, Tensor, dispatch_storage};
use numr_cpu::storage::{Buffer, Storage, elements, from_owner};
use numr_cpu::{CpuDevice, CpuRuntime};
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::{NonNull, null_mut};

const OP: &str = "dlpack";
/// The version written, and the only major one read.
const VERSION: [u32; 2] = [1, 1];
/// `kDLCPU`.
const CPU: i32 = 1;
/// `DLPACK_FLAG_BITMASK_READ_ONLY`.
const READ_ONLY: u64 = 1;

/// The code and bits of each dtype, of one lane.
const NAMES: [(DType, u8, u8); 17] = [
    (DType::I8, 0, 8),
    (DType::I16, 0, 16),
    (DType::I32, 0, 32),
    (DType::I64, 0, 64),
    (DType::U8, 1, 8),
    (DType::U16, 1, 16),
    (DType::U32, 1, 32),
    (DType::U64, 1, 64),
    (DType::F16, 2, 16),
    (DType::F32, 2, 32),
    (DType::F64, 2, 64),
    (DType::BF16, 4, 16),
    (DType::Complex64, 5, 64),
    (DType::Complex128, 5, 128),
    (DType::Bool, 6, 8),
    (DType::FP8E4M3, 10, 8),
    (DType::FP8E5M2, 12, 8),
];

/// `DLManagedTensorVersioned`.
#[repr(C)]
pub struct ManagedTensor {
    /// Major and minor version.
    pub version: [u32; 2],
    /// What the deleter needs.
    pub manager: *mut c_void,
    /// Frees the structure and what it manages.
    pub deleter: Option<unsafe extern "C" fn(*mut ManagedTensor)>,
    /// Bit 0: the memory must not be written.
    pub flags: u64,
    /// The tensor.
    pub tensor: RawTensor,
}

/// `DLTensor`.
#[repr(C)]
pub struct RawTensor {
    /// Where the memory starts.
    pub data: *mut c_void,
    /// The kind of device, and its number.
    pub device: [i32; 2],
    /// The number of axes.
    pub ndim: i32,
    /// The code of the element type.
    pub code: u8,
    /// Its bits.
    pub bits: u8,
    /// How many make an element.
    pub lanes: u16,
    /// The size of each axis.
    pub shape: *mut i64,
    /// The distance of neighbours on each axis, in elements; null for row-major order.
    pub strides: *mut i64,
    /// How far the first element lies from `data`, in bytes.
    pub byte_offset: u64,
}

/// A DLPack tensor and the duty to free it.
pub struct Managed(NonNull<ManagedTensor>);

// SAFETY: the standard lets the deleter be called from any thread, and nothing else is done through the pointer but to
// read memory that does not change (the contract of `from_raw`).
unsafe impl Send for Managed {}
// SAFETY: as for `Send`.
unsafe impl Sync for Managed {}

impl Drop for Managed {
    fn drop(&mut self) {
        // SAFETY: the structure is valid until its deleter is called, which happens here alone.
        unsafe {
            if let Some(deleter) = self.0.as_ref().deleter {
                deleter(self.0.as_ptr());
            }
        }
    }
}

/// What an exported structure points into.
struct Export {
    managed: ManagedTensor,
    shape: Vec<i64>,
    strides: Vec<i64>,
    /// Keeps the memory.
    _storage: Storage,
}

/// Frees what [`Managed::of`] made.
unsafe extern "C" fn free(managed: *mut ManagedTensor) {
    // SAFETY: `Managed::of` put the pointer to the `Export` there, and a structure is freed once.
    unsafe { drop(Box::from_raw((*managed).manager.cast::<Export>())) };
}

impl Managed {
    /// The tensor's memory, marked read-only, in the tensor's own layout: nothing is copied.
    ///
    /// # Errors
    /// `Error::Argument` if the tensor was put together with a layout that its storage does not hold.
    pub fn of(tensor: &Tensor<CpuRuntime>) -> Result<Managed> {
        let dtype = tensor.dtype();
        let Some(&(_, code, bits)) = NAMES.iter().find(|(d, ..)| *d == dtype) else {
            return Err(Error::unsupported(OP, Some(dtype), "cpu", "DLPack has no such dtype"));
        };
        // Checked here, as everywhere, because a layout and a storage can be put together by hand.
        let memory: &[u8] = dispatch_storage!(dtype, T => bytemuck::cast_slice(elements::<T>(tensor)?));
        let offset = if tensor.is_empty() { 0 } else { tensor.layout().offset() * dtype.size_in_bytes() };
        let raw = RawTensor {
            data: memory[offset..].as_ptr().cast_mut().cast(),
            device: [CPU, 0],
            ndim: tensor.ndim() as i32,
            code,
            bits,
            lanes: 1,
            shape: null_mut(),
            strides: null_mut(),
            byte_offset: 0,
        };
        let managed =
            ManagedTensor { version: VERSION, manager: null_mut(), deleter: Some(free), flags: READ_ONLY, tensor: raw };
        let mut export = Box::new(Export {
            managed,
            shape: tensor.shape().iter().map(|&n| n as i64).collect(),
            strides: tensor.strides().iter().map(|&s| s as i64).collect(),
            _storage: tensor.storage().clone(),
        });
        export.managed.tensor.shape = export.shape.as_mut_ptr();
        export.managed.tensor.strides = export.strides.as_mut_ptr();
        let export = Box::into_raw(export);
        // SAFETY: the pointer comes from a box, which from here on is freed by `free` alone.
        unsafe {
            (*export).managed.manager = export.cast();
            Ok(Managed(NonNull::new_unchecked(&raw mut (*export).managed)))
        }
    }

    /// The pointer, for a consumer that takes over the duty to call its deleter.
    pub fn into_raw(self) -> *mut ManagedTensor {
        ManuallyDrop::new(self).0.as_ptr()
    }

    /// Takes over a tensor, and the duty to free it.
    ///
    /// # Errors
    /// `Error::Argument` if the pointer is null.
    ///
    /// # Safety
    /// The pointer is one to a `DLManagedTensorVersioned` as the standard says, from a producer that may be on another
    /// thread, and nobody else calls its deleter. Nobody writes the memory before that is called.
    pub unsafe fn from_raw(raw: *mut ManagedTensor) -> Result<Managed> {
        NonNull::new(raw).map(Managed).ok_or_else(|| Error::argument(OP, "raw", "a null pointer"))
    }

    /// The tensor over the same memory, which is freed with the last tensor that shares it. Memory that is not aligned
    /// to 16 bytes is copied instead.
    ///
    /// # Errors
    /// `Error::Unsupported` for another major version, for memory that the processor cannot read, and for a dtype that
    /// numr does not have; `Error::Argument` for a shape or strides that make no sense, and for a bool that is neither 0
    /// nor 1.
    pub fn into_tensor(self) -> Result<Tensor<CpuRuntime>> {
        // SAFETY: `from_raw` or `of` vouch for the structure. Every version starts with the version.
        let version = unsafe { (*self.0.as_ptr()).version };
        if version[0] != VERSION[0] {
            // What follows the version, the deleter excepted, is unknown.
            let reason = format!("version {}.{} of the structure, numr knows {}", version[0], version[1], VERSION[0]);
            return Err(Error::unsupported(OP, None, "cpu", reason));
        }
        // SAFETY: as above, and the version is one whose fields are these.
        let raw = unsafe { &self.0.as_ref().tensor };
        if raw.device[0] != CPU {
            let reason = format!("the tensor is on a device of kind {}; move it to the CPU first", raw.device[0]);
            return Err(Error::unsupported(OP, None, "cpu", reason));
        }
        let found = NAMES.iter().find(|(_, code, bits)| (*code, *bits, 1) == (raw.code, raw.bits, raw.lanes));
        let Some(&(dtype, ..)) = found else {
            let reason = format!("code {}, {} bits, {} lanes: numr has no such dtype", raw.code, raw.bits, raw.lanes);
            return Err(Error::unsupported(OP, None, "cpu", reason));
        };
        // SAFETY: the standard has `ndim` sizes there, and as many strides unless that pointer is null.
        let (shape, strides) = unsafe { (sizes(raw.shape, raw.ndim), sizes(raw.strides, raw.ndim)) };
        let bad = |reason: String| Error::argument(OP, "shape", reason);
        let sizes: Option<Vec<usize>> = shape.unwrap_or_default().iter().map(|&n| n.try_into().ok()).collect();
        let shape = sizes
            .filter(|sizes| usize::try_from(raw.ndim) == Ok(sizes.len()))
            .ok_or_else(|| bad(format!("{:?} for {} axes", shape.unwrap_or_default(), raw.ndim)))?;
        let rows = Layout::try_contiguous(OP, &shape[..])?;
        let Some(strides) = strides.filter(|_| !rows.is_empty()) else {
            return self.over(rows, 0, dtype);
        };
        let strides: Strides = strides.iter().map(|&s| s as isize).collect();
        // How far elements lie before and after the first.
        let (mut before, mut after) = (0usize, 0usize);
        for (&n, &stride) in shape.iter().zip(&strides) {
            let side = if stride < 0 { &mut before } else { &mut after };
            let reach = (n - 1).checked_mul(stride.unsigned_abs()).and_then(|reach| side.checked_add(reach));
            *side = reach.ok_or_else(|| bad(format!("strides {strides} leave the memory")))?;
        }
        let count = before.checked_add(after).and_then(|n| n.checked_add(1));
        let count = count.ok_or_else(|| bad(format!("strides {strides} leave the memory")))?;
        self.over(Layout::try_new(&shape[..], strides, before, count)?, before, dtype)
    }

    /// A tensor of this layout, whose memory starts `before` elements before the first.
    fn over(self, layout: Layout, before: usize, dtype: DType) -> Result<Tensor<CpuRuntime>> {
        let size = dtype.size_in_bytes();
        let count = layout.span().map_or(0, |(_, last)| last + 1);
        let bytes = count.checked_mul(size).filter(|&n| isize::try_from(n).is_ok());
        let bytes = bytes.ok_or_else(|| Error::argument(OP, "shape", "the size overflows"))?;
        // SAFETY: `into_tensor` has looked at the structure.
        let raw = unsafe { &self.0.as_ref().tensor };
        let start = raw.data.cast::<u8>().wrapping_add(raw.byte_offset as usize).wrapping_sub(before * size);
        let storage = match NonNull::new(start) {
            _ if bytes == 0 => Buffer::new(0)?.share(),
            None => return Err(Error::argument(OP, "data", "a null pointer")),
            // SAFETY: the producer vouches for every element of its shape and strides, which lie in these bytes, and for
            // their being left alone until the deleter is called, which the storage does when it goes. What lies between
            // the elements is the producer's allocation too.
            Some(start) => unsafe { from_owner(start, bytes, self)? },
        };
        let tensor = Tensor::from_storage(storage, layout, dtype, CpuDevice::new());
        if dtype == DType::Bool && tensor.to_bytes()?.iter().any(|&b| b > 1) {
            return Err(Error::argument(OP, "data", "a bool is the byte 0 or 1"));
        }
        Ok(tensor)
    }
}

/// The `n` numbers at a pointer; none at a null pointer or for a negative `n`.
///
/// # Safety
/// If neither, there are that many.
unsafe fn sizes<'a>(at: *mut i64, n: i32) -> Option<&'a [i64]> {
    let n = usize::try_from(n).ok().filter(|_| !at.is_null())?;
    // SAFETY: the caller's promise.
    Some(unsafe { std::slice::from_raw_parts(at, n) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;
    use numr_core::s;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    type T = Tensor<CpuRuntime>;

    fn counted(dtype: DType) -> T {
        let x = T::try_arange(-3, 21, 1, DType::F32, &CpuDevice::new()).unwrap();
        x.reshape(&[2, 3, 4]).unwrap().cast(dtype).unwrap()
    }

    #[test]
    fn there_and_back_is_the_same_memory() {
        for dtype in DType::ALL {
            let x = counted(dtype);
            for view in [
                x.clone(),
                x.slice(s![1, 1, 1]).unwrap(),
                x.slice(s![.., 3.., ..]).unwrap(),
                x.slice(s![..;-1, ..;2, 1..3]).unwrap().permute([2, 0, 1]).unwrap(),
                x.slice(s![1]).unwrap().broadcast_to(&[2, 3, 4]).unwrap(),
            ] {
                let managed = Managed::of(&view).unwrap();
                // SAFETY: `of` made it.
                let at = unsafe { managed.0.as_ref().tensor.data };
                let back = managed.into_tensor().unwrap();
                assert_eq!((back.shape(), back.dtype()), (view.shape(), dtype));
                assert_eq!(back.to_bytes().unwrap(), view.to_bytes().unwrap());
                let start = back.layout().offset() * dtype.size_in_bytes();
                let same = std::ptr::addr_eq(back.storage().slice::<u8>()[start..].as_ptr(), at);
                // A first element in the middle of an aligned block is not where a copy may be left out.
                assert!(same || view.is_empty() || view.layout().span().unwrap().0 > 0, "{view:?}");
            }
        }
    }

    #[repr(C, align(16))]
    struct Foreign {
        data: [f32; 6],
        /// How often the deleter has run.
        freed: Arc<AtomicUsize>,
        managed: ManagedTensor,
        shape: [i64; 2],
        strides: [i64; 2],
    }

    unsafe extern "C" fn count(raw: *mut ManagedTensor) {
        // SAFETY: `foreign` put the box there.
        let own = unsafe { Box::from_raw((*raw).manager.cast::<Foreign>()) };
        own.freed.fetch_add(1, Ordering::Relaxed);
    }

    /// A tensor of another library, 0 to 5 in two rows, and what a test does to it.
    fn foreign(change: impl FnOnce(&mut Foreign)) -> Result<T> {
        let raw = RawTensor {
            data: null_mut(),
            device: [CPU, 0],
            ndim: 2,
            code: 2,
            bits: 32,
            lanes: 1,
            shape: null_mut(),
            strides: null_mut(),
            byte_offset: 0,
        };
        let managed =
            ManagedTensor { version: [1, 0], manager: null_mut(), deleter: Some(count), flags: 0, tensor: raw };
        let data = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        let mut own = Box::new(Foreign { data, freed: Arc::default(), managed, shape: [2, 3], strides: [3, 1] });
        own.managed.tensor.data = own.data.as_mut_ptr().cast();
        own.managed.tensor.shape = own.shape.as_mut_ptr();
        own.managed.tensor.strides = own.strides.as_mut_ptr();
        change(&mut own);
        let own = Box::into_raw(own);
        // SAFETY: the structure is as the standard says, but for what the test changed, which is what must be found out.
        unsafe {
            (*own).managed.manager = own.cast();
            Managed::from_raw(&raw mut (*own).managed)?.into_tensor()
        }
    }

    #[test]
    fn foreign_tensors_are_read_and_freed_once() {
        let freed = Arc::new(AtomicUsize::new(0));
        let x = foreign(|f| f.freed = freed.clone()).unwrap();
        let y = x.slice(s![1]).unwrap();
        drop(x);
        assert_eq!(freed.load(Ordering::Relaxed), 0);
        assert_eq!(y.to_vec::<f32>(), [3.0, 4.0, 5.0]);
        drop(y);
        assert_eq!(freed.load(Ordering::Relaxed), 1);

        let rows = foreign(|f| f.managed.tensor.strides = null_mut()).unwrap();
        assert_eq!(rows.to_vec::<f32>(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let back = foreign(|f| {
            f.managed.tensor.byte_offset = 20;
            f.strides = [-3, -1];
        });
        assert_eq!(back.unwrap().to_vec::<f32>(), [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]);
        let odd = foreign(|f| {
            f.managed.tensor.byte_offset = 4;
            f.shape = [5, 1];
            f.strides = [1, 7];
        });
        assert_eq!(odd.unwrap().to_vec::<f32>(), [1.0, 2.0, 3.0, 4.0, 5.0]);
        let none = foreign(|f| {
            f.shape = [0, 3];
            f.managed.tensor.data = null_mut();
        });
        assert_eq!(none.unwrap().shape(), [0, 3]);
        let scalar = foreign(|f| {
            f.managed.tensor.ndim = 0;
            f.managed.tensor.shape = null_mut();
        });
        assert_eq!(scalar.unwrap().item::<f32>().unwrap(), 0.0);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        type Change = fn(&mut Foreign);
        let cases: [(&str, Change, &str); 11] = [
            ("a version to come", |f| f.managed.version = [2, 0], "version 2.0"),
            ("another device", |f| f.managed.tensor.device = [2, 0], "kind 2"),
            ("a dtype nobody has", |f| f.managed.tensor.code = 99, "code 99"),
            ("a vector as an element", |f| f.managed.tensor.lanes = 4, "4 lanes"),
            ("fewer axes than none", |f| f.managed.tensor.ndim = -1, "-1 axes"),
            ("no shape", |f| f.managed.tensor.shape = null_mut(), "2 axes"),
            ("a negative size", |f| f.shape = [-2, 3], "-2"),
            ("a size that overflows", |f| f.shape = [i64::MAX, 3], "9223372036854775807"),
            ("strides that overflow", |f| f.strides = [i64::MAX, i64::MAX], "memory"),
            ("no memory", |f| f.managed.tensor.data = null_mut(), "null"),
            (
                "a bool of 7",
                |f| {
                    (f.managed.tensor.code, f.managed.tensor.bits) = (6, 8);
                    f.data[0] = f32::from_bits(7);
                },
                "bool",
            ),
        ];
        for (name, change, part) in cases {
            let error = foreign(change).expect_err(name).to_string();
            assert!(error.contains(part), "{name}: {error}");
        }
        // What is refused is freed all the same, also where no copy of it was made.
        let freed = Arc::new(AtomicUsize::new(0));
        assert!(foreign(|f| (f.freed, f.shape) = (freed.clone(), [-1, -1])).is_err());
        assert_eq!(freed.load(Ordering::Relaxed), 1);
        // SAFETY: null is looked at first.
        assert!(unsafe { Managed::from_raw(null_mut()) }.is_err());
    }
}
