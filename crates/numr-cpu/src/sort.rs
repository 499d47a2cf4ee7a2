//! Sorting.

use numr_core::prim::Meta;
use numr_core::runtime::{Outputs, Support};
use numr_core::{DType, Error, Result, Tensor};

use crate::CpuRuntime;

/// Which sorts there are.
pub(crate) fn supports(_: &[DType]) -> Support {
    Support::No { reason: "not there yet".into() }
}

/// `[values, indices]` sorted along an axis.
pub(crate) fn sort(
    _axis: usize,
    _descending: bool,
    x: &Tensor<CpuRuntime>,
    _outs: &[Meta],
) -> Result<Outputs<CpuRuntime>> {
    Err(Error::unsupported("sort", Some(x.dtype()), "cpu", "not there yet"))
}
