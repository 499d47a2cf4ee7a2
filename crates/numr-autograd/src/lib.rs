//! Gradients of any order: reverse and forward mode as runtimes over one table of rules.
//!
//! [`Tape<R>`] records what runs on it and [`Dual<R>`] carries tangents. Both implement [`numr_core::Runtime`], so every
//! op and every generic function works on their tensors, and they nest in any order.

#![forbid(unsafe_code)]

pub mod check;
pub mod checkpoint;
pub mod classic;
pub mod custom;
pub mod dual;
pub mod reverse;
mod rules;
pub mod tape;
pub mod transform;

pub use check::{Check, check_gradients};
pub use checkpoint::checkpoint;
pub use classic::backward::{BackwardHook, backward, backward_with_graph, backward_with_hooks};
pub use classic::dual::DualTensor;
pub use classic::grad_fn::GradFn;
pub use classic::grad_store::{GradStore, VarGradStore};
pub use classic::var::Var;
pub use classic::{backward, dual_ops, forward, grad_fn, grad_store, ops, var, var_grad_store, var_ops};
pub use classic::{dual_ops::*, var_ops::*};
pub use custom::{CustomGradient, custom};
pub use dual::{Dual, DualStorage, dual, primal, tangent};
pub use reverse::{Gradients, gradients, gradients_recorded, gradients_with_hooks};
pub use tape::{Tape, TapeStorage, constant, is_grad_enabled, leaf, no_grad, strict, value};
pub use transform::{
    Pullback, grad, grad_many, hessian, hvp, jacobian, jvp, jvp_many, value_and_grad, value_and_grad_many, vjp,
    vjp_many,
};
