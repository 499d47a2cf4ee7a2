//! Generated files as tested facts: written if different, or, with `--check`, an error if different.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use xshell::{Shell, cmd};

/// A file and the text it must hold.
pub(crate) struct Generated {
    path: PathBuf,
    text: String,
}

impl Generated {
    /// A file whose whole text is generated.
    pub(crate) fn whole(path: impl Into<PathBuf>, text: String) -> Generated {
        Generated { path: path.into(), text }
    }

    /// A file in which only the part between `<!-- name -->` and `<!-- /name -->` is generated.
    pub(crate) fn part(sh: &Shell, path: &str, name: &str, text: &str) -> Result<Generated> {
        let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
        let whole = sh.read_file(path)?;
        let (head, rest) = whole.split_once(&open).with_context(|| format!("{path} has no {open}"))?;
        let (_, tail) = rest.split_once(&close).with_context(|| format!("{path} has no {close}"))?;
        Ok(Generated::whole(path, format!("{head}{open}{text}{close}{tail}")))
    }
}

/// Writes what differs, or with `check` fails and names it.
pub(crate) fn settle(sh: &Shell, files: &[Generated], check: bool, command: &str) -> Result<()> {
    let mut stale = vec![];
    for Generated { path, text } in files {
        if sh.read_file(path).ok().as_ref() != Some(text) {
            stale.push(path.display().to_string());
            if !check {
                sh.write_file(path, text)?;
                println!("wrote {}", path.display());
            }
        }
    }
    if check && !stale.is_empty() {
        bail!("stale: {}; run `cargo xtask {command}` and commit", stale.join(", "));
    }
    Ok(())
}

/// The registry of generators.
pub(crate) fn run(sh: &Shell, check: bool) -> Result<()> {
    let mut files = vec![];
    files.extend(support_table(sh)?);
    let page = cmd!(sh, "cargo run --quiet -p numr-tests --all-features --bin numpy-page").read()?;
    files.push(Generated::whole("docs/numpy.md", format!("{page}\n")));
    settle(sh, &files, check, "gen")
}

/// Op x dtype x backend x gradient, as the code itself answers: a summary for the README, the whole for docs.
fn support_table(sh: &Shell) -> Result<Vec<Generated>> {
    if !sh.path_exists("tests/src/bin/support-table.rs") {
        println!("no support table yet");
        return Ok(vec![]);
    }
    let table = |arg: &str| cmd!(sh, "cargo run --quiet -p numr-tests --all-features --bin support-table {arg}").read();
    Ok(vec![
        Generated::part(sh, "README.md", "support table", &format!("\n{}\n\n", table("summary")?))?,
        Generated::whole("docs/support.md", format!("{}\n", table("full")?)),
    ])
}
