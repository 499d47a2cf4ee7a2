//! Tensors from vectors and nested arrays, and the rows of a tensor.

use super::{Tensor, or_panic};
use crate::element::Element;
use crate::error::Result;
use crate::runtime::Runtime;
use crate::shape::axis;

/// An element, or an array of arrays of elements, to any depth.
pub trait Nested {
    /// What is innermost.
    type Element: Element;
    /// Appends the size of each axis.
    fn shape(shape: &mut Vec<usize>);
    /// Appends the elements, row-major.
    fn elements(&self, all: &mut Vec<Self::Element>);
}

impl<T: Element> Nested for T {
    type Element = T;
    fn shape(_: &mut Vec<usize>) {}
    fn elements(&self, all: &mut Vec<T>) {
        all.push(*self);
    }
}

impl<N: Nested, const K: usize> Nested for [N; K] {
    type Element = N::Element;
    fn shape(shape: &mut Vec<usize>) {
        shape.push(K);
        N::shape(shape);
    }
    fn elements(&self, all: &mut Vec<N::Element>) {
        self.iter().for_each(|part| part.elements(all));
    }
}

/// Nested arrays as a tensor on the default device. Panics where it has no memory for them.
///
/// ```
/// # use numr_core::Tensor;
/// # use numr_cpu::CpuRuntime;
/// let x = Tensor::<CpuRuntime>::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
/// assert_eq!(x.shape(), [3, 2]);
/// assert_eq!(Tensor::<CpuRuntime>::from([[[0u8; 0]; 3]; 2]).shape(), [2, 3, 0]);
/// ```
impl<R: Runtime, N: Nested, const K: usize> From<[N; K]> for Tensor<R> {
    #[track_caller]
    fn from(nested: [N; K]) -> Tensor<R> {
        let (mut shape, mut all) = (vec![], vec![]);
        <[N; K]>::shape(&mut shape);
        nested.elements(&mut all);
        or_panic(Tensor::try_from_slice(&all, &shape, &R::default_device()))
    }
}

/// A vector as a tensor of one axis on the default device. Panics where it has no memory for it.
///
/// ```
/// # use numr_core::Tensor;
/// # use numr_cpu::CpuRuntime;
/// assert_eq!(Tensor::<CpuRuntime>::from(vec![1, 2, 3]).to_vec::<i32>(), [1, 2, 3]);
/// ```
impl<R: Runtime, T: Element> From<Vec<T>> for Tensor<R> {
    #[track_caller]
    fn from(data: Vec<T>) -> Tensor<R> {
        or_panic(Tensor::try_from_slice(&data, &[data.len()], &R::default_device()))
    }
}

impl<R: Runtime> Tensor<R> {
    /// The parts along an axis, which they lack: of a matrix and axis 0 the rows. Each shares the memory.
    ///
    /// # Errors
    /// `Error::Axis` for an axis that is not there.
    ///
    /// ```
    /// # use numr_core::{Result, Tensor};
    /// # use numr_cpu::CpuRuntime;
    /// # fn main() -> Result<()> {
    /// let x = Tensor::<CpuRuntime>::from([[1.0, 2.0], [3.0, 4.0]]);
    /// for (row, sum) in x.unbind(0)?.iter().zip([3.0, 7.0]) {
    ///     assert_eq!(row.sum(.., false)?.item::<f64>()?, sum);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn unbind(&self, dim: isize) -> Result<Vec<Tensor<R>>> {
        let dim = axis("unbind", dim, self.ndim())?;
        let part = |k| self.narrow(dim as isize, k, 1)?.squeeze_axes(dim as isize);
        (0..self.shape()[dim]).map(part).collect()
    }
}
