//! Elementary functions written once over [`super::Float`]: [`single`] for 32-bit and [`double`] for 64-bit numbers.
//!
//! A body is the CPU kernel, the CUDA function and the WGSL function at once. Method: reduce the argument, evaluate a
//! minimax polynomial, reconstruct; every constant is produced by `xtask gen` or stated with its source.

pub mod double;
pub mod single;
