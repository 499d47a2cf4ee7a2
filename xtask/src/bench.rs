//! Benches: our own, and beside other libraries, which live in a package outside the workspace.

use anyhow::{Result, bail};
use xshell::{Shell, cmd};

/// Our own benches.
pub(crate) fn run(sh: &Shell) -> Result<()> {
    Ok(cmd!(sh, "cargo bench --workspace").run()?)
}

/// One run beside the published numr and candle, one thread; prints a Markdown table.
pub(crate) fn peers(sh: &Shell) -> Result<()> {
    if !sh.path_exists("tests/peers/Cargo.toml") {
        bail!("tests/peers does not exist");
    }
    // A target folder of its own, inside its own package: its features must not touch the workspace's builds.
    let _dir = sh.push_dir("tests/peers");
    let _target = sh.push_env("CARGO_TARGET_DIR", "target");
    let _rayon = sh.push_env("RAYON_NUM_THREADS", "1");
    Ok(cmd!(sh, "cargo run --quiet --release").run()?)
}
