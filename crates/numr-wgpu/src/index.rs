//! Reading and writing by index. An index is read as two halves of 32 bits, which every adapter can; what is out of range
//! raises a flag that becomes an error when someone waits.

use crate::context::Context;
use crate::fold;
use crate::kernel::{Builder, WORDS, Words};
use crate::launch::{Indexed, Key, Launch, Text};
use crate::map::{self, contiguous};
use crate::memory::Buffer;
use crate::runtime::{WgpuRuntime, tensor};
use crate::sort::{self, Lines};
use numr_core::prim::{Meta, ScatterOp};
use numr_core::scalar::Scalar;
use numr_core::{DType, Result, SliceRange, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;

/// The tensor, contiguous from the start of its memory.
pub(crate) fn dense(device: &Arc<Context>, x: &Tensor<WgpuRuntime>) -> Result<Tensor<WgpuRuntime>> {
    if x.is_contiguous() && x.layout().offset() == 0 {
        return Ok(x.clone());
    }
    contiguous(device, x, &Meta { shape: x.layout().shape().clone(), dtype: x.dtype() })
}

/// Where the index at `at`, the name of a u32, of an operand points on an axis of this size.
fn place(operand: usize, at: &str, size: &str) -> String {
    format!("numr_place(numr_get{operand}(2u * {at}), numr_get{operand}(2u * {at} + 1u), {size})")
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
    device.launch(Key::Gather(device.moved(x.dtype())), &launch)?;
    Ok(tensor(device, result, out))
}

pub(crate) fn gather_text(dtype: DType) -> Result<Text> {
    let body = format!(
        "let place = {};\nif place < 0 {{ return; }}\n\
         let at = i32(numr_at(i, 2u)) + place * i32(numr_word({}u));\n\
         numr_put0(i, numr_get0(u32(at)));\n",
        place(1, "i", "numr_word(1u)"),
        WORDS - 1
    );
    Builder::new(&[dtype, DType::I32], &[dtype]).flag(Indexed::Gather).finish(WORDS, &body)
}

/// Indices along an axis from which on they are sorted first.
const SORTED: usize = 32;
/// Elements that an invocation scatters at most, as drivers end longer loops.
const RUN: usize = 1 << 14;

/// One invocation an element of the result: it takes what is meant for it, in order, so that no two meet. Of a few indices
/// it looks at each. More are sorted first, stably, so that it finds its own together; those that lie equal in memory once.
pub(crate) fn scatter(
    device: &Arc<Context>,
    axis: usize,
    op: ScatterOp,
    base: &Tensor<WgpuRuntime>,
    index: &Tensor<WgpuRuntime>,
    src: &Tensor<WgpuRuntime>,
    out: &Meta,
) -> Result<Tensor<WgpuRuntime>> {
    let (base, src) = (dense(device, base)?, dense(device, src)?);
    let many = index.shape()[axis];
    // With nowhere to go, an index is looked at for being out of range alone.
    let sorted = many > SORTED || base.numel() == 0;
    let repeats = |k: usize| sorted && k != axis && index.strides()[k] == 0;
    let own: SmallVec<[SliceRange; 8]> = index
        .shape()
        .iter()
        .enumerate()
        .map(|(k, &len)| SliceRange { start: 0, len: if repeats(k) { len.min(1) } else { len }, step: 1 })
        .collect();
    let layout = index.layout().slice("scatter", &own)?;
    let index = dense(device, &Tensor::from_storage(index.storage().clone(), layout, index.dtype(), *index.device()))?;
    let (places, order) = if sorted {
        order(device, axis, base.shape()[axis], &index)?
    } else {
        (index.storage().clone(), index.storage().clone())
    };

    let rank = base.ndim();
    let dtype = if op == ScatterOp::Set { device.moved(base.dtype()) } else { base.dtype() };
    let (mut before, mut from) = (base.storage().clone(), 0);
    loop {
        let result = Buffer::new(device, base.numel().saturating_mul(out.dtype.size_in_bytes()))?;
        let mut words = Words::new("scatter", base.numel())?.number(rank)?.number(axis)?.number(from)?;
        words = words.number(Lines::along(index.shape(), axis).width())?;
        for k in 0..rank {
            words = words.number(base.shape()[k])?.number(src.shape()[k])?.number(index.shape()[k])?;
        }
        let words = words.finish();
        let inputs = [&*before, &*places, src.storage(), &*order];
        let launch = Launch {
            op: "scatter",
            inputs: if sorted { &inputs } else { &inputs[..3] },
            outputs: &[&result],
            words: &words,
            flag: !sorted,
        };
        device.launch(Key::Scatter { op, dtype, sorted }, &launch)?;
        (before, from) = (result, from + RUN);
        if !sorted || from >= many {
            return Ok(tensor(device, before, out));
        }
    }
}

/// Where the indices of each line point (u32), and their order by that.
fn order(
    device: &Arc<Context>,
    axis: usize,
    size: usize,
    index: &Tensor<WgpuRuntime>,
) -> Result<(Arc<Buffer>, Arc<Buffer>)> {
    let places = Buffer::new(device, index.numel().saturating_mul(4))?;
    let words = Words::new("scatter", index.numel())?.number(size)?.finish();
    let launch = Launch { op: "scatter", inputs: &[index.storage()], outputs: &[&places], words: &words, flag: true };
    device.launch(Key::Place, &launch)?;
    let order = sort::order(device, "scatter", Lines::along(index.shape(), axis), false, &places, DType::U32)?;
    Ok((places, order))
}

/// An index out of range comes last, where nobody looks.
pub(crate) fn place_text() -> Result<Text> {
    let body = format!("numr_put0(i, u32({}));\n", place(0, "i", "numr_word(1u)"));
    Builder::new(&[DType::I32], &[DType::U32]).flag(Indexed::Scatter).finish(WORDS, &body)
}

pub(crate) fn scatter_text(op: ScatterOp, dtype: DType, sorted: bool) -> Result<Text> {
    let each = if sorted {
        // The first of those in order that are not before `mine`, by halves.
        format!(
            "let width = numr_word(4u);\nlet line = (first / (stride * many)) * stride + first % stride;\n\
             var low = 0u;\nvar high = many;\n\
             while low < high {{\n\
             let middle = (low + high) / 2u;\n\
             if numr_get1(first + numr_get3(line * width + middle) * stride) < mine {{ low = middle + 1u; }}\n\
             else {{ high = middle; }}\n}}\n\
             let begin = low + numr_word(3u);\n\
             for (var k = begin; k < min(many, begin + {RUN}u); k++) {{\n\
             let j = numr_get3(line * width + k);\n\
             if numr_get1(first + j * stride) != mine {{ break; }}\n\
             value = numr_set(value, numr_get2(start + j * step));\n}}\n"
        )
    } else {
        format!(
            "for (var k = 0u; k < many; k++) {{\n\
             let at = first + k * stride;\n\
             if {} == i32(mine) {{ value = numr_set(value, numr_get2(start + k * step)); }}\n}}\n",
            place(1, "at", "numr_word(5u + 3u * axis)")
        )
    };
    // `start` and `step` are of the source, `first` and `stride` of the indices.
    let body = format!(
        "let rank = numr_word(1u);\nlet axis = numr_word(2u);\n\
         var value = numr_get0(i);\nvar inside = true;\nvar rest = i;\nvar mine = 0u;\n\
         var start = 0u;\nvar step = 1u;\nvar first = 0u;\nvar stride = 1u;\nvar past = 1u;\nvar beyond = 1u;\n\
         for (var k = rank; k > 0u; k--) {{\n\
         let size = numr_word(2u + 3u * k);\nlet count = numr_word(3u + 3u * k);\nlet own = numr_word(4u + 3u * k);\n\
         let c = rest % size;\nrest = rest / size;\n\
         if k - 1u == axis {{ step = past; stride = beyond; mine = c; }} else {{\n\
         inside = inside && c < count;\nstart += c * past;\nfirst += select(c, 0u, own == 1u) * beyond;\n}}\n\
         past *= count;\nbeyond *= own;\n}}\n\
         let many = select(0u, numr_word(6u + 3u * axis), inside);\n\
         if many > 0u {{\n{each}}}\nnumr_put0(i, value);\n"
    );
    let operands = [dtype, if sorted { DType::U32 } else { DType::I32 }, dtype, DType::U32];
    let builder = Builder::new(if sorted { &operands } else { &operands[..3] }, &[dtype]);
    let builder = if sorted { builder } else { builder.flag(Indexed::Scatter) };
    builder
        .function("numr_set", &[dtype, dtype], dtype, |a| match op {
            ScatterOp::Set => a[1],
            ScatterOp::Add => a[0] + a[1],
            ScatterOp::Mul => a[0] * a[1],
            ScatterOp::Min => a[0].min(a[1]),
            ScatterOp::Max => a[0].max(a[1]),
        })?
        .finish(WORDS, &body)
}

/// The places of what is not 0: a running count says where each goes. How many they are is read back, so it waits.
pub(crate) fn nonzero(device: &Arc<Context>, x: &Tensor<WgpuRuntime>, out: &Meta) -> Result<Tensor<WgpuRuntime>> {
    let n = x.numel();
    let mut count = [0; 4];
    let counts = fold::running(device, n, map::truth(device, x)?.storage())?;
    if n > 0 {
        counts.download(4 * (n as u64 - 1), &mut count)?;
    }
    let count = u32::from_le_bytes(count) as usize;
    let result = Buffer::new(device, count * 8)?;
    let words = Words::new("nonzero", n)?.finish();
    let launch = Launch { op: "nonzero", inputs: &[&counts], outputs: &[&result], words: &words, flag: false };
    device.launch(Key::Nonzero, &launch)?;
    Ok(tensor(device, result, &Meta { shape: [count].into(), dtype: out.dtype }))
}

pub(crate) fn nonzero_text() -> Result<Text> {
    let body = "let end = numr_get0(i);\nvar before = 0u;\nif i > 0u { before = numr_get0(i - 1u); }\n\
                if end != before { numr_put0(2u * before, i); numr_put0(2u * before + 1u, 0u); }\n";
    Builder::new(&[DType::U32], &[DType::U32]).finish(WORDS, body)
}
