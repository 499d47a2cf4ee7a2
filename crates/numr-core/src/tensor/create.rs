//! New tensors: from host memory, and filled on the device.

use super::{Tensor, or_panic};
use crate::dtype::DType;
use crate::element::{Element, Lit};
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::prim::{Bind, Map, MapOp, Prim};
use crate::runtime::Runtime;
use crate::scalar::expr::{Arena, Expr};
use crate::scalar::graph::{Class, Graph};
use crate::shape::{Shape, try_numel};

impl<R: Runtime> Tensor<R> {
    /// A tensor of these elements, row-major.
    ///
    /// # Errors
    /// `Error::Shape` if the shape does not hold just that many; faults of the device.
    pub fn try_from_slice<T: Element>(data: &[T], shape: &[usize], device: &R::Device) -> Result<Tensor<R>> {
        if try_numel("from_slice", shape)? != data.len() {
            return Err(Error::shape("from_slice", format!("a shape of {} elements", data.len()), &[shape]));
        }
        let pods: Vec<T::Pod> = data.iter().map(|v| v.to_pod()).collect();
        Self::uploaded("from_slice", bytemuck::cast_slice(&pods), shape, T::DTYPE, device)
    }

    /// A tensor of these elements, row-major. Panics where [`Tensor::try_from_slice`] is an `Err`.
    #[track_caller]
    pub fn from_slice<T: Element>(data: &[T], shape: &[usize], device: &R::Device) -> Tensor<R> {
        or_panic(Self::try_from_slice(data, shape, device))
    }

    /// A tensor of these bytes, row-major, in the host's byte order; a bool is 0 or 1.
    ///
    /// # Errors
    /// `Error::Shape` if the bytes do not fit shape and dtype; `Error::Argument` for a bool that is neither.
    pub fn try_from_bytes(bytes: &[u8], shape: &[usize], dtype: DType, device: &R::Device) -> Result<Tensor<R>> {
        let op = "from_bytes";
        if try_numel(op, shape)?.checked_mul(dtype.size_in_bytes()) != Some(bytes.len()) {
            return Err(Error::shape(op, format!("a shape of {} bytes of {dtype}", bytes.len()), &[shape]));
        }
        if dtype == DType::Bool && bytes.iter().any(|&b| b > 1) {
            return Err(Error::argument(op, "bytes", "a bool is the byte 0 or 1"));
        }
        Self::uploaded(op, bytes, shape, dtype, device)
    }

    fn uploaded(op: &'static str, bytes: &[u8], shape: &[usize], dtype: DType, device: &R::Device) -> Result<Self> {
        let layout = Layout::try_contiguous(op, shape)?;
        Ok(Tensor::from_storage(R::upload(device, dtype, bytes)?, layout, dtype, device.clone()))
    }

    /// A tensor computed on the device from the coordinates of its elements.
    ///
    /// # Errors
    /// `Error::Shape` if the size overflows; what the expression or the device refuse.
    pub fn try_from_expr<F>(shape: &[usize], scalars: &[Lit], device: &R::Device, body: F) -> Result<Tensor<R>>
    where
        F: for<'a> FnOnce(&'a Arena, &[Expr<'a>]) -> Expr<'a>,
    {
        try_numel("from_expr", shape)?;
        let graph = Graph::build(scalars.len() as u8, Class::Free, |arena, args| vec![body(arena, args)]);
        let binds = scalars.iter().map(|&l| Bind::Scalar(l)).collect();
        let map = Map { op: MapOp::Graph(graph), binds, create: Some(Shape::from(shape)) };
        Tensor::run_one_on(device, &Prim::Map(map), &[])
    }

    /// A tensor of one value in every place.
    ///
    /// # Errors
    /// `Error::Shape` if the size overflows; faults of the device.
    pub fn try_full(shape: &[usize], value: impl Into<Lit>, dtype: DType, device: &R::Device) -> Result<Tensor<R>> {
        Self::try_from_expr(shape, &[value.into()], device, |_, args| args[0].cast(dtype))
    }

    /// A tensor of zeros.
    ///
    /// # Errors
    /// As [`Tensor::try_full`].
    pub fn try_zeros(shape: &[usize], dtype: DType, device: &R::Device) -> Result<Tensor<R>> {
        Self::try_full(shape, 0i64, dtype, device)
    }

    /// A tensor of zeros. Panics where [`Tensor::try_zeros`] is an `Err`.
    #[track_caller]
    pub fn zeros(shape: &[usize], dtype: DType, device: &R::Device) -> Tensor<R> {
        or_panic(Self::try_zeros(shape, dtype, device))
    }

    /// A tensor of ones.
    ///
    /// # Errors
    /// As [`Tensor::try_full`].
    pub fn try_ones(shape: &[usize], dtype: DType, device: &R::Device) -> Result<Tensor<R>> {
        Self::try_full(shape, 1i64, dtype, device)
    }

    /// A tensor of ones. Panics where [`Tensor::try_ones`] is an `Err`.
    #[track_caller]
    pub fn ones(shape: &[usize], dtype: DType, device: &R::Device) -> Tensor<R> {
        or_panic(Self::try_ones(shape, dtype, device))
    }

    /// Zeros of the shape, dtype and device of this tensor.
    ///
    /// # Errors
    /// Faults of the device.
    pub fn zeros_like(&self) -> Result<Tensor<R>> {
        Self::try_zeros(self.shape(), self.dtype(), self.device())
    }

    /// Ones of the shape, dtype and device of this tensor.
    ///
    /// # Errors
    /// Faults of the device.
    pub fn ones_like(&self) -> Result<Tensor<R>> {
        Self::try_ones(self.shape(), self.dtype(), self.device())
    }
}
