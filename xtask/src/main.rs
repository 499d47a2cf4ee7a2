//! The automation of the workspace: one command a file, plain Rust, nothing but `cargo` and `git` assumed.
#![forbid(unsafe_code)]

mod api;
mod bench;
mod bundle;
mod doc;
mod generate;
mod lint;
mod setup;
mod source;
mod steps;
mod test;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

use xshell::Shell;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test-all           everything a submission must pass, on a fresh machine
  lint               rustfmt, clippy over the feature combinations, cargo-deny where installed
  tidy [--time]      size per crate, unsafe list, banned names, manifests; --time: release build of numr-cpu
  gen [--check]      write the generated files, or fail if one is stale
  api [--check]      write docs/api/*.txt, the public items per crate, or fail if one is stale
  doc                the documentation, warnings denied
  bench [--peers]    the benches; --peers: beside the published numr and candle (a package of its own)
  device-bundle DIR  stripped test and example binaries and a script, for a machine with a GPU
  setup              fetch what the tests need into target/ and say where it is";

fn main() -> ExitCode {
    match command() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The chain alone: a backtrace of xtask itself tells its user nothing.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn command() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let sh = Shell::new()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    sh.change_dir(root);
    match words[..] {
        ["test-all"] => test::all(&sh),
        ["lint"] => lint::run(&sh),
        ["tidy"] => tidy::run(&sh),
        ["tidy", "--time"] => tidy::run(&sh).and(tidy::time(&sh)),
        ["gen"] => generate::run(&sh, false),
        ["gen", "--check"] => generate::run(&sh, true),
        ["api"] => api::run(&sh, false),
        ["api", "--check"] => api::run(&sh, true),
        ["doc"] => doc::run(&sh),
        ["device-bundle", folder] => bundle::run(&sh, folder),
        ["bench"] => bench::run(&sh),
        ["bench", "--peers"] => bench::peers(&sh),
        ["setup"] => setup::run(&sh),
        _ => anyhow::bail!("{USAGE}"),
    }
}
