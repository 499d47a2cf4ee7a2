//! Indexed reads and writes.

use numr_core::prim::{Meta, ScatterOp};
use numr_core::runtime::Support;
use numr_core::{DType, Error, Result, Tensor};

use crate::CpuRuntime;

/// Which gathers there are.
pub(crate) fn supports_gather(_: &[DType]) -> Support {
    Support::No { reason: "not there yet".into() }
}

/// Which scatters there are.
pub(crate) fn supports_scatter(_: ScatterOp, _: &[DType]) -> Support {
    Support::No { reason: "not there yet".into() }
}

/// Whether there is nonzero.
pub(crate) fn supports_nonzero(_: &[DType]) -> Support {
    Support::No { reason: "not there yet".into() }
}

/// `y[.., i, ..] = x[.., index[.., i, ..], ..]`.
pub(crate) fn gather(
    _axis: usize,
    x: &Tensor<CpuRuntime>,
    _index: &Tensor<CpuRuntime>,
    _out: &Meta,
) -> Result<Tensor<CpuRuntime>> {
    Err(Error::unsupported("gather", Some(x.dtype()), "cpu", "not there yet"))
}

/// The transpose of gather.
pub(crate) fn scatter(
    _axis: usize,
    _op: ScatterOp,
    base: &Tensor<CpuRuntime>,
    _index: &Tensor<CpuRuntime>,
    _src: &Tensor<CpuRuntime>,
    _out: &Meta,
) -> Result<Tensor<CpuRuntime>> {
    Err(Error::unsupported("scatter", Some(base.dtype()), "cpu", "not there yet"))
}

/// The row-major indices of the elements that are not zero.
pub(crate) fn nonzero(x: &Tensor<CpuRuntime>, _out: &Meta) -> Result<Tensor<CpuRuntime>> {
    Err(Error::unsupported("nonzero", Some(x.dtype()), "cpu", "not there yet"))
}
