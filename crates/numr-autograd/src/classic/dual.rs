//! Values with a tangent.

use crate::dual::{Dual, dual, join, primal};
use numr_core::{DType, Runtime, Tensor};
use std::ops::Deref;

/// A dual tensor. It derefs to `Tensor<Dual<R>>`, so all ops are there as methods.
#[derive(Clone, Debug)]
pub struct DualTensor<R: Runtime>(Tensor<Dual<R>>);

impl<R: Runtime> DualTensor<R> {
    /// A value and its tangent; `None` is zero.
    ///
    /// # Panics
    /// If the tangent has another shape or dtype than the value; [`crate::dual()`] says so with an `Err`.
    #[track_caller]
    pub fn new(primal: Tensor<R>, tangent: Option<Tensor<R>>) -> Self {
        match dual(&primal, tangent.as_ref()) {
            Ok(t) => DualTensor(t),
            Err(e) => panic!("{e}"),
        }
    }

    /// A value with tangent zero.
    pub fn constant(primal: Tensor<R>) -> Self {
        DualTensor(join(primal, None, None))
    }

    /// A value with a tangent of ones.
    ///
    /// # Panics
    /// If the value is not of a floating-point or complex dtype.
    #[track_caller]
    pub fn with_unit_tangent(primal: Tensor<R>, device: &R::Device) -> Self {
        let ones = Tensor::ones(primal.shape(), primal.dtype(), device);
        DualTensor::with_tangent(primal, ones)
    }

    /// A value and its tangent.
    ///
    /// # Panics
    /// As [`DualTensor::new`].
    #[track_caller]
    pub fn with_tangent(primal: Tensor<R>, tangent: Tensor<R>) -> Self {
        DualTensor::new(primal, Some(tangent))
    }

    /// The value.
    pub fn primal(&self) -> &Tensor<R> {
        self.0.storage().inner()
    }

    /// The tangent; `None` is zero.
    pub fn tangent(&self) -> Option<&Tensor<R>> {
        crate::dual::tangent(&self.0)
    }

    /// The value.
    pub fn into_primal(self) -> Tensor<R> {
        self.primal().clone()
    }

    /// Value and tangent.
    pub fn into_parts(self) -> (Tensor<R>, Option<Tensor<R>>) {
        (self.primal().clone(), self.tangent().cloned())
    }

    /// Has it a tangent that is not zero throughout?
    pub fn has_tangent(&self) -> bool {
        self.tangent().is_some()
    }

    /// The dtype of both.
    pub fn dtype(&self) -> DType {
        self.primal().dtype()
    }

    /// The value with tangent zero.
    pub fn detach(&self) -> Self {
        DualTensor::constant(self.primal().clone())
    }

    /// A tangent of zeros.
    #[track_caller]
    pub fn zero_tangent(&self, device: &R::Device) -> Tensor<R> {
        Tensor::zeros(self.primal().shape(), self.dtype(), device)
    }

    pub(crate) fn on(&self) -> &Tensor<Dual<R>> {
        &self.0
    }

    pub(crate) fn wrap(inner: Tensor<Dual<R>>) -> Self {
        if inner.storage().inner().layout() == inner.layout() {
            return DualTensor(inner);
        }
        // An upload does not know its shape, and has no tangent.
        DualTensor::constant(primal(&inner))
    }
}

impl<R: Runtime> Deref for DualTensor<R> {
    type Target = Tensor<Dual<R>>;

    fn deref(&self) -> &Tensor<Dual<R>> {
        &self.0
    }
}
