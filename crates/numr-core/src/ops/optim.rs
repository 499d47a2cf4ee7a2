//! Steps of optimisers, each one kernel over a parameter, its gradient and what the optimiser remembers of it.

use super::fuse::fuse_many_with;
use super::map::symbolic::Symbolic;
use crate::error::Result;
use crate::runtime::Runtime;
use crate::tensor::Tensor;

/// Stochastic gradient descent with momentum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sgd {
    /// Step length.
    pub lr: f64,
    /// Share of the former direction.
    pub momentum: f64,
    /// Share of the gradient that is left out of the direction.
    pub dampening: f64,
    /// Pull of the parameter towards 0, added to the gradient.
    pub weight_decay: f64,
    /// Looks ahead (Nesterov, 1983).
    pub nesterov: bool,
}

impl Default for Sgd {
    fn default() -> Self {
        Sgd { lr: 1e-2, momentum: 0.0, dampening: 0.0, weight_decay: 0.0, nesterov: false }
    }
}

impl Sgd {
    /// The parameter and the direction after a step; the direction is zeros before the first.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// use numr_core::ops::optim::Sgd;
    /// let w = Tensor::<CpuRuntime>::from_slice(&[1.0f64], &[1], &device);
    /// let (w, _) = Sgd { lr: 0.5, ..Default::default() }.step(&w, &w, &w.zeros_like()?)?;
    /// assert_eq!(w.to_vec::<f64>(), [0.5]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::add`].
    pub fn step<R: Runtime>(
        &self,
        parameter: &Tensor<R>,
        gradient: &Tensor<R>,
        direction: &Tensor<R>,
    ) -> Result<(Tensor<R>, Tensor<R>)> {
        let tensors = [parameter, gradient, direction];
        let numbers = [self.lr, self.momentum, 1.0 - self.dampening, self.weight_decay];
        let nesterov = self.nesterov;
        let [w, v] = fuse_many_with(&tensors, &numbers, |[w, g, v, lr, momentum, share, decay]| {
            let g = g + decay * w;
            let v = momentum * v + share * g;
            [w - lr * if nesterov { g + momentum * v } else { v }, v]
        })?;
        Ok((w, v))
    }
}

/// Adam (Kingma and Ba, 2015), and AdamW (Loshchilov and Hutter, 2019).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// Step length.
    pub lr: f64,
    /// Shares of the former mean and mean square of the gradient.
    pub betas: (f64, f64),
    /// Added to the root of the mean square.
    pub eps: f64,
    /// Pull of the parameter towards 0.
    pub weight_decay: f64,
    /// Is the pull apart from the gradient, as in AdamW, rather than added to it?
    pub decoupled: bool,
}

impl Default for Adam {
    fn default() -> Self {
        Adam { lr: 1e-3, betas: (0.9, 0.999), eps: 1e-8, weight_decay: 0.0, decoupled: false }
    }
}

impl Adam {
    /// AdamW with its usual numbers.
    pub fn w() -> Adam {
        Adam { weight_decay: 1e-2, decoupled: true, ..Adam::default() }
    }

    /// The parameter, the mean and the mean square after step `t`, counted from 1; means are zeros before the first.
    ///
    /// # Errors
    /// As [`Tensor::add`].
    pub fn step<R: Runtime>(
        &self,
        parameter: &Tensor<R>,
        gradient: &Tensor<R>,
        means: (&Tensor<R>, &Tensor<R>),
        t: i32,
    ) -> Result<(Tensor<R>, Tensor<R>, Tensor<R>)> {
        let (b1, b2) = self.betas;
        let tensors = [parameter, gradient, means.0, means.1];
        let (pull, shrink) = if self.decoupled { (0.0, self.lr * self.weight_decay) } else { (self.weight_decay, 0.0) };
        let numbers = [
            self.lr / (1.0 - b1.powi(t)),
            1.0 - b1,
            1.0 - b2,
            (1.0 - b2.powi(t)).recip().sqrt(),
            self.eps,
            pull,
            shrink,
        ];
        let [w, m, v] = fuse_many_with(&tensors, &numbers, |[w, g, m, v, lr, b1, b2, unbias, eps, pull, shrink]| {
            let g = g + pull * w;
            let (m, v) = (m + b1 * (g - m), v + b2 * (g * g - v));
            [w - shrink * w - lr * m / (v.sqrt() * unbias + eps), m, v]
        })?;
        Ok((w, m, v))
    }
}
