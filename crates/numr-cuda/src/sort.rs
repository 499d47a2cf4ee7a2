//! Sorting: a bitonic network over the places of each line, by key and then by place, so that it is stable.
//!
//! Places past the end of a line come last. log²(n)/2 launches.

use crate::context::{Context, Key, Text};
use crate::kernel::{Builder, Launch, Words, launch};
use crate::map::contiguous;
use crate::memory::Buffer;
use crate::runtime::{CudaRuntime, tensor};
use numr_core::prim::Meta;
use numr_core::runtime::Outputs;
use numr_core::scalar::Scalar;
use numr_core::{DType, Result, Tensor};
use smallvec::smallvec;

pub(crate) fn sort(
    context: &'static Context,
    axis: usize,
    descending: bool,
    x: &Tensor<CudaRuntime>,
    values: &Meta,
    order: &Meta,
) -> Result<Outputs<CudaRuntime>> {
    let (op, dtype) = ("sort", x.dtype());
    let x = contiguous(context, x, &Meta { shape: x.layout().shape().clone(), dtype })?;
    let n = x.shape()[axis];
    let step: usize = x.shape()[axis + 1..].iter().product();
    let lines = x.numel().checked_div(n).unwrap_or(0);
    // Each line gets a power of two of places.
    let width = n.next_power_of_two();
    let places = Buffer::new(context, lines.saturating_mul(width).saturating_mul(8))?;
    let numbers = |count: usize, more: [usize; 2]| {
        let words = Words::new(count).number(n).number(step).number(width).number(usize::from(descending));
        words.number(more[0]).number(more[1]).finish(&[])
    };
    let words = numbers(lines.saturating_mul(width), [0, 0]);
    let start = Launch { op, inputs: &[], outputs: &[&places], words, flag: false, grid: None };
    launch(context, Key::SortStart, &start)?;
    let mut block = 2;
    while block <= width {
        let mut distance = block / 2;
        while distance > 0 {
            let words = numbers(lines.saturating_mul(width / 2), [block, distance]);
            let job = Launch { op, inputs: &[x.storage()], outputs: &[&places], words, flag: false, grid: None };
            launch(context, Key::SortStep(dtype), &job)?;
            distance /= 2;
        }
        block *= 2;
    }
    let sorted = Buffer::new(context, x.numel().saturating_mul(dtype.size_in_bytes()))?;
    let indices = Buffer::new(context, x.numel().saturating_mul(8))?;
    let words = numbers(x.numel(), [0, 0]);
    let inputs = [&**x.storage(), &*places];
    let job = Launch { op, inputs: &inputs, outputs: &[&sorted, &indices], words, flag: false, grid: None };
    launch(context, Key::SortRead(dtype), &job)?;
    Ok(smallvec![tensor(context, sorted, values), tensor(context, indices, order)])
}

/// The places in order.
pub(crate) fn start_text() -> Result<Text> {
    Ok(Builder::new(&[], &[DType::I64]).finish("numr_put0(i, i % numr_l.v[3]);\n"))
}

/// One round of comparisons.
pub(crate) fn step_text(dtype: DType) -> Result<Text> {
    let body = "const long long n = numr_l.v[1], step = numr_l.v[2], width = numr_l.v[3];\n\
                            const bool down = numr_l.v[4] != 0;\nconst long long block = numr_l.v[5], distance = numr_l.v[6];\n\
                            const long long line = i / (width / 2), pair = i % (width / 2);\n\
                            const long long low = (pair / distance) * 2 * distance + pair % distance;\n\
                            const long long at = line * width + low;\n\
                            const long long a = numr_q0[at], b = numr_q0[at + distance];\n\
                            const long long base = (line / step) * n * step + line % step;\n\
                            // Is b to come before a?\n\
                            bool turn = b < a;\n\
                            if (a < n && b < n) {\n\
                            const auto p = numr_get0(base + a * step);\nconst auto q = numr_get0(base + b * step);\n\
                            const bool pn = numr_none(p), qn = numr_none(q);\n\
                            const bool less = down ? numr_less(p, q) : numr_less(q, p);\n\
                            const bool more = down ? numr_less(q, p) : numr_less(p, q);\n\
                            if (pn != qn) turn = pn; else if (!pn && less) turn = true; else if (!pn && more) turn = false;\n\
                            } else turn = a >= n && (b < n || b < a);\n\
                            const bool up = (low & block) == 0;\n\
                            if (turn == up) { numr_q0[at] = b; numr_q0[at + distance] = a; }\n";
    Ok(Builder::new(&[dtype], &[DType::I64])
        .function("numr_less", &[dtype, dtype], DType::Bool, |a| a[0].lt(a[1]))?
        .function("numr_none", &[dtype], DType::Bool, |a| a[0].ne(a[0]))?
        .finish(body))
}

/// What lies at the sorted places.
pub(crate) fn read_text(dtype: DType) -> Result<Text> {
    let body = "const long long n = numr_l.v[1], step = numr_l.v[2], width = numr_l.v[3];\n\
                    const long long line = (i / (n * step)) * step + i % step, j = (i / step) % n;\n\
                    const long long source = numr_get1(line * width + j);\n\
                    const long long base = (line / step) * n * step + line % step;\n\
                    numr_put0(i, numr_get0(base + source * step));\nnumr_put1(i, source);\n";
    Ok(Builder::new(&[dtype, DType::I64], &[dtype, DType::I64]).finish(body))
}
