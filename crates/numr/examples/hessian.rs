//! Derivatives of any order: gradient, Hessian and Hessian-vector product of Rosenbrock's function, and Newton's
//! method with them.

use numr::autograd::{grad, hessian, hvp};
use numr::prelude::*;

/// Σ 100 (x[i+1] - x[i]²)² + (1 - x[i])², with its minimum 0 at (1, .., 1).
fn rosenbrock<R: Runtime>(x: &Tensor<R>) -> numr::Result<Tensor<R>> {
    let n = x.numel();
    let (head, tail) = (x.narrow(0, 0, n - 1)?, x.narrow(0, 1, n - 1)?);
    let valley = tail.sub(&head.square()?)?.square()?.mul(100.0)?;
    valley.add(&head.sub(1.0)?.square()?)?.sum(.., false)
}

fn main() -> numr::Result<()> {
    let device = CpuDevice::new();
    let mut x = Tensor::<CpuRuntime>::from_slice(&[-1.2f64, 1.0], &[2], &device);
    println!("at {x}\ngradient {:.1}\nHessian\n{:.1}", grad(rosenbrock, &x)?, hessian(rosenbrock, &x)?);

    let v = Tensor::from_slice(&[1.0f64, 2.0], &[2], &device);
    let product = hvp(rosenbrock, &x, &v)?;
    let full = hessian(rosenbrock, &x)?.matmul(&v)?;
    println!("Hessian · {v} = {product:.1}, without the Hessian; with it {full:.1}");

    for step in 0.. {
        let (g, h) = (grad(rosenbrock, &x)?.to_vec::<f64>(), hessian(rosenbrock, &x)?.to_vec::<f64>());
        let value = rosenbrock(&x)?.item::<f64>()?;
        println!("Newton step {step}: f = {value:.3e} at {x:.6}");
        if value < 1e-20 {
            break;
        }
        // The 2x2 system by Cramer's rule.
        let det = h[0] * h[3] - h[1] * h[2];
        let d = [(g[0] * h[3] - g[1] * h[1]) / det, (g[1] * h[0] - g[0] * h[2]) / det];
        x -= Tensor::from_slice(&d, &[2], &device);
    }
    Ok(())
}
