//! What a run of cases came to.

use std::collections::BTreeMap;
use std::fmt;

use super::case::Case;
use crate::expect::{GAPS, Gap};

/// What a case came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It agrees.
    Passed,
    /// It does not; the text says how.
    Failed(String),
    /// It asks for what we do not have; the text says what, if more than the op.
    NotMapped(String),
}

/// The count of a suite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Cases that agree.
    pub passed: usize,
    /// Cases that do not.
    pub failed: usize,
    /// Cases that do not, as is known and explained.
    pub gaps: usize,
    /// Cases that ask for what we do not have.
    pub not_mapped: usize,
}

/// The verdicts of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    suites: BTreeMap<String, Tally>,
    failures: Vec<(String, String)>,
    not_mapped: BTreeMap<String, usize>,
    gaps: BTreeMap<usize, (usize, usize)>,
}

impl Report {
    /// Adds the verdict on a case.
    pub fn add(&mut self, case: &Case, verdict: Verdict) {
        let (id, op) = (case.id.as_str(), case.op.as_str());
        let first = case.inputs.first().map(|e| e.host.dtype);
        let suite = id.split('/').next().unwrap_or(id);
        let tally = self.suites.entry(suite.to_owned()).or_default();
        let gap = GAPS.iter().position(|gap| gap.covers(id, op, first));
        if let (Some(gap), false) = (gap, matches!(verdict, Verdict::NotMapped(_))) {
            let seen = self.gaps.entry(gap).or_default();
            *(if verdict == Verdict::Passed { &mut seen.0 } else { &mut seen.1 }) += 1;
        }
        match (verdict, gap) {
            (Verdict::Passed, _) => tally.passed += 1,
            (Verdict::Failed(_), Some(_)) => tally.gaps += 1,
            (Verdict::Failed(why), None) => {
                tally.failed += 1;
                self.failures.push((id.to_owned(), why));
            }
            (Verdict::NotMapped(what), _) => {
                tally.not_mapped += 1;
                let what = if what.is_empty() { op.to_owned() } else { format!("{op} ({what})") };
                *self.not_mapped.entry(what).or_default() += 1;
            }
        }
    }

    /// The count over all suites.
    pub fn total(&self) -> Tally {
        self.suites.values().fold(Tally::default(), |a, b| Tally {
            passed: a.passed + b.passed,
            failed: a.failed + b.failed,
            gaps: a.gaps + b.gaps,
            not_mapped: a.not_mapped + b.not_mapped,
        })
    }

    /// Gaps that are no longer: every case that they cover agrees.
    pub fn closed_gaps(&self) -> impl Iterator<Item = &'static Gap> {
        self.gaps.iter().filter(|(_, seen)| seen.1 == 0).map(|(&gap, _)| &GAPS[gap])
    }

    /// True if no case failed and no gap has closed.
    pub fn is_fine(&self) -> bool {
        self.failures.is_empty() && self.closed_gaps().next().is_none()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total();
        writeln!(f, "{:<16}{:>8}{:>8}{:>8}{:>12}", "suite", "passed", "failed", "gaps", "not mapped")?;
        for (suite, t) in self.suites.iter().map(|(s, t)| (s.as_str(), t)).chain([("total", &total)]) {
            writeln!(f, "{suite:<16}{:>8}{:>8}{:>8}{:>12}", t.passed, t.failed, t.gaps, t.not_mapped)?;
        }
        let ops: Vec<String> = self.not_mapped.iter().map(|(op, n)| format!("{op} {n}")).collect();
        writeln!(f, "not mapped: {}", ops.join(", "))?;
        for (id, why) in &self.failures {
            writeln!(f, "FAILED {id}: {why}")?;
        }
        for gap in self.closed_gaps() {
            writeln!(f, "UNEXPECTED PASS: every case of {gap:?} agrees; take it out of expect.rs")?;
        }
        Ok(())
    }
}
