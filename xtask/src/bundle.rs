//! `device-bundle`: what a machine with a GPU and without Rust needs to run the device tests, examples and rates.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use xshell::{Shell, cmd};

const EXAMPLES: [&str; 7] = ["devices", "digits", "rates", "tour", "hessian", "fuse", "custom_gradient"];
/// Test binaries: the package, the name of its test, and the name in the bundle.
const TESTS: [(&str, &str, &str); 2] = [("numr-tests", "suite", "suite"), ("numr-wgpu", "wgpu", "numr-wgpu-tests")];
/// Most bytes of a bundle, so that it travels in one piece.
const MOST: u64 = 60 << 20;

/// Builds and strips the binaries into `folder`, beside the script that runs them.
pub(crate) fn run(sh: &Shell, folder: &str) -> Result<()> {
    sh.create_dir(folder)?;
    let target = sh.var_os("CARGO_TARGET_DIR").map_or_else(|| sh.current_dir().join("target"), PathBuf::from);
    let _strip = sh.push_env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    for example in EXAMPLES {
        cmd!(sh, "cargo build --quiet --release -p numr --features io,cuda,wgpu --example {example}").run()?;
        sh.copy_file(target.join("release/examples").join(example), folder)?;
    }
    for (package, test, name) in TESTS {
        let messages =
            cmd!(sh, "cargo test --quiet --release --no-run -p {package} --test {test} --message-format json")
                .read()?;
        let path = messages.lines().rev().find_map(executable).with_context(|| format!("no binary of {package}"))?;
        sh.copy_file(path, Path::new(folder).join(name))?;
    }
    for file in ["xtask/device-run.sh", "tests/peers/torch_rates.py"] {
        sh.copy_file(file, folder)?;
    }
    cmd!(sh, "cp -r tests/golden {folder}").run()?;
    let archive = format!("{folder}.tar.gz");
    cmd!(sh, "tar -C {folder} -czf {archive} .").run()?;
    let size = std::fs::metadata(&archive)?.len();
    println!(
        "{archive}: {:.1} MiB; unpacked on the other machine: bash device-run.sh cuda",
        size as f64 / (1 << 20) as f64
    );
    if size > MOST { bail!("more than {} MiB", MOST >> 20) } else { Ok(()) }
}

/// The path in a message about a binary.
fn executable(message: &str) -> Option<PathBuf> {
    let (_, rest) = message.split_once("\"executable\":\"")?;
    Some(rest.split_once('"')?.0.into())
}
