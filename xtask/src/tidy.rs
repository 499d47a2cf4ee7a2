//! What the house keeps clean: size per crate, where `unsafe` may be, file names, module docs, manifests.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};
use xshell::{Shell, cmd};

use crate::source::{code, files, is_rust};

/// Most lines of a crate, comments counted, blank lines and tests not; and the numr crates that it may depend on.
const CRATES: [(&str, usize, &[&str]); 7] = [
    ("crates/numr-core", 16_000, &[]),
    ("crates/numr-cpu", 10_000, &["numr-core"]),
    ("crates/numr-cuda", 12_000, &["numr-core"]),
    ("crates/numr-wgpu", 9_000, &["numr-core"]),
    ("crates/numr-autograd", 3_400, &["numr-core"]),
    ("crates/numr", 2_000, &["numr-core", "numr-autograd", "numr-cpu", "numr-cuda", "numr-wgpu"]),
    ("xtask", 1_500, &[]),
];

/// Most lines of the tests crate, examples and benches together; the tests inside a crate are shown beside it.
const TESTS: usize = 9_000;

/// The only files in which `unsafe` may be written; a name that ends in `/` is a folder.
const UNSAFE: [&str; 26] = [
    "crates/numr/examples/python.rs",
    "crates/numr/src/interop/dlpack.rs",
    "crates/numr/src/io/mmap.rs",
    "crates/numr-cpu/src/contract.rs",
    "crates/numr-cpu/src/convert.rs",
    "crates/numr-cpu/src/cursor.rs",
    "crates/numr-cpu/src/fused.rs",
    "crates/numr-cpu/src/gather.rs",
    "crates/numr-cpu/src/isa.rs",
    "crates/numr-cpu/src/map.rs",
    "crates/numr-cpu/src/map/cast.rs",
    "crates/numr-cpu/src/reduce.rs",
    "crates/numr-cpu/src/scan.rs",
    "crates/numr-cpu/src/sort.rs",
    "crates/numr-cpu/src/storage.rs",
    "crates/numr-cpu/src/storage/cache.rs",
    "crates/numr-cpu/src/threads.rs",
    "crates/numr-cuda/src/context.rs",
    "crates/numr-cuda/src/driver.rs",
    "crates/numr-cuda/src/kernel.rs",
    "crates/numr-cuda/src/map.rs",
    "crates/numr-cuda/src/memory.rs",
    "crates/numr-cuda/src/nvrtc.rs",
    "crates/numr-cuda/src/runtime.rs",
    "crates/numr-wgpu/src/context.rs",
    "crates/numr-wgpu/src/launch.rs",
];

/// Names that say nothing about what is inside.
const BANNED: [&str; 7] = ["mod.rs", "utils.rs", "util.rs", "helpers.rs", "common.rs", "misc.rs", "build.rs"];

/// Rows of the op table that a backend file may name, with the reason beside each.
const ROWS_IN_BACKENDS: [(&str, &str); 2] = [
    // Huge angles cost five times the others; a block without one takes the bounded body.
    ("crates/numr-cpu/src/map/body.rs", "Sin"),
    ("crates/numr-cpu/src/map/body.rs", "Cos"),
];

/// Runs every check and prints the size table; an error lists all faults.
pub(crate) fn run(sh: &Shell) -> Result<()> {
    let files = files(sh)?;
    let mut faults = vec![];
    let mut sizes = BTreeMap::new();
    for path in &files {
        let Ok(text) = sh.read_file(path) else { continue }; // not text
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if BANNED.contains(&&*name) {
            faults.push(format!("{}: a banned name", path.display()));
        }
        if !path.starts_with("tests/golden") {
            spaces(path, &text, &mut faults);
        }
        if name == "Cargo.toml" {
            manifest(path, &text, &mut faults);
        }
        if is_rust(path) {
            rust(path, &text, &mut faults);
            op_names(path, &text, &mut faults);
        }
        if let Some((owner, lines, tests)) = size(path, &text) {
            let sum: &mut (usize, usize) = sizes.entry(owner).or_default();
            *sum = (sum.0 + lines, sum.1 + tests);
        }
    }
    let budgets = CRATES.map(|(name, most, _)| (name, most)).into_iter().chain([("tests", TESTS)]);
    for (name, most) in budgets {
        let (lines, tests) = sizes.get(name).copied().unwrap_or_default();
        println!("{lines:>7} of {most:>6} lines, {tests:>5} of its own tests  {name}");
        if lines > most {
            faults.push(format!("{name}: {lines} lines, {most} allowed"));
        }
    }
    if faults.is_empty() { Ok(()) } else { bail!("{} faults\n{}", faults.len(), faults.join("\n")) }
}

