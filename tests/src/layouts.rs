//! One tensor in every way to lie in memory.

use bytemuck::cast_slice;
use numr_core::{DType, Element, Lit, Result, Runtime, SliceRange, Tensor, dispatch_dtype};

/// Ways for the elements of a matrix to lie in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lay {
    /// Row-major.
    Contiguous,
    /// Column-major.
    Transposed,
    /// Inside a larger base full of another value, at an odd offset.
    Sliced,
    /// Both axes backwards in memory.
    Reversed,
    /// Every second element of a base twice as long.
    Stepped,
    /// One row seen again and again, stride 0; only for equal rows.
    Broadcast,
}

impl Lay {
    /// Every way that shows any values.
    pub const ANY: [Lay; 5] = [Lay::Contiguous, Lay::Transposed, Lay::Sliced, Lay::Reversed, Lay::Stepped];

    /// The matrix `[rows, columns]` of these values, so laid out; `values` is row-major.
    ///
    /// # Errors
    /// Faults of the device.
    pub fn matrix<R: Runtime>(
        self,
        values: &[Lit],
        [rows, columns]: [usize; 2],
        dtype: DType,
        device: &R::Device,
    ) -> Result<Tensor<R>> {
        let at = |r: usize, c: usize| values[r * columns + c];
        let filler = Lit::Float(f64::NAN);
        let base = |shape: [usize; 2], of: &dyn Fn(usize, usize) -> Lit| {
            let all: Vec<Lit> = (0..shape[0] * shape[1]).map(|i| of(i / shape[1], i % shape[1])).collect();
            upload::<R>(&all, &shape, dtype, device)
        };
        let whole = |len| SliceRange { start: 0, len, step: 1 };
        match self {
            Lay::Contiguous => base([rows, columns], &at),
            Lay::Transposed => base([columns, rows], &|r, c| at(c, r))?.t(),
            Lay::Sliced => base([rows + 2, columns + 3], &|r, c| match (r.checked_sub(1), c.checked_sub(1)) {
                (Some(r), Some(c)) if r < rows && c < columns => at(r, c),
                _ => filler,
            })?
            .narrow(0, 1, rows)?
            .narrow(1, 1, columns),
            Lay::Reversed => base([rows, columns], &|r, c| at(rows - 1 - r, columns - 1 - c))?.flip(..),
            Lay::Stepped => {
                let base = base([rows, 2 * columns], &|r, c| if c % 2 == 0 { at(r, c / 2) } else { filler })?;
                let step = SliceRange { start: 0, len: columns, step: 2 };
                let view = numr_core::prim::View::Slice([whole(rows), step].into_iter().collect());
                Tensor::run_one(&numr_core::Prim::View(view), &[&base])
            }
            Lay::Broadcast => base([1, columns], &|_, c| at(0, c))?.broadcast_to(&[rows, columns]),
        }
    }
}

/// A contiguous tensor of these values, each by the rules of a cast.
///
/// # Errors
/// Faults of the device.
pub fn upload<R: Runtime>(values: &[Lit], shape: &[usize], dtype: DType, device: &R::Device) -> Result<Tensor<R>> {
    if dtype == DType::Bool {
        let bools: Vec<bool> = values.iter().map(|v| !v.is_zero()).collect();
        return Tensor::try_from_slice(&bools, shape, device);
    }
    dispatch_dtype!(dtype, T => {
        let all: Vec<T> = values.iter().map(|&v| <T as Element>::from_lit(v)).collect();
        let pods: Vec<_> = all.iter().map(|v| v.to_pod()).collect();
        Tensor::try_from_bytes(cast_slice(&pods), shape, dtype, device)
    })
}

/// The elements, row-major.
///
/// # Errors
/// Faults of the device.
pub fn download<R: Runtime>(tensor: &Tensor<R>) -> Result<Vec<Lit>> {
    dispatch_dtype!(tensor.dtype(), T => Ok(tensor.try_to_vec::<T>()?.into_iter().map(|v| v.to_lit()).collect()))
}
