//! Every rule: reverse mode is the transpose of forward mode, both agree with differences of values, and forward over
//! reverse with differences of gradients.

use super::{R, random, t};
use numr_autograd::{
    Check, CustomGradient, Dual, Tape, check_gradients, checkpoint, custom, grad, gradients_with_hooks, hvp, leaf,
    no_grad, strict, value,
};
use numr_core::ops::fuse::{fuse, fuse_many};
use numr_core::ops::index::ScatterReduceOp;
use numr_core::ops::loss::Reduction;
use numr_core::prim::ScatterOp;
use numr_core::scalar::Float;
use numr_core::{Error, Result, Runtime, Tensor, s};
use numr_cpu::CpuDevice;

type M = Tensor<Tape<Dual<R>>>;

/// An index, on any runtime over the CPU.
fn index<S: Runtime<Device = CpuDevice>>(data: &[i64], shape: &[usize]) -> Tensor<S> {
    Tensor::from_slice(data, shape, &CpuDevice::new())
}

macro_rules! rules {
    ($($name:ident: $([$($n:literal),*])* |$x:ident| $e:expr;)*) => { $(
        #[test]
        fn $name() {
            let shapes: &[&[usize]] = &[$(&[$($n),*]),*];
            let inputs: Vec<_> = (1..).zip(shapes).map(|(seed, shape)| random(shape, seed)).collect();
            let f = |$x: &[M]| -> Result<M> { $e };
            check_gradients(f, &inputs).expect(stringify!($e));
        }
    )* };
}

