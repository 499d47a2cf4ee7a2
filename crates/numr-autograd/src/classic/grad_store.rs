//! Gradients by the ids of variables.

use super::var::Var;
use numr_core::{Result, Runtime, Tensor, TensorId};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Gradients as tensors.
pub type GradStore<R> = Store<Tensor<R>>;

/// Gradients as variables.
pub type VarGradStore<R> = Store<Var<R>>;

/// Values by the ids of the variables that they are gradients of.
#[derive(Clone, Debug)]
pub struct Store<T>(HashMap<TensorId, T>);

impl<T> Default for Store<T> {
    fn default() -> Self {
        Store(HashMap::new())
    }
}

impl<T> FromIterator<(TensorId, T)> for Store<T> {
    fn from_iter<I: IntoIterator<Item = (TensorId, T)>>(iter: I) -> Self {
        Store(iter.into_iter().collect())
    }
}

impl<T> Store<T> {
    /// An empty one.
    pub fn new() -> Self {
        Store::default()
    }

    /// Sets a gradient.
    pub fn insert(&mut self, id: TensorId, grad: T) {
        self.0.insert(id, grad);
    }

    /// Is there one for this id?
    pub fn contains(&self, id: TensorId) -> bool {
        self.0.contains_key(&id)
    }

    /// Takes a gradient out.
    pub fn remove(&mut self, id: TensorId) -> Option<T> {
        self.0.remove(&id)
    }

    /// The ids.
    pub fn keys(&self) -> impl Iterator<Item = &TensorId> {
        self.0.keys()
    }

    /// Ids and gradients.
    pub fn iter(&self) -> impl Iterator<Item = (&TensorId, &T)> {
        self.0.iter()
    }

    /// The number of gradients.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Puts a gradient in, or `add(old, new)` where there is one.
    ///
    /// # Errors
    /// Those of `add`; the old gradient is gone then.
    pub fn try_accumulate(&mut self, id: TensorId, grad: T, add: impl FnOnce(T, T) -> Result<T>) -> Result<()> {
        let sum = match self.0.remove(&id) {
            Some(old) => add(old, grad)?,
            None => grad,
        };
        self.0.insert(id, sum);
        Ok(())
    }

    /// As [`Store::try_accumulate`] with a sum that cannot fail.
    pub fn accumulate(&mut self, id: TensorId, grad: T, add: impl FnOnce(T, T) -> T) {
        // `add` never answers an `Err`.
        let _ = self.try_accumulate(id, grad, |old, new| Ok(add(old, new)));
    }
}

impl<R: Runtime> Store<Tensor<R>> {
    /// The gradient of a variable.
    pub fn get(&self, id: TensorId) -> Option<&Tensor<R>> {
        self.0.get(&id)
    }

    /// Puts a gradient in where there is none.
    pub fn accumulate_or_insert(&mut self, id: TensorId, grad: Tensor<R>) {
        if let Entry::Vacant(place) = self.0.entry(id) {
            place.insert(grad);
        }
    }
}

impl<R: Runtime> Store<Var<R>> {
    /// The gradient of a variable, to differentiate again.
    pub fn get_var(&self, id: TensorId) -> Option<&Var<R>> {
        self.0.get(&id)
    }

    /// The value of the gradient of a variable.
    pub fn get(&self, id: TensorId) -> Option<&Tensor<R>> {
        self.get_var(id).map(Var::tensor)
    }

    /// The values of all gradients.
    pub fn to_grad_store(&self) -> GradStore<R> {
        self.iter().map(|(&id, g)| (id, g.tensor().clone())).collect()
    }
}
