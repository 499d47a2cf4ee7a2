//! The operations of [`Fused`]: a device may have a kernel for one; its composite, here, defines it and runs elsewhere.
//!
//! The pull-backs are functions of their own because a kernel for them pays, too: the rules of reverse mode call them.
//! Operands are real floats of one dtype; narrow ones compute in f32 and round once.

use super::fuse::{fuse, fuse_with};
use super::map::symbolic::Symbolic;
use super::operands::Operand;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::prim::{Fused, Prim};
use crate::runtime::{Outputs, Runtime, Support};
use crate::shape::Axes;
use crate::tensor::Tensor;
use smallvec::smallvec;

impl<R: Runtime> Tensor<R> {
    /// Runs the device's kernel for a fused operation or, where it has none, the composite. The result of the composite
    /// is cast to the dtypes that the operation has.
    ///
    /// # Errors
    /// What [`Prim::infer`] finds; faults of the device.
    pub fn fused(
        fused: Fused,
        inputs: &[&Tensor<R>],
        composite: impl FnOnce() -> Result<Outputs<R>>,
    ) -> Result<Outputs<R>> {
        let prim = Prim::Fused(fused);
        let Some(first) = inputs.first() else { return Err(Error::shape(prim.name(), "an operand", &[])) };
        let metas: Vec<(&[usize], DType)> = inputs.iter().map(|t| (t.shape(), t.dtype())).collect();
        let outs = prim.infer(&metas)?;
        let dtypes: Vec<DType> = inputs.iter().map(|t| t.dtype()).collect();
        if !matches!(R::supports(first.device(), &prim, &dtypes), Support::No { .. }) {
            return Tensor::run(&prim, inputs);
        }
        composite()?.into_iter().zip(&outs).map(|(t, out)| t.cast(out.dtype)).collect()
    }
}

fn one<R: Runtime>(mut outputs: Outputs<R>) -> Tensor<R> {
    outputs.swap_remove(0)
}

/// The operands in the dtype that the composite computes in.
fn widened<R: Runtime, const N: usize>(tensors: [&Tensor<R>; N]) -> Result<Vec<Tensor<R>>> {
    tensors.iter().map(|t| t.cast(t.dtype().compute())).collect()
}

fn at(axis: usize) -> Axes {
    Axes::from(axis)
}

/// Softmax along an axis, e^(x - max) / Σ e^(x - max).
///
/// # Errors
/// `Error::Shape` or `Error::DType` for operands that [`Fused`] does not describe.
pub fn softmax<R: Runtime>(x: &Tensor<R>, axis: usize) -> Result<Tensor<R>> {
    let composite = || {
        let x = &widened([x])?[0];
        let e = shifted(x, axis)?.exp()?;
        Ok(smallvec![e.div(&e.sum(at(axis), true)?)?])
    };
    Tensor::fused(Fused::Softmax { axis }, &[x], composite).map(one)
}

/// Pull-back of [`softmax`] from its result `y`: y·(g - Σ g·y).
///
/// # Errors
/// As [`softmax`].
pub fn softmax_backward<R: Runtime>(y: &Tensor<R>, g: &Tensor<R>, axis: usize) -> Result<Tensor<R>> {
    let composite = || {
        let w = widened([y, g])?;
        let total = w[0].mul(&w[1])?.sum(at(axis), true)?;
        Ok(smallvec![fuse([&w[0], &w[1], &total], |[y, g, s]| y * (g - s))?])
    };
    Tensor::fused(Fused::SoftmaxBackward { axis }, &[y, g], composite).map(one)
}

/// Log-softmax along an axis, x - max - ln Σ e^(x - max).
///
/// # Errors
/// As [`softmax`].
pub fn log_softmax<R: Runtime>(x: &Tensor<R>, axis: usize) -> Result<Tensor<R>> {
    let composite = || {
        let z = shifted(&widened([x])?[0], axis)?;
        Ok(smallvec![z.sub(&z.exp()?.sum(at(axis), true)?.log()?)?])
    };
    Tensor::fused(Fused::LogSoftmax { axis }, &[x], composite).map(one)
}

/// Pull-back of [`log_softmax`] from its result `y`: g - eʸ·Σ g.
///
/// # Errors
/// As [`softmax`].
pub fn log_softmax_backward<R: Runtime>(y: &Tensor<R>, g: &Tensor<R>, axis: usize) -> Result<Tensor<R>> {
    let composite = || {
        let w = widened([y, g])?;
        let total = w[1].sum(at(axis), true)?;
        Ok(smallvec![fuse([&w[0], &w[1], &total], |[y, g, s]| g - y.exp() * s)?])
    };
    Tensor::fused(Fused::LogSoftmaxBackward { axis }, &[y, g], composite).map(one)
}

/// x - max. The shift cancels in what follows, so it is no part of the gradient.
fn shifted<R: Runtime>(x: &Tensor<R>, axis: usize) -> Result<Tensor<R>> {
    if x.shape().get(axis) == Some(&0) {
        return Ok(x.clone());
    }
    x.sub(&R::detach(x).max(at(axis), true)?)
}

