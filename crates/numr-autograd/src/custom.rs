//! Gradients written by hand.

use crate::rules::Grads;
use crate::tape::{Edge, Node, Tape, inexact, is_grad_enabled, on_tape, value};
use numr_core::{Result, Runtime, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;

/// A function with a pull-back of its own, for where the derived one is slow, unstable, or not what is meant.
///
/// Both are written once for every runtime. On a device they just run; where a derivative of the derivative is asked
/// for, the pull-back is recorded, so it is right to any order.
///
/// ```
/// use numr_autograd::{CustomGradient, custom, grad};
/// use numr_core::{Result, Runtime, Tensor};
/// use numr_cpu::{CpuDevice, CpuRuntime};
///
/// /// ln(1 + eˣ), with its slope stated as the logistic function.
/// struct Softplus;
///
/// impl CustomGradient for Softplus {
///     fn name(&self) -> &'static str {
///         "softplus"
///     }
///     fn forward<R: Runtime>(&self, x: &[Tensor<R>]) -> Result<Vec<Tensor<R>>> {
///         Ok(vec![x[0].exp()?.log1p()?])
///     }
///     fn vjp<R: Runtime>(
///         &self,
///         x: &[Tensor<R>],
///         _y: &[Tensor<R>],
///         g: &[Option<Tensor<R>>],
///     ) -> Result<Vec<Option<Tensor<R>>>> {
///         Ok(vec![g[0].as_ref().map(|g| g.mul(&x[0].sigmoid()?)).transpose()?])
///     }
/// }
///
/// let x = Tensor::<CpuRuntime>::from_slice(&[0.0f64], &[1], &CpuDevice::new());
/// let g = grad(|x| custom(Softplus, &[x])?[0].sum(.., false), &x)?;
/// assert_eq!(g.to_vec::<f64>(), [0.5]);
/// # Ok::<(), numr_core::Error>(())
/// ```
pub trait CustomGradient: Send + Sync + 'static {
    /// The name, for errors.
    fn name(&self) -> &'static str;

    /// The values.
    ///
    /// # Errors
    /// What the function refuses.
    fn forward<R: Runtime>(&self, inputs: &[Tensor<R>]) -> Result<Vec<Tensor<R>>>;

    /// The gradients of the inputs, in their shapes, from those of the outputs; `None` is zero.
    ///
    /// # Errors
    /// `Error::Grad` where there is no gradient.
    fn vjp<R: Runtime>(
        &self,
        inputs: &[Tensor<R>],
        outputs: &[Tensor<R>],
        cotangents: &[Option<Tensor<R>>],
    ) -> Result<Vec<Option<Tensor<R>>>>;
}

/// Calls a function with a gradient of its own.
///
/// # Errors
/// Those of the function.
pub fn custom<R: Runtime, C: CustomGradient>(op: C, inputs: &[&Tensor<Tape<R>>]) -> Result<Vec<Tensor<Tape<R>>>> {
    let inputs: Vec<Tensor<Tape<R>>> = inputs.iter().map(|&t| t.clone()).collect();
    let below: Vec<Tensor<R>> = inputs.iter().map(value).collect();
    let outputs = op.forward(&below)?;
    let rule = Custom { op, results: outputs.len() };
    Ok(attach(Box::new(rule), &inputs, outputs, true))
}

/// A user's gradient and the number of its outputs.
struct Custom<C> {
    op: C,
    results: usize,
}

/// Puts the outputs of a rule on the tape, which keeps them for the rule if it reads them.
pub(crate) fn attach<R: Runtime>(
    rule: Box<dyn Rule<R>>,
    inputs: &[Tensor<Tape<R>>],
    outputs: Vec<Tensor<R>>,
    keep: bool,
) -> Vec<Tensor<Tape<R>>> {
    let tracked = is_grad_enabled() && inputs.iter().any(|t| t.storage().origin().is_some());
    let node = tracked.then(|| Node::custom(rule, inputs, if keep { &outputs } else { &[] }));
    let edge = |(slot, t): (usize, &Tensor<R>)| {
        let node = node.as_ref().filter(|_| inexact(t.dtype()))?;
        Some(Edge { node: node.clone(), slot: slot as u32 })
    };
    outputs.into_iter().enumerate().map(|(slot, t)| (edge((slot, &t)), t)).map(|(edge, t)| on_tape(t, edge)).collect()
}

