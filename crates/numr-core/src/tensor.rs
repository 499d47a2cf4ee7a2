//! The n-dimensional array.

pub mod advanced;
pub mod create;
pub mod index;
pub mod nested;
pub mod operator;
#[cfg(feature = "serde")]
mod serde;
pub mod show;
pub mod view;

use crate::dtype::DType;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::prim::Prim;
use crate::runtime::{Outputs, Runtime, Support};
use crate::shape::Shape;
use smallvec::SmallVec;
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Identifies a tensor; clones share it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TensorId(u64);

impl TensorId {
    /// An id that no tensor has.
    #[allow(clippy::new_without_default, reason = "two defaults would differ")]
    pub fn new() -> TensorId {
        // Each thread takes ids by the block, so that a new tensor costs no contended atomic.
        const BLOCK: u64 = 1 << 16;
        static NEXT: AtomicU64 = AtomicU64::new(1);
        thread_local! { static LEFT: Cell<(u64, u64)> = const { Cell::new((0, 0)) }; }
        LEFT.with(|left| {
            let (mut next, mut end) = left.get();
            if next == end {
                next = NEXT.fetch_add(BLOCK, Ordering::Relaxed);
                end = next + BLOCK;
            }
            left.set((next + 1, end));
            TensorId(next)
        })
    }

    /// The number.
    pub const fn raw(self) -> u64 {
        self.0
    }
}

/// An n-dimensional array on a device of runtime `R`: a view, described by a layout, of storage that clones and other
/// views share. Cheap to clone and to move: it is one pointer.
pub struct Tensor<R: Runtime>(Arc<Inner<R>>);

struct Inner<R: Runtime> {
    storage: R::Storage,
    layout: Layout,
    dtype: DType,
    device: R::Device,
    id: TensorId,
}

impl<R: Runtime> Clone for Tensor<R> {
    fn clone(&self) -> Self {
        Tensor(self.0.clone())
    }
}

/// The value, or the error's text as a panic at the caller.
#[track_caller]
pub(crate) fn or_panic<T>(r: Result<T>) -> T {
    match r {
        Ok(v) => v,
        Err(e) => panic!("{e}"),
    }
}

impl<R: Runtime> Tensor<R> {
    /// A tensor over storage that a runtime has filled: `layout` must lie within it and its elements be of `dtype`.
    /// For runtimes; a wrong layout is caught by the backend's own bounds, not here.
    pub fn from_storage(storage: R::Storage, layout: Layout, dtype: DType, device: R::Device) -> Tensor<R> {
        Tensor(Arc::new(Inner { storage, layout, dtype, device, id: TensorId::new() }))
    }

    /// The storage handle.
    pub fn storage(&self) -> &R::Storage {
        &self.0.storage
    }

    /// Shape, strides and offset, in elements.
    pub fn layout(&self) -> &Layout {
        &self.0.layout
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.0.dtype
    }

    /// The device.
    pub fn device(&self) -> &R::Device {
        &self.0.device
    }

    /// The tensor's identity.
    pub fn id(&self) -> TensorId {
        self.0.id
    }

    /// The size of each axis.
    pub fn shape(&self) -> &[usize] {
        self.0.layout.shape()
    }

    /// The distance in elements between neighbours along each axis.
    pub fn strides(&self) -> &[isize] {
        self.0.layout.strides()
    }

    /// The number of axes.
    pub fn ndim(&self) -> usize {
        self.0.layout.ndim()
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.0.layout.numel()
    }

    /// Has it no elements?
    pub fn is_empty(&self) -> bool {
        self.numel() == 0
    }

    /// Are the elements one after the other in row-major order?
    pub fn is_contiguous(&self) -> bool {
        self.0.layout.is_contiguous()
    }

