//! Runs cases on a runtime and judges what comes out.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use numr::{AnyRuntime, Device};
use numr_core::prim::{Prim, View as PrimView};
use numr_core::{Error, Result, Runtime, SliceRange, Tensor};
use serde_json::Value;

use super::call::{Call, Done, Given, Stop, Style};
use super::case::{self, Case, Entry, Kind, Role, View};
use super::data::{self, Host};
use super::report::{Report, Verdict};
use super::rules::{Outcome, judge};
use super::{derive, formula, ops, property};

/// How an operand lies in memory; the elements that an op sees are the same in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Row-major.
    Stored,
    /// Column-major, viewed back.
    Transposed,
    /// Back to front, viewed with negative strides.
    Flipped,
    /// A window at an odd offset of a bigger tensor full of NaN.
    Embedded,
}

impl Arrangement {
    /// Every arrangement.
    pub const ALL: [Arrangement; 4] =
        [Arrangement::Stored, Arrangement::Transposed, Arrangement::Flipped, Arrangement::Embedded];
}

/// A tensor of the host's elements that lies as `arrangement` says.
pub fn upload<R: Runtime>(host: &Host, arrangement: Arrangement, device: &R::Device) -> Result<Tensor<R>> {
    let send = |h: &Host| Tensor::try_from_bytes(&h.bytes, &h.shape, h.dtype, device);
    let axes: Vec<usize> = (0..host.shape.len()).rev().collect();
    match arrangement {
        Arrangement::Stored => send(host),
        Arrangement::Transposed => send(&host.permuted(&axes))?.permute(axes),
        Arrangement::Flipped => send(&host.reversed())?.flip(..),
        Arrangement::Embedded => {
            let mut t = send(&host.embedded(1, 2))?;
            for (axis, &len) in host.shape.iter().enumerate() {
                t = t.narrow(axis as isize, 1, len)?;
            }
            Ok(t)
        }
    }
}

/// The elements of a tensor on the host.
pub fn download<R: Runtime>(tensor: &Tensor<R>) -> Result<Host> {
    Ok(Host { dtype: tensor.dtype(), shape: tensor.shape().to_vec(), bytes: tensor.to_bytes()? })
}

/// The tensor seen through one step of a view program; nothing is copied.
pub fn see<R: Runtime>(t: &Tensor<R>, step: &View) -> Result<Tensor<R>> {
    match *step {
        View::Swap(a, b) => t.transpose(a, b),
        View::Narrow(dim, start, len) => t.narrow(dim, start, len),
        View::Flip(dim) => t.flip([dim]),
        View::Expand(ref shape) => t.broadcast_to(shape),
        View::Unsqueeze(dim) => t.unsqueeze(dim),
        View::Step(dim, k) => {
            let whole = t.shape().iter().map(|&len| SliceRange { start: 0, len, step: 1 });
            let mut ranges: smallvec::SmallVec<[SliceRange; 8]> = whole.collect();
            let dim = dim as usize;
            ranges[dim] = SliceRange { start: 0, len: t.shape()[dim].div_ceil(k), step: k as isize };
            Tensor::run_one(&Prim::View(PrimView::Slice(ranges)), &[t])
        }
        View::Select(dim, i) => {
            let mut shape = t.shape().to_vec();
            shape.remove(dim as usize);
            t.narrow(dim, i, 1)?.reshape(&shape)
        }
    }
}

/// The tensor that an entry stands for.
pub fn tensor<R: Runtime>(entry: &Entry, arrangement: Arrangement, device: &R::Device) -> Result<Tensor<R>> {
    let base = upload(&entry.host, arrangement, device)?;
    entry.view.iter().try_fold(base, |t, step| see(&t, step))
}

/// The operands of a case on a device.
pub fn operands<R: Runtime>(case: &Case, arrangement: Arrangement, device: &R::Device) -> Result<Vec<Given<R>>> {
    let plain = case.inputs.iter().filter(|e| e.role == Role::Plain);
    let given = |e: &Entry| {
        let tensor = tensor(e, arrangement, device)?;
        Ok(Given { name: e.name.clone(), slot: e.slot, tensor })
    };
    plain.map(given).collect()
}

/// How a case spells its call.
fn style(case: &Case) -> Style {
    match case.op.split_once('.') {
        Some(("torch", _)) => Style::Torch,
        Some(("onnx", _)) => Style::Onnx,
        _ => Style::Plain,
    }
}

/// Runs the function that a case speaks of.
pub fn function<R: Runtime>(case: &Case, given: &[Given<R>], device: &R::Device) -> Done<R> {
    let suite = case.id.split('/').next().unwrap_or("");
    match case.op.as_str() {
        "prog" => program(&case.args["steps"], given, device),
        op => ops::run(suite, op, &Call::new(style(case), given, &case.args, device)),
    }
}

/// Runs a list of steps; the last result is the program's.
fn program<R: Runtime>(steps: &Value, given: &[Given<R>], device: &R::Device) -> Done<R> {
    let named = |name: &str, tensor: &Tensor<R>| Given { name: name.to_owned(), slot: None, tensor: tensor.clone() };
    let mut known: Vec<Given<R>> = given.iter().map(|g| named(&g.name, &g.tensor)).collect();
    let mut last = Vec::new();
    for step in steps.as_array().into_iter().flatten() {
        let strange = || Stop::NotMapped(format!("step {step}"));
        let names = step["in"].as_array().ok_or_else(strange)?.iter();
        let find = |name: &Value| known.iter().find(|g| Some(g.name.as_str()) == name.as_str());
        let operands: Vec<Given<R>> = names
            .map(|name| find(name).map(|g| named(&g.name, &g.tensor)).ok_or_else(strange))
            .collect::<std::result::Result<_, _>>()?;
        let op = step["op"].as_str().ok_or_else(strange)?;
        let call = Call::new(Style::Plain, &operands, &step["args"], device);
        last = ops::run("prog", op, &call)?;
        let result = last.first().ok_or_else(strange)?;
        known.push(named(step["out"].as_str().ok_or_else(strange)?, result));
    }
    Ok(last)
}

