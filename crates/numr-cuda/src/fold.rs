//! Folds over axes, and running folds.
//!
//! A fold is a chain of launches. In each, a thread folds `STEP` elements at most, in order, so that neighbours read
//! neighbours; the next launch folds what is left. The order follows from the sizes alone, so results are the same run
//! after run, and an error grows by `STEP` roundings a launch.

use crate::context::{Context, Key, Text};
use crate::kernel::{Builder, Launch, WORDS, Words, launch};
use crate::map::contiguous;
use crate::memory::Buffer;
use crate::runtime::{CudaRuntime, axes_of, tensor};
use numr_core::prim::{Meta, Reduce, ReduceOp, Scan, ScanOp};
use numr_core::scalar::Scalar;
use numr_core::scalar::expr::Expr;
use numr_core::{DType, Lit, Result, Shape, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;

/// Elements that a thread folds at most.
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
    context: &Arc<Context>,
    r: &Reduce,
    x: &Tensor<CudaRuntime>,
    out: &Meta,
) -> Result<Tensor<CudaRuntime>> {
    let count = out.shape.numel().unwrap_or(usize::MAX);
    let kept: SmallVec<[usize; 8]> = (0..x.ndim()).filter(|k| !r.axes.contains(k)).collect();
    let n: usize = r.axes.iter().map(|&k| x.shape()[k]).product();
    if n == 0 || count == 0 {
        return Tensor::try_full(&out.shape, neutral(r.op), out.dtype, x.device());
    }
    let ((outer, outer_strides), (inner, inner_strides)) = (axes_of(x, &kept), axes_of(x, &r.axes));
    let (acc, to) = dtypes(r.op, x.dtype());
    if matches!(r.op, ReduceOp::ArgMax | ReduceOp::ArgMin) {
        return arg(context, r.op, x, [(&outer, &outer_strides), (&inner, &inner_strides)], n, out);
    }
    // A launch folds elements `part, part + parts, ..` of each result's `left` ones.
    let (mut left, mut from, mut source) = (n, x.dtype(), x.storage().clone());
    loop {
        let parts = left.div_ceil(STEP);
        let to = if parts == 1 { to } else { acc };
        let total = count.saturating_mul(parts);
        let result = Buffer::new(context, total.saturating_mul(to.size_in_bytes()))?;
        let words = Words::new(total).number(parts).number(left);
        // Where results begin, then where the elements of one lie.
        let words = match left == n {
            true => words.layout(x.layout().offset(), &outer, &outer_strides),
            false => words.layout(0, &[count], &[left as isize]),
        };
        let second = words.v.len() as i64;
        let words = if left == n { words.layout(0, &inner, &inner_strides) } else { words.layout(0, &[left], &[1]) };
        // Threads that are neighbours read neighbours: parts of one result, or results side by side.
        let across = left == n && !outer_strides.is_empty() && outer_strides.last() == Some(&1) && n > 1;
        let words = words.finish(&[second, i64::from(across), count as i64]);
        let job = Launch { op: "reduce", inputs: &[&source], outputs: &[&result], words, flag: false, grid: None };
        launch(context, Key::Fold { op: r.op, from, acc, to }, &job)?;
        if parts == 1 {
            return Ok(tensor(context, result, out));
        }
        (left, from, source) = (parts, acc, result);
    }
}

type Axes<'a> = (&'a SmallVec<[usize; 8]>, &'a SmallVec<[isize; 8]>);

