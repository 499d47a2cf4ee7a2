//! Everything that runs on a device, as one unpublished crate.
//!
//! The library holds what tests share; the tests themselves are the modules of `tests/suite.rs`.

#![forbid(unsafe_code)]

pub mod compilers;
pub mod devices;
pub mod expect;
pub mod golden;
pub mod layouts;
pub mod numpy;
pub mod require;
pub mod support;

/// The programs in the README compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
