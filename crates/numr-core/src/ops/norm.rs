//! Normalisation.

use super::fused;
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::shape::Shape;
use crate::tensor::Tensor;

impl<R: Runtime> Tensor<R> {
    /// Layer normalisation over the last axis, (x - mean) / √(var + eps) · weight + bias.
    ///
    /// **Shape**: `[.., n]`, weight and bias `[n]`. **DType**: operands promote, to a float.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::from_slice(&[1.0f64, 3.0], &[2], &device);
    /// let (weight, bias) = (x.ones_like()?, x.zeros_like()?);
    /// assert_eq!(x.layer_norm(&weight, &bias, 0.0)?.to_vec::<f64>(), [-1.0, 1.0]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Shape` unless weight and bias are vectors over the last axis; `Error::DType` for complex numbers.
    pub fn layer_norm(&self, weight: &Tensor<R>, bias: &Tensor<R>, eps: impl Into<f64>) -> Result<Tensor<R>> {
        let operands = Tensor::floating(&[self, weight, bias])?;
        fused::layer_norm(&operands[0], &operands[1], &operands[2], eps.into())
    }

    /// Root-mean-square normalisation over the last axis, x / √(mean(x²) + eps) · weight.
    ///
    /// # Errors
    /// `Error::Shape` unless weight is a vector over the last axis; `Error::DType` for complex numbers.
    pub fn rms_norm(&self, weight: &Tensor<R>, eps: impl Into<f64>) -> Result<Tensor<R>> {
        let operands = Tensor::floating(&[self, weight])?;
        fused::rms_norm(&operands[0], &operands[1], eps.into())
    }

    /// Group normalisation: the channels, axis 1, in `groups` groups, each normalised together with the axes after it;
    /// then a weight and a bias per channel.
    ///
    /// # Errors
    /// `Error::Argument` unless the groups divide the channels; `Error::Shape` unless weight and bias are `[channels]`.
    pub fn group_norm(
        &self,
        weight: &Tensor<R>,
        bias: &Tensor<R>,
        groups: usize,
        eps: impl Into<f64>,
    ) -> Result<Tensor<R>> {
        let op = "group_norm";
        let &[batch, channels, ..] = self.shape() else {
            return Err(Error::shape(op, "[batch, channels, ..]", &[self.shape()]));
        };
        if groups == 0 || channels % groups != 0 {
            return Err(Error::argument(op, "groups", format!("{groups} groups do not divide {channels} channels")));
        }
        if weight.shape() != [channels] || bias.shape() != [channels] {
            let got = [self.shape(), weight.shape(), bias.shape()];
            return Err(Error::shape(op, "a weight and a bias for each channel", &got));
        }
        let operands = Tensor::floating(&[self, weight, bias])?;
        let (x, dtype) = operands[0].inexact()?;
        let each = self.shape()[2..].iter().fold(channels / groups, |n, &d| n.saturating_mul(d));
        let x = x.reshape(&[batch, groups, each])?;
        let normal = x.sub(&x.mean(-1, true)?)?.mul(&x.var(-1, true, 0)?.add(eps.into())?.rsqrt()?)?;
        let scaled = normal.reshape(self.shape())?.mul(&self.per_channel(op, &operands[1])?)?;
        scaled.add(&self.per_channel(op, &operands[2])?)?.cast(dtype)
    }

    /// Layer normalisation over the last `axes` axes together; without weight and bias only normalised.
    ///
    /// **Shape**: weight and bias have the shape of those axes.
    ///
    /// # Errors
    /// `Error::Argument` for no axis or more than there are; as [`Tensor::layer_norm`].
    pub fn layer_norm_over(
        &self,
        axes: usize,
        weight: Option<&Tensor<R>>,
        bias: Option<&Tensor<R>>,
        eps: impl Into<f64>,
    ) -> Result<Tensor<R>> {
        let (x, [weight, bias]) = self.last_as_one("layer_norm", axes, [(weight, 1), (bias, 0)])?;
        x.layer_norm(&weight, &bias, eps)?.reshape(self.shape())
    }

    /// Root-mean-square normalisation over the last `axes` axes together; without a weight only normalised.
    ///
    /// # Errors
    /// As [`Tensor::layer_norm_over`].
    pub fn rms_norm_over(&self, axes: usize, weight: Option<&Tensor<R>>, eps: impl Into<f64>) -> Result<Tensor<R>> {
        let (x, [weight]) = self.last_as_one("rms_norm", axes, [(weight, 1)])?;
        x.rms_norm(&weight, eps)?.reshape(self.shape())
    }

