//! Gradients on the CPU: every rule against its transpose and finite differences, closed forms, kinks, depth.

#[path = "autograd/closed.rs"]
mod closed;
#[path = "autograd/depth.rs"]
mod depth;
#[path = "autograd/rules.rs"]
mod rules;

use numr_core::Tensor;
use numr_cpu::{CpuDevice, CpuRuntime};

type R = CpuRuntime;
type T = Tensor<R>;

/// An f64 tensor.
fn t(data: &[f64], shape: &[usize]) -> T {
    Tensor::from_slice(data, shape, &CpuDevice::new())
}

/// Numbers in (-1, 1), the same each time for a seed.
fn noise(n: usize, seed: u64) -> Vec<f64> {
    let mut s = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        (s >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// An f64 tensor of noise.
fn random(shape: &[usize], seed: u64) -> T {
    t(&noise(shape.iter().product(), seed), shape)
}

#[track_caller]
fn close(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len(), "{got:?} against {want:?}");
    for (g, w) in got.iter().zip(want) {
        assert!(
            (g - w).abs() <= tolerance * w.abs().max(1.0) || g == w || (g.is_nan() && w.is_nan()),
            "{got:?} against {want:?}"
        );
    }
}