/// Runs `f`, taking a panic for what it is. What no device, or not this one, can do is a verdict: the text says what.
fn outcome<T>(
    case: &Case,
    f: impl FnOnce() -> std::result::Result<T, Stop>,
) -> std::result::Result<std::result::Result<T, Outcome>, Verdict> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(value)) => Ok(Ok(value)),
        Ok(Err(Stop::Error(error))) => match (beyond(case, &error), &error) {
            (Some(what), _) => Err(Verdict::NotMapped(what)),
            // The CPU is the reference: what it lacks is a failure.
            (None, Error::Unsupported { dtype, device, reason, .. }) if !device.starts_with("cpu") => {
                let dtype = dtype.map(|d| format!("{d}: ")).unwrap_or_default();
                Err(Verdict::Unsupported(format!("{dtype}{reason}")))
            }
            (None, _) => Ok(Err(Outcome::Refused(error.to_string()))),
        },
        Ok(Err(Stop::NotMapped(what))) => Err(Verdict::NotMapped(what)),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            Ok(Err(Outcome::Panicked(text.unwrap_or_default())))
        }
    }
}

/// What an error says that we do not claim: an op on complex numbers, or torch's axis of a tensor without axes.
fn beyond(case: &Case, error: &Error) -> Option<String> {
    let first = &case.inputs.first()?.host;
    match error {
        Error::DType { .. } | Error::Unsupported { .. } if case.kind != Kind::Error && first.dtype.is_complex() => {
            Some(format!("of {}", first.dtype))
        }
        Error::Axis { axis: -1 | 0, .. } if style(case) == Style::Torch && first.shape.is_empty() => {
            Some("an axis of a tensor without axes".into())
        }
        _ => None,
    }
}

/// The verdict on what `f` gives, by the case's rule.
pub(super) fn verdict(case: &Case, f: impl FnOnce() -> std::result::Result<Vec<Host>, Stop>) -> Verdict {
    match outcome(case, f).map(|done| judge(case, &done.map_or_else(|other| other, Outcome::Value))) {
        Err(verdict) => verdict,
        Ok(Err(why)) => Verdict::Failed(why),
        Ok(Ok(())) => Verdict::Passed,
    }
}

/// The verdict on an `f` that judges for itself.
pub(super) fn verdict_of(
    case: &Case,
    f: impl FnOnce() -> std::result::Result<std::result::Result<(), String>, Stop>,
) -> Verdict {
    match outcome(case, f) {
        Err(verdict) => verdict,
        Ok(Err(other)) => Verdict::Failed(format!("{other:?}")),
        Ok(Ok(Err(why))) => Verdict::Failed(why),
        Ok(Ok(Ok(()))) => Verdict::Passed,
    }
}

/// The verdict on a case of kind value or error, in every arrangement of its operands.
pub fn forward<R: Runtime>(case: &Case, device: &R::Device) -> Verdict {
    for arrangement in Arrangement::ALL {
        let run = || -> std::result::Result<Vec<Host>, Stop> {
            let given = operands::<R>(case, arrangement, device)?;
            let results = function(case, &given, device)?;
            Ok(results.iter().map(download).collect::<Result<_>>()?)
        };
        match verdict(case, run) {
            Verdict::Passed => {}
            Verdict::Failed(why) => return Verdict::Failed(format!("{arrangement:?}: {why}")),
            other => return other,
        }
    }
    Verdict::Passed
}

/// The verdict on a case.
pub fn run<R: Runtime>(case: &Case, device: &R::Device) -> Verdict {
    match case.kind {
        Kind::Value | Kind::Error => forward::<R>(case, device),
        Kind::Formula => {
            verdict(case, || Ok(formula::run::<R>(case, device)?.iter().map(download).collect::<Result<_>>()?))
        }
        Kind::Grad | Kind::Jvp | Kind::Hvp | Kind::D3 => derive::verdict::<R>(case, device),
        Kind::Property => property::verdict::<R>(case, device),
    }
}

/// Runs every case of a directory whose name contains `filter` on a device, on all threads of the machine.
///
/// # Errors
/// A file that cannot be read.
pub fn directory(dir: &Path, filter: &str, device: &Device) -> io::Result<Report> {
    let mut report = Report::new(device);
    // A panic is a verdict here, not news for the terminal.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    for suite in data::suites(dir)? {
        let mut cases = case::read(dir, &suite)?;
        cases.retain(|case| case.id.contains(filter));
        let next = AtomicUsize::new(0);
        let work = || {
            let mut verdicts = Vec::new();
            while let Some((i, case)) =
                Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, cases.get(i)?)))
            {
                verdicts.push((i, run::<AnyRuntime>(case, device)));
            }
            verdicts
        };
        // A GPU tells of an index out of range late, and to whoever waits next: there, one case at a time.
        let alone = !matches!(device, Device::Cpu(_));
        let threads = if alone { 1 } else { thread::available_parallelism().map_or(1, usize::from) };
        let mut verdicts: Vec<(usize, Verdict)> = thread::scope(|s| {
            let workers: Vec<_> = (0..threads).map(|_| s.spawn(work)).collect();
            workers.into_iter().flat_map(|w| w.join().unwrap_or_default()).collect()
        });
        verdicts.sort_by_key(|(i, _)| *i);
        for (i, verdict) in verdicts {
            report.add(&cases[i], verdict);
        }
    }
    std::panic::set_hook(hook);
    Ok(report)
}
