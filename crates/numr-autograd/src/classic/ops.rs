//! Pull-backs of fused operations under their names in 0.5.

pub use super::var_ops::{var_broadcast_to, var_cat, var_narrow, var_permute, var_reshape, var_transpose};

use super::grad_fn::{GradFn, edge_of};
use super::var::Var;
use crate::tape::on_tape;
use numr_core::ops::fused::{layer_norm_backward, rms_norm_backward};
use numr_core::{Result, Runtime, Tensor, TensorId};
use std::sync::Arc;

/// A pull-back from what it saved: its inputs by name, of which the first two are kept, its width, and what it calls.
macro_rules! norm_backward {
    ($(#[doc = $doc:literal])* $B:ident, $n:literal, $call:path: $($id:ident $grad_fn:ident),*) => {
        $(#[doc = $doc])*
        ///
        /// Right to any order: what it saved counts as the inputs themselves, not as constants.
        pub struct $B<R: Runtime> {
            ids: [TensorId; $n],
            saved: [Tensor<R>; 2],
            eps: f64,
            grad_fns: [Option<Arc<dyn GradFn<R>>>; $n],
        }

        impl<R: Runtime> $B<R> {
            /// The pull-back for inputs with these ids and values, which came from these operations.
            #[allow(clippy::too_many_arguments, reason = "the signature of 0.5")]
            pub fn new(
                $($id: TensorId,)*
                input: Tensor<R>,
                weight: Tensor<R>,
                eps: f32,
                $($grad_fn: Option<Arc<dyn GradFn<R>>>,)*
            ) -> Self {
                $B { ids: [$($id),*], saved: [input, weight], eps: eps.into(), grad_fns: [$($grad_fn),*] }
            }
        }

        impl<R: Runtime> GradFn<R> for $B<R> {
            fn backward(&self, grad_output: &Tensor<R>) -> Result<Vec<Option<Tensor<R>>>> {
                let [input, weight] = &self.saved;
                Ok($call(input, weight, grad_output, self.eps)?.into_iter().map(Some).collect())
            }

            fn backward_var(&self, grad_output: &Var<R>) -> Result<Vec<Option<Var<R>>>> {
                let taped = |k: usize| {
                    on_tape(self.saved[k].clone(), Some(edge_of(self.ids[k], self.grad_fns[k].clone())))
                };
                let grads = $call(&taped(0), &taped(1), grad_output.on(), self.eps)?;
                Ok(grads.into_iter().map(|g| Some(Var::wrap(g))).collect())
            }

            fn inputs(&self) -> &[TensorId] {
                &self.ids
            }

            fn input_grad_fns(&self) -> Vec<Option<Arc<dyn GradFn<R>>>> {
                self.grad_fns.to_vec()
            }

            fn saved_tensors(&self) -> &[Tensor<R>] {
                &self.saved
            }

            fn name(&self) -> &'static str {
                stringify!($B)
            }
        }
    };
}

norm_backward! {
    /// The pull-back of layer normalisation over the last axis, (x - mean) / √(var + eps) · weight + bias.
    LayerNormBackward, 3, layer_norm_backward:
        input_id input_grad_fn, weight_id weight_grad_fn, bias_id bias_grad_fn
}

norm_backward! {
    /// The pull-back of root-mean-square normalisation over the last axis, x / √(mean(x²) + eps) · weight.
    RmsNormBackward, 2, rms_norm_backward: input_id input_grad_fn, weight_id weight_grad_fn
}
