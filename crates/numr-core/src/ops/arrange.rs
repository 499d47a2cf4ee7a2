//! Arranging tensors: borders, stacks, diagonals and cuts.

use crate::dtype::DType;
use crate::element::Lit;
use crate::error::{Error, Result};
use crate::prim::{AxisList, View};
use crate::runtime::Runtime;
use crate::shape::axis;
use crate::tensor::Tensor;

/// What [`Tensor::pad_with`] puts around a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PadMode {
    /// One value.
    Constant(Lit),
    /// The inside, mirrored at the outermost element: `c b | a b c | b a`.
    Reflect,
    /// The outermost element: `a a | a b c | c c`.
    Replicate,
    /// The inside again: `b c | a b c | a b`.
    Circular,
    /// The inside, mirrored at the edge: `b a | a b c | c b`.
    Symmetric,
}

impl<R: Runtime> Tensor<R> {
    /// The tensor with a border: `(before, after)` elements for each axis.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// use numr_core::ops::arrange::PadMode;
    /// let x = Tensor::<CpuRuntime>::from_slice(&[1, 2, 3], &[3], &device);
    /// assert_eq!(x.pad_with(&[(2, 1)], PadMode::Reflect)?.to_vec::<i32>(), [3, 2, 1, 2, 3, 2]);
    /// assert_eq!(x.pad_with(&[(1, 2)], PadMode::Circular)?.to_vec::<i32>(), [3, 1, 2, 3, 1, 2]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Argument` unless there is one pair for each axis; `Error::Shape` for a border of an empty axis, or one wider
    /// than what it mirrors or repeats.
    pub fn pad_with(&self, widths: &[(usize, usize)], mode: PadMode) -> Result<Tensor<R>> {
        let op = "pad";
        if let PadMode::Constant(value) = mode {
            return self.pad(widths, value);
        }
        if widths.len() != self.ndim() {
            let reason = format!("{} pairs for {} axes", widths.len(), self.ndim());
            return Err(Error::argument(op, "widths", reason));
        }
        let mut x = self.clone();
        for (k, &(before, after)) in widths.iter().enumerate().filter(|(_, w)| **w != (0, 0)) {
            let (n, dim) = (self.shape()[k], k as isize);
            let most = match mode {
                PadMode::Reflect => n.saturating_sub(1),
                PadMode::Replicate if n > 0 => usize::MAX,
                _ => n,
            };
            if before.max(after) > most {
                let expected = format!("at least {} elements on axis {k}", before.max(after));
                return Err(Error::shape(op, expected, &[self.shape()]));
            }
            let part = |start, len| x.narrow(dim, start, len);
            let repeated = |at, count| {
                let mut to = x.meta_shape();
                to[k] = count;
                part(at, 1)?.broadcast_to(&to)
            };
            let (left, right) = match mode {
                PadMode::Reflect => (part(1, before)?.flip(dim)?, part(n - 1 - after, after)?.flip(dim)?),
                PadMode::Symmetric => (part(0, before)?.flip(dim)?, part(n - after, after)?.flip(dim)?),
                PadMode::Circular => (part(n - before, before)?, part(0, after)?),
                _ => (repeated(0, before)?, repeated(n - 1, after)?),
            };
            x = Tensor::cat(&[&left, &x, &right], dim)?;
        }
        Ok(x)
    }

    /// Views that together are the tensor, cut before each of these places along an axis.
    ///
    /// # Errors
    /// `Error::Axis`.
    pub fn split_at(&self, places: &[usize], dim: isize) -> Result<Vec<Tensor<R>>> {
        let n = self.shape()[axis("split", dim, self.ndim())?];
        let ends = places.iter().copied().chain([n]).map(|end| end.min(n));
        let mut start = 0;
        ends.map(|end| {
            let part = self.narrow(dim, start.min(end), end.saturating_sub(start));
            start = end;
            part
        })
        .collect()
    }

