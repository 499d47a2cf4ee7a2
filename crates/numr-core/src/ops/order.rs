//! Places in an order: searches in sorted sequences, quantiles and what counts occurrences.

use super::fuse::fuse;
use super::map::symbolic::Symbolic;
use super::operands::Operand;
use crate::dtype::DType;
use crate::element::Lit;
use crate::error::{Error, Result};
use crate::prim::MapOp;
use crate::runtime::Runtime;
use crate::scalar::Int;
use crate::scalar::expr::Expr;
use crate::scalar::graph::{Class, Graph};
use crate::tensor::Tensor;

/// How [`Tensor::quantile`] finds a value between two neighbours: the nine ways of Hyndman and Fan (1996), and four that name
/// the neighbour. Names are those of `numpy.quantile`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quantile {
    /// Way 1: the first element whose share is reached.
    InvertedCdf,
    /// Way 2: as way 1, the mean of two where the share is met.
    AveragedInvertedCdf,
    /// Way 3: the element closest to the share, of two the even one.
    ClosestObservation,
    /// Way 4: on the line through the inverse of way 1.
    InterpolatedInvertedCdf,
    /// Way 5: on the line through the middles of the steps.
    Hazen,
    /// Way 6: on the line with (n + 1)·q.
    Weibull,
    /// Way 7: on the line from the least at 0 to the largest at 1.
    #[default]
    Linear,
    /// Way 8: on the line that makes the median unbiased.
    MedianUnbiased,
    /// Way 9: on the line that is unbiased for a normal distribution.
    NormalUnbiased,
    /// The lower neighbour of way 7.
    Lower,
    /// The upper neighbour of way 7.
    Higher,
    /// The nearer neighbour of way 7, of two the even one.
    Nearest,
    /// The middle of the neighbours of way 7.
    Midpoint,
}

impl Quantile {
    /// The way of this name.
    ///
    /// # Errors
    /// `Error::Argument` for a name that is none.
    pub fn parse(name: &str) -> Result<Quantile> {
        use Quantile as Q;
        Ok(match name {
            "inverted_cdf" => Q::InvertedCdf,
            "averaged_inverted_cdf" => Q::AveragedInvertedCdf,
            "closest_observation" => Q::ClosestObservation,
            "interpolated_inverted_cdf" => Q::InterpolatedInvertedCdf,
            "hazen" => Q::Hazen,
            "weibull" => Q::Weibull,
            "linear" => Q::Linear,
            "median_unbiased" => Q::MedianUnbiased,
            "normal_unbiased" => Q::NormalUnbiased,
            "lower" => Q::Lower,
            "higher" => Q::Higher,
            "nearest" => Q::Nearest,
            "midpoint" => Q::Midpoint,
            _ => return Err(Error::argument("quantile", "method", format!("there is no way called `{name}`"))),
        })
    }

    /// The lower neighbour among n sorted elements, and the share of the step to the next.
    fn place(self, n: usize, q: f64) -> (usize, f64) {
        use Quantile as Q;
        let size = n as f64;
        let line = |alpha: f64, beta: f64| size * q + (alpha + q * (1.0 - alpha - beta)) - 1.0;
        let at = match self {
            Q::InvertedCdf | Q::AveragedInvertedCdf => size * q - 1.0,
            Q::ClosestObservation => size * q - 1.5,
            Q::InterpolatedInvertedCdf => line(0.0, 1.0),
            Q::Hazen => line(0.5, 0.5),
            Q::Weibull => line(0.0, 0.0),
            Q::MedianUnbiased => line(1.0 / 3.0, 1.0 / 3.0),
            Q::NormalUnbiased => line(0.375, 0.375),
            Q::Linear | Q::Lower | Q::Higher | Q::Nearest | Q::Midpoint => (size - 1.0) * q,
        };
        let part = at - at.floor();
        let even = at.floor().rem_euclid(2.0) == 0.0;
        let share = match self {
            Q::InvertedCdf | Q::Higher => f64::from(part > 0.0),
            Q::AveragedInvertedCdf if part == 0.0 => 0.5,
            Q::AveragedInvertedCdf => 1.0,
            Q::ClosestObservation => f64::from(part > 0.0 || !even),
            Q::Lower => 0.0,
            Q::Nearest => f64::from(part > 0.5 || part == 0.5 && !even),
            Q::Midpoint => {
                if part == 0.0 {
                    0.0
                } else {
                    0.5
                }
            }
            _ => part,
        };
        let last = n.saturating_sub(1);
        if at < 0.0 {
            (0, 0.0)
        } else if at >= last as f64 {
            (last, 0.0)
        } else {
            (at as usize, share)
        }
    }
}

