//! Names that tensors had in 0.5.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ops::operands::lit_in;
use crate::runtime::Runtime;
use crate::shape::axis;
use crate::tensor::{Tensor, or_panic};

impl<R: Runtime> Tensor<R> {
    /// The number of axes; [`Tensor::ndim`].
    pub fn rank(&self) -> usize {
        self.ndim()
    }

    /// The size of each axis; [`Tensor::shape`].
    pub fn dims(&self) -> &[usize] {
        self.shape()
    }

    /// The number of elements; [`Tensor::numel`].
    pub fn elem_count(&self) -> usize {
        self.numel()
    }

    /// The number of elements; [`Tensor::numel`].
    pub fn len(&self) -> usize {
        self.numel()
    }

    /// Has it no axes?
    pub fn is_scalar(&self) -> bool {
        self.ndim() == 0
    }

    /// Where the first element lies in the storage.
    pub fn offset(&self) -> usize {
        self.layout().offset()
    }

    /// The size of an axis, if there is one.
    pub fn size(&self, dim: isize) -> Option<usize> {
        self.dim(dim).ok()
    }

    /// The size of an axis.
    ///
    /// # Errors
    /// `Error::Axis` if there is no such axis.
    pub fn dim(&self, dim: isize) -> Result<usize> {
        axis("dim", dim, self.ndim()).map(|k| self.shape()[k])
    }

    fn sizes<const N: usize>(&self) -> Result<[usize; N]> {
        let refuse = |_| Error::shape("dims", format!("{N} axes"), &[self.shape()]);
        self.shape().try_into().map_err(refuse)
    }

    /// The size of a vector.
    ///
    /// # Errors
    /// `Error::Shape` for another number of axes.
    pub fn dims1(&self) -> Result<usize> {
        self.sizes().map(|[a]| a)
    }

    /// The sizes of two axes.
    ///
    /// # Errors
    /// `Error::Shape` for another number of axes.
    pub fn dims2(&self) -> Result<(usize, usize)> {
        self.sizes().map(|[a, b]| (a, b))
    }

    /// The sizes of three axes.
    ///
    /// # Errors
    /// `Error::Shape` for another number of axes.
    pub fn dims3(&self) -> Result<(usize, usize, usize)> {
        self.sizes().map(|[a, b, c]| (a, b, c))
    }

    /// The sizes of four axes.
    ///
    /// # Errors
    /// `Error::Shape` for another number of axes.
    pub fn dims4(&self) -> Result<(usize, usize, usize, usize)> {
        self.sizes().map(|[a, b, c, d]| (a, b, c, d))
    }

    /// The sizes of five axes.
    ///
    /// # Errors
    /// `Error::Shape` for another number of axes.
    pub fn dims5(&self) -> Result<(usize, usize, usize, usize, usize)> {
        self.sizes().map(|[a, b, c, d, e]| (a, b, c, d, e))
    }

    /// The same elements without a tie to what they were computed from.
    pub fn detach(&self) -> Tensor<R> {
        R::detach(self)
    }

    /// Are both views of one storage?
    pub fn shares_storage_with(&self, other: &Tensor<R>) -> bool {
        R::same_storage(self.storage(), other.storage())
    }

    /// The elements in memory of their own.
    ///
    /// # Errors
    /// Faults of the device.
    pub fn clone_deep(&self) -> Result<Tensor<R>> {
        Tensor::run_one(&crate::prim::Prim::Contiguous, &[self])
    }

    /// Conversion to a dtype; [`Tensor::cast`].
    ///
    /// # Errors
    /// As there.
    pub fn to_dtype(&self, dtype: DType) -> Result<Tensor<R>> {
        self.cast(dtype)
    }

    /// x + scalar in the dtype of x.
    ///
    /// # Errors
    /// As [`Tensor::add`].
    pub fn add_scalar(&self, scalar: f64) -> Result<Tensor<R>> {
        self.add(self.scalar(scalar))
    }

    /// x · scalar in the dtype of x.
    ///
    /// # Errors
    /// As [`Tensor::mul`].
    pub fn mul_scalar(&self, scalar: f64) -> Result<Tensor<R>> {
        self.mul(self.scalar(scalar))
    }

    /// x · scalar in the dtype of x.
    ///
    /// # Errors
    /// As [`Tensor::mul`].
    pub fn scale(&self, scalar: f64) -> Result<Tensor<R>> {
        self.mul_scalar(scalar)
    }

    /// A number in the dtype of this tensor, as the scalar operand of 0.5: i32 + 1.5 is an i32.
    pub(crate) fn scalar<'a>(&self, value: f64) -> crate::ops::operands::Operand<'a, R> {
        crate::ops::operands::Operand::Scalar(lit_in(self.dtype(), value))
    }

    /// A tensor of one value; [`Tensor::try_full`] with the arguments in the order of 0.5.
    ///
    /// # Errors
    /// As there.
    pub fn try_full_scalar(shape: &[usize], dtype: DType, value: f64, device: &R::Device) -> Result<Tensor<R>> {
        Tensor::try_full(shape, value, dtype, device)
    }

    /// As [`Tensor::try_full_scalar`]; panics where that is an `Err`.
    #[track_caller]
    pub fn full_scalar(shape: &[usize], dtype: DType, value: f64, device: &R::Device) -> Tensor<R> {
        or_panic(Tensor::try_full_scalar(shape, dtype, value, device))
    }

    /// Zeros: memory that was never written cannot be read.
    ///
    /// # Errors
    /// As [`Tensor::try_zeros`].
    pub fn try_empty(shape: &[usize], dtype: DType, device: &R::Device) -> Result<Tensor<R>> {
        Tensor::try_zeros(shape, dtype, device)
    }

    /// As [`Tensor::try_empty`]; panics where that is an `Err`.
    #[track_caller]
    pub fn empty(shape: &[usize], dtype: DType, device: &R::Device) -> Tensor<R> {
        or_panic(Tensor::try_empty(shape, dtype, device))
    }
}
