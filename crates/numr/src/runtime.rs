//! Runtimes: what runs tensors.

pub use numr_core::classic::{Client, RuntimeClient};
pub use numr_core::device::Device;
pub use numr_core::runtime::{Outputs, Runtime, Support};

/// The CPU.
#[cfg(feature = "cpu")]
pub mod cpu {
    pub use numr_cpu::*;
}

/// NVIDIA GPUs.
#[cfg(feature = "cuda")]
pub mod cuda {
    pub use numr_cuda::*;
}

/// Every GPU that WebGPU reaches.
#[cfg(feature = "wgpu")]
pub mod wgpu {
    pub use numr_wgpu::*;
}
