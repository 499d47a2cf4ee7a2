//! Running folds.
//!
//! Where lines lie side by side and there are many, a thread takes a line. Else a block takes a part of a line, tile by tile:
//! each thread folds a few neighbours, the threads' folds are scanned in shared memory, and the last is carried to the next
//! tile. Lines too few to keep a device busy are cut into parts; what the parts fold to is scanned first.

use crate::context::{Context, Key, Text};
use crate::fold::{BLOCK, constant, dtypes, join};
use crate::index::dense;
use crate::kernel::{Builder, Launch, Words, launch};
use crate::memory::Buffer;
use crate::runtime::{CudaRuntime, tensor};
use numr_core::prim::{Meta, ReduceOp, Scan, ScanOp};
use numr_core::scalar::print::cuda::register;
use numr_core::{DType, Result, Shape, Tensor};
use std::sync::Arc;

/// Neighbours that a thread folds.
const EACH: usize = 8;
/// Elements of a part.
const PART: usize = 4 * BLOCK * EACH;
/// Blocks that keep a device busy.
const BUSY: usize = 1024;

/// What is scanned: lines of `n` elements `step` apart.
#[derive(Clone, Copy)]
struct Lines {
    op: ReduceOp,
    lines: usize,
    n: usize,
    step: usize,
    reverse: bool,
    exclusive: bool,
}

pub(crate) fn scan(
    context: &'static Context,
    s: &Scan,
    x: &Tensor<CudaRuntime>,
    out: &Meta,
) -> Result<Tensor<CudaRuntime>> {
    let n = x.shape()[s.axis];
    let x = dense(context, x)?;
    let op = match s.op {
        ScanOp::Sum => ReduceOp::Sum,
        ScanOp::Prod => ReduceOp::Prod,
        ScanOp::Max => ReduceOp::Max,
        ScanOp::Min => ReduceOp::Min,
    };
    let (acc, to) = dtypes(op, x.dtype());
    let lines = Lines {
        op,
        lines: x.numel().checked_div(n).unwrap_or(0),
        n,
        step: x.shape()[s.axis + 1..].iter().product(),
        reverse: s.reverse,
        exclusive: s.exclusive,
    };
    let result = run(context, lines, x.storage(), [x.dtype(), acc, to])?;
    Ok(tensor(context, result, &Meta { shape: Shape::from(x.shape()), dtype: out.dtype }))
}

fn run(context: &'static Context, l: Lines, x: &Arc<Buffer>, [from, acc, to]: [DType; 3]) -> Result<Arc<Buffer>> {
    let result = Buffer::new(context, l.lines.saturating_mul(l.n).saturating_mul(to.size_in_bytes()))?;
    let side_by_side = l.step > 1 && l.lines >= BUSY * 32 || l.n < BLOCK;
    let parts = if side_by_side || l.lines >= BUSY { 1 } else { l.n.div_ceil(PART) };
    let launched = |parts: usize, before: &Buffer, totals: Option<&Buffer>| -> Result<()> {
        let tasks = l.lines.saturating_mul(parts);
        let words = Words::new(tasks)
            .number(l.n)
            .number(l.step)
            .number(usize::from(l.reverse))
            .number(usize::from(l.exclusive))
            .number(parts)
            .number(if parts == 1 { l.n } else { PART })
            .number(usize::from(totals.is_some()))
            .finish(&[]);
        let grid = (!side_by_side).then_some(([tasks.min(i32::MAX as usize) as u32, 1], BLOCK as u32));
        let (inputs, outputs) = ([&**x, before], [&*result, totals.unwrap_or(before)]);
        let job = Launch { op: "scan", inputs: &inputs, outputs: &outputs, words, flag: false, grid };
        launch(context, Key::Scan { op: l.op, from, acc, to, lines: side_by_side }, &job)
    };
    if parts == 1 {
        launched(1, &result, None)?;
        return Ok(result);
    }
    let totals = Buffer::new(context, l.lines.saturating_mul(parts).saturating_mul(acc.size_in_bytes()))?;
    launched(parts, &totals, Some(&totals))?;
    let of_parts = Lines { n: parts, step: 1, reverse: false, exclusive: false, ..l };
    let before = run(context, of_parts, &totals, [acc, acc, acc])?;
    launched(parts, &before, None)?;
    Ok(result)
}

