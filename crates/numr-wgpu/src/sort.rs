//! Sorting: a bitonic network over the places of each line, by key and then by place, so that it is stable.
//!
//! Places past the end of a line come last. log²(n)/2 launches; no launch depends on another workgroup's progress.

use crate::context::Context;
use crate::index::dense;
use crate::kernel::{Builder, WORDS, Words};
use crate::launch::{Key, Launch, Text};
use crate::memory::Buffer;
use crate::runtime::{WgpuRuntime, tensor};
use numr_core::prim::Meta;
use numr_core::runtime::Outputs;
use numr_core::scalar::Scalar;
use numr_core::{DType, Result, Tensor};
use smallvec::smallvec;
use std::sync::Arc;

/// Lines of `n` elements, `step` apart, in row-major order.
#[derive(Clone, Copy)]
pub(crate) struct Lines {
    pub(crate) lines: usize,
    pub(crate) n: usize,
    pub(crate) step: usize,
}

impl Lines {
    /// Those along an axis of a dense tensor.
    pub(crate) fn along(shape: &[usize], axis: usize) -> Lines {
        let (n, step) = (shape[axis], shape[axis + 1..].iter().product());
        let lines = shape.iter().product::<usize>().checked_div(n).unwrap_or(0);
        Lines { lines, n, step }
    }

    /// The places that [`order`] gives a line: a power of two.
    pub(crate) fn width(&self) -> usize {
        self.n.next_power_of_two()
    }

    fn words(&self, op: &'static str, count: usize, more: [usize; 3]) -> Result<Words> {
        let words = Words::new(op, count)?.number(self.n)?.number(self.step)?.number(self.width())?;
        words.number(more[0])?.number(more[1])?.number(more[2])
    }
}

/// The places of each line's elements (u32) in the order of the elements, so many as [`Lines::width`] says.
pub(crate) fn order(
    device: &Arc<Context>,
    op: &'static str,
    lines: Lines,
    descending: bool,
    keys: &Buffer,
    dtype: DType,
) -> Result<Arc<Buffer>> {
    let width = lines.width();
    let count = lines.lines.saturating_mul(width);
    let places = Buffer::new(device, count.saturating_mul(4))?;
    let start = lines.words(op, count, [0; 3])?.finish();
    device.launch(Key::SortStart, &Launch { op, inputs: &[], outputs: &[&places], words: &start, flag: false })?;
    let mut block = 2;
    while block <= width {
        let mut distance = block / 2;
        while distance > 0 {
            let words = lines.words(op, count / 2, [usize::from(descending), block, distance])?.finish();
            let launch = Launch { op, inputs: &[keys], outputs: &[&places], words: &words, flag: false };
            device.launch(Key::SortStep(dtype), &launch)?;
            distance /= 2;
        }
        block *= 2;
    }
    Ok(places)
}

pub(crate) fn sort(
    device: &Arc<Context>,
    axis: usize,
    descending: bool,
    x: &Tensor<WgpuRuntime>,
    values: &Meta,
    indices: &Meta,
) -> Result<Outputs<WgpuRuntime>> {
    let (op, dtype) = ("sort", x.dtype());
    let x = dense(device, x)?;
    let lines = Lines::along(x.shape(), axis);
    let places = order(device, op, lines, descending, x.storage(), dtype)?;
    let sorted = Buffer::new(device, x.numel().saturating_mul(dtype.size_in_bytes()))?;
    let order = Buffer::new(device, x.numel().saturating_mul(8))?;
    let words = lines.words(op, x.numel(), [0; 3])?.finish();
    let launch =
        Launch { op, inputs: &[x.storage(), &places], outputs: &[&sorted, &order], words: &words, flag: false };
    device.launch(Key::SortRead(dtype), &launch)?;
    Ok(smallvec![tensor(device, sorted, values), tensor(device, order, indices)])
}

pub(crate) fn start_text() -> Result<Text> {
    Builder::new(&[], &[DType::U32]).finish(WORDS, "numr_put0(i, i % numr_word(3u));\n")
}

pub(crate) fn step_text(dtype: DType) -> Result<Text> {
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
}

/// An index is written as its halves, which takes no 64-bit arithmetic.
pub(crate) fn read_text(dtype: DType) -> Result<Text> {
    let body = "let n = numr_word(1u);\nlet step = numr_word(2u);\nlet width = numr_word(3u);\n\
                let line = (i / (n * step)) * step + i % step;\nlet j = (i / step) % n;\n\
                let source = numr_get1(line * width + j);\n\
                let base = (line / step) * n * step + line % step;\n\
                numr_put0(i, numr_get0(base + source * step));\nnumr_put1(2u * i, source);\nnumr_put1(2u * i + 1u, 0u);\n";
    Builder::new(&[dtype, DType::U32], &[dtype, DType::U32]).finish(WORDS, body)
}
