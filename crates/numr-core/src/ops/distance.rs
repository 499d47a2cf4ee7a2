//! Distances between rows. All differences are in memory at once: pairs times features.

use super::fuse::fuse;
use super::map::symbolic::Symbolic;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::tensor::Tensor;

/// How far two vectors are apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DistanceMetric {
    /// √Σ(x - y)².
    Euclidean,
    /// Σ(x - y)².
    SquaredEuclidean,
    /// Σ|x - y|.
    Manhattan,
    /// max |x - y|.
    Chebyshev,
    /// (Σ|x - y|^p)^(1/p).
    Minkowski(f64),
    /// 1 - x·y / (|x|·|y|).
    Cosine,
    /// The cosine distance of the vectors less their means.
    Correlation,
    /// Share of places that differ.
    Hamming,
    /// Share of the places where one is not zero that differ.
    Jaccard,
}

impl DistanceMetric {
    /// Distances along the last axis; the others broadcast.
    fn between<R: Runtime>(self, x: &Tensor<R>, y: &Tensor<R>) -> Result<Tensor<R>> {
        use DistanceMetric as M;
        let one_less = |t: Tensor<R>| fuse([&t], |[t]| 1.0 - t);
        match self {
            M::Euclidean => x.sub(y)?.norm(-1, false),
            M::SquaredEuclidean => fuse([x, y], |[x, y]| (x - y) * (x - y))?.sum(-1, false),
            M::Manhattan => x.sub(y)?.vector_norm(1.0, -1, false),
            M::Chebyshev => x.sub(y)?.vector_norm(f64::INFINITY, -1, false),
            M::Minkowski(p) => x.sub(y)?.vector_norm(p, -1, false),
            M::Cosine => one_less(x.cosine_similarity(y, -1, 0.0)?),
            M::Correlation => M::Cosine.between(&x.sub(&x.mean(-1, true)?)?, &y.sub(&y.mean(-1, true)?)?),
            M::Hamming => x.ne(y)?.cast(x.dtype())?.mean(-1, false),
            M::Jaccard => {
                let differ = x.ne(y)?.sum(-1, false)?.cast(x.dtype())?;
                let any = fuse([x, y], |[x, y]| x.ne(0.0) | y.ne(0.0))?.sum(-1, false)?.cast(x.dtype())?;
                fuse([&differ, &any], |[d, n]| n.eq(0.0).where_cond(0.0, d / n))
            }
        }
    }
}

impl<R: Runtime> Tensor<R> {
    /// Distance of every row of this tensor from every row of the other, `[.., m, k]` and `[.., n, k]` to `[.., m, n]`.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// use numr_core::ops::distance::DistanceMetric;
    /// let x = Tensor::<CpuRuntime>::from_slice(&[0.0f64, 0.0, 3.0, 4.0], &[2, 2], &device);
    /// assert_eq!(x.cdist(&x, DistanceMetric::Euclidean)?.to_vec::<f64>(), [0.0, 5.0, 5.0, 0.0]);
    /// assert_eq!(x.pdist(DistanceMetric::Manhattan)?.to_vec::<f64>(), [7.0]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Shape` unless both have rows of one length; `Error::DType` for an order of complex numbers.
    pub fn cdist(&self, other: &Tensor<R>, metric: DistanceMetric) -> Result<Tensor<R>> {
        let (a, b) = (self.shape(), other.shape());
        if a.len() < 2 || b.len() < 2 || a.last() != b.last() {
            return Err(Error::shape("cdist", "[.., m, k] and [.., n, k]", &[a, b]));
        }
        let both = Tensor::floating(&[self, other])?;
        let ((x, dtype), (y, _)) = (both[0].inexact()?, both[1].inexact()?);
        metric.between(&x.unsqueeze(-2)?, &y.unsqueeze(-3)?)?.cast(dtype)
    }

    /// Distance of every row from each row after it, in the order (0, 1), (0, 2), .., (1, 2), ..
    ///
    /// # Errors
    /// `Error::Shape` unless the tensor is a matrix.
    pub fn pdist(&self, metric: DistanceMetric) -> Result<Tensor<R>> {
        let &[n, _] = self.shape() else { return Err(Error::shape("pdist", "[n, k]", &[self.shape()])) };
        let (x, dtype) = self.inexact()?;
        let (rows, columns) = Tensor::pairs(n, self.device())?;
        metric.between(&x.index_select(0, &rows)?, &x.index_select(0, &columns)?)?.cast(dtype)
    }

    /// The pairs i < j below n, ordered by i and then by j.
    fn pairs(n: usize, device: &R::Device) -> Result<(Tensor<R>, Tensor<R>)> {
        let above = Tensor::try_ones(&[n, n], DType::Bool, device)?.triu(1)?.nonzero()?;
        let column = |k| above.narrow(1, k, 1)?.squeeze_axes(1);
        Ok((column(0)?, column(1)?))
    }

    /// The symmetric matrix whose upper triangle is this vector, as [`Tensor::pdist`] gives it; zeros on the diagonal.
    ///
    /// # Errors
    /// `Error::Shape` unless there is an element for each pair below n.
    pub fn squareform(&self, n: usize) -> Result<Tensor<R>> {
        if self.shape() != [n * n.saturating_sub(1) / 2] {
            return Err(Error::shape("squareform", format!("an element for each pair below {n}"), &[self.shape()]));
        }
        let (rows, columns) = Tensor::pairs(n, self.device())?;
        let places = rows.mul(n as i64)?.add(&columns)?;
        let upper =
            Tensor::try_zeros(&[n * n], self.dtype(), self.device())?.scatter(0, &places, self)?.reshape(&[n, n])?;
        upper.add(&upper.t()?)
    }

    /// The upper triangle of a square matrix as a vector, the inverse of [`Tensor::squareform`].
    ///
    /// # Errors
    /// `Error::Shape` unless the tensor is a square matrix.
    pub fn squareform_inverse(&self) -> Result<Tensor<R>> {
        let &[n, columns] = self.shape() else {
            return Err(Error::shape("squareform_inverse", "[n, n]", &[self.shape()]));
        };
        if n != columns {
            return Err(Error::shape("squareform_inverse", "[n, n]", &[self.shape()]));
        }
        let (rows, columns) = Tensor::pairs(n, self.device())?;
        self.flatten()?.index_select(0, &rows.mul(n as i64)?.add(&columns)?)
    }
}
