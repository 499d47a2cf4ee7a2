//! A function with a gradient of one's own: ln cosh x, which overflows if it is differentiated as it is written.

use numr::autograd::{CustomGradient, Tape, custom, grad};
use numr::prelude::*;

/// ln cosh x = |x| + ln(1 + e^(-2|x|)) - ln 2, with the slope tanh x.
struct LogCosh;

impl CustomGradient for LogCosh {
    fn name(&self) -> &'static str {
        "log_cosh"
    }

    fn forward<R: Runtime>(&self, x: &[Tensor<R>]) -> numr::Result<Vec<Tensor<R>>> {
        let size = x[0].abs()?;
        Ok(vec![size.mul(-2.0)?.exp()?.log1p()?.add(&size)?.sub(std::f64::consts::LN_2)?])
    }

    /// Written once for every runtime: on the tape it is recorded, which gives the higher derivatives.
    fn vjp<R: Runtime>(
        &self,
        x: &[Tensor<R>],
        _y: &[Tensor<R>],
        g: &[Option<Tensor<R>>],
    ) -> numr::Result<Vec<Option<Tensor<R>>>> {
        Ok(vec![g[0].as_ref().map(|g| g.mul(&x[0].tanh()?)).transpose()?])
    }
}

fn log_cosh<R: Runtime>(x: &Tensor<Tape<R>>) -> numr::Result<Tensor<Tape<R>>> {
    custom(LogCosh, &[x])?[0].sum(.., false)
}

fn main() -> numr::Result<()> {
    let device = CpuDevice::new();
    let points: [f64; 5] = [-800.0, -1.5, 0.0, 0.3, 800.0];
    let x = Tensor::<CpuRuntime>::from_slice(&points, &[5], &device);
    let first = grad(log_cosh, &x)?;
    let second = grad(|x| grad(log_cosh, x)?.sum(.., false), &x)?;
    println!("x      {x}\nslope  {first:.6}\ncurve  {second:.6}");
    for ((x, d), dd) in points.iter().zip(first.to_vec::<f64>()).zip(second.to_vec::<f64>()) {
        assert!((d - x.tanh()).abs() < 1e-15, "the slope is tanh x");
        assert!((dd - (1.0 - x.tanh().powi(2))).abs() < 1e-15, "the curvature is 1 - tanh² x");
    }
    Ok(())
}