/// What [`Tensor::mode`] found along an axis.
#[derive(Clone, Debug)]
pub struct Mode<R: Runtime> {
    /// The most frequent element, of several the smallest.
    pub values: Tensor<R>,
    /// Where (i64) it occurs last.
    pub indices: Tensor<R>,
    /// How often (i64).
    pub counts: Tensor<R>,
}

impl<R: Runtime> Tensor<R> {
    /// Where (i64) values would go into a sorted sequence to keep it sorted: before equals, or after them if `right`. NaN
    /// comes last.
    ///
    /// **Shape**: a sequence `[n]` and values of any shape, or `[.., n]` and `[.., m]` with the same leading axes.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let sorted = Tensor::<CpuRuntime>::from_slice(&[1, 3, 3, 7], &[4], &device);
    /// let x = Tensor::from_slice(&[3, 0, 9], &[3], &device);
    /// assert_eq!(sorted.searchsorted(&x, false)?.to_vec::<i64>(), [1, 0, 4]);
    /// assert_eq!(sorted.searchsorted(&x, true)?.to_vec::<i64>(), [3, 0, 4]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Shape` for other shapes; `Error::DType` for complex numbers.
    pub fn searchsorted(&self, values: &Tensor<R>, right: bool) -> Result<Tensor<R>> {
        let op = "searchsorted";
        let leads = |x: &Tensor<R>| x.shape()[..x.ndim().saturating_sub(1)].to_vec();
        if self.ndim() == 0 || self.ndim() > 1 && leads(self) != leads(values) {
            return Err(Error::shape(op, "[n], or [.., n] and [.., m]", &[self.shape(), values.shape()]));
        }
        if self.ndim() == 1 && values.ndim() != 1 {
            return self.searchsorted(&values.flatten()?, right)?.reshape(values.shape());
        }
        let both = Tensor::promoted(&[self, values])?;
        let (sorted, x) = (&both[0], &both[1]);
        let n = self.shape()[self.ndim() - 1];
        let mut low = Tensor::try_zeros(x.shape(), DType::I64, self.device())?;
        if n == 0 {
            return Ok(low);
        }
        let mut high = low.add(n as i64)?;
        for _ in 0..=n.ilog2() {
            let middle = fuse([&low, &high], |[l, h]| (l + h) / Expr::int(2))?;
            // Once the two meet, the middle may lie past the end.
            let seen = sorted.gather(-1, &middle.minimum(n as i64 - 1)?)?;
            let before = if right {
                fuse([&seen, x], |[v, x]| v.le(x) | x.ne(x))?
            } else {
                fuse([&seen, x], |[v, x]| v.lt(x) | (x.ne(x) & v.eq(v)))?
            };
            let open = low.lt(&high)?;
            let go = before.logical_and(&open)?;
            let stay = before.logical_not()?.logical_and(&open)?;
            low = go.where_cond(&middle.add(1)?, &low)?;
            high = stay.where_cond(&middle, &high)?;
        }
        Ok(low)
    }

    /// Number (i64) of the interval between boundaries, a sorted vector, that each element lies in: `b[i-1] < x ≤ b[i]`, or
    /// with `right` `b[i-1] ≤ x < b[i]`.
    ///
    /// # Errors
    /// As [`Tensor::searchsorted`].
    pub fn bucketize(&self, boundaries: &Tensor<R>, right: bool) -> Result<Tensor<R>> {
        if boundaries.ndim() != 1 {
            return Err(Error::shape("bucketize", "a vector of boundaries", &[boundaries.shape()]));
        }
        boundaries.searchsorted(self, right)
    }

