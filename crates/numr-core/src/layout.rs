//! Where the elements of a tensor lie in its storage, and the views that only change that.

use smallvec::SmallVec;

use crate::error::{Error, Result};
use crate::shape::{Shape, Strides, numel, try_numel};

/// Shape, strides and offset, in elements: element `i` lies at `offset + sum(i[k] * strides[k])`.
///
/// Can only be built valid: the number of elements fits `isize`, and every element lies at an offset that is neither
/// negative nor past the storage it was checked against. Views of it stay inside what it reached.
///
/// ```
/// use numr_core::Layout;
/// let layout = Layout::contiguous([2, 3]).transpose("doc", 0, 1)?;
/// assert_eq!(layout.offsets().collect::<Vec<_>>(), [0, 3, 1, 4, 2, 5]);
/// # Ok::<(), numr_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    shape: Shape,
    strides: Strides,
    offset: usize,
}

/// The part of one axis that [`Layout::slice`] takes: `len` elements from `start` on, `step` apart.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct SliceRange {
    /// The first element taken; not looked at when `len` is 0.
    pub start: usize,
    /// How many are taken.
    pub len: usize,
    /// From one to the next: not 0, may be negative.
    pub step: isize,
}

/// Strides of row-major order. They saturate where no memory could hold the shape, and so never wrap.
#[inline]
fn row_major(shape: &[usize]) -> Strides {
    let mut strides = Strides::from_elem(1, shape.len());
    let mut step = 1usize;
    for (s, &d) in strides.iter_mut().zip(shape).rev() {
        *s = isize::try_from(step).unwrap_or(isize::MAX);
        step = step.saturating_mul(d.max(1));
    }
    strides
}

/// The least and the greatest offset reached, or `None` if one does not fit.
fn reach(shape: &[usize], strides: &[isize], offset: usize) -> Option<(isize, isize)> {
    let offset = isize::try_from(offset).ok()?;
    shape.iter().zip(strides).try_fold((offset, offset), |(min, max), (&d, &s)| {
        let end = isize::try_from(d - 1).ok()?.checked_mul(s)?;
        Some((min.checked_add(end.min(0))?, max.checked_add(end.max(0))?))
    })
}

impl Layout {
    /// Row-major order without gaps, from offset 0.
    ///
    /// `shape` must have passed [`Shape::try_numel`]; of one that would not, [`Layout::numel`] is `usize::MAX`, so that
    /// no allocation succeeds. [`Layout::try_contiguous`] checks.
    #[inline]
    pub fn contiguous(shape: impl Into<Shape>) -> Layout {
        let shape = shape.into();
        Layout { strides: row_major(&shape), shape, offset: 0 }
    }

    /// [`Layout::contiguous`] of a shape not checked yet.
    ///
    /// **Errors**: [`Error::Argument`] if there are more than `isize::MAX` elements.
    pub fn try_contiguous(op: &'static str, shape: impl Into<Shape>) -> Result<Layout> {
        let shape = shape.into();
        shape.try_numel(op)?;
        Ok(Layout::contiguous(shape))
    }

    /// Any layout over a storage of `storage_len` elements.
    ///
    /// **Errors**: [`Error::Argument`] if the lengths of `shape` and `strides` differ, if there are more than
    /// `isize::MAX` elements, or if one lies outside of the storage.
    pub fn try_new(
        shape: impl Into<Shape>,
        strides: impl Into<Strides>,
        offset: usize,
        storage_len: usize,
    ) -> Result<Layout> {
        const OP: &str = "as_strided";
        let (shape, strides) = (shape.into(), strides.into());
        if shape.len() != strides.len() {
            return Err(Error::argument(OP, "strides", format!("{strides} has not one stride per axis of {shape}")));
        }
        let inside = if shape.try_numel(OP)? == 0 {
            offset <= storage_len
        } else {
            reach(&shape, &strides, offset).is_some_and(|(min, max)| min >= 0 && (max as usize) < storage_len)
        };
        if !inside {
            let reason = format!(
                "shape {shape} with strides {strides} from offset {offset} leaves the storage of {storage_len} elements"
            );
            return Err(Error::argument(OP, "layout", reason));
        }
        Ok(Layout { shape, strides, offset })
    }

    /// The sizes of the axes.
    #[inline]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The strides of the axes, in elements.
    #[inline]
    pub fn strides(&self) -> &Strides {
        &self.strides
    }

