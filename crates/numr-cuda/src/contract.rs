//! Matrix products of every dtype, operands in any layout, batches broadcast.
//!
//! A block of 256 threads makes a tile of 128 x 128 elements (64 x 64 of 8-byte numbers) from tiles of both operands that
//! it brings into shared memory, the next while it multiplies the last; each thread holds 8 x 8 (4 x 4) in registers. The
//! terms of an element are added in order, so that results do not depend on the grid.

use crate::context::{Context, Key, Text};
use crate::kernel::{Builder, Launch, WORDS, Words, launch};
use crate::memory::Buffer;
use crate::runtime::{CudaRuntime, tensor};
use numr_core::prim::Meta;
use numr_core::scalar::Scalar;
use numr_core::scalar::print::cuda::register;
use numr_core::{DType, Error, Result, Tensor};

/// Elements of a row of tile along the inner axis.
const DEPTH: usize = 8;
/// Threads of a block.
const THREADS: usize = 256;

pub(crate) fn contract(
    context: &'static Context,
    a: &Tensor<CudaRuntime>,
    b: &Tensor<CudaRuntime>,
    out: &Meta,
) -> Result<Tensor<CudaRuntime>> {
    let op = "matmul";
    let (&[.., m, n], Some(&k)) = (&out.shape[..], a.shape().last()) else {
        return Err(Error::shape(op, "matrices", &[a.shape(), b.shape()]));
    };
    let count = out.shape.numel().unwrap_or(usize::MAX);
    if k == 0 || count == 0 {
        return Tensor::try_zeros(&out.shape, out.dtype, a.device());
    }
    let result = Buffer::new(context, count.saturating_mul(out.dtype.size_in_bytes()))?;
    let lead = &out.shape[..out.shape.len() - 2];
    let batches: usize = lead.iter().product();
    let whole = |t: &Tensor<CudaRuntime>| {
        let shape: Vec<usize> = lead.iter().chain(&t.shape()[t.ndim() - 2..]).copied().collect();
        t.layout().broadcast_to(op, &shape)
    };
    let (x, y) = (whole(a)?, whole(b)?);
    let (from, right, acc, to) = (a.dtype(), b.dtype(), out.dtype.compute(), out.dtype);
    let tile = 16 * each(acc);
    let words = Words::new(count).number(m).number(n).number(k).number(batches);
    let rank = lead.len();
    let words = words.layout(x.offset(), lead, &x.strides()[..rank]);
    let second = words.v.len() as i64;
    let words = words.layout(y.offset(), lead, &y.strides()[..rank]);
    let step = |l: &numr_core::Layout, k: usize| l.strides()[rank + k] as i64;
    let words = words.finish(&[second, step(&x, 0), step(&x, 1), step(&y, 0), step(&y, 1)]);
    // A block for each tile of each batch, in rows of a size that a grid may have.
    let blocks = n.div_ceil(tile) * m.div_ceil(tile) * batches;
    let across = blocks.min(1 << 20);
    let grid = ([across as u32, u32::try_from(blocks.div_ceil(across)).unwrap_or(u32::MAX)], THREADS as u32);
    let inner = [step(&x, 1) == 1, step(&y, 0) == 1];
    let inputs = [&**a.storage(), &**b.storage()];
    let job = Launch { op, inputs: &inputs, outputs: &[&result], words, flag: false, grid: Some(grid) };
    launch(context, Key::Contract { from, right, acc, to, inner }, &job)?;
    Ok(tensor(context, result, out))
}

/// Rows and columns of results that a thread holds.
const fn each(acc: DType) -> usize {
    if acc.size_in_bytes() > 4 { 4 } else { 8 }
}