/// The pull-back of a node that is not a primitive: on the runtime below, and recorded.
pub(crate) trait Rule<R: Runtime>: Send + Sync {
    fn name(&self) -> &'static str;

    /// The number of outputs.
    fn results(&self) -> usize;

    fn vjp(
        &self,
        inputs: &[Tensor<R>],
        outputs: &[Tensor<R>],
        gs: &[Option<Tensor<R>>],
    ) -> Result<Vec<Option<Tensor<R>>>>;

    fn vjp_recorded(
        &self,
        inputs: &[Tensor<Tape<R>>],
        outputs: &[Tensor<Tape<R>>],
        gs: &[Option<Tensor<Tape<R>>>],
    ) -> Result<Vec<Option<Tensor<Tape<R>>>>>;

    /// The classic form it was given in, if it was.
    fn user(&self) -> Option<&Arc<dyn crate::classic::grad_fn::GradFn<R>>> {
        None
    }
}

impl<R: Runtime, C: CustomGradient> Rule<R> for Custom<C> {
    fn name(&self) -> &'static str {
        self.op.name()
    }

    fn results(&self) -> usize {
        self.results
    }

    fn vjp(
        &self,
        inputs: &[Tensor<R>],
        outputs: &[Tensor<R>],
        gs: &[Option<Tensor<R>>],
    ) -> Result<Vec<Option<Tensor<R>>>> {
        self.op.vjp(inputs, outputs, gs)
    }

    fn vjp_recorded(
        &self,
        inputs: &[Tensor<Tape<R>>],
        outputs: &[Tensor<Tape<R>>],
        gs: &[Option<Tensor<Tape<R>>>],
    ) -> Result<Vec<Option<Tensor<Tape<R>>>>> {
        self.op.vjp(inputs, outputs, gs)
    }
}

/// What a backward pass runs on: the runtime below, or the tape itself, which records it.
pub(crate) trait Pass<R: Runtime> {
    type On: Runtime<Device = R::Device>;
    /// A saved operand.
    fn input(inner: &Tensor<R>, origin: &Option<Edge<R>>) -> Tensor<Self::On>;
    /// A saved result.
    fn output(inner: &Tensor<R>, node: &Arc<Node<R>>, slot: u32) -> Tensor<Self::On>;
    fn custom(
        rule: &dyn Rule<R>,
        inputs: &[Tensor<Self::On>],
        outputs: &[Tensor<Self::On>],
        gs: &[Option<Tensor<Self::On>>],
    ) -> Result<Grads<Self::On>>;
}

/// First order: nothing is recorded.
pub(crate) struct Plain;

impl<R: Runtime> Pass<R> for Plain {
    type On = R;

    fn input(inner: &Tensor<R>, _: &Option<Edge<R>>) -> Tensor<R> {
        inner.clone()
    }

    fn output(inner: &Tensor<R>, _: &Arc<Node<R>>, _: u32) -> Tensor<R> {
        inner.clone()
    }

    fn custom(
        rule: &dyn Rule<R>,
        inputs: &[Tensor<R>],
        outputs: &[Tensor<R>],
        gs: &[Option<Tensor<R>>],
    ) -> Result<Grads<R>> {
        Ok(SmallVec::from_vec(rule.vjp(inputs, outputs, gs)?))
    }
}

/// On the tape itself: the gradients can be differentiated again.
pub(crate) struct Recorded;

impl<R: Runtime> Pass<R> for Recorded {
    type On = Tape<R>;

    fn input(inner: &Tensor<R>, origin: &Option<Edge<R>>) -> Tensor<Tape<R>> {
        on_tape(inner.clone(), origin.clone())
    }

    fn output(inner: &Tensor<R>, node: &Arc<Node<R>>, slot: u32) -> Tensor<Tape<R>> {
        let edge = inexact(inner.dtype()).then(|| Edge { node: node.clone(), slot });
        on_tape(inner.clone(), edge)
    }

    fn custom(
        rule: &dyn Rule<R>,
        inputs: &[Tensor<Tape<R>>],
        outputs: &[Tensor<Tape<R>>],
        gs: &[Option<Tensor<Tape<R>>>],
    ) -> Result<Grads<Tape<R>>> {
        Ok(SmallVec::from_vec(rule.vjp_recorded(inputs, outputs, gs)?))
    }
}
