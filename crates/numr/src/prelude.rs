//! What most programs use: `use numr::prelude::*;`. It has no name that the standard prelude has.

pub use numr_core::classic::*;
pub use numr_core::{Complex, DType, Element, Runtime, Tensor, TensorId, bf16, f16, s};

#[cfg(feature = "cpu")]
pub use crate::any::{AnyRuntime, Device};
#[cfg(feature = "cpu")]
pub use numr_cpu::{CpuClient, CpuDevice, CpuRuntime};
