//! Operations: the element-wise table, the place where operands meet, and the composites, one file a family.

pub mod map;
pub mod operands;
