//! Random tensors: maps over the block of each element's index. See [`crate::rng`].
//!
//! A [`Key`] draws; the functions of [`Tensor`] of the same names draw from this thread's generator. Integers and
//! uniforms have the same bits on every backend.

use super::operands::Operand;
use crate::dtype::{DType, DTypeSet};
use crate::element::Lit;
use crate::error::{Error, Result};
use crate::prim::{Bind, Map, MapOp, Prim};
use crate::rng::{Key, philox4x32};
use crate::runtime::Runtime;
use crate::scalar::expr::{Arena, Expr};
use crate::scalar::graph::{Class, Graph};
use crate::scalar::{Float, Int, Scalar};
use crate::shape::{Shape, try_numel};
use crate::tensor::Tensor;
use std::collections::HashMap;
use std::f64::consts::TAU;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The distributions, each a formula over an element's four words and its parameters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Law {
    Uniform,
    Normal,
    Exponential,
    Laplace,
    Integer,
    Bernoulli,
    Bits,
    Dropout,
}

/// 2⁻ᵏ.
fn fraction<'a>(bits: i32) -> Expr<'a> {
    Expr::lit(f64::powi(2.0, -bits))
}

/// The element's four words; arguments `from..from + 4` are key and stream.
fn block<'a>(arena: &'a Arena, args: &[Expr<'a>], from: usize) -> [Expr<'a>; 4] {
    let word = |e: Expr<'a>| e.cast(DType::U32);
    let index = arena.index();
    let arg = |k: usize| word(args[from + k]);
    let counter = [word(index), word(index.shr(Expr::int(32))), arg(2), arg(3)];
    philox4x32(10, counter, [arg(0), arg(1)])
}

/// Uniform in 0..1 with as many bits as the dtype holds exactly, so that 1 is never reached.
fn unit<'a>(dtype: DType, high: Expr<'a>, low: Expr<'a>) -> Expr<'a> {
    match dtype {
        DType::F64 => wide(high, low) * fraction(53),
        narrow => {
            let digits = match narrow {
                DType::F16 => 11,
                DType::BF16 => 8,
                DType::FP8E4M3 => 4,
                DType::FP8E5M2 => 3,
                _ => 24,
            };
            high.shr_logical(Expr::int(32 - digits)).cast(DType::F32) * fraction(digits as i32)
        }
    }
}

/// 53 random bits as an f64.
fn wide<'a>(high: Expr<'a>, low: Expr<'a>) -> Expr<'a> {
    let part = |w: Expr<'a>, drop: i64| w.shr_logical(Expr::int(drop)).cast(DType::F64);
    part(high, 5).mul_add(Expr::lit(67_108_864.0), part(low, 6))
}

/// Uniform in 0 < u <= 1, for logarithms: the tail reaches as far as the words do.
fn positive<'a>(dtype: DType, high: Expr<'a>, low: Expr<'a>) -> Expr<'a> {
    match dtype {
        DType::F64 => (wide(high, low) + 0.5) * fraction(53),
        _ => high.cast(DType::F32) * fraction(32) + fraction(33),
    }
}