    /// `sections` views along an axis whose lengths differ by one at most, the longer first.
    ///
    /// # Errors
    /// `Error::Axis`; `Error::Argument` for no section.
    pub fn array_split(&self, sections: usize, dim: isize) -> Result<Vec<Tensor<R>>> {
        if sections == 0 {
            return Err(Error::argument("array_split", "sections", "at least one is needed"));
        }
        let n = self.shape()[axis("array_split", dim, self.ndim())?];
        let places: Vec<usize> = (1..sections).map(|k| k * (n / sections) + k.min(n % sections)).collect();
        self.split_at(&places, dim)
    }

    /// The tensor `counts[k]` times over along axis k, counted from the last; as `numpy.tile`.
    ///
    /// # Errors
    /// As [`Tensor::repeat`].
    pub fn tile(&self, counts: &[usize]) -> Result<Tensor<R>> {
        let missing = self.ndim().saturating_sub(counts.len());
        self.repeat(&[&vec![1; missing][..], counts].concat())
    }

    /// The part at one place along an axis, a view without the axis; a negative place counts from the end.
    ///
    /// # Errors
    /// `Error::Axis`; `Error::Index`.
    pub fn select(&self, dim: isize, index: isize) -> Result<Tensor<R>> {
        let at = axis("select", dim, self.ndim())?;
        let size = self.shape()[at];
        let place = if index < 0 { size.checked_sub(index.unsigned_abs()) } else { Some(index as usize) };
        let place = place.filter(|&p| p < size).ok_or(Error::Index { op: "select", index: index as i64, size })?;
        self.narrow(dim, place, 1)?.squeeze_axes(at)
    }

    /// The tensor with `src` in place of the part that [`Tensor::select`] takes.
    ///
    /// # Errors
    /// As [`Tensor::select`]; `Error::Shape` if the source has another shape.
    pub fn select_scatter(&self, src: &Tensor<R>, dim: isize, index: isize) -> Result<Tensor<R>> {
        let part = self.select(dim, index)?;
        if part.shape() != src.shape() {
            return Err(Error::shape("select_scatter", format!("a source of {:?}", part.shape()), &[src.shape()]));
        }
        let at = axis("select_scatter", dim, self.ndim())?;
        let place = if index < 0 { self.shape()[at] - index.unsigned_abs() } else { index as usize };
        self.slice_assign(&src.unsqueeze(at as isize)?, dim, place)
    }

    /// The tensor with `src` in place of the diagonal that [`Tensor::diagonal`] takes.
    ///
    /// # Errors
    /// As [`Tensor::diagonal`]; `Error::Shape` if the source has another shape.
    pub fn diagonal_scatter(&self, src: &Tensor<R>, offset: isize, a: isize, b: isize) -> Result<Tensor<R>> {
        let part = self.diagonal(offset, a, b)?;
        if part.shape() != src.shape() {
            return Err(Error::shape("diagonal_scatter", format!("a source of {:?}", part.shape()), &[src.shape()]));
        }
        let (a, b) = (axis("diagonal_scatter", a, self.ndim())?, axis("diagonal_scatter", b, self.ndim())?);
        self.assigned(View::Diagonal { offset, a, b }, src)
    }

    /// Matrices with the last axis on a diagonal, zeros beside it; the matrices' axes are the last two.
    ///
    /// # Errors
    /// `Error::Axis` for a scalar; `Error::Argument` for a size that overflows.
    pub fn diag_embed(&self, offset: isize) -> Result<Tensor<R>> {
        let last = axis("diag_embed", -1, self.ndim())?;
        let n = self.shape()[last].saturating_add(offset.unsigned_abs());
        let shape = [&self.shape()[..last], &[n, n]].concat();
        let base = Tensor::try_zeros(&shape, self.dtype(), self.device())?;
        base.assigned(View::Diagonal { offset, a: last, b: last + 1 }, self)
    }

