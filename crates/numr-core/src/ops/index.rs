//! Reading and writing by index. An index is a tensor of any integer dtype; negative numbers count from the end.

use super::fuse::{formula, fuse};
use super::operands::{Operand, lit_in};
use crate::dtype::DType;
use crate::element::Lit;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::prim::{MapOp, Prim, ScatterOp};
use crate::runtime::Runtime;
use crate::scalar::expr::Expr;
use crate::scalar::graph::{Class, Graph};
use crate::scalar::{Int, Scalar};
use crate::shape::{Shape, axis, broadcast};
use crate::tensor::Tensor;

/// How [`Tensor::scatter_reduce`] combines what meets at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScatterReduceOp {
    /// Sum.
    Sum,
    /// Arithmetic mean; of integers, rounded down.
    Mean,
    /// Largest.
    Max,
    /// Smallest.
    Min,
    /// Product.
    Prod,
}

impl<R: Runtime> Tensor<R> {
    /// `y[.., i, ..] = x[.., index[.., i, ..], ..]` along an axis; the result has the index's shape.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::from_slice(&[1, 2, 3, 4], &[2, 2], &device);
    /// let index = Tensor::from_slice(&[1u8, 0], &[2, 1], &device);
    /// assert_eq!(x.gather(1, &index)?.to_vec::<i32>(), [2, 3]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Shape` unless the index has the tensor's rank and is not larger on the other axes; `Error::Index` out of
    /// range.
    pub fn gather(&self, dim: isize, index: &Tensor<R>) -> Result<Tensor<R>> {
        let (x, axis) = self.along("gather", dim)?;
        let i = index.as_index("gather")?;
        let flat = if self.ndim() == 0 && i.ndim() == 0 { i.unsqueeze(0)? } else { i };
        let y = Tensor::run_one(&Prim::Gather { axis }, &[&x, &flat])?;
        if index.ndim() == 0 { y.reshape(&[]) } else { Ok(y) }
    }

    /// The tensor with `src` written where the index says: `y[.., index[.., i, ..], ..] = src[.., i, ..]`. Of equal
    /// indices the last one stays.
    ///
    /// # Errors
    /// As [`Tensor::gather`]; `Error::Shape` unless `src` has the index's shape.
    pub fn scatter(&self, dim: isize, index: &Tensor<R>, src: &Tensor<R>) -> Result<Tensor<R>> {
        self.scatter_with(ScatterOp::Set, dim, index, src)
    }

    /// As [`Tensor::scatter`], adding; equal indices add up in the order of `src`.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::zeros(&[3], DType::F32, &device);
    /// let index = Tensor::from_slice(&[2, 0, 2], &[3], &device);
    /// let y = x.scatter_add(0, &index, &Tensor::ones(&[3], DType::F32, &device))?;
    /// assert_eq!(y.to_vec::<f32>(), [1.0, 0.0, 2.0]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::scatter`].
    pub fn scatter_add(&self, dim: isize, index: &Tensor<R>, src: &Tensor<R>) -> Result<Tensor<R>> {
        self.scatter_with(ScatterOp::Add, dim, index, src)
    }

    /// As [`Tensor::scatter`], combining by `op` what is there with what comes.
    ///
    /// # Errors
    /// As [`Tensor::scatter`]; `Error::DType` for the smaller or larger of complex numbers.
    pub fn scatter_with(&self, op: ScatterOp, dim: isize, index: &Tensor<R>, src: &Tensor<R>) -> Result<Tensor<R>> {
        let (x, axis) = self.along("scatter", dim)?;
        let lift = |t: Tensor<R>| if self.ndim() == 0 && t.ndim() == 0 { t.unsqueeze(0) } else { Ok(t) };
        let (index, src) = (lift(index.as_index("scatter")?)?, lift(src.cast(self.dtype())?)?);
        Tensor::run_one(&Prim::Scatter { axis, op }, &[&x, &index, &src])?.reshape(self.shape())
    }

