//! Running folds along an axis.

use super::fuse::fuse;
use super::map::symbolic::Symbolic;
use super::operands::Operand;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::prim::MapOp;
use crate::prim::{Prim, Scan, ScanOp};
use crate::runtime::Runtime;
use crate::scalar::graph::{Class, Graph};
use crate::shape::{Shape, axis};
use crate::tensor::Tensor;

macro_rules! scans {
    ($($(#[doc = $doc:literal])* $name:ident $Op:ident;)*) => {
        impl<R: Runtime> Tensor<R> {$(
            $(#[doc = $doc])*
            ///
            /// # Errors
            /// `Error::Axis`; `Error::DType` where the fold needs an order and the dtype has none.
            pub fn $name(&self, dim: isize) -> Result<Tensor<R>> {
                self.scan(ScanOp::$Op, dim, false, false)
            }
        )*}
    };
}

scans! {
    /// Running sum along an axis; dtypes as for [`Tensor::sum`].
    cumsum Sum;
    /// Running product along an axis; dtypes as for [`Tensor::sum`].
    cumprod Prod;
    /// Largest so far along an axis; NaN from the first NaN on.
    cummax Max;
    /// Smallest so far along an axis; NaN from the first NaN on.
    cummin Min;
}

impl<R: Runtime> Tensor<R> {
    /// Running fold along an axis: `reverse` from its end, `exclusive` of the elements before each only, which begins with
    /// the fold of nothing.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// use numr_core::prim::ScanOp;
    /// let x = Tensor::<CpuRuntime>::from_slice(&[1, 2, 3], &[3], &device);
    /// assert_eq!(x.scan(ScanOp::Sum, 0, true, false)?.to_vec::<i64>(), [6, 5, 3]);
    /// assert_eq!(x.scan(ScanOp::Sum, 0, false, true)?.to_vec::<i64>(), [0, 1, 3]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Axis`; `Error::DType` where the fold needs an order and the dtype has none.
    pub fn scan(&self, op: ScanOp, dim: isize, reverse: bool, exclusive: bool) -> Result<Tensor<R>> {
        let (x, axis) = self.along(op.name(), dim)?;
        Tensor::run_one(&Prim::Scan(Scan { op, axis, reverse, exclusive }), &[&x])?.reshape(self.shape())
    }

    /// [`Tensor::cummax`] and where (i64) each largest element is; of equals the last.
    ///
    /// # Errors
    /// As [`Tensor::cummax`].
    pub fn cummax_with_indices(&self, dim: isize) -> Result<(Tensor<R>, Tensor<R>)> {
        self.cumulative_place(self.cummax(dim)?, dim)
    }

    /// [`Tensor::cummin`] and where (i64) each smallest element is; of equals the last.
    ///
    /// # Errors
    /// As [`Tensor::cummin`].
    pub fn cummin_with_indices(&self, dim: isize) -> Result<(Tensor<R>, Tensor<R>)> {
        self.cumulative_place(self.cummin(dim)?, dim)
    }

    fn cumulative_place(&self, best: Tensor<R>, dim: isize) -> Result<(Tensor<R>, Tensor<R>)> {
        let ((x, axis), (found, _)) = (self.along("cummax", dim)?, best.along("cummax", dim)?);
        let graph = Graph::build(2, Class::Free, |arena, a| {
            let here = a[0].eq(a[1]) | a[0].ne(a[0]);
            vec![here.where_cond(arena.coord(axis as u8), arena.lit(crate::Lit::Int(0)))]
        });
        let places = Tensor::map(MapOp::Graph(graph), &[Operand::Tensor(&x), Operand::Tensor(&found)])?;
        Ok((best, places.cast(DType::I64)?.cummax(axis as isize)?.reshape(self.shape())?))
    }

    /// ln of the running sum of eˣ along an axis, without overflow or loss of small terms, in log₂(n) passes.
    ///
    /// # Errors
    /// `Error::Axis`.
    pub fn logcumsumexp(&self, dim: isize) -> Result<Tensor<R>> {
        let (x, dtype) = self.inexact()?;
        let (mut y, axis) = x.along("logcumsumexp", dim)?;
        let n = y.shape()[axis];
        let mut step = 1;
        while step < n {
            // What lies `step` before: of the first ones nothing, ln 0.
            let mut widths = vec![(0, 0); y.ndim()];
            widths[axis] = (step, 0);
            let before = y.narrow(axis as isize, 0, n - step)?.pad(&widths, f64::NEG_INFINITY)?;
            y = y.logaddexp(&before)?;
            step *= 2;
        }
        y.reshape(self.shape())?.cast(dtype)
    }

    /// The n-th differences of neighbours along an axis; each makes it shorter by one. Of bool: do they differ?
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::from_slice(&[1, 4, 9, 16], &[4], &device);
    /// assert_eq!(x.diff(1, 0)?.to_vec::<i32>(), [3, 5, 7]);
    /// assert_eq!(x.diff(2, 0)?.to_vec::<i32>(), [2, 2]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Axis`.
    pub fn diff(&self, n: usize, dim: isize) -> Result<Tensor<R>> {
        let axis = axis("diff", dim, self.ndim())? as isize;
        let mut x = self.clone();
        for _ in 0..n {
            let rest = x.shape()[axis as usize].saturating_sub(1);
            let skip = x.shape()[axis as usize] - rest;
            let (after, before) = (x.narrow(axis, skip, rest)?, x.narrow(axis, 0, rest)?);
            x = if x.dtype().is_bool() { after.ne(&before)? } else { after.sub(&before)? };
        }
        Ok(x)
    }

    /// Widths of the intervals between neighbours: a number, or the differences of positions, a vector along the axis or a
    /// tensor of as many axes.
    fn widths(&self, op: &'static str, spacing: Operand<'_, R>, axis: usize) -> Result<Tensor<R>> {
        match spacing {
            Operand::Scalar(width) => Tensor::try_full(&[], width, self.dtype(), self.device()),
            Operand::Tensor(x) if x.ndim() == 1 => {
                if x.numel() != self.shape()[axis] {
                    return Err(Error::shape(
                        op,
                        "a position for each element of the axis",
                        &[self.shape(), x.shape()],
                    ));
                }
                let shape: Shape =
                    (axis..self.ndim()).map(|k| if k == axis { x.numel().saturating_sub(1) } else { 1 }).collect();
                x.diff(1, 0)?.reshape(&shape)
            }
            Operand::Tensor(x) => x.diff(1, axis as isize - self.ndim() as isize),
        }
    }

    /// Areas of the trapezoids between neighbours.
    fn trapezoids(&self, op: &'static str, spacing: Operand<'_, R>, dim: isize) -> Result<Tensor<R>> {
        let (y, _) = self.inexact()?;
        let axis = axis(op, dim, y.ndim())?;
        let rest = y.shape()[axis].saturating_sub(1);
        let (before, after) =
            (y.narrow(axis as isize, 0, rest)?, y.narrow(axis as isize, y.shape()[axis] - rest, rest)?);
        fuse([&before, &after, &y.widths(op, spacing, axis)?], |[a, b, w]| (a + b) * w * 0.5)
    }

    /// Integral along an axis by the trapezoidal rule; `spacing` is the distance of neighbours, or their positions.
    ///
    /// # Errors
    /// `Error::Axis`; `Error::Shape` for positions that are not one for each element.
    pub fn trapezoid<'a>(&self, spacing: impl Into<Operand<'a, R>>, dim: isize) -> Result<Tensor<R>>
    where
        R: 'a,
    {
        let dtype = self.inexact()?.1;
        self.trapezoids("trapezoid", spacing.into(), dim)?.sum(dim, false)?.cast(dtype)
    }

    /// Running integral along an axis by the trapezoidal rule, one element shorter; as [`Tensor::trapezoid`] otherwise.
    ///
    /// # Errors
    /// As [`Tensor::trapezoid`].
    pub fn cumulative_trapezoid<'a>(&self, spacing: impl Into<Operand<'a, R>>, dim: isize) -> Result<Tensor<R>>
    where
        R: 'a,
    {
        let dtype = self.inexact()?.1;
        self.trapezoids("cumulative_trapezoid", spacing.into(), dim)?.cumsum(dim)?.cast(dtype)
    }

    /// Slopes along an axis, of second order inside and of first order at the ends, as `numpy.gradient`; `spacing` is the
    /// distance of neighbours, or a vector of positions.
    ///
    /// # Errors
    /// `Error::Axis`; `Error::Shape` for fewer than two elements or positions that are not one for each.
    pub fn gradient<'a>(&self, spacing: impl Into<Operand<'a, R>>, dim: isize) -> Result<Tensor<R>>
    where
        R: 'a,
    {
        let op = "gradient";
        let (y, dtype) = self.inexact()?;
        let at = axis(op, dim, y.ndim())?;
        let (n, along) = (y.shape()[at], at as isize);
        if n < 2 {
            return Err(Error::shape(op, "two elements at least", &[self.shape()]));
        }
        let (rise, width) = (y.diff(1, along)?, y.widths(op, spacing.into(), at)?);
        let ends = rise.div(&width)?;
        let pair = |t: &Tensor<R>| -> Result<[Tensor<R>; 2]> {
            // One width for all stays one.
            let axis = t.ndim().checked_sub(y.ndim() - at).filter(|&k| t.shape()[k] == n - 1);
            Ok(match axis {
                Some(k) => [t.narrow(k as isize, 0, n - 2)?, t.narrow(k as isize, 1, n - 2)?],
                None => [t.clone(), t.clone()],
            })
        };
        let ([left, right], [a, b]) = (pair(&ends)?, pair(&width)?);
        let inside = fuse([&left, &right, &a, &b], |[l, r, a, b]| (l * b + r * a) / (a + b))?;
        let (first, last) = (ends.narrow(along, 0, 1)?, ends.narrow(along, n - 2, 1)?);
        Tensor::cat(&[&first, &inside, &last], along)?.cast(dtype)
    }
}