    /// Of a vector the matrix with it on a diagonal; of a matrix that diagonal.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::from_slice(&[1, 2], &[2], &device);
    /// assert_eq!(x.diag(1)?.to_vec::<i32>(), [0, 1, 0, 0, 0, 2, 0, 0, 0]);
    /// assert_eq!(x.diag(1)?.diag(1)?.to_vec::<i32>(), [1, 2]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Shape` for other ranks.
    pub fn diag(&self, offset: isize) -> Result<Tensor<R>> {
        match self.ndim() {
            1 => self.diag_embed(offset),
            2 => self.diagonal(offset, 0, 1),
            _ => Err(Error::shape("diag", "a vector or a matrix", &[self.shape()])),
        }
    }

    /// A matrix of the operands along its diagonal, zeros beside them; a vector is a row.
    ///
    /// # Errors
    /// `Error::Argument` for no operand; `Error::Shape` for more than two axes.
    pub fn block_diag(blocks: &[&Tensor<R>]) -> Result<Tensor<R>> {
        let op = "block_diag";
        let promoted = Tensor::promoted(blocks)?;
        let Some(first) = promoted.first() else {
            return Err(Error::argument(op, "blocks", "at least one is needed"));
        };
        let matrix = |t: &Tensor<R>| match t.ndim() {
            0 | 1 => t.reshape(&[1, t.numel()]),
            2 => Ok(t.clone()),
            _ => Err(Error::shape(op, "matrices", &[t.shape()])),
        };
        let all = promoted.iter().map(matrix).collect::<Result<Vec<_>>>()?;
        let total = |k: usize| all.iter().fold(0usize, |n, t| n.saturating_add(t.shape()[k]));
        let mut y = Tensor::try_zeros(&[total(0), total(1)], first.dtype(), first.device())?;
        let (mut row, mut column) = (0, 0);
        for block in &all {
            let range = |start, len| crate::layout::SliceRange { start, len, step: 1 };
            let (m, n) = (block.shape()[0], block.shape()[1]);
            y = y.assigned(View::Slice([range(row, m), range(column, n)].into_iter().collect()), block)?;
            (row, column) = (row + m, column + n);
        }
        Ok(y)
    }

    /// Turned a quarter `times` times, from the first of the two axes towards the second.
    ///
    /// # Errors
    /// `Error::Axis`; `Error::Argument` for one axis twice.
    pub fn rot90(&self, times: isize, axes: [isize; 2]) -> Result<Tensor<R>> {
        let [a, b] = [axis("rot90", axes[0], self.ndim())?, axis("rot90", axes[1], self.ndim())?];
        if a == b {
            return Err(Error::argument("rot90", "axes", format!("{a} and {a} are one axis")));
        }
        let [a, b] = [a as isize, b as isize];
        match times.rem_euclid(4) {
            0 => Ok(self.clone()),
            1 => self.flip(b)?.transpose(a, b),
            2 => self.flip([a, b]),
            _ => self.transpose(a, b)?.flip(b),
        }
    }

    /// Moves axes to other places; the others keep their order.
    ///
    /// # Errors
    /// `Error::Axis`; `Error::Argument` for lists of different lengths or an axis twice.
    pub fn moveaxis(&self, from: &[isize], to: &[isize]) -> Result<Tensor<R>> {
        let op = "moveaxis";
        let find = |list: &[isize]| list.iter().map(|&d| axis(op, d, self.ndim())).collect::<Result<AxisList>>();
        let (from, to) = (find(from)?, find(to)?);
        let twice = |list: &AxisList| (1..list.len()).any(|k| list[..k].contains(&list[k]));
        if from.len() != to.len() || twice(&from) || twice(&to) {
            return Err(Error::argument(op, "axes", format!("{from:?} to {to:?} does not move different axes")));
        }
        let mut rest = (0..self.ndim()).filter(|k| !from.contains(k));
        let order = (0..self.ndim()).map(|k| match to.iter().position(|&t| t == k) {
            Some(i) => Some(from[i]),
            None => rest.next(),
        });
        let order: AxisList = order.flatten().collect();
        self.permute(&order[..])
    }

