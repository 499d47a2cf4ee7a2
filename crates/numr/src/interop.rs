//! Bridges to other crates and languages, each a feature: `ndarray`, `dlpack`, `serde`.
//!
//! `serde` has no module here: with it a tensor implements `Serialize` and `Deserialize`. `f16` and `bf16` are those of
//! the crate `half`, complex numbers those of `num-complex`.

#[cfg(feature = "dlpack")]
pub mod dlpack;
#[cfg(feature = "ndarray")]
pub mod ndarray;
