//! Operations: the element-wise table, the place where operands meet, and the composites, one file a family.

pub mod activation;
pub mod arrange;
pub mod complex;
pub mod contract;
pub mod distance;
pub mod einsum;
pub mod fuse;
pub mod fused;
pub mod index;
pub mod loss;
pub mod map;
pub mod norm;
pub mod operands;
pub mod optim;
pub mod order;
pub mod random;
pub mod reduce;
pub mod scan;
pub mod shape;
pub mod sort;

pub use fuse::{fuse, fuse_many};