    /// With axes `start..=end` as one.
    ///
    /// # Errors
    /// `Error::Axis`; `Error::Argument` if the end lies before the start.
    pub fn flatten_axes(&self, start: isize, end: isize) -> Result<Tensor<R>> {
        let op = "flatten";
        let (a, b) = (axis(op, start, self.ndim())?, axis(op, end, self.ndim())?);
        if b < a {
            return Err(Error::argument(op, "end", format!("{end} lies before {start}")));
        }
        let merged = self.shape()[a..=b].iter().product();
        self.reshape(&[&self.shape()[..a], &[merged], &self.shape()[b + 1..]].concat())
    }

    /// With an axis as several; one of the sizes may be -1.
    ///
    /// # Errors
    /// As [`Tensor::reshape_infer`]; `Error::Axis`.
    pub fn unflatten(&self, dim: isize, sizes: &[isize]) -> Result<Tensor<R>> {
        let at = axis("unflatten", dim, self.ndim())?;
        // The size to find must make this axis, whatever the others are.
        let known = sizes.iter().filter(|&&d| d >= 0).fold(1usize, |n, &d| n.saturating_mul(d as usize));
        let open = sizes.iter().filter(|&&d| d == -1).count();
        let n = self.shape()[at];
        if sizes.iter().any(|&d| d < -1)
            || open > 1
            || (open == 0 && known != n)
            || (open == 1 && (known == 0 || !n.is_multiple_of(known)))
        {
            return Err(Error::shape("unflatten", format!("sizes that make {n}, not {sizes:?}"), &[self.shape()]));
        }
        let found = sizes.iter().map(|&d| if d < 0 { n / known } else { d as usize }).collect::<Vec<_>>();
        self.reshape(&[&self.shape()[..at], &found, &self.shape()[at + 1..]].concat())
    }

    /// With axes of size 1 in front, so that there are `n` at least.
    ///
    /// # Errors
    /// None but faults of the device.
    pub fn atleast(&self, n: usize) -> Result<Tensor<R>> {
        let missing = n.saturating_sub(self.ndim());
        self.reshape(&[&vec![1; missing][..], self.shape()].concat())
    }

    /// Vectors end to end; other tensors side by side along axis 1. As `numpy.hstack`.
    ///
    /// # Errors
    /// As [`Tensor::cat`].
    pub fn hstack(tensors: &[&Tensor<R>]) -> Result<Tensor<R>> {
        let all = tensors.iter().map(|t| t.atleast(1)).collect::<Result<Vec<_>>>()?;
        let dim = isize::from(all.first().is_some_and(|t| t.ndim() > 1));
        Tensor::cat(&all.iter().collect::<Vec<_>>(), dim)
    }

    /// Rows, and tensors of more axes, one below the other along axis 0. As `numpy.vstack`.
    ///
    /// # Errors
    /// As [`Tensor::cat`].
    pub fn vstack(tensors: &[&Tensor<R>]) -> Result<Tensor<R>> {
        let all = tensors.iter().map(|t| t.atleast(2)).collect::<Result<Vec<_>>>()?;
        Tensor::cat(&all.iter().collect::<Vec<_>>(), 0)
    }

    /// The tensors one behind the other along axis 2; vectors are columns of it. As `numpy.dstack`.
    ///
    /// # Errors
    /// As [`Tensor::cat`].
    pub fn dstack(tensors: &[&Tensor<R>]) -> Result<Tensor<R>> {
        let deep = |t: &&Tensor<R>| match t.ndim() {
            0 | 1 => t.reshape(&[1, t.numel(), 1]),
            2 => t.unsqueeze(2),
            _ => Ok((*t).clone()),
        };
        let all = tensors.iter().map(deep).collect::<Result<Vec<_>>>()?;
        Tensor::cat(&all.iter().collect::<Vec<_>>(), 2)
    }

