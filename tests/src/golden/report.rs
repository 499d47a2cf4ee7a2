//! What a run of cases came to.

use std::collections::BTreeMap;
use std::fmt;

use numr::Device;
use numr_core::DType;

use super::case::Case;
use super::data::Host;
use crate::expect::{GAPS, Gap, WGPU_GAPS};

/// What a case came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It agrees.
    Passed,
    /// It does not; the text says how.
    Failed(String),
    /// It asks for what we do not have; the text says what, if more than the op.
    NotMapped(String),
    /// The device says that it cannot; the text says why.
    Unsupported(String),
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
    /// Cases that ask for what the device does not have, as it says itself.
    pub unsupported: usize,
    /// Cases that do not agree on a device that may take subnormal numbers for 0, and that speak of such a number.
    pub subnormal: usize,
}

/// The verdicts of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    device: String,
    /// Is its arithmetic the same wherever these tests run? That of a GPU is its own.
    known: bool,
    suites: BTreeMap<String, Tally>,
    failures: Vec<(String, String)>,
    not_mapped: BTreeMap<String, usize>,
    unsupported: BTreeMap<String, usize>,
    gaps: BTreeMap<usize, (usize, usize)>,
}

impl Report {
    /// Of this device; nothing has run.
    pub fn new(device: &Device) -> Report {
        let known = match device {
            Device::Wgpu(adapter) => !adapter.is_hardware(),
            _ => true,
        };
        Report { device: device.to_string(), known, ..Report::default() }
    }

    /// Adds the verdict on a case.
    pub fn add(&mut self, case: &Case, verdict: Verdict) {
        let (id, op) = (case.id.as_str(), case.op.as_str());
        let first = case.inputs.first().map(|e| e.host.dtype);
        let suite = id.split('/').next().unwrap_or(id);
        let tally = self.suites.entry(suite.to_owned()).or_default();
        let here = if self.device.starts_with("wgpu") { WGPU_GAPS } else { &[] };
        let gap = GAPS.iter().chain(here).position(|gap| gap.covers(id, op, first));
        if let (Some(gap), true) = (gap, matches!(verdict, Verdict::Passed | Verdict::Failed(_))) {
            let seen = self.gaps.entry(gap).or_default();
            *(if verdict == Verdict::Passed { &mut seen.0 } else { &mut seen.1 }) += 1;
        }
        match (verdict, gap) {
            (Verdict::Passed, _) => tally.passed += 1,
            (Verdict::Failed(_), Some(_)) => tally.gaps += 1,
            (Verdict::Failed(_), None) if self.device.starts_with("wgpu") && speaks_of_subnormals(case) => {
                tally.subnormal += 1;
            }
            (Verdict::Failed(why), None) => {
                tally.failed += 1;
                self.failures.push((id.to_owned(), why));
            }
            (Verdict::NotMapped(what), _) => {
                tally.not_mapped += 1;
                let what = if what.is_empty() { op.to_owned() } else { format!("{op} ({what})") };
                *self.not_mapped.entry(what).or_default() += 1;
            }
            (Verdict::Unsupported(why), _) => {
                tally.unsupported += 1;
                *self.unsupported.entry(why).or_default() += 1;
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
            unsupported: a.unsupported + b.unsupported,
            subnormal: a.subnormal + b.subnormal,
        })
    }

    /// Those of all devices, then those of WebGPU.
    fn gap(at: usize) -> Option<&'static Gap> {
        GAPS.iter().chain(WGPU_GAPS).nth(at)
    }

    /// Gaps that are no longer: every case that they cover agrees. One of all devices is closed by the CPU alone, one of
    /// WebGPU by software, as the arithmetic of others may agree by chance.
    pub fn closed_gaps(&self) -> impl Iterator<Item = &'static Gap> {
        let own = |at: usize| if at < GAPS.len() { self.device == "cpu" } else { self.known };
        let closed = self.gaps.iter().filter(move |&(&at, seen)| seen.1 == 0 && own(at));
        closed.filter_map(|(&at, _)| Report::gap(at))
    }

    /// True if no case failed and no gap has closed.
    pub fn is_fine(&self) -> bool {
        self.failures.is_empty() && self.closed_gaps().next().is_none()
    }
}

/// Is an operand or a result between 0 and the least normal number of the arithmetic that it is computed in?
fn speaks_of_subnormals(case: &Case) -> bool {
    let tiny = |host: &Host| {
        let least = if host.dtype.compute() == DType::F64 { f64::MIN_POSITIVE } else { f64::from(f32::MIN_POSITIVE) };
        let is = |x: f64| x != 0.0 && x.abs() < least;
        host.numbers().complex().iter().any(|z| is(z[0]) || is(z[1]))
    };
    case.inputs.iter().chain(&case.outputs).any(|e| tiny(&e.host))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total();
        let heads = ["passed", "failed", "gaps", "not mapped", "unsupported", "subnormal"];
        let row = |f: &mut fmt::Formatter<'_>, name: &str, cells: [String; 6]| {
            writeln!(f, "{name:<16}{}", cells.map(|c| format!("{c:>12}")).concat())
        };
        row(f, &self.device, heads.map(str::to_owned))?;
        for (suite, t) in self.suites.iter().map(|(s, t)| (s.as_str(), t)).chain([("total", &total)]) {
            let cells = [t.passed, t.failed, t.gaps, t.not_mapped, t.unsupported, t.subnormal];
            row(f, suite, cells.map(|n| n.to_string()))?;
        }
        let ops: Vec<String> = self.not_mapped.iter().map(|(op, n)| format!("{op} {n}")).collect();
        writeln!(f, "not mapped: {}", ops.join(", "))?;
        for (why, n) in &self.unsupported {
            writeln!(f, "unsupported: {n} {why}")?;
        }
        for (id, why) in &self.failures {
            writeln!(f, "FAILED {id}: {why}")?;
        }
        for gap in self.closed_gaps() {
            writeln!(f, "UNEXPECTED PASS: every case of {gap:?} agrees; take it out of expect.rs")?;
        }
        Ok(())
    }
}
