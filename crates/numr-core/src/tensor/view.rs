//! Views: other ways to see the same elements. None copies, but for `reshape` where the layout makes it.

use super::{Tensor, or_panic};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::layout::SliceRange;
use crate::ops::operands::Operand;
use crate::prim::{AxisList, MapOp, Prim, View};
use crate::runtime::Runtime;
use crate::scalar::graph::{Class, Graph};
use crate::shape::{Axes, Shape, axis};
use smallvec::SmallVec;

impl<R: Runtime> Tensor<R> {
    pub(crate) fn view_as(&self, view: View) -> Result<Tensor<R>> {
        Tensor::run_one(&Prim::View(view), &[self])
    }

    /// The elements in row-major order in memory of their own; the tensor itself if they are already.
    ///
    /// # Errors
    /// Faults of the device.
    pub fn try_contiguous(&self) -> Result<Tensor<R>> {
        if self.is_contiguous() { Ok(self.clone()) } else { Tensor::run_one(&Prim::Contiguous, &[self]) }
    }

    /// As [`Tensor::try_contiguous`]; panics where that is an `Err`.
    #[track_caller]
    pub fn contiguous(&self) -> Tensor<R> {
        or_panic(self.try_contiguous())
    }

    /// The same elements under another shape, row-major; a view where the layout allows it. [`Tensor::reshape_infer`]
    /// takes a size of -1.
    ///
    /// # Errors
    /// `Error::Shape` if the numbers of elements differ.
    pub fn reshape(&self, shape: &[usize]) -> Result<Tensor<R>> {
        let to = Shape::from(shape);
        if self.layout().reshape("reshape", &to)?.is_some() {
            return self.view_as(View::Reshape(to));
        }
        self.try_contiguous()?.view_as(View::Reshape(to))
    }

    /// Swaps two axes.
    ///
    /// # Errors
    /// `Error::Axis` if there is no such axis.
    pub fn transpose(&self, a: isize, b: isize) -> Result<Tensor<R>> {
        let (a, b) = (axis("transpose", a, self.ndim())?, axis("transpose", b, self.ndim())?);
        let mut order: AxisList = (0..self.ndim()).collect();
        order.swap(a, b);
        self.view_as(View::Permute(order))
    }

    /// Swaps the last two axes.
    ///
    /// # Errors
    /// `Error::Axis` if there are fewer than two.
    pub fn t(&self) -> Result<Tensor<R>> {
        self.transpose(-2, -1)
    }

    /// Reorders the axes: axis k of the result is axis `order[k]`.
    ///
    /// # Errors
    /// `Error::Axis` or `Error::Argument` unless `order` names every axis once.
    pub fn permute(&self, order: impl Into<Axes>) -> Result<Tensor<R>> {
        let Axes::List(order) = order.into() else { return self.view_as(View::Permute((0..self.ndim()).collect())) };
        let order = order.iter().map(|&a| axis("permute", a, self.ndim())).collect::<Result<AxisList>>()?;
        self.view_as(View::Permute(order))
    }

    /// Repeats axes of size 1, and new leading axes, up to `shape`.
    ///
    /// # Errors
    /// `Error::Broadcast` if an axis of another size would change.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Tensor<R>> {
        if self.shape() == shape {
            return Ok(self.clone());
        }
        self.view_as(View::Expand(Shape::from(shape)))
    }

    /// `len` elements of an axis from `start` on.
    ///
    /// # Errors
    /// `Error::Axis`, or `Error::Index` if they are not all there.
    pub fn narrow(&self, dim: isize, start: usize, len: usize) -> Result<Tensor<R>> {
        let dim = axis("narrow", dim, self.ndim())?;
        let size = self.shape()[dim];
        if start.checked_add(len).is_none_or(|end| end > size) {
            let index = start.saturating_add(len).min(i64::MAX as usize) as i64;
            return Err(Error::Index { op: "narrow", index, size });
        }
        self.slice_axis(dim, SliceRange { start, len, step: 1 })
    }

    pub(crate) fn slice_axis(&self, dim: usize, range: SliceRange) -> Result<Tensor<R>> {
        let whole = |&len: &usize| SliceRange { start: 0, len, step: 1 };
        let mut ranges: SmallVec<[SliceRange; 8]> = self.shape().iter().map(whole).collect();
        ranges[dim] = range;
        self.view_as(View::Slice(ranges))
    }

    /// Reverses axes.
    ///
    /// # Errors
    /// `Error::Axis` if there is no such axis.
    pub fn flip(&self, axes: impl Into<Axes>) -> Result<Tensor<R>> {
        let axes = axes.into().resolve("flip", self.ndim())?;
        let ranges = self.shape().iter().enumerate().map(|(k, &len)| match axes.contains(&k) && len > 0 {
            true => SliceRange { start: len - 1, len, step: -1 },
            false => SliceRange { start: 0, len, step: 1 },
        });
        self.view_as(View::Slice(ranges.collect()))
    }

    /// A new axis of size 1 at `dim`.
    ///
    /// # Errors
    /// `Error::Axis` if `dim` is beyond the end.
    pub fn unsqueeze(&self, dim: isize) -> Result<Tensor<R>> {
        let dim = axis("unsqueeze", dim, self.ndim() + 1)?;
        let mut shape = self.meta_shape();
        shape.insert(dim, 1);
        self.view_as(View::Reshape(shape))
    }

    /// Conversion to a dtype; see [`DType`] for the rules. The tensor itself if it has that dtype.
    ///
    /// # Errors
    /// Faults of the device.
    pub fn cast(&self, dtype: DType) -> Result<Tensor<R>> {
        if self.dtype() == dtype {
            return Ok(self.clone());
        }
        let graph = Graph::build(1, Class::Free, |_, args| vec![args[0].cast(dtype)]);
        Tensor::map(MapOp::Graph(graph), &[Operand::Tensor(self)])
    }
}
