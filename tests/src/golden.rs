//! Golden cases: values that no code of ours computed, and the rules by which a result agrees with them.
//!
//! A directory of cases is a set of *suites*. Suite `s` is `s.jsonl`, one case a line, and `s.safetensors`, the
//! tensors that the cases name; either file may be compressed (`.gz`). [`data`] reads tensors, [`case`] reads cases,
//! [`rules`] says what passing means.

pub mod case;
pub mod data;
mod derive;
mod formula;
pub mod rules;

pub mod call;
pub mod ops;
mod property;
pub mod report;
pub mod run;
