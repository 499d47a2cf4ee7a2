//! Folds over axes.
//!
//! Axes come as one number, a list or `..`; negative ones count from the end, and an empty list means all of them. With
//! `keepdim` a folded axis stays, with size 1.

use super::fuse::fuse;
use super::map::symbolic::Symbolic;
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
    pub fn var(&self, axes: impl Into<Axes>, keepdim: bool, correction: usize) -> Result<Tensor<R>> {
        let axes = folded("var", axes, self.ndim())?;
        let (x, dtype) = self.inexact()?;
        let rest = self.count(&axes) - correction as f64;
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
    pub fn std(&self, axes: impl Into<Axes>, keepdim: bool, correction: usize) -> Result<Tensor<R>> {
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

    /// How many elements over axes are not zero (i64).
    ///
    /// # Errors
    /// `Error::Axis` for an axis that is not there.
    pub fn count_nonzero(&self, axes: impl Into<Axes>, keepdim: bool) -> Result<Tensor<R>> {
        self.cast(DType::Bool)?.sum(axes, keepdim)
    }
}

/// |x|² as a real number.
fn squared(x: Expr<'_>) -> Expr<'_> {
    (x * x.conj()).real()
}
