//! A chain of element-wise operations as one pass over memory, with its gradient.

use numr::autograd::grad;
use numr::ops::fuse::{Symbolic, fuse};
use numr::prelude::*;
use std::time::Instant;

fn one_by_one<R: Runtime>(x: &Tensor<R>, y: &Tensor<R>, z: &Tensor<R>) -> numr::Result<Tensor<R>> {
    x.mul(y)?.add(z)?.relu()?.neg()?.exp()
}

fn fused<R: Runtime>(x: &Tensor<R>, y: &Tensor<R>, z: &Tensor<R>) -> numr::Result<Tensor<R>> {
    fuse([x, y, z], |[x, y, z]| (-(x * y + z).relu()).exp())
}

fn main() -> numr::Result<()> {
    let device = CpuDevice::new();
    let n = 1 << 20;
    let ramp = |k: f32| (0..n).map(|i| (i as f32 / n as f32 - 0.5) * k).collect::<Vec<f32>>();
    let [x, y, z] = [2.0, 3.0, 4.0].map(|k| Tensor::<CpuRuntime>::from_slice(&ramp(k), &[n], &device));

    let (a, b) = (one_by_one(&x, &y, &z)?, fused(&x, &y, &z)?);
    assert_eq!(a.to_vec::<f32>(), b.to_vec::<f32>(), "fused and unfused are the same bits");
    for (name, f) in [("one by one", one_by_one::<CpuRuntime> as fn(&_, &_, &_) -> _), ("fused", fused)] {
        let start = Instant::now();
        for _ in 0..10 {
            f(&x, &y, &z)?;
        }
        println!("{name:10}: {:6.2} ms", start.elapsed().as_secs_f64() * 100.0);
    }

    // The derivative of the fused expression is a fused expression too.
    let d = grad(|x| fused(x, &numr::autograd::constant(&y), &numr::autograd::constant(&z))?.sum(.., false), &x)?;
    println!("gradient by x: {d:.3}");
    Ok(())
}