    /// Where the element of index 0 lies.
    #[inline]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The number of axes.
    #[inline]
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements.
    #[inline]
    pub fn numel(&self) -> usize {
        numel(&self.shape).unwrap_or(usize::MAX)
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Whether the elements lie in row-major order without gaps, wherever the first lies.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1isize;
        for (&d, &s) in self.shape.iter().zip(&self.strides).rev() {
            if d != 1 {
                if s != expected {
                    return self.is_empty();
                }
                expected = expected.saturating_mul(d as isize);
            }
        }
        true
    }

    /// The least and the greatest offset of an element; `None` if there is none.
    pub fn span(&self) -> Option<(usize, usize)> {
        if self.is_empty() {
            return None;
        }
        let (min, max) = reach(&self.shape, &self.strides, self.offset)?;
        Some((min.try_into().ok()?, max.try_into().ok()?))
    }

    /// Where element `index` lies; `None` if there is none such.
    pub fn index(&self, index: &[usize]) -> Option<usize> {
        if index.len() != self.ndim() || index.iter().zip(&self.shape).any(|(i, d)| i >= d) {
            return None;
        }
        Some(index.iter().zip(&self.strides).fold(self.offset, |at, (&i, &s)| shift(at, i, s)))
    }

    /// The offsets of all elements, in row-major order.
    pub fn offsets(&self) -> Offsets {
        Offsets::new(self)
    }

    /// Repeats axes of size 1, and adds axes in front, to reach `shape`.
    ///
    /// **Errors**: [`Error::Broadcast`] if `shape` is not one this broadcasts to.
    pub fn broadcast_to(&self, op: &'static str, shape: &[usize]) -> Result<Layout> {
        try_numel(op, shape)?;
        let new = shape.len().checked_sub(self.ndim()).ok_or_else(|| Error::broadcast(op, &[&self.shape, shape]))?;
        let mut strides = Strides::from_elem(0, shape.len());
        for (k, (&d, &s)) in self.shape.iter().zip(&self.strides).enumerate() {
            match shape[new + k] {
                target if target == d => strides[new + k] = s,
                _ if d == 1 => {}
                _ => return Err(Error::broadcast(op, &[&self.shape, shape])),
            }
        }
        Ok(Layout { shape: shape.into(), strides, offset: self.offset })
    }