    /// Vectors as columns, and matrices, side by side. As `numpy.column_stack`.
    ///
    /// # Errors
    /// As [`Tensor::cat`].
    pub fn column_stack(tensors: &[&Tensor<R>]) -> Result<Tensor<R>> {
        let tall = |t: &&Tensor<R>| if t.ndim() < 2 { t.reshape(&[t.numel(), 1]) } else { Ok((*t).clone()) };
        let all = tensors.iter().map(tall).collect::<Result<Vec<_>>>()?;
        Tensor::cat(&all.iter().collect::<Vec<_>>(), 1)
    }

    /// Each element as often in a row along an axis as `repeats`, a vector of integers, says for its place. The sum is read
    /// back from the device.
    ///
    /// # Errors
    /// `Error::Axis`; `Error::Shape` unless there is a number for each place; `Error::Argument` for a negative one.
    pub fn repeat_each(&self, repeats: &Tensor<R>, dim: isize) -> Result<Tensor<R>> {
        let op = "repeat_each";
        let at = axis(op, dim, self.ndim())?;
        let n = self.shape()[at];
        if repeats.shape() != [n] {
            return Err(Error::shape(op, format!("{n} repeats"), &[self.shape(), repeats.shape()]));
        }
        let counts = repeats.as_index(op)?;
        let (total, least) = match n {
            0 => (0, 0),
            _ => (counts.sum(.., false)?.item::<i64>()?, counts.min(.., false)?.item::<i64>()?),
        };
        if least < 0 {
            return Err(Error::argument(op, "repeats", format!("{least} is negative")));
        }
        let places = Tensor::try_arange(0.0, total as f64, 1.0, DType::I64, self.device())?;
        self.index_select(dim, &counts.cumsum(0)?.searchsorted(&places, true)?)
    }

    /// Coordinates of the lower triangle of `[rows, columns]` matrices, where `column - row <= offset`: `[2, count]`.
    ///
    /// # Errors
    /// Faults of the device.
    pub fn tril_indices(rows: usize, columns: usize, offset: i64, device: &R::Device) -> Result<Tensor<R>> {
        Tensor::try_ones(&[rows, columns], DType::Bool, device)?.tril(offset)?.nonzero()?.t()
    }

    /// Coordinates of the upper triangle of `[rows, columns]` matrices, where `column - row >= offset`: `[2, count]`.
    ///
    /// # Errors
    /// Faults of the device.
    pub fn triu_indices(rows: usize, columns: usize, offset: i64, device: &R::Device) -> Result<Tensor<R>> {
        Tensor::try_ones(&[rows, columns], DType::Bool, device)?.triu(offset)?.nonzero()?.t()
    }

    /// Powers of the elements of a vector as columns, x⁰ to x^(n-1), or the other way round if `decreasing`.
    ///
    /// # Errors
    /// As [`Tensor::pow`].
    pub fn vander(&self, n: usize, decreasing: bool) -> Result<Tensor<R>> {
        let last = n as f64 - 1.0;
        let (start, stop, step) = if decreasing { (last, -1.0, -1.0) } else { (0.0, n as f64, 1.0) };
        let powers = Tensor::try_arange(start, stop, step, DType::I64, self.device())?;
        self.unsqueeze(-1)?.pow(&powers.cast(self.dtype())?)
    }

