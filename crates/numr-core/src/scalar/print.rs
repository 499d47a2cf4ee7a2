//! Prints programs.
