//! Softmax and normalisations, row by row.
//!
//! A row is read into the first cache once and passed over there: two passes for a variance, not a running update, so
//! that no digits cancel. Sums go through 32 lanes, folded by halves. Gradients of weights are summed over blocks of
//! rows, whose number follows from the shape alone, and the blocks in a balanced tree: results do not depend on the
//! number of threads.

use bytemuck::Pod;
use numr_core::prim::{Fused, Meta, Prim};
use numr_core::runtime::{Outputs, Support};
use numr_core::scalar::lane::{F32, F64};
use numr_core::scalar::{Float, Scalar};
use numr_core::{DType, Error, Result, Tensor};

use crate::CpuRuntime;
use crate::convert::{Compute, Sink, Source, Store, first};
use crate::cursor::Cursor;
use crate::fold::halves;
use crate::isa::{self, Work};
use crate::storage::Buffer;
use crate::threads::parallel;

/// Partial results of a sum.
const LANES: usize = 32;
/// Elements of the rows that one job takes.
const CHUNK: usize = 1 << 14;

/// All of them, for every float.
pub(crate) fn supports(_: &Fused, _: &[DType]) -> Support {
    Support::Native
}

/// Runs a fused operation.
pub(crate) fn fused(fused: &Fused, inputs: &[&Tensor<CpuRuntime>], outs: &[Meta]) -> Result<Outputs<CpuRuntime>> {
    if let Fused::Softmax { axis }
    | Fused::LogSoftmax { axis }
    | Fused::SoftmaxBackward { axis }
    | Fused::LogSoftmaxBackward { axis } = *fused
        && axis + 1 < inputs[0].ndim()
    {
        return along(axis, fused, inputs, outs);
    }
    match inputs[0].dtype() {
        DType::F64 => rows::<f64>(fused, inputs, outs),
        _ => rows::<f32>(fused, inputs, outs),
    }
}

/// Along an axis that is not the last: with the two exchanged, in operands and result.
fn along(axis: usize, of: &Fused, inputs: &[&Tensor<CpuRuntime>], outs: &[Meta]) -> Result<Outputs<CpuRuntime>> {
    let last = inputs[0].ndim() - 1;
    let exchanged = |t: &Tensor<CpuRuntime>| -> Result<Tensor<CpuRuntime>> {
        let layout = t.layout().transpose(of.name(), axis, last)?;
        Ok(Tensor::from_storage(t.storage().clone(), layout, t.dtype(), *t.device()))
    };
    let swapped = match *of {
        Fused::Softmax { .. } => Fused::Softmax { axis: last },
        Fused::LogSoftmax { .. } => Fused::LogSoftmax { axis: last },
        Fused::SoftmaxBackward { .. } => Fused::SoftmaxBackward { axis: last },
        _ => Fused::LogSoftmaxBackward { axis: last },
    };
    let copies: Vec<Tensor<CpuRuntime>> =
        inputs.iter().map(|t| Tensor::run_one(&Prim::Contiguous, &[&exchanged(t)?])).collect::<Result<_>>()?;
    let operands: Vec<&Tensor<CpuRuntime>> = copies.iter().collect();
    let metas: Vec<Meta> = outs
        .iter()
        .map(|m| {
            let mut m = m.clone();
            m.shape.swap(axis, last);
            m
        })
        .collect();
    fused(&swapped, &operands, &metas)?.iter().map(exchanged).collect()
}

/// A number that rows are computed with.
trait Real: Compute + Pod {
    /// The number in code with or without fused multiply-add.
    type Lane<const FMA: bool>: Float;
    /// The same numbers as lanes.
    fn lanes<const FMA: bool>(x: &[Self]) -> &[Self::Lane<FMA>];
    /// The same numbers as lanes.
    fn lanes_mut<const FMA: bool>(x: &mut [Self]) -> &mut [Self::Lane<FMA>];
}

macro_rules! real {
    ($($t:ty: $Lane:ident),*) => {$(
        impl Real for $t {
            type Lane<const FMA: bool> = $Lane<FMA>;
            #[inline(always)]
            fn lanes<const FMA: bool>(x: &[Self]) -> &[$Lane<FMA>] {
                // SAFETY: a lane is a transparent wrapper of the number.
                unsafe { std::slice::from_raw_parts(x.as_ptr().cast(), x.len()) }
            }
            #[inline(always)]
            fn lanes_mut<const FMA: bool>(x: &mut [Self]) -> &mut [$Lane<FMA>] {
                // SAFETY: as above, and the borrow is passed on.
                unsafe { std::slice::from_raw_parts_mut(x.as_mut_ptr().cast(), x.len()) }
            }
        }
    )*};
}
real!(f32: F32, f64: F64);

