//! Batched matrix products.

use numr_core::prim::Meta;
use numr_core::runtime::Support;
use numr_core::{DType, Error, Result, Tensor};

use crate::CpuRuntime;

/// Which products there are; `dtype` is that of the result.
pub(crate) fn supports(_dtype: DType, _: &[DType]) -> Support {
    Support::No { reason: "not there yet".into() }
}

/// `[.., m, k] · [.., k, n] -> [.., m, n]`.
pub(crate) fn contract(a: &Tensor<CpuRuntime>, _b: &Tensor<CpuRuntime>, _out: &Meta) -> Result<Tensor<CpuRuntime>> {
    Err(Error::unsupported("matmul", Some(a.dtype()), "cpu", "not there yet"))
}
