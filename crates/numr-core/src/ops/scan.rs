//! Running folds along an axis.

use crate::error::Result;
use crate::prim::{Prim, Scan, ScanOp};
use crate::runtime::Runtime;
use crate::tensor::Tensor;

macro_rules! scans {
    ($($(#[doc = $doc:literal])* $name:ident $Op:ident;)*) => {
        impl<R: Runtime> Tensor<R> {$(
            $(#[doc = $doc])*
            ///
            /// # Errors
            /// `Error::Axis`; `Error::DType` where the fold needs an order and the dtype has none.
            pub fn $name(&self, dim: isize) -> Result<Tensor<R>> {
                let (x, axis) = self.along(stringify!($name), dim)?;
                let scan = Scan { op: ScanOp::$Op, axis, reverse: false, exclusive: false };
                Tensor::run_one(&Prim::Scan(scan), &[&x])?.reshape(self.shape())
            }
        )*}
    };
}

scans! {
    /// Running sum along an axis; dtypes as for [`Tensor::sum`].
    cumsum Sum;
    /// Running product along an axis; dtypes as for [`Tensor::sum`].
    cumprod Prod;
    /// Largest so far along an axis; NaN from the first NaN on.
    cummax Max;
    /// Smallest so far along an axis; NaN from the first NaN on.
    cummin Min;
}