    /// The last axes as one, and operands over them, or what stands for a missing one.
    fn last_as_one<const N: usize>(
        &self,
        op: &'static str,
        axes: usize,
        over: [(Option<&Tensor<R>>, i64); N],
    ) -> Result<(Tensor<R>, [Tensor<R>; N])> {
        let lead = self.ndim().checked_sub(axes).filter(|_| axes > 0).ok_or_else(|| {
            Error::argument(op, "axes", format!("{axes} of the {} axes of {:?}", self.ndim(), self.shape()))
        })?;
        let last = &self.shape()[lead..];
        let n = last.iter().product();
        let mut found: [Tensor<R>; N] = std::array::from_fn(|_| self.clone());
        for (slot, (given, fill)) in found.iter_mut().zip(over) {
            *slot = match given {
                Some(t) if t.shape() != last => {
                    return Err(Error::shape(op, format!("operands of {last:?}"), &[self.shape(), t.shape()]));
                }
                Some(t) => t.reshape(&[n])?,
                None => Tensor::try_full(&[n], fill, self.dtype(), self.device())?,
            };
        }
        Ok((self.reshape(&[&self.shape()[..lead], &[n]].concat())?, found))
    }

    /// The sum with a residual, and its layer normalisation: `(layer_norm(x + residual), x + residual)`.
    ///
    /// # Errors
    /// As [`Tensor::add`] and [`Tensor::layer_norm`].
    pub fn add_layer_norm(
        &self,
        residual: &Tensor<R>,
        weight: &Tensor<R>,
        bias: &Tensor<R>,
        eps: impl Into<f64>,
    ) -> Result<(Tensor<R>, Tensor<R>)> {
        let sum = self.add(residual)?;
        Ok((sum.layer_norm(weight, bias, eps)?, sum))
    }

    /// The sum with a residual, and its root-mean-square normalisation: `(rms_norm(x + residual), x + residual)`.
    ///
    /// # Errors
    /// As [`Tensor::add`] and [`Tensor::rms_norm`].
    pub fn add_rms_norm(
        &self,
        residual: &Tensor<R>,
        weight: &Tensor<R>,
        eps: impl Into<f64>,
    ) -> Result<(Tensor<R>, Tensor<R>)> {
        let sum = self.add(residual)?;
        Ok((sum.rms_norm(weight, eps)?, sum))
    }

    /// A vector over the channels, axis 1, as it broadcasts against this tensor.
    fn per_channel(&self, op: &'static str, t: &Tensor<R>) -> Result<Tensor<R>> {
        let Some(&channels) = self.shape().get(1).filter(|&&c| t.shape() == [c]) else {
            return Err(Error::shape(op, "[batch, channels, ..] and [channels]", &[self.shape(), t.shape()]));
        };
        let shape: Shape = (1..self.ndim()).map(|k| if k == 1 { channels } else { 1 }).collect();
        t.reshape(&shape)
    }

    /// Batch normalisation with known statistics, (x - mean) / √(var + eps) · weight + bias for each channel, axis 1.
    ///
    /// # Errors
    /// `Error::Shape` unless the statistics, weight and bias are `[channels]`.
    pub fn batch_norm(
        &self,
        mean: &Tensor<R>,
        var: &Tensor<R>,
        weight: Option<&Tensor<R>>,
        bias: Option<&Tensor<R>>,
        eps: impl Into<f64>,
    ) -> Result<Tensor<R>> {
        let op = "batch_norm";
        let (x, dtype) = self.inexact()?;
        let scale = var.inexact()?.0.add(eps.into())?.rsqrt()?;
        let mut y = x.sub(&x.per_channel(op, mean)?)?.mul(&x.per_channel(op, &scale)?)?;
        if let Some(weight) = weight {
            y = y.mul(&x.per_channel(op, weight)?)?;
        }
        if let Some(bias) = bias {
            y = y.add(&x.per_channel(op, bias)?)?;
        }
        y.cast(dtype)
    }

    /// Mean and biased variance of each channel, axis 1, over all other axes: the statistics of a batch.
    ///
    /// # Errors
    /// `Error::Shape` for fewer than two axes.
    pub fn batch_statistics(&self) -> Result<(Tensor<R>, Tensor<R>)> {
        if self.ndim() < 2 {
            return Err(Error::shape("batch_norm", "[batch, channels, ..]", &[self.shape()]));
        }
        let axes: Vec<usize> = (0..self.ndim()).filter(|&k| k != 1).collect();
        let (x, _) = self.inexact()?;
        Ok((x.mean(&axes[..], false)?, x.var(&axes[..], false, 0)?))
    }

