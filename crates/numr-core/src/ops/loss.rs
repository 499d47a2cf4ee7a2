//! Losses.

use super::fuse::{fuse, fuse_with};
use super::map::symbolic::Symbolic;
use super::operands::Operand;
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::shape::axis;
use crate::tensor::Tensor;

/// What becomes of the losses of the examples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// Their mean.
    #[default]
    Mean,
    /// Their sum.
    Sum,
    /// They are the result.
    None,
}

impl Reduction {
    fn apply<R: Runtime>(self, losses: Tensor<R>) -> Result<Tensor<R>> {
        match self {
            Reduction::Mean => losses.mean(.., false),
            Reduction::Sum => losses.sum(.., false),
            Reduction::None => Ok(losses),
        }
    }
}

impl<R: Runtime> Tensor<R> {
    /// Cross-entropy of logits against class indices, -log_softmax(x)\[class\].
    ///
    /// With smoothing s the wanted distribution is (1 - s)·onehot + s/classes. **Shape**: logits `[classes]` with a
    /// scalar target, or `[n, classes, ..]` with a target `[n, ..]`.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// use numr_core::ops::loss::Reduction;
    /// let logits = Tensor::<CpuRuntime>::zeros(&[2, 4], DType::F64, &device);
    /// let target = Tensor::from_slice(&[3, 0], &[2], &device);
    /// let loss = logits.cross_entropy(&target, 0.0, Reduction::Mean)?;
    /// assert_eq!(loss.item::<f64>()?, 4f64.ln());
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Shape` if the target is not the logits without the class axis; `Error::DType` unless it is of integers;
    /// `Error::Argument` for a smoothing outside of 0..=1; `Error::Index` for a class that is not there.
    pub fn cross_entropy(&self, target: &Tensor<R>, smoothing: f64, reduction: Reduction) -> Result<Tensor<R>> {
        let op = "cross_entropy";
        if !(0.0..=1.0).contains(&smoothing) {
            return Err(Error::argument(op, "smoothing", format!("{smoothing} is not in 0..=1")));
        }
        let classes = self.class_axis(op, target)?;
        let log = self.log_softmax(classes as isize)?;
        let picked = log.picked(op, target, classes)?;
        if smoothing == 0.0 {
            return reduction.apply(picked.neg()?);
        }
        let mean = log.mean(classes, false)?;
        let operands = [Operand::Tensor(&picked), Operand::Tensor(&mean), Operand::Scalar(smoothing.into())];
        reduction.apply(fuse_with(operands, |[p, m, s]| -(p + s * (m - p)))?)
    }

    /// Cross-entropy of logits against wanted distributions of the same shape, -Σ target·log_softmax(x) over the classes;
    /// with smoothing and mean as [`Tensor::cross_entropy`].
    ///
    /// # Errors
    /// `Error::Shape` if the shapes differ or there is no class; `Error::Argument` for a smoothing outside of 0..=1.
    pub fn cross_entropy_of(&self, target: &Tensor<R>, smoothing: f64, reduction: Reduction) -> Result<Tensor<R>> {
        let op = "cross_entropy";
        if !(0.0..=1.0).contains(&smoothing) {
            return Err(Error::argument(op, "smoothing", format!("{smoothing} is not in 0..=1")));
        }
        if self.ndim() == 0 || self.shape() != target.shape() {
            return Err(Error::shape(op, "a distribution for each example", &[self.shape(), target.shape()]));
        }
        let classes = usize::from(self.ndim() > 1);
        let share = Operand::Scalar((smoothing / self.shape()[classes] as f64).into());
        let log = self.log_softmax(classes as isize)?;
        let operands =
            [Operand::Tensor(&log), Operand::Tensor(target), Operand::Scalar((1.0 - smoothing).into()), share];
        let losses = fuse_with(operands, |[p, t, rest, share]| -(p * (t * rest + share)))?;
        reduction.apply(losses.sum(classes, false)?)
    }

    /// Cross-entropy of logits against class indices with a weight for each class, and without the examples of one class.
    /// The mean is weighted by the classes of the examples that count, and NaN if none does.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// use numr_core::ops::loss::{Classes, Reduction};
    /// let logits = Tensor::<CpuRuntime>::zeros(&[2, 4], DType::F64, &device);
    /// let target = Tensor::from_slice(&[3, -100], &[2], &device);
    /// let classes = Classes { ignore: Some(-100), ..Default::default() };
    /// assert_eq!(logits.cross_entropy_with(&target, classes, 0.0, Reduction::Sum)?.item::<f64>()?, 4f64.ln());
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::cross_entropy`]; `Error::Shape` unless there is a weight for each class.
    pub fn cross_entropy_with(
        &self,
        target: &Tensor<R>,
        classes: Classes<'_, R>,
        smoothing: f64,
        reduction: Reduction,
    ) -> Result<Tensor<R>> {
        let op = "cross_entropy";
        if !(0.0..=1.0).contains(&smoothing) {
            return Err(Error::argument(op, "smoothing", format!("{smoothing} is not in 0..=1")));
        }
        let at = self.class_axis(op, target)?;
        self.log_softmax(at as isize)?.weighed(op, target, classes, smoothing, reduction)
    }

    /// [`Tensor::nll_loss`] with a weight for each class, and without the examples of one class.
    ///
    /// # Errors
    /// As [`Tensor::cross_entropy_with`].
    pub fn nll_loss_with(
        &self,
        target: &Tensor<R>,
        classes: Classes<'_, R>,
        reduction: Reduction,
    ) -> Result<Tensor<R>> {
        self.weighed("nll_loss", target, classes, 0.0, reduction)
    }

    fn weighed(
        &self,
        op: &'static str,
        target: &Tensor<R>,
        Classes { weight, ignore }: Classes<'_, R>,
        smoothing: f64,
        reduction: Reduction,
    ) -> Result<Tensor<R>> {
        let at = self.class_axis(op, target)?;
        let n = self.shape()[at];
        let weight = match weight {
            Some(w) if w.shape() != [n] => return Err(Error::shape(op, format!("{n} weights"), &[w.shape()])),
            Some(w) => w.cast(self.dtype())?,
            None => Tensor::try_ones(&[n], self.dtype(), self.device())?,
        };
        // An example that does not count has class 0 and weight 0.
        let counts = ignore.map(|class| target.ne(class)).transpose()?;
        let target = match &counts {
            Some(counts) => counts.where_cond(target, &target.zeros_like()?)?,
            None => target.clone(),
        };
        let mut each = weight.take(&target.as_index(op)?)?;
        if let Some(counts) = &counts {
            each = each.masked_fill(&counts.logical_not()?, 0)?;
        }
        let picked = self.picked(op, &target, at)?;
        let exact = fuse([&picked, &each], |[p, w]| w.ne(0.0).where_cond(-(p * w), 0.0))?;
        let losses = if smoothing == 0.0 {
            exact
        } else {
            let last = self.movedim(at as isize, -1)?;
            let mut all = last.mul(&weight)?.sum(-1, false)?.neg()?;
            if let Some(counts) = &counts {
                all = all.masked_fill(&counts.logical_not()?, 0)?;
            }
            let numbers = [1.0 - smoothing, smoothing / n as f64].map(|s| Operand::Scalar(s.into()));
            let [rest, share] = numbers;
            fuse_with([Operand::Tensor(&exact), Operand::Tensor(&all), rest, share], |[x, a, r, s]| x * r + a * s)?
        };
        match reduction {
            Reduction::Mean => losses.sum(.., false)?.div(&each.sum(.., false)?),
            other => other.apply(losses),
        }
    }

    /// Negative log-likelihood, -x\[class\], of log-probabilities; shapes as for [`Tensor::cross_entropy`].
    ///
    /// # Errors
    /// As [`Tensor::cross_entropy`].
    pub fn nll_loss(&self, target: &Tensor<R>, reduction: Reduction) -> Result<Tensor<R>> {
        let classes = self.class_axis("nll_loss", target)?;
        reduction.apply(self.picked("nll_loss", target, classes)?.neg()?)
    }

    fn class_axis(&self, op: &'static str, target: &Tensor<R>) -> Result<usize> {
        let shape = self.shape();
        let classes = usize::from(shape.len() > 1);
        let rest = shape.iter().enumerate().filter(|&(k, _)| k != classes).map(|(_, d)| d);
        if shape.is_empty() || !rest.eq(target.shape()) {
            return Err(Error::shape(op, "[n, classes, ..] and [n, ..]", &[shape, target.shape()]));
        }
        Ok(classes)
    }

    /// The element at the index along an axis.
    fn picked(&self, op: &'static str, target: &Tensor<R>, axis: usize) -> Result<Tensor<R>> {
        let index = target.as_index(op)?.unsqueeze(axis as isize)?;
        self.gather(axis as isize, &index)?.squeeze_axes(axis)
    }

    /// Mean squared error, (x - target)².
    ///
    /// # Errors
    /// As [`Tensor::sub`].
    pub fn mse_loss(&self, target: &Tensor<R>, reduction: Reduction) -> Result<Tensor<R>> {
        reduction.apply(fuse([self, target], |[x, t]| (x - t) * (x - t))?)
    }

    /// Binary cross-entropy of logits, max(x, 0) - x·t + ln(1 + e^-|x|).
    ///
    /// # Errors
    /// As [`Tensor::sub`]; `Error::DType` for complex numbers.
    pub fn bce_with_logits(&self, target: &Tensor<R>, reduction: Reduction) -> Result<Tensor<R>> {
        reduction.apply(fuse([self, target], |[x, t]| x.softplus() - x * t)?)
    }
}