    /// Is each element among those of the other tensor? NaN is among none.
    ///
    /// # Errors
    /// `Error::DType` for complex numbers.
    pub fn isin(&self, among: &Tensor<R>) -> Result<Tensor<R>> {
        if among.is_empty() {
            return Tensor::try_zeros(self.shape(), DType::Bool, self.device());
        }
        let both = Tensor::promoted(&[self, among])?;
        let sorted = both[1].flatten()?.sort(0, false)?;
        let at = sorted.searchsorted(&both[0], false)?.minimum(sorted.numel() as i64 - 1)?;
        sorted.take(&at)?.eq(&both[0])
    }

    /// The k-th smallest element along an axis, counted from 1, and where (i64) it is.
    ///
    /// # Errors
    /// As [`Tensor::sort`]; `Error::Argument` unless k is in 1..=n.
    pub fn kthvalue(&self, k: usize, dim: isize, keepdim: bool) -> Result<(Tensor<R>, Tensor<R>)> {
        let (x, axis) = self.along("kthvalue", dim)?;
        let n = x.shape()[axis];
        if k == 0 || k > n {
            return Err(Error::argument("kthvalue", "k", format!("{k} is not in 1..={n}")));
        }
        let (values, order) = x.sort_with_indices(axis as isize, false)?;
        let pick = |t: &Tensor<R>| self.left_over(t.narrow(axis as isize, k - 1, 1)?, axis, keepdim);
        Ok((pick(&values)?, pick(&order)?))
    }

    /// A result whose folded axis has size 1 in the shape that a fold of this tensor has.
    fn left_over(&self, t: Tensor<R>, axis: usize, keepdim: bool) -> Result<Tensor<R>> {
        if self.ndim() == 0 {
            t.reshape(&[])
        } else if keepdim {
            Ok(t)
        } else {
            t.squeeze_axes(axis)
        }
    }

    /// The lower median along an axis and where (i64) it is; the first NaN if there is one.
    ///
    /// # Errors
    /// As [`Tensor::kthvalue`].
    pub fn median_with_index(&self, dim: isize, keepdim: bool) -> Result<(Tensor<R>, Tensor<R>)> {
        let (x, axis) = self.along("median", dim)?;
        let (_, place) = x.kthvalue(x.shape()[axis].div_ceil(2), axis as isize, true)?;
        let nan = x.isnan()?.cast(DType::U8)?;
        let first = nan.argmax(axis as isize, true)?;
        let place = nan.max(axis as isize, true)?.ne(0)?.where_cond(&first, &place)?;
        let value = x.gather(axis as isize, &place)?;
        Ok((self.left_over(value, axis, keepdim)?, self.left_over(place, axis, keepdim)?))
    }

