//! How fast a device is: bytes or operations per second of a few operations, and the host's time for a small one.
//!
//! `cargo run --release --features wgpu --example rates -- --device wgpu --size 26`: tensors of 2^26 f32.

use numr::autograd::constant;
use numr::ops::fuse::fuse;
use numr::prelude::*;
use numr::scalar::{Float, Scalar};
use std::time::Instant;

type T = Tensor<AnyRuntime>;

/// The least time of a call, in seconds, over batches that end with a wait.
fn time(device: &Device, batch: usize, job: impl Fn() -> numr::Result<T>) -> numr::Result<f64> {
    let mut least = f64::INFINITY;
    for round in 0..6 {
        AnyRuntime::synchronize(device)?;
        let start = Instant::now();
        for _ in 0..batch {
            job()?;
        }
        AnyRuntime::synchronize(device)?;
        if round > 0 {
            least = least.min(start.elapsed().as_secs_f64() / batch as f64);
        }
    }
    Ok(least)
}

fn main() -> numr::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let option = |name: &str| args.iter().position(|a| a == name).and_then(|at| args.get(at + 1));
    let device = Device::parse(option("--device").map_or("auto", String::as_str))?;
    let power: u32 = option("--size").and_then(|s| s.parse().ok()).unwrap_or(22);
    let (n, batch) = (1usize << power, 10);
    println!("{} with 2^{power} f32", numr::runtime::Device::name(&device));
    let key = numr::rng::Key::new(1);
    let side = 1usize << (power / 2);
    let x: T = key.child(0).uniform(&[side, n / side], DType::F32, &device)?;
    let (y, z) = (key.child(1).uniform(x.shape(), DType::F32, &device)?, x.mul(0.5)?);
    let bytes = 4.0 * n as f64;
    let gigabytes = |name: &str, moved: f64, seconds: f64| {
        println!("{name:24} {:9.1} GB/s  {:10.1} us", moved * bytes / seconds / 1e9, seconds * 1e6);
    };
    gigabytes("copy", 2.0, time(&device, batch, || x.clone_deep())?);
    gigabytes("add", 3.0, time(&device, batch, || x.add(&y))?);
    gigabytes("exp", 2.0, time(&device, batch, || x.exp())?);
    gigabytes("gelu", 2.0, time(&device, batch, || x.gelu())?);
    let zero = || numr::scalar::expr::Expr::lit(0.0);
    gigabytes(
        "exp(relu(x*y+z)), fused",
        4.0,
        time(&device, batch, || fuse([&x, &y, &z], |[x, y, z]| Scalar::max(x * y + z, zero()).exp()))?,
    );
    gigabytes("sum, all", 1.0, time(&device, batch, || x.sum(.., false))?);
    gigabytes("sum, last axis", 1.0, time(&device, batch, || x.sum(1, false))?);
    gigabytes("sum, first axis", 1.0, time(&device, batch, || x.sum(0, false))?);
    gigabytes("argmax, all", 1.0, time(&device, batch, || x.argmax(.., false))?);
    let line = x.flatten()?;
    gigabytes("cumsum, all", 2.0, time(&device, batch, || line.cumsum(0))?);
    let rows = x.reshape(&[n / 1024, 1024])?;
    gigabytes("softmax of 1024", 2.0, time(&device, batch, || rows.softmax(-1))?);
    let (w, b) = (T::try_ones(&[1024], DType::F32, &device)?, T::try_zeros(&[1024], DType::F32, &device)?);
    gigabytes("layer norm of 1024", 2.0, time(&device, batch, || rows.layer_norm(&w, &b, 1e-5))?);
    let m = side.min(4096);
    let a = x.flatten()?.narrow(0, 0, m * m)?.reshape(&[m, m])?;
    let seconds = time(&device, 3, || a.matmul(&a))?;
    println!(
        "{:24} {:9.2} TFLOP/s {:8.1} us",
        format!("matmul {m}"),
        2.0 * (m as f64).powi(3) / seconds / 1e12,
        seconds * 1e6
    );
    let small = T::try_ones(&[16], DType::F32, &device)?;
    let taped = constant(&small);
    println!("{:24} {:9.2} us", "small add, host", time(&device, 640, || small.add(&small))? * 1e6);
    println!(
        "{:24} {:9.2} us",
        "small add, on a tape",
        time(&device, 640, || taped.add(&taped).map(|y| numr::autograd::value(&y)))? * 1e6
    );
    Ok(())
}
