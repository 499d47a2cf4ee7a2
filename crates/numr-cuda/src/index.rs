//! Reading and writing by index. An index that is out of range raises a flag that becomes an error when someone waits.

use crate::context::{Context, Key, Text};
use crate::kernel::{Builder, Launch, WORDS, Words, launch};
use crate::map::contiguous;
use crate::memory::Buffer;
use crate::runtime::{CudaRuntime, tensor};
use crate::sort::sort;
use numr_core::prim::{Meta, ScatterOp};
use numr_core::scalar::Scalar;
use numr_core::{DType, Result, Tensor};

/// The tensor, contiguous from the start of its memory.
pub(crate) fn dense(context: &'static Context, x: &Tensor<CudaRuntime>) -> Result<Tensor<CudaRuntime>> {
    if x.is_contiguous() && x.layout().offset() == 0 {
        return Ok(x.clone());
    }
    contiguous(context, x, &Meta { shape: x.layout().shape().clone(), dtype: x.dtype() })
}

pub(crate) fn gather(
    context: &'static Context,
    axis: usize,
    x: &Tensor<CudaRuntime>,
    index: &Tensor<CudaRuntime>,
    out: &Meta,
) -> Result<Tensor<CudaRuntime>> {
    let index = dense(context, index)?;
    let result = Buffer::new(context, index.numel().saturating_mul(out.dtype.size_in_bytes()))?;
    // Coordinates of the index, with no step along the axis: the index says where.
    let mut strides = x.strides().to_vec();
    let step = std::mem::replace(&mut strides[axis], 0);
    let words = Words::new(index.numel()).number(x.shape()[axis]);
    let words = words.layout(x.layout().offset(), index.shape(), &strides).finish(&[step as i64]);
    let dtype = x.dtype();
    let inputs = [&**x.storage(), &**index.storage()];
    let job = Launch { op: "gather", inputs: &inputs, outputs: &[&result], words, flag: true, grid: None };
    launch(context, Key::Gather(dtype), &job)?;
    Ok(tensor(context, result, out))
}

/// Indices along an axis that a thread looks through; where there are more they are sorted, and it searches.
const FEW: usize = 64;

/// One thread an element of the result: it looks for what is meant for it, in order, so that no two meet.
pub(crate) fn scatter(
    context: &'static Context,
    axis: usize,
    op: ScatterOp,
    base: &Tensor<CudaRuntime>,
    index: &Tensor<CudaRuntime>,
    src: &Tensor<CudaRuntime>,
    out: &Meta,
) -> Result<Tensor<CudaRuntime>> {
    if index.shape()[axis] > FEW {
        return scatter_sorted(context, axis, op, base, index, src, out);
    }
    let (base, index, src) = (dense(context, base)?, dense(context, index)?, dense(context, src)?);
    let result = Buffer::new(context, base.numel().saturating_mul(out.dtype.size_in_bytes()))?;
    let rank = base.ndim();
    let mut words = Words::new(base.numel()).number(rank).number(axis);
    for k in 0..rank {
        words = words.number(base.shape()[k]).number(index.shape()[k]);
    }
    let words = words.finish(&[]);
    let dtype = base.dtype();
    let inputs = [&**base.storage(), &**index.storage(), &**src.storage()];
    let job = Launch { op: "scatter", inputs: &inputs, outputs: &[&result], words, flag: true, grid: None };
    launch(context, Key::Scatter { op, dtype }, &job)?;
    Ok(tensor(context, result, out))
}

/// As [`scatter`], after the indices of each line are sorted, equal ones in their order. An index that is the same all along
/// an axis is sorted once.
fn scatter_sorted(
    context: &'static Context,
    axis: usize,
    op: ScatterOp,
    base: &Tensor<CudaRuntime>,
    index: &Tensor<CudaRuntime>,
    src: &Tensor<CudaRuntime>,
    out: &Meta,
) -> Result<Tensor<CudaRuntime>> {
    let (base, src, rank) = (dense(context, base)?, dense(context, src)?, base.ndim());
    let mut lines = index.clone();
    for k in (0..rank).filter(|&k| k != axis && index.strides()[k] == 0 && index.shape()[k] > 1) {
        lines = lines.narrow(k as isize, 0, 1)?;
    }
    let wrapped = lines.lt(0)?.where_cond(&lines.add(base.shape()[axis] as i64)?, &lines)?;
    let meta = Meta { shape: wrapped.layout().shape().clone(), dtype: DType::I64 };
    let sorted = sort(context, axis, false, &wrapped, &meta, &meta)?;
    let result = Buffer::new(context, base.numel().saturating_mul(out.dtype.size_in_bytes()))?;
    let mut words = Words::new(base.numel()).number(rank).number(axis);
    for k in 0..rank {
        words = words.number(base.shape()[k]).number(index.shape()[k]);
    }
    for k in 0..rank {
        words = words.number(if wrapped.shape()[k] == index.shape()[k] { sorted[0].strides()[k] as usize } else { 0 });
    }
    let (words, dtype) = (words.finish(&[]), base.dtype());
    let inputs = [&**base.storage(), &**sorted[0].storage(), &**sorted[1].storage(), &**src.storage()];
    let job = Launch { op: "scatter", inputs: &inputs, outputs: &[&result], words, flag: true, grid: None };
    launch(context, Key::ScatterSorted { op, dtype }, &job)?;
    Ok(tensor(context, result, out))
}

