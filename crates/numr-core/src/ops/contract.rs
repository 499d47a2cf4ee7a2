//! Products of matrices and vectors.

use crate::dtype::{DType, promote};
use crate::error::{Error, Result};
use crate::prim::Prim;
use crate::runtime::Runtime;
use crate::tensor::Tensor;

impl<R: Runtime> Tensor<R> {
    /// Matrix product by NumPy's rules.
    ///
    /// **Shape**: `[.., m, k] · [.., k, n] -> [.., m, n]`; the leading axes broadcast. A vector on the left is a row, on
    /// the right a column, and its axis is not in the result. **DType**: operands promote; integers wrap, narrow floats
    /// accumulate in f32.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::from_slice(&[1, 2, 3, 4], &[2, 2], &device);
    /// let v = Tensor::from_slice(&[1, -1], &[2], &device);
    /// assert_eq!(x.matmul(&v)?.to_vec::<i32>(), [-1, -1]);
    /// assert_eq!(x.matmul(&x.t()?)?.to_vec::<i32>(), [5, 11, 11, 25]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Shape` if the inner sizes differ or an operand is a scalar, `Error::Broadcast` if the leading axes do not
    /// fit together.
    pub fn matmul(&self, other: &Tensor<R>) -> Result<Tensor<R>> {
        self.matmul_as(other, promote(self.dtype(), other.dtype()))
    }

    /// As [`Tensor::matmul`], with the product accumulated and given in a dtype that holds the operands': i8 in i32,
    /// bf16 in f32.
    ///
    /// # Errors
    /// As [`Tensor::matmul`]; `Error::DType` for a dtype that does not hold the operands'.
    pub fn matmul_as(&self, other: &Tensor<R>, dtype: DType) -> Result<Tensor<R>> {
        let (sa, sb) = (self.shape(), other.shape());
        let rows = match sb {
            [] => None,
            [k] | [.., k, _] => Some(k),
        };
        if sa.is_empty() || sa.last() != rows {
            return Err(Error::shape("matmul", "[.., m, k] and [.., k, n]", &[sa, sb]));
        }
        let operands = Tensor::promoted(&[self, other])?;
        let a = if sa.len() == 1 { operands[0].unsqueeze(0)? } else { operands[0].clone() };
        let b = if sb.len() == 1 { operands[1].unsqueeze(1)? } else { operands[1].clone() };
        let product = Tensor::run_one(&Prim::Contract { dtype }, &[&a, &b])?;
        match (sa.len(), sb.len()) {
            (1, 1) => product.squeeze_axes([-2isize, -1]),
            (1, _) => product.squeeze_axes(-2isize),
            (_, 1) => product.squeeze_axes(-1isize),
            _ => Ok(product),
        }
    }

    /// [`Tensor::matmul`] and a bias added.
    ///
    /// # Errors
    /// As [`Tensor::matmul`] and [`Tensor::add`].
    pub fn matmul_bias(&self, other: &Tensor<R>, bias: &Tensor<R>) -> Result<Tensor<R>> {
        self.matmul(other)?.add(bias)
    }

    /// Σ a·b of two vectors; no conjugate is taken.
    ///
    /// # Errors
    /// `Error::Shape` unless both are vectors of one length.
    pub fn dot(&self, other: &Tensor<R>) -> Result<Tensor<R>> {
        if self.ndim() != 1 || self.shape() != other.shape() {
            return Err(Error::shape("dot", "two vectors of one length", &[self.shape(), other.shape()]));
        }
        self.matmul(other)
    }

    /// All products a\[i\]·b\[j\] of two tensors, each flattened.
    ///
    /// # Errors
    /// As [`Tensor::mul`].
    pub fn outer(&self, other: &Tensor<R>) -> Result<Tensor<R>> {
        self.flatten()?.unsqueeze(1)?.mul(&other.flatten()?)
    }
}