rules! {
    map: [3, 4] [4] |x| x[0].mul(&x[1])?.tanh();
    map_of_a_scalar: [3] |x| x[0].mul(2.5)?.add(1.0)?.div(&x[0].square()?.add(1.0)?);
    map_power: [3] [3] |x| x[0].exp()?.pow(&x[1]);
    map_chosen: [4] [4] |x| x[0].gt(&x[1])?.where_cond(&x[0].sin()?, &x[1].cos()?);
    map_cast: [4] |x| x[0].square()?.cast(numr_core::DType::F64);
    fused_chain: [3, 2] [2] |x| fuse([&x[0], &x[1]], |[a, b]| (a * b).sin() * a);
    fused_many: [3] [3] |x| {
        let both = fuse_many([&x[0], &x[1]], |[a, b]| [a * b, (a - b).exp()])?;
        both[0].mul(&both[1])
    };
    reshape: [2, 6] |x| x[0].reshape(&[3, 4])?.square()?.t();
    permute: [2, 3, 2] |x| x[0].permute([2, 0, 1])?.square();
    expand: [3, 1] |x| x[0].broadcast_to(&[2, 3, 4])?.square();
    slice_backwards: [7, 3] |x| x[0].slice(s![..;-2, 1..])?.square();
    diagonal: [3, 4] |x| x[0].diagonal(1, 0, 1)?.square();
    overlapping_windows: [7] |x| x[0].unfold(0, 3, 2)?.square();
    flip_and_roll: [4, 3] |x| x[0].flip(0)?.roll(2, 1)?.mul(&x[0]);
    contiguous: [3, 4] |x| x[0].t()?.contiguous().square();
    concat: [2, 3] [2, 2] |x| Tensor::cat(&[&x[0], &x[1], &x[0]], 1)?.square();
    pad: [2, 3] |x| x[0].pad(&[(1, 0), (2, 1)], 3.0)?.square();
    assign: [4, 5] [2, 3] |x| x[0].assign(s![1..3, ..1;-1], &x[1])?.square();
    assign_in_place_of_all: [3] [3] |x| x[0].assign(s![..], &x[1])?.mul(&x[0]);
    sum: [2, 3, 2] |x| x[0].square()?.sum([0, 2], true);
    prod: [3, 4] |x| x[0].prod(1, false);
    max: [3, 4] |x| x[0].max(0, false)?.square();
    min: [3, 4] |x| x[0].min(.., false)?.square();
    mean: [3, 4] |x| x[0].mean(1, true)?.mul(&x[0]);
    variance: [3, 4] |x| x[0].var(1, false, 1);
    deviation: [3, 4] |x| x[0].std(0, false, 0);
    logsumexp: [3, 4] |x| x[0].mul(3.0)?.logsumexp(1, false);
    norm: [5] |x| x[0].norm(.., false);
    cumsum: [3, 4] |x| x[0].square()?.cumsum(0)?.mul(&x[0]);
    cumprod: [2, 4] |x| x[0].cumprod(1);
    cummax: [2, 5] |x| x[0].cummax(1)?.square();
    cummin: [2, 5] |x| x[0].cummin(1)?.square();
    product: [3, 4] [4, 2] |x| x[0].matmul(&x[1])?.square();
    product_of_one_with_itself: [3, 3] |x| x[0].matmul(&x[0].t()?)?.square();
    batched_product: [2, 1, 2, 3] [4, 3, 2] |x| x[0].matmul(&x[1]);
    product_with_vectors: [3] [3, 3] |x| x[0].matmul(&x[1])?.dot(&x[0]);
    outer: [3] [2] |x| x[0].outer(&x[1])?.sin();
    gather: [4, 3] |x| x[0].gather(0, &index(&[0, 0, 3, -1, 2, 2], &[2, 3]))?.square();
    index_select: [4, 3] |x| x[0].index_select(0, &index(&[3, 3, 0], &[3]))?.square();
    scatter_set: [4] [2] |x| x[0].scatter(0, &index(&[2, 0], &[2]), &x[1])?.square();
    scatter_add: [4] [3] |x| x[0].scatter_add(0, &index(&[2, 0, 2], &[3]), &x[1])?.square();
    scatter_mul: [4] [3] |x| x[0].scatter_with(ScatterOp::Mul, 0, &index(&[2, 0, 2], &[3]), &x[1])?.square();
    scatter_largest: [4] [3] |x| x[0].scatter_reduce(0, &index(&[2, 0, 2], &[3]), &x[1].mul(1.3)?, ScatterReduceOp::Max, true)?.square();
    scatter_mean: [4] [3] |x| x[0].scatter_reduce(0, &index(&[2, 0, 2], &[3]), &x[1], ScatterReduceOp::Mean, true)?.square();
    scatter_product: [4] [3] |x| x[0].scatter_reduce(0, &index(&[2, 0, 2], &[3]), &x[1], ScatterReduceOp::Prod, false)?.sin();
    masked: [5] |x| x[0].masked_fill(&x[0].lt(0.0)?, 0.5)?.square();
    selected: [5] |x| x[0].masked_select(&x[0].gt(0.0)?)?.square();
    sorted: [3, 4] |x| x[0].sort(1, true)?.mul(&x[0]);
    topk: [6] |x| x[0].topk(3, 0, true, true)?.0.square();
    softmax: [3, 4] |x| x[0].softmax(0)?.mul(&x[0]);
    log_softmax: [3, 4] |x| x[0].log_softmax(1)?.sin();
    layer_norm: [3, 4] [4] [4] |x| x[0].layer_norm(&x[1], &x[2], 1e-3)?.sin();
    rms_norm: [2, 4] [4] |x| x[0].rms_norm(&x[1], 1e-3)?.sin();
    group_norm: [2, 4, 3] [4] [4] |x| x[0].group_norm(&x[1], &x[2], 2, 1e-3)?.sin();
    cross_entropy: [3, 4] |x| x[0].cross_entropy(&index(&[1, 0, 3], &[3]), 0.1, Reduction::Mean);
    by_hand: [4] |x| Ok(custom(Cube, &[&x[0]])?.swap_remove(0));
    again: [4] [4] |x| {
        let y = checkpoint(|x| Ok(vec![x[0].mul(&x[1])?.sin()?, x[1].exp()?]), &[&x[0], &x[1]])?;
        y[0].mul(&y[1])
    };
    nested_checkpoints: [3] |x| {
        let outer = checkpoint(|x| {
            let inner = checkpoint(|x| Ok(vec![x[0].sin()?]), &[&x[0]])?;
            Ok(vec![inner[0].mul(&x[0])?])
        }, &[&x[0]])?;
        outer[0].exp()
    };
}