    /// The slices of an axis that a vector of indices names, in its order.
    ///
    /// # Errors
    /// `Error::Axis`; `Error::Shape` unless the index is a vector; `Error::Index` out of range.
    pub fn index_select(&self, dim: isize, index: &Tensor<R>) -> Result<Tensor<R>> {
        let op = "index_select";
        let axis = axis(op, dim, self.ndim())?;
        let spread = self.spread_index(op, axis, index)?;
        Tensor::run_one(&Prim::Gather { axis }, &[self, &spread])
    }

    /// The tensor with slices of an axis, named by a vector of indices, replaced by those of `src`.
    ///
    /// # Errors
    /// As [`Tensor::index_select`]; `Error::Shape` unless `src` has the shape of that selection.
    pub fn index_put(&self, dim: isize, index: &Tensor<R>, src: &Tensor<R>) -> Result<Tensor<R>> {
        self.index_with(ScatterOp::Set, dim, index, src)
    }

    /// As [`Tensor::index_put`], adding.
    ///
    /// # Errors
    /// As [`Tensor::index_put`].
    pub fn index_add(&self, dim: isize, index: &Tensor<R>, src: &Tensor<R>) -> Result<Tensor<R>> {
        self.index_with(ScatterOp::Add, dim, index, src)
    }

    fn index_with(&self, op: ScatterOp, dim: isize, index: &Tensor<R>, src: &Tensor<R>) -> Result<Tensor<R>> {
        let axis = axis("index_put", dim, self.ndim())?;
        let spread = self.spread_index("index_put", axis, index)?;
        Tensor::run_one(&Prim::Scatter { axis, op }, &[self, &spread, &src.cast(self.dtype())?])
    }

    /// The tensor as an index: i64.
    pub(crate) fn as_index(&self, op: &'static str) -> Result<Tensor<R>> {
        if !self.dtype().is_int() {
            return Err(Error::dtype(op, &[self.dtype()], "an index of integers"));
        }
        if self.dtype() == DType::U64 {
            // Past i64 there is no element: it must not come back as one counted from the end.
            return fuse([self], |[i]| i.min(Expr::Lit(Lit::UInt(i64::MAX as u64))).cast(DType::I64));
        }
        self.cast(DType::I64)
    }

    /// A vector of indices along `axis`, the same everywhere on the others.
    fn spread_index(&self, op: &'static str, axis: usize, index: &Tensor<R>) -> Result<Tensor<R>> {
        if index.ndim() > 1 {
            return Err(Error::shape(op, "a vector of indices", &[self.shape(), index.shape()]));
        }
        let mut shape: Shape = std::iter::repeat_n(1, self.ndim()).collect();
        shape[axis] = index.numel();
        let mut to = self.meta_shape();
        to[axis] = index.numel();
        index.as_index(op)?.reshape(&shape)?.broadcast_to(&to)
    }

    /// As [`Tensor::gather`], after the other axes of tensor and index are broadcast against each other.
    ///
    /// # Errors
    /// As [`Tensor::gather`]; `Error::Broadcast`.
    pub fn take_along(&self, index: &Tensor<R>, dim: isize) -> Result<Tensor<R>> {
        let op = "take_along";
        let (x, axis) = self.along(op, dim)?;
        let index = if self.ndim() == 0 && index.ndim() == 0 { index.unsqueeze(0)? } else { index.clone() };
        if index.ndim() != x.ndim() {
            return Err(Error::shape(op, "an index of the tensor's rank", &[self.shape(), index.shape()]));
        }
        let without = |s: &[usize]| -> Shape { (0..s.len()).map(|k| if k == axis { 1 } else { s[k] }).collect() };
        let mut to = broadcast(op, &[&without(x.shape()), &without(index.shape())])?;
        to[axis] = x.shape()[axis];
        let x = x.broadcast_to(&to)?;
        to[axis] = index.shape()[axis];
        let y = x.gather(axis as isize, &index.broadcast_to(&to)?)?;
        if self.ndim() == 0 { y.reshape(&[]) } else { Ok(y) }
    }

