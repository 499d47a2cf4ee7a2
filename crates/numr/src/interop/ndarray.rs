//! Tensors and `ndarray`: an owned array becomes a CPU tensor without a copy, a CPU tensor is viewed without one.
//!
//! ```
//! use numr::interop::ndarray::{from_array, to_array, view};
//!
//! # fn main() -> numr::Result<()> {
//! let x = from_array(ndarray::array![[1.0f32, 2.0], [3.0, 4.0]])?;
//! let column = view::<f32>(&x)?.sum_axis(ndarray::Axis(0));
//! assert_eq!(column, ndarray::array![4.0, 6.0].into_dyn());
//! assert_eq!(to_array::<f32, _>(&x.t()?)?, ndarray::array![[1.0, 3.0], [2.0, 4.0]].into_dyn());
//! # Ok(())
//! # }
//! ```

use bytemuck::{NoUninit, Pod};
use ndarray::{Array, ArrayD, ArrayViewD, Axis, Dimension, IxDyn, ShapeBuilder};
use numr_core::{Element, Error, Layout, Result, Runtime, Strides, Tensor};
use numr_cpu::storage::{elements, from_vec};
use numr_cpu::{CpuDevice, CpuRuntime};

/// The array as a tensor of the same layout, which now owns the array's memory.
///
/// # Errors
/// `Error::Argument` if the array's layout is not one over its memory; `Error::OutOfMemory` where its memory must be
/// copied because it is not aligned to 16 bytes.
pub fn from_array<T: Element + NoUninit, D: Dimension>(array: Array<T, D>) -> Result<Tensor<CpuRuntime>> {
    let (shape, strides) = (array.shape().to_vec(), Strides::from(array.strides()));
    let (data, offset) = array.into_raw_vec_and_offset();
    let layout = Layout::try_new(&shape[..], strides, offset.unwrap_or(0), data.len())?;
    Ok(Tensor::from_storage(from_vec(data)?, layout, T::DTYPE, CpuDevice::new()))
}

/// A copy of the elements as an array in row-major order, from any device.
///
/// # Errors
/// `Error::DType` if `T` is not the tensor's dtype; faults of the device.
pub fn to_array<T: Element, R: Runtime>(tensor: &Tensor<R>) -> Result<ArrayD<T>> {
    ArrayD::from_shape_vec(tensor.shape(), tensor.try_to_vec()?).map_err(|e| Error::backend("to_array", e))
}

/// The elements of a CPU tensor of any layout, in place. A bool has none: a cast to u8 has.
///
/// # Errors
/// `Error::DType` if `T` is not the tensor's dtype.
pub fn view<T: Element + Pod>(tensor: &Tensor<CpuRuntime>) -> Result<ArrayViewD<'_, T>> {
    if tensor.dtype() != T::DTYPE {
        return Err(Error::dtype("view", &[tensor.dtype()], format!("{}, the type asked for", T::DTYPE)));
    }
    // `ndarray` starts at the lowest address and turns axes around afterwards.
    let (first, last) = tensor.layout().span().map_or((0, 0), |(first, last)| (first, last + 1));
    // It wants strides to stay inside even where there is no element.
    let one = usize::from(first < last);
    let strides: Vec<usize> = tensor.strides().iter().map(|s| s.unsigned_abs() * one).collect();
    let shape = IxDyn(tensor.shape()).strides(IxDyn(&strides));
    let data = &elements::<T>(tensor)?[first..last];
    let mut view = ArrayViewD::from_shape(shape, data).map_err(|e| Error::backend("view", e))?;
    for (axis, _) in tensor.strides().iter().enumerate().filter(|(_, s)| **s < 0) {
        view.invert_axis(Axis(axis));
    }
    Ok(view)
}
