//! The table of derivatives: one pull-back and one push-forward for every primitive, generic in the runtime they run on.
//!
//! Run on a device they are first order; run on a [`crate::Tape`] they are recorded, and so of any order. Zeros that
//! follow from the structure are `None` and never multiplied out.

pub(crate) mod contract;
pub(crate) mod fold;
pub(crate) mod fused;
pub(crate) mod index;
pub(crate) mod map;
pub(crate) mod scan;
pub(crate) mod view;

use crate::tape::Kept;
use numr_core::prim::{Meta, Prim, Reduce, ReduceOp, ScanOp, ScatterOp};
use numr_core::{Error, Result, Runtime, Tensor};
use smallvec::{SmallVec, smallvec};

/// Gradients of the operands, or tangents of the results; `None` is zero.
pub(crate) type Grads<S> = SmallVec<[Option<Tensor<S>>; 2]>;

/// One application of a primitive, as far as it was kept.
pub(crate) struct Local<'a, S: Runtime> {
    pub(crate) prim: &'a Prim,
    /// Shapes and dtypes of the operands.
    pub(crate) metas: &'a [Meta],
    pub(crate) inputs: &'a [Option<Tensor<S>>],
    pub(crate) outputs: &'a [Option<Tensor<S>>],
}

impl<'a, S: Runtime> Local<'a, S> {
    /// An operand that [`kept`] names.
    pub(crate) fn input(&self, k: usize) -> Result<&'a Tensor<S>> {
        self.saved(self.inputs, k)
    }

    /// A result that [`kept`] names.
    pub(crate) fn output(&self, k: usize) -> Result<&'a Tensor<S>> {
        self.saved(self.outputs, k)
    }

    fn saved(&self, all: &'a [Option<Tensor<S>>], k: usize) -> Result<&'a Tensor<S>> {
        let kept = all.get(k).and_then(Option::as_ref);
        kept.ok_or_else(|| Error::grad(self.prim.name(), "a value that its rule reads was not kept"))
    }
}

/// What the pull-back reads of a primitive with these operands tracked; `None` if its derivative is zero by nature.
pub(crate) fn kept(prim: &Prim, tracked: impl Fn(usize) -> bool, results: usize) -> Option<Kept> {
    let reads = |inputs: u64, outputs: u64| Some(Kept { inputs, outputs });
    match prim {
        Prim::Map(m) => map::kept(m, tracked, results),
        Prim::View(_) | Prim::Contiguous | Prim::Concat { .. } | Prim::Assign { .. } => reads(0, 0),
        Prim::Reduce(r) => match r.op {
            ReduceOp::Sum => reads(0, 0),
            ReduceOp::Prod => reads(1, 0),
            ReduceOp::Max | ReduceOp::Min => reads(1, 1),
            ReduceOp::Any | ReduceOp::All | ReduceOp::ArgMax | ReduceOp::ArgMin => None,
        },
        Prim::Scan(s) => match s.op {
            ScanOp::Sum => reads(0, 0),
            ScanOp::Prod | ScanOp::Max | ScanOp::Min => reads(1, 0),
        },
        Prim::Contract { .. } => reads(u64::from(tracked(1)) | u64::from(tracked(0)) << 1, 0),
        Prim::Gather { .. } => reads(0b10, 0),
        Prim::Scatter { op, .. } => match op {
            ScatterOp::Set | ScatterOp::Add => reads(0b10, 0),
            ScatterOp::Mul => reads(0b111, 0),
            ScatterOp::Min | ScatterOp::Max => reads(0b111, 1),
        },
        Prim::Nonzero => None,
        Prim::Sort { .. } => reads(0, 0b10),
        Prim::Fused(f) => fused::kept(f),
    }
}

