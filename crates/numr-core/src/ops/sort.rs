//! Order: sorting and the largest k. Stable; NaN comes last whichever the direction.

use super::fuse::fuse;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::prim::Prim;
use crate::runtime::Runtime;
use crate::scalar::Scalar;
use crate::tensor::Tensor;

impl<R: Runtime> Tensor<R> {
    /// The elements sorted along an axis.
    ///
    /// # Errors
    /// `Error::Axis`; `Error::DType` for complex numbers.
    pub fn sort(&self, dim: isize, descending: bool) -> Result<Tensor<R>> {
        Ok(self.sort_with_indices(dim, descending)?.0)
    }

    /// The order (i64) that sorts along an axis: `x.take_along(&x.argsort(d, b)?, d)` is sorted.
    ///
    /// # Errors
    /// As [`Tensor::sort`].
    pub fn argsort(&self, dim: isize, descending: bool) -> Result<Tensor<R>> {
        Ok(self.sort_with_indices(dim, descending)?.1)
    }

    /// [`Tensor::sort`] and [`Tensor::argsort`] at once.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::from_slice(&[3.0f32, f32::NAN, 1.0], &[3], &device);
    /// let (values, order) = x.sort_with_indices(0, false)?;
    /// assert_eq!(order.to_vec::<i64>(), [2, 0, 1]);
    /// assert_eq!(values.to_vec::<f32>()[..2], [1.0, 3.0]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::sort`].
    pub fn sort_with_indices(&self, dim: isize, descending: bool) -> Result<(Tensor<R>, Tensor<R>)> {
        let (x, axis) = self.along("sort", dim)?;
        let out = Tensor::run(&Prim::Sort { axis, descending }, &[&x])?;
        let [values, indices] = &out[..] else {
            return Err(Error::argument(
                "sort",
                "results",
                format!("two were expected, the runtime gave {}", out.len()),
            ));
        };
        Ok((values.reshape(self.shape())?, indices.reshape(self.shape())?))
    }

    /// The k largest (or smallest) elements along an axis and their indices (i64), best first whether or not `sorted`
    /// asks for it.
    ///
    /// # Errors
    /// As [`Tensor::sort`]; `Error::Argument` if the axis has fewer than k elements.
    pub fn topk(&self, k: usize, dim: isize, largest: bool, _sorted: bool) -> Result<(Tensor<R>, Tensor<R>)> {
        let (x, axis) = self.along("topk", dim)?;
        let size = x.shape()[axis];
        if k > size {
            return Err(Error::argument("topk", "k", format!("{k} exceeds the axis of size {size}")));
        }
        let (values, indices) = x.sort_with_indices(axis as isize, largest)?;
        let first = |t: Tensor<R>| {
            let part = t.narrow(axis as isize, 0, k)?;
            if self.ndim() == 0 && k == 1 { part.reshape(&[]) } else { Ok(part) }
        };
        Ok((first(values)?, first(indices)?))
    }

    /// The different elements, ascending, as a vector. NaN is one element.
    ///
    /// # Errors
    /// As [`Tensor::sort`].
    pub fn unique(&self) -> Result<Tensor<R>> {
        let sorted = self.flatten()?.sort(0, false)?;
        sorted.masked_select(&sorted.is_first()?)
    }

    /// The different elements, ascending; which of them each element of the flattened tensor is (i64); and how often each
    /// occurs (i64).
    ///
    /// # Errors
    /// As [`Tensor::sort`].
    pub fn unique_with_counts(&self) -> Result<(Tensor<R>, Tensor<R>, Tensor<R>)> {
        let (sorted, order) = self.flatten()?.sort_with_indices(0, false)?;
        let (values, group, counts) = sorted.runs()?;
        let inverse = group.zeros_like()?.scatter(0, &order, &group)?;
        Ok((values, inverse, counts))
    }

    /// The runs of equal elements of a vector: one of each, the run of each element (i64), and their lengths (i64).
    pub(crate) fn runs(&self) -> Result<(Tensor<R>, Tensor<R>, Tensor<R>)> {
        let first = self.is_first()?;
        let values = self.masked_select(&first)?;
        let group = first.cumsum(0)?.sub(1)?;
        let none = Tensor::try_zeros(values.shape(), group.dtype(), self.device())?;
        let counts = none.scatter_add(0, &group, &group.ones_like()?)?;
        Ok((values, group, counts))
    }

    /// Does each element of a sorted vector differ from the one before it?
    fn is_first(&self) -> Result<Tensor<R>> {
        let n = self.numel();
        let head = Tensor::try_ones(&[n.min(1)], DType::Bool, self.device())?;
        let (before, after) = (self.narrow(0, 0, n.saturating_sub(1))?, self.narrow(0, n.min(1), n.saturating_sub(1))?);
        // Two NaNs are not equal, and yet one element.
        let differ = fuse([&before, &after], |[a, b]| a.ne(b) & (a.eq(a) | b.eq(b)))?;
        Tensor::cat(&[&head, &differ], 0)
    }
}
