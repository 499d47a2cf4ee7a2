//! Matrix products: bilinear, so each rule is two products.

use super::map::conj;
use super::{Grads, Local, fit};
use numr_core::prim::Prim;
use numr_core::{DType, Result, Runtime, Tensor};
use smallvec::smallvec;

/// The product in a dtype that holds both.
fn product<S: Runtime>(a: &Tensor<S>, b: &Tensor<S>, dtype: DType) -> Result<Tensor<S>> {
    Tensor::run_one(&Prim::Contract { dtype }, &[&a.cast(dtype)?, &b.cast(dtype)?])
}

/// The conjugate transpose of the last two axes.
fn adjoint<S: Runtime>(t: &Tensor<S>) -> Result<Tensor<S>> {
    conj(t)?.t()
}

pub(crate) fn vjp<S: Runtime>(local: &Local<S>, g: &Tensor<S>, needed: &[bool]) -> Result<Grads<S>> {
    let mut grads: Grads<S> = smallvec![None, None];
    if needed[0] {
        grads[0] = Some(fit(&product(g, &adjoint(local.input(1)?)?, g.dtype())?, &local.metas[0])?);
    }
    if needed[1] {
        let a = local.input(0)?;
        // One matrix for a whole batch: the sum over the batch is part of one product.
        let (a, g) = match (local.metas[1].shape.len(), a.ndim() == g.ndim() && a.ndim() > 2) {
            (2, true) => (&rows(a)?, &rows(g)?),
            _ => (a, g),
        };
        grads[1] = Some(fit(&product(&adjoint(a)?, g, g.dtype())?, &local.metas[1])?);
    }
    Ok(grads)
}

/// All axes but the last as one.
fn rows<S: Runtime>(t: &Tensor<S>) -> Result<Tensor<S>> {
    let (last, rest) = match t.shape() {
        [rest @ .., last] => (*last, rest.iter().product()),
        [] => (1, 1),
    };
    t.reshape(&[rest, last])
}

pub(crate) fn jvp<S: Runtime>(
    dtype: DType,
    inputs: &[&Tensor<S>],
    ts: &[Option<&Tensor<S>>],
) -> Result<Option<Tensor<S>>> {
    let left = ts[0].map(|t| product(t, inputs[1], dtype)).transpose()?;
    let right = ts[1].map(|t| product(inputs[0], t, dtype)).transpose()?;
    match (left, right) {
        (Some(a), Some(b)) => a.add(&b).map(Some),
        (a, b) => Ok(a.or(b)),
    }
}
