//! Losses.

use super::fuse::{fuse, fuse_with};
use super::operands::Operand;
use crate::error::{Error, Result};
use crate::runtime::Runtime;
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
        use super::map::symbolic::Symbolic;
        reduction.apply(fuse([self, target], |[x, t]| x.softplus() - x * t)?)
    }
}