/// The text of [`scan`]: a thread a line, or a block a part of one.
pub(crate) fn text(op: ReduceOp, from: DType, acc: DType, to: DType, lines: bool) -> Result<Text> {
    let ty = register(acc);
    let place = "const long long n = numr_l.v[1], step = numr_l.v[2];\n\
                 const bool back = numr_l.v[3] != 0, exclusive = numr_l.v[4] != 0;\n\
                 auto base = [&](const long long line) {\n\
                 const long long row = numr_quotient(line, step);\n\
                 return row * n * step + (line - row * step) + (back ? (n - 1) * step : 0);\n};\n\
                 const long long hop = back ? -step : step;\n";
    let a_line = format!(
        "{place}{ty} acc = {{}};\nconst long long start = base(i);\n\
         for (long long j = 0; j < n; j++) {{\n\
         const long long at = start + j * hop;\nconst {ty} value = numr_first(numr_get0(at));\n\
         if (exclusive) numr_put0(at, numr_last(j == 0 ? numr_empty(value) : acc));\n\
         acc = j == 0 ? value : numr_join(acc, value);\n\
         if (!exclusive) numr_put0(at, numr_last(acc));\n}}\n"
    );
    let a_part = format!(
        "{place}const long long parts = numr_l.v[5], most = numr_l.v[6];\nconst bool total = numr_l.v[7] != 0;\n\
         const long long line = numr_quotient(blockIdx.x, parts), part = blockIdx.x - line * parts;\n\
         const long long first = part * most, last = first + most < n ? first + most : n, start = base(line);\n\
         __shared__ {ty} shared[{BLOCK}], tile[{padded}];\n\
         // Neighbouring threads read neighbours, and each then takes neighbours, in different banks.\n\
         auto slot = [](const int k) {{ return k + k / 32; }};\n\
         // What lies before this tile folds to `carry`, if anything does.\n\
         bool any = part > 0 && !total;\n{ty} carry = {{}};\nif (any) carry = numr_get1(blockIdx.x - 1);\n\
         for (long long begin = first; begin < last; begin += {whole}) {{\n\
         const int size = last - begin < {whole} ? (int)(last - begin) : {whole};\n\
         const int t = threadIdx.x, mine = size - t * {EACH};\n\
         {each} {{\nconst int k = e * {BLOCK} + t;\n\
         if (k < size) tile[slot(k)] = numr_first(numr_get0(start + (begin + k) * hop));\n}}\n\
         __syncthreads();\n{ty} a[{EACH}];\n{each} a[e] = tile[slot(t * {EACH} + e)];\n{ty} sum = a[0];\n\
         _Pragma(\"unroll\") for (int e = 1; e < {EACH}; e++) if (e < mine) sum = numr_join(sum, a[e]);\n\
         shared[t] = sum;\n\
         for (int d = 1; d < {BLOCK}; d *= 2) {{\n\
         __syncthreads();\nif (t >= d) sum = numr_join(shared[t - d], sum);\n\
         __syncthreads();\nshared[t] = sum;\n}}\n__syncthreads();\n\
         if (!total) {{\nbool some = any || t > 0;\n{ty} acc = carry;\n\
         if (t > 0) acc = any ? numr_join(carry, shared[t - 1]) : shared[t - 1];\n\
         {each} {{\n{ty} y = some ? acc : numr_empty(a[e]);\nacc = some ? numr_join(acc, a[e]) : a[e];\nsome = true;\n\
         tile[slot(t * {EACH} + e)] = exclusive ? y : acc;\n}}\n__syncthreads();\n\
         {each} {{\nconst int k = e * {BLOCK} + t;\n\
         if (k < size) numr_put0(start + (begin + k) * hop, numr_last(tile[slot(k)]));\n}}\n}}\n\
         // The last thread with elements holds the fold of all so far.\n\
         const {ty} so_far = shared[(size - 1) / {EACH}];\n\
         carry = any ? numr_join(carry, so_far) : so_far;\nany = true;\n__syncthreads();\n}}\n\
         if (total && threadIdx.x == 0) numr_put1(blockIdx.x, carry);\n",
        each = format_args!("_Pragma(\"unroll\") for (int e = 0; e < {EACH}; e++)"),
        whole = BLOCK * EACH,
        padded = BLOCK * EACH + BLOCK * EACH / 32,
    );
    // What a running fold of nothing is.
    let empty = match (op, acc.is_float()) {
        (ReduceOp::Sum, _) => 0.0,
        _ => crate::fold::empty(op, acc),
    };
    let text = Builder::new(&[from, acc], &[to, acc])
        .function("numr_first", &[from], acc, |a| a[0])?
        .function("numr_join", &[acc, acc], acc, |a| join(op, a[0], a[1]))?
        .function("numr_empty", &[acc], acc, |a| constant(a[0], empty))?
        .function("numr_last", &[acc], to, |a| a[0])?;
    Ok(if lines { text.finish(&a_line) } else { text.whole(&a_part) })
}
