//! Order: sorting and the largest k. Stable; NaN comes last whichever the direction.

use crate::error::{Error, Result};
use crate::prim::Prim;
use crate::runtime::Runtime;
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
}