/// x³ with its slope stated.
struct Cube;

impl CustomGradient for Cube {
    fn name(&self) -> &'static str {
        "cube"
    }
    fn forward<S: Runtime>(&self, x: &[Tensor<S>]) -> Result<Vec<Tensor<S>>> {
        Ok(vec![x[0].square()?.mul(&x[0])?])
    }
    fn vjp<S: Runtime>(
        &self,
        x: &[Tensor<S>],
        _: &[Tensor<S>],
        g: &[Option<Tensor<S>>],
    ) -> Result<Vec<Option<Tensor<S>>>> {
        Ok(vec![g[0].as_ref().map(|g| g.mul(&x[0].square()?.mul(3.0)?)).transpose()?])
    }
}

/// Products over a zero, and over two: division by the element would give NaN.
#[test]
fn products_of_zeros() {
    for data in [[2.0, 0.0, 3.0, -1.0], [0.0, 2.0, 0.0, 3.0], [0.0; 4]] {
        let x = [t(&data, &[4])];
        check_gradients(|x| x[0].prod(0, false), &x).expect("prod");
        check_gradients(|x| x[0].cumprod(0), &x).expect("cumprod");
        let f = |x: &[M]| x[0].scatter_with(ScatterOp::Mul, 0, &index(&[1, 1, 0], &[3]), &x[0].narrow(0, 0, 3)?);
        check_gradients(f, &x).expect("scatter_mul");
    }
}

#[test]
fn shapes_without_elements_or_axes() {
    check_gradients(|x| x[0].square()?.sum(0, false), &[random(&[0, 3], 1)]).expect("no rows");
    check_gradients(|x| x[0].matmul(&x[1]), &[random(&[2, 0], 1), random(&[0, 3], 2)]).expect("no inner axis");
    check_gradients(|x| x[0].sin()?.softmax(-1), &[random(&[2, 0], 1)]).expect("no columns");
    check_gradients(|x| x[0].exp(), &[random(&[], 1)]).expect("a number");
}

/// Many elements: along random directions.
#[test]
fn large() {
    check_gradients(|x| x[0].matmul(&x[1])?.tanh(), &[random(&[20, 30], 1), random(&[30, 10], 2)]).expect("product");
}

/// The checker sees a wrong gradient, of first order and of second, and says where.
#[test]
fn the_checker_checks() {
    /// Right value, slope of `2·x` instead of `3·x²`, or right slope as a constant.
    struct Wrong(bool);
    impl CustomGradient for Wrong {
        fn name(&self) -> &'static str {
            "wrong"
        }
        fn forward<S: Runtime>(&self, x: &[Tensor<S>]) -> Result<Vec<Tensor<S>>> {
            Cube.forward(x)
        }
        fn vjp<S: Runtime>(
            &self,
            x: &[Tensor<S>],
            y: &[Tensor<S>],
            g: &[Option<Tensor<S>>],
        ) -> Result<Vec<Option<Tensor<S>>>> {
            let slope = if self.0 { x[0].mul(2.0)? } else { S::detach(&x[0]).square()?.mul(3.0)? };
            let _ = y;
            Ok(vec![g[0].as_ref().map(|g| g.mul(&slope)).transpose()?])
        }
    }
    let x = [t(&[0.5, 2.0], &[2])];
    let first = check_gradients(|x| Ok(custom(Wrong(true), &[&x[0]])?.swap_remove(0)), &x);
    let text = first.expect_err("a wrong slope").to_string();
    assert!(text.contains("input 0, element 0") && text.contains("reverse mode"), "{text}");
    let second = |x: &[M]| Ok(custom(Wrong(false), &[&x[0]])?.swap_remove(0));
    let text = check_gradients(second, &x).expect_err("a constant slope").to_string();
    assert!(text.contains("forward over reverse"), "{text}");
    Check { order: 1, ..Check::default() }.run(second, &x).expect("right to first order");
    let narrow = [Tensor::from_slice(&[1.0f32], &[1], &CpuDevice::new())];
    assert!(matches!(check_gradients(|x: &[M]| Ok(x[0].clone()), &narrow), Err(Error::DType { .. })));
}

