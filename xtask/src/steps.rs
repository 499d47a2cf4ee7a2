//! Named steps of a longer command: each is timed, all are run, and the command fails if one did.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// What was run so far.
#[derive(Default)]
pub(crate) struct Steps {
    done: Vec<(&'static str, Duration, bool)>,
}

impl Steps {
    /// Runs one step and remembers its time and outcome; a failure does not stop the steps after it.
    pub(crate) fn run(&mut self, name: &'static str, step: impl FnOnce() -> Result<()>) {
        eprintln!("\n== {name}");
        let start = Instant::now();
        let result = step();
        if let Err(error) = &result {
            eprintln!("== {name} FAILED: {error:#}");
        }
        self.done.push((name, start.elapsed(), result.is_ok()));
    }

    /// Prints the times and the closing line, which CI reads; an error if a step failed.
    pub(crate) fn finish(self) -> Result<()> {
        let total: Duration = self.done.iter().map(|(_, time, _)| *time).sum();
        println!();
        for (name, time, ok) in &self.done {
            println!("{:>8.1} s  {:<6} {name}", time.as_secs_f64(), if *ok { "ok" } else { "FAILED" });
        }
        println!("{:>8.1} s  total", total.as_secs_f64());
        let failed: Vec<_> = self.done.iter().filter(|(_, _, ok)| !ok).map(|(name, _, _)| *name).collect();
        println!("steps: {} passed, {} failed", self.done.len() - failed.len(), failed.len());
        if failed.is_empty() { Ok(()) } else { bail!("failed: {}", failed.join(", ")) }
    }
}
