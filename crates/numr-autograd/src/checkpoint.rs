//! Less memory for more work: what is inside is computed again when its gradient is asked for.

use crate::custom::{Pass, Plain, Recorded, Rule, attach};
use crate::reverse::pull;
use crate::rules::view::apply;
use crate::tape::{Edge, Tape, constant, leaf, value};
use numr_core::prim::View;
use numr_core::{Error, Result, Runtime, Tensor};

/// Runs `f` and keeps only its inputs: the values inside are computed again in the backward pass. Right to any order.
///
/// `f` must compute the same each time it runs: a random mask inside must come from a key that is given to it. Every
/// recorded tensor that it reads must be among the inputs.
///
/// # Errors
/// `Error::Grad` if `f` reads a recorded tensor that is not among the inputs; errors of `f`.
///
/// ```
/// use numr_autograd::{checkpoint, gradients, leaf};
/// use numr_core::Tensor;
/// use numr_cpu::{CpuDevice, CpuRuntime};
///
/// let x = leaf(&Tensor::<CpuRuntime>::from_slice(&[0.5f64], &[1], &CpuDevice::new()));
/// let y = checkpoint(|x| Ok(vec![x[0].exp()?.square()?]), &[&x])?;
/// let grads = gradients(&y[0])?;
/// let slope = grads.get(&x).map(|g| g.to_vec::<f64>()[0]).unwrap_or_default();
/// assert!((slope - 2.0 * 1f64.exp()).abs() < 1e-14);
/// # Ok::<(), numr_core::Error>(())
/// ```
pub fn checkpoint<R, F>(f: F, inputs: &[&Tensor<Tape<R>>]) -> Result<Vec<Tensor<Tape<R>>>>
where
    R: Runtime,
    F: Fn(&[Tensor<Tape<R>>]) -> Result<Vec<Tensor<Tape<R>>>> + Send + Sync + 'static,
{
    let constants: Vec<Tensor<Tape<R>>> = inputs.iter().map(|t| constant(&value(t))).collect();
    let outputs = f(&constants)?;
    if outputs.iter().any(|y| y.storage().origin().is_some()) {
        let reason = "the function reads a recorded tensor that is not among its inputs";
        return Err(Error::grad("checkpoint", reason));
    }
    let inputs: Vec<Tensor<Tape<R>>> = inputs.iter().map(|&t| t.clone()).collect();
    let outputs: Vec<Tensor<R>> = outputs.iter().map(value).collect();
    let rule = Checkpoint { f, results: outputs.len() };
    Ok(attach(Box::new(rule), &inputs, outputs, false))
}

struct Checkpoint<F> {
    f: F,
    results: usize,
}

impl<F> Checkpoint<F> {
    /// Computes again, from variables of its own, and pulls back.
    fn again<R, P>(
        &self,
        inputs: &[Tensor<Tape<R>>],
        gs: &[Option<Tensor<P::On>>],
    ) -> Result<Vec<Option<Tensor<P::On>>>>
    where
        R: Runtime,
        P: Pass<R>,
        F: Fn(&[Tensor<Tape<R>>]) -> Result<Vec<Tensor<Tape<R>>>>,
    {
        let outputs = (self.f)(inputs)?;
        let seed = |(y, g): (&Tensor<Tape<R>>, &Option<Tensor<P::On>>)| {
            Some((y.storage().origin()?.clone(), g.as_ref()?.clone()))
        };
        let seeds = outputs.iter().zip(gs).filter_map(seed).collect();
        let edges: Vec<Option<Edge<R>>> = inputs.iter().map(|t| t.storage().origin().cloned()).collect();
        drop(outputs);
        pull::<R, P>(seeds, &edges, true)
    }
}

impl<R, F> Rule<R> for Checkpoint<F>
where
    R: Runtime,
    F: Fn(&[Tensor<Tape<R>>]) -> Result<Vec<Tensor<Tape<R>>>> + Send + Sync,
{
    fn name(&self) -> &'static str {
        "checkpoint"
    }

    fn results(&self) -> usize {
        self.results
    }

    fn vjp(&self, inputs: &[Tensor<R>], _: &[Tensor<R>], gs: &[Option<Tensor<R>>]) -> Result<Vec<Option<Tensor<R>>>> {
        self.again::<R, Plain>(&inputs.iter().map(leaf).collect::<Vec<_>>(), gs)
    }

    fn vjp_recorded(
        &self,
        inputs: &[Tensor<Tape<R>>],
        _: &[Tensor<Tape<R>>],
        gs: &[Option<Tensor<Tape<R>>>],
    ) -> Result<Vec<Option<Tensor<Tape<R>>>>> {
        // A node of its own for each input ends the walk there, and ties what is recorded to where the input came from.
        let own = |t: &Tensor<Tape<R>>| apply(&View::Permute((0..t.ndim()).collect()), t);
        let inputs = inputs.iter().map(own).collect::<Result<Vec<_>>>()?;
        self.again::<R, Recorded>(&inputs, gs)
    }
}