    /// Axis `k` of the result is axis `order[k]` of this.
    ///
    /// **Errors**: [`Error::Argument`] unless `order` names every axis once.
    pub fn permute(&self, op: &'static str, order: &[usize]) -> Result<Layout> {
        let mut sorted: SmallVec<[usize; 8]> = order.into();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..self.ndim()) {
            let reason = format!("{order:?} does not name each of {} axes once", self.ndim());
            return Err(Error::argument(op, "order", reason));
        }
        Ok(Layout {
            shape: order.iter().map(|&k| self.shape[k]).collect(),
            strides: order.iter().map(|&k| self.strides[k]).collect(),
            offset: self.offset,
        })
    }

    /// Exchanges two axes.
    ///
    /// **Errors**: [`Error::Axis`] if one does not exist.
    pub fn transpose(&self, op: &'static str, a: usize, b: usize) -> Result<Layout> {
        self.check_axes(op, &[a, b])?;
        let mut out = self.clone();
        out.shape.swap(a, b);
        out.strides.swap(a, b);
        Ok(out)
    }

    /// Takes a range of every axis.
    ///
    /// **Errors**: [`Error::Argument`] unless there is one range per axis and no step is 0; [`Error::Index`] if a range
    /// leaves its axis.
    pub fn slice(&self, op: &'static str, ranges: &[SliceRange]) -> Result<Layout> {
        if ranges.len() != self.ndim() {
            let reason = format!("{} ranges for {} axes", ranges.len(), self.ndim());
            return Err(Error::argument(op, "ranges", reason));
        }
        let mut out = self.clone();
        for (k, r) in ranges.iter().enumerate() {
            if r.step == 0 {
                return Err(Error::argument(op, "step", "a step of 0 never advances"));
            }
            let size = self.shape[k];
            if let Some(steps) = r.len.checked_sub(1) {
                let last = r.step as i128 * steps as i128 + r.start as i128;
                for at in [r.start as i128, last] {
                    if !(0..size as i128).contains(&at) {
                        let index = at.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
                        return Err(Error::Index { op, index, size });
                    }
                }
            }
            out.take(k, r.start, r.len, r.step);
        }
        // A start is only added where nothing is empty, so that the offset stays one of an element.
        if out.is_empty() {
            out.offset = self.offset;
        }
        Ok(out)
    }

    /// Narrows axis `k` to a range known to lie inside.
    fn take(&mut self, k: usize, start: usize, len: usize, step: isize) {
        let stride = self.strides[k];
        if len > 0 {
            self.offset = shift(self.offset, start, stride);
        }
        // With at most one element left the stride is never used, and the product might not fit.
        if len > 1 {
            self.strides[k] = stride.wrapping_mul(step);
        }
        self.shape[k] = len;
    }

    /// Reverses axes.
    ///
    /// **Errors**: [`Error::Axis`] if one does not exist.
    pub fn flip(&self, op: &'static str, axes: &[usize]) -> Result<Layout> {
        self.check_axes(op, axes)?;
        let mut out = self.clone();
        if !self.is_empty() {
            for &k in axes {
                out.take(k, self.shape[k] - 1, self.shape[k], -1);
            }
        }
        Ok(out)
    }

    /// The same elements in the same row-major order under another shape; `None` if that takes a copy.
    ///
    /// **Errors**: [`Error::Shape`] if the numbers of elements differ.
    pub fn reshape(&self, op: &'static str, shape: &Shape) -> Result<Option<Layout>> {
        if numel(shape) != Some(self.numel()) {
            let expected = format!("a shape of {} elements", self.numel());
            return Err(Error::shape(op, expected, &[&self.shape, shape]));
        }
        let mut strides = row_major(shape);
        let (blocks, steps) = coalesce(&self.shape, &[&self.strides]);
        // Every run of the new axes, from the last one on, has to fill one block of evenly spaced elements.
        let mut axes = strides.iter_mut().zip(shape).rev();
        if !self.is_empty() {
            for (&block, &step) in blocks.iter().zip(&steps[0]).rev() {
                let mut filled = 1;
                while filled < block {
                    let Some((s, &d)) = axes.next() else { return Ok(None) };
                    *s = step.wrapping_mul(filled as isize);
                    filled = filled.saturating_mul(d);
                }
                if filled != block {
                    return Ok(None);
                }
            }
        }
        Ok(Some(Layout { shape: shape.clone(), strides, offset: self.offset }))
    }

    /// Drops axes of size 1.
    ///
    /// **Errors**: [`Error::Axis`] if one does not exist, [`Error::Shape`] if its size is not 1.
    pub fn squeeze(&self, op: &'static str, axes: &[usize]) -> Result<Layout> {
        self.check_axes(op, axes)?;
        if let Some(k) = axes.iter().find(|&&k| self.shape[k] != 1) {
            return Err(Error::shape(op, format!("axis {k} to be of size 1"), &[&self.shape]));
        }
        let kept = |k: &usize| !axes.contains(k);
        Ok(Layout {
            shape: (0..self.ndim()).filter(kept).map(|k| self.shape[k]).collect(),
            strides: (0..self.ndim()).filter(kept).map(|k| self.strides[k]).collect(),
            offset: self.offset,
        })
    }

    /// Puts an axis of size 1 before `axis`, or last if `axis` is the number of axes.
    ///
    /// **Errors**: [`Error::Axis`] past that.
    pub fn unsqueeze(&self, op: &'static str, axis: usize) -> Result<Layout> {
        if axis > self.ndim() {
            return Err(axis_error(op, axis, self.ndim() + 1));
        }
        let mut out = self.clone();
        out.shape.insert(axis, 1);
        out.strides.insert(axis, 1);
        Ok(out)
    }

    /// The diagonal of axes `a` and `b`, `offset` to the right of the main one (left if negative), as a new last axis.
    ///
    /// **Errors**: [`Error::Axis`] if one does not exist, [`Error::Argument`] if they are the same.
    pub fn diagonal(&self, op: &'static str, offset: isize, a: usize, b: usize) -> Result<Layout> {
        self.check_axes(op, &[a, b])?;
        if a == b {
            return Err(Error::argument(op, "axes", format!("a diagonal takes two axes, got {a} twice")));
        }
        let (down, right) = if offset < 0 { (offset.unsigned_abs(), 0) } else { (0, offset.unsigned_abs()) };
        let len = self.shape[a].saturating_sub(down).min(self.shape[b].saturating_sub(right));
        let mut out = self.clone();
        if len > 0 && !self.is_empty() {
            out.offset = shift(shift(self.offset, down, self.strides[a]), right, self.strides[b]);
        }
        for k in [a.max(b), a.min(b)] {
            out.shape.remove(k);
            out.strides.remove(k);
        }
        out.shape.push(len);
        out.strides.push(if len > 1 { self.strides[a].wrapping_add(self.strides[b]) } else { 1 });
        Ok(out)
    }

    /// All windows of `size` elements along `axis`, `step` apart: `axis` counts windows, a new last axis runs in them.
    ///
    /// **Errors**: [`Error::Axis`] if `axis` does not exist, [`Error::Argument`] if `size` exceeds it or `step` is 0.
    pub fn unfold(&self, op: &'static str, axis: usize, size: usize, step: usize) -> Result<Layout> {
        self.check_axes(op, &[axis])?;
        let dim = self.shape[axis];
        if step == 0 {
            return Err(Error::argument(op, "step", "a step of 0 never advances"));
        }
        let Some(room) = dim.checked_sub(size) else {
            return Err(Error::argument(op, "size", format!("a window of {size} exceeds an axis of size {dim}")));
        };
        let mut out = self.clone();
        out.shape[axis] = room / step + 1;
        if out.shape[axis] > 1 {
            out.strides[axis] = self.strides[axis].wrapping_mul(step as isize);
        }
        out.shape.push(size);
        out.strides.push(self.strides[axis]);
        // Windows overlap, so there may be more elements than before.
        out.shape.try_numel(op)?;
        Ok(out)
    }

    fn check_axes(&self, op: &'static str, axes: &[usize]) -> Result<()> {
        match axes.iter().find(|&&k| k >= self.ndim()) {
            Some(&k) => Err(axis_error(op, k, self.ndim())),
            None => Ok(()),
        }
    }
}

