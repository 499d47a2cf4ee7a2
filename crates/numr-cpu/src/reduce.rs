//! Folds over axes.

use numr_core::prim::{Meta, Reduce};
use numr_core::runtime::Support;
use numr_core::{DType, Error, Result, Tensor};

use crate::CpuRuntime;

/// Which folds there are.
pub(crate) fn supports(_: &Reduce, _: &[DType]) -> Support {
    Support::No { reason: "not there yet".into() }
}

/// Folds axes away.
pub(crate) fn reduce(prim: &Reduce, x: &Tensor<CpuRuntime>, _: &Meta) -> Result<Tensor<CpuRuntime>> {
    Err(Error::unsupported(prim.op.name(), Some(x.dtype()), "cpu", "not there yet"))
}