/// A row operand: x, y or g.
struct Operand<C> {
    source: Source<C>,
    dims: Vec<usize>,
    strides: Vec<isize>,
    step: isize,
}

impl<C: Compute> Operand<C> {
    fn new(of: &Fused, t: &Tensor<CpuRuntime>) -> Result<Self> {
        let error = || Error::dtype(of.name(), &[t.dtype()], "a float");
        let (dims, strides) = (t.shape(), t.strides());
        let last = dims.len() - 1;
        Ok(Operand {
            source: Source::new(t.dtype(), first(t)?).ok_or_else(error)?,
            dims: dims[..last].to_vec(),
            strides: strides[..last].to_vec(),
            step: strides[last],
        })
    }

    /// The row at `at`, in place or in `buffer`.
    #[inline(always)]
    fn row<'a>(&self, at: isize, n: usize, buffer: &'a mut [C]) -> &'a [C] {
        // SAFETY: `at` comes from a cursor over this operand's rows.
        unsafe { self.source.fetch(at, self.step, n, buffer) }
    }

    fn all(&self, n: usize) -> Vec<C> {
        let mut row = vec![C::default(); n];
        // SAFETY: a vector has just this row.
        unsafe { self.source.read(0, self.step, &mut row) };
        row
    }
}

fn rows<C: Real>(of: &Fused, inputs: &[&Tensor<CpuRuntime>], outs: &[Meta]) -> Result<Outputs<CpuRuntime>> {
    let x = inputs[0];
    let n = x.shape().last().copied().unwrap_or(1);
    let mut results = outs.iter().map(Buffer::for_meta).collect::<Result<Vec<_>>>()?;
    if x.is_empty() {
        results.iter_mut().for_each(|r| r.slice_mut::<u8>().fill(0));
    } else {
        let count = x.numel() / n;
        let operand = |k: usize| Operand::<C>::new(of, inputs[k]);
        let (weight, bias, pair) = match *of {
            Fused::Softmax { .. } | Fused::LogSoftmax { .. } => (vec![], vec![], 0),
            Fused::SoftmaxBackward { .. } | Fused::LogSoftmaxBackward { .. } => (vec![], vec![], 1),
            Fused::LayerNorm { .. } => (operand(1)?.all(n), operand(2)?.all(n), 0),
            Fused::RmsNorm { .. } => (operand(1)?.all(n), vec![], 0),
            Fused::LayerNormBackward { .. } | Fused::RmsNormBackward { .. } => (operand(1)?.all(n), vec![], 2),
        };
        let error = || Error::dtype(of.name(), &[x.dtype()], "a float");
        let store = C::store(x.dtype()).ok_or_else(error)?;
        let size = x.dtype().size_in_bytes();
        // Rows of one job, and of one partial sum: more where there are many, so that the partial sums stay few.
        let block = (CHUNK / n).max(count.div_ceil(1 << 10)).max(1);
        let blocks = count.div_ceil(block);
        let sums = outs.len() - 1;
        let mut partial = vec![C::default(); blocks * sums * n];
        {
            let (x, g) = (operand(0)?, operand(pair)?);
            let out = Sink::new(results[0].slice_mut::<u8>());
            let parts = Sink::new(&mut partial);
            parallel(blocks, 4 * n * count, |k| {
                isa::run(Block {
                    of,
                    x: &x,
                    g: &g,
                    pair: pair != 0,
                    weight: &weight,
                    bias: &bias,
                    rows: k * block..count.min((k + 1) * block),
                    n,
                    out: &out,
                    size,
                    store,
                    // SAFETY: block k's own part.
                    sums: unsafe { parts.part(k * sums * n, sums * n) },
                });
            });
        }
        if sums > 0 {
            let width = sums * n;
            let mut half = blocks.next_power_of_two() / 2;
            while half > 0 {
                let (low, high) = partial.split_at_mut(half * width);
                isa::run(Join { low, high: &high[..high.len().min(half * width)] });
                partial.truncate(half * width);
                half /= 2;
            }
            for (result, part) in results[1..].iter_mut().zip(partial.chunks_exact(n)) {
                // SAFETY: a weight's gradient has the dtype of x and n elements.
                unsafe { store(part, result.slice_mut::<u8>().as_mut_ptr()) };
            }
        }
    }
    let tensors = results.into_iter().zip(outs).map(|(r, out)| r.into_tensor(out.shape.clone(), out.dtype));
    Ok(tensors.collect())
}

/// low += high.
struct Join<'a, C> {
    low: &'a mut [C],
    high: &'a [C],
}

impl<C: Real> Work for Join<'_, C> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (low, high) = (C::lanes_mut::<FMA>(self.low), C::lanes::<FMA>(self.high));
        for (a, &b) in low.iter_mut().zip(high) {
            *a = *a + b;
        }
    }
}

