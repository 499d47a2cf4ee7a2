//! Complex numbers and their parts.

use super::fuse::fuse;
use crate::error::Result;
use crate::runtime::Runtime;
use crate::tensor::Tensor;

impl<R: Runtime> Tensor<R> {
    /// The complex conjugate; the identity on real numbers.
    ///
    /// # Errors
    /// Faults of the device.
    pub fn conj(&self) -> Result<Tensor<R>> {
        fuse([self], |[x]| x.conj())
    }

    /// The real part.
    ///
    /// # Errors
    /// Faults of the device.
    pub fn real(&self) -> Result<Tensor<R>> {
        fuse([self], |[x]| x.real())
    }

    /// The imaginary part; 0 on real numbers.
    ///
    /// # Errors
    /// Faults of the device.
    pub fn imag(&self) -> Result<Tensor<R>> {
        fuse([self], |[x]| x.imag())
    }

    /// The complex numbers `self + i·imag`.
    ///
    /// # Errors
    /// `Error::Broadcast`; `Error::DType` for complex parts.
    pub fn complex(&self, imag: &Tensor<R>) -> Result<Tensor<R>> {
        fuse([self, imag], |[re, im]| re.complex(im))
    }
}
