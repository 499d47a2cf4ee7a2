//! Activations along an axis, gated pairs, and dropout. Those of one element are rows of the table.

use super::fuse::fuse;
use super::fused;
use super::map::{Row, symbolic::Symbolic};
use super::operands::Operand;
use crate::element::Lit;
use crate::error::{Error, Result};
use crate::prim::MapOp;
use crate::runtime::Runtime;
use crate::scalar::expr::Expr;
use crate::scalar::graph::{Class, Graph};
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

/// The gradients of act(a)·b for an activation of the table, g being that of the result: g·b·act'(a) and g·act(a).
pub(crate) fn gated_backward<R: Runtime>(
    activation: Row,
    g: &Tensor<R>,
    a: &Tensor<R>,
    b: &Tensor<R>,
) -> Result<(Tensor<R>, Tensor<R>)> {
    if g.shape() != a.shape() || a.shape() != b.shape() {
        let shapes = [g.shape(), a.shape(), b.shape()];
        return Err(Error::shape(activation.info().name, "a gradient and operands of one shape", &shapes));
    }
    let slope = activation.graph().partials()[0].as_ref();
    let graph = Graph::build(3, Class::Free, |arena, args| {
        let y = Expr::call(activation, &[args[1]]);
        let slope = slope.map_or(Expr::Lit(Lit::Int(0)), |slope| slope.inline(arena, &[args[1], y])[0]);
        vec![args[0] * args[2] * slope]
    });
    let da = Tensor::map(MapOp::Graph(graph), &[g, a, b].map(Operand::Tensor))?;
    Ok((da, fuse([g, a], |[g, a]| g * Expr::call(activation, &[a]))?))
}
