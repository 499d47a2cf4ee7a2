//! Folds over axes.

use super::map::{chosen, conj, only};
use super::scan::scan;
use super::{Local, reduce};
use numr_core::prim::{AxisList, Reduce, ReduceOp, ScanOp};
use numr_core::{Result, Runtime, Shape, Tensor};

/// A result of the fold, spread over the operand's shape.
fn spread<S: Runtime>(t: &Tensor<S>, r: &Reduce, shape: &[usize]) -> Result<Tensor<S>> {
    let kept: Shape = shape.iter().enumerate().map(|(k, &n)| if r.axes.contains(&k) { 1 } else { n }).collect();
    t.reshape(&kept)?.broadcast_to(shape)
}

pub(crate) fn vjp<S: Runtime>(local: &Local<S>, r: &Reduce, g: &Tensor<S>) -> Result<Option<Tensor<S>>> {
    let shape = &local.metas[0].shape;
    match r.op {
        ReduceOp::Sum => spread(g, r, shape).map(Some),
        ReduceOp::Prod => {
            let others = conj(&product_of_others(local.input(0)?, &r.axes)?)?;
            others.mul(&spread(g, r, shape)?).map(Some)
        }
        ReduceOp::Max | ReduceOp::Min => {
            let (hit, share) = ties(local.input(0)?, local.output(0)?, r)?;
            only(&hit, &spread(&g.div(&share)?, r, shape)?).map(Some)
        }
        ReduceOp::Any | ReduceOp::All | ReduceOp::ArgMax | ReduceOp::ArgMin => Ok(None),
    }
}

pub(crate) fn jvp<S: Runtime>(r: &Reduce, x: &Tensor<S>, y: &Tensor<S>, t: &Tensor<S>) -> Result<Option<Tensor<S>>> {
    let sum = |t: &Tensor<S>| reduce(t, ReduceOp::Sum, &r.axes, r.keepdim);
    match r.op {
        ReduceOp::Sum => sum(t).map(Some),
        ReduceOp::Prod => sum(&product_of_others(x, &r.axes)?.mul(t)?).map(Some),
        ReduceOp::Max | ReduceOp::Min => {
            let (hit, share) = ties(x, y, r)?;
            sum(&only(&hit, t)?)?.div(&share).map(Some)
        }
        ReduceOp::Any | ReduceOp::All | ReduceOp::ArgMax | ReduceOp::ArgMin => Ok(None),
    }
}

/// Where the fold's choice stands, and how many places share it.
fn ties<S: Runtime>(x: &Tensor<S>, y: &Tensor<S>, r: &Reduce) -> Result<(Tensor<S>, Tensor<S>)> {
    let hit = chosen(x, &spread(y, r, x.shape())?)?;
    let share = reduce(&hit, ReduceOp::Sum, &r.axes, r.keepdim)?.cast(x.dtype())?;
    Ok((hit, share))
}

/// For each element the product of the others along the axes: of those before times those after, so that it is right
/// where there are zeros, and so are its derivatives.
fn product_of_others<S: Runtime>(x: &Tensor<S>, axes: &[usize]) -> Result<Tensor<S>> {
    let kept = (0..x.ndim()).filter(|k| !axes.contains(k));
    let order: AxisList = kept.chain(axes.iter().copied()).collect();
    let moved = super::view::apply(&numr_core::prim::View::Permute(order.clone()), x)?;
    let rest = x.ndim() - axes.len();
    let mut flat: Shape = moved.shape()[..rest].into();
    flat.push(moved.shape()[rest..].iter().product());
    let line = moved.reshape(&flat)?;
    let before = scan(&line, ScanOp::Prod, rest, false, true)?;
    let after = scan(&line, ScanOp::Prod, rest, true, true)?;
    let back = before.mul(&after)?.reshape(moved.shape())?;
    super::view::transpose(&numr_core::prim::View::Permute(order), x.layout().shape(), &back)
}