    /// The elements at row-major positions; the result has the index's shape.
    ///
    /// # Errors
    /// `Error::Index` out of range.
    pub fn take(&self, index: &Tensor<R>) -> Result<Tensor<R>> {
        self.flatten()?.gather(0, &index.flatten()?)?.reshape(index.shape())
    }

    /// The tensor with `src` written at row-major positions; of equal ones the last stays.
    ///
    /// # Errors
    /// `Error::Index` out of range; `Error::Broadcast` if `src` does not broadcast to the index.
    pub fn put(&self, index: &Tensor<R>, src: &Tensor<R>) -> Result<Tensor<R>> {
        let src = src.broadcast_to(index.shape())?.flatten()?;
        self.flatten()?.scatter(0, &index.flatten()?, &src)?.reshape(self.shape())
    }

    /// Rows of a table: for a table `[n, ..]` and an index of any shape, `index.shape ++ [..]`.
    ///
    /// # Errors
    /// `Error::Axis` for a scalar table; `Error::Index` out of range.
    pub fn embedding_lookup(&self, index: &Tensor<R>) -> Result<Tensor<R>> {
        let rows = self.index_select(0, &index.flatten()?)?;
        let shape: Shape = index.shape().iter().chain(&self.shape()[1..]).copied().collect();
        rows.reshape(&shape)
    }

    /// The elements at coordinates along the last axis of the index: `index.shape[..-1] ++ shape[m..]` for an index
    /// whose last axis has size m.
    ///
    /// # Errors
    /// `Error::Shape` if there are more coordinates than axes; `Error::Index` if one lies outside of its axis.
    pub fn gather_nd(&self, index: &Tensor<R>) -> Result<Tensor<R>> {
        let op = "gather_nd";
        let m = index.shape().last().copied().filter(|&m| m <= self.ndim());
        let Some(m) = m else {
            return Err(Error::shape(op, "coordinates for some of the axes", &[self.shape(), index.shape()]));
        };
        let (lead, rest) = self.shape().split_at(m);
        // Beside an axis of size 0 the others may be of any size.
        let rows = |s: &[usize]| s.iter().fold(1usize, |n, &d| n.saturating_mul(d));
        let sizes = Tensor::try_from_slice(&lead.iter().map(|&d| d as i64).collect::<Vec<_>>(), &[m], self.device())?;
        let steps: Vec<i64> = (0..m).map(|k| rows(&lead[k + 1..]) as i64).collect();
        let steps = Tensor::try_from_slice(&steps, &[m], self.device())?;
        let at = fuse([&index.as_index(op)?, &sizes, &steps], |[i, n, s]| {
            // An index outside of its axis must not be taken for a neighbour: it becomes one that is refused.
            let wrapped = Expr::select(i.lt(Expr::int(0)), i + n, i);
            let inside = Expr::int(0).le(wrapped) & wrapped.lt(n);
            Expr::select(inside, wrapped * s, Expr::int(i64::MAX >> 8))
        })?;
        let flat = at.sum(-1, false)?;
        let table: Shape = std::iter::once(rows(lead)).chain(rest.iter().copied()).collect();
        let found = self.reshape(&table)?.embedding_lookup(&flat);
        // The flattened place is none that the caller knows.
        if let Err(Error::Index { .. }) = found {
            let index = index.as_index(op)?;
            for (k, &size) in lead.iter().enumerate() {
                let (low, high) = index.narrow(-1, k, 1)?.aminmax(.., false)?;
                for at in [low.item::<i64>()?, high.item::<i64>()?] {
                    if at >= size as i64 || at < -(size as i64) {
                        return Err(Error::Index { op, index: at, size });
                    }
                }
            }
        }
        found
    }

    /// The tensor with `value`, in its dtype, where the mask holds; the two broadcast.
    ///
    /// # Errors
    /// `Error::Broadcast`.
    pub fn masked_fill(&self, mask: &Tensor<R>, value: impl Into<Lit>) -> Result<Tensor<R>> {
        let value = Operand::Scalar(lit_in(self.dtype(), value));
        let graph = formula(|[x, m, v]| Expr::select(m, v, x));
        Tensor::map(MapOp::Graph(graph), &[self.into(), mask.into(), value])
    }

