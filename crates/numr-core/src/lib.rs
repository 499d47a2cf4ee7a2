//! Tensors, dtypes, primitives and the op table of numr: what every backend builds on.

#![forbid(unsafe_code)]

pub mod classic;
pub mod device;
pub mod dtype;
pub mod element;
pub mod error;
pub mod layout;
pub mod ops;
pub mod prim;
pub mod rng;
pub mod runtime;
pub mod scalar;
pub mod shape;
pub mod tensor;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use classic::RuntimeClient;
pub use device::Device;
pub use dtype::{DType, DTypeSet, DataType, Weak, promote, promote_weak};
pub use element::{Complex, Element, FP8E4M3, FP8E5M2, Lit, bf16, f16};
pub use error::{Error, Result};
pub use layout::{Layout, SliceRange};
pub use prim::Prim;
pub use rng::Key;
pub use runtime::Runtime;
pub use shape::{Axes, Shape, Strides};
pub use tensor::{Tensor, TensorId};