/// Which classes count in a loss, and how much.
#[derive(Debug)]
pub struct Classes<'a, R: Runtime> {
    /// A weight for each class; all weigh 1 without.
    pub weight: Option<&'a Tensor<R>>,
    /// The class whose examples do not count.
    pub ignore: Option<i64>,
}

impl<R: Runtime> Default for Classes<'_, R> {
    fn default() -> Self {
        Classes { weight: None, ignore: None }
    }
}

fn positive(op: &'static str, name: &'static str, value: f64) -> Result<()> {
    if value > 0.0 { Ok(()) } else { Err(Error::argument(op, name, format!("{value} is not positive"))) }
}

/// Losses of one formula over the tensor and its target, with numbers that belong to the formula.
macro_rules! losses {
    ($($(#[doc = $doc:literal])* $name:ident($($p:ident),*) $(positive $q:ident)? |$x:ident, $t:ident| $formula:expr;)*) => {
        impl<R: Runtime> Tensor<R> {$(
            $(#[doc = $doc])*
            ///
            /// # Errors
            /// As [`Tensor::sub`]; `Error::DType` for complex numbers; `Error::Argument` where a number must be positive.
            pub fn $name(&self, target: &Tensor<R> $(, $p: f64)*, reduction: Reduction) -> Result<Tensor<R>> {
                $(positive(stringify!($name), stringify!($q), $q)?;)?
                let both = Tensor::floating(&[self, target])?;
                let operands = [Operand::Tensor(&both[0]), Operand::Tensor(&both[1]) $(, Operand::Scalar($p.into()))*];
                reduction.apply(fuse_with(operands, |[$x, $t $(, $p)*]| $formula)?)
            }
        )*}
    };
}

losses! {
    /// Absolute error, |x - target|.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// use numr_core::ops::loss::Reduction;
    /// let x = Tensor::<CpuRuntime>::from_slice(&[1.0f64, 4.0], &[2], &device);
    /// let t = x.zeros_like()?;
    /// assert_eq!(x.l1_loss(&t, Reduction::Mean)?.item::<f64>()?, 2.5);
    /// assert_eq!(x.huber_loss(&t, 2.0, Reduction::None)?.to_vec::<f64>(), [0.5, 6.0]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    l1_loss() |x, t| (x - t).abs();
    /// Half the square of an error up to `delta`, and from there on a line, delta·(|x - target| - delta/2) (Huber, 1964).
    huber_loss(delta) positive delta |x, t| {
        let off = (x - t).abs();
        off.le(delta).where_cond(off * off * 0.5, delta * (off - delta * 0.5))
    };
    /// [`Tensor::huber_loss`] over beta: its slope far away is 1. The absolute error for a beta of 0.
    smooth_l1_loss(beta) |x, t| {
        let off = (x - t).abs();
        off.lt(beta).where_cond(off * off * 0.5 / beta.eq(0.0).where_cond(1.0, beta), off - beta * 0.5)
    };
    /// Binary cross-entropy of probabilities, -t·ln(x) - (1 - t)·ln(1 - x); a logarithm counts as -100 at least.
    bce_loss() |x, t| {
        (t - 1.0) * (-x).log1p().maximum(-100.0) - t * x.log().maximum(-100.0)
    };
    /// Kullback-Leibler divergence from x, logarithms, to the target, probabilities: t·(ln t - x), 0 where t is.
    kl_div() |x, t| t.xlogy(t) - t * x;
    /// Kullback-Leibler divergence from x to the target, both logarithms: eᵗ·(t - x).
    kl_div_log() |x, t| t.exp() * (t - x);
    /// ln(1 + e^(-target·x)) for targets of ±1.
    soft_margin_loss() |x, t| (-(t * x)).softplus();
    /// x for a target of 1, max(0, margin - x) for one of -1.
    hinge_embedding_loss(margin) |x, t| {
        let far = (margin - x).maximum(0.0);
        t.eq(1.0).where_cond(0.0, far) + t.eq(-1.0).where_cond(0.0, x)
    };
    /// Poisson loss of logarithms of rates, eˣ - target·x.
    poisson_nll_loss_log() |x, t| x.exp() - t * x;
    /// Poisson loss of rates, x - target·ln(x + eps).
    poisson_nll_loss(eps) |x, t| x - t * (x + eps).log();
}

impl<R: Runtime> Tensor<R> {
    /// Loss of a normal distribution of these means, (ln v + (x - target)²/v)/2 with v = max(variance, eps); `full` adds
    /// ln(2π)/2.
    ///
    /// # Errors
    /// As [`Tensor::sub`].
    pub fn gaussian_nll_loss(
        &self,
        target: &Tensor<R>,
        variance: &Tensor<R>,
        full: bool,
        eps: f64,
        reduction: Reduction,
    ) -> Result<Tensor<R>> {
        let rest = if full { 0.5 * std::f64::consts::TAU.ln() } else { 0.0 };
        // The limit is no part of the slope by the variance.
        let limited = R::detach(variance).maximum(eps)?;
        let variance = variance.add(&limited.sub(&R::detach(variance))?)?;
        let operands =
            [Operand::Tensor(self), Operand::Tensor(target), Operand::Tensor(&variance), Operand::Scalar(rest.into())];
        reduction.apply(fuse_with(operands, |[x, t, v, rest]| (v.log() + (x - t) * (x - t) / v) * 0.5 + rest)?)
    }

    /// max(0, -target·(x - other) + margin): x is to rank higher for a target of 1, lower for -1.
    ///
    /// # Errors
    /// As [`Tensor::sub`].
    pub fn margin_ranking_loss(
        &self,
        other: &Tensor<R>,
        target: &Tensor<R>,
        margin: f64,
        reduction: Reduction,
    ) -> Result<Tensor<R>> {
        let operands =
            [Operand::Tensor(self), Operand::Tensor(other), Operand::Tensor(target), Operand::Scalar(margin.into())];
        reduction.apply(fuse_with(operands, |[x, y, t, m]| (m - t * (x - y)).maximum(0.0))?)
    }

    /// 1 - cos(x, other) for a target of 1, max(0, cos(x, other) - margin) for -1, along the last axis.
    ///
    /// # Errors
    /// As [`Tensor::cosine_similarity`].
    pub fn cosine_embedding_loss(
        &self,
        other: &Tensor<R>,
        target: &Tensor<R>,
        margin: f64,
        reduction: Reduction,
    ) -> Result<Tensor<R>> {
        let ((x, _), (y, _)) = (self.inexact()?, other.inexact()?);
        // An offset keeps the slope of the root at 0 finite.
        let squared = |a: &Tensor<R>, b: &Tensor<R>| fuse([a, b], |[a, b]| a * b)?.sum(-1, false);
        let (xx, yy, xy) = (squared(&x, &x)?.add(1e-12)?, squared(&y, &y)?.add(1e-12)?, squared(&x, &y)?);
        let cos = fuse([&xy, &xx, &yy], |[d, a, b]| d / (a * b).sqrt())?;
        let operands = [Operand::Tensor(&cos), Operand::Tensor(target), Operand::Scalar(margin.into())];
        reduction.apply(fuse_with(operands, |[c, t, m]| {
            t.eq(1.0).where_cond(1.0 - c, t.eq(-1.0).where_cond((c - m).maximum(0.0), 0.0))
        })?)
    }

    /// max(0, |x - positive| - |x - negative| + margin), distances by [`Tensor::pairwise_distance`]; with `swap` the
    /// negative may be as near to the positive.
    ///
    /// # Errors
    /// As [`Tensor::pairwise_distance`]; `Error::Argument` for a margin that is not positive.
    pub fn triplet_margin_loss(
        &self,
        positive: &Tensor<R>,
        negative: &Tensor<R>,
        margin: f64,
        p: f64,
        eps: f64,
        swap: bool,
        reduction: Reduction,
    ) -> Result<Tensor<R>> {
        self::positive("triplet_margin_loss", "margin", margin)?;
        let near = self.pairwise_distance(positive, p, eps, false)?;
        let mut far = self.pairwise_distance(negative, p, eps, false)?;
        if swap {
            far = far.minimum(&positive.pairwise_distance(negative, p, eps, false)?)?;
        }
        let operands = [Operand::Tensor(&near), Operand::Tensor(&far), Operand::Scalar(margin.into())];
        reduction.apply(fuse_with(operands, |[a, b, m]| (a - b + m).maximum(0.0))?)
    }

    /// Σ max(0, margin - x\[class\] + x\[i\])^p / classes over i ≠ class, for p 1 or 2, each weighed by its class.
    ///
    /// # Errors
    /// As [`Tensor::nll_loss`]; `Error::Argument` for another p; `Error::Shape` unless there is a weight for each class.
    pub fn multi_margin_loss(
        &self,
        target: &Tensor<R>,
        p: u32,
        margin: f64,
        weight: Option<&Tensor<R>>,
        reduction: Reduction,
    ) -> Result<Tensor<R>> {
        let op = "multi_margin_loss";
        if !matches!(p, 1 | 2) {
            return Err(Error::argument(op, "p", format!("{p} is neither 1 nor 2")));
        }
        let at = self.class_axis(op, target)?;
        let (n, class) = (self.shape()[at], target.as_index(op)?);
        let own = self.picked(op, target, at)?.unsqueeze(at as isize)?;
        let operands = [Operand::Tensor(self), Operand::Tensor(&own), Operand::Scalar(margin.into())];
        let square = p == 2;
        let mut all = fuse_with(operands, |[x, own, m]| {
            let over = (m - own + x).maximum(0.0);
            if square { over * over } else { over }
        })?;
        if let Some(weight) = weight {
            if weight.shape() != [n] {
                return Err(Error::shape(op, format!("{n} weights"), &[weight.shape()]));
            }
            all = all.mul(&weight.take(&class)?.unsqueeze(at as isize)?)?;
        }
        let others = class.one_hot(n)?.movedim(-1, at as isize)?.ne(0)?;
        reduction.apply(all.masked_fill(&others, 0)?.sum(at, false)?.div(n as f64)?)
    }

    /// Mean over the classes of the binary cross-entropy of logits, each class weighed; target and tensor `[.., classes]`.
    ///
    /// # Errors
    /// As [`Tensor::bce_with_logits`].
    pub fn multilabel_soft_margin_loss(
        &self,
        target: &Tensor<R>,
        weight: Option<&Tensor<R>>,
        reduction: Reduction,
    ) -> Result<Tensor<R>> {
        let last = axis("multilabel_soft_margin_loss", -1, self.ndim())?;
        let each = self.bce_with_logits(target, Reduction::None)?;
        let each = weight.map_or(Ok(each.clone()), |w| each.mul(w))?;
        reduction.apply(each.mean(last, false)?)
    }
}
