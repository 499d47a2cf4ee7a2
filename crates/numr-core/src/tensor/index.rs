//! Slicing: `x.slice(s![1.., ..;-1, NewAxis, 3, ...])`, without a copy, by NumPy's rules.

use super::Tensor;
use crate::error::{Error, Result};
use crate::layout::SliceRange;
use crate::prim::View;
use crate::runtime::Runtime;
use crate::shape::Shape;
use smallvec::SmallVec;
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// What is taken of one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slice {
    /// One element; the axis goes. Negative numbers count from the end.
    Index(isize),
    /// Every `step`-th element from `start` to before `stop`. Negative numbers count from the end, and what lies outside
    /// is cut off. A negative step goes backward.
    Range {
        /// Where it starts; by default the first element in the direction of the step.
        start: Option<isize>,
        /// Where it ends, not taken; by default past the last element in the direction of the step.
        stop: Option<isize>,
        /// From one to the next; not 0.
        step: isize,
    },
    /// A new axis of size 1.
    NewAxis,
    /// All axes that the other items leave over.
    Ellipsis,
}

/// A new axis of size 1 in [`s!`](crate::s).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewAxis;

impl From<NewAxis> for Slice {
    fn from(_: NewAxis) -> Slice {
        Slice::NewAxis
    }
}

impl From<RangeFull> for Slice {
    fn from(_: RangeFull) -> Slice {
        Slice::Range { start: None, stop: None, step: 1 }
    }
}

/// Past an inclusive end; past -1 there is no number, only the end.
fn past(end: isize) -> Option<isize> {
    (end != -1).then(|| end.saturating_add(1))
}

macro_rules! slice_from {
    ($($int:ty),*) => {$(
        impl From<$int> for Slice {
            fn from(index: $int) -> Slice {
                Slice::Index(clamped!(index))
            }
        }
        slice_from!(@range $int: Range r (Some(clamped!(r.start)), Some(clamped!(r.end))));
        slice_from!(@range $int: RangeFrom r (Some(clamped!(r.start)), None));
        slice_from!(@range $int: RangeTo r (None, Some(clamped!(r.end))));
        slice_from!(@range $int: RangeToInclusive r (None, past(clamped!(r.end))));
        slice_from!(@range $int: RangeInclusive r (Some(clamped!(*r.start())), past(clamped!(*r.end()))));
    )*};
    (@range $int:ty: $R:ident $r:ident ($start:expr, $stop:expr)) => {
        impl From<$R<$int>> for Slice {
            fn from($r: $R<$int>) -> Slice {
                Slice::Range { start: $start, stop: $stop, step: 1 }
            }
        }
    };
}

/// A number past `isize` saturates: no axis is that long.
macro_rules! clamped {
    ($v:expr) => {
        isize::try_from($v).unwrap_or(isize::MAX)
    };
}

slice_from!(isize, i32, i64, usize);

impl Slice {
    /// The range with another step.
    ///
    /// An item that is no range stays what it is.
    pub fn step_by(self, by: isize) -> Slice {
        match self {
            Slice::Range { start, stop, .. } => Slice::Range { start, stop, step: by },
            other => other,
        }
    }
}

/// The items of a slice, for [`Tensor::slice`]: numbers, ranges (`1..`, `..-1`, `..=3`), ranges with a step (`..;2`,
/// `..;-1`), `NewAxis`, and `...` for all axes that are left.
///
/// ```
/// use numr_core::{s, tensor::index::{NewAxis, Slice}};
/// let items = s![1.., ..;-1, NewAxis, 3, ...];
/// assert_eq!(items[1], Slice::Range { start: None, stop: None, step: -1 });
/// assert_eq!(items[4], Slice::Ellipsis);
/// ```
#[macro_export]
macro_rules! s {
    (@ [$($done:expr),*]) => { [$($done),*] as [$crate::tensor::index::Slice; _] };
    (@ [$($done:expr),*] ... $(, $($rest:tt)*)?) => {
        $crate::s!(@ [$($done,)* $crate::tensor::index::Slice::Ellipsis] $($($rest)*)?)
    };
    (@ [$($done:expr),*] $range:expr; $step:expr $(, $($rest:tt)*)?) => {
        $crate::s!(@ [$($done,)* $crate::tensor::index::Slice::from($range).step_by($step)] $($($rest)*)?)
    };
    (@ [$($done:expr),*] $item:expr $(, $($rest:tt)*)?) => {
        $crate::s!(@ [$($done,)* $crate::tensor::index::Slice::from($item)] $($($rest)*)?)
    };
    ($($items:tt)*) => { $crate::s!(@ [] $($items)*) };
}

/// What items mean for a shape: the range of each axis, and the shape after numbers have taken axes out and `NewAxis`
/// has put some in.
fn resolve(items: &[Slice], shape: &[usize]) -> Result<(SmallVec<[SliceRange; 8]>, Shape)> {
    let op = "slice";
    let named = items.iter().filter(|i| matches!(i, Slice::Index(_) | Slice::Range { .. })).count();
    if named > shape.len() {
        let reason = format!("{named} items for {} axes", shape.len());
        return Err(Error::argument(op, "items", reason));
    }
    if items.iter().filter(|&&i| i == Slice::Ellipsis).count() > 1 {
        return Err(Error::argument(op, "items", "`...` may stand once"));
    }
    let (mut ranges, mut to) = (SmallVec::new(), Shape::new());
    let whole = |n: usize, ranges: &mut SmallVec<[SliceRange; 8]>, to: &mut Shape| {
        for _ in 0..n {
            let len = shape[ranges.len()];
            ranges.push(SliceRange { start: 0, len, step: 1 });
            to.push(len);
        }
    };
    for &item in items {
        match item {
            Slice::NewAxis => to.push(1),
            Slice::Ellipsis => whole(shape.len() - named, &mut ranges, &mut to),
            Slice::Index(index) => {
                let size = shape[ranges.len()];
                let at = if index < 0 { size.checked_sub(index.unsigned_abs()) } else { Some(index as usize) };
                let start = at.filter(|&a| a < size).ok_or(Error::Index { op, index: index as i64, size })?;
                ranges.push(SliceRange { start, len: 1, step: 1 });
            }
            Slice::Range { start, stop, step } => {
                let range = range(start, stop, step, shape[ranges.len()])?;
                to.push(range.len);
                ranges.push(range);
            }
        }
    }
    whole(shape.len() - ranges.len(), &mut ranges, &mut to);
    Ok((ranges, to))
}