/// The formula of a law in a compute dtype. Arguments: key and stream, then parameters.
fn draw<'a>(law: Law, dtype: DType, arena: &'a Arena, args: &[Expr<'a>]) -> Expr<'a> {
    let compute = dtype.compute();
    let first = usize::from(law == Law::Dropout);
    let [w0, w1, w2, w3] = block(arena, args, first);
    let parameter = |k: usize, dtype: DType| args[first + 4 + k].cast(dtype);
    match law {
        Law::Uniform => unit(dtype, w0, w1),
        // Box and Muller's transform; the second of the pair is not used, so that an element is its index's alone.
        Law::Normal => {
            let radius = (Expr::lit(-2.0) * positive(compute, w0, w1).ln()).sqrt();
            let turn = if compute == DType::F64 { unit(compute, w2, w3) } else { unit(compute, w1, w2) };
            radius * (turn * TAU).cos()
        }
        Law::Exponential => -positive(compute, w0, w1).ln(),
        // An exponential with a sign.
        Law::Laplace => {
            let size = positive(compute, w0, w1).ln();
            Expr::select(w2.lt(Expr::int(1 << 31)), size, -size)
        }
        // The high half of a product of 64-bit words: low + ⌊random·span / 2⁶⁴⌋.
        Law::Integer => {
            let random = w0.cast(DType::U64).shl(Expr::int(32)) | w1.cast(DType::U64);
            random.mul_hi(parameter(0, DType::U64)).cast(DType::I64) + parameter(1, DType::I64)
        }
        Law::Bernoulli => unit(DType::F32, w0, w1).lt(parameter(0, DType::F32)),
        Law::Bits => (w0.cast(DType::U64).shl(Expr::int(32)) | w1.cast(DType::U64)).cast(DType::I64),
        Law::Dropout => {
            let kept = unit(DType::F32, w0, w1).lt(parameter(0, DType::F32));
            return Expr::select(kept, args[0] * args[6], Expr::Lit(Lit::Bool(false)));
        }
    }
    .cast(dtype)
}

/// A law as a graph, kept: it has a hundred nodes.
fn graph(law: Law, dtype: DType, parameters: usize) -> Arc<Graph> {
    static MADE: LazyLock<Mutex<HashMap<(Law, DType), Arc<Graph>>>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let arity = (4 + parameters) as u8;
    let make = || Graph::build(arity, Class::Free, |arena, args| vec![draw(law, dtype, arena, args)]);
    made.entry((law, dtype)).or_insert_with(make).clone()
}

fn floats_only(op: &'static str, dtype: DType) -> Result<()> {
    if dtype.is_float() { Ok(()) } else { Err(Error::dtype(op, &[dtype], DTypeSet::FLOATS)) }
}

fn probability(op: &'static str, p: f64) -> Result<()> {
    if (0.0..=1.0).contains(&p) { Ok(()) } else { Err(Error::argument(op, "p", format!("{p} is not in 0..=1"))) }
}

impl Key {
    fn fill<R: Runtime>(
        self,
        law: Law,
        shape: &[usize],
        parameters: &[Lit],
        dtype: DType,
        device: &R::Device,
    ) -> Result<Tensor<R>> {
        try_numel("random", shape)?;
        let words = self.words().map(|w| Bind::Scalar(w.into()));
        let binds = words.into_iter().chain(parameters.iter().map(|&p| Bind::Scalar(p))).collect();
        let op = MapOp::Graph(graph(law, dtype, parameters.len()));
        Tensor::run_one_on(device, &Prim::Map(Map { op, binds, create: Some(Shape::from(shape)) }), &[])
    }

    /// Uniform numbers in `0 <= x < 1`, with every bit that the dtype has for them.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// use numr_core::Key;
    /// let draw = || Key::new(7).uniform::<CpuRuntime>(&[3], DType::F32, &device);
    /// assert_eq!(draw()?.to_vec::<f32>(), draw()?.to_vec::<f32>());
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::DType` unless the dtype is a float; `Error::Argument` for a size that overflows.
    pub fn uniform<R: Runtime>(self, shape: &[usize], dtype: DType, device: &R::Device) -> Result<Tensor<R>> {
        floats_only("uniform", dtype)?;
        self.fill(Law::Uniform, shape, &[], dtype, device)
    }

    /// Normal numbers of mean 0 and variance 1.
    ///
    /// # Errors
    /// As [`Key::uniform`].
    pub fn normal<R: Runtime>(self, shape: &[usize], dtype: DType, device: &R::Device) -> Result<Tensor<R>> {
        floats_only("normal", dtype)?;
        self.fill(Law::Normal, shape, &[], dtype, device)
    }

    /// Exponential numbers of mean 1.
    ///
    /// # Errors
    /// As [`Key::uniform`].
    pub fn exponential<R: Runtime>(self, shape: &[usize], dtype: DType, device: &R::Device) -> Result<Tensor<R>> {
        floats_only("exponential", dtype)?;
        self.fill(Law::Exponential, shape, &[], dtype, device)
    }

    /// Laplace numbers of mean 0 and mean size 1.
    ///
    /// # Errors
    /// As [`Key::uniform`].
    pub fn laplace<R: Runtime>(self, shape: &[usize], dtype: DType, device: &R::Device) -> Result<Tensor<R>> {
        floats_only("laplace", dtype)?;
        self.fill(Law::Laplace, shape, &[], dtype, device)
    }

    /// Whole numbers in `low <= x < high`, all as likely to within 2⁻⁶⁴·(high - low).
    ///
    /// # Errors
    /// `Error::Argument` unless `low < high`; `Error::DType` for a complex dtype or bool.
    pub fn randint<R: Runtime>(
        self,
        low: i64,
        high: i64,
        shape: &[usize],
        dtype: DType,
        device: &R::Device,
    ) -> Result<Tensor<R>> {
        if low >= high {
            return Err(Error::argument("randint", "high", format!("{high} does not exceed low, {low}")));
        }
        if !DTypeSet::REAL.contains(dtype) {
            return Err(Error::dtype("randint", &[dtype], DTypeSet::REAL));
        }
        let span = high.wrapping_sub(low) as u64;
        self.fill(Law::Integer, shape, &[span.into(), low.into()], dtype, device)
    }

    /// 1 with probability p, else 0.
    ///
    /// # Errors
    /// `Error::Argument` unless p is in 0..=1 or for a size that overflows.
    pub fn bernoulli<R: Runtime>(self, p: f64, shape: &[usize], dtype: DType, device: &R::Device) -> Result<Tensor<R>> {
        probability("bernoulli", p)?;
        self.fill(Law::Bernoulli, shape, &[p.into()], dtype, device)
    }

    /// The numbers 0..n (i64) in random order.
    ///
    /// # Errors
    /// `Error::Argument` for a size that overflows.
    pub fn permutation<R: Runtime>(self, n: usize, device: &R::Device) -> Result<Tensor<R>> {
        self.fill::<R>(Law::Bits, &[n], &[], DType::I64, device)?.argsort(0, false)
    }

    /// The parts of x along an axis in random order.
    ///
    /// # Errors
    /// `Error::Axis`.
    pub fn shuffle<R: Runtime>(self, x: &Tensor<R>, dim: isize) -> Result<Tensor<R>> {
        let n = x.shape()[crate::shape::axis("shuffle", dim, x.ndim())?];
        x.index_select(dim, &self.permutation(n, x.device())?)
    }

    /// `n` of the parts of x along axis 0, each as likely as the others; without replacement all different.
    ///
    /// # Errors
    /// `Error::Axis` for a scalar; `Error::Argument` for more parts than there are, or some of none.
    pub fn choice<R: Runtime>(self, x: &Tensor<R>, n: usize, replacement: bool) -> Result<Tensor<R>> {
        let size = x.shape()[crate::shape::axis("choice", 0, x.ndim())?];
        if n > size && !replacement || n > 0 && size == 0 {
            return Err(Error::argument("choice", "n", format!("{n} of {size}")));
        }
        let places = match replacement && n > 0 {
            true => self.randint(0, size as i64, &[n], DType::I64, x.device())?,
            false => self.permutation(size, x.device())?.narrow(0, 0, n)?,
        };
        x.index_select(0, &places)
    }

    /// `n` places (i64) of the last axis, with probabilities in proportion to the weights there; without replacement all
    /// different.
    ///
    /// ```
    /// # use numr_core::Tensor;
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// let weights = Tensor::<CpuRuntime>::from_slice(&[0.0f32, 1.0, 0.0], &[3], &CpuDevice::new());
    /// let drawn = numr_core::rng::Key::new(1).multinomial(&weights, 4, true)?;
    /// assert_eq!(drawn.to_vec::<i64>(), [1, 1, 1, 1]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Axis` for a scalar; `Error::Argument` for more places than there are, or some of none.
    pub fn multinomial<R: Runtime>(self, weights: &Tensor<R>, n: usize, replacement: bool) -> Result<Tensor<R>> {
        let last = crate::shape::axis("multinomial", -1, weights.ndim())?;
        let size = weights.shape()[last];
        if n > size && !replacement || n > 0 && size == 0 {
            return Err(Error::argument("multinomial", "n", format!("{n} of {size}")));
        }
        let (w, _) = weights.inexact()?;
        if !replacement {
            // The largest of ln w - ln e, with e exponential, is drawn in proportion to w.
            let e = self.exponential(w.shape(), w.dtype(), w.device())?;
            return Ok(w.log()?.sub(&e.log()?)?.topk(n, -1, true, true)?.1);
        }
        let sums = w.cumsum(-1)?;
        let total = sums.narrow(-1, size.saturating_sub(1), size.min(1))?;
        let shape = [&w.shape()[..last], &[n]].concat();
        let at = self.uniform(&shape, w.dtype(), w.device())?.mul(&total)?;
        sums.searchsorted(&at, true)?.minimum(size.saturating_sub(1) as i64)
    }

    /// Each element of x with probability 1 - p, divided by 1 - p, else 0; in one kernel, forward and backward.
    ///
    /// # Errors
    /// `Error::Argument` unless p is in 0..=1; `Error::DType` unless x is inexact.
    pub fn dropout<R: Runtime>(self, x: &Tensor<R>, p: f64) -> Result<Tensor<R>> {
        probability("dropout", p)?;
        if !DTypeSet::INEXACT.contains(x.dtype()) {
            return Err(Error::dtype("dropout", &[x.dtype()], DTypeSet::INEXACT));
        }
        let keep = 1.0 - p;
        let scale = if keep > 0.0 { 1.0 / keep } else { 0.0 };
        let [a, b, c, d] = self.words().map(|w| Operand::Scalar(w.into()));
        let (keep, scale) = (Operand::Scalar(keep.into()), Operand::Scalar(scale.into()));
        // The graph is the same for every float: it adapts to x.
        let graph = graph(Law::Dropout, DType::F32, 3);
        Tensor::map(MapOp::Graph(graph), &[Operand::Tensor(x), a, b, c, d, keep, scale])
    }
}

impl<R: Runtime> Tensor<R> {
    /// [`Key::uniform`] with this thread's generator.
    ///
    /// # Errors
    /// As there.
    pub fn rand(shape: &[usize], dtype: DType, device: &R::Device) -> Result<Tensor<R>> {
        Key::next().uniform(shape, dtype, device)
    }

    /// [`Key::normal`] with this thread's generator.
    ///
    /// # Errors
    /// As there.
    pub fn randn(shape: &[usize], dtype: DType, device: &R::Device) -> Result<Tensor<R>> {
        Key::next().normal(shape, dtype, device)
    }

    /// [`Key::randint`] with this thread's generator.
    ///
    /// # Errors
    /// As there.
    pub fn randint(low: i64, high: i64, shape: &[usize], dtype: DType, device: &R::Device) -> Result<Tensor<R>> {
        Key::next().randint(low, high, shape, dtype, device)
    }

    /// [`Key::dropout`] with this thread's generator when `training`, else the tensor itself.
    ///
    /// # Errors
    /// As there.
    pub fn dropout(&self, p: f64, training: bool) -> Result<Tensor<R>> {
        if training { Key::next().dropout(self, p) } else { probability("dropout", p).map(|()| self.clone()) }
    }
}
