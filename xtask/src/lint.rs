//! Formatting, clippy over the feature combinations a user can choose, and the dependency policy.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::steps::Steps;

/// The facade as users take it; all features of all crates are the workspace run.
const FEATURES: [&str; 6] =
    ["", "cpu", "cpu,autograd", "io,serde", "ndarray,dlpack", "cpu,threads,autograd,cuda,wgpu,io"];

/// Every lint as steps of its own.
pub(crate) fn run(sh: &Shell) -> Result<()> {
    let mut steps = Steps::default();
    all(sh, &mut steps);
    steps.finish()
}

/// Adds the lint steps to a longer command.
pub(crate) fn all(sh: &Shell, steps: &mut Steps) {
    steps.run("fmt", || Ok(cmd!(sh, "cargo fmt --all --check").run()?));
    steps.run("clippy", || {
        Ok(cmd!(sh, "cargo clippy --quiet --workspace --all-targets --all-features -- -D warnings").run()?)
    });
    steps.run("features", || {
        for features in FEATURES {
            cmd!(sh, "cargo clippy --quiet -p numr --lib --no-default-features --features {features} -- -D warnings")
                .run()?;
        }
        Ok(())
    });
    steps.run("deny", || {
        if cmd!(sh, "cargo deny --version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
            println!("skipped: cargo-deny is not installed (cargo install cargo-deny)");
            return Ok(());
        }
        Ok(cmd!(sh, "cargo deny check licenses bans sources").run()?)
    });
}
