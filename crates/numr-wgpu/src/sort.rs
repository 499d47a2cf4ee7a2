//! Sorting: a bitonic network over the places of each line, by key and then by place, so that it is stable.
//!
//! Places past the end of a line come last. log²(n)/2 launches; no launch depends on another workgroup's progress.

use crate::context::Context;
use crate::kernel::{Builder, WORDS, Words};
use crate::launch::{Key, Launch};
use crate::map::contiguous;
use crate::memory::Buffer;
use crate::runtime::{WgpuRuntime, tensor};
use numr_core::prim::Meta;
use numr_core::runtime::{Outputs, Support};
use numr_core::scalar::Scalar;
use numr_core::{DType, Result, Tensor};
use smallvec::smallvec;
use std::sync::Arc;

pub(crate) fn supports(context: &Context) -> Support {
    match context.lacks(DType::I64) {
        Some(reason) => Support::No { reason: reason.into() },
        None => Support::Native,
    }
}

pub(crate) fn sort(
    device: &Arc<Context>,
    axis: usize,
    descending: bool,
    x: &Tensor<WgpuRuntime>,
    values: &Meta,
    order: &Meta,
) -> Result<Outputs<WgpuRuntime>> {
    let (op, dtype) = ("sort", x.dtype());
    let x = contiguous(device, x, &Meta { shape: x.layout().shape().clone(), dtype })?;
    let n = x.shape()[axis];
    let step: usize = x.shape()[axis + 1..].iter().product();
    let lines = x.numel().checked_div(n).unwrap_or(0);
    // Each line gets a power of two of places.
    let width = n.next_power_of_two();
    let places = Buffer::new(device, lines.saturating_mul(width).saturating_mul(4))?;
    let numbers = |count: usize, more: [usize; 2]| -> Result<Vec<u32>> {
        let words = Words::new(op, count)?.number(n)?.number(step)?.number(width)?;
        Ok(words.number(usize::from(descending))?.number(more[0])?.number(more[1])?.finish())
    };
    let start = numbers(lines.saturating_mul(width), [0, 0])?;
    let launch = Launch { op, inputs: &[], outputs: &[&places], words: &start, flag: false };
    device.launch(Key::SortStart, &launch, || {
        Builder::new(&[], &[DType::U32]).finish(WORDS, "numr_put0(i, i % numr_word(3u));\n")
    })?;
    let mut block = 2;
    while block <= width {
        let mut distance = block / 2;
        while distance > 0 {
            let words = numbers(lines.saturating_mul(width / 2), [block, distance])?;
            let launch = Launch { op, inputs: &[x.storage()], outputs: &[&places], words: &words, flag: false };
            device.launch(Key::SortStep(dtype), &launch, || {
                let body = "let n = numr_word(1u);\nlet step = numr_word(2u);\nlet width = numr_word(3u);\n\
                            let down = numr_word(4u) != 0u;\nlet block = numr_word(5u);\nlet distance = numr_word(6u);\n\
                            let half = width / 2u;\nlet line = i / half;\nlet pair = i % half;\n\
                            let low = (pair / distance) * 2u * distance + pair % distance;\n\
                            let at = line * width + low;\n\
                            let a = numr_q0[at];\nlet b = numr_q0[at + distance];\n\
                            let base = (line / step) * n * step + line % step;\n\
                            // Is b to come before a?\n\
                            var turn = b < a;\n\
                            if a < n && b < n {\n\
                            let p = numr_get0(base + a * step);\nlet q = numr_get0(base + b * step);\n\
                            let pn = numr_none(p);\nlet qn = numr_none(q);\n\
                            let less = select(numr_less(q, p), numr_less(p, q), down);\n\
                            let more = select(numr_less(p, q), numr_less(q, p), down);\n\
                            if pn != qn { turn = pn; } else if !pn { if less { turn = true; } else if more { turn = false; } }\n\
                            } else { turn = a >= n && (b < n || b < a); }\n\
                            let up = (low & block) == 0u;\n\
                            if turn == up { numr_q0[at] = b; numr_q0[at + distance] = a; }\n";
                Builder::new(&[dtype], &[DType::U32])
                    .function("numr_less", &[dtype, dtype], DType::Bool, |a| a[0].lt(a[1]))?
                    .function("numr_none", &[dtype], DType::Bool, |a| a[0].ne(a[0]))?
                    .finish(WORDS, body)
            })?;
            distance /= 2;
        }
        block *= 2;
    }
    let sorted = Buffer::new(device, x.numel().saturating_mul(dtype.size_in_bytes()))?;
    let indices = Buffer::new(device, x.numel().saturating_mul(8))?;
    let words = numbers(x.numel(), [0, 0])?;
    let launch =
        Launch { op, inputs: &[x.storage(), &places], outputs: &[&sorted, &indices], words: &words, flag: false };
    device.launch(Key::SortRead(dtype), &launch, || {
        let body = "let n = numr_word(1u);\nlet step = numr_word(2u);\nlet width = numr_word(3u);\n\
                    let line = (i / (n * step)) * step + i % step;\nlet j = (i / step) % n;\n\
                    let source = numr_get1(line * width + j);\n\
                    let base = (line / step) * n * step + line % step;\n\
                    numr_put0(i, numr_get0(base + source * step));\nnumr_put1(i, i64(source));\n";
        Builder::new(&[dtype, DType::U32], &[dtype, DType::I64]).finish(WORDS, body)
    })?;
    Ok(smallvec![tensor(device, sorted, values), tensor(device, indices, order)])
}
