//! Tensors in Python without a copy, either way: a library that `python.py` beside this file loads.
//!
//! ```sh
//! cargo build -p numr --all-features --example python
//! python3 crates/numr/examples/python.py target/debug/examples/libpython.so
//! ```

use numr::interop::dlpack::{Managed, ManagedTensor};
use numr::prelude::*;

/// The numbers from 0 to n as rows of one, last first: a view with a negative stride. Null if there is no memory.
#[unsafe(no_mangle)]
pub extern "C" fn countdown(n: u32) -> *mut ManagedTensor {
    let make = || -> numr::Result<Managed> {
        let x = Tensor::<CpuRuntime>::try_arange(0, n, 1, DType::F64, &CpuDevice::new())?;
        Managed::of(&x.flip(0)?.unsqueeze(1)?)
    };
    make().map_or(std::ptr::null_mut(), Managed::into_raw)
}

/// The sum of the squares of the elements; NaN where there is none.
///
/// # Safety
/// As [`Managed::from_raw`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sum_of_squares(raw: *mut ManagedTensor) -> f64 {
    let sum = || -> numr::Result<f64> {
        // SAFETY: the caller's promise.
        let x = unsafe { Managed::from_raw(raw) }?.into_tensor()?;
        x.square()?.sum(.., false)?.cast(DType::F64)?.item()
    };
    sum().unwrap_or(f64::NAN)
}

/// The identity by way of a tensor: what comes back is the memory that went in. Null if it is no tensor.
///
/// # Safety
/// As [`Managed::from_raw`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn same(raw: *mut ManagedTensor) -> *mut ManagedTensor {
    // SAFETY: the caller's promise.
    let back = unsafe { Managed::from_raw(raw) }.and_then(Managed::into_tensor).and_then(|x| Managed::of(&x));
    back.map_or(std::ptr::null_mut(), Managed::into_raw)
}