/// Where the extreme is: one thread a result.
fn arg(
    context: &Arc<Context>,
    op: ReduceOp,
    x: &Tensor<CudaRuntime>,
    [outer, inner]: [Axes<'_>; 2],
    n: usize,
    out: &Meta,
) -> Result<Tensor<CudaRuntime>> {
    let count = out.shape.numel().unwrap_or(usize::MAX);
    let result = Buffer::new(context, count.saturating_mul(out.dtype.size_in_bytes()))?;
    let words = Words::new(count).number(n).layout(x.layout().offset(), outer.0, outer.1);
    let second = words.v.len() as i64;
    let words = words.layout(0, inner.0, inner.1).finish(&[second]);
    let from = x.dtype();
    let job = Launch { op: "argmax", inputs: &[x.storage()], outputs: &[&result], words, flag: false, grid: None };
    launch(context, Key::Arg { op, from }, &job)?;
    Ok(tensor(context, result, out))
}

/// One thread a line, in order.
pub(crate) fn scan(
    context: &Arc<Context>,
    s: &Scan,
    x: &Tensor<CudaRuntime>,
    out: &Meta,
) -> Result<Tensor<CudaRuntime>> {
    let n = x.shape()[s.axis];
    let x = contiguous(context, x, &Meta { shape: x.layout().shape().clone(), dtype: x.dtype() })?;
    let result = Buffer::new(context, x.numel().saturating_mul(out.dtype.size_in_bytes()))?;
    let step: usize = x.shape()[s.axis + 1..].iter().product();
    let lines = x.numel().checked_div(n).unwrap_or(0);
    let words =
        Words::new(lines).number(n).number(step).number(usize::from(s.reverse)).number(usize::from(s.exclusive));
    let op = match s.op {
        ScanOp::Sum => ReduceOp::Sum,
        ScanOp::Prod => ReduceOp::Prod,
        ScanOp::Max => ReduceOp::Max,
        ScanOp::Min => ReduceOp::Min,
    };
    let (acc, to) = dtypes(op, x.dtype());
    let from = x.dtype();
    let words = words.finish(&[]);
    let job = Launch { op: "scan", inputs: &[x.storage()], outputs: &[&result], words, flag: false, grid: None };
    launch(context, Key::Scan { op, from, acc, to }, &job)?;
    Ok(tensor(context, result, &Meta { shape: Shape::from(x.shape()), dtype: out.dtype }))
}

/// The text of [`reduce`].
pub(crate) fn reduce_text(op: ReduceOp, from: DType, acc: DType, to: DType) -> Result<Text> {
    let [second, across, count] = [WORDS - 1, WORDS - 2, WORDS - 3];
    let ty = numr_core::scalar::print::cuda::register(acc);
    let body = format!(
        "const long long parts = numr_l.v[1];\nconst long long left = numr_l.v[2];\n\
                 const int inner = (int)numr_l.v[{second}];\n\
                 const bool across = numr_l.v[{across}] != 0;\nconst long long count = numr_l.v[{count}];\n\
                 const long long of = across ? i % count : i / parts;\nconst long long part = across ? i / count : i % parts;\n\
                 const long long base = numr_at(numr_l, of, 3);\n\
                 {ty} acc = numr_first(numr_get0(base + numr_at(numr_l, part, inner)));\n\
                 if (numr_l.v[inner] == 1) {{\n\
                 const long long step = numr_l.v[inner + 3];\nconst long long start = base + numr_l.v[inner + 1];\n\
                 _Pragma(\"unroll 8\")\n\
                 for (long long k = part + parts; k < left; k += parts) acc = numr_join(acc, numr_first(numr_get0(start + k * step)));\n\
                 }} else {{\n\
                 for (long long k = part + parts; k < left; k += parts)\n\
                 acc = numr_join(acc, numr_first(numr_get0(base + numr_at(numr_l, k, inner))));\n}}\n\
                 numr_put0(of * parts + part, numr_last(acc));\n"
    );
    Ok(Builder::new(&[from], &[to])
        .function("numr_first", &[from], acc, |a| a[0])?
        .function("numr_join", &[acc, acc], acc, |a| join(op, a[0], a[1]))?
        .function("numr_last", &[acc], to, |a| a[0])?
        .finish(&body))
}

/// The text of [`arg`].
pub(crate) fn arg_text(op: ReduceOp, from: DType) -> Result<Text> {
    let second = WORDS - 1;
    let body = format!(
        "const long long n = numr_l.v[1];\nconst int inner = (int)numr_l.v[{second}];\n\
             const long long base = numr_at(numr_l, i, 2);\n\
             auto best = numr_get0(base + numr_at(numr_l, 0, inner));\nlong long place = 0;\n\
             for (long long k = 1; k < n; k++) {{\nconst auto value = numr_get0(base + numr_at(numr_l, k, inner));\n\
             if (numr_later(best, value)) {{ best = value; place = k; }}\n}}\nnumr_put0(i, place);\n"
    );
    Ok(Builder::new(&[from], &[DType::I64])
        .function("numr_later", &[from, from], DType::Bool, |a| join(op, a[0], a[1]))?
        .finish(&body))
}

/// The text of [`scan`].
pub(crate) fn scan_text(op: ReduceOp, from: DType, acc: DType, to: DType) -> Result<Text> {
    let body = "const long long n = numr_l.v[1];\nconst long long step = numr_l.v[2];\n\
                    const bool back = numr_l.v[3] != 0;\nconst bool exclusive = numr_l.v[4] != 0;\n\
                    const long long base = (i / step) * n * step + i % step;\n\
                    auto acc = numr_first(numr_get0(base));\n\
                    for (long long j = 0; j < n; j++) {\n\
                    const long long at = base + (back ? n - 1 - j : j) * step;\n\
                    const auto value = numr_first(numr_get0(at));\n\
                    if (exclusive) {\n\
                    if (j == 0) acc = numr_empty(value);\n\
                    numr_put0(at, numr_last(acc));\nacc = numr_join(acc, value);\n\
                    } else {\n\
                    acc = j == 0 ? value : numr_join(acc, value);\n\
                    numr_put0(at, numr_last(acc));\n}\n}\n";
    let empty = match (op, acc.is_float()) {
        (ReduceOp::Prod, _) => 1.0,
        (ReduceOp::Max, true) => f64::NEG_INFINITY,
        (ReduceOp::Min, true) => f64::INFINITY,
        (ReduceOp::Max, false) => acc.min_value(),
        (ReduceOp::Min, false) => acc.max_value(),
        _ => 0.0,
    };
    Ok(Builder::new(&[from], &[to])
        .function("numr_first", &[from], acc, |a| a[0])?
        .function("numr_join", &[acc, acc], acc, |a| join(op, a[0], a[1]))?
        // A choice between equals, so that the constant has a node to be cast.
        .function("numr_empty", &[acc], acc, |a| {
            let empty = Expr::lit(empty);
            Expr::select(a[0].eq(a[0]), empty, empty)
        })?
        .function("numr_last", &[acc], to, |a| a[0])?
        .finish(body))
}