/// Prints how long a release build of the CPU backend takes once its dependencies are built.
pub(crate) fn time(sh: &Shell) -> Result<()> {
    cmd!(sh, "cargo build --quiet --release -p numr-cpu").run()?;
    cmd!(sh, "cargo clean --quiet --release -p numr-cpu").run()?;
    let start = Instant::now();
    cmd!(sh, "cargo build --quiet --release -p numr-cpu").run()?;
    println!("{:>7.1} s  release build of numr-cpu", start.elapsed().as_secs_f64());
    Ok(())
}

/// Trailing spaces, tabs and a missing or doubled last newline.
fn spaces(path: &Path, text: &str, faults: &mut Vec<String>) {
    for (number, line) in text.lines().enumerate().filter(|(_, line)| line.ends_with([' ', '\t', '\r'])) {
        faults.push(format!("{}:{}: trailing space after `{}`", path.display(), number + 1, line.trim()));
    }
    if !text.is_empty() && (!text.ends_with('\n') || text.ends_with("\n\n")) {
        faults.push(format!("{}: does not end in one newline", path.display()));
    }
}

/// Module docs, and `unsafe` only where it is listed; a crate without it says so itself.
fn rust(path: &Path, text: &str, faults: &mut Vec<String>) {
    let at = path.display();
    if !text.starts_with("//!") && (!is_test(path) || path.starts_with("tests")) {
        faults.push(format!("{at}: does not start with `//!` module docs"));
    }
    let shown = at.to_string();
    let listed =
        UNSAFE.iter().any(|entry| if entry.ends_with('/') { shown.starts_with(entry) } else { shown == *entry });
    let code = code(text);
    let word = |line: &str| line.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == "unsafe");
    if !listed && let Some(line) = code.lines().position(word) {
        faults.push(format!("{at}:{}: `unsafe` outside the files that xtask/src/tidy.rs lists", line + 1));
    }
    let root = ["numr-core", "numr-autograd"].map(|name| format!("crates/{name}/src/lib.rs"));
    let root = root.contains(&shown) || ["xtask/src/main.rs", "tests/src/lib.rs"].contains(&&*shown);
    if root && !code.contains("#![forbid(unsafe_code)]") {
        faults.push(format!("{at}: lacks #![forbid(unsafe_code)]"));
    }
}

/// Dependencies come from the workspace's table, inner ones with a version, and arrows point down only.
fn manifest(path: &Path, text: &str, faults: &mut Vec<String>) {
    if path.starts_with("tests/peers") {
        return; // not a member
    }
    let folder = path.parent().unwrap_or(Path::new("")).display().to_string();
    let allowed = CRATES.iter().find(|(name, ..)| *name == folder).map(|(_, _, allowed)| *allowed);
    let mut section = "";
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if line.starts_with('[') {
            section = line;
        } else if section == "[workspace.dependencies]" {
            if line.contains("path =") && !line.contains("version =") {
                faults.push(format!("{}: an inner dependency without a version: {line}", path.display()));
            }
        } else if section.ends_with("dependencies]") {
            // For its tests a crate may name itself or a crate above it: by path alone, so that it can be published.
            let test_path = section.contains("dev-") && line.starts_with("numr") && line.contains("path = \"");
            if !line.contains("workspace = true") && (!test_path || line.contains("version =")) {
                faults.push(format!("{}: not from the workspace's table: {line}", path.display()));
            }
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            let down = allowed.is_none_or(|allowed| allowed.contains(&name)) || section.contains("dev-");
            if name.starts_with("numr") && !down {
                faults.push(format!("{}: must not depend on {name}", path.display()));
            }
        }
    }
}

