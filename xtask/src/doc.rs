//! The documentation of the workspace, with every warning an error.

use anyhow::Result;
use xshell::{Shell, cmd};

/// Builds it; broken links and missing docs fail.
pub(crate) fn run(sh: &Shell) -> Result<()> {
    let _flags = sh.push_env("RUSTDOCFLAGS", "-D warnings");
    Ok(cmd!(sh, "cargo doc --quiet --workspace --no-deps --all-features").run()?)
}
