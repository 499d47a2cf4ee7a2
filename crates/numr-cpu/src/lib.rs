//! The CPU backend of numr.
//!
//! Every primitive of [`numr_core::Prim`] on this machine's processor. Kernels are compiled for several instruction
//! sets and the best one is chosen when first needed (see [`isa`]); large operations run on several threads (see
//! [`threads`]), with results that do not depend on how many.
//!
//! ```
//! use numr_core::Tensor;
//! use numr_cpu::{CpuDevice, CpuRuntime};
//! let device = CpuDevice::new();
//! let x = Tensor::<CpuRuntime>::try_from_slice(&[1.0f32, 2.0, 3.0], &[3], &device)?;
//! assert_eq!(x.add(&x)?.try_to_vec::<f32>()?, [2.0, 4.0, 6.0]);
//! # Ok::<(), numr_core::Error>(())
//! ```

mod contract;
mod convert;
mod copy;
mod cursor;
mod fold;
mod fused;
mod gather;
pub mod isa;
mod map;
mod reduce;
mod runtime;
mod scan;
mod sort;
pub mod storage;
pub mod threads;
mod walk;

pub use runtime::{CpuClient, CpuDevice, CpuRuntime};
pub use storage::{MemoryStats, empty_cache, memory_stats};
