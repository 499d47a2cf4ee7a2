//! Gradients written by hand, in the form of 0.5. New code is shorter with [`crate::CustomGradient`].

use super::var::Var;
use crate::custom::{Plain, Recorded, Rule};
use crate::reverse::local;
use crate::tape::{Edge, Node, Tape};
use numr_core::{Error, Result, Runtime, Tensor, TensorId};
use smallvec::SmallVec;
use std::sync::Arc;

/// The pull-back of one operation: from the gradient of its result to those of its inputs.
///
/// Put the result on the tape with [`Var::from_op`]. To be right to second order, [`GradFn::backward_var`] must compute
/// from variables: make them of what was saved by [`Var::with_id_and_grad_fn`].
pub trait GradFn<R: Runtime>: Send + Sync {
    /// The gradients of the inputs, in their shapes; `None` is zero.
    ///
    /// # Errors
    /// `Error::Grad` where there is no gradient.
    fn backward(&self, grad_output: &Tensor<R>) -> Result<Vec<Option<Tensor<R>>>>;

    /// The same, recorded, for gradients of gradients.
    ///
    /// # Errors
    /// `Error::Grad` where there is none, which is what it says if it is not overridden.
    fn backward_var(&self, _grad_output: &Var<R>) -> Result<Vec<Option<Var<R>>>> {
        Err(Error::grad(self.name(), "its gradient cannot be differentiated: it has no `backward_var`"))
    }

    /// The ids of the inputs.
    fn inputs(&self) -> &[TensorId];

    /// Where the inputs came from; `None` for variables.
    fn input_grad_fns(&self) -> Vec<Option<Arc<dyn GradFn<R>>>>;

    /// What the pull-back keeps.
    fn saved_tensors(&self) -> &[Tensor<R>] {
        &[]
    }

    /// The name, for errors.
    fn name(&self) -> &'static str {
        "GradFn"
    }

    /// The place on the tape, of those that [`Var::grad_fn`] answers.
    #[doc(hidden)]
    fn origin(&self) -> Option<Origin<R>> {
        None
    }
}

/// A place on the tape.
#[doc(hidden)]
pub struct Origin<R: Runtime>(Edge<R>);

/// The place of the value with this id: that of its operation, or of a variable.
pub(super) fn edge_of<R: Runtime>(id: TensorId, grad_fn: Option<Arc<dyn GradFn<R>>>) -> Edge<R> {
    let Some(grad_fn) = grad_fn else { return Edge { node: Arc::new(Node::leaf(id)), slot: 0 } };
    if let Some(Origin(edge)) = grad_fn.origin() {
        return edge;
    }
    let came_from = grad_fn.input_grad_fns().into_iter().chain(std::iter::repeat(None));
    let parents = grad_fn.inputs().iter().zip(came_from).map(|(&id, f)| Some(edge_of(id, f))).collect();
    Edge { node: Node::by_hand(Box::new(ByHand(grad_fn)), parents), slot: 0 }
}

/// A user's [`GradFn`] as a rule of the tape.
struct ByHand<R: Runtime>(Arc<dyn GradFn<R>>);

impl<R: Runtime> Rule<R> for ByHand<R> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn results(&self) -> usize {
        1
    }

    fn vjp(&self, _: &[Tensor<R>], _: &[Tensor<R>], gs: &[Option<Tensor<R>>]) -> Result<Vec<Option<Tensor<R>>>> {
        gs.iter().flatten().next().map_or(Ok(vec![]), |g| self.0.backward(g))
    }

    fn vjp_recorded(
        &self,
        _: &[Tensor<Tape<R>>],
        _: &[Tensor<Tape<R>>],
        gs: &[Option<Tensor<Tape<R>>>],
    ) -> Result<Vec<Option<Tensor<Tape<R>>>>> {
        let Some(g) = gs.iter().flatten().next() else { return Ok(vec![]) };
        let grads = self.0.backward_var(&Var::wrap(g.clone()))?;
        Ok(grads.into_iter().map(|g| g.map(|g| g.on().clone())).collect())
    }

    fn user(&self) -> Option<&Arc<dyn GradFn<R>>> {
        Some(&self.0)
    }
}

/// An operation of the tape as a [`GradFn`].
pub(super) struct Step<R: Runtime> {
    edge: Edge<R>,
    inputs: SmallVec<[TensorId; 2]>,
}

impl<R: Runtime> Step<R> {
    /// The operation behind a value; `None` for a variable.
    pub(super) fn behind(edge: &Edge<R>) -> Option<Arc<dyn GradFn<R>>> {
        if edge.node.is_leaf() {
            return None;
        }
        let id = |parent: &Option<Edge<R>>| parent.as_ref().map_or_else(TensorId::new, |edge| edge.node.id);
        let inputs = match edge.node.user() {
            Some(user) => user.inputs().into(),
            None => edge.node.parents.iter().map(id).collect(),
        };
        Some(Arc::new(Step { edge: edge.clone(), inputs }))
    }

    fn gradients<P: crate::custom::Pass<R>>(&self, g: &Tensor<P::On>) -> Result<Vec<Option<Tensor<P::On>>>> {
        let mut gs = SmallVec::from_elem(None, self.edge.slot as usize + 1);
        gs[self.edge.slot as usize] = Some(g.clone());
        let needed: SmallVec<[bool; 4]> = self.edge.node.parents.iter().map(Option::is_some).collect();
        Ok(local::<R, P>(&self.edge.node, gs, &needed)?.into_vec())
    }
}

impl<R: Runtime> GradFn<R> for Step<R> {
    fn backward(&self, grad_output: &Tensor<R>) -> Result<Vec<Option<Tensor<R>>>> {
        self.gradients::<Plain>(grad_output)
    }

    fn backward_var(&self, grad_output: &Var<R>) -> Result<Vec<Option<Var<R>>>> {
        let grads = self.gradients::<Recorded>(grad_output.on())?;
        Ok(grads.into_iter().map(|g| g.map(Var::wrap)).collect())
    }

    fn inputs(&self) -> &[TensorId] {
        &self.inputs
    }

    fn input_grad_fns(&self) -> Vec<Option<Arc<dyn GradFn<R>>>> {
        self.edge.node.parents.iter().map(|parent| Step::behind(parent.as_ref()?)).collect()
    }

    fn saved_tensors(&self) -> &[Tensor<R>] {
        self.edge.node.user().map_or(&self.edge.node.saved, |user| user.saved_tensors())
    }

    fn name(&self) -> &'static str {
        self.edge.node.name()
    }

    fn origin(&self) -> Option<Origin<R>> {
        Some(Origin(self.edge.clone()))
    }
}