fn axis_error(op: &'static str, axis: usize, ndim: usize) -> Error {
    Error::Axis { op, axis: isize::try_from(axis).unwrap_or(isize::MAX), ndim }
}

/// `offset + i * stride`. Between two elements of a valid layout the true result fits, and wrapping arithmetic finds it.
fn shift(offset: usize, i: usize, stride: isize) -> usize {
    offset.wrapping_add_signed((i as isize).wrapping_mul(stride))
}

/// The fewest axes that visit the same elements in the same order, for operands that share `shape`: axes of size 1 go,
/// neighbours merge where every operand steps evenly over both. Returns sizes, and strides per operand.
///
/// No axis is left for a single element; one of size 0 for none.
///
/// ```
/// use numr_core::layout::coalesce;
/// let (dims, strides) = coalesce(&[2, 1, 3, 4], &[&[12, 0, 4, 1], &[0, 0, 4, 1]]);
/// assert_eq!(dims, [2, 12]);
/// assert_eq!((&strides[0], &strides[1]), (&[12, 1].into(), &[0, 1].into()));
/// ```
pub fn coalesce(shape: &[usize], strides: &[&[isize]]) -> (Shape, Vec<Strides>) {
    if shape.contains(&0) {
        return ([0].into(), vec![[0].into(); strides.len()]);
    }
    let mut dims = Shape::new();
    let mut out = vec![Strides::new(); strides.len()];
    for (k, &d) in shape.iter().enumerate().filter(|&(_, &d)| d != 1) {
        let even = |(o, s): (&Strides, &&[isize])| o.last() == s[k].checked_mul(d as isize).as_ref();
        if let Some(last) = dims.last_mut()
            && out.iter().zip(strides).all(even)
        {
            *last *= d;
            for (o, s) in out.iter_mut().zip(strides) {
                if let Some(o) = o.last_mut() {
                    *o = s[k];
                }
            }
        } else {
            dims.push(d);
            for (o, s) in out.iter_mut().zip(strides) {
                o.push(s[k]);
            }
        }
    }
    (dims, out)
}

/// The offsets of a layout's elements in row-major order: an odometer, without a division.
#[derive(Clone, Debug)]
pub struct Offsets {
    dims: Shape,
    strides: Strides,
    counter: SmallVec<[usize; 8]>,
    at: usize,
    remaining: usize,
}

impl Offsets {
    fn new(layout: &Layout) -> Offsets {
        let (dims, mut strides) = coalesce(&layout.shape, &[&layout.strides]);
        Offsets {
            counter: SmallVec::from_elem(0, dims.len()),
            strides: strides.pop().unwrap_or_default(),
            dims,
            at: layout.offset,
            remaining: layout.numel(),
        }
    }
}

impl Iterator for Offsets {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.remaining = self.remaining.checked_sub(1)?;
        let at = self.at;
        for k in (0..self.dims.len()).rev() {
            self.counter[k] += 1;
            if self.counter[k] < self.dims[k] {
                self.at = self.at.wrapping_add_signed(self.strides[k]);
                break;
            }
            self.counter[k] = 0;
            self.at = shift(self.at, self.dims[k] - 1, self.strides[k].wrapping_neg());
        }
        Some(at)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl ExactSizeIterator for Offsets {}

#[cfg(test)]
mod tests;