    /// The elements where the mask holds, row-major, as a vector; the two broadcast.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::from_slice(&[3, -1, 4], &[3], &device);
    /// assert_eq!(x.masked_select(&x.gt(0)?)?.to_vec::<i32>(), [3, 4]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Broadcast`.
    pub fn masked_select(&self, mask: &Tensor<R>) -> Result<Tensor<R>> {
        let both = Tensor::broadcast_together(&[self, mask])?;
        both[0].flatten()?.gather(0, &both[1].positions()?)
    }

    /// Row-major positions of the elements that are not zero.
    fn positions(&self) -> Result<Tensor<R>> {
        Tensor::run_one(&Prim::Nonzero, &[self])
    }

    /// The coordinates (i64) of the elements that are not zero, row-major: `[count, ndim]`.
    ///
    /// # Errors
    /// Faults of the device.
    pub fn nonzero(&self) -> Result<Tensor<R>> {
        let shape = self.shape();
        let row_major = Layout::contiguous(shape);
        let column = |v: Vec<i64>| Tensor::try_from_slice(&v, &[shape.len()], self.device());
        // A size of 0 has no elements to divide for.
        let steps = column(row_major.strides().iter().map(|&s| (s as i64).max(1)).collect())?;
        let sizes = column(shape.iter().map(|&d| (d as i64).max(1)).collect())?;
        fuse([&self.positions()?.unsqueeze(-1)?, &steps, &sizes], |[at, s, n]| (at / s) % n)
    }

    /// 1 (f32) at each index along a new last axis of size `classes`, else 0; an index that is not there gives zeros.
    ///
    /// # Errors
    /// `Error::DType` unless the tensor is of integers.
    pub fn one_hot(&self, classes: usize) -> Result<Tensor<R>> {
        let mut shape = self.meta_shape();
        shape.push(classes);
        let index = self.as_index("one_hot")?.unsqueeze(-1)?.broadcast_to(&shape)?;
        let last = self.ndim() as u8;
        let graph = Graph::build(1, Class::Free, |arena, args| vec![args[0].eq(arena.coord(last)).cast(DType::F32)]);
        Tensor::map(MapOp::Graph(graph), &[Operand::Tensor(&index)])
    }

    /// `x` where the mask holds, else `y`; all broadcast, x and y promote.
    ///
    /// # Errors
    /// As [`Tensor::where_cond`].
    pub fn where_(mask: &Tensor<R>, x: &Tensor<R>, y: &Tensor<R>) -> Result<Tensor<R>> {
        mask.where_cond(x, y)
    }

    /// As [`Tensor::scatter`], combining all that meets at one place; what is there already counts if `include_self`.
    ///
    /// # Errors
    /// As [`Tensor::scatter_with`].
    pub fn scatter_reduce(
        &self,
        dim: isize,
        index: &Tensor<R>,
        src: &Tensor<R>,
        op: ScatterReduceOp,
        include_self: bool,
    ) -> Result<Tensor<R>> {
        let dtype = self.dtype();
        let least = if dtype.is_float() { f64::NEG_INFINITY } else { dtype.min_value() };
        let most = if dtype.is_float() { f64::INFINITY } else { dtype.max_value() };
        let (how, neutral) = match op {
            ScatterReduceOp::Sum | ScatterReduceOp::Mean => (ScatterOp::Add, 0.0),
            ScatterReduceOp::Prod => (ScatterOp::Mul, 1.0),
            ScatterReduceOp::Max => (ScatterOp::Max, least),
            ScatterReduceOp::Min => (ScatterOp::Min, most),
        };
        let start = |base: &Tensor<R>, neutral: f64| {
            if include_self { Ok(base.clone()) } else { base.scatter(dim, index, &src.full_like(neutral)?) }
        };
        let total = start(self, neutral)?.scatter_with(how, dim, index, src)?;
        if op != ScatterReduceOp::Mean {
            return Ok(total);
        }
        let count = start(&self.ones_like()?, 0.0)?.scatter_add(dim, index, &src.ones_like()?)?;
        if dtype.is_int() { total.floor_divide(&count) } else { total.div(&count) }
    }

