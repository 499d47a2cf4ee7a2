//! Shapes: joining, cutting, repeating, padding and moving axes. What can be a view is one.

use crate::element::Lit;
use crate::error::{Error, Result};
use crate::layout::SliceRange;
use crate::ops::operands::Operand;
use crate::prim::{AxisList, MapOp, Prim, View};
use crate::runtime::Runtime;
use crate::scalar::Scalar;
use crate::scalar::expr::Expr;
use crate::scalar::graph::{Class, Graph};
use crate::shape::{Axes, Shape, axis, broadcast};
use crate::tensor::{Tensor, or_panic};
use smallvec::SmallVec;

impl<R: Runtime> Tensor<R> {
    /// The tensors end to end along an axis. Dtypes promote.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::from_slice(&[1, 2], &[1, 2], &device);
    /// assert_eq!(Tensor::cat(&[&x, &x], 0)?.shape(), [2, 2]);
    /// assert_eq!(Tensor::cat(&[&x, &x], -1)?.to_vec::<i32>(), [1, 2, 1, 2]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Argument` for no tensor, `Error::Axis`, `Error::Shape` if they differ on another axis.
    pub fn cat(tensors: &[&Tensor<R>], dim: isize) -> Result<Tensor<R>> {
        let Some(first) = tensors.first() else {
            return Err(Error::argument("cat", "tensors", "at least one is needed"));
        };
        let axis = axis("cat", dim, first.ndim())?;
        let promoted = Tensor::promoted(tensors)?;
        let operands: SmallVec<[&Tensor<R>; 4]> = promoted.iter().collect();
        Tensor::run_one(&Prim::Concat { axis }, &operands)
    }

    /// The tensors, of one shape, side by side along a new axis.
    ///
    /// # Errors
    /// As [`Tensor::cat`].
    pub fn stack(tensors: &[&Tensor<R>], dim: isize) -> Result<Tensor<R>> {
        if let Some(other) = tensors.iter().find(|t| t.shape() != tensors[0].shape()) {
            return Err(Error::shape("stack", "tensors of one shape", &[tensors[0].shape(), other.shape()]));
        }
        let at = axis("stack", dim, tensors.first().map_or(0, |t| t.ndim()) + 1)? as isize;
        let lifted = tensors.iter().map(|t| t.unsqueeze(at)).collect::<Result<Vec<_>>>()?;
        Tensor::cat(&lifted.iter().collect::<Vec<_>>(), at)
    }

    /// Views of `size` elements along an axis, the last one what is left.
    ///
    /// # Errors
    /// `Error::Axis`; `Error::Argument` for a size of 0 unless the axis is empty too.
    pub fn split(&self, size: usize, dim: isize) -> Result<Vec<Tensor<R>>> {
        let len = self.shape()[axis("split", dim, self.ndim())?];
        if size == 0 && len > 0 {
            return Err(Error::argument("split", "size", "a size of 0 never advances"));
        }
        if len == 0 {
            return Ok(vec![self.clone()]);
        }
        (0..len).step_by(size).map(|at| self.narrow(dim, at, size.min(len - at))).collect()
    }

    /// At most `chunks` views of one size along an axis, the last one what is left.
    ///
    /// # Errors
    /// `Error::Axis`; `Error::Argument` for 0 chunks.
    pub fn chunk(&self, chunks: usize, dim: isize) -> Result<Vec<Tensor<R>>> {
        if chunks == 0 {
            return Err(Error::argument("chunk", "chunks", "at least one is needed"));
        }
        let len = self.shape()[axis("chunk", dim, self.ndim())?];
        self.split(len.div_ceil(chunks), dim)
    }

    /// The tensor `repeats[k]` times over along axis k; further repeats at the front make new axes.
    ///
    /// # Errors
    /// `Error::Argument` for fewer repeats than axes or a size that overflows.
    pub fn repeat(&self, repeats: &[usize]) -> Result<Tensor<R>> {
        let Some(new) = repeats.len().checked_sub(self.ndim()) else {
            let reason = format!("{} repeats for {} axes", repeats.len(), self.ndim());
            return Err(Error::argument("repeat", "repeats", reason));
        };
        let size = |k: usize| if k < new { 1 } else { self.shape()[k - new] };
        let (mut split, mut wide, mut to) = (Shape::new(), Shape::new(), Shape::new());
        for (k, &n) in repeats.iter().enumerate() {
            let d = size(k);
            split.push(1);
            split.push(d);
            wide.push(n);
            wide.push(d);
            let product = n.checked_mul(d);
            to.push(product.ok_or_else(|| Error::argument("repeat", "repeats", "the size overflows"))?);
        }
        self.reshape(&split)?.broadcast_to(&wide)?.reshape(&to)
    }

