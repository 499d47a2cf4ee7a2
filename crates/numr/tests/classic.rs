//! The call surface of numr 0.5, as a program outside the workspace uses it: a pull-back of its own, to second order.
#![allow(clippy::unwrap_used, reason = "a test")]

use numr::autograd::ops::{LayerNormBackward, RmsNormBackward};
use numr::autograd::var_ops::{
    var_add, var_layer_norm, var_log_softmax, var_matmul, var_mul, var_mul_scalar, var_pow_scalar, var_rms_norm,
    var_sigmoid, var_silu, var_sub, var_sum, var_tanh,
};
use numr::autograd::{
    BackwardHook, DualTensor, GradFn, GradStore, Var, backward, backward_with_graph, backward_with_hooks, dual_ops,
    forward,
};
use numr::error::Result;
use numr::ops::{ActivationOps, BinaryOps, ScalarOps, TensorOps};
use numr::runtime::cpu::{CpuClient, CpuDevice, CpuRuntime};
use numr::runtime::{Runtime, RuntimeClient};
use numr::tensor::{Tensor, TensorId};
use std::sync::Arc;

type Cpu = CpuRuntime;

/// The pull-back of x · sigmoid(x): σ·(1 + x·(1 - σ)).
struct SwishBackward<R: Runtime> {
    ids: [TensorId; 1],
    saved: Vec<Tensor<R>>,
    came_from: [Option<Arc<dyn GradFn<R>>>; 1],
}

impl<R: Runtime> GradFn<R> for SwishBackward<R>
where
    R::Client: TensorOps<R> + ScalarOps<R> + BinaryOps<R> + ActivationOps<R>,
{
    fn backward(&self, grad_output: &Tensor<R>) -> Result<Vec<Option<Tensor<R>>>> {
        let client = R::default_client(grad_output.device());
        let x = &self.saved[0];
        let s = client.sigmoid(x)?;
        let inner = client.mul(x, &client.rsub_scalar(&s, 1.0)?)?;
        let slope = client.mul(&s, &client.add_scalar(&inner, 1.0)?)?;
        Ok(vec![Some(client.mul(grad_output, &slope)?)])
    }

    fn backward_var(&self, grad_output: &Var<R>) -> Result<Vec<Option<Var<R>>>>
    where
        R::Client: RuntimeClient<R> + TensorOps<R> + ScalarOps<R>,
    {
        let client = R::default_client(grad_output.tensor().device());
        let x = Var::with_id_and_grad_fn(self.saved[0].clone(), self.ids[0], self.came_from[0].clone());
        let s = var_sigmoid(&x, &client)?;
        let inner = var_sub(&x, &var_mul(&x, &s, &client)?, &client)?;
        let slope = var_add(&s, &var_mul(&s, &inner, &client)?, &client)?;
        Ok(vec![Some(var_mul(grad_output, &slope, &client)?)])
    }

    fn inputs(&self) -> &[TensorId] {
        &self.ids
    }

    fn input_grad_fns(&self) -> Vec<Option<Arc<dyn GradFn<R>>>> {
        self.came_from.to_vec()
    }

    fn saved_tensors(&self) -> &[Tensor<R>] {
        &self.saved
    }

    fn name(&self) -> &'static str {
        "SwishBackward"
    }
}

fn swish<R: Runtime>(x: &Var<R>, client: &R::Client) -> Result<Var<R>>
where
    R::Client: TensorOps<R> + ScalarOps<R> + ActivationOps<R>,
{
    let value = client.mul(x.tensor(), &client.sigmoid(x.tensor())?)?;
    let (ids, saved) = ([x.id()], vec![x.tensor().clone()]);
    Ok(Var::from_op(value, Arc::new(SwishBackward { ids, saved, came_from: [x.grad_fn().cloned()] })))
}

fn client() -> CpuClient {
    Cpu::default_client(&CpuDevice::new())
}

fn tensor(data: &[f64], shape: &[usize]) -> Tensor<Cpu> {
    Tensor::from_slice(data, shape, &CpuDevice::new())
}

fn noise(n: usize, seed: f64) -> Vec<f64> {
    (0..n).map(|k| ((k as f64 + 1.0) * 1.7 + seed).sin()).collect()
}

#[track_caller]
fn close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance), "{a:?}\nis not\n{b:?}");
}

/// The gradient of a loss, and the gradient of the sum of its squares, with respect to every variable.
fn two_orders(vars: &[&Var<Cpu>], loss: impl Fn() -> Result<Var<Cpu>>) -> [Vec<Vec<f64>>; 2] {
    let client = client();
    let first = backward_with_graph(&loss().unwrap(), &client).unwrap();
    let mut norm = Var::new(tensor(&[0.0], &[]), false);
    for v in vars {
        let squares = var_pow_scalar(first.get_var(v.id()).unwrap(), 2.0, &client).unwrap();
        norm = var_add(&norm, &var_sum(&squares, &[], false, &client).unwrap(), &client).unwrap();
    }
    let second = backward(&norm, &client).unwrap();
    let of = |store: &GradStore<Cpu>| vars.iter().map(|v| store.get(v.id()).unwrap().to_vec()).collect();
    [of(&first.to_grad_store()), of(&second)]
}