    /// The tensor with `value` at these places along an axis.
    ///
    /// # Errors
    /// `Error::Axis`; `Error::Index` out of range; `Error::Shape` unless the index is a vector.
    pub fn index_fill(&self, dim: isize, index: &Tensor<R>, value: impl Into<Lit>) -> Result<Tensor<R>> {
        let (x, axis) = self.along("index_fill", dim)?;
        let mut shape = x.meta_shape();
        shape[axis] = index.numel();
        let value = lit_in(self.dtype(), value);
        let src = Tensor::try_full(&[], value, self.dtype(), self.device())?.broadcast_to(&shape)?;
        x.index_put(axis as isize, index, &src)?.reshape(self.shape())
    }

    /// As [`Tensor::index_put`], combining all that meets at one place; what is there already counts if `include_self`.
    ///
    /// # Errors
    /// As [`Tensor::index_put`].
    pub fn index_reduce(
        &self,
        dim: isize,
        index: &Tensor<R>,
        src: &Tensor<R>,
        op: ScatterReduceOp,
        include_self: bool,
    ) -> Result<Tensor<R>> {
        let axis = axis("index_reduce", dim, self.ndim())?;
        let index = self.spread_index("index_reduce", axis, index)?;
        if index.shape() != src.shape() {
            return Err(Error::shape("index_reduce", "a source of the index's length", &[self.shape(), src.shape()]));
        }
        self.scatter_reduce(dim, &index, src, op, include_self)
    }

    /// The tensor with the elements of the source, row-major, one after the other where the mask holds.
    ///
    /// # Errors
    /// `Error::Broadcast`; `Error::Index` if the source has too few elements.
    pub fn masked_scatter(&self, mask: &Tensor<R>, source: &Tensor<R>) -> Result<Tensor<R>> {
        let both = Tensor::broadcast_together(&[self, mask])?;
        let places = both[1].positions()?;
        let src = source.cast(self.dtype())?.flatten()?;
        if places.numel() > src.numel() {
            return Err(Error::Index { op: "masked_scatter", index: places.numel() as i64, size: src.numel() });
        }
        let src = src.narrow(0, 0, places.numel())?;
        both[0].flatten()?.scatter(0, &places, &src)?.reshape(both[0].shape())
    }

    /// How often each of 0, 1, .. occurs (i64), or the sum of its weights: a vector of at least `min_length`. The largest
    /// element is read back from the device.
    ///
    /// # Errors
    /// `Error::DType` unless the tensor is of integers; `Error::Argument` for a negative number; `Error::Shape` unless
    /// there are as many weights.
    pub fn bincount(&self, weights: Option<&Tensor<R>>, min_length: usize) -> Result<Tensor<R>> {
        let op = "bincount";
        let index = self.as_index(op)?.flatten()?;
        if let Some(w) = weights.filter(|w| w.shape() != self.shape()) {
            return Err(Error::shape(op, "a weight for each element", &[self.shape(), w.shape()]));
        }
        let (mut low, mut high) = (0, -1);
        if !index.is_empty() {
            (low, high) = (index.min(.., false)?.item::<i64>()?, index.max(.., false)?.item::<i64>()?);
        }
        if low < 0 {
            return Err(Error::argument(op, "input", format!("{low} is negative")));
        }
        let length = usize::try_from(high.saturating_add(1)).unwrap_or(0).max(min_length);
        let ones = weights.is_none().then(|| index.ones_like()).transpose()?;
        let src = weights.or(ones.as_ref()).unwrap_or(&index).flatten()?;
        Tensor::try_zeros(&[length], src.dtype(), self.device())?.scatter_add(0, &index, &src)
    }
}