/// A backend knows primitives and fused overrides; a row of the op table named in it is a case of its own creeping in.
fn op_names(path: &Path, text: &str, faults: &mut Vec<String>) {
    let backends = ["crates/numr-cpu/src", "crates/numr-cuda/src", "crates/numr-wgpu/src"];
    if !backends.iter().any(|folder| path.starts_with(folder)) {
        return;
    }
    let shown = path.display().to_string();
    for (number, line) in code(split_tests(text).0).lines().enumerate() {
        for tail in line.split("Row::").skip(1) {
            let name: String = tail.chars().take_while(|c| c.is_alphanumeric()).collect();
            let row = name.starts_with(char::is_uppercase) && name != "ALL";
            if row && !ROWS_IN_BACKENDS.contains(&(&*shown, &*name)) {
                faults.push(format!("{shown}:{}: names the op Row::{name}", number + 1));
            }
        }
    }
}

/// The text before and from the unit tests, which stand last in a file.
fn split_tests(text: &str) -> (&str, &str) {
    text.find("#[cfg(test)]\nmod ").map_or((text, ""), |at| text.split_at(at))
}

/// Whether a file holds the tests of its crate.
fn is_test(path: &Path) -> bool {
    path.iter().any(|part| part == "tests") || path.ends_with("tests.rs")
}

/// The crate a source file counts for, its lines and its lines of tests.
fn size(path: &Path, text: &str) -> Option<(&'static str, usize, usize)> {
    let lines = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).count();
    let source =
        ["rs", "cu", "cuh", "wgsl"].iter().any(|kind| path.extension().is_some_and(|extension| extension == *kind));
    if !source {
        return None;
    }
    if path.starts_with("tests") || path.iter().any(|part| part == "examples" || part == "benches") {
        return Some(("tests", lines(text), 0));
    }
    let (owner, ..) = CRATES.iter().find(|(name, ..)| path.starts_with(name))?;
    let (main, tests) = if is_test(path) { ("", text) } else { split_tests(text) };
    Some((owner, lines(main), lines(tests)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_is_seen() {
        let mut faults = vec![];
        rust(Path::new("crates/numr-core/src/lib.rs"), "fn f() { unsafe { g() } }\n", &mut faults);
        assert_eq!(faults.len(), 3, "{faults:?}");
        faults.clear();
        rust(Path::new("crates/numr/src/lib.rs"), "//! Not \"unsafe\" at all.\n// unsafe\n", &mut faults);
        manifest(Path::new("crates/numr-cpu/Cargo.toml"), "[dependencies]\nnumr-core.workspace = true\n", &mut faults);
        spaces(Path::new("a"), "a\n", &mut faults);
        assert_eq!(faults.len(), 0, "{faults:?}");
        manifest(
            Path::new("crates/numr-cpu/Cargo.toml"),
            "[dependencies]\nnumr-cuda.workspace = true\nx = \"1\"\n",
            &mut faults,
        );
        manifest(Path::new("Cargo.toml"), "[workspace.dependencies]\na = { path = \"a\" }\n", &mut faults);
        spaces(Path::new("a"), "a \nb", &mut faults);
        assert_eq!(faults.len(), 5, "{faults:?}");
    }

    #[test]
    fn tests_are_counted_apart() {
        let text = "//! A.\n\nfn f() {}\n\n#[cfg(test)]\nmod tests {\n}\n";
        assert_eq!(size(Path::new("xtask/src/a.rs"), text), Some(("xtask", 2, 3)));
        assert_eq!(size(Path::new("crates/numr/examples/a.rs"), text), Some(("tests", 5, 0)));
    }

    #[test]
    fn rows_in_backends_are_seen() {
        let mut faults = vec![];
        let text = "//! A.\nfn f() { for row in Row::ALL {} }\n#[cfg(test)]\nmod tests { use Row::Exp; }\n";
        op_names(Path::new("crates/numr-cpu/src/a.rs"), text, &mut faults);
        op_names(Path::new("crates/numr-core/src/a.rs"), "Row::Exp", &mut faults);
        assert_eq!(faults.len(), 0, "{faults:?}");
        op_names(Path::new("crates/numr-cpu/src/a.rs"), "if row == Row::Exp {}", &mut faults);
        assert_eq!(faults.len(), 1, "{faults:?}");
    }
}
