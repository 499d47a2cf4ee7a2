//! The jobs in the published numr, an earlier and unrelated implementation under the same name.

use anyhow::Result;
use published::autograd::{Var, backward, var_add, var_matmul, var_mean, var_mul, var_relu, var_sub};
use published::prelude::*;

use crate::{Bench, LAYERS, values};

pub fn run(bench: &Bench) -> Result<()> {
    let device = CpuDevice::new();
    let client = CpuRuntime::default_client(&device);
    let tensor = |shape: &[usize], seed| {
        Tensor::<CpuRuntime>::from_slice(&values(shape.iter().product(), seed), shape, &device)
    };

    let (x, y) = (tensor(&[1], 1)?, tensor(&[1], 2)?);
    bench.case("add_one", || Ok(client.add(&x, &y)?))?;
    let (x, y) = (Var::new(x, true), Var::new(y, true));
    bench.case("add_recorded", || Ok(var_add(&x, &y, &client)?))?;

    let mut parameters = vec![];
    for (at, shape) in LAYERS.iter().enumerate() {
        let weight = Var::new(client.mul_scalar(&tensor(shape, 3 + at as u32)?, 0.05)?, true);
        parameters.push((weight, Var::new(tensor(&shape[1..], 8 + at as u32)?, true)));
    }
    let (input, target) = (Var::new(tensor(&[64, 784], 1)?, false), Var::new(tensor(&[64, 10], 2)?, false));
    bench.case("mlp", || {
        let mut h = input.clone();
        for (at, (weight, bias)) in parameters.iter().enumerate() {
            h = var_add(&var_matmul(&h, weight, &client)?, bias, &client)?;
            h = if at < 2 { var_relu(&h, &client)? } else { h };
        }
        let error = var_sub(&h, &target, &client)?;
        let loss = var_mean(&var_mul(&error, &error, &client)?, &[0, 1], false, &client)?;
        Ok(backward(&loss, &client)?)
    })?;

    let (x, y) = (tensor(&[1_000_000], 1)?, tensor(&[1_000_000], 2)?);
    bench.case("add", || Ok(client.add(&x, &y)?))?;
    bench.case("exp", || Ok(client.exp(&x)?))?;
    bench.case("tanh", || Ok(client.tanh(&x)?))?;
    bench.case("sum", || Ok(client.sum(&x, &[0], false)?))?;
    let x = x.reshape(&[1000, 1000])?;
    let (weight, bias) = (tensor(&[1000], 4)?, tensor(&[1000], 5)?);
    bench.case("softmax", || Ok(client.softmax(&x, -1)?))?;
    bench.case("layer_norm", || Ok(client.layer_norm(&x, &weight, &bias, 1e-5)?))
}