/// NumPy's rule for one range.
fn range(start: Option<isize>, stop: Option<isize>, step: isize, size: usize) -> Result<SliceRange> {
    if step == 0 {
        return Err(Error::argument("slice", "step", "a step of 0 never advances"));
    }
    let n = isize::try_from(size).unwrap_or(isize::MAX);
    // Forward the bounds lie in 0..=n, backward in -1..n.
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let bound = |b: isize| (if b < 0 { b.saturating_add(n) } else { b }).clamp(low, high);
    let start = start.map_or(if step > 0 { low } else { high }, bound);
    let stop = stop.map_or(if step > 0 { high } else { low }, bound);
    let distance = if step > 0 { stop - start } else { start - stop };
    let len = if distance > 0 { (distance as usize).div_ceil(step.unsigned_abs()) } else { 0 };
    Ok(SliceRange { start: if len > 0 { start as usize } else { 0 }, len, step })
}

impl<R: Runtime> Tensor<R> {
    /// A part of the tensor: a view. Items are made by [`s!`](crate::s).
    ///
    /// ```
    /// # use numr_core::{Tensor, s};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// let x = Tensor::<CpuRuntime>::from_slice(&[1, 2, 3, 4, 5, 6], &[2, 3], &CpuDevice::new());
    /// assert_eq!(x.slice(s![1, ..;-1])?.to_vec::<i32>(), [6, 5, 4]);
    /// assert_eq!(x.slice(s![..., 0])?.to_vec::<i32>(), [1, 4]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Index` for a number outside of its axis; `Error::Argument` for more items than axes or a step of 0.
    pub fn slice(&self, items: impl AsRef<[Slice]>) -> Result<Tensor<R>> {
        let (ranges, to) = resolve(items.as_ref(), self.shape())?;
        let part = self.view_as(View::Slice(ranges))?;
        if part.shape() == &to[..] { Ok(part) } else { part.view_as(View::Reshape(to)) }
    }

    /// The tensor with `src`, broadcast, in place of the part that `items` name.
    ///
    /// # Errors
    /// As [`Tensor::slice`]; `Error::Broadcast` if `src` does not broadcast to the part.
    pub fn assign(&self, items: impl AsRef<[Slice]>, src: &Tensor<R>) -> Result<Tensor<R>> {
        let (ranges, to) = resolve(items.as_ref(), self.shape())?;
        let full: Shape = ranges.iter().map(|r| r.len).collect();
        self.assigned(View::Slice(ranges), &src.broadcast_to(&to)?.reshape(&full)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(items: &[Slice], n: usize) -> Vec<usize> {
        let (ranges, _) = resolve(items, &[n]).expect("a valid slice");
        let r = ranges[0];
        (0..r.len).map(|k| (r.start as isize + k as isize * r.step) as usize).collect()
    }

    /// Against the rule itself: walk the axis as NumPy's documentation words it.
    #[test]
    fn ranges_follow_numpy() {
        for n in 0..5isize {
            let bounds = || std::iter::once(None).chain((-7..8).map(Some));
            for (start, stop) in bounds().flat_map(|a| bounds().map(move |b| (a, b))) {
                for step in [-3, -2, -1, 1, 2, 3isize] {
                    let norm = |b: isize| if b < 0 { b + n } else { b };
                    let mut want = Vec::new();
                    let mut i = start.map_or(if step > 0 { 0 } else { n - 1 }, |s| {
                        if step > 0 { norm(s).max(0) } else { norm(s).min(n - 1) }
                    });
                    let end = stop.map_or(if step > 0 { n } else { -1 }, |s| norm(s).clamp(-1, n));
                    while if step > 0 { i < end } else { i > end && i >= 0 } {
                        want.push(i as usize);
                        i += step;
                    }
                    let got = taken(&[Slice::Range { start, stop, step }], n as usize);
                    assert_eq!(got, want, "[{start:?}:{stop:?}:{step}] of {n}");
                }
            }
        }
    }

    #[test]
    fn items_shape_the_result() {
        let (ranges, to) = resolve(&s![1.., ..;-1, NewAxis, 3, ...], &[4, 5, 6, 7, 8]).expect("fits");
        assert_eq!((ranges.len(), &to[..]), (5, &[3, 5, 1, 7, 8][..]));
        assert_eq!(resolve(&s![..=-1, ..=1], &[4, 5]).expect("fits").1, [4, 2]);
        assert_eq!(resolve(&s![], &[4]).expect("fits").1, [4]);
        assert!(matches!(resolve(&s![4], &[4]), Err(Error::Index { index: 4, size: 4, .. })));
        assert!(matches!(resolve(&s![-5], &[4]), Err(Error::Index { index: -5, size: 4, .. })));
        assert!(resolve(&s![.., ..], &[4]).is_err());
        assert!(resolve(&s![..., ...], &[4]).is_err());
        assert!(resolve(&s![..;0], &[4]).is_err());
    }
}