/// The text of [`contract`], for operands whose inner axis does or does not lie together.
pub(crate) fn text(from: DType, right: DType, acc: DType, to: DType, inner: [bool; 2]) -> Result<Text> {
    let each = each(acc);
    let tile = 16 * each;
    let ty = register(acc);
    let [second, am, ak, bk, bn] = [1, 2, 3, 4, 5].map(|j| WORDS - j);
    let loads = tile * DEPTH / THREADS;
    let unroll = |i: &str, n: usize| format!("_Pragma(\"unroll\") for (int {i} = 0; {i} < {n}; {i}++)");
    let (rows, columns, steps) = (unroll("r", each), unroll("c", each), unroll("s", loads));
    // How a thread brings its part of a tile: row (column) r and place c along the inner axis, so that neighbours read
    // neighbours; what it brings next lies `across` further along the rows or `deeper` along the inner axis.
    let part = |x: &str, inner: bool, steps: [&str; 2]| {
        let (r, c, next) = match inner {
            true => (format!("t / {DEPTH}"), format!("t % {DEPTH}"), format!("{} * {}", THREADS / DEPTH, steps[0])),
            false => (format!("t % {tile}"), format!("t / {tile}"), format!("{} * {}", THREADS / tile, steps[1])),
        };
        format!("const int {x}r = {r}, {x}c = {c};\nconst long long {x}_step = {next};\n")
    };
    let [across, deeper] =
        [|inner: bool| if inner { THREADS / DEPTH } else { 0 }, |inner| if inner { 0 } else { THREADS }];
    let deeper = |inner| deeper(inner) / tile;
    let fetch = |x: &str, k: usize, function: &str, inner: bool, step: &str| {
        let (across, deeper) = (across(inner), deeper(inner));
        format!(
            "{steps} {x}_next[s] = {x}r + s * {across} < {x}_rest && (left > 1 || {x}c + s * {deeper} < last)\n\
             ? {function}(numr_get{k}({x}_at + s * {x}_step)) : numr_acc{{}};\n{x}_at += {DEPTH} * {step};\n"
        )
    };
    let keep = |x: &str, inner: bool| {
        let (across, deeper) = (across(inner), deeper(inner));
        format!("{steps} {x}s[now][{x}c + s * {deeper}][{x}r + s * {across}] = {x}_next[s];\n")
    };
    let left = fetch("a", 0, "numr_left", inner[0], "ak");
    let other = fetch("b", 1, "numr_right", inner[1], "bk");
    let body = format!(
        "typedef {ty} numr_acc;\n\
         const long long m = numr_l.v[1], n = numr_l.v[2], depth = numr_l.v[3], batches = numr_l.v[4];\n\
         const long long am = numr_l.v[{am}], ak = numr_l.v[{ak}], bk = numr_l.v[{bk}], bn = numr_l.v[{bn}];\n\
         __shared__ alignas(16) {ty} as[2][{DEPTH}][{tile} + 4];\n__shared__ alignas(16) {ty} bs[2][{DEPTH}][{tile} + 4];\n\
         const int t = threadIdx.x, tx = t % 16, ty = t / 16;\n{}{}\
         const long long across = (n + {tile} - 1) / {tile};\n\
         const long long block = blockIdx.y * (long long)gridDim.x + blockIdx.x, tiles = across * ((m + {tile} - 1) / {tile});\n\
         const long long batch = numr_quotient(block, tiles), line = numr_quotient(block - batch * tiles, across);\n\
         if (batch >= batches) return;\n\
         const long long row = line * {tile}, column = (block - batch * tiles - line * across) * {tile};\n\
         const int a_rest = (int)min(m - row, {tile}ll), b_rest = (int)min(n - column, {tile}ll);\n\
         long long a_at = numr_at(numr_l, batch, 5) + (row + ar) * am + ac * ak;\n\
         long long b_at = numr_at(numr_l, batch, (int)numr_l.v[{second}]) + (column + br) * bn + bc * bk;\n\
         {ty} acc[{each}][{each}], a_next[{loads}], b_next[{loads}];\n\
         {rows} {columns} acc[r][c] = numr_acc{{}};\n\
         // Tiles that are left to fetch, and how far the last one reaches.\n\
         int left = (int)((depth + {DEPTH} - 1) / {DEPTH});\nconst int last = (int)((depth - 1) % {DEPTH}) + 1;\n\
         {left}{other}\
         for (int now = 0; left > 0; now ^= 1) {{\n\
         {}{}\
         // One wait a tile: the one before last was read before the last wait.\n\
         __syncthreads();\nleft -= 1;\n\
         // The next tile is on its way while this one is multiplied.\n\
         if (left > 0) {{\n{left}{other}}}\n\
         {} {{\n{ty} x[{each}], y[{each}];\n\
         {rows} {{\nx[r] = as[now][k][(r / 4) * 64 + ty * 4 + r % 4];\ny[r] = bs[now][k][(r / 4) * 64 + tx * 4 + r % 4];\n}}\n\
         {rows} {columns} acc[r][c] = numr_add(acc[r][c], x[r], y[c]);\n}}\n}}\n\
         {rows} {columns} {{\n\
         const long long i = row + (r / 4) * 64 + ty * 4 + r % 4, j = column + (c / 4) * 64 + tx * 4 + c % 4;\n\
         if (i < m && j < n) numr_put0((batch * m + i) * n + j, numr_last(acc[r][c]));\n}}\n",
        part("a", inner[0], ["am", "ak"]),
        part("b", inner[1], ["bn", "bk"]),
        keep("a", inner[0]),
        keep("b", inner[1]),
        unroll("k", DEPTH),
    );
    Ok(Builder::new(&[from, right], &[to])
        .function("numr_left", &[from], acc, |a| a[0])?
        .function("numr_right", &[right], acc, |a| a[0])?
        .function("numr_add", &[acc, acc, acc], acc, |a| a[1].mul_add(a[2], a[0]))?
        .function("numr_last", &[acc], to, |a| a[0])?
        // Conversions take registers of their own.
        .blocks_of(THREADS, [from, right] == [acc, acc])
        .whole(&body))
}
