//! The CUDA backend of numr. No toolkit is needed to build it, and no driver to start it: libcuda and NVRTC are opened when
//! a device is first asked for, and what is missing is an error that says so.
//!
//! Kernels are CUDA C around bodies that `numr-core` prints, without any header, compiled for the device at hand and kept in
//! the user's cache directory. All work of a device is in one stream.

mod context;
mod contract;
mod copy;
mod driver;
mod fold;
mod index;
mod kernel;
mod map;
mod memory;
mod nvrtc;
mod rows;
mod runtime;
mod scan;
mod sort;

pub use memory::{Buffer, MemoryStats};
pub use runtime::{CudaClient, CudaDevice, CudaRuntime};

use numr_core::Result;

/// The names of the CUDA devices of this machine, in the order of their numbers.
///
/// # Errors
/// `Error::Unsupported` if there is no driver or no device.
///
/// ```
/// match numr_cuda::devices() {
///     Ok(names) => assert!(!names.is_empty()),
///     Err(error) => assert!(error.to_string().contains("cuda")),
/// }
/// ```
pub fn devices() -> Result<Vec<String>> {
    driver::names()
}