/// Some rows.
struct Block<'a, C: Real> {
    of: &'a Fused,
    x: &'a Operand<C>,
    g: &'a Operand<C>,
    pair: bool,
    weight: &'a [C],
    bias: &'a [C],
    rows: std::ops::Range<usize>,
    n: usize,
    out: &'a Sink<u8>,
    size: usize,
    store: Store<C>,
    /// Sums over the rows: the gradients of weight and bias.
    sums: &'a mut [C],
}

impl<C: Real> Work for Block<'_, C> {
    type Out = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Block { of, x, g, pair, weight, bias, rows, n, out, size, store, sums } = self;
        let (weight, bias) = (C::lanes::<FMA>(weight), C::lanes::<FMA>(bias));
        let (d_weight, d_bias) = C::lanes_mut::<FMA>(sums).split_at_mut(if sums_of(of) > 0 { n } else { 0 });
        let room = |o: &Operand<C>| vec![C::default(); if o.source.is_direct() && o.step == 1 { 0 } else { n }];
        let (mut x_room, mut g_room) = (room(x), if pair { room(g) } else { vec![] });
        let in_place = x.source.is_direct();
        let mut y_room = vec![C::default(); if in_place { 0 } else { n }];
        let mut cursor = Cursor::new(&x.dims, [&x.strides, &g.strides], rows.start);
        let mut scratch = vec![C::default(); if pair && sums_of(of) > 0 { n } else { 0 }];
        let hat = C::lanes_mut::<FMA>(&mut scratch);
        for row in rows {
            let [at, g_at] = cursor.at;
            cursor.advance();
            let x = C::lanes::<FMA>(x.row(at, n, &mut x_room));
            let g = if pair { C::lanes::<FMA>(g.row(g_at, n, &mut g_room)) } else { x };
            // SAFETY: the row is this job's own.
            let place = unsafe { out.part(row * n * size, n * size) };
            let y: &mut [C] = if in_place { bytemuck::cast_slice_mut(place) } else { &mut y_room };
            let y = C::lanes_mut::<FMA>(y);
            match *of {
                Fused::Softmax { .. } => softmax(x, y),
                Fused::LogSoftmax { .. } => log_softmax(x, y),
                Fused::SoftmaxBackward { .. } => softmax_backward(x, g, y),
                Fused::LogSoftmaxBackward { .. } => log_softmax_backward(x, g, y),
                Fused::LayerNorm { eps } => layer_norm(x, weight, bias, eps, y),
                Fused::RmsNorm { eps } => rms_norm(x, weight, eps, y),
                Fused::LayerNormBackward { eps } => {
                    layer_norm_backward(x, weight, g, eps, y, hat);
                    for (((dw, db), &g), &h) in d_weight.iter_mut().zip(&mut *d_bias).zip(g).zip(&*hat) {
                        *dw = g.mul_add(h, *dw);
                        *db = *db + g;
                    }
                }
                Fused::RmsNormBackward { eps } => {
                    rms_norm_backward(x, weight, g, eps, y, hat);
                    for ((dw, &g), &h) in d_weight.iter_mut().zip(g).zip(&*hat) {
                        *dw = g.mul_add(h, *dw);
                    }
                }
            }
            if !in_place {
                // SAFETY: the row's place, in the dtype that `store` was chosen for.
                let place = unsafe { out.part(row * n * size, n * size) };
                // SAFETY: as above.
                unsafe { store(&y_room, place.as_mut_ptr()) };
            }
        }
    }
}

/// How many gradients of weights come with it.
const fn sums_of(of: &Fused) -> usize {
    match of {
        Fused::LayerNormBackward { .. } => 2,
        Fused::RmsNormBackward { .. } => 1,
        _ => 0,
    }
}

/// Σ f(x₀, x₁, ..) over rows of one length.
#[inline(always)]
fn sum<L: Scalar, const N: usize>(rows: [&[L]; N], f: impl Fn([L; N]) -> L) -> L {
    let parts = rows.map(|row| row.as_chunks::<LANES>());
    let value = |c: usize, j: usize| f(std::array::from_fn(|k| parts[k].0[c][j]));
    let count = parts[0].0.len();
    let mut lanes = [L::lit(0.0); LANES];
    if count > 0 {
        // From the first values, not from 0: so the compiler keeps whole vectors.
        lanes = std::array::from_fn(|j| value(0, j));
    }
    for c in 1..count {
        for (j, lane) in lanes.iter_mut().enumerate() {
            *lane = *lane + value(c, j);
        }
    }
    // A copy, so that the index does not keep the lanes out of registers above.
    let mut tree = lanes;
    for j in 0..parts[0].1.len() {
        tree[j] = tree[j] + f(std::array::from_fn(|k| parts[k].1[j]));
    }
    halves(tree, L::add)
}

