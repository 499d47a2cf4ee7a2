//! Folds over axes.
//!
//! A fold is a chain of launches, each of which folds parts of every result's elements; the next launch folds the parts. How
//! follows from the layout: where the elements of a result lie together, neighbouring threads fold vectors of them and then
//! each other ([`Folding::Lines`]); where results lie together, a thread folds a vector of results
//! ([`Folding::Strips`]); else a thread a part. The order follows from sizes and strides alone, so results are the same run
//! after run.

use crate::context::{Context, Key, Text};
use crate::kernel::{Builder, Launch, WORDS, Words, launch};
use crate::memory::Buffer;
use crate::runtime::{CudaRuntime, tensor};
use numr_core::layout::coalesce;
use numr_core::prim::{Meta, Reduce, ReduceOp};
use numr_core::scalar::Scalar;
use numr_core::scalar::expr::Expr;
use numr_core::scalar::print::cuda::{load, register};
use numr_core::{DType, Lit, Result, Shape, Strides, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;

/// Threads of a block.
pub(crate) const BLOCK: usize = 256;
/// Vectors that a thread folds at least, and at most while there are threads to spare.
const VECTORS: [usize; 2] = [4, 32];
/// Elements of a result that a thread of a strip folds at least, and at most.
const STRIP: [usize; 2] = [64, 1024];
/// Threads that keep a device busy.
const BUSY: usize = 1 << 18;

/// Who folds what.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Folding {
    /// Threads of a group fold neighbouring vectors of one result.
    Lines,
    /// A thread folds this many neighbouring results.
    Strips { lanes: usize },
    /// A thread folds one part of one result, wherever it lies.
    Any,
}

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
pub(crate) fn join<'a>(op: ReduceOp, a: Expr<'a>, b: Expr<'a>) -> Expr<'a> {
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

/// The fold of nothing, which changes nothing where it is folded in: the sum of −0 and −0 is −0.
pub(crate) fn empty(op: ReduceOp, acc: DType) -> f64 {
    match (op, acc.is_float()) {
        (ReduceOp::Sum, _) => -0.0,
        (ReduceOp::Prod | ReduceOp::All, _) => 1.0,
        (ReduceOp::Max, true) => f64::NEG_INFINITY,
        (ReduceOp::Min, true) => f64::INFINITY,
        (ReduceOp::Max, false) => acc.min_value(),
        (ReduceOp::Min, false) => acc.max_value(),
        _ => 0.0,
    }
}

/// Elements that results are folded from, axes that lie together merged: of the results, and of the elements of one.
struct Source {
    buffer: Arc<Buffer>,
    dtype: DType,
    offset: usize,
    results: (Shape, Strides),
    elements: (Shape, Strides),
}

impl Source {
    fn of(x: &Tensor<CudaRuntime>, axes: &[usize]) -> Source {
        let kept: SmallVec<[usize; 8]> = (0..x.ndim()).filter(|k| !axes.contains(k)).collect();
        let merged = |axes: &[usize]| {
            let shape: Shape = axes.iter().map(|&k| x.shape()[k]).collect();
            let strides: Strides = axes.iter().map(|&k| x.strides()[k]).collect();
            let (shape, mut strides) = coalesce(&shape, &[&strides]);
            (shape, strides.pop().unwrap_or_default())
        };
        let (results, elements) = (merged(&kept), merged(axes));
        Source { buffer: x.storage().clone(), dtype: x.dtype(), offset: x.layout().offset(), results, elements }
    }

    /// In memory of their own.
    fn dense(buffer: Arc<Buffer>, dtype: DType, results: [usize; 2], elements: [usize; 2]) -> Source {
        let axis = |[size, stride]: [usize; 2]| (Shape::from([size]), Strides::from([stride as isize]));
        Source { buffer, dtype, offset: 0, results: axis(results), elements: axis(elements) }
    }

    fn folding(&self, op: ReduceOp, acc: DType, left: usize) -> Folding {
        let whole = op == ReduceOp::Prod && acc.is_complex();
        let lanes = lanes(self.dtype);
        match (&self.results.1[..], &self.elements.1[..]) {
            // 1 + 0i times an infinity is no infinity, so nothing may be folded in.
            (_, [1]) if left >= 2 * lanes && !whole => Folding::Lines,
            ([others @ .., 1], [step]) => {
                let apart = others.iter().chain([step]).all(|s| s % lanes as isize == 0);
                let width = self.results.0.last().copied().unwrap_or(1);
                match apart && (self.offset | width).is_multiple_of(lanes) {
                    true => Folding::Strips { lanes },
                    false => Folding::Strips { lanes: 1 },
                }
            }
            _ => Folding::Any,
        }
    }

    fn words(&self, words: Words) -> (Words, i64) {
        let words = words.layout(self.offset, &self.results.0, &self.results.1);
        let second = words.v.len() as i64;
        (words.layout(0, &self.elements.0, &self.elements.1), second)
    }
}

pub(crate) fn reduce(
    context: &'static Context,
    r: &Reduce,
    x: &Tensor<CudaRuntime>,
    out: &Meta,
) -> Result<Tensor<CudaRuntime>> {
    let count = out.shape.numel().unwrap_or(usize::MAX);
    let n: usize = r.axes.iter().map(|&k| x.shape()[k]).product();
    if n == 0 || count == 0 {
        return Tensor::try_full(&out.shape, neutral(r.op), out.dtype, x.device());
    }
    let source = Source::of(x, &r.axes);
    if matches!(r.op, ReduceOp::ArgMax | ReduceOp::ArgMin) {
        return Ok(tensor(context, arg(context, r.op, &source, [count, n])?, out));
    }
    let (acc, to) = dtypes(r.op, x.dtype());
    let (mut left, mut source) = (n, source);
    loop {
        let folding = source.folding(r.op, acc, left);
        let lanes = lanes(source.dtype);
        let total = count.saturating_mul(left);
        // The elements of a part lie together: pages of memory that threads read in turn stay few.
        let (threads, chunk) = match folding {
            Folding::Lines => {
                let threads = group(left.div_ceil(lanes));
                let vectors = (total / (lanes * BUSY)).clamp(VECTORS[0], VECTORS[1]);
                (threads, if threads < BLOCK { left } else { threads * lanes * vectors })
            }
            Folding::Strips { lanes } => (1, (total / (lanes * BUSY / 2)).clamp(STRIP[0], STRIP[1])),
            Folding::Any => (1, (total / BUSY).clamp(16, 256)),
        };
        let parts = left.div_ceil(chunk);
        let to = if parts == 1 { to } else { acc };
        let tasks = match folding {
            Folding::Strips { lanes } => count / lanes * parts,
            _ => count.saturating_mul(parts),
        };
        let size = count.saturating_mul(parts).saturating_mul(to.size_in_bytes());
        let result = Buffer::new(context, size)?;
        let words = Words::new(tasks).number(parts).number(left).number(chunk).number(threads).number(count);
        let (words, second) = source.words(words);
        let words = words.finish(&[second]);
        let grid = (folding == Folding::Lines).then(|| groups(tasks, threads));
        let job = Launch { op: "reduce", inputs: &[&source.buffer], outputs: &[&result], words, flag: false, grid };
        launch(context, Key::Fold { op: r.op, from: source.dtype, acc, to, folding }, &job)?;
        if parts == 1 {
            return Ok(tensor(context, result, out));
        }
        left = parts;
        source = match folding {
            Folding::Strips { .. } => Source::dense(result, acc, [count, 1], [parts, count]),
            _ => Source::dense(result, acc, [count, parts], [parts, 1]),
        };
    }
}

/// Threads that fold `n` things: no more than there is work for.
fn group(n: usize) -> usize {
    n.div_ceil(VECTORS[0]).next_power_of_two().clamp(8, BLOCK)
}

/// Blocks for so many tasks of so many threads each.
fn groups(tasks: usize, threads: usize) -> ([u32; 2], u32) {
    let blocks = tasks.saturating_mul(threads).div_ceil(BLOCK);
    ([blocks.min(i32::MAX as usize) as u32, 1], BLOCK as u32)
}

/// Where the extreme of each result lies: of parts first, then of the places found in those.
fn arg(context: &'static Context, op: ReduceOp, source: &Source, [count, n]: [usize; 2]) -> Result<Arc<Buffer>> {
    let mut places: Option<Arc<Buffer>> = None;
    let mut left = n;
    // Neighbours read neighbours: elements of one result, or results side by side.
    let across = source.results.1.last() == Some(&1) && count >= BUSY / 8;
    loop {
        let chunk = BLOCK * VECTORS[1];
        let (parts, threads) = (left.div_ceil(chunk), if across { 1 } else { group(left) });
        let tasks = count.saturating_mul(parts);
        let result = Buffer::new(context, tasks.saturating_mul(DType::I64.size_in_bytes()))?;
        let words = Words::new(tasks).number(parts).number(left).number(chunk).number(threads);
        let (words, second) = source.words(words);
        let words = words.finish(&[second, i64::from(places.is_some())]);
        let job = Launch {
            op: "argmax",
            inputs: &[&source.buffer, places.as_ref().unwrap_or(&result)],
            outputs: &[&result],
            words,
            flag: false,
            grid: Some(groups(tasks, threads)),
        };
        launch(context, Key::Arg { op, from: source.dtype }, &job)?;
        if parts == 1 {
            return Ok(result);
        }
        (left, places) = (parts, Some(result));
    }
}

/// Elements that lie in 16 bytes; of the narrowest in 8.
pub(crate) const fn lanes(dtype: DType) -> usize {
    let size = dtype.size_in_bytes();
    16 / if size < 2 { 2 } else { size }
}

/// The text of [`reduce`].
pub(crate) fn reduce_text(op: ReduceOp, from: DType, acc: DType, to: DType, folding: Folding) -> Result<Text> {
    let (ty, second) = (register(acc), WORDS - 1);
    let lanes = if let Folding::Strips { lanes } = folding { lanes } else { lanes(from) };
    let each = format!("_Pragma(\"unroll\") for (int e = 0; e < {lanes}; e++)");
    let value = load(from, "v.v[e]");
    let names = "const long long tasks = numr_l.v[0], parts = numr_l.v[1], left = numr_l.v[2], chunk = numr_l.v[3];\n";
    let text = Builder::new(&[from], &[to])
        .function("numr_first", &[from], acc, |a| a[0])?
        .function("numr_join", &[acc, acc], acc, |a| join(op, a[0], a[1]))?
        .function("numr_last", &[acc], to, |a| a[0])?;
    let part = "const long long of = numr_quotient(i, parts), part = i - of * parts, first = part * chunk,\n\
                last = first + chunk < left ? first + chunk : left;\n";
    Ok(match folding {
        Folding::Lines => {
            text.function("numr_empty", &[acc], acc, |a| constant(a[0], empty(op, acc)))?.whole(&format!(
                "{names}const int threads = (int)numr_l.v[4], lane = threadIdx.x % threads;\n\
             const long long i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / threads;\n\
             const {ty} zero = {{}};\n{ty} s[{lanes}];\n{each} s[e] = numr_empty(zero);\n\
             if (i < tasks) {{\n{part}const auto* const p = numr_p0 + numr_at(numr_l, of, 6) + first;\n\
             const long long n = last - first;\n\
             auto fold = [&](const bool whole) {{\n\
             auto take = [&](const auto& v, const long long j) {{\n\
             {each} if (whole || j * {lanes} + e < n) s[e] = numr_join(s[e], numr_first({value}));\n}};\n\
             long long j = lane;\n\
             // All loads of a round are under way together.\n\
             for (; (j + 3 * threads) * {lanes} < n; j += 4 * threads) {{\n\
             const auto v0 = numr_fetch<{lanes}>(p, j, n, whole), v1 = numr_fetch<{lanes}>(p, j + threads, n, whole),\n\
             v2 = numr_fetch<{lanes}>(p, j + 2 * threads, n, whole), v3 = numr_fetch<{lanes}>(p, j + 3 * threads, n, whole);\n\
             take(v0, j); take(v1, j + threads); take(v2, j + 2 * threads); take(v3, j + 3 * threads);\n}}\n\
             for (; j * {lanes} < n; j += threads) take(numr_fetch<{lanes}>(p, j, n, whole), j);\n}};\n\
             if (n % {lanes} == 0 && numr_aligned<{lanes}>(p)) fold(true); else fold(false);\n}}\n\
             __shared__ {ty} shared[{BLOCK}];\n\
             _Pragma(\"unroll\") for (int e = 1; e < {lanes}; e++) s[0] = numr_join(s[0], s[e]);\n\
             shared[threadIdx.x] = s[0];\n\
             for (int d = threads / 2; d > 0; d /= 2) {{\n__syncthreads();\n\
             if (lane < d) shared[threadIdx.x] = numr_join(shared[threadIdx.x], shared[threadIdx.x + d]);\n}}\n\
             if (lane == 0 && i < tasks) numr_put0(i, numr_last(shared[threadIdx.x]));\n"
            ))
        }
        Folding::Strips { .. } => text.finish(&format!(
            "{names}const long long count = numr_l.v[5], width = count / {lanes};\n\
             const long long part = numr_quotient(i, width), of = (i - part * width) * {lanes};\n\
             const long long step = numr_l.v[numr_l.v[{second}] + 3];\n\
             const auto* p = numr_p0 + numr_at(numr_l, of, 6) + part * chunk * step;\n\
             const long long rest = left - part * chunk, n = rest < chunk ? rest : chunk;\n\
             {ty} s[{lanes}];\nauto v = numr_vector_at<{lanes}>(p, 0);\n{each} s[e] = numr_first({value});\n\
             _Pragma(\"unroll 8\") for (long long k = 1; k < n; k++) {{\n\
             const auto v = numr_vector_at<{lanes}>(p + k * step, 0);\n\
             {each} s[e] = numr_join(s[e], numr_first({value}));\n}}\n\
             {each} numr_put0(part * count + of + e, numr_last(s[e]));\n"
        )),
        Folding::Any => text.finish(&format!(
            "{names}const int inner = (int)numr_l.v[{second}];\n{part}\
             const long long base = numr_at(numr_l, of, 6);\n\
             {ty} acc = numr_first(numr_get0(base + numr_at(numr_l, first, inner)));\n\
             _Pragma(\"unroll 4\") for (long long k = first + 1; k < last; k++)\n\
             acc = numr_join(acc, numr_first(numr_get0(base + numr_at(numr_l, k, inner))));\n\
             numr_put0(i, numr_last(acc));\n"
        )),
    })
}

/// A constant as a choice between equals: it needs a node to be cast.
pub(crate) fn constant<'a>(a: Expr<'a>, value: f64) -> Expr<'a> {
    let value = Expr::lit(value);
    Expr::select(a.eq(a), value, value)
}

