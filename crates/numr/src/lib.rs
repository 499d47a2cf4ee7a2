//! Numerical computing for Rust that runs the same program on CPU, CUDA and WebGPU, with gradients of any order.
//!
//! ```
//! use numr::prelude::*;
//!
//! # fn main() -> numr::Result<()> {
//! let x = Tensor::<CpuRuntime>::from([[1.0f32, 2.0], [3.0, 4.0]]);
//! let y = (&x * 2.0 + 1.0).matmul(&x.t()?)?;
//! assert_eq!(y.to_vec::<f32>(), [13.0, 29.0, 25.0, 57.0]);
//! # Ok(())
//! # }
//! ```
//!
//! Code that is generic over [`Runtime`] runs on every backend; [`AnyRuntime`] picks the device at run time:
//! `Device::parse("auto")`. Features: `cpu`, `threads`, `autograd` (default), `cuda`, `wgpu`, `io`; bridges
//! `ndarray`, `dlpack`, `serde`.

#[cfg(feature = "cpu")]
pub mod any;
#[cfg(any(feature = "dlpack", feature = "ndarray", feature = "serde"))]
pub mod interop;
#[cfg(feature = "io")]
pub mod io;
pub mod prelude;
pub mod runtime;

pub use numr_core::{device, dtype, element, error, layout, prim, rng, scalar, shape, tensor};

/// Operations, and the classic traits (numr 0.5) that hang them off a client.
pub mod ops {
    pub use numr_core::classic::*;
    pub use numr_core::ops::*;
}

pub use numr_core::{
    Axes, Complex, DType, DTypeSet, DataType, Element, Error, FP8E4M3, FP8E5M2, Layout, Lit, Prim, Result, Runtime,
    Shape, Strides, Tensor, TensorId, Weak, bf16, f16, promote, promote_weak,
};

/// Reverse- and forward-mode gradients of any order.
#[cfg(feature = "autograd")]
pub use numr_autograd as autograd;

#[cfg(feature = "cpu")]
pub use any::{AnyRuntime, Device};
