//! Variables.

use super::grad_fn::{GradFn, Step, edge_of};
use crate::tape::{Tape, constant, is_grad_enabled, leaf_of, on_tape, value};
use numr_core::{Runtime, Tensor, TensorId};
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// A tensor on the tape, with an id to ask for its gradient by.
///
/// It derefs to `Tensor<Tape<R>>`, so all ops are there as methods; [`Var::from`] goes the other way.
#[derive(Clone)]
pub struct Var<R: Runtime> {
    taped: Tensor<Tape<R>>,
    id: TensorId,
    grad_fn: OnceLock<Option<Arc<dyn GradFn<R>>>>,
}

impl<R: Runtime> Var<R> {
    /// A variable, named by the tensor's id, or a constant.
    pub fn new(tensor: Tensor<R>, requires_grad: bool) -> Self {
        let id = tensor.id();
        Var::with_id(tensor, id, requires_grad)
    }

    /// A variable with this id, or a constant. Variables of one id are one variable.
    pub fn with_id(tensor: Tensor<R>, id: TensorId, requires_grad: bool) -> Self {
        let taped = if requires_grad { leaf_of(&tensor, id) } else { constant(&tensor) };
        Var { taped, id, grad_fn: OnceLock::new() }
    }

    /// The result of an operation, or a variable where there is none.
    pub fn with_id_and_grad_fn(tensor: Tensor<R>, id: TensorId, grad_fn: Option<Arc<dyn GradFn<R>>>) -> Self {
        let taped = on_tape(tensor, is_grad_enabled().then(|| edge_of(id, grad_fn)));
        Var { taped, id, grad_fn: OnceLock::new() }
    }

    /// The result of an operation with a gradient of its own.
    pub fn from_op(tensor: Tensor<R>, grad_fn: Arc<dyn GradFn<R>>) -> Self {
        let id = tensor.id();
        Var::with_id_and_grad_fn(tensor, id, Some(grad_fn))
    }

    /// What [`crate::Gradients`] and the stores know the variable by.
    pub fn id(&self) -> TensorId {
        self.id
    }

    /// The value.
    pub fn tensor(&self) -> &Tensor<R> {
        self.taped.storage().inner()
    }

    /// Does a gradient flow through it?
    pub fn requires_grad(&self) -> bool {
        self.taped.storage().origin().is_some()
    }

    /// The operation it came from; `None` for variables and constants.
    pub fn grad_fn(&self) -> Option<&Arc<dyn GradFn<R>>> {
        self.grad_fn.get_or_init(|| Step::behind(self.taped.storage().origin()?)).as_ref()
    }

    /// The value as a constant.
    pub fn detach(&self) -> Self {
        Var::new(self.tensor().clone(), false)
    }

    /// Makes it a variable, or a constant; what it came from is forgotten unless it stays as it is.
    pub fn set_requires_grad(&mut self, requires_grad: bool) {
        if requires_grad != self.requires_grad() {
            *self = Var::with_id(self.tensor().clone(), self.id, requires_grad);
        }
    }

    pub(crate) fn on(&self) -> &Tensor<Tape<R>> {
        &self.taped
    }

    pub(crate) fn wrap(taped: Tensor<Tape<R>>) -> Self {
        // An upload does not know its shape.
        let origin = taped.storage().origin().cloned();
        let whole = taped.storage().inner().layout() == taped.layout();
        let taped = if whole { taped } else { on_tape(value(&taped), origin) };
        let origin = taped.storage().origin();
        let id = origin.filter(|edge| edge.node.is_leaf()).map_or_else(|| taped.id(), |edge| edge.node.id);
        Var { taped, id, grad_fn: OnceLock::new() }
    }
}

impl<R: Runtime> From<Tensor<Tape<R>>> for Var<R> {
    fn from(taped: Tensor<Tape<R>>) -> Self {
        Var::wrap(taped)
    }
}

impl<R: Runtime> Deref for Var<R> {
    type Target = Tensor<Tape<R>>;

    fn deref(&self) -> &Tensor<Tape<R>> {
        &self.taped
    }
}

impl<R: Runtime> fmt::Debug for Var<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Var").field("id", &self.id).field("tensor", &self.taped).finish()
    }
}