#[test]
fn a_lost_gradient_is_named() {
    let x = t(&[0.3, 1.7], &[2]);
    fn lost<S: Runtime>(x: &Tensor<S>) -> Result<Tensor<S>> {
        x.argsort(0, false)?.cast(numr_core::DType::F64)?.sum(.., false)
    }
    assert_eq!(grad(lost, &x).expect("zero outside strict mode").to_vec::<f64>(), [0.0, 0.0]);
    for result in [strict(|| grad(lost, &x)), strict(|| numr_autograd::jvp(lost, &x, &x).map(|(_, d)| d))] {
        match result {
            Err(Error::Grad { op, .. }) => assert_eq!(op, "sort"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn without_recording() {
    let x = leaf(&t(&[2.0], &[1]));
    let constant = no_grad(|| x.square()).expect("square");
    let g = numr_autograd::gradients(&constant.mul(&x).expect("mul")).expect("backward");
    assert_eq!(g.get(&x).expect("x").to_vec::<f64>(), [4.0]);
}

/// A variable's gradient is announced when its last user is done, before what lies below it.
#[test]
fn hooks_in_order() {
    let (a, b) = (leaf(&t(&[2.0], &[1])), leaf(&t(&[3.0], &[1])));
    let y = a.mul(&b).expect("mul").sin().expect("sin").mul(&b).expect("mul");
    let mut seen = vec![];
    let grads = gradients_with_hooks(&y, |id, g| seen.push((id, g.to_vec::<f64>()[0]))).expect("backward");
    assert_eq!(seen.len(), 2);
    for (leaf, d) in [(&a, 9.0 * 6f64.cos()), (&b, 6f64.sin() + 6.0 * 6f64.cos())] {
        let g = grads.get(leaf).expect("a gradient").to_vec::<f64>()[0];
        assert!((g - d).abs() < 1e-14, "{g}, not {d}");
        assert!(seen.iter().any(|&(_, announced)| announced == g));
    }
    assert_eq!(value(&y).to_vec::<f64>(), [3.0 * 6f64.sin()]);
}

/// A Hessian times a vector, of a function whose second derivative crosses all kinds of rules.
#[test]
fn modes_agree_through_a_network() {
    fn f<S: Runtime<Device = CpuDevice>>(w: &Tensor<S>) -> Result<Tensor<S>> {
        let one = w.ones_like()?.narrow(0, 0, 1)?.reshape(&[3])?;
        let h = w.matmul(&w.t()?)?.gelu()?.layer_norm(&one.mul(1.1)?, &one.mul(0.1)?, 1e-5)?;
        h.matmul(w)?.log_softmax(1)?.narrow(1, 0, 1)?.mean(.., false)
    }
    let (w, v) = (random(&[3, 3], 5), random(&[3, 3], 6));
    let forward_over_reverse = hvp(f, &w, &v).expect("hvp").to_vec::<f64>();
    let dot = |w: &Tensor<Tape<R>>| grad(f, w)?.mul(&numr_autograd::constant(&v))?.sum(.., false);
    let reverse_over_reverse = grad(dot, &w).expect("grad of grad").to_vec::<f64>();
    super::close(&forward_over_reverse, &reverse_over_reverse, 1e-12);
}
