//! The WebGPU backend of numr: every GPU that Vulkan, Metal or DirectX 12 reaches.
//!
//! Kernels are WGSL text around bodies that `numr-core` prints. A launch is recorded, not submitted: batches go to the
//! queue when they are long enough or when someone waits. What a device lacks (`f64`, 64-bit integers) and what is not
//! written yet says so in [`numr_core::Runtime::supports`]. `NUMR_WGPU_WITHOUT=f64,int64` does without what a device has, to
//! try a program as it runs on one that has not.

mod context;
mod contract;
mod copy;
mod fold;
mod index;
mod kernel;
mod launch;
mod map;
mod memory;
mod runtime;
mod sort;

pub use memory::Buffer;
pub use runtime::{WgpuClient, WgpuDevice, WgpuRuntime};

use numr_core::Result;

/// The names of the WebGPU devices of this machine, in the order of their numbers: discrete GPUs first, software last.
///
/// # Errors
/// `Error::Unsupported` if there is none.
///
/// ```
/// match numr_wgpu::devices() {
///     Ok(names) => assert!(!names.is_empty()),
///     Err(error) => assert!(error.to_string().contains("no adapter")),
/// }
/// ```
pub fn devices() -> Result<Vec<String>> {
    context::names()
}
