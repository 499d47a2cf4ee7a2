//! Benches: our own, and beside other libraries, which live in a package outside the workspace.

use anyhow::{Result, bail};
use xshell::{Shell, cmd};

use crate::generate::{Generated, settle};

/// Our own benches.
pub(crate) fn run(sh: &Shell) -> Result<()> {
    Ok(cmd!(sh, "cargo bench --workspace").run()?)
}

/// One run beside the published numr and candle, one thread; prints the table and writes it to docs/performance.md.
pub(crate) fn peers(sh: &Shell) -> Result<()> {
    if !sh.path_exists("tests/peers/Cargo.toml") {
        bail!("tests/peers does not exist");
    }
    // A target folder of its own: its features must not touch the workspace's builds.
    let manifest = "tests/peers/Cargo.toml";
    let table =
        cmd!(sh, "cargo run --quiet --release --manifest-path {manifest} --target-dir tests/peers/target").read()?;
    println!("{table}");
    let table = Generated::part(sh, "docs/performance.md", "peers", &format!("\n{table}\n\n"))?;
    settle(sh, &[table], false, "bench --peers")
}
