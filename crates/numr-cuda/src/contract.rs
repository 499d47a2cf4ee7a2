//! Matrix products of every dtype, operands in any layout, batches broadcast.
//!
//! A block of 256 threads makes a tile of 128 x 128 elements (64 x 64 of 8-byte numbers) from tiles of both operands that
//! it brings into shared memory; each thread holds 8 x 8 (4 x 4) in registers. The terms of an element are added in
//! order, so that results do not depend on the grid.

use crate::context::{Context, Key, Text};
use crate::kernel::{Builder, Launch, WORDS, Words, launch};
use crate::memory::Buffer;
use crate::runtime::{CudaRuntime, tensor};
use numr_core::prim::Meta;
use numr_core::scalar::Scalar;
use numr_core::scalar::print::cuda::register;
use numr_core::{DType, Error, Result, Tensor};
use std::sync::Arc;

/// Elements of a row of tile along the inner axis.
const DEPTH: usize = 16;

pub(crate) fn contract(
    context: &Arc<Context>,
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
    let blocks = [n.div_ceil(tile) * m.div_ceil(tile), batches];
    let words = Words::new(count).number(m).number(n).number(k).number(batches);
    let rank = lead.len();
    let words = words.layout(x.offset(), lead, &x.strides()[..rank]);
    let second = words.v.len() as i64;
    let words = words.layout(y.offset(), lead, &y.strides()[..rank]);
    let step = |l: &numr_core::Layout, k: usize| l.strides()[rank + k] as i64;
    let words = words.finish(&[second, step(&x, 0), step(&x, 1), step(&y, 0), step(&y, 1)]);
    // A grid has no more than 65,535 blocks along its second axis; a block goes through the batches that are left.
    let grid = ([u32::try_from(blocks[0]).unwrap_or(u32::MAX), blocks[1].min(65_535) as u32], 256);
    let inputs = [&**a.storage(), &**b.storage()];
    let job = Launch { op, inputs: &inputs, outputs: &[&result], words, flag: false, grid: Some(grid) };
    launch(context, Key::Contract { from, right, acc, to }, &job)?;
    Ok(tensor(context, result, out))
}

/// Rows and columns of results that a thread holds.
const fn each(acc: DType) -> usize {
    if acc.size_in_bytes() > 4 { 4 } else { 8 }
}

/// The text of [`contract`].
pub(crate) fn text(from: DType, right: DType, acc: DType, to: DType) -> Result<Text> {
    let each = each(acc);
    let tile = 16 * each;
    let ty = register(acc);
    let [second, am, ak, bk, bn] = [1, 2, 3, 4, 5].map(|j| WORDS - j);
    let body = format!(
        "typedef {ty} numr_acc;\n\
         const long long m = numr_l.v[1], n = numr_l.v[2], depth = numr_l.v[3], batches = numr_l.v[4];\n\
             const long long am = numr_l.v[{am}], ak = numr_l.v[{ak}], bk = numr_l.v[{bk}], bn = numr_l.v[{bn}];\n\
             __shared__ {ty} as[{DEPTH}][{tile} + 4];\n__shared__ {ty} bs[{DEPTH}][{tile} + 4];\n\
             const int t = threadIdx.x, tx = t % 16, ty = t / 16;\n\
             const long long across = (n + {tile} - 1) / {tile};\n\
             const long long row = blockIdx.x / across * {tile}, column = blockIdx.x % across * {tile};\n\
             for (long long batch = blockIdx.y; batch < batches; batch += gridDim.y) {{\n\
             const long long a0 = numr_at(numr_l, batch, 5), b0 = numr_at(numr_l, batch, (int)numr_l.v[{second}]);\n\
             {ty} acc[{each}][{each}];\n\
             _Pragma(\"unroll\") for (int r = 0; r < {each}; r++) _Pragma(\"unroll\") for (int c = 0; c < {each}; c++) acc[r][c] = numr_acc{{}};\n\
             for (long long k0 = 0; k0 < depth; k0 += {DEPTH}) {{\n\
             // Neighbours read along the operand's faster axis.\n\
             _Pragma(\"unroll\") for (int s = 0; s < {tile} * {DEPTH} / 256; s++) {{\n\
             const int e = t + 256 * s;\n\
             const int ar = ak == 1 ? e / {DEPTH} : e % {tile}, ac = ak == 1 ? e % {DEPTH} : e / {tile};\n\
             as[ac][ar] = row + ar < m && k0 + ac < depth ? numr_left(numr_get0(a0 + (row + ar) * am + (k0 + ac) * ak)) : numr_acc{{}};\n\
             const int br = bk == 1 ? e % {DEPTH} : e / {tile}, bc = bk == 1 ? e / {DEPTH} : e % {tile};\n\
             bs[br][bc] = column + bc < n && k0 + br < depth ? numr_right(numr_get1(b0 + (k0 + br) * bk + (column + bc) * bn)) : numr_acc{{}};\n\
             }}\n__syncthreads();\n\
             _Pragma(\"unroll\") for (int k = 0; k < {DEPTH}; k++) {{\n\
             {ty} x[{each}], y[{each}];\n\
             _Pragma(\"unroll\") for (int r = 0; r < {each}; r++) {{\n\
             x[r] = as[k][(r / 4) * 64 + ty * 4 + r % 4];\ny[r] = bs[k][(r / 4) * 64 + tx * 4 + r % 4];\n}}\n\
             _Pragma(\"unroll\") for (int r = 0; r < {each}; r++)\n\
             _Pragma(\"unroll\") for (int c = 0; c < {each}; c++) acc[r][c] = numr_add(acc[r][c], x[r], y[c]);\n\
             }}\n__syncthreads();\n}}\n\
             _Pragma(\"unroll\") for (int r = 0; r < {each}; r++)\n_Pragma(\"unroll\") for (int c = 0; c < {each}; c++) {{\n\
             const long long i = row + (r / 4) * 64 + ty * 4 + r % 4, j = column + (c / 4) * 64 + tx * 4 + c % 4;\n\
             if (i < m && j < n) numr_put0((batch * m + i) * n + j, numr_last(acc[r][c]));\n}}\n}}\n"
    );
    Ok(Builder::new(&[from, right], &[to])
        .function("numr_left", &[from], acc, |a| a[0])?
        .function("numr_right", &[right], acc, |a| a[0])?
        .function("numr_add", &[acc, acc, acc], acc, |a| a[1].mul_add(a[2], a[0]))?
        .function("numr_last", &[acc], to, |a| a[0])?
        .whole(&body))
}
