//! Activations along an axis, gated pairs, and dropout. Those of one element are rows of the table.

use super::fuse::fuse;
use super::fused;
use super::map::symbolic::Symbolic;
use crate::error::Result;
use crate::runtime::Runtime;
use crate::tensor::Tensor;

impl<R: Runtime> Tensor<R> {
    /// Softmax along an axis, eˣ / Σ eˣ, without overflow. Where all elements are -∞, NaN.
    ///
    /// ```
    /// # use numr_core::Tensor;
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// let x = Tensor::<CpuRuntime>::from_slice(&[0.0f64, 0.0, f64::NEG_INFINITY], &[3], &CpuDevice::new());
    /// assert_eq!(x.softmax(-1)?.to_vec::<f64>(), [0.5, 0.5, 0.0]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Axis`; `Error::DType` for complex numbers.
    pub fn softmax(&self, dim: isize) -> Result<Tensor<R>> {
        let (x, axis) = Tensor::floating(&[self])?[0].along("softmax", dim)?;
        fused::softmax(&x, axis)?.reshape(self.shape())
    }

    /// Logarithm of [`Tensor::softmax`], exact where that would be 0.
    ///
    /// # Errors
    /// As [`Tensor::softmax`].
    pub fn log_softmax(&self, dim: isize) -> Result<Tensor<R>> {
        let (x, axis) = Tensor::floating(&[self])?[0].along("log_softmax", dim)?;
        fused::log_softmax(&x, axis)?.reshape(self.shape())
    }

    /// The pull-back of [`Tensor::softmax`], whose result this is, for the cotangent `grad`.
    ///
    /// # Errors
    /// As [`Tensor::softmax`]; `Error::Shape` if the shapes differ.
    pub fn softmax_bwd(&self, grad: &Tensor<R>, dim: isize) -> Result<Tensor<R>> {
        let operands = Tensor::floating(&[self, grad])?;
        let (y, axis) = operands[0].along("softmax_bwd", dim)?;
        fused::softmax_backward(&y, &operands[1].reshape(y.shape())?, axis)?.reshape(self.shape())
    }
}

macro_rules! gated {
    ($($(#[doc = $doc:literal])* $name:ident $act:ident;)*) => {
        impl<R: Runtime> Tensor<R> {$(
            $(#[doc = $doc])*
            ///
            /// # Errors
            /// As [`Tensor::mul`].
            pub fn $name(&self, other: &Tensor<R>) -> Result<Tensor<R>> {
                fuse([self, other], |[a, b]| a.$act() * b)
            }
        )*}
    };
}

gated! {
    /// silu(a) · b, in one kernel.
    silu_mul silu;
    /// gelu(a) · b, in one kernel.
    gelu_mul gelu;
    /// relu(a) · b, in one kernel.
    relu_mul relu;
    /// sigmoid(a) · b, in one kernel.
    sigmoid_mul sigmoid;
}
