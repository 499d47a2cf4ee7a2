//! The jobs in candle.

use anyhow::Result;
use candle_core::{Device, Tensor, Var};
use candle_nn::ops;

use crate::{Bench, LAYERS, values};

pub fn run(bench: &Bench) -> Result<()> {
    let tensor = |shape: &[usize], seed| Tensor::from_vec(values(shape.iter().product(), seed), shape, &Device::Cpu);

    let (x, y) = (tensor(&[1], 1)?, tensor(&[1], 2)?);
    bench.case("add_one", || Ok((&x + &y)?))?;
    let (x, y) = (Var::from_tensor(&x)?, Var::from_tensor(&y)?);
    bench.case("add_recorded", || Ok((x.as_tensor() + y.as_tensor())?))?;

    let mut parameters = vec![];
    for (at, shape) in LAYERS.iter().enumerate() {
        let weight = Var::from_tensor(&(tensor(shape, 3 + at as u32)? * 0.05)?)?;
        parameters.push((weight, Var::from_tensor(&tensor(&shape[1..], 8 + at as u32)?)?));
    }
    let (input, target) = (tensor(&[64, 784], 1)?, tensor(&[64, 10], 2)?);
    bench.case("mlp", || {
        let mut h = input.clone();
        for (at, (weight, bias)) in parameters.iter().enumerate() {
            h = h.matmul(weight)?.broadcast_add(bias)?;
            h = if at < 2 { h.relu()? } else { h };
        }
        let error = (h - &target)?;
        Ok((&error * &error)?.mean_all()?.backward()?)
    })?;

    let (x, y) = (tensor(&[1_000_000], 1)?, tensor(&[1_000_000], 2)?);
    bench.case("add", || Ok((&x + &y)?))?;
    bench.case("exp", || Ok(x.exp()?))?;
    bench.case("tanh", || Ok(x.tanh()?))?;
    bench.case("sum", || Ok(x.sum_all()?))?;
    let x = x.reshape((1000, 1000))?;
    let (weight, bias) = (tensor(&[1000], 4)?, tensor(&[1000], 5)?);
    bench.case("softmax", || Ok(ops::softmax_last_dim(&x)?))?;
    bench.case("layer_norm", || Ok(ops::layer_norm(&x, &weight, &bias, 1e-5)?))
}
