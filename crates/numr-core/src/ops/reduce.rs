//! Folds over axes.
//!
//! Axes come as one number, a list or `..`; negative ones count from the end, and an empty list means all of them. With
//! `keepdim` a folded axis stays, with size 1.

use super::fuse::{fuse, fuse_with};
use super::map::symbolic::Symbolic;
use super::operands::Operand;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::prim::{AxisList, Prim, Reduce, ReduceOp};
use crate::runtime::Runtime;
use crate::scalar::expr::Expr;
use crate::shape::{Axes, Shape};
use crate::tensor::Tensor;

/// The axes to fold: an empty list is all of them.
fn folded(op: &'static str, axes: impl Into<Axes>, ndim: usize) -> Result<AxisList> {
    let list = axes.into().resolve(op, ndim)?;
    Ok(if list.is_empty() { (0..ndim).collect() } else { list })
}

macro_rules! folds {
    ($($(#[doc = $doc:literal])* $name:ident $Op:ident;)*) => {
        impl<R: Runtime> Tensor<R> {$(
            $(#[doc = $doc])*
            ///
            /// # Errors
            /// `Error::Axis` for an axis that is not there; `Error::DType` where the fold needs an order and the dtype
            /// has none; `Error::Shape` for the largest or smallest of nothing.
            pub fn $name(&self, axes: impl Into<Axes>, keepdim: bool) -> Result<Tensor<R>> {
                let axes = folded(stringify!($name), axes, self.ndim())?;
                Tensor::run_one(&Prim::Reduce(Reduce { op: ReduceOp::$Op, axes, keepdim }), &[self])
            }
        )*}
    };
}

folds! {
    /// Sum over axes. Integers and bool are summed in 64 bits; narrow floats accumulate in f32.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::from_slice(&[1, 2, 3, 4], &[2, 2], &device);
    /// assert_eq!(x.sum(0, false)?.to_vec::<i64>(), [4, 6]);
    /// assert_eq!(x.sum(.., false)?.item::<i64>()?, 10);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    sum Sum;
    /// Product over axes; dtypes as for [`Tensor::sum`].
    prod Prod;
    /// Largest element over axes; NaN if there is one.
    max Max;
    /// Smallest element over axes; NaN if there is one.
    min Min;
    /// Is any element over axes not zero?
    any Any;
    /// Is every element over axes not zero?
    all All;
}

impl<R: Runtime> Tensor<R> {
    /// Index (i64) of the first largest element along an axis; of the first NaN if there is one. `..` looks at the
    /// tensor in row-major order.
    ///
    /// # Errors
    /// `Error::Axis`, `Error::Argument` for more than one axis, `Error::Shape` for an empty axis.
    pub fn argmax(&self, axis: impl Into<Axes>, keepdim: bool) -> Result<Tensor<R>> {
        self.arg(ReduceOp::ArgMax, axis.into(), keepdim)
    }

    /// Index (i64) of the first smallest element along an axis; as [`Tensor::argmax`] otherwise.
    ///
    /// # Errors
    /// As [`Tensor::argmax`].
    pub fn argmin(&self, axis: impl Into<Axes>, keepdim: bool) -> Result<Tensor<R>> {
        self.arg(ReduceOp::ArgMin, axis.into(), keepdim)
    }

    fn arg(&self, op: ReduceOp, axes: Axes, keepdim: bool) -> Result<Tensor<R>> {
        let found = axes.resolve(op.name(), self.ndim())?;
        let fold = |x: &Tensor<R>, axes, keepdim| Tensor::run_one(&Prim::Reduce(Reduce { op, axes, keepdim }), &[x]);
        match (&axes, &found[..]) {
            (Axes::List(_), &[axis]) => fold(self, AxisList::from_slice(&[axis]), keepdim),
            (Axes::List(_), [_, _, ..]) => Err(Error::argument(op.name(), "axis", "takes one axis, or `..` for all")),
            _ => {
                let flat = fold(&self.flatten()?, AxisList::from_slice(&[0]), false)?;
                let rank = if keepdim { self.ndim() } else { 0 };
                flat.reshape(&Shape::from_iter(std::iter::repeat_n(1, rank)))
            }
        }
    }

    /// How many elements each result of a fold over these axes stands for.
    fn count(&self, axes: &[usize]) -> f64 {
        axes.iter().map(|&a| self.shape()[a] as f64).product()
    }

    /// Arithmetic mean over axes, NaN of nothing. Integers and bool give a float.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::from_slice(&[1.0f32, 2.0, 3.0, 6.0], &[2, 2], &device);
    /// assert_eq!(x.mean(-1, false)?.to_vec::<f32>(), [1.5, 4.5]);
    /// assert_eq!(x.mean(.., false)?.item::<f32>()?, 3.0);
    /// assert_eq!(x.mean(&[0], true)?.shape(), [1, 2]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Axis` for an axis that is not there.
    pub fn mean(&self, axes: impl Into<Axes>, keepdim: bool) -> Result<Tensor<R>> {
        let axes = folded("mean", axes, self.ndim())?;
        let (x, dtype) = self.inexact()?;
        // An integer sum is exact: it is divided, not the elements.
        let x = if self.dtype().is_float() || self.dtype().is_complex() { &x } else { self };
        let n = self.count(&axes);
        let op = ReduceOp::Sum;
        Tensor::run_one(&Prim::Reduce(Reduce { op, axes, keepdim }), &[x])?.div(n)?.cast(dtype)
    }

    /// Variance over axes, Σ|x - mean|² / (n - correction), in two passes; NaN where `correction >= n`. A correction of
    /// 1 makes it the unbiased estimate of a sample.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::from_slice(&[1.0f64, 2.0, 3.0], &[3], &device);
    /// assert_eq!(x.var(.., false, 1)?.item::<f64>()?, 1.0);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Axis` for an axis that is not there.
    pub fn var(&self, axes: impl Into<Axes>, keepdim: bool, correction: impl Into<f64>) -> Result<Tensor<R>> {
        let axes = folded("var", axes, self.ndim())?;
        let (x, dtype) = self.inexact()?;
        let rest = self.count(&axes) - correction.into();
        let listed = || Axes::from(&axes[..]);
        let mean = x.mean(listed(), true)?;
        let squares = fuse([&x, &mean], |[x, m]| squared(x - m))?;
        let total = if axes.is_empty() { squares } else { squares.sum(listed(), keepdim)? };
        total.div(if rest > 0.0 { rest } else { f64::NAN })?.cast(dtype.to_real())
    }

    /// Standard deviation over axes, the square root of [`Tensor::var`].
    ///
    /// # Errors
    /// As [`Tensor::var`].
    pub fn std(&self, axes: impl Into<Axes>, keepdim: bool, correction: impl Into<f64>) -> Result<Tensor<R>> {
        let (x, dtype) = self.inexact()?;
        x.var(axes, keepdim, correction)?.sqrt()?.cast(dtype.to_real())
    }

    /// ln Σ eˣ over axes, without overflow; -∞ of nothing or where all are -∞.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::from_slice(&[1000.0f64, f64::NEG_INFINITY], &[2], &device);
    /// assert_eq!(x.logsumexp(.., false)?.item::<f64>()?, 1000.0);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Axis` for an axis that is not there.
    pub fn logsumexp(&self, axes: impl Into<Axes>, keepdim: bool) -> Result<Tensor<R>> {
        let axes = folded("logsumexp", axes, self.ndim())?;
        let (x, dtype) = self.inexact()?;
        let listed = || Axes::from(&axes[..]);
        if axes.iter().any(|&a| self.shape()[a] == 0) {
            return x.sum(listed(), keepdim)?.log()?.cast(dtype);
        }
        // The shift cancels, so it is no part of the gradient; an infinite one would give ∞ - ∞.
        let top = R::detach(&x).max(listed(), true)?;
        let shift = fuse([&top], |[m]| m.isfinite().where_cond(m, 0.0))?;
        let total = fuse([&x, &shift], |[x, m]| (x - m).exp())?.sum(listed(), true)?;
        let out = fuse([&total, &shift], |[s, m]| s.log() + m)?.cast(dtype)?;
        if keepdim { Ok(out) } else { out.squeeze_axes(listed()) }
    }

    /// Euclidean norm over axes, √Σ|x|². The slope at 0 is 0.
    ///
    /// # Errors
    /// `Error::Axis` for an axis that is not there.
    pub fn norm(&self, axes: impl Into<Axes>, keepdim: bool) -> Result<Tensor<R>> {
        let (x, dtype) = self.inexact()?;
        let total = fuse([&x], |[x]| squared(x))?.sum(axes, keepdim)?;
        // The slope of the root at 0 is infinite: it is kept away from there.
        fuse([&total], |[s]| s.eq(0.0).where_cond(0.0, s.eq(0.0).where_cond(1.0, s).sqrt()))?.cast(dtype.to_real())
    }

    /// The p-norm over axes, (Σ|x|^p)^(1/p): for p = ∞ and -∞ the largest and smallest |x|, for 0 the number of elements that
    /// are not zero. Where the norm is 0 its slope is 0.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::from_slice(&[3.0f64, -4.0, 0.0], &[3], &device);
    /// let norms = [1.0, f64::INFINITY, 0.0].map(|p| x.vector_norm(p, .., false)?.item::<f64>());
    /// assert_eq!(norms.map(Result::unwrap), [7.0, 4.0, 2.0]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Axis`; `Error::Shape` for the largest or smallest of nothing.
    pub fn vector_norm(&self, p: f64, axes: impl Into<Axes>, keepdim: bool) -> Result<Tensor<R>> {
        if p == 2.0 {
            return self.norm(axes, keepdim);
        }
        let axes = folded("vector_norm", axes, self.ndim())?;
        let (x, dtype) = self.inexact()?;
        let (size, listed) = (x.abs()?, Axes::from(&axes[..]));
        if p == f64::INFINITY {
            return size.max(listed, keepdim)?.cast(dtype.to_real());
        } else if p == f64::NEG_INFINITY {
            return size.min(listed, keepdim)?.cast(dtype.to_real());
        } else if p == 0.0 {
            return size.ne(0)?.sum(listed, keepdim)?.cast(dtype.to_real());
        } else if p == 1.0 {
            return size.sum(listed, keepdim)?.cast(dtype.to_real());
        }
        // A power's slope at 0 may be infinite: it is kept away from there.
        let power = |t: &Tensor<R>, p: f64| {
            fuse_with([Operand::Tensor(t), Operand::Scalar(p.into())], |[x, p]| {
                let away = x.eq(0.0).where_cond(1.0, x);
                x.eq(0.0).where_cond(Expr::from(0.0).pow(p), away.pow(p))
            })
        };
        power(&power(&size, p)?.sum(listed, keepdim)?, 1.0 / p)?.cast(dtype.to_real())
    }

    /// Smallest and largest elements over axes.
    ///
    /// # Errors
    /// As [`Tensor::max`].
    pub fn aminmax(&self, axes: impl Into<Axes>, keepdim: bool) -> Result<(Tensor<R>, Tensor<R>)> {
        let axes = axes.into();
        Ok((self.min(axes.clone(), keepdim)?, self.max(axes, keepdim)?))
    }

    /// Largest minus smallest element over axes.
    ///
    /// # Errors
    /// As [`Tensor::max`].
    pub fn ptp(&self, axes: impl Into<Axes>, keepdim: bool) -> Result<Tensor<R>> {
        let (low, high) = self.aminmax(axes, keepdim)?;
        high.sub(&low)
    }

    /// Weighted mean over axes, Σ w·x / Σ w; the weights broadcast against the tensor.
    ///
    /// # Errors
    /// `Error::Axis`; `Error::Broadcast`.
    pub fn average(&self, weights: &Tensor<R>, axes: impl Into<Axes>, keepdim: bool) -> Result<Tensor<R>> {
        let (x, dtype) = self.inexact()?;
        let axes = Axes::from(&folded("average", axes, self.ndim())?[..]);
        let w = weights.cast(x.dtype())?.broadcast_to(self.shape())?;
        x.mul(&w)?.sum(axes.clone(), keepdim)?.div(&w.sum(axes, keepdim)?)?.cast(dtype)
    }

    /// The k-th central moment over axes divided by the standard deviation's k-th power.
    fn standardized(&self, k: i32, axes: impl Into<Axes>, keepdim: bool, correction: f64) -> Result<Tensor<R>> {
        let (x, dtype) = self.inexact()?;
        let axes = Axes::from(&folded("moment", axes, self.ndim())?[..]);
        let off = x.sub(&x.mean(axes.clone(), true)?)?;
        let deviation = x.var(axes.clone(), true, correction)?.sqrt()?;
        let moment = off.div(&deviation)?.pow(k)?.mean(axes, keepdim)?;
        moment.cast(dtype)
    }

    /// Skewness over axes, mean of ((x - mean) / σ)³, with σ as [`Tensor::std`] gives it.
    ///
    /// # Errors
    /// `Error::Axis`.
    pub fn skew(&self, axes: impl Into<Axes>, keepdim: bool, correction: impl Into<f64>) -> Result<Tensor<R>> {
        self.standardized(3, axes, keepdim, correction.into())
    }

    /// Excess kurtosis over axes, mean of ((x - mean) / σ)⁴ minus 3, with σ as [`Tensor::std`] gives it.
    ///
    /// # Errors
    /// `Error::Axis`.
    pub fn kurtosis(&self, axes: impl Into<Axes>, keepdim: bool, correction: impl Into<f64>) -> Result<Tensor<R>> {
        self.standardized(4, axes, keepdim, correction.into())?.sub(3)
    }

    /// Covariance of the rows of `[variables, observations]`, (x - mean)·(x - mean)ᴴ / (n - correction); a vector is one
    /// variable. The covariance of one variable is a scalar.
    ///
    /// # Errors
    /// `Error::Shape` for more than two axes.
    pub fn cov(&self, correction: impl Into<f64>) -> Result<Tensor<R>> {
        let (x, dtype) = self.inexact()?;
        let rows = match x.ndim() {
            0 | 1 => x.reshape(&[1, x.numel()])?,
            2 => x.clone(),
            _ => return Err(Error::shape("cov", "[variables, observations]", &[self.shape()])),
        };
        let off = rows.sub(&rows.mean(-1, true)?)?;
        let rest = rows.shape()[1] as f64 - correction.into();
        let cov = off.matmul(&off.conj()?.t()?)?.div(if rest > 0.0 { rest } else { f64::NAN })?.cast(dtype)?;
        if cov.numel() == 1 { cov.reshape(&[]) } else { Ok(cov) }
    }

    /// Correlation coefficients of the rows of `[variables, observations]`, the covariance of each scaled to variance 1.
    ///
    /// # Errors
    /// As [`Tensor::cov`].
    pub fn corrcoef(&self) -> Result<Tensor<R>> {
        let (x, dtype) = self.inexact()?;
        let cov = x.cov(1.0)?;
        if cov.ndim() == 0 {
            return cov.div(&cov)?.cast(dtype);
        }
        let deviation = cov.diagonal(0, 0, 1)?.real()?.sqrt()?;
        cov.div(&deviation.unsqueeze(1)?)?.div(&deviation)?.cast(dtype)
    }

    /// How many elements over axes are not zero (i64).
    ///
    /// # Errors
    /// `Error::Axis` for an axis that is not there.
    pub fn count_nonzero(&self, axes: impl Into<Axes>, keepdim: bool) -> Result<Tensor<R>> {
        self.cast(DType::Bool)?.sum(axes, keepdim)
    }
}

macro_rules! nan_folds {
    ($($(#[doc = $doc:literal])* $name:ident($fill:expr) $fold:ident;)*) => {
        impl<R: Runtime> Tensor<R> {$(
            $(#[doc = $doc])*
            ///
            /// # Errors
            /// As the fold that sees all elements.
            pub fn $name(&self, axes: impl Into<Axes>, keepdim: bool) -> Result<Tensor<R>> {
                self.without_nan($fill)?.$fold(axes, keepdim)
            }
        )*}
    };
}

nan_folds! {
    /// [`Tensor::sum`] of the elements that are not NaN.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::from_slice(&[1.0f32, f32::NAN, 3.0], &[3], &device);
    /// assert_eq!(x.nansum(.., false)?.item::<f32>()?, 4.0);
    /// assert_eq!(x.nanmean(.., false)?.item::<f32>()?, 2.0);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    nansum(0.0) sum;
    /// [`Tensor::prod`] of the elements that are not NaN.
    nanprod(1.0) prod;
    /// [`Tensor::argmax`] among the elements that are not NaN; 0 if all are.
    nanargmax(f64::NEG_INFINITY) argmax;
    /// [`Tensor::argmin`] among the elements that are not NaN; 0 if all are.
    nanargmin(f64::INFINITY) argmin;
}

impl<R: Runtime> Tensor<R> {
    fn without_nan(&self, fill: f64) -> Result<Tensor<R>> {
        match self.dtype().is_float() || self.dtype().is_complex() {
            true => self.masked_fill(&self.isnan()?, fill),
            false => Ok(self.clone()),
        }
    }

    /// How many elements over axes are not NaN, as numbers of this dtype.
    fn counted(&self, axes: Axes, keepdim: bool, dtype: DType) -> Result<Tensor<R>> {
        self.isnan()?.logical_not()?.sum(axes, keepdim)?.cast(dtype.to_real())
    }

    /// [`Tensor::mean`] of the elements that are not NaN; NaN if all are.
    ///
    /// # Errors
    /// `Error::Axis`.
    pub fn nanmean(&self, axes: impl Into<Axes>, keepdim: bool) -> Result<Tensor<R>> {
        let ((x, dtype), axes) = (self.inexact()?, Axes::from(&folded("nanmean", axes, self.ndim())?[..]));
        x.nansum(axes.clone(), keepdim)?.div(&x.counted(axes, keepdim, x.dtype())?)?.cast(dtype)
    }

    /// [`Tensor::var`] of the elements that are not NaN; NaN if too few are left.
    ///
    /// # Errors
    /// `Error::Axis`.
    pub fn nanvar(&self, axes: impl Into<Axes>, keepdim: bool, correction: impl Into<f64>) -> Result<Tensor<R>> {
        let ((x, dtype), axes) = (self.inexact()?, Axes::from(&folded("nanvar", axes, self.ndim())?[..]));
        let off = x.sub(&x.nanmean(axes.clone(), true)?)?;
        let squares = fuse([&off], |[d]| squared(d))?.nansum(axes.clone(), keepdim)?;
        let rest = x.counted(axes, keepdim, x.dtype())?.sub(correction.into())?;
        fuse([&squares, &rest], |[s, n]| s / n.gt(0.0).where_cond(n, f64::NAN))?.cast(dtype.to_real())
    }

    /// [`Tensor::std`] of the elements that are not NaN.
    ///
    /// # Errors
    /// `Error::Axis`.
    pub fn nanstd(&self, axes: impl Into<Axes>, keepdim: bool, correction: impl Into<f64>) -> Result<Tensor<R>> {
        let (x, dtype) = self.inexact()?;
        x.nanvar(axes, keepdim, correction)?.sqrt()?.cast(dtype.to_real())
    }

    fn nan_extreme(&self, axes: Axes, keepdim: bool, fill: f64, fold: Extreme<R>) -> Result<Tensor<R>> {
        if !self.dtype().is_float() {
            return fold(self, axes, keepdim);
        }
        let found = fold(&self.without_nan(fill)?, axes.clone(), keepdim)?;
        found.masked_fill(&self.isnan()?.all(axes, keepdim)?, f64::NAN)
    }

    /// Largest element over axes that is not NaN; NaN if all are.
    ///
    /// # Errors
    /// As [`Tensor::max`].
    pub fn nanmax(&self, axes: impl Into<Axes>, keepdim: bool) -> Result<Tensor<R>> {
        self.nan_extreme(axes.into(), keepdim, f64::NEG_INFINITY, |x, axes, keep| x.max(axes, keep))
    }

    /// Smallest element over axes that is not NaN; NaN if all are.
    ///
    /// # Errors
    /// As [`Tensor::max`].
    pub fn nanmin(&self, axes: impl Into<Axes>, keepdim: bool) -> Result<Tensor<R>> {
        self.nan_extreme(axes.into(), keepdim, f64::INFINITY, |x, axes, keep| x.min(axes, keep))
    }
}

type Extreme<R> = fn(&Tensor<R>, Axes, bool) -> Result<Tensor<R>>;

/// |x|² as a real number.
fn squared(x: Expr<'_>) -> Expr<'_> {
    (x * x.conj()).real()
}
