//! Tensors, dtypes, primitives and the op table of numr: what every backend builds on.

pub mod dtype;
pub mod element;
pub mod error;
pub mod layout;
pub mod shape;

pub use dtype::{DType, DTypeSet, DataType, Weak, promote, promote_weak};
pub use element::{Complex, Element, FP8E4M3, FP8E5M2, Lit, bf16, f16};
pub use error::{Error, Result};
pub use layout::{Layout, SliceRange};
pub use shape::{Axes, Shape, Strides};