/// The largest, or a NaN.
#[inline(always)]
fn largest<L: Scalar>(x: &[L]) -> L {
    let larger = |a: L, b: L| L::select(a.ge(b) | a.ne(a), a, b);
    let mut lanes = [L::lit(f64::NEG_INFINITY); LANES];
    let (chunks, tail) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = larger(*lane, x);
        }
    }
    tail.iter().fold(halves(lanes, larger), |a, &b| larger(a, b))
}

/// y = f(x₀, x₁, ..), element by element.
#[inline(always)]
fn each<L: Scalar, const N: usize>(rows: [&[L]; N], y: &mut [L], f: impl Fn([L; N]) -> L) {
    let n = y.len();
    let rows = rows.map(|r| &r[..n]);
    for i in 0..n {
        y[i] = f(std::array::from_fn(|k| rows[k][i]));
    }
}

/// The same, with what y held before as one more number.
#[inline(always)]
fn update<L: Scalar, const N: usize>(rows: [&[L]; N], y: &mut [L], f: impl Fn(L, [L; N]) -> L) {
    let n = y.len();
    let rows = rows.map(|r| &r[..n]);
    for i in 0..n {
        y[i] = f(y[i], std::array::from_fn(|k| rows[k][i]));
    }
}

#[inline(always)]
fn softmax<L: Float>(x: &[L], y: &mut [L]) {
    let most = largest(x);
    each([x], y, |[x]| (x - most).exp());
    let total = sum([y], |[y]| y);
    let scale = L::lit(1.0) / total;
    update([], y, |y, []| y * scale);
}

#[inline(always)]
fn log_softmax<L: Float>(x: &[L], y: &mut [L]) {
    let most = largest(x);
    each([x], y, |[x]| (x - most).exp());
    let total = sum([y], |[y]| y);
    let log = total.ln();
    each([x], y, |[x]| (x - most) - log);
}

#[inline(always)]
fn softmax_backward<L: Float>(y: &[L], g: &[L], dx: &mut [L]) {
    let total = sum([y, g], |[y, g]| y * g);
    each([y, g], dx, |[y, g]| y * (g - total));
}

#[inline(always)]
fn log_softmax_backward<L: Float>(y: &[L], g: &[L], dx: &mut [L]) {
    let total = sum([g], |[g]| g);
    each([y, g], dx, |[y, g]| g - y.exp() * total);
}

/// The mean, and 1 / √(var + eps).
#[inline(always)]
fn moments<L: Float>(x: &[L], eps: f64) -> (L, L) {
    let n = L::lit(x.len() as f64);
    let total = sum([x], |[x]| x);
    let mean = total / n;
    let squares = sum([x], |[x]| (x - mean) * (x - mean));
    (mean, L::lit(1.0) / (squares / n + L::lit(eps)).sqrt())
}

#[inline(always)]
fn layer_norm<L: Float>(x: &[L], weight: &[L], bias: &[L], eps: f64, y: &mut [L]) {
    let (mean, r) = moments(x, eps);
    each([x, weight, bias], y, |[x, w, b]| ((x - mean) * r).mul_add(w, b));
}

#[inline(always)]
fn layer_norm_backward<L: Float>(x: &[L], weight: &[L], g: &[L], eps: f64, dx: &mut [L], hat: &mut [L]) {
    let n = L::lit(x.len() as f64);
    let (mean, r) = moments(x, eps);
    each([x], hat, |[x]| (x - mean) * r);
    let h = sum([g, weight], |[g, w]| g * w) / n;
    let cross = sum([g, weight, hat], |[g, w, x]| g * w * x) / n;
    each([g, weight, hat], dx, |[g, w, x]| r * (g * w - h - x * cross));
}

/// 1 / √(mean(x²) + eps).
#[inline(always)]
fn root<L: Float>(x: &[L], eps: f64) -> L {
    let squares = sum([x], |[x]| x * x);
    L::lit(1.0) / (squares / L::lit(x.len() as f64) + L::lit(eps)).sqrt()
}

#[inline(always)]
fn rms_norm<L: Float>(x: &[L], weight: &[L], eps: f64, y: &mut [L]) {
    let r = root(x, eps);
    each([x, weight], y, |[x, w]| x * r * w);
}

#[inline(always)]
fn rms_norm_backward<L: Float>(x: &[L], weight: &[L], g: &[L], eps: f64, dx: &mut [L], hat: &mut [L]) {
    let r = root(x, eps);
    each([x], hat, |[x]| x * r);
    let cross = sum([g, weight, hat], |[g, w, x]| g * w * x) / L::lit(x.len() as f64);
    each([g, weight, hat], dx, |[g, w, x]| r * (g * w - x * cross));
}
