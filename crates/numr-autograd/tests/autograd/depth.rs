//! Chains too long for a stack.

use super::t;
use numr_autograd::{grad, gradients, leaf};

#[test]
fn a_million_operations_on_a_small_stack() {
    let run = || {
        let x = leaf(&t(&[1.0], &[1]));
        let mut y = x.clone();
        for _ in 0..1_000_000 {
            y = y.add(&x).expect("add");
        }
        assert_eq!(y.to_vec::<f64>(), [1_000_001.0]);
        let grads = gradients(&y).expect("backward");
        assert_eq!(grads.get(&x).expect("x").to_vec::<f64>(), [1_000_001.0]);
        drop(grads);
        drop(x);
        drop(y);
        // And with the graph given to the walk, which frees it on its way.
        let g = grad(|x| (0..100_000).try_fold(x.clone(), |y, _| y.mul(0.99999)), &t(&[1.0], &[1])).expect("grad");
        assert!((g.to_vec::<f64>()[0] - 0.99999f64.powi(100_000)).abs() < 1e-12);
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(run).expect("a thread");
    thread.join().expect("no overflow");
}
