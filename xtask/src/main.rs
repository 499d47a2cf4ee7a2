//! The automation of the workspace: one command a file.

fn main() {}