    /// Runs a primitive: checks the operands, asks the device whether it can, and hands over.
    ///
    /// # Errors
    /// What [`Prim::infer`] finds, `Error::DeviceMismatch`, `Error::Unsupported`, and faults of the device.
    pub fn run_on(device: &R::Device, prim: &Prim, inputs: &[&Tensor<R>]) -> Result<Outputs<R>> {
        if let Some(other) = inputs.iter().find(|t| t.0.device != *device) {
            let (left, right) = (device.to_string(), other.0.device.to_string());
            return Err(Error::DeviceMismatch { op: prim.name(), left, right });
        }
        let (mut metas, mut dtypes) = (SmallVec::<[_; 4]>::new(), SmallVec::<[_; 4]>::new());
        for t in inputs {
            metas.push((t.shape(), t.0.dtype));
            dtypes.push(t.0.dtype);
        }
        let outs = prim.infer(&metas)?;
        if let Support::No { reason } = R::supports(device, prim, &dtypes) {
            let dtype = dtypes.first().copied();
            return Err(Error::Unsupported { op: prim.name(), dtype, device: device.to_string(), reason });
        }
        R::run(device, prim, inputs, &outs)
    }

    /// Runs a primitive of one operand or more on the device of the first.
    ///
    /// # Errors
    /// As [`Tensor::run_on`].
    pub fn run(prim: &Prim, inputs: &[&Tensor<R>]) -> Result<Outputs<R>> {
        match inputs.first() {
            Some(first) => Self::run_on(&first.0.device, prim, inputs),
            None => Err(Error::shape(prim.name(), "an operand", &[])),
        }
    }

    /// As [`Tensor::run`], for primitives of one result.
    ///
    /// # Errors
    /// As [`Tensor::run_on`].
    pub fn run_one(prim: &Prim, inputs: &[&Tensor<R>]) -> Result<Tensor<R>> {
        first(prim, Self::run(prim, inputs)?)
    }

    /// As [`Tensor::run_on`], for primitives of one result.
    ///
    /// # Errors
    /// As [`Tensor::run_on`].
    pub fn run_one_on(device: &R::Device, prim: &Prim, inputs: &[&Tensor<R>]) -> Result<Tensor<R>> {
        first(prim, Self::run_on(device, prim, inputs)?)
    }

    /// The elements in row-major order.
    ///
    /// # Errors
    /// `Error::DType` if `T` is not the tensor's dtype; faults of the device.
    pub fn try_to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.expect_dtype::<T>("to_vec")?;
        let mut pods = vec![<T::Pod as bytemuck::Zeroable>::zeroed(); self.numel()];
        R::download(self, bytemuck::cast_slice_mut(&mut pods))?;
        Ok(pods.into_iter().map(T::from_pod).collect())
    }

    /// The elements in row-major order. Panics where [`Tensor::try_to_vec`] is an `Err`.
    #[track_caller]
    pub fn to_vec<T: Element>(&self) -> Vec<T> {
        or_panic(self.try_to_vec())
    }

    /// The elements in row-major order, as bytes of the host's byte order.
    ///
    /// # Errors
    /// Faults of the device.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.numel() * self.0.dtype.size_in_bytes()];
        R::download(self, &mut bytes)?;
        Ok(bytes)
    }

    /// The only element.
    ///
    /// # Errors
    /// `Error::Shape` if there is not just one; `Error::DType` if `T` is not the tensor's dtype.
    pub fn item<T: Element>(&self) -> Result<T> {
        match self.try_to_vec()?[..] {
            [only] => Ok(only),
            _ => Err(Error::shape("item", "a tensor of one element", &[self.shape()])),
        }
    }

    fn expect_dtype<T: Element>(&self, op: &'static str) -> Result<()> {
        if T::DTYPE == self.0.dtype {
            return Ok(());
        }
        Err(Error::dtype(op, &[self.0.dtype], format!("{}, the type asked for; `cast` converts", T::DTYPE)))
    }

    pub(crate) fn meta_shape(&self) -> Shape {
        self.0.layout.shape().clone()
    }
}

fn first<R: Runtime>(prim: &Prim, mut outputs: Outputs<R>) -> Result<Tensor<R>> {
    match (outputs.pop(), outputs.len()) {
        (Some(only), 0) => Ok(only),
        (_, n) => Err(Error::argument(prim.name(), "results", format!("one was expected, not {n} more or none"))),
    }
}

impl<R: Runtime> fmt::Debug for Tensor<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor")
            .field("shape", &self.shape())
            .field("dtype", &self.0.dtype)
            .field("device", &self.0.device)
            .field("strides", &self.strides())
            .field("offset", &self.0.layout.offset())
            .finish()
    }
}
