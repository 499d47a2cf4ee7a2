//! Known derivatives.

use super::{R, T, close, random, t};
use numr_autograd::{Tape, grad, gradients, gradients_recorded, hessian, hvp, jacobian, jvp, leaf, value};
use numr_core::{Result, Runtime, Tensor};

fn f<S: Runtime>(x: &Tensor<S>) -> Result<Tensor<S>> {
    x.sin()?.mul(&x.exp()?)?.sum(.., false)
}

/// f and its first five derivatives at x.
fn derivatives(x: f64) -> [f64; 6] {
    let (s, c, e) = (x.sin(), x.cos(), x.exp());
    [e * s, e * (s + c), 2.0 * e * c, 2.0 * e * (c - s), -4.0 * e * s, -4.0 * e * (s + c)]
}

#[test]
fn every_order_on_one_tape() {
    let want = derivatives(0.3);
    let x = leaf(&t(&[0.3], &[1]));
    let mut y = f(&x).expect("f");
    for (k, w) in want.iter().enumerate() {
        close(&value(&y).to_vec::<f64>(), &[*w], 1e-13);
        if k < 5 {
            let grads = gradients_recorded(&y.sum(.., false).expect("sum")).expect("backward");
            y = grads.get(&x).expect("depends on x").clone();
        }
    }
}

#[test]
fn nested_tapes() {
    let want = derivatives(0.3);
    let x = t(&[0.3], &[1]);
    let first = |x: &Tensor<Tape<R>>| grad(f, x)?.sum(.., false);
    let third = grad(|x| grad(|x| grad(f, x)?.sum(.., false), x)?.sum(.., false), &x).expect("third");
    close(&grad(first, &x).expect("second").to_vec::<f64>(), &want[2..3], 1e-13);
    close(&third.to_vec::<f64>(), &want[3..4], 1e-13);
}

#[test]
fn forward_and_mixtures() {
    let want = derivatives(0.3);
    let (x, one) = (t(&[0.3], &[1]), t(&[1.0], &[1]));
    let (y, dy) = jvp(f, &x, &one).expect("jvp");
    close(&[y.to_vec::<f64>()[0], dy.to_vec::<f64>()[0]], &want[..2], 1e-13);
    // Forward over reverse, reverse over forward, forward over forward.
    close(&hvp(f, &x, &one).expect("hvp").to_vec::<f64>(), &want[2..3], 1e-13);
    let reverse_forward = grad(|x| jvp(f, x, &x.ones_like()?).map(|(_, d)| d), &x).expect("reverse over forward");
    close(&reverse_forward.to_vec::<f64>(), &want[2..3], 1e-13);
    let twice = jvp(|x| jvp(f, x, &x.ones_like()?).map(|(_, d)| d), &x, &one).expect("forward over forward").1;
    close(&twice.to_vec::<f64>(), &want[2..3], 1e-13);
}

#[test]
fn hessian_and_jacobian() {
    let x = t(&[0.5, -1.5, 2.0], &[3]);
    // Σ x_i² x_(i+1)
    fn g<S: Runtime>(x: &Tensor<S>) -> Result<Tensor<S>> {
        x.narrow(0, 0, 2)?.square()?.mul(&x.narrow(0, 1, 2)?)?.sum(.., false)
    }
    let h = hessian(g, &x).expect("hessian");
    assert_eq!(h.shape(), [3, 3]);
    let (a, b, c) = (0.5, -1.5, 2.0);
    let want = [2.0 * b, 2.0 * a, 0.0, 2.0 * a, 2.0 * c, 2.0 * b, 0.0, 2.0 * b, 0.0];
    close(&h.to_vec::<f64>(), &want, 1e-14);
    // Wide: rows; tall: columns.
    let wide = jacobian(|x| x.narrow(0, 0, 1)?.mul(&x.narrow(0, 2, 1)?), &x).expect("wide");
    close(&wide.to_vec::<f64>(), &[c, 0.0, a], 0.0);
    let tall = jacobian(|x| Tensor::cat(&[&x.square()?, &x.mul(3.0)?], 0), &x).expect("tall");
    assert_eq!(tall.shape(), [6, 3]);
    let diag = |v: [f64; 3]| (0..9).map(move |k| if k % 4 == 0 { v[k / 4] } else { 0.0 });
    let want: Vec<f64> = diag([2.0 * a, 2.0 * b, 2.0 * c]).chain(diag([3.0; 3])).collect();
    close(&tall.to_vec::<f64>(), &want, 0.0);
}

#[test]
fn matrix_product() {
    let (a, b) = (leaf(&random(&[3, 4], 1)), leaf(&random(&[4, 2], 2)));
    let grads = gradients(&a.matmul(&b).expect("matmul").sum(.., false).expect("sum")).expect("backward");
    let ones = T::ones(&[3, 2], numr_core::DType::F64, a.device());
    let da = ones.matmul(&value(&b).t().expect("t")).expect("matmul");
    close(&grads.get(&a).expect("a").to_vec::<f64>(), &da.to_vec::<f64>(), 1e-14);
    let db = value(&a).t().expect("t").matmul(&ones).expect("matmul");
    close(&grads.get(&b).expect("b").to_vec::<f64>(), &db.to_vec::<f64>(), 1e-14);
}