    /// Quantile q along an axis, or of all elements: the value below which that share of the elements lies. NaN if one of
    /// them is.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// use numr_core::ops::order::Quantile;
    /// let x = Tensor::<CpuRuntime>::from_slice(&[4.0f64, 1.0, 3.0, 2.0], &[4], &device);
    /// assert_eq!(x.quantile(0.5, None, false, Quantile::Linear)?.item::<f64>()?, 2.5);
    /// assert_eq!(x.quantile(0.5, None, false, Quantile::Lower)?.item::<f64>()?, 2.0);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Argument` for a q outside of 0..=1; `Error::Axis`; `Error::Shape` of nothing; `Error::DType` for complex numbers.
    pub fn quantile(&self, q: f64, dim: Option<isize>, keepdim: bool, method: Quantile) -> Result<Tensor<R>> {
        let op = "quantile";
        if !(0.0..=1.0).contains(&q) {
            return Err(Error::argument(op, "q", format!("{q} is not in 0..=1")));
        }
        let (x, dtype) = self.inexact()?;
        let Some(dim) = dim else {
            let flat = x.flatten()?.quantile(q, Some(0), false, method)?.cast(dtype)?;
            return if keepdim { flat.reshape(&vec![1; self.ndim()]) } else { Ok(flat) };
        };
        let (x, axis) = x.along(op, dim)?;
        let n = x.shape()[axis];
        if n == 0 {
            return Err(Error::shape(op, "an element at least", &[self.shape()]));
        }
        let sorted = x.sort(axis as isize, false)?;
        let (low, share) = method.place(n, q);
        let at = |k: usize| sorted.narrow(axis as isize, k.min(n - 1), 1);
        let (a, b, top) = (at(low)?, at(low + 1)?, at(n - 1)?);
        let share = Tensor::try_full(&[], share, x.dtype(), x.device())?;
        // NaN is sorted to the end.
        let y = fuse([&a, &b, &top, &share], |[a, b, top, t]| {
            let between = t
                .eq(0.0)
                .where_cond(a, t.eq(1.0).where_cond(b, t.lt(0.5).where_cond(a + (b - a) * t, b - (b - a) * (1.0 - t))));
            top.ne(top).where_cond(top, between)
        })?;
        self.left_over(y, axis, keepdim)?.cast(dtype)
    }

    /// [`Tensor::quantile`] at p percent.
    ///
    /// # Errors
    /// `Error::Argument` for a p outside of 0..=100; else as [`Tensor::quantile`].
    pub fn percentile(&self, p: f64, dim: Option<isize>, keepdim: bool, method: Quantile) -> Result<Tensor<R>> {
        if !(0.0..=100.0).contains(&p) {
            return Err(Error::argument("percentile", "p", format!("{p} is not in 0..=100")));
        }
        self.quantile(p / 100.0, dim, keepdim, method)
    }

    /// Median along an axis, or of all elements; of two middle ones the mean.
    ///
    /// # Errors
    /// As [`Tensor::quantile`].
    pub fn median(&self, dim: Option<isize>, keepdim: bool) -> Result<Tensor<R>> {
        self.quantile(0.5, dim, keepdim, Quantile::Linear)
    }

