//! Indexing by tensors: `x.i((.., &index, 3, NewAxis))`, by NumPy's rules.

use super::Tensor;
use super::index::{NewAxis, Slice};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::shape::broadcast;
use smallvec::SmallVec;
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// What is taken of an axis, or of several.
#[derive(Clone, Debug)]
pub enum Item<'a, R: Runtime> {
    /// A number, a range, a new axis, or all axes that are left.
    Slice(Slice),
    /// Indices of one axis; or a mask (bool) over as many axes as it has.
    Tensor(&'a Tensor<R>),
}

/// All axes that the other items leave over, in [`Tensor::i`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ellipsis;

impl From<Ellipsis> for Slice {
    fn from(_: Ellipsis) -> Slice {
        Slice::Ellipsis
    }
}

macro_rules! item_from {
    ($($t:ty),*) => {$(
        impl<R: Runtime> From<$t> for Item<'_, R> {
            fn from(item: $t) -> Self {
                Item::Slice(item.into())
            }
        }
    )*};
}

item_from!(Slice, NewAxis, Ellipsis, RangeFull, isize, i32, i64, usize);
item_from!(Range<isize>, Range<i32>, Range<usize>, RangeFrom<isize>, RangeFrom<i32>, RangeFrom<usize>);
item_from!(RangeTo<isize>, RangeTo<i32>, RangeTo<usize>, RangeToInclusive<isize>, RangeToInclusive<i32>);
item_from!(RangeToInclusive<usize>, RangeInclusive<isize>, RangeInclusive<i32>, RangeInclusive<usize>);

impl<'a, R: Runtime> From<&'a Tensor<R>> for Item<'a, R> {
    fn from(index: &'a Tensor<R>) -> Self {
        Item::Tensor(index)
    }
}

/// What [`Tensor::i`] takes: one item, a tuple of up to six, or a list.
pub trait Items<'a, R: Runtime> {
    /// The items in their order.
    fn items(self) -> SmallVec<[Item<'a, R>; 6]>;
}

impl<'a, R: Runtime, T: Into<Item<'a, R>>> Items<'a, R> for T {
    fn items(self) -> SmallVec<[Item<'a, R>; 6]> {
        SmallVec::from_iter([self.into()])
    }
}

impl<'a, R: Runtime> Items<'a, R> for Vec<Item<'a, R>> {
    fn items(self) -> SmallVec<[Item<'a, R>; 6]> {
        self.into()
    }
}

macro_rules! tuples {
    ($($($T:ident $x:ident),+;)*) => {$(
        impl<'a, R: Runtime, $($T: Into<Item<'a, R>>),+> Items<'a, R> for ($($T,)+) {
            fn items(self) -> SmallVec<[Item<'a, R>; 6]> {
                let ($($x,)+) = self;
                SmallVec::from_iter([$($x.into()),+])
            }
        }
    )*};
}

tuples! {
    A a;
    A a, B b;
    A a, B b, C c;
    A a, B b, C c, D d;
    A a, B b, C c, D d, E e;
    A a, B b, C c, D d, E e, F f;
}

