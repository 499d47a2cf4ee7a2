//! Placeholder until its first module lands.

#![forbid(unsafe_code)]