    /// Batch normalisation with the statistics of the batch itself, as in training.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::from_slice(&[1.0f32, 5.0, 3.0, 5.0], &[2, 2], &device);
    /// assert_eq!(x.batch_norm_train(None, None, 1e-12)?.to_vec::<f32>(), [-1.0, 0.0, 1.0, 0.0]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::batch_norm`].
    pub fn batch_norm_train(
        &self,
        weight: Option<&Tensor<R>>,
        bias: Option<&Tensor<R>>,
        eps: impl Into<f64>,
    ) -> Result<Tensor<R>> {
        let (mean, var) = self.batch_statistics()?;
        self.batch_norm(&mean, &var, weight, bias, eps)
    }

    /// Instance normalisation: each channel of each example by itself.
    ///
    /// # Errors
    /// As [`Tensor::group_norm`].
    pub fn instance_norm(
        &self,
        weight: Option<&Tensor<R>>,
        bias: Option<&Tensor<R>>,
        eps: impl Into<f64>,
    ) -> Result<Tensor<R>> {
        let channels = self.shape().get(1).copied().unwrap_or(0);
        let or = |t: Option<&Tensor<R>>, fill: i64| {
            t.map_or_else(|| Tensor::try_full(&[channels], fill, self.dtype(), self.device()), |t| Ok(t.clone()))
        };
        self.group_norm(&or(weight, 1)?, &or(bias, 0)?, channels, eps)
    }

    /// Vectors along an axis scaled to p-norm 1, x / max(|x|, eps).
    ///
    /// # Errors
    /// As [`Tensor::vector_norm`].
    pub fn normalize(&self, p: f64, dim: isize, eps: impl Into<f64>) -> Result<Tensor<R>> {
        let (x, dtype) = self.inexact()?;
        x.div(&x.vector_norm(p, dim, true)?.maximum(eps.into())?)?.cast(dtype)
    }

    /// [`Tensor::normalize`] by the Euclidean norm.
    ///
    /// # Errors
    /// As [`Tensor::normalize`].
    pub fn l2_normalize(&self, dim: isize, eps: impl Into<f64>) -> Result<Tensor<R>> {
        self.normalize(2.0, dim, eps)
    }

    /// Each element divided by (k + alpha · mean of x² over the `size` channels around it)^beta (Krizhevsky et al., 2012).
    ///
    /// # Errors
    /// `Error::Argument` for a size of 0; `Error::Shape` for fewer than two axes.
    pub fn local_response_norm(&self, size: usize, alpha: f64, beta: f64, k: f64) -> Result<Tensor<R>> {
        let op = "local_response_norm";
        if size == 0 {
            return Err(Error::argument(op, "size", "at least one channel is needed"));
        }
        if self.ndim() < 2 {
            return Err(Error::shape(op, "[batch, channels, ..]", &[self.shape()]));
        }
        let (x, dtype) = self.inexact()?;
        let mut widths = vec![(0, 0); x.ndim()];
        widths[1] = (size / 2, (size - 1) / 2);
        let power = x.square()?.pad(&widths, 0)?.unfold(1, size, 1)?.mean(-1, false)?;
        x.div(&power.mul(alpha)?.add(k)?.pow(beta)?)?.cast(dtype)
    }

    /// Cosine of the angle between vectors along an axis, x·y / (max(|x|, eps) · max(|y|, eps)).
    ///
    /// # Errors
    /// As [`Tensor::mul`]; `Error::Axis`.
    pub fn cosine_similarity(&self, other: &Tensor<R>, dim: isize, eps: impl Into<f64>) -> Result<Tensor<R>> {
        let both = Tensor::floating(&[self, other])?;
        let ((x, dtype), (y, _), eps) = (both[0].inexact()?, both[1].inexact()?, eps.into());
        x.normalize(2.0, dim, eps)?.mul(&y.normalize(2.0, dim, eps)?)?.sum(dim, false)?.cast(dtype)
    }

    /// p-norm of x - y + eps along the last axis.
    ///
    /// # Errors
    /// As [`Tensor::sub`] and [`Tensor::vector_norm`].
    pub fn pairwise_distance(&self, other: &Tensor<R>, p: f64, eps: f64, keepdim: bool) -> Result<Tensor<R>> {
        self.sub(other)?.add(eps)?.vector_norm(p, -1, keepdim)
    }
}