/// Row-major places of the elements that are not zero: each knows from a running count where it goes. The count is read back.
pub(crate) fn nonzero(context: &'static Context, x: &Tensor<CudaRuntime>) -> Result<Tensor<CudaRuntime>> {
    let mask = dense(context, &x.flatten()?.cast(DType::Bool)?)?;
    let places = mask.cumsum(0)?;
    let n = mask.numel();
    let count = if n == 0 { 0 } else { places.narrow(0, n - 1, 1)?.item::<i64>()? as usize };
    let result = Buffer::new(context, count.saturating_mul(8))?;
    let (inputs, words) =
        ([&**mask.storage(), &**places.storage()], Words::new(if count == 0 { 0 } else { n }).finish(&[]));
    let job = Launch { op: "nonzero", inputs: &inputs, outputs: &[&result], words, flag: false, grid: None };
    launch(context, Key::Compact, &job)?;
    Ok(tensor(context, result, &Meta { shape: [count].into(), dtype: DType::I64 }))
}

/// The text of [`nonzero`].
pub(crate) fn compact_text() -> Text {
    Builder::new(&[DType::Bool, DType::I64], &[DType::I64])
        .finish("if (numr_get0(i)) numr_put0(numr_get1(i) - 1, i);\n")
}

/// The text of [`gather`].
pub(crate) fn gather_text(dtype: DType) -> Result<Text> {
    let step = WORDS - 1;
    let body = format!(
        "const long long place = numr_place(numr_get1(i), numr_l.v[1]);\n\
             numr_put0(i, numr_get0(numr_at(numr_l, i, 2) + place * numr_l.v[{step}]));\n"
    );
    Ok(Builder::new(&[dtype, DType::I64], &[dtype]).flag().finish(&body))
}

/// The text of [`scatter`].
pub(crate) fn scatter_text(op: ScatterOp, dtype: DType) -> Result<Text> {
    let body = "const int rank = (int)numr_l.v[1];\nconst int axis = (int)numr_l.v[2];\n\
                    auto value = numr_get0(i);\nbool inside = true;\n\
                    long long rest = i, start = 0, step = 1, stride = 0, mine = 0;\n\
                    for (int k = rank; k > 0; k--) {\n\
                    const long long size = numr_l.v[1 + 2 * k], count = numr_l.v[2 + 2 * k];\n\
                    const long long c = rest % size;\nrest /= size;\n\
                    if (k - 1 == axis) { stride = step; mine = c; } else { inside = inside && c < count; start += c * step; }\n\
                    step *= count;\n}\n\
                    const long long size = numr_l.v[3 + 2 * axis];\n\
                    const long long many = inside ? numr_l.v[4 + 2 * axis] : 0;\n\
                    for (long long k = 0; k < many; k++) {\n\
                    const long long at = start + k * stride;\nconst long long index = numr_get1(at);\n\
                    if (numr_place(index, size) == mine && index < size && index >= -size) value = numr_set(value, numr_get2(at));\n}\n\
                    numr_put0(i, value);\n";
    set(Builder::new(&[dtype, DType::I64, dtype], &[dtype]).flag(), op, dtype).map(|b| b.finish(body))
}

/// With `numr_set`, an element and what is meant for it as one.
fn set(b: Builder, op: ScatterOp, dtype: DType) -> Result<Builder> {
    b.function("numr_set", &[dtype, dtype], dtype, |a| match op {
        ScatterOp::Set => a[1],
        ScatterOp::Add => a[0] + a[1],
        ScatterOp::Mul => a[0] * a[1],
        ScatterOp::Min => a[0].min(a[1]),
        ScatterOp::Max => a[0].max(a[1]),
    })
}

/// The text of [`scatter_sorted`].
pub(crate) fn scatter_sorted_text(op: ScatterOp, dtype: DType) -> Result<Text> {
    let body = "const int rank = (int)numr_l.v[1];\nconst int axis = (int)numr_l.v[2];\n\
                    auto value = numr_get0(i);\nbool inside = true;\n\
                    long long rest = i, start = 0, step = 1, stride = 0, mine = 0, line = 0;\n\
                    for (int k = rank; k > 0; k--) {\n\
                    const long long size = numr_l.v[1 + 2 * k], count = numr_l.v[2 + 2 * k];\n\
                    const long long next = numr_quotient(rest, size), c = rest - next * size;\nrest = next;\n\
                    if (k - 1 == axis) { stride = step; mine = c; } else {\n\
                    inside = inside && c < count;\nstart += c * step;\nline += c * numr_l.v[2 + 2 * rank + k];\n}\n\
                    step *= count;\n}\n\
                    const long long size = numr_l.v[3 + 2 * axis], hop = numr_l.v[3 + 2 * rank + axis];\n\
                    const long long many = inside ? numr_l.v[4 + 2 * axis] : 0;\n\
                    if (mine == 0 && many > 0) {\n\
                    // The least and the largest index of the line tell whether one is out of range.\n\
                    const long long ends[2] = {numr_get1(line), numr_get1(line + (many - 1) * hop)};\n\
                    for (int e = 0; e < 2; e++) if (ends[e] < 0 || ends[e] >= size) {\n\
                    numr_flag[1] = ends[e] < 0 ? ends[e] - size : ends[e]; numr_flag[2] = size; numr_flag[0] = 1;\n}\n}\n\
                    long long low = 0, high = many;\n\
                    while (low < high) {\n\
                    const long long middle = (low + high) / 2;\n\
                    if (numr_get1(line + middle * hop) < mine) low = middle + 1; else high = middle;\n}\n\
                    for (; low < many && numr_get1(line + low * hop) == mine; low++)\n\
                    value = numr_set(value, numr_get3(start + numr_get2(line + low * hop) * stride));\n\
                    numr_put0(i, value);\n";
    set(Builder::new(&[dtype, DType::I64, DType::I64, dtype], &[dtype]).flag(), op, dtype).map(|b| b.finish(body))
}