    /// Each element `repeats` times in a row along an axis, or of the flattened tensor.
    ///
    /// # Errors
    /// `Error::Axis`.
    pub fn repeat_interleave(&self, repeats: usize, dim: Option<isize>) -> Result<Tensor<R>> {
        let Some(dim) = dim else { return self.flatten()?.repeat_interleave(repeats, Some(0)) };
        let dim = axis("repeat_interleave", dim, self.ndim())?;
        let (mut wide, mut to) = (self.meta_shape(), self.meta_shape());
        wide.insert(dim + 1, repeats);
        let product = to[dim].checked_mul(repeats);
        to[dim] = product.ok_or_else(|| Error::argument("repeat_interleave", "repeats", "the size overflows"))?;
        self.unsqueeze(dim as isize + 1)?.broadcast_to(&wide)?.reshape(&to)
    }

    /// The tensor with `value` around it: `(before, after)` elements for each axis.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::from_slice(&[1, 2], &[2], &device);
    /// assert_eq!(x.pad(&[(1, 2)], 7)?.to_vec::<i32>(), [7, 1, 2, 7, 7]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Argument` unless there is one pair for each axis.
    pub fn pad(&self, widths: &[(usize, usize)], value: impl Into<Lit>) -> Result<Tensor<R>> {
        if widths.len() != self.ndim() {
            let reason = format!("{} pairs for {} axes", widths.len(), self.ndim());
            return Err(Error::argument("pad", "widths", reason));
        }
        let sizes = self.shape().iter().zip(widths);
        let padded = sizes.clone().map(|(&d, &(a, b))| d.checked_add(a)?.checked_add(b)).collect::<Option<Shape>>();
        let to = padded.ok_or_else(|| Error::argument("pad", "widths", "the size overflows"))?;
        let base = Tensor::try_full(&to, value, self.dtype(), self.device())?;
        let ranges = sizes.map(|(&len, &(start, _))| SliceRange { start, len, step: 1 }).collect();
        base.assigned(View::Slice(ranges), self)
    }

    pub(crate) fn assigned(&self, view: View, src: &Tensor<R>) -> Result<Tensor<R>> {
        Tensor::run_one(&Prim::Assign { view }, &[self, &src.cast(self.dtype())?])
    }

    /// The tensor with `src` in place of its elements from `start` on along an axis.
    ///
    /// # Errors
    /// `Error::Axis`, `Error::Shape` if `src` differs on another axis, `Error::Index` if it does not fit in.
    pub fn slice_assign(&self, src: &Tensor<R>, dim: isize, start: usize) -> Result<Tensor<R>> {
        let op = "slice_assign";
        let dim = axis(op, dim, self.ndim())?;
        let (to, from) = (self.shape(), src.shape());
        if to.len() != from.len() || (0..to.len()).any(|k| k != dim && to[k] != from[k]) {
            return Err(Error::shape(op, "a source that differs on the assigned axis only", &[to, from]));
        }
        if start.checked_add(from[dim]).is_none_or(|end| end > to[dim]) {
            let index = start.saturating_add(from[dim]).min(i64::MAX as usize) as i64;
            return Err(Error::Index { op, index, size: to[dim] });
        }
        let range = |(k, &len)| SliceRange { start: if k == dim { start } else { 0 }, len, step: 1 };
        self.assigned(View::Slice(from.iter().enumerate().map(range).collect()), src)
    }

    /// The elements shifted along an axis; what leaves at one end comes back at the other.
    ///
    /// # Errors
    /// `Error::Axis`.
    pub fn roll(&self, shift: isize, dim: isize) -> Result<Tensor<R>> {
        let at = axis("roll", dim, self.ndim())?;
        let len = self.shape()[at];
        let shift = if len == 0 { 0 } else { shift.rem_euclid(isize::try_from(len).unwrap_or(isize::MAX)) as usize };
        if shift == 0 {
            return Ok(self.clone());
        }
        Tensor::cat(&[&self.narrow(dim, len - shift, shift)?, &self.narrow(dim, 0, len - shift)?], dim)
    }