/// Of a function of a first variable that is itself computed: what came before is seen through the pull-back.
#[test]
fn a_pull_back_of_ones_own_to_second_order() {
    let client = client();
    let x = Var::new(tensor(&[0.3, -1.2, 2.0], &[3]), true);
    let by = |f: &dyn Fn(&Var<Cpu>) -> Result<Var<Cpu>>| {
        two_orders(&[&x], || {
            // Two in a row, on a value that is computed, and once more on the variable.
            let inner = var_tanh(&x, &client)?;
            let y = var_mul(&f(&f(&inner)?)?, &f(&x)?, &client)?;
            var_sum(&y, &[], false, &client)
        })
    };
    let ours = by(&|x| swish(x, &client));
    let built_in = by(&|x| var_silu(x, &client));
    for (a, b) in ours.iter().zip(&built_in) {
        close(&a[0], &b[0], 1e-14);
    }
    // And against differences of the gradient.
    let gradient = |at: &[f64]| -> Vec<f64> {
        let x = Var::new(tensor(at, &[3]), true);
        let y = var_sum(&swish(&x, &client).unwrap(), &[], false, &client).unwrap();
        backward(&y, &client).unwrap().get(x.id()).unwrap().to_vec()
    };
    let (at, h) = ([0.3, -1.2, 2.0], 1e-5);
    let x = Var::new(tensor(&at, &[3]), true);
    let y = var_sum(&swish(&x, &client).unwrap(), &[], false, &client).unwrap();
    let slope = backward_with_graph(&y, &client).unwrap();
    let total = var_sum(slope.get_var(x.id()).unwrap(), &[], false, &client).unwrap();
    let curvature: Vec<f64> = backward(&total, &client).unwrap().get(x.id()).unwrap().to_vec();
    let pairs = gradient(&at.map(|x| x + h)).into_iter().zip(gradient(&at.map(|x| x - h)));
    let differences: Vec<f64> = pairs.map(|(a, b)| (a - b) / (2.0 * h)).collect();
    close(&curvature, &differences, 1e-9);
}

/// Norms by their pull-backs, on the tape through `from_op`, against the ops: first and second order, every input.
#[test]
fn norms_to_second_order() {
    let client = client();
    let x = Var::new(tensor(&noise(12, 0.0), &[3, 4]), true);
    let w = Var::new(tensor(&noise(4, 1.0), &[4]), true);
    let b = Var::new(tensor(&noise(4, 2.0), &[4]), true);
    let eps = 1e-3f32;
    let loss = |y: &Var<Cpu>| var_sum(&var_tanh(y, &client)?, &[], false, &client);

    let by_op = two_orders(&[&x, &w, &b], || loss(&var_layer_norm(&var_tanh(&x, &client)?, &w, &b, eps, &client)?));
    let by_hand = two_orders(&[&x, &w, &b], || {
        let x = var_tanh(&x, &client)?;
        let value = x.tensor().layer_norm(w.tensor(), b.tensor(), eps)?;
        let (values, from) = ((x.tensor().clone(), w.tensor().clone()), |v: &Var<Cpu>| v.grad_fn().cloned());
        let ids = (x.id(), w.id(), b.id());
        let f = LayerNormBackward::new(ids.0, ids.1, ids.2, values.0, values.1, eps, from(&x), from(&w), from(&b));
        assert_eq!((f.name(), f.saved_tensors().len(), f.inputs().len()), ("LayerNormBackward", 2, 3));
        loss(&Var::from_op(value, Arc::new(f)))
    });
    for k in 0..3 {
        close(&by_hand[0][k], &by_op[0][k], 1e-13);
        close(&by_hand[1][k], &by_op[1][k], 1e-12);
    }

    let by_op = two_orders(&[&x, &w], || loss(&var_rms_norm(&x, &w, eps, &client)?));
    let by_hand = two_orders(&[&x, &w], || {
        let value = x.tensor().rms_norm(w.tensor(), eps)?;
        let f = RmsNormBackward::new(x.id(), w.id(), x.tensor().clone(), w.tensor().clone(), eps, None, None);
        loss(&Var::from_op(value, Arc::new(f)))
    });
    for k in 0..2 {
        close(&by_hand[0][k], &by_op[0][k], 1e-13);
        close(&by_hand[1][k], &by_op[1][k], 1e-12);
    }
}

