//! Matrix products: operands in any layout, batches broadcast.
//!
//! A workgroup makes a tile of the result, from slices of both operands that it brings into its own memory; an invocation
//! makes a block of the tile in registers. So a value is read from memory once a tile, not once an element. Where the result
//! is thinner than half a tile, most of one would be idle: there an invocation makes an element. Both add the terms in
//! order, one rounding a term, so which of them runs does not show in the result.

use crate::context::Context;
use crate::kernel::{Builder, WORDS, Words, word};
use crate::launch::{GROUP, Key, Launch, Text};
use crate::memory::Buffer;
use crate::runtime::{WgpuRuntime, tensor};
use numr_core::prim::Meta;
use numr_core::runtime::Support;
use numr_core::scalar::Scalar;
use numr_core::scalar::print::wgsl::register;
use numr_core::{DType, Error, Result, Tensor};
use std::fmt::Write;
use std::sync::Arc;

/// Rows and columns of a tile.
const TILE: usize = 32;
/// Terms that a slice holds: two slices of the widest dtype take 8.3 of the 16 KiB that every adapter has.
const DEPTH: usize = 8;
/// Rows and columns of an invocation's block.
const BLOCK: usize = 4;
/// A slice's lines are one longer, so that neighbours write to different banks.
const LINE: usize = TILE + 1;
const _: () = assert!(GROUP as usize * BLOCK * BLOCK == TILE * TILE && (TILE * DEPTH).is_multiple_of(GROUP as usize));

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
    let (Some(&k), [lead @ .., m, n]) = (a.shape().last(), &out.shape[..]) else {
        return Err(Error::shape(op, "matrices", &[a.shape(), b.shape()]));
    };
    let count = out.shape.numel().unwrap_or(usize::MAX);
    if k == 0 || count == 0 {
        return Tensor::try_zeros(&out.shape, out.dtype, a.device());
    }
    let result = Buffer::new(device, count.saturating_mul(out.dtype.size_in_bytes()))?;
    // Every element has an index.
    word(op, count)?;
    let tiled = *m.min(n) >= TILE / 2;
    let (down, across) = (m.div_ceil(TILE), n.div_ceil(TILE));
    let (jobs, across) = if tiled { (down * across, across) } else { (m * n, *n) };
    let words = Words::new(op, count / (m * n) * jobs)?.number(*m)?.number(*n)?.number(k)?;
    let mut words = words.number(across)?.number(jobs)?;
    // Of each operand: the steps along its own axis of the result and along the terms, then where its batches begin.
    let mut second = 0;
    for (own, t) in [a, b].into_iter().enumerate() {
        let shape: Vec<usize> = lead.iter().chain(&t.shape()[t.ndim() - 2..]).copied().collect();
        let layout = t.layout().broadcast_to(op, &shape)?;
        let (batch, matrix) = layout.strides().split_at(lead.len());
        second = words.v.len();
        words.v.extend([matrix[own] as i32 as u32, matrix[1 - own] as i32 as u32]);
        words = words.layout(layout.offset(), lead, batch)?;
    }
    let mut words = words.finish();
    words[WORDS - 1] = second as u32;
    let launch = Launch { op, inputs: &[a.storage(), b.storage()], outputs: &[&result], words: &words, flag: false };
    let (from, right, acc, to) = (a.dtype(), b.dtype(), out.dtype.compute(), out.dtype);
    device.launch(Key::Contract { from, right, acc, to, tiled }, &launch)?;
    Ok(tensor(device, result, out))
}

