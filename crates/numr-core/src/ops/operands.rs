//! Where operands meet: the one place that takes tensors and scalars apart, and that builds a map from them.

use super::map::Row;
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
}