    /// As [`Tensor::reshape`]; one size may be -1 and is found from the others.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// let x = Tensor::<CpuRuntime>::zeros(&[2, 6], DType::F32, &CpuDevice::new());
    /// assert_eq!(x.reshape_infer(&[3, -1])?.shape(), [3, 4]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Shape` if the sizes do not divide the number of elements; `Error::Argument` for another negative size or
    /// a second -1.
    pub fn reshape_infer(&self, shape: &[isize]) -> Result<Tensor<R>> {
        let open = shape.iter().filter(|&&d| d < 0).count();
        if open > 1 || shape.iter().any(|&d| d < -1) {
            return Err(Error::argument("reshape", "shape", format!("{shape:?} may hold one -1 and sizes")));
        }
        let known: usize = shape.iter().filter(|&&d| d >= 0).fold(1, |n, &d| n.saturating_mul(d as usize));
        if open == 1 && (known == 0 || !self.numel().is_multiple_of(known)) {
            let expected = format!("sizes that divide {} elements in {shape:?}", self.numel());
            return Err(Error::shape("reshape", expected, &[self.shape()]));
        }
        let to: Shape = shape.iter().map(|&d| if d < 0 { self.numel() / known } else { d as usize }).collect();
        self.reshape(&to)
    }

    /// The same elements under another shape. Another name for [`Tensor::reshape`].
    ///
    /// # Errors
    /// As [`Tensor::reshape`].
    pub fn view(&self, shape: &[usize]) -> Result<Tensor<R>> {
        self.reshape(shape)
    }

    /// All elements along one axis, row-major.
    ///
    /// # Errors
    /// Faults of the device, where the layout makes it a copy.
    pub fn flatten(&self) -> Result<Tensor<R>> {
        self.reshape(&[self.numel()])
    }

    /// Drops the axis if its size is 1, or all axes of size 1. Panics if there is no such axis;
    /// [`Tensor::squeeze_axes`] does not.
    #[track_caller]
    pub fn squeeze(&self, dim: Option<isize>) -> Tensor<R> {
        let ones = |k: &usize| self.shape()[*k] == 1;
        let axes: Result<AxisList> = match dim {
            Some(d) => Axes::from(d).resolve("squeeze", self.ndim()).map(|k| k.into_iter().filter(ones).collect()),
            None => Ok((0..self.ndim()).filter(ones).collect()),
        };
        or_panic(axes.and_then(|axes| self.squeeze_axes(&axes[..])))
    }

    /// Drops axes, which must be of size 1.
    ///
    /// # Errors
    /// `Error::Axis`, `Error::Shape` for an axis of another size.
    pub fn squeeze_axes(&self, axes: impl Into<Axes>) -> Result<Tensor<R>> {
        let axes = axes.into().resolve("squeeze", self.ndim())?;
        let layout = self.layout().squeeze("squeeze", &axes)?;
        self.view_as(View::Reshape(layout.shape().clone()))
    }

    /// Moves an axis to another place; the others keep their order.
    ///
    /// # Errors
    /// `Error::Axis`.
    pub fn movedim(&self, from: isize, to: isize) -> Result<Tensor<R>> {
        let (from, to) = (axis("movedim", from, self.ndim())?, axis("movedim", to, self.ndim())?);
        let mut order: AxisList = (0..self.ndim()).filter(|&k| k != from).collect();
        order.insert(to, from);
        self.view_as(View::Permute(order))
    }

    /// Swaps two axes. NumPy's name for [`Tensor::transpose`].
    ///
    /// # Errors
    /// `Error::Axis`.
    pub fn swapaxes(&self, a: isize, b: isize) -> Result<Tensor<R>> {
        self.transpose(a, b)
    }

    /// As [`Tensor::broadcast_to`]; a size of -1 keeps the axis as it is.
    ///
    /// # Errors
    /// `Error::Broadcast`; `Error::Argument` for another negative size.
    pub fn expand(&self, shape: &[isize]) -> Result<Tensor<R>> {
        let new = shape.len().saturating_sub(self.ndim());
        let size = |(k, &d): (usize, &isize)| match d {
            -1 if k >= new => self.shape().get(k - new).copied(),
            d => usize::try_from(d).ok(),
        };
        let to = shape.iter().enumerate().map(size).collect::<Option<Shape>>();
        let refuse =
            || Error::argument("expand", "shape", format!("{shape:?} may hold sizes, and -1 for an axis there is"));
        self.broadcast_to(&to.ok_or_else(refuse)?)
    }

    /// Reverses axes. The 0.5 name for [`Tensor::flip`] of several.
    ///
    /// # Errors
    /// `Error::Axis`.
    pub fn flip_dims(&self, dims: &[isize]) -> Result<Tensor<R>> {
        self.flip(dims)
    }

    /// All windows of `size` elements along an axis, `step` apart, as a last axis: a view.
    ///
    /// # Errors
    /// `Error::Axis`; `Error::Argument` for a window larger than the axis or a step of 0.
    pub fn unfold(&self, dim: isize, size: usize, step: usize) -> Result<Tensor<R>> {
        self.view_as(View::Unfold { axis: axis("unfold", dim, self.ndim())?, size, step })
    }

