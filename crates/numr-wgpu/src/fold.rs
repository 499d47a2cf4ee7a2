//! Folds over axes, and running folds.
//!
//! A fold is a chain of launches. In each, an invocation folds `STEP` elements at most, in order, so that neighbours read
//! neighbours; the next launch folds what is left. The order follows from the sizes alone, so results are the same run
//! after run, and an error grows by `STEP` roundings a launch.

use crate::context::Context;
use crate::kernel::{Builder, WORDS, Words};
use crate::launch::{Key, Launch, Text};
use crate::map::contiguous;
use crate::memory::Buffer;
use crate::runtime::{WgpuRuntime, axes_of, tensor};
use numr_core::prim::{Meta, Reduce, ReduceOp, Scan, ScanOp};
use numr_core::runtime::Support;
use numr_core::scalar::Scalar;
use numr_core::scalar::expr::Expr;
use numr_core::scalar::print::wgsl::register;
use numr_core::{DType, Lit, Result, Shape, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;

/// Elements that an invocation folds at most.
const STEP: usize = 64;

/// What a fold is taken in, and what it is stored as in the end.
pub(crate) fn dtypes(op: ReduceOp, dtype: DType) -> (DType, DType) {
    match op {
        ReduceOp::Sum | ReduceOp::Prod if dtype.is_unsigned_int() => (DType::U64, DType::U64),
        ReduceOp::Sum | ReduceOp::Prod if dtype.is_int() || dtype.is_bool() => (DType::I64, DType::I64),
        ReduceOp::Sum | ReduceOp::Prod => (dtype.compute(), dtype),
        ReduceOp::Max | ReduceOp::Min => (dtype, dtype),
        ReduceOp::Any | ReduceOp::All => (DType::Bool, DType::Bool),
        ReduceOp::ArgMax | ReduceOp::ArgMin => (dtype, DType::I64),
    }
}

pub(crate) fn supports(context: &Context, op: ReduceOp, dtypes_: &[DType]) -> Support {
    let (acc, to) = dtypes(op, dtypes_[0]);
    // A place is written as two words.
    let to = if matches!(op, ReduceOp::ArgMax | ReduceOp::ArgMin) { acc } else { to };
    match context.lacks(acc).or(context.lacks(to)) {
        Some(reason) => Support::No { reason: reason.into() },
        None => Support::Native,
    }
}

fn of_scan(op: ScanOp) -> ReduceOp {
    match op {
        ScanOp::Sum => ReduceOp::Sum,
        ScanOp::Prod => ReduceOp::Prod,
        ScanOp::Max => ReduceOp::Max,
        ScanOp::Min => ReduceOp::Min,
    }
}

pub(crate) fn supports_scan(context: &Context, op: ScanOp, dtypes: &[DType]) -> Support {
    supports(context, of_scan(op), dtypes)
}

/// Two as one.
fn join<'a>(op: ReduceOp, a: Expr<'a>, b: Expr<'a>) -> Expr<'a> {
    match op {
        ReduceOp::Sum => a + b,
        ReduceOp::Prod => a * b,
        ReduceOp::Max => a.max(b),
        ReduceOp::Min => a.min(b),
        ReduceOp::Any => a | b,
        ReduceOp::All => a & b,
        // Does the later one win?
        ReduceOp::ArgMax => !a.ne(a) & (b.ne(b) | a.lt(b)),
        ReduceOp::ArgMin => !a.ne(a) & (b.ne(b) | b.lt(a)),
    }
}

/// The fold of nothing.
fn neutral(op: ReduceOp) -> Lit {
    match op {
        ReduceOp::Prod => Lit::Int(1),
        ReduceOp::All => Lit::Bool(true),
        _ => Lit::Int(0),
    }
}

pub(crate) fn reduce(
    device: &Arc<Context>,
    r: &Reduce,
    x: &Tensor<WgpuRuntime>,
    out: &Meta,
) -> Result<Tensor<WgpuRuntime>> {
    let count = out.shape.numel().unwrap_or(usize::MAX);
    let kept: SmallVec<[usize; 8]> = (0..x.ndim()).filter(|k| !r.axes.contains(k)).collect();
    let n: usize = r.axes.iter().map(|&k| x.shape()[k]).product();
    if n == 0 || count == 0 {
        return Tensor::try_full(&out.shape, neutral(r.op), out.dtype, x.device());
    }
    let ((outer, outer_strides), (inner, inner_strides)) = (axes_of(x, &kept), axes_of(x, &r.axes));
    let (acc, to) = dtypes(r.op, x.dtype());
    if matches!(r.op, ReduceOp::ArgMax | ReduceOp::ArgMin) {
        return arg(device, r.op, x, [(&outer, &outer_strides), (&inner, &inner_strides)], n, out);
    }
    // A launch folds elements `part, part + parts, ..` of each result's `left` ones.
    let (mut left, mut from, mut source) = (n, x.dtype(), x.storage().clone());
    loop {
        let parts = left.div_ceil(STEP);
        let to = if parts == 1 { to } else { acc };
        let total = count.saturating_mul(parts);
        let result = Buffer::new(device, total.saturating_mul(to.size_in_bytes()))?;
        let words = Words::new("reduce", total)?.number(parts)?.number(left)?;
        // Where results begin, then where the elements of one lie.
        let words = if left == n {
            words.layout(x.layout().offset(), &outer, &outer_strides)?
        } else {
            words.layout(0, &[count], &[left as isize])?
        };
        let second = words.v.len();
        let words =
            if left == n { words.layout(0, &inner, &inner_strides)? } else { words.layout(0, &[left], &[1])? };
        let mut words = words.finish();
        words[WORDS - 1] = second as u32;
        let launch = Launch { op: "reduce", inputs: &[&source], outputs: &[&result], words: &words, flag: false };
        device.launch(Key::Fold { op: r.op, from, acc, to }, &launch)?;
        if parts == 1 {
            return Ok(tensor(device, result, out));
        }
        (left, from, source) = (parts, acc, result);
    }
}

/// The text of a launch of [`reduce`].
pub(crate) fn reduce_text(op: ReduceOp, from: DType, acc: DType, to: DType) -> Result<Text> {
    let body = format!(
        "let parts = numr_word(1u);\nlet left = numr_word(2u);\nlet inner = numr_word({}u);\n\
         let base = numr_at(i / parts, 3u);\nlet part = i % parts;\n\
         var acc = numr_first(numr_get0(base + numr_at(part, inner)));\n\
         for (var k = part + parts; k < left; k += parts) {{\n\
         acc = numr_join(acc, numr_first(numr_get0(base + numr_at(k, inner))));\n}}\n\
         numr_put0(i, numr_last(acc));\n",
        WORDS - 1
    );
    Builder::new(&[from], &[to])
        .function("numr_first", &[from], acc, |a| a[0])?
        .function("numr_join", &[acc, acc], acc, |a| join(op, a[0], a[1]))?
        .function("numr_last", &[acc], to, |a| a[0])?
        .finish(WORDS, &body)
}

type Axes<'a> = (&'a SmallVec<[usize; 8]>, &'a SmallVec<[isize; 8]>);

/// Where the extreme of each result lies: of parts first, then of the places found in those.
fn arg(
    device: &Arc<Context>,
    op: ReduceOp,
    x: &Tensor<WgpuRuntime>,
    [outer, inner]: [Axes<'_>; 2],
    n: usize,
    out: &Meta,
) -> Result<Tensor<WgpuRuntime>> {
    let count = out.shape.numel().unwrap_or(usize::MAX);
    let (mut places, mut left) = (None::<Arc<Buffer>>, n);
    loop {
        let parts = left.div_ceil(STEP);
        let last = parts == 1;
        let place = if last { DType::I64 } else { DType::U32 };
        let tasks = count.saturating_mul(parts);
        let result = Buffer::new(device, tasks.saturating_mul(place.size_in_bytes()))?;
        let words = Words::new("argmax", tasks)?.number(parts)?.number(left)?.number(usize::from(places.is_some()))?;
        let words = words.layout(x.layout().offset(), outer.0, outer.1)?;
        let second = words.v.len();
        let mut words = words.layout(0, inner.0, inner.1)?.finish();
        words[WORDS - 1] = second as u32;
        let inputs = [&**x.storage(), places.as_ref().unwrap_or(x.storage())];
        let launch = Launch { op: "argmax", inputs: &inputs, outputs: &[&result], words: &words, flag: false };
        device.launch(Key::Arg { op, from: x.dtype(), last }, &launch)?;
        if last {
            return Ok(tensor(device, result, out));
        }
        (left, places) = (parts, Some(result));
    }
}

/// The text of a launch of [`arg`]. The last writes an index as its halves, which takes no 64-bit arithmetic.
pub(crate) fn arg_text(op: ReduceOp, from: DType, last: bool) -> Result<Text> {
    let put = if last { "numr_put0(2u * i, place);\nnumr_put0(2u * i + 1u, 0u);\n" } else { "numr_put0(i, place);\n" };
    let body = format!(
        "let parts = numr_word(1u);\nlet left = numr_word(2u);\nlet again = numr_word(3u) != 0u;\n\
         let inner = numr_word({}u);\nlet owner = i / parts;\nlet base = numr_at(owner, 4u);\n\
         let first = (i % parts) * {STEP}u;\nvar best = {ty}();\nvar place = 0u;\n\
         for (var k = first; k < min(first + {STEP}u, left); k++) {{\n\
         var at = k;\nif again {{ at = numr_get1(owner * left + k); }}\n\
         let value = numr_get0(base + numr_at(at, inner));\n\
         if k == first || numr_later(best, value) {{ best = value; place = at; }}\n}}\n\
         {put}",
        WORDS - 1,
        ty = register(from),
    );
    Builder::new(&[from, DType::U32], &[DType::U32])
        .function("numr_later", &[from, from], DType::Bool, |a| join(op, a[0], a[1]))?
        .finish(WORDS, &body)
}

pub(crate) fn scan(
    device: &Arc<Context>,
    s: &Scan,
    x: &Tensor<WgpuRuntime>,
    out: &Meta,
) -> Result<Tensor<WgpuRuntime>> {
    let n = x.shape()[s.axis];
    let meta = Meta { shape: x.layout().shape().clone(), dtype: x.dtype() };
    let x = contiguous(device, x, &meta)?;
    let step: usize = x.shape()[s.axis + 1..].iter().product();
    let lines = x.numel().checked_div(n).unwrap_or(0);
    let lines = Lines { op: s.op, lines, n, step, reverse: s.reverse, exclusive: s.exclusive };
    let (acc, to) = dtypes(of_scan(s.op), x.dtype());
    let result = scan_lines(device, lines, x.storage(), [x.dtype(), acc, to])?;
    Ok(tensor(device, result, &Meta { shape: Shape::from(x.shape()), dtype: out.dtype }))
}

/// The running sums of so many counts (u32).
pub(crate) fn running(device: &Arc<Context>, n: usize, counts: &Arc<Buffer>) -> Result<Arc<Buffer>> {
    let lines = Lines { op: ScanOp::Sum, lines: 1, n, step: 1, reverse: false, exclusive: false };
    scan_lines(device, lines, counts, [DType::U32; 3])
}

/// What is scanned: lines of `n` elements `step` apart.
#[derive(Clone, Copy)]
struct Lines {
    op: ScanOp,
    lines: usize,
    n: usize,
    step: usize,
    reverse: bool,
    exclusive: bool,
}

/// An invocation a line, in order, if lines are short, or many; else an invocation a part of a line, once what the parts
/// before it fold to is known: by a scan of the parts' folds.
fn scan_lines(device: &Arc<Context>, l: Lines, x: &Arc<Buffer>, [from, acc, to]: [DType; 3]) -> Result<Arc<Buffer>> {
    let whole = l.n <= 4 * STEP || l.lines >= 4096 && l.n <= 512 * STEP;
    let part = if whole { l.n.max(1) } else { STEP };
    let parts = l.n.div_ceil(part);
    let tasks = l.lines.saturating_mul(parts);
    let launched = |totals: bool, before: Option<&Arc<Buffer>>| -> Result<Arc<Buffer>> {
        let (count, dtype) = if totals { (tasks, acc) } else { (l.lines.saturating_mul(l.n), to) };
        let result = Buffer::new(device, count.saturating_mul(dtype.size_in_bytes()))?;
        let words = Words::new("scan", tasks)?.number(l.n)?.number(l.step)?.number(usize::from(l.reverse))?;
        let words = words.number(usize::from(l.exclusive))?.number(parts)?.number(part)?;
        let words = words.number(usize::from(before.is_some()))?.finish();
        let inputs = [&**x, before.unwrap_or(x)];
        let launch = Launch { op: "scan", inputs: &inputs, outputs: &[&result], words: &words, flag: false };
        let key = Key::Scan { op: of_scan(l.op), from, acc, to, totals };
        device.launch(key, &launch)?;
        Ok(result)
    };
    if parts <= 1 {
        return launched(false, None);
    }
    let of_parts = Lines { n: parts, step: 1, reverse: false, exclusive: false, ..l };
    let before = scan_lines(device, of_parts, &launched(true, None)?, [acc, acc, acc])?;
    launched(false, Some(&before))
}

/// The text of [`scan_lines`]: the scan, or what each part folds to.
pub(crate) fn scan_text(op: ReduceOp, [from, acc, to]: [DType; 3], totals: bool) -> Result<Text> {
    let each = match totals {
        true => "acc = numr_following;\n",
        false => {
            "if exclusive {\nif !any { acc = numr_empty(value); }\nnumr_put0(at, numr_last(acc));\n}\n\
             acc = numr_following;\nif !exclusive { numr_put0(at, numr_last(acc)); }\n"
        }
    };
    let body = format!(
        "let n = numr_word(1u);\nlet step = numr_word(2u);\nlet back = numr_word(3u) != 0u;\n\
         let exclusive = numr_word(4u) != 0u;\nlet parts = numr_word(5u);\nlet first = (i % parts) * numr_word(6u);\n\
         let line = i / parts;\nlet base = (line / step) * n * step + line % step;\n\
         var acc = {ty}();\nvar any = numr_word(7u) != 0u && first > 0u;\nif any {{ acc = numr_get1(i - 1u); }}\n\
         for (var j = first; j < min(first + numr_word(6u), n); j++) {{\n\
         let at = base + select(j, n - 1u - j, back) * step;\n\
         let value = numr_first(numr_get0(at));\n\
         var numr_following = value;\nif any {{ numr_following = numr_join(acc, value); }}\n{each}any = true;\n}}\n{}",
        if totals { "numr_put0(i, acc);\n" } else { "" },
        ty = register(acc),
    );
    let empty = match (op, acc.is_float()) {
        (ReduceOp::Prod, _) => 1.0,
        (ReduceOp::Max, true) => f64::NEG_INFINITY,
        (ReduceOp::Min, true) => f64::INFINITY,
        (ReduceOp::Max, false) => acc.min_value(),
        (ReduceOp::Min, false) => acc.max_value(),
        _ => 0.0,
    };
    Builder::new(&[from, acc], &[if totals { acc } else { to }])
        .function("numr_first", &[from], acc, |a| a[0])?
        .function("numr_join", &[acc, acc], acc, |a| join(op, a[0], a[1]))?
        // A choice between equals, so that the constant has a node to be cast.
        .function("numr_empty", &[acc], acc, |a| {
            let empty = Expr::lit(empty);
            Expr::select(a[0].eq(a[0]), empty, empty)
        })?
        .function("numr_last", &[acc], to, |a| a[0])?
        .finish(WORDS, &body)
}
