//! Reading and writing by index. An index that is out of range raises a flag that becomes an error when someone waits.

use crate::context::{Context, Key, Text};
use crate::kernel::{Builder, Launch, WORDS, Words, launch};
use crate::map::contiguous;
use crate::memory::Buffer;
use crate::runtime::{CudaRuntime, tensor};
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
    Ok(Builder::new(&[dtype, DType::I64, dtype], &[dtype])
        .flag()
        .function("numr_set", &[dtype, dtype], dtype, |a| match op {
            ScatterOp::Set => a[1],
            ScatterOp::Add => a[0] + a[1],
            ScatterOp::Mul => a[0] * a[1],
            ScatterOp::Min => a[0].min(a[1]),
            ScatterOp::Max => a[0].max(a[1]),
        })?
        .finish(body))
}
