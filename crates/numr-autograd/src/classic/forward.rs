//! Forward mode.

use super::dual::DualTensor;
use crate::dual::tangent_of;
use crate::transform::columns;
use numr_core::classic::RuntimeClient;
use numr_core::{Result, Runtime, Tensor};

/// The value and the tangent of a function along tangents of its inputs; [`crate::jvp_many`].
///
/// # Errors
/// As there.
pub fn jvp<R: Runtime, C: RuntimeClient<R>>(
    f: impl FnOnce(&[DualTensor<R>], &C) -> Result<DualTensor<R>>,
    primals: &[&Tensor<R>],
    tangents: &[&Tensor<R>],
    client: &C,
) -> Result<(Tensor<R>, Tensor<R>)> {
    let (mut ys, mut ts) = jvp_multi(|xs, client| Ok(vec![f(xs, client)?]), primals, tangents, client)?;
    Ok((ys.swap_remove(0), ts.swap_remove(0)))
}

/// As [`jvp`], of a function of several results.
///
/// # Errors
/// As there.
pub fn jvp_multi<R: Runtime, C: RuntimeClient<R>>(
    f: impl FnOnce(&[DualTensor<R>], &C) -> Result<Vec<DualTensor<R>>>,
    primals: &[&Tensor<R>],
    tangents: &[&Tensor<R>],
    client: &C,
) -> Result<(Vec<Tensor<R>>, Vec<Tensor<R>>)> {
    let owned = |ts: &[&Tensor<R>]| ts.iter().map(|&t| t.clone()).collect::<Vec<_>>();
    let call = |xs: &[Tensor<crate::Dual<R>>]| {
        let xs: Vec<_> = xs.iter().cloned().map(DualTensor::wrap).collect();
        Ok(f(&xs, client)?.iter().map(|y| y.on().clone()).collect())
    };
    crate::jvp_many(call, &owned(primals), &owned(tangents))
}

/// The Jacobian, of shape `[result.., x..]`, column by column.
///
/// # Errors
/// As [`crate::jacobian`].
pub fn jacobian_forward<R: Runtime, C: RuntimeClient<R>>(
    f: impl Fn(&DualTensor<R>, &C) -> Result<DualTensor<R>>,
    x: &Tensor<R>,
    client: &C,
) -> Result<Tensor<R>> {
    columns(|x| Ok(f(&DualTensor::wrap(x.clone()), client)?.on().clone()), x)
}

/// The product of a Hessian and a vector, as the tangent of a gradient that `grad_f` computes.
///
/// # Errors
/// As [`crate::jvp`].
pub fn hvp<R: Runtime, C: RuntimeClient<R>>(
    grad_f: impl FnOnce(&DualTensor<R>, &C) -> Result<DualTensor<R>>,
    x: &Tensor<R>,
    v: &Tensor<R>,
    client: &C,
) -> Result<Tensor<R>> {
    tangent_of(grad_f(&DualTensor::wrap(crate::dual(x, Some(v))?), client)?.on())
}