/// The gradients of the operands that `needed` names, from those of the results.
///
/// # Errors
/// `Error::Grad` if there is no rule; faults of the device.
pub(crate) fn vjp<S: Runtime>(local: &Local<S>, gs: &[Option<Tensor<S>>], needed: &[bool]) -> Result<Grads<S>> {
    let Some(g) = gs.iter().flatten().next() else { return Ok(smallvec![None; needed.len()]) };
    match local.prim {
        Prim::Map(m) => map::vjp(local, m, gs, needed),
        Prim::View(v) => Ok(smallvec![Some(view::transpose(v, &local.metas[0].shape, g)?)]),
        Prim::Contiguous => Ok(smallvec![Some(g.clone())]),
        Prim::Concat { axis } => view::split(*axis, local.metas, g, needed),
        Prim::Assign { view } => view::assign_vjp(view, g, needed),
        Prim::Reduce(r) => Ok(smallvec![fold::vjp(local, r, g)?]),
        Prim::Scan(s) => Ok(smallvec![Some(scan::vjp(local, s, g)?)]),
        Prim::Contract { .. } => contract::vjp(local, g, needed),
        Prim::Gather { axis } => {
            let base = Tensor::try_zeros(&local.metas[0].shape, g.dtype(), g.device())?;
            Ok(smallvec![Some(index::scatter(&base, *axis, local.input(1)?, g, ScatterOp::Add)?), None])
        }
        Prim::Scatter { axis, op } => index::scatter_vjp(local, *axis, *op, g, needed),
        Prim::Nonzero => Ok(smallvec![None]),
        Prim::Sort { axis, .. } => match &gs[0] {
            None => Ok(smallvec![None]),
            Some(g) => {
                let base = Tensor::try_zeros(g.shape(), g.dtype(), g.device())?;
                Ok(smallvec![Some(index::scatter(&base, *axis, local.output(1)?, g, ScatterOp::Add)?)])
            }
        },
        Prim::Fused(f) => fused::vjp(local, f, g),
    }
}

/// The tangents of the results from those of the operands, at least one of which is given. Needs all operands and
/// results.
///
/// # Errors
/// `Error::Grad` if there is no rule; faults of the device.
pub(crate) fn jvp<S: Runtime>(
    prim: &Prim,
    inputs: &[&Tensor<S>],
    outputs: &[Tensor<S>],
    ts: &[Option<&Tensor<S>>],
) -> Result<Grads<S>> {
    let first = || ts[0].ok_or_else(|| Error::grad(prim.name(), "only its first operand has a derivative"));
    match prim {
        Prim::Map(m) => map::jvp(m, inputs, outputs, ts),
        Prim::View(v) => Ok(smallvec![Some(view::apply(v, first()?)?)]),
        Prim::Contiguous => Ok(smallvec![Some(first()?.clone())]),
        Prim::Concat { .. } | Prim::Assign { .. } => {
            let full = inputs.iter().zip(ts).map(|(x, t)| match t {
                Some(t) => Ok((*t).clone()),
                None => x.zeros_like(),
            });
            let full = full.collect::<Result<Vec<_>>>()?;
            Ok(smallvec![Some(Tensor::run_one(prim, &full.iter().collect::<Vec<_>>())?)])
        }
        Prim::Reduce(r) => Ok(smallvec![fold::jvp(r, inputs[0], &outputs[0], first()?)?]),
        Prim::Scan(s) => Ok(smallvec![Some(scan::jvp(s, inputs[0], first()?)?)]),
        Prim::Contract { dtype } => Ok(smallvec![contract::jvp(*dtype, inputs, ts)?]),
        Prim::Gather { .. } => match ts[0] {
            None => Ok(smallvec![None]),
            Some(t) => Ok(smallvec![Some(Tensor::run_one(prim, &[t, inputs[1]])?)]),
        },
        Prim::Scatter { axis, op } => Ok(smallvec![Some(index::scatter_jvp(*axis, *op, inputs, &outputs[0], ts)?)]),
        Prim::Nonzero => Ok(smallvec![None]),
        Prim::Sort { axis, .. } => Ok(smallvec![Some(index::gather(first()?, *axis, &outputs[1])?), None]),
        Prim::Fused(f) => fused::jvp(f, inputs, outputs, ts),
    }
}

/// Folds axes; they go.
pub(crate) fn reduce<S: Runtime>(t: &Tensor<S>, op: ReduceOp, axes: &[usize], keepdim: bool) -> Result<Tensor<S>> {
    Tensor::run_one(&Prim::Reduce(Reduce { op, axes: axes.into(), keepdim }), &[t])
}

/// The transpose of broadcasting: sums the axes that `shape` does not have or has with size 1.
pub(crate) fn sum_to<S: Runtime>(t: &Tensor<S>, shape: &[usize]) -> Result<Tensor<S>> {
    if t.shape() == shape {
        return Ok(t.clone());
    }
    let new = t.ndim() - shape.len().min(t.ndim());
    let summed = |&k: &usize| k < new || (shape[k - new] == 1 && t.shape()[k] != 1);
    let axes: SmallVec<[usize; 8]> = (0..t.ndim()).filter(summed).collect();
    let sum = if axes.is_empty() { t.clone() } else { reduce(t, ReduceOp::Sum, &axes, false)? };
    sum.reshape(shape)
}

/// The gradient of an operand of shape and dtype `meta` from one of the broadcast shape.
pub(crate) fn fit<S: Runtime>(t: &Tensor<S>, meta: &Meta) -> Result<Tensor<S>> {
    sum_to(t, &meta.shape)?.cast(meta.dtype)
}