/// The text of [`arg`].
pub(crate) fn arg_text(op: ReduceOp, from: DType) -> Result<Text> {
    let (second, again) = (WORDS - 1, WORDS - 2);
    let ty = register(from);
    let body = format!(
        "const long long tasks = numr_l.v[0], parts = numr_l.v[1], left = numr_l.v[2], chunk = numr_l.v[3];\n\
         const int threads = (int)numr_l.v[4], lane = threadIdx.x % threads, inner = (int)numr_l.v[{second}];\n\
         const long long i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / threads;\n\
         {ty} best = {{}};\nlong long place = -1;\n\
         if (i < tasks) {{\n\
         const long long of = numr_quotient(i, parts), first = (i - of * parts) * chunk;\n\
         const long long base = numr_at(numr_l, of, 5), last = first + chunk < left ? first + chunk : left;\n\
         auto take = [&](const long long at, const long long where) {{\n\
         const {ty} value = numr_get0(base + where);\n\
         if (place < 0 || numr_later(best, value)) {{ best = value; place = at; }}\n}};\n\
         if (numr_l.v[{again}]) {{\nfor (long long k = first + lane; k < last; k += threads) {{\n\
         const long long at = numr_get1(of * left + k);\ntake(at, numr_at(numr_l, at, inner));\n}}\n\
         }} else if (numr_l.v[inner] == 1) {{\nconst long long step = numr_l.v[inner + 3];\n\
         _Pragma(\"unroll 8\") for (int k = lane; k < (int)(last - first); k += threads) take(first + k, (first + k) * step);\n\
         }} else {{\nfor (long long k = first + lane; k < last; k += threads) take(k, numr_at(numr_l, k, inner));\n}}\n}}\n\
         __shared__ {ty} values[{BLOCK}];\n__shared__ long long places[{BLOCK}];\n\
         values[threadIdx.x] = best; places[threadIdx.x] = place;\n\
         for (int d = threads / 2; d > 0; d /= 2) {{\n__syncthreads();\n\
         if (lane < d) {{\nconst {ty} value = values[threadIdx.x + d];\nconst long long at = places[threadIdx.x + d];\n\
         // Of equals the first.\n\
         if (at >= 0 && (place < 0 || numr_later(best, value) || (at < place && !numr_later(value, best)))) {{\n\
         best = value; place = at;\nvalues[threadIdx.x] = value; places[threadIdx.x] = at;\n}}\n}}\n}}\n\
         if (lane == 0 && i < tasks) numr_put0(i, place);\n"
    );
    Ok(Builder::new(&[from, DType::I64], &[DType::I64])
        .function("numr_later", &[from, from], DType::Bool, |a| join(op, a[0], a[1]))?
        .whole(&body))
}