/// Layer normalisation over the last axis, (x - mean) / √(var + eps) · weight + bias.
///
/// # Errors
/// As [`softmax`].
pub fn layer_norm<R: Runtime>(x: &Tensor<R>, weight: &Tensor<R>, bias: &Tensor<R>, eps: f64) -> Result<Tensor<R>> {
    let composite = || {
        let w = widened([x, weight, bias])?;
        let (centred, rstd) = standard(&w[0], eps)?;
        Ok(smallvec![fuse([&centred, &rstd, &w[1], &w[2]], |[d, r, w, b]| d * r * w + b)?])
    };
    Tensor::fused(Fused::LayerNorm { eps }, &[x, weight, bias], composite).map(one)
}

/// x - mean and 1 / √(var + eps), over the last axis.
fn standard<R: Runtime>(x: &Tensor<R>, eps: f64) -> Result<(Tensor<R>, Tensor<R>)> {
    let centred = x.sub(&x.mean(-1, true)?)?;
    let rstd = root(&centred, eps)?;
    Ok((centred, rstd))
}

/// 1 / √(mean(x²) + eps) over the last axis.
fn root<R: Runtime>(x: &Tensor<R>, eps: f64) -> Result<Tensor<R>> {
    let power = x.square()?.mean(-1, true)?;
    fuse_with([Operand::Tensor(&power), Operand::Scalar(eps.into())], |[p, eps]| (p + eps).rsqrt())
}

/// Pull-back of [`layer_norm`]: with x̂ the normalised input, r = 1/√(var + eps) and h = g·weight, `d_x` is
/// r·(h - mean(h) - x̂·mean(h·x̂)), `d_weight` Σ g·x̂ and `d_bias` Σ g over the leading axes.
///
/// # Errors
/// As [`softmax`].
pub fn layer_norm_backward<R: Runtime>(
    x: &Tensor<R>,
    weight: &Tensor<R>,
    g: &Tensor<R>,
    eps: f64,
) -> Result<[Tensor<R>; 3]> {
    let composite = || {
        let w = widened([x, weight, g])?;
        let (centred, rstd) = standard(&w[0], eps)?;
        let (hat, h) = (centred.mul(&rstd)?, w[2].mul(&w[1])?);
        let (mean, cross) = (h.mean(-1, true)?, h.mul(&hat)?.mean(-1, true)?);
        let dx = fuse([&h, &hat, &rstd, &mean, &cross], |[h, x, r, m, c]| r * (h - m - x * c))?;
        Ok(smallvec![dx, over_rows(&w[2].mul(&hat)?)?, over_rows(&w[2])?])
    };
    let mut out = Tensor::fused(Fused::LayerNormBackward { eps }, &[x, weight, g], composite)?.into_iter();
    let results = std::array::from_fn(|_| out.next());
    let [Some(dx), Some(dw), Some(db)] = results else {
        return Err(Error::argument("layer_norm_backward", "results", "the runtime gave fewer than three"));
    };
    Ok([dx, dw, db])
}

/// Sum over all axes but the last.
fn over_rows<R: Runtime>(x: &Tensor<R>) -> Result<Tensor<R>> {
    let leading: Vec<usize> = (0..x.ndim() - 1).collect();
    if leading.is_empty() { Ok(x.clone()) } else { x.sum(leading, false) }
}

/// Root-mean-square normalisation over the last axis, x / √(mean(x²) + eps) · weight.
///
/// # Errors
/// As [`softmax`].
pub fn rms_norm<R: Runtime>(x: &Tensor<R>, weight: &Tensor<R>, eps: f64) -> Result<Tensor<R>> {
    let composite = || {
        let w = widened([x, weight])?;
        let rrms = root(&w[0], eps)?;
        Ok(smallvec![fuse([&w[0], &rrms, &w[1]], |[x, r, w]| x * r * w)?])
    };
    Tensor::fused(Fused::RmsNorm { eps }, &[x, weight], composite).map(one)
}

/// Pull-back of [`rms_norm`]: with x̂ = r·x, r = 1/√(mean(x²) + eps) and h = g·weight, `d_x` is
/// r·(h - x̂·mean(h·x̂)) and `d_weight` Σ g·x̂ over the leading axes.
///
/// # Errors
/// As [`softmax`].
pub fn rms_norm_backward<R: Runtime>(
    x: &Tensor<R>,
    weight: &Tensor<R>,
    g: &Tensor<R>,
    eps: f64,
) -> Result<[Tensor<R>; 2]> {
    let composite = || {
        let w = widened([x, weight, g])?;
        let rrms = root(&w[0], eps)?;
        let (hat, h) = (w[0].mul(&rrms)?, w[2].mul(&w[1])?);
        let cross = h.mul(&hat)?.mean(-1, true)?;
        let dx = fuse([&h, &hat, &rrms, &cross], |[h, x, r, c]| r * (h - x * c))?;
        Ok(smallvec![dx, over_rows(&w[2].mul(&hat)?)?])
    };
    let mut out = Tensor::fused(Fused::RmsNormBackward { eps }, &[x, weight, g], composite)?.into_iter();
    let results = std::array::from_fn(|_| out.next());
    let [Some(dx), Some(dw)] = results else {
        return Err(Error::argument("rms_norm_backward", "results", "the runtime gave fewer than two"));
    };
    Ok([dx, dw])
}
