//! The reverse pass.

use super::grad_store::{GradStore, VarGradStore};
use super::var::Var;
use crate::reverse::{gradients_recorded, gradients_with_hooks};
use numr_core::classic::RuntimeClient;
use numr_core::{Result, Runtime, Tensor, TensorId};

/// Is told every variable's gradient as soon as it is complete.
pub trait BackwardHook<R: Runtime>: Send {
    /// `grad` is the gradient of the variable `id`.
    fn on_leaf_grad_ready(&mut self, id: TensorId, grad: &Tensor<R>);
}

/// The gradients of a loss of one element with respect to every variable it came from; [`crate::gradients`].
///
/// # Errors
/// As there.
pub fn backward<R: Runtime, C: RuntimeClient<R>>(loss: &Var<R>, _client: &C) -> Result<GradStore<R>> {
    Ok(gradients_with_hooks(loss.on(), |_, _| {})?.into_iter().collect())
}

/// As [`backward`], with a hook.
///
/// # Errors
/// As there.
pub fn backward_with_hooks<R: Runtime, C: RuntimeClient<R>, H: BackwardHook<R>>(
    loss: &Var<R>,
    _client: &C,
    hooks: &mut H,
) -> Result<GradStore<R>> {
    Ok(gradients_with_hooks(loss.on(), |id, g| hooks.on_leaf_grad_ready(id, g))?.into_iter().collect())
}

/// As [`backward`], recorded; [`crate::gradients_recorded`].
///
/// # Errors
/// As there.
pub fn backward_with_graph<R: Runtime, C: RuntimeClient<R>>(loss: &Var<R>, _client: &C) -> Result<VarGradStore<R>> {
    Ok(gradients_recorded(loss.on())?.into_iter().map(|(id, g)| (id, Var::wrap(g))).collect())
}
