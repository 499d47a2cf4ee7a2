//! Views, joins and assignments: linear, so each rule is a transpose.

use super::index::scatter_zeros;
use super::{Grads, sum_to};
use numr_core::layout::SliceRange;
use numr_core::prim::{AxisList, Meta, Prim, View};
use numr_core::scalar::Int;
use numr_core::scalar::expr::Expr;
use numr_core::{Result, Runtime, Shape, Tensor};
use smallvec::SmallVec;

/// The same view of another tensor; a reshape may need a copy there.
pub(crate) fn apply<S: Runtime>(view: &View, t: &Tensor<S>) -> Result<Tensor<S>> {
    match view {
        View::Reshape(shape) => t.reshape(shape),
        view => Tensor::run_one(&Prim::View(view.clone()), &[t]),
    }
}

/// Spreads the cotangent of a view over an operand of this shape.
pub(crate) fn transpose<S: Runtime>(view: &View, shape: &Shape, g: &Tensor<S>) -> Result<Tensor<S>> {
    match view {
        View::Reshape(_) => g.reshape(shape),
        View::Permute(order) => {
            let mut inverse: AxisList = order.clone();
            for (k, &axis) in order.iter().enumerate() {
                inverse[axis] = k;
            }
            apply(&View::Permute(inverse), g)
        }
        View::Expand(_) => sum_to(g, shape),
        // No element is seen twice.
        View::Slice(_) | View::Diagonal { .. } => assign(&Tensor::try_zeros(shape, g.dtype(), g.device())?, view, g),
        View::Unfold { axis, size, step } => unfold_transpose(*axis, *size, *step, shape, g),
    }
}

/// Windows may overlap: element i of window w came from w · step + i.
fn unfold_transpose<S: Runtime>(
    axis: usize,
    size: usize,
    step: usize,
    shape: &Shape,
    g: &Tensor<S>,
) -> Result<Tensor<S>> {
    // The last axis runs in the window; next to the axis that counts windows the two merge.
    let mut order: AxisList = (0..g.ndim() - 1).collect();
    order.insert(axis + 1, g.ndim() - 1);
    let merged: Shape = (0..shape.len()).map(|k| if k == axis { g.shape()[k] * size } else { shape[k] }).collect();
    let src = apply(&View::Permute(order), g)?.reshape(&merged)?;
    let index = Tensor::try_from_expr(&merged, &[], g.device(), |arena, _| {
        let (at, size) = (arena.coord(axis as u8), Expr::int(size as i64));
        at / size * Expr::int(step as i64) + at % size
    })?;
    scatter_zeros(shape, axis, &index, &src)
}

/// `base` with `src` written where the view shows.
pub(crate) fn assign<S: Runtime>(base: &Tensor<S>, view: &View, src: &Tensor<S>) -> Result<Tensor<S>> {
    Tensor::run_one(&Prim::Assign { view: view.clone() }, &[base, src])
}

pub(crate) fn assign_vjp<S: Runtime>(view: &View, g: &Tensor<S>, needed: &[bool]) -> Result<Grads<S>> {
    let shown = apply(view, g)?;
    let base = match needed[0] {
        true => Some(assign(g, view, &shown.zeros_like()?)?),
        false => None,
    };
    Ok([base, needed[1].then_some(shown)].into_iter().collect())
}

/// The cotangent of a join, taken apart.
pub(crate) fn split<S: Runtime>(axis: usize, metas: &[Meta], g: &Tensor<S>, needed: &[bool]) -> Result<Grads<S>> {
    let mut start = 0;
    let parts = metas.iter().zip(needed).map(|(meta, needed)| {
        let len = meta.shape[axis];
        start += len;
        needed.then(|| narrow(g, axis, start - len, len)).transpose()
    });
    parts.collect()
}

/// `len` elements of an axis from `start` on.
pub(crate) fn narrow<S: Runtime>(t: &Tensor<S>, axis: usize, start: usize, len: usize) -> Result<Tensor<S>> {
    let whole = |&len: &usize| SliceRange { start: 0, len, step: 1 };
    let mut ranges: SmallVec<[SliceRange; 8]> = t.shape().iter().map(whole).collect();
    ranges[axis] = SliceRange { start, len, step: 1 };
    apply(&View::Slice(ranges), t)
}

/// Joins tensors along an axis.
pub(crate) fn concat<S: Runtime>(axis: usize, parts: &[&Tensor<S>]) -> Result<Tensor<S>> {
    Tensor::run_one(&Prim::Concat { axis }, parts)
}