    /// The channels, axis 1, of `groups` groups in turn: `[n, groups, c, ..]` to `[n, c, groups, ..]`.
    ///
    /// # Errors
    /// `Error::Argument` unless the groups divide the channels.
    pub fn channel_shuffle(&self, groups: usize) -> Result<Tensor<R>> {
        let op = "channel_shuffle";
        let Some(&channels) = self.shape().get(1) else {
            return Err(Error::shape(op, "[n, channels, ..]", &[self.shape()]));
        };
        if groups == 0 || channels % groups != 0 {
            return Err(Error::argument(op, "groups", format!("{groups} groups do not divide {channels} channels")));
        }
        let apart = self.unflatten(1, &[groups as isize, -1])?;
        apart.transpose(1, 2)?.reshape(self.shape())
    }

    /// Channels as pixels: `[.., c·r², h, w]` to `[.., c, h·r, w·r]`.
    ///
    /// # Errors
    /// `Error::Shape` unless r² divides the channels.
    pub fn pixel_shuffle(&self, r: usize) -> Result<Tensor<R>> {
        let &[ref lead @ .., c, h, w] = self.shape() else {
            return Err(Error::shape("pixel_shuffle", "[.., c·r², h, w]", &[self.shape()]));
        };
        if r == 0 || c % (r * r) != 0 {
            return Err(Error::shape("pixel_shuffle", format!("a multiple of {r}² channels"), &[self.shape()]));
        }
        let n = lead.iter().product();
        let apart = self.reshape(&[n, c / (r * r), r, r, h, w])?.permute([0, 1, 4, 2, 5, 3])?;
        apart.reshape(&[lead, &[c / (r * r), h * r, w * r]].concat())
    }

    /// Pixels as channels: `[.., c, h·r, w·r]` to `[.., c·r², h, w]`.
    ///
    /// # Errors
    /// `Error::Shape` unless r divides both sides.
    pub fn pixel_unshuffle(&self, r: usize) -> Result<Tensor<R>> {
        let &[ref lead @ .., c, h, w] = self.shape() else {
            return Err(Error::shape("pixel_unshuffle", "[.., c, h·r, w·r]", &[self.shape()]));
        };
        if r == 0 || h % r != 0 || w % r != 0 {
            return Err(Error::shape("pixel_unshuffle", format!("sides that {r} divides"), &[self.shape()]));
        }
        let n = lead.iter().product();
        let apart = self.reshape(&[n, c, h / r, r, w / r, r])?.permute([0, 1, 3, 5, 2, 4])?;
        apart.reshape(&[lead, &[c * r * r, h / r, w / r]].concat())
    }

    /// A tensor of one axis more: element `[k, ..]` is the coordinate along axis k. As `numpy.indices`.
    ///
    /// # Errors
    /// Faults of the device.
    pub fn indices(shape: &[usize], device: &R::Device) -> Result<Tensor<R>> {
        let axes = shape.iter().map(|&d| Tensor::try_arange(0.0, d as f64, 1.0, DType::I64, device));
        let axes = axes.collect::<Result<Vec<_>>>()?;
        if axes.is_empty() {
            return Tensor::try_zeros(&[0], DType::I64, device);
        }
        let grids = Tensor::meshgrid(&axes.iter().collect::<Vec<_>>())?;
        Tensor::stack(&grids.iter().collect::<Vec<_>>(), 0)
    }

    /// Do the two have one shape and equal elements?
    ///
    /// # Errors
    /// Faults of the device.
    pub fn array_equal(&self, other: &Tensor<R>) -> Result<bool> {
        Ok(self.shape() == other.shape() && self.eq(other)?.all(.., false)?.item::<bool>()?)
    }

    /// Where |x - y| ≤ atol + rtol·|y|; NaN is close to NaN if `equal_nan`.
    ///
    /// # Errors
    /// `Error::Broadcast`; `Error::Argument` for a negative tolerance.
    pub fn isclose(&self, other: &Tensor<R>, rtol: f64, atol: f64, equal_nan: bool) -> Result<Tensor<R>> {
        if !(rtol >= 0.0 && atol >= 0.0) {
            return Err(Error::argument("isclose", "tolerance", format!("{rtol} and {atol} must not be negative")));
        }
        let both = Tensor::floating(&[self, other])?;
        let (x, y) = (&both[0], &both[1]);
        let near = x.sub(y)?.abs()?.le(&y.abs()?.mul(rtol)?.add(atol)?)?;
        // An infinity is close to itself alone.
        let near = near.logical_and(&y.isfinite()?)?.logical_or(&x.eq(y)?)?;
        if equal_nan { near.logical_or(&x.isnan()?.logical_and(&y.isnan()?)?) } else { Ok(near) }
    }

