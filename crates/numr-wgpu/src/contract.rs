//! Matrix products: one invocation an element of the result, operands in any layout, batches broadcast.

use crate::context::Context;
use crate::kernel::{Builder, WORDS, Words};
use crate::launch::{Key, Launch};
use crate::memory::Buffer;
use crate::runtime::{WgpuRuntime, tensor};
use numr_core::prim::Meta;
use numr_core::runtime::Support;
use numr_core::scalar::Scalar;
use numr_core::{DType, Error, Result, Tensor};
use std::sync::Arc;

pub(crate) fn supports(context: &Context, dtype: DType, dtypes: &[DType]) -> Support {
    match dtypes.iter().chain([&dtype]).find_map(|&d| context.lacks(d)) {
        Some(reason) => Support::No { reason: reason.into() },
        None => Support::Native,
    }
}

pub(crate) fn contract(
    device: &Arc<Context>,
    a: &Tensor<WgpuRuntime>,
    b: &Tensor<WgpuRuntime>,
    out: &Meta,
) -> Result<Tensor<WgpuRuntime>> {
    let op = "matmul";
    let Some(&k) = a.shape().last() else { return Err(Error::shape(op, "matrices", &[a.shape(), b.shape()])) };
    let count = out.shape.numel().unwrap_or(usize::MAX);
    if k == 0 || count == 0 {
        return Tensor::try_zeros(&out.shape, out.dtype, a.device());
    }
    let result = Buffer::new(device, count.saturating_mul(out.dtype.size_in_bytes()))?;
    // Where the first terms of each element of the result lie, and how far apart its terms are: along the last axis of a,
    // the last but one of b.
    let lead = &out.shape[..out.shape.len() - 2];
    let terms = |t: &Tensor<WgpuRuntime>, own: usize| -> Result<(usize, Vec<isize>, isize)> {
        let shape: Vec<usize> = lead.iter().chain(&t.shape()[t.ndim() - 2..]).copied().collect();
        let layout = t.layout().broadcast_to(op, &shape)?;
        let mut strides = layout.strides().to_vec();
        let step = std::mem::replace(&mut strides[lead.len() + 1 - own], 0);
        Ok((layout.offset(), strides, step))
    };
    let (a_offset, a_strides, a_step) = terms(a, 0)?;
    let (b_offset, b_strides, b_step) = terms(b, 1)?;
    let words = Words::new(op, count)?.number(k)?;
    let words = words.layout(a_offset, &out.shape, &a_strides)?;
    let second = words.v.len();
    let mut words = words.layout(b_offset, &out.shape, &b_strides)?.finish();
    words[WORDS - 1] = second as u32;
    words[WORDS - 2] = a_step as i32 as u32;
    words[WORDS - 3] = b_step as i32 as u32;
    let launch = Launch { op, inputs: &[a.storage(), b.storage()], outputs: &[&result], words: &words, flag: false };
    let (from, acc, to) = (a.dtype(), out.dtype.compute(), out.dtype);
    let right = b.dtype();
    device.launch(Key::Contract { from, right, acc, to }, &launch, || {
        let [second, a_step, b_step] = [WORDS - 1, WORDS - 2, WORDS - 3];
        let body = format!(
            "let n = numr_word(1u);\nvar x = i32(numr_at(i, 2u));\nvar y = i32(numr_at(i, numr_word({second}u)));\n\
             let dx = i32(numr_word({a_step}u));\nlet dy = i32(numr_word({b_step}u));\n\
             var acc = numr_times(numr_get0(u32(x)), numr_get1(u32(y)));\n\
             for (var k = 1u; k < n; k++) {{\nx += dx;\ny += dy;\n\
             acc = numr_add(acc, numr_get0(u32(x)), numr_get1(u32(y)));\n}}\n\
             numr_put0(i, numr_last(acc));\n"
        );
        Builder::new(&[from, right], &[to])
            .function("numr_times", &[from, right], acc, move |a| a[0].cast(acc) * a[1].cast(acc))?
            .function("numr_add", &[acc, from, right], acc, move |a| a[1].cast(acc).mul_add(a[2].cast(acc), a[0]))?
            .function("numr_last", &[acc], to, |a| a[0])?
            .finish(WORDS, &body)
    })?;
    Ok(tensor(device, result, out))
}
