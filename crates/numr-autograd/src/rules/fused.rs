//! Fused operations. Their pull-backs are fused operations again; those are recorded as the composites that define them.

use super::{Grads, Local};
use crate::tape::Kept;
use numr_core::ops::fused::{
    layer_norm, layer_norm_backward, log_softmax_backward, rms_norm, rms_norm_backward, softmax_backward,
};
use numr_core::prim::Fused;
use numr_core::{Error, Result, Runtime, Tensor};
use smallvec::smallvec;

/// Is there a rule, so that it can be recorded as it is?
pub(crate) fn recordable(fused: &Fused) -> bool {
    kept(fused).is_some()
}

pub(crate) fn kept(fused: &Fused) -> Option<Kept> {
    match fused {
        Fused::Softmax { .. } | Fused::LogSoftmax { .. } => Some(Kept { inputs: 0, outputs: 1 }),
        Fused::LayerNorm { .. } | Fused::RmsNorm { .. } => Some(Kept { inputs: 0b11, outputs: 0 }),
        Fused::SoftmaxBackward { .. }
        | Fused::LogSoftmaxBackward { .. }
        | Fused::LayerNormBackward { .. }
        | Fused::RmsNormBackward { .. } => None,
    }
}

fn none(fused: &Fused) -> Error {
    Error::grad(fused.name(), "a fused pull-back is differentiated as its composite")
}

pub(crate) fn vjp<S: Runtime>(local: &Local<S>, fused: &Fused, g: &Tensor<S>) -> Result<Grads<S>> {
    match *fused {
        Fused::Softmax { axis } => Ok(smallvec![Some(softmax_backward(local.output(0)?, g, axis)?)]),
        Fused::LogSoftmax { axis } => Ok(smallvec![Some(log_softmax_backward(local.output(0)?, g, axis)?)]),
        Fused::LayerNorm { eps } => {
            Ok(layer_norm_backward(local.input(0)?, local.input(1)?, g, eps)?.into_iter().map(Some).collect())
        }
        Fused::RmsNorm { eps } => {
            Ok(rms_norm_backward(local.input(0)?, local.input(1)?, g, eps)?.into_iter().map(Some).collect())
        }
        Fused::SoftmaxBackward { .. }
        | Fused::LogSoftmaxBackward { .. }
        | Fused::LayerNormBackward { .. }
        | Fused::RmsNormBackward { .. } => Err(none(fused)),
    }
}

pub(crate) fn jvp<S: Runtime>(
    fused: &Fused,
    inputs: &[&Tensor<S>],
    outputs: &[Tensor<S>],
    ts: &[Option<&Tensor<S>>],
) -> Result<Grads<S>> {
    let tangent = match (*fused, ts) {
        // The Jacobian of softmax is symmetric, and so is that of normalisation.
        (Fused::Softmax { axis }, &[Some(t)]) => Some(softmax_backward(&outputs[0], t, axis)?),
        (Fused::LogSoftmax { axis }, &[Some(t)]) => {
            let mean = outputs[0].exp()?.mul(t)?.sum(axis, true)?;
            Some(t.sub(&mean)?)
        }
        (Fused::LayerNorm { eps }, &[x, w, b]) => {
            let (one, zero) = (inputs[1].ones_like()?, inputs[2].zeros_like()?);
            let through_x = match x {
                Some(t) => Some(layer_norm_backward(inputs[0], &one, t, eps)?[0].mul(inputs[1])?),
                None => None,
            };
            let through_w = match w {
                Some(t) => Some(layer_norm(inputs[0], &one, &zero, eps)?.mul(t)?),
                None => None,
            };
            total([through_x, through_w, b.cloned()], &outputs[0])?
        }
        (Fused::RmsNorm { eps }, &[x, w]) => {
            let one = inputs[1].ones_like()?;
            let through_x = match x {
                Some(t) => Some(rms_norm_backward(inputs[0], &one, t, eps)?[0].mul(inputs[1])?),
                None => None,
            };
            let through_w = match w {
                Some(t) => Some(rms_norm(inputs[0], &one, eps)?.mul(t)?),
                None => None,
            };
            total([through_x, through_w, None], &outputs[0])?
        }
        _ => return Err(none(fused)),
    };
    Ok(smallvec![tangent])
}

/// The sum of terms, in the shape of the result.
fn total<S: Runtime>(terms: [Option<Tensor<S>>; 3], y: &Tensor<S>) -> Result<Option<Tensor<S>>> {
    let mut sum: Option<Tensor<S>> = None;
    for term in terms.into_iter().flatten() {
        sum = Some(match sum {
            Some(sum) => sum.add(&term)?,
            None => term,
        });
    }
    sum.map(|t| t.broadcast_to(y.shape())).transpose()
}
