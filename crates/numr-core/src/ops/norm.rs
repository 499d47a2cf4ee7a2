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
        let one_per_channel = |t: &Tensor<R>| {
            let shape: Shape = (0..self.ndim()).map(|k| if k == 1 { channels } else { 1 }).collect();
            t.reshape(&shape)
        };
        let scaled = normal.reshape(self.shape())?.mul(&one_per_channel(&operands[1])?)?;
        scaled.add(&one_per_channel(&operands[2])?)?.cast(dtype)
    }
}
