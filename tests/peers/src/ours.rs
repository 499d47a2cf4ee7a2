//! The jobs in this workspace's numr.

use anyhow::Result;
use numr::autograd::{constant, gradients, leaf};
use numr::prelude::*;

use crate::{Bench, LAYERS, values};

pub fn run(bench: &Bench) -> Result<()> {
    let device = CpuDevice::new();
    let tensor = |shape: &[usize], seed| {
        Tensor::<CpuRuntime>::try_from_slice(&values(shape.iter().product(), seed), shape, &device)
    };

    let (x, y) = (tensor(&[1], 1)?, tensor(&[1], 2)?);
    bench.case("add_one", || Ok(x.add(&y)?))?;
    let (x, y) = (leaf(&x), leaf(&y));
    bench.case("add_recorded", || Ok(x.add(&y)?))?;

    let mut parameters = vec![];
    for (at, shape) in LAYERS.iter().enumerate() {
        let weight = leaf(&tensor(shape, 3 + at as u32)?.mul(0.05)?);
        parameters.push((weight, leaf(&tensor(&shape[1..], 8 + at as u32)?)));
    }
    let (input, target) = (constant(&tensor(&[64, 784], 1)?), constant(&tensor(&[64, 10], 2)?));
    bench.case("mlp", || {
        let mut h = input.clone();
        for (at, (weight, bias)) in parameters.iter().enumerate() {
            h = h.matmul(weight)?.add(bias)?;
            h = if at < 2 { h.relu()? } else { h };
        }
        Ok(gradients(&h.sub(&target)?.square()?.mean(.., false)?)?)
    })?;

    let (x, y) = (tensor(&[1_000_000], 1)?, tensor(&[1_000_000], 2)?);
    bench.case("add", || Ok(x.add(&y)?))?;
    bench.case("exp", || Ok(x.exp()?))?;
    bench.case("tanh", || Ok(x.tanh()?))?;
    bench.case("sum", || Ok(x.sum(.., false)?))?;
    let x = x.reshape(&[1000, 1000])?;
    let (weight, bias) = (tensor(&[1000], 4)?, tensor(&[1000], 5)?);
    bench.case("softmax", || Ok(x.softmax(-1)?))?;
    bench.case("layer_norm", || Ok(x.layer_norm(&weight, &bias, 1e-5)?))
}
