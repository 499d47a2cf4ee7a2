//! Where operands meet: the one place that takes tensors and scalars apart, and that builds a map from them.

use super::map::Row;
use crate::dispatch_dtype;
use crate::dtype::{DType, promote};
use crate::element::{Element, Lit};
use crate::error::Result;
use crate::prim::{Bind, Map, MapOp, Prim};
use crate::runtime::Runtime;
use crate::tensor::Tensor;
use smallvec::SmallVec;

/// What an op takes beside the tensor it is called on: another tensor or a Rust number.
#[derive(Debug)]
pub enum Operand<'a, R: Runtime> {
    /// A tensor.
    Tensor(&'a Tensor<R>),
    /// A scalar; its dtype adapts to the tensors it meets.
    Scalar(Lit),
}

impl<'a, R: Runtime> From<&'a Tensor<R>> for Operand<'a, R> {
    fn from(t: &'a Tensor<R>) -> Self {
        Operand::Tensor(t)
    }
}

impl<R: Runtime, T: Element> From<T> for Operand<'_, R> {
    fn from(v: T) -> Self {
        Operand::Scalar(v.to_lit())
    }
}

impl<R: Runtime> Tensor<R> {
    pub(crate) fn map_row(row: Row, operands: &[Operand<'_, R>]) -> Result<Tensor<R>> {
        Self::map(MapOp::Row(row), operands)
    }

    /// Runs an element-wise op with one result. One operand at least must be a tensor.
    pub(crate) fn map(op: MapOp, operands: &[Operand<'_, R>]) -> Result<Tensor<R>> {
        let mut inputs: SmallVec<[&Tensor<R>; 4]> = SmallVec::new();
        let mut binds: SmallVec<[Bind; 3]> = SmallVec::new();
        for operand in operands {
            binds.push(match *operand {
                Operand::Tensor(t) => {
                    inputs.push(t);
                    Bind::Input
                }
                Operand::Scalar(l) => Bind::Scalar(l),
            });
        }
        Tensor::run_one(&Prim::Map(Map { op, binds, create: None }), &inputs)
    }

    /// The tensors in the dtype on which they meet.
    pub(crate) fn promoted(tensors: &[&Tensor<R>]) -> Result<SmallVec<[Tensor<R>; 3]>> {
        let common = tensors.iter().map(|t| t.dtype()).reduce(promote).unwrap_or(DType::default_float());
        tensors.iter().map(|t| t.cast(common)).collect()
    }

    /// As [`Tensor::promoted`], and to a float if none is inexact.
    pub(crate) fn floating(tensors: &[&Tensor<R>]) -> Result<SmallVec<[Tensor<R>; 3]>> {
        let mut common = Tensor::promoted(tensors)?;
        for t in &mut common {
            if t.dtype().is_int() || t.dtype().is_bool() {
                *t = t.cast(DType::default_float())?;
            }
        }
        Ok(common)
    }

    /// The tensor in the dtype that a composite of several steps computes in, and the dtype of its result: narrow
    /// floats round once, at the end, and integers become floats.
    pub(crate) fn inexact(&self) -> Result<(Tensor<R>, DType)> {
        let d = self.dtype();
        let result = if d.is_float() || d.is_complex() { d } else { DType::default_float() };
        Ok((self.cast(result.compute())?, result))
    }
}

/// The scalar as a value of this dtype, so that it leaves a tensor of that dtype as it is.
pub(crate) fn lit_in(dtype: DType, value: impl Into<Lit>) -> Lit {
    let value = value.into();
    dispatch_dtype!(dtype, T => T::from_lit(value).to_lit())
}
