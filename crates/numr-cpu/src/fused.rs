//! Kernels for whole composites.

use numr_core::prim::{Fused, Meta};
use numr_core::runtime::{Outputs, Support};
use numr_core::{DType, Error, Result, Tensor};

use crate::CpuRuntime;

/// Which composites have a kernel.
pub(crate) fn supports(_: &Fused, _: &[DType]) -> Support {
    Support::No { reason: "not there yet".into() }
}

/// Runs a composite's kernel.
pub(crate) fn fused(prim: &Fused, _: &[&Tensor<CpuRuntime>], _: &[Meta]) -> Result<Outputs<CpuRuntime>> {
    Err(Error::unsupported(prim.name(), None, "cpu", "not there yet"))
}