    /// Is every element close, as [`Tensor::isclose`] says?
    ///
    /// # Errors
    /// As [`Tensor::isclose`].
    pub fn allclose(&self, other: &Tensor<R>, rtol: f64, atol: f64, equal_nan: bool) -> Result<bool> {
        self.isclose(other, rtol, atol, equal_nan)?.all(.., false)?.item::<bool>()
    }

    /// The first half along an axis times the sigmoid of the second.
    ///
    /// # Errors
    /// `Error::Axis`; `Error::Shape` for an odd axis.
    pub fn glu(&self, dim: isize) -> Result<Tensor<R>> {
        let n = self.shape()[axis("glu", dim, self.ndim())?];
        if !n.is_multiple_of(2) {
            return Err(Error::shape("glu", "an even axis", &[self.shape()]));
        }
        self.narrow(dim, n / 2, n / 2)?.sigmoid_mul(&self.narrow(dim, 0, n / 2)?)
    }

    /// Angle of complex numbers in radians, atan2(im, re); of real ones 0 or π.
    ///
    /// # Errors
    /// Faults of the device.
    pub fn angle(&self) -> Result<Tensor<R>> {
        if self.dtype().is_complex() {
            return self.imag()?.atan2(&self.real()?);
        }
        let (x, dtype) = self.inexact()?;
        x.lt(0)?.where_cond(std::f64::consts::PI, &x.isnan()?.where_cond(&x, 0.0)?)?.cast(dtype)
    }

    /// Complex numbers of these moduli and angles in radians.
    ///
    /// # Errors
    /// As [`Tensor::mul`] and [`Tensor::complex`].
    pub fn polar(&self, angle: &Tensor<R>) -> Result<Tensor<R>> {
        self.mul(&angle.cos()?)?.complex(&self.mul(&angle.sin()?)?)
    }

    /// NaN as one number, infinities as others; without them the largest and the least of the dtype.
    ///
    /// # Errors
    /// Faults of the device.
    pub fn nan_to_num(&self, nan: f64, posinf: Option<f64>, neginf: Option<f64>) -> Result<Tensor<R>> {
        if !self.dtype().is_float() {
            return Ok(self.clone());
        }
        let (high, low) = (posinf.unwrap_or(self.dtype().max_value()), neginf.unwrap_or(self.dtype().min_value()));
        let x = self.masked_fill(&self.isnan()?, nan)?;
        x.masked_fill(&self.eq(f64::INFINITY)?, high)?.masked_fill(&self.eq(f64::NEG_INFINITY)?, low)
    }

    /// sin(πx)/(πx), 1 at 0.
    ///
    /// # Errors
    /// Faults of the device.
    pub fn sinc(&self) -> Result<Tensor<R>> {
        let (x, dtype) = self.inexact()?;
        let zero = x.eq(0)?;
        let angle = zero.where_cond(1.0, &x)?.mul(std::f64::consts::PI)?;
        zero.where_cond(1.0, &angle.sin()?.div(&angle)?)?.cast(dtype)
    }

    /// The sign of real numbers, x/|x| of complex ones, 0 of 0.
    ///
    /// # Errors
    /// Faults of the device.
    pub fn sgn(&self) -> Result<Tensor<R>> {
        if !self.dtype().is_complex() {
            return self.sign();
        }
        let size = self.abs()?;
        let zero = size.eq(0)?;
        self.div(&zero.where_cond(1.0, &size)?)
    }
}