    /// The most frequent element along an axis, of several the smallest.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::from_slice(&[3, 1, 3, 1, 2], &[5], &device);
    /// let mode = x.mode(0, false)?;
    /// assert_eq!((mode.values.item::<i32>()?, mode.counts.item::<i64>()?), (1, 2));
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::sort`]; `Error::Shape` for an empty axis.
    pub fn mode(&self, dim: isize, keepdim: bool) -> Result<Mode<R>> {
        let (x, axis) = self.along("mode", dim)?;
        let along = axis as isize;
        let n = x.shape()[axis];
        if n == 0 {
            return Err(Error::shape("mode", "an element at least", &[self.shape()]));
        }
        let (sorted, order) = x.sort_with_indices(along, false)?;
        let (before, after) = (sorted.narrow(along, 0, n - 1)?, sorted.narrow(along, 1, n - 1)?);
        let new = fuse([&before, &after], |[a, b]| a.ne(b) & (a.eq(a) | b.eq(b)))?;
        let first = Tensor::try_ones(sorted.narrow(along, 0, 1)?.shape(), DType::Bool, x.device())?;
        let new = Tensor::cat(&[&first, &new], along)?;
        // How far each element is from the first of its run.
        let from = |t: &Tensor<R>| -> Result<Tensor<R>> {
            let graph = Graph::build(1, Class::Free, |arena, a| {
                vec![a[0].where_cond(arena.coord(axis as u8), arena.lit(Lit::Int(0)))]
            });
            Tensor::map(MapOp::Graph(graph), &[Operand::Tensor(t)])?.cast(DType::I64)
        };
        let run = from(&new.ones_like()?)?.sub(&from(&new)?.cummax(along)?)?;
        let best = run.argmax(along, true)?;
        let pick = |t: &Tensor<R>| self.left_over(t.gather(along, &best)?, axis, keepdim);
        Ok(Mode { values: pick(&sorted)?, indices: pick(&order)?, counts: pick(&run)?.add(1)? })
    }

    /// How many elements (i64) lie in each of `bins` intervals of one width over `range`, by default from the least to
    /// the largest; and the intervals' edges. The last interval holds its upper edge; elements outside count nowhere.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::from_slice(&[0.0f64, 0.5, 1.0, 2.0], &[4], &device);
    /// let (counts, edges) = x.histogram(2, None)?;
    /// assert_eq!(counts.to_vec::<i64>(), [2, 2]);
    /// assert_eq!(edges.to_vec::<f64>(), [0.0, 1.0, 2.0]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Argument` for no bin, or a range that is not from a finite number to a larger one; `Error::DType` for complex
    /// numbers.
    pub fn histogram(&self, bins: usize, range: Option<(f64, f64)>) -> Result<(Tensor<R>, Tensor<R>)> {
        let op = "histogram";
        if bins == 0 {
            return Err(Error::argument(op, "bins", "at least one is needed"));
        }
        let (x, _) = self.inexact()?;
        let (low, high) = match range {
            Some(range) => range,
            None if x.is_empty() => (0.0, 1.0),
            None => {
                let (low, high) = x.aminmax(.., false)?;
                (low.cast(DType::F64)?.item::<f64>()?, high.cast(DType::F64)?.item::<f64>()?)
            }
        };
        let (low, high) = if low == high { (low - 0.5, high + 0.5) } else { (low, high) };
        if !(low.is_finite() && high.is_finite() && low < high) {
            return Err(Error::argument(op, "range", format!("({low}, {high}) is no range")));
        }
        // As NumPy computes them, so that what lies on an edge counts alike.
        let step = (high - low) / bins as f64;
        let inner = Tensor::try_arange(0.0, bins as f64, 1.0, x.dtype(), x.device())?.mul(step)?.add(low)?;
        let edges = Tensor::cat(&[&inner, &Tensor::try_full(&[1], high, x.dtype(), x.device())?], 0)?;
        Ok((x.histogram_in(&edges, None)?, edges))
    }

    /// How many elements (i64), or the sum of their weights, lie between neighbouring edges, a sorted vector; the last
    /// interval holds its upper edge.
    ///
    /// # Errors
    /// `Error::Shape` unless edges are two at least and there is a weight for each element.
    pub fn histogram_in(&self, edges: &Tensor<R>, weights: Option<&Tensor<R>>) -> Result<Tensor<R>> {
        let op = "histogram";
        let &[n] = edges.shape() else { return Err(Error::shape(op, "a vector of edges", &[edges.shape()])) };
        if n < 2 || weights.is_some_and(|w| w.shape() != self.shape()) {
            let got = [self.shape(), edges.shape(), weights.map_or(self.shape(), |w| w.shape())];
            return Err(Error::shape(op, "two edges, and a weight for each element", &got));
        }
        let flat = self.flatten()?;
        let last = edges.narrow(0, n - 1, 1)?;
        let at = edges.searchsorted(&flat, true)?;
        let top = flat.eq(&last)?;
        // Interval 0 lies before the first edge, and interval n past the last one: they are counted and left out.
        let at = top.where_cond(&at.sub(1)?, &at)?;
        let ones = weights.is_none().then(|| at.ones_like()).transpose()?;
        let src = weights.or(ones.as_ref()).unwrap_or(&at).flatten()?;
        let all = Tensor::try_zeros(&[n + 1], src.dtype(), self.device())?.scatter_add(0, &at, &src)?;
        all.narrow(0, 1, n - 1)
    }

    /// The elements of a vector without repetitions of a neighbour; which of them each element is (i64); and how often each
    /// is repeated (i64). Other tensors are flattened.
    ///
    /// # Errors
    /// `Error::DType` for complex numbers.
    pub fn unique_consecutive(&self) -> Result<(Tensor<R>, Tensor<R>, Tensor<R>)> {
        let flat = self.flatten()?;
        let (values, group, counts) = flat.runs()?;
        Ok((values, group.reshape(self.shape())?, counts))
    }
}
