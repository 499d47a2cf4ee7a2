//! Copies into part of a result.

use crate::context::Context;
use crate::kernel::{Builder, WORDS, Words};
use crate::launch::{Key, Launch, Text};
use crate::map::contiguous;
use crate::memory::Buffer;
use crate::runtime::{WgpuRuntime, tensor};
use numr_core::prim::{Meta, View};
use numr_core::{DType, Layout, Result, Tensor};
use std::sync::Arc;

/// The operands end to end.
pub(crate) fn concat(
    device: &Arc<Context>,
    axis: usize,
    inputs: &[&Tensor<WgpuRuntime>],
    out: &Meta,
) -> Result<Tensor<WgpuRuntime>> {
    let whole = Layout::contiguous(out.shape.clone());
    let buffer = Buffer::new(device, whole.numel().saturating_mul(out.dtype.size_in_bytes()))?;
    let mut start = 0;
    for x in inputs {
        let offset = start * whole.strides()[axis] as usize;
        put(device, "concat", x, &buffer, offset, whole.strides())?;
        start += x.shape()[axis];
    }
    Ok(tensor(device, buffer, out))
}

/// `base` with the elements that `view` shows replaced.
pub(crate) fn assign(
    device: &Arc<Context>,
    view: &View,
    base: &Tensor<WgpuRuntime>,
    src: &Tensor<WgpuRuntime>,
    out: &Meta,
) -> Result<Tensor<WgpuRuntime>> {
    let result = contiguous(device, base, out)?;
    let shown = view.apply(result.layout())?;
    put(device, "assign", src, result.storage(), shown.offset(), shown.strides())?;
    Ok(result)
}

/// Writes the elements of x at `offset` and these strides of a buffer; no two at one place.
pub(crate) fn put(
    device: &Arc<Context>,
    op: &'static str,
    x: &Tensor<WgpuRuntime>,
    to: &Buffer,
    offset: usize,
    strides: &[isize],
) -> Result<()> {
    // Both layouts follow the count; each tells its rank.
    let words = Words::new(op, x.numel())?.layout(x.layout().offset(), x.shape(), x.strides())?;
    let second = words.v.len();
    let words = words.layout(offset, x.shape(), strides)?.number(0)?;
    let mut words = words.finish();
    words[WORDS - 1] = second as u32;
    let launch = Launch { op, inputs: &[x.storage()], outputs: &[to], words: &words, flag: false };
    device.launch(Key::Put(device.moved(x.dtype())), &launch)
}

pub(crate) fn put_text(dtype: DType) -> Result<Text> {
    let body = format!("numr_put0(numr_at(i, numr_word({}u)), numr_get0(numr_at(i, 1u)));\n", WORDS - 1);
    Builder::new(&[dtype], &[dtype]).finish(WORDS, &body)
}