impl<R: Runtime> Tensor<R> {
    /// A part of the tensor by numbers, ranges, new axes, tensors of indices and masks, in any mixture.
    ///
    /// Tensors of indices broadcast together, and what they pick is laid out in their common shape: in their place if they
    /// stand side by side, else in front. A number beside a tensor counts as one. A mask picks where it holds. Without a
    /// tensor the result is a view; else it is a copy, and differentiable.
    ///
    /// ```
    /// # use numr_core::Tensor;
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::from_slice(&[1, 2, 3, 4, 5, 6], &[2, 3], &device);
    /// let columns = Tensor::from_slice(&[2, 0], &[2], &device);
    /// assert_eq!(x.i((.., &columns))?.to_vec::<i32>(), [3, 1, 6, 4]);
    /// assert_eq!(x.i((1, &columns))?.to_vec::<i32>(), [6, 4]);
    /// assert_eq!(x.i(&x.gt(4)?)?.to_vec::<i32>(), [5, 6]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Index` out of range; `Error::Broadcast` for indices that do not fit together; `Error::Shape` for a mask of another
    /// shape than the axes it stands for; `Error::Argument` for more items than axes; `Error::DType` for an index that is neither
    /// of integers nor bool.
    pub fn i<'a>(&self, items: impl Items<'a, R>) -> Result<Tensor<R>>
    where
        R: 'a,
    {
        let op = "index";
        let items = items.items();
        if items.iter().all(|item| matches!(item, Item::Slice(_))) {
            return self.slice(
                items
                    .iter()
                    .filter_map(|item| if let Item::Slice(s) = item { Some(*s) } else { None })
                    .collect::<Vec<_>>(),
            );
        }
        // Basic items first; where an index stands, its axis stays as it is.
        let (mut basic, mut indices, mut masks) = (vec![], vec![], vec![]);
        // For each index: the item it came with, and its place among the basic items.
        let (mut came, mut slots): (Vec<usize>, Vec<usize>) = (vec![], vec![]);
        for (k, item) in items.iter().enumerate() {
            let found = match item {
                Item::Tensor(mask) if mask.dtype() == DType::Bool => {
                    if mask.ndim() == 0 {
                        return Err(Error::argument(op, "mask", "a mask needs an axis"));
                    }
                    masks.push((*mask, indices.len()));
                    let at = mask.nonzero()?;
                    (0..mask.ndim()).map(|j| at.narrow(1, j, 1)?.squeeze_axes(1)).collect::<Result<Vec<_>>>()?
                }
                Item::Tensor(index) => vec![index.as_index(op)?],
                Item::Slice(Slice::Index(i)) => vec![Tensor::try_full(&[], *i as i64, DType::I64, self.device())?],
                Item::Slice(s) => {
                    basic.push(*s);
                    continue;
                }
            };
            for index in found {
                came.push(k);
                slots.push(basic.len());
                indices.push(index);
                basic.push(Slice::from(..));
            }
        }
        let x = self.slice(&basic)?;
        // Which axes of the part the indices stand for.
        let spread = basic.iter().position(|s| *s == Slice::Ellipsis);
        let axis = |slot: usize| match spread {
            Some(dots) if dots < slot => slot + x.ndim() - basic.len(),
            _ => slot,
        };
        let axes: Vec<usize> = slots.into_iter().map(axis).collect();
        for (mask, first) in masks {
            if !axes[first..first + mask.ndim()].iter().map(|&a| &x.shape()[a]).eq(mask.shape()) {
                return Err(Error::shape(op, "a mask of the shape of its axes", &[self.shape(), mask.shape()]));
            }
        }
        let shapes: SmallVec<[&[usize]; 4]> = indices.iter().map(|t| t.shape()).collect();
        let common = broadcast(op, &shapes)?;
        let wide = indices.iter().map(|t| t.broadcast_to(&common)).collect::<Result<Vec<_>>>()?;
        let coordinates = Tensor::stack(&wide.iter().collect::<Vec<_>>(), -1)?;
        let rest: Vec<usize> = (0..x.ndim()).filter(|k| !axes.contains(k)).collect();
        let picked = x.permute(&[&axes[..], &rest].concat()[..])?.gather_nd(&coordinates)?;
        // Items side by side: what they pick stands where the first one stood.
        if came.windows(2).any(|w| w[1] - w[0] > 1) {
            return Ok(picked);
        }
        let before = rest.iter().filter(|&&k| k < axes[0]).count();
        let n = common.len();
        let order: Vec<usize> = (n..n + before).chain(0..n).chain(n + before..picked.ndim()).collect();
        picked.permute(&order[..])
    }

    /// The tensor with `src`, broadcast, in place of the part that `items` name as for [`Tensor::i`]; with `accumulate` added
    /// to it. Of elements that are named twice the last stays, or all are added. Takes a number for each element.
    ///
    /// ```
    /// # use numr_core::Tensor;
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::from_slice(&[0, 0, 0], &[3], &device);
    /// let twice = Tensor::from_slice(&[1, 1], &[2], &device);
    /// let one = Tensor::from_slice(&[1], &[], &device);
    /// assert_eq!(x.i_put(&twice, &one, true)?.to_vec::<i32>(), [0, 2, 0]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::i`]; `Error::Broadcast` if `src` does not broadcast to the part.
    pub fn i_put<'a>(&self, items: impl Items<'a, R>, src: &Tensor<R>, accumulate: bool) -> Result<Tensor<R>>
    where
        R: 'a,
    {
        let n = self.numel();
        let all = Tensor::try_arange(0.0, n as f64, 1.0, DType::I64, self.device())?.reshape(self.shape())?;
        let places = all.i(items)?;
        let src = src.cast(self.dtype())?.broadcast_to(places.shape())?.flatten()?;
        let (flat, places) = (self.flatten()?, places.flatten()?);
        let put = if accumulate { flat.scatter_add(0, &places, &src)? } else { flat.scatter(0, &places, &src)? };
        put.reshape(self.shape())
    }
}