/// A step of training as programs write it, with a hook.
#[test]
fn a_training_step() {
    struct Seen(Vec<TensorId>);
    impl BackwardHook<Cpu> for Seen {
        fn on_leaf_grad_ready(&mut self, id: TensorId, _: &Tensor<Cpu>) {
            self.0.push(id);
        }
    }
    let client = client();
    let x = Var::new(tensor(&noise(6, 0.5), &[2, 3]), false);
    let mut w = Var::new(tensor(&noise(6, 1.5), &[3, 2]), true);
    let loss = |w: &Var<Cpu>| {
        let scores = var_log_softmax(&var_matmul(&x, w, &client)?, -1, &client)?;
        var_mul_scalar(&var_sum(&scores.narrow(1, 0, 1)?.into(), &[], false, &client)?, -1.0, &client)
    };
    let before: f64 = loss(&w).unwrap().tensor().item().unwrap();
    for _ in 0..20 {
        let mut seen = Seen(vec![]);
        let grads = backward_with_hooks(&loss(&w).unwrap(), &client, &mut seen).unwrap();
        assert_eq!((seen.0, grads.len()), (vec![w.id()], 1));
        let step = client.mul_scalar(grads.get(w.id()).unwrap(), 0.5).unwrap();
        w = Var::new(client.sub(w.tensor(), &step).unwrap(), true);
    }
    let after: f64 = loss(&w).unwrap().tensor().item().unwrap();
    assert!(after < 0.3 * before, "{before} -> {after}");
    assert!(!x.requires_grad() && w.requires_grad() && w.grad_fn().is_none());
    assert!(!w.detach().requires_grad() && loss(&w).unwrap().grad_fn().is_some());
}

/// A pull-back without `backward_var` is right to first order and says so at the second.
#[test]
fn first_order_only() {
    struct Double([TensorId; 1]);
    impl GradFn<Cpu> for Double {
        fn backward(&self, grad_output: &Tensor<Cpu>) -> Result<Vec<Option<Tensor<Cpu>>>> {
            Ok(vec![Some(grad_output.mul(2.0)?)])
        }
        fn inputs(&self) -> &[TensorId] {
            &self.0
        }
        fn input_grad_fns(&self) -> Vec<Option<Arc<dyn GradFn<Cpu>>>> {
            vec![None]
        }
        fn name(&self) -> &'static str {
            "Double"
        }
    }
    let client = client();
    let x = Var::new(tensor(&[1.5], &[1]), true);
    let y = Var::from_op(x.tensor().mul(2.0).unwrap(), Arc::new(Double([x.id()])));
    assert_eq!(backward(&y, &client).unwrap().get(x.id()).unwrap().to_vec::<f64>(), [2.0]);
    let error = backward_with_graph(&y, &client).unwrap_err().to_string();
    assert!(error.contains("Double") && error.contains("backward_var"), "{error}");
    // A step of the tape is a pull-back too.
    let step = var_mul(&x, &x, &client).unwrap().grad_fn().cloned().unwrap();
    let grads = step.backward(&tensor(&[1.0], &[1])).unwrap();
    assert_eq!(grads.iter().flatten().map(|g| g.to_vec::<f64>()[0]).sum::<f64>(), 3.0);
}

#[test]
fn forward_mode() {
    let client = client();
    let (x, v) = (tensor(&[0.5, -1.0], &[2]), tensor(&[1.0, 2.0], &[2]));
    let f = |x: &DualTensor<Cpu>, client: &CpuClient| dual_ops::dual_mul(x, &dual_ops::dual_sin(x, client)?, client);
    let (y, dy) = forward::jvp(|xs, client| f(&xs[0], client), &[&x], &[&v], &client).unwrap();
    let slope = |x: f64| x.sin() + x * x.cos();
    close(&y.to_vec::<f64>(), &[0.5 * 0.5f64.sin(), 1f64.sin()], 1e-15);
    close(&dy.to_vec::<f64>(), &[slope(0.5), 2.0 * slope(-1.0)], 1e-15);
    let j = forward::jacobian_forward(f, &x, &client).unwrap();
    close(&j.to_vec::<f64>(), &[slope(0.5), 0.0, 0.0, slope(-1.0)], 1e-15);
    // The gradient of Σ x³ is 3x², its tangent 6x·v.
    let gradient = |x: &DualTensor<Cpu>, client: &CpuClient| {
        dual_ops::dual_mul_scalar(&dual_ops::dual_square(x, client)?, 3.0, client)
    };
    close(&forward::hvp(gradient, &x, &v, &client).unwrap().to_vec::<f64>(), &[3.0, -12.0], 1e-15);
    assert!(DualTensor::with_unit_tangent(x.clone(), &CpuDevice::new()).has_tangent());
    assert!(!DualTensor::constant(x).has_tangent());
}
