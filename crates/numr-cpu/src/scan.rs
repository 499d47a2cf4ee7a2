//! Running folds.

use numr_core::prim::{Meta, Scan};
use numr_core::runtime::Support;
use numr_core::{DType, Error, Result, Tensor};

use crate::CpuRuntime;

/// Which running folds there are.
pub(crate) fn supports(_: &Scan, _: &[DType]) -> Support {
    Support::No { reason: "not there yet".into() }
}

/// Runs a fold along an axis.
pub(crate) fn scan(_: &Scan, x: &Tensor<CpuRuntime>, _: &Meta) -> Result<Tensor<CpuRuntime>> {
    Err(Error::unsupported("scan", Some(x.dtype()), "cpu", "not there yet"))
}