    /// The elements `[.., i, .., i + offset, ..]` of two axes as a last axis: a view.
    ///
    /// # Errors
    /// `Error::Axis`; `Error::Argument` for the same axis twice.
    pub fn diagonal(&self, offset: isize, a: isize, b: isize) -> Result<Tensor<R>> {
        let (a, b) = (axis("diagonal", a, self.ndim())?, axis("diagonal", b, self.ndim())?);
        self.view_as(View::Diagonal { offset, a, b })
    }

    /// Sum of the diagonal of the last two axes.
    ///
    /// # Errors
    /// `Error::Axis` for fewer than two axes.
    pub fn trace(&self) -> Result<Tensor<R>> {
        self.diagonal(0, -2, -1)?.sum(-1, false)
    }

    /// A square matrix with the elements, flattened, on its diagonal and zeros beside it.
    ///
    /// # Errors
    /// `Error::Argument` for a size that overflows.
    pub fn diagflat(&self) -> Result<Tensor<R>> {
        let n = self.numel();
        let base = Tensor::try_zeros(&[n, n], self.dtype(), self.device())?;
        base.assigned(View::Diagonal { offset: 0, a: 0, b: 1 }, &self.flatten()?)
    }

    /// The lower triangle of the last two axes: 0 where `column - row > diagonal`.
    ///
    /// # Errors
    /// `Error::Shape` for fewer than two axes.
    pub fn tril(&self, diagonal: i64) -> Result<Tensor<R>> {
        self.triangle("tril", diagonal, |row, column, k| column.le(row + k))
    }

    /// The upper triangle of the last two axes: 0 where `column - row < diagonal`.
    ///
    /// # Errors
    /// `Error::Shape` for fewer than two axes.
    pub fn triu(&self, diagonal: i64) -> Result<Tensor<R>> {
        self.triangle("triu", diagonal, |row, column, k| column.ge(row + k))
    }

    fn triangle(
        &self,
        op: &'static str,
        diagonal: i64,
        keep: impl for<'a> FnOnce(Expr<'a>, Expr<'a>, Expr<'a>) -> Expr<'a>,
    ) -> Result<Tensor<R>> {
        let Some(row) = self.ndim().checked_sub(2) else {
            return Err(Error::shape(op, "at least two axes", &[self.shape()]));
        };
        let graph = Graph::build(2, Class::Free, |arena, args| {
            let (i, j) = (arena.coord(row as u8), arena.coord(row as u8 + 1));
            let k = args[1].cast(crate::DType::I64);
            vec![Expr::select(keep(i, j, k), args[0], Expr::Lit(Lit::Bool(false)))]
        });
        Tensor::map(MapOp::Graph(graph), &[Operand::Tensor(self), Operand::Scalar(Lit::Int(diagonal))])
    }

    /// The tensors broadcast against each other: views of one shape.
    ///
    /// # Errors
    /// `Error::Broadcast`.
    pub fn broadcast_together(tensors: &[&Tensor<R>]) -> Result<Vec<Tensor<R>>> {
        let shapes: SmallVec<[&[usize]; 4]> = tensors.iter().map(|t| t.shape()).collect();
        let to = broadcast("broadcast", &shapes)?;
        tensors.iter().map(|t| t.broadcast_to(&to)).collect()
    }

    /// Coordinate grids of vectors: result k holds vector k along axis k (matrix indexing), broadcast over the others.
    ///
    /// # Errors
    /// `Error::Shape` for an operand of more than one axis.
    pub fn meshgrid(tensors: &[&Tensor<R>]) -> Result<Vec<Tensor<R>>> {
        if let Some(t) = tensors.iter().find(|t| t.ndim() > 1) {
            return Err(Error::shape("meshgrid", "vectors", &[t.shape()]));
        }
        let to: Shape = tensors.iter().map(|t| t.numel()).collect();
        let place = |(k, t): (usize, &&Tensor<R>)| {
            let shape: Shape = (0..to.len()).map(|j| if j == k { to[k] } else { 1 }).collect();
            t.reshape(&shape)?.broadcast_to(&to)
        };
        tensors.iter().enumerate().map(place).collect()
    }

    /// For a scalar, a vector of it (which axis 0 or -1 then names), so that what works along an axis takes scalars.
    pub(crate) fn along(&self, op: &'static str, dim: isize) -> Result<(Tensor<R>, usize)> {
        match self.ndim() {
            0 if matches!(dim, 0 | -1) => Ok((self.unsqueeze(0)?, 0)),
            n => Ok((self.clone(), axis(op, dim, n)?)),
        }
    }
}
