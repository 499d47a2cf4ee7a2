//! Sizes and strides of axes, and the rules that combine them: broadcasting and axis numbers.

use std::fmt;
use std::ops::{Deref, DerefMut};

use smallvec::SmallVec;

use crate::error::{Error, Result};

/// The length at which [`Shape`], [`Strides`] and [`Axes`] move to the heap.
const INLINE: usize = 8;

/// A list of one number per axis, in place up to rank 8.
macro_rules! per_axis {
    ($(#[$doc:meta])* $name:ident of $item:ty) => {
        $(#[$doc])*
        #[derive(PartialEq, Eq, Hash, Default)]
        pub struct $name(SmallVec<[$item; INLINE]>);

        impl Clone for $name {
            #[inline]
            fn clone(&self) -> Self {
                Self::copy_of(&self.0)
            }
        }

        impl $name {
            /// The empty list: that of a scalar.
            pub fn new() -> Self {
                Self::default()
            }
            /// The usual ranks by a few stores; a copy of a length not known before costs a call, and this is done
            /// several times for every tensor made.
            #[inline]
            fn copy_of(items: &[$item]) -> Self {
                let mut all = [0; INLINE];
                match *items {
                    [] => {}
                    [a] => all[0] = a,
                    [a, b] => (all[0], all[1]) = (a, b),
                    [a, b, c] => (all[0], all[1], all[2]) = (a, b, c),
                    [a, b, c, d] => (all[0], all[1], all[2], all[3]) = (a, b, c, d),
                    _ => return Self(SmallVec::from_slice(items)),
                }
                Self(SmallVec::from_buf_and_len(all, items.len()))
            }
            /// An empty list with room for `capacity` axes.
            pub fn with_capacity(capacity: usize) -> Self {
                Self(SmallVec::with_capacity(capacity))
            }
            /// One value for each of `len` axes.
            #[inline]
            pub fn from_elem(value: $item, len: usize) -> Self {
                Self(SmallVec::from_elem(value, len))
            }
            /// Appends an axis.
            pub fn push(&mut self, value: $item) {
                self.0.push(value);
            }
            /// Takes axis `index` out; panics if there is none, as `Vec::remove` does.
            pub fn remove(&mut self, index: usize) -> $item {
                self.0.remove(index)
            }
            /// Puts an axis before `index`; panics if `index > len`, as `Vec::insert` does.
            pub fn insert(&mut self, index: usize, value: $item) {
                self.0.insert(index, value);
            }
            /// All axes as a slice.
            #[inline]
            pub fn as_slice(&self) -> &[$item] {
                &self.0
            }
        }

        impl Deref for $name {
            type Target = [$item];
            #[inline]
            fn deref(&self) -> &[$item] {
                &self.0
            }
        }
        impl DerefMut for $name {
            #[inline]
            fn deref_mut(&mut self) -> &mut [$item] {
                &mut self.0
            }
        }
        impl AsRef<[$item]> for $name {
            #[inline]
            fn as_ref(&self) -> &[$item] {
                &self.0
            }
        }
        impl From<&[$item]> for $name {
            #[inline]
            fn from(items: &[$item]) -> Self {
                Self::copy_of(items)
            }
        }
        impl<const N: usize> From<[$item; N]> for $name {
            fn from(items: [$item; N]) -> Self {
                items.as_slice().into()
            }
        }
        impl<const N: usize> From<&[$item; N]> for $name {
            fn from(items: &[$item; N]) -> Self {
                items.as_slice().into()
            }
        }
        impl From<Vec<$item>> for $name {
            fn from(items: Vec<$item>) -> Self {
                items.as_slice().into()
            }
        }
        impl From<&Vec<$item>> for $name {
            fn from(items: &Vec<$item>) -> Self {
                items.as_slice().into()
            }
        }
        impl From<&$name> for $name {
            fn from(items: &$name) -> Self {
                items.clone()
            }
        }
        impl From<()> for $name {
            fn from((): ()) -> Self {
                Self::new()
            }
        }
        impl FromIterator<$item> for $name {
            fn from_iter<I: IntoIterator<Item = $item>>(iter: I) -> Self {
                Self(iter.into_iter().collect())
            }
        }
        impl<'a> IntoIterator for &'a $name {
            type Item = &'a $item;
            type IntoIter = std::slice::Iter<'a, $item>;
            fn into_iter(self) -> Self::IntoIter {
                self.0.iter()
            }
        }
        impl PartialEq<[$item]> for $name {
            fn eq(&self, other: &[$item]) -> bool {
                self.as_slice() == other
            }
        }
        impl PartialEq<&[$item]> for $name {
            fn eq(&self, other: &&[$item]) -> bool {
                self.as_slice() == *other
            }
        }
        impl<const N: usize> PartialEq<[$item; N]> for $name {
            fn eq(&self, other: &[$item; N]) -> bool {
                self.as_slice() == other
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

per_axis!(
    /// The size of every axis, outermost first.
    ///
    /// ```
    /// use numr_core::Shape;
    /// let shape = Shape::from([2, 3]);
    /// assert_eq!((shape.ndim(), shape.numel()), (2, Some(6)));
    /// ```
    Shape of usize
);
per_axis!(
    /// The step, in elements, between neighbours along every axis; it may be negative, or 0 where one element repeats.
    Strides of isize
);

impl Shape {
    /// The number of axes.
    pub fn ndim(&self) -> usize {
        self.len()
    }

    /// The number of elements, the product of all sizes (1 for a scalar); `None` if it exceeds `usize`.
    #[inline]
    pub fn numel(&self) -> Option<usize> {
        numel(self)
    }

    /// The number of elements; **Errors** with [`Error::Argument`] if it exceeds `isize::MAX`, which no memory can hold.
    pub fn try_numel(&self, op: &'static str) -> Result<usize> {
        try_numel(op, self)
    }
}

/// The product of all sizes; `None` if it exceeds `usize`. A size of 0 makes it 0, whatever the others.
#[inline]
pub fn numel(shape: &[usize]) -> Option<usize> {
    if shape.contains(&0) { Some(0) } else { shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d)) }
}

/// [`numel`], with an error where it exceeds `isize::MAX`.
pub fn try_numel(op: &'static str, shape: &[usize]) -> Result<usize> {
    numel(shape).filter(|&n| isize::try_from(n).is_ok()).ok_or_else(|| {
        Error::argument(op, "shape", format!("{shape:?} has more elements than the address space can hold"))
    })
}

/// The shape all `shapes` broadcast to: aligned from the last axis, sizes are equal or 1.
///
/// **Errors**: [`Error::Broadcast`] where two sizes differ and neither is 1.
///
/// ```
/// let shape = numr_core::shape::broadcast("add", &[&[3, 1], &[2]])?;
/// assert_eq!(shape, [3, 2]);
/// # Ok::<(), numr_core::Error>(())
/// ```
pub fn broadcast(op: &'static str, shapes: &[&[usize]]) -> Result<Shape> {
    let ndim = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
    let mut out = Shape::from_elem(1, ndim);
    for shape in shapes {
        for (o, &d) in out[ndim - shape.len()..].iter_mut().zip(*shape) {
            match (*o, d) {
                (_, 1) => {}
                (1, _) => *o = d,
                (a, b) if a == b => {}
                _ => return Err(Error::broadcast(op, shapes)),
            }
        }
    }
    Ok(out)
}

/// The position that `axis` names among `ndim` axes; -1 is the last.
///
/// **Errors**: [`Error::Axis`] outside of `-ndim..ndim`.
pub fn axis(op: &'static str, axis: isize, ndim: usize) -> Result<usize> {
    let found = if axis < 0 { ndim.checked_sub(axis.unsigned_abs()) } else { Some(axis.unsigned_abs()) };
    found.filter(|&a| a < ndim).ok_or(Error::Axis { op, axis, ndim })
}

/// A choice of axes: `..` for all, one number, or a list; negative numbers count from the end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Axes {
    /// Every axis.
    All,
    /// Those listed, which may be none.
    List(SmallVec<[isize; INLINE]>),
}

impl Axes {
    /// The chosen positions among `ndim` axes, ascending.
    ///
    /// An empty list gives an empty result; whether a reduction takes that as "no axis" (NumPy) or as "all axes"
    /// (PyTorch) is for the caller to decide.
    ///
    /// A scalar has no axis, yet 0 and -1 are taken, as PyTorch and NumPy's reductions do, and give an empty result.
    ///
    /// **Errors**: [`Error::Axis`] for a number outside of `-ndim..ndim`, [`Error::Argument`] for an axis named twice.
    pub fn resolve(&self, op: &'static str, ndim: usize) -> Result<SmallVec<[usize; INLINE]>> {
        let list = match self {
            Axes::All => return Ok((0..ndim).collect()),
            Axes::List(list) if ndim == 0 && matches!(list[..], [0 | -1]) => return Ok(SmallVec::new()),
            Axes::List(list) => list,
        };
        let mut out = list.iter().map(|&a| axis(op, a, ndim)).collect::<Result<SmallVec<[usize; INLINE]>>>()?;
        out.sort_unstable();
        match out.windows(2).find(|w| w[0] == w[1]) {
            Some(w) => Err(Error::argument(op, "axes", format!("axis {} is named twice in {list:?}", w[0]))),
            None => Ok(out),
        }
    }
}

impl From<std::ops::RangeFull> for Axes {
    fn from(_: std::ops::RangeFull) -> Axes {
        Axes::All
    }
}

impl From<()> for Axes {
    fn from((): ()) -> Axes {
        Axes::List(SmallVec::new())
    }
}

/// Every form a list of axes comes in; a number past `isize` saturates, and `resolve` refuses it.
macro_rules! axes_from {
    ($($item:ty),*) => {$(
        impl From<$item> for Axes {
            fn from(axis: $item) -> Axes {
                [axis].as_slice().into()
            }
        }
        impl From<&[$item]> for Axes {
            fn from(axes: &[$item]) -> Axes {
                Axes::List(axes.iter().map(|&a| isize::try_from(a).unwrap_or(isize::MAX)).collect())
            }
        }
        impl<const N: usize> From<[$item; N]> for Axes {
            fn from(axes: [$item; N]) -> Axes {
                axes.as_slice().into()
            }
        }
        impl<const N: usize> From<&[$item; N]> for Axes {
            fn from(axes: &[$item; N]) -> Axes {
                axes.as_slice().into()
            }
        }
        impl From<Vec<$item>> for Axes {
            fn from(axes: Vec<$item>) -> Axes {
                axes.as_slice().into()
            }
        }
        impl From<&Vec<$item>> for Axes {
            fn from(axes: &Vec<$item>) -> Axes {
                axes.as_slice().into()
            }
        }
    )*};
}
axes_from!(usize, isize, i32, i64);

#[cfg(test)]
mod tests;
