//! `test-all`: everything a submission must pass, on a machine with nothing but Rust and Python.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::steps::Steps;
use crate::{api, doc, generate, lint, setup, tidy};

/// Short enough to be run on every submission; `digits` is not.
const EXAMPLES: [&str; 5] = ["tour", "hessian", "fuse", "custom_gradient", "devices"];

/// Runs every step, prints their times, fails if one failed.
pub(crate) fn all(sh: &Shell) -> Result<()> {
    let mut steps = Steps::default();
    let mut env = vec![sh.push_env("CARGO_INCREMENTAL", "0")];
    let mut required = vec![];
    let mut packages = None;
    steps.run("setup", || {
        if let Some(library) = setup::nvrtc(sh)? {
            println!("NVRTC: {}", library.display());
            env.push(sh.push_env("LD_LIBRARY_PATH", setup::search_path(sh, &library)));
            env.push(sh.push_env("NUMR_NVRTC", library));
            required.push("nvrtc");
        }
        packages = setup::python(sh)?;
        if let Some(packages) = &packages {
            env.push(sh.push_env("NUMR_PYTHON", packages));
        }
        // At home a missing Python is a skip that is printed.
        if packages.is_some() || sh.var_os("CI").is_some() {
            required.push("python");
        }
        if setup::vulkan(sh)? {
            required.push("wgpu");
        }
        env.push(sh.push_env("NUMR_REQUIRE", required.join(",")));
        Ok(())
    });
    lint::all(sh, &mut steps);
    steps.run("tidy", || tidy::run(sh));
    steps.run("api", || api::run(sh, true));
    steps.run("doc", || doc::run(sh));
    steps.run("test", || {
        if cmd!(sh, "cargo nextest --version").quiet().ignore_stdout().ignore_stderr().run().is_ok() {
            return Ok(cmd!(sh, "cargo nextest run --workspace --all-features --profile all").run()?);
        }
        Ok(cmd!(sh, "cargo test --workspace --all-features --lib --bins --tests").run()?)
    });
    steps.run("doctest", || Ok(cmd!(sh, "cargo test --quiet --workspace --all-features --doc").run()?));
    steps.run("examples", || {
        for name in EXAMPLES {
            cmd!(sh, "cargo run --quiet -p numr --all-features --example {name}").ignore_stdout().run()?;
        }
        Ok(())
    });
    if let Some(packages) = packages {
        steps.run("python", || setup::share(sh, &packages));
    }
    steps.run("gen", || generate::run(sh, true));
    steps.finish()
}
