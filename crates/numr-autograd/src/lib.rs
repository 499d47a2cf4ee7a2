//! Gradients of any order: reverse and forward mode as runtimes over one table of rules.
//!
//! [`Tape<R>`] records what runs on it and [`Dual<R>`] carries tangents. Both implement [`numr_core::Runtime`], so every
//! op and every generic function works on their tensors, and they nest in any order.

#![forbid(unsafe_code)]

pub mod backward;
pub mod checkpoint;
pub mod custom;
pub mod dual;
mod rules;
pub mod tape;
pub mod transform;

pub use backward::{Gradients, backward, backward_with_graph, backward_with_hooks};
pub use checkpoint::checkpoint;
pub use custom::{CustomGradient, custom};
pub use dual::{Dual, DualStorage, dual, primal, tangent};
pub use tape::{Tape, TapeStorage, constant, is_grad_enabled, leaf, no_grad, strict, value};
pub use transform::{
    Pullback, grad, grad_many, hessian, hvp, jacobian, jvp, jvp_many, value_and_grad, value_and_grad_many, vjp,
    vjp_many,
};
