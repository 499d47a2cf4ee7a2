//! Copies into part of a result.

use crate::context::{Context, Key, Text};
use crate::kernel::{Builder, Launch, WORDS, Words, launch};
use crate::map::contiguous;
use crate::memory::Buffer;
use crate::runtime::{CudaRuntime, tensor};
use numr_core::prim::{Meta, View};
use numr_core::{DType, Layout, Result, Tensor};

/// The operands end to end.
pub(crate) fn concat(
    context: &'static Context,
    axis: usize,
    inputs: &[&Tensor<CudaRuntime>],
    out: &Meta,
) -> Result<Tensor<CudaRuntime>> {
    let whole = Layout::contiguous(out.shape.clone());
    let buffer = Buffer::new(context, whole.numel().saturating_mul(out.dtype.size_in_bytes()))?;
    let mut start = 0;
    for x in inputs {
        put(context, "concat", x, &buffer, start * whole.strides()[axis] as usize, whole.strides())?;
        start += x.shape()[axis];
    }
    Ok(tensor(context, buffer, out))
}

/// `base` with the elements that `view` shows replaced.
pub(crate) fn assign(
    context: &'static Context,
    view: &View,
    base: &Tensor<CudaRuntime>,
    src: &Tensor<CudaRuntime>,
    out: &Meta,
) -> Result<Tensor<CudaRuntime>> {
    let result = contiguous(context, base, out)?;
    let shown = view.apply(result.layout())?;
    put(context, "assign", src, result.storage(), shown.offset(), shown.strides())?;
    Ok(result)
}

/// Writes the elements of x at `offset` and these strides of a buffer; no two at one place.
fn put(
    context: &'static Context,
    op: &'static str,
    x: &Tensor<CudaRuntime>,
    to: &Buffer,
    offset: usize,
    strides: &[isize],
) -> Result<()> {
    let words = Words::new(x.numel()).layout(x.layout().offset(), x.shape(), x.strides());
    let second = words.v.len() as i64;
    let words = words.layout(offset, x.shape(), strides).finish(&[second]);
    let dtype = x.dtype();
    let job = Launch { op, inputs: &[x.storage()], outputs: &[to], words, flag: false, grid: None };
    launch(context, Key::Put(dtype), &job)
}

/// The text of [`put`].
pub(crate) fn put_text(dtype: DType) -> Result<Text> {
    let to = WORDS - 1;
    let body = format!("numr_put0(numr_at(numr_l, i, (int)numr_l.v[{to}]), numr_get0(numr_at(numr_l, i, 1)));\n");
    Ok(Builder::new(&[dtype], &[dtype]).finish(&body))
}
