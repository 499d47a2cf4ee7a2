//! Reading and writing by index. An index is read as two halves of 32 bits, which every adapter can; what is out of range
//! raises a flag that becomes an error when someone waits.

use crate::context::Context;
use crate::kernel::{Builder, WORDS, Words};
use crate::launch::{Indexed, Key, Launch};
use crate::map::contiguous;
use crate::memory::Buffer;
use crate::runtime::{WgpuRuntime, tensor};
use numr_core::prim::{Meta, ScatterOp};
use numr_core::scalar::Scalar;
use numr_core::{DType, Result, Tensor};
use std::sync::Arc;

/// The tensor, contiguous from the start of its memory.
fn dense(device: &Arc<Context>, x: &Tensor<WgpuRuntime>) -> Result<Tensor<WgpuRuntime>> {
    if x.is_contiguous() && x.layout().offset() == 0 {
        return Ok(x.clone());
    }
    contiguous(device, x, &Meta { shape: x.layout().shape().clone(), dtype: x.dtype() })
}

/// Where the index at `at`, the name of a u32, points on an axis of this size.
fn place(at: &str, size: &str) -> String {
    format!("numr_place(numr_get1(2u * {at}), numr_get1(2u * {at} + 1u), {size})")
}

pub(crate) fn gather(
    device: &Arc<Context>,
    axis: usize,
    x: &Tensor<WgpuRuntime>,
    index: &Tensor<WgpuRuntime>,
    out: &Meta,
) -> Result<Tensor<WgpuRuntime>> {
    let index = dense(device, index)?;
    let count = index.numel();
    let result = Buffer::new(device, count.saturating_mul(out.dtype.size_in_bytes()))?;
    // Coordinates of the index, with no step along the axis: the index says where.
    let mut strides = x.strides().to_vec();
    let step = std::mem::replace(&mut strides[axis], 0);
    let words = Words::new("gather", count)?.number(x.shape()[axis])?;
    let mut words = words.layout(x.layout().offset(), index.shape(), &strides)?.finish();
    words[WORDS - 1] = step as i32 as u32;
    let launch = Launch {
        op: "gather",
        inputs: &[x.storage(), index.storage()],
        outputs: &[&result],
        words: &words,
        flag: true,
    };
    let dtype = x.dtype();
    device.launch(Key::Gather(dtype), &launch, || {
        let body = format!(
            "let place = {};\nif place < 0 {{ return; }}\n\
             let at = i32(numr_at(i, 2u)) + place * i32(numr_word({}u));\n\
             numr_put0(i, numr_get0(u32(at)));\n",
            place("i", "numr_word(1u)"),
            WORDS - 1
        );
        Builder::new(&[dtype, DType::I32], &[dtype]).flag(Indexed::Gather).finish(WORDS, &body)
    })?;
    Ok(tensor(device, result, out))
}

/// One invocation an element of the result: it looks for what is meant for it, in order, so that no two meet.
pub(crate) fn scatter(
    device: &Arc<Context>,
    axis: usize,
    op: ScatterOp,
    base: &Tensor<WgpuRuntime>,
    index: &Tensor<WgpuRuntime>,
    src: &Tensor<WgpuRuntime>,
    out: &Meta,
) -> Result<Tensor<WgpuRuntime>> {
    let (base, index, src) = (dense(device, base)?, dense(device, index)?, dense(device, src)?);
    let result = Buffer::new(device, base.numel().saturating_mul(out.dtype.size_in_bytes()))?;
    let rank = base.ndim();
    let mut words = Words::new("scatter", base.numel())?.number(rank)?.number(axis)?;
    for k in 0..rank {
        words = words.number(base.shape()[k])?.number(index.shape()[k])?;
    }
    let words = words.finish();
    let launch = Launch {
        op: "scatter",
        inputs: &[base.storage(), index.storage(), src.storage()],
        outputs: &[&result],
        words: &words,
        flag: true,
    };
    let dtype = base.dtype();
    device.launch(Key::Scatter { op, dtype }, &launch, || {
        let body = format!(
            "let rank = numr_word(1u);\nlet axis = numr_word(2u);\n\
             var value = numr_get0(i);\nvar inside = true;\nvar rest = i;\nvar start = 0u;\nvar step = 1u;\n\
             var stride = 0u;\nvar mine = 0u;\n\
             for (var k = rank; k > 0u; k--) {{\n\
             let size = numr_word(1u + 2u * k);\nlet count = numr_word(2u + 2u * k);\n\
             let c = rest % size;\nrest = rest / size;\n\
             if k - 1u == axis {{ stride = step; mine = c; }} else {{\n\
             inside = inside && c < count;\nstart += c * step;\n}}\nstep *= count;\n}}\n\
             let many = select(0u, numr_word(4u + 2u * axis), inside);\n\
             for (var k = 0u; k < many; k++) {{\n\
             let at = start + k * stride;\n\
             if {} == i32(mine) {{ value = numr_set(value, numr_get2(at)); }}\n}}\n\
             numr_put0(i, value);\n",
            place("at", "numr_word(3u + 2u * axis)")
        );
        Builder::new(&[dtype, DType::I32, dtype], &[dtype])
            .flag(Indexed::Scatter)
            .function("numr_set", &[dtype, dtype], dtype, |a| match op {
                ScatterOp::Set => a[1],
                ScatterOp::Add => a[0] + a[1],
                ScatterOp::Mul => a[0] * a[1],
                ScatterOp::Min => a[0].min(a[1]),
                ScatterOp::Max => a[0].max(a[1]),
            })?
            .finish(WORDS, &body)
    })?;
    Ok(tensor(device, result, out))
}