/// The text of [`contract`].
pub(crate) fn text(from: DType, right: DType, acc: DType, to: DType, tiled: bool) -> Result<Text> {
    let builder = Builder::new(&[from, right], &[to])
        .function("numr_left", &[from], acc, |a| a[0])?
        .function("numr_right", &[right], acc, |a| a[0])?
        .function("numr_add", &[acc, acc, acc], acc, |a| a[1].mul_add(a[2], a[0]))?
        .function("numr_last", &[acc], to, |a| a[0])?;
    // dx and dy: the steps of x along rows and terms, of y along columns and terms.
    let names = format!(
        "let m = numr_word(1u);\nlet n = numr_word(2u);\nlet k = numr_word(3u);\nlet across = numr_word(4u);\n\
         let jobs = numr_word(5u);\nlet batch = i / jobs;\nlet job = i % jobs;\nlet second = numr_word({}u);\n\
         let dx = vec2<i32>(i32(numr_word(6u)), i32(numr_word(7u)));\n\
         let dy = vec2<i32>(i32(numr_word(second)), i32(numr_word(second + 1u)));\n\
         let x = i32(numr_at(batch, 8u));\nlet y = i32(numr_at(batch, second + 2u));\n",
        WORDS - 1
    );
    if tiled {
        let builder = builder.shared("numr_x", acc, DEPTH * LINE).shared("numr_y", acc, DEPTH * LINE);
        builder.finish_by_group(WORDS, &(names + &tile(register(acc))))
    } else {
        builder.finish(WORDS, &format!("{names}{}", element(register(acc))))
    }
}

/// An element of the result.
fn element(acc: &str) -> String {
    format!(
        "let row = i32(job / across);\nlet column = i32(job % across);\nvar acc: {acc};\n\
         for (var p = 0; p < i32(k); p++) {{\n\
         acc = numr_add(acc, numr_left(numr_get0(u32(x + row * dx.x + p * dx.y))),\n\
         numr_right(numr_get1(u32(y + column * dy.x + p * dy.y))));\n}}\n\
         numr_put0(i, numr_last(acc));\n"
    )
}

/// A tile of the result. What lies outside the operands is not read; what is made of it is not stored.
fn tile(acc: &str) -> String {
    let mut text = format!(
        "let row = (job / across) * {TILE}u;\nlet column = (job % across) * {TILE}u;\n\
         let down = (numr_t / {side}u) * {BLOCK}u;\nlet right = (numr_t % {side}u) * {BLOCK}u;\n",
        side = TILE / BLOCK
    );
    let block = || (0..BLOCK).flat_map(|r| (0..BLOCK).map(move |c| (r, c)));
    block().for_each(|(r, c)| _ = writeln!(text, "var acc{r}{c}: {acc};"));
    let _ = writeln!(
        text,
        "for (var start = 0u; start < k; start += {DEPTH}u) {{\n\
         // Nobody reads the slices before any more; then both are there.\n\
         workgroupBarrier();\n\
         for (var e = numr_t; e < {}u; e += {GROUP}u) {{\n\
         let p = e % {DEPTH}u;\nlet r = e / {DEPTH}u;\n\
         if row + r < m && start + p < k {{\n\
         numr_x[p * {LINE}u + r] = numr_left(numr_get0(u32(x + i32(row + r) * dx.x + i32(start + p) * dx.y)));\n}}\n\
         let q = e / {TILE}u;\nlet c = e % {TILE}u;\n\
         if column + c < n && start + q < k {{\n\
         numr_y[q * {LINE}u + c] = numr_right(numr_get1(u32(y + i32(column + c) * dy.x + i32(start + q) * dy.y)));\n}}\n}}\n\
         workgroupBarrier();\n\
         let depth = min({DEPTH}u, k - start);\n\
         for (var p = 0u; p < depth; p++) {{",
        TILE * DEPTH
    );
    for e in 0..BLOCK {
        let _ = writeln!(
            text,
            "let x{e} = numr_x[p * {LINE}u + down + {e}u];\nlet y{e} = numr_y[p * {LINE}u + right + {e}u];"
        );
    }
    block().for_each(|(r, c)| _ = writeln!(text, "acc{r}{c} = numr_add(acc{r}{c}, x{r}, y{c});"));
    text.push_str("}\n}\nlet first = (batch * m + row + down) * n + column + right;\n");
    for (r, c) in block() {
        let _ = writeln!(
            text,
            "if row + down + {r}u < m && column + right + {c}u < n {{ numr_put0(first + {r}u * n + {c}u, numr_last(acc{r}{c})); }}"
        );
    }
    text
}
