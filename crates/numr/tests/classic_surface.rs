//! Every method of the traits of numr 0.5 whose op is here, called as a program written for 0.5 calls it.
//!
//! A case is a call and what it answers. What 0.5 answered in its operands' dtype as 0 and 1 is a bool here, which prints
//! as 0 and 1 below.
#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(
    clippy::redundant_closure,
    clippy::needless_borrows_for_generic_args,
    reason = "the calls of 0.5, as they were written"
)]

use numr::autograd::*;
use numr::dtype::DType;
use numr::error::Result;
use numr::ops::index::ScatterReduceOp;
use numr::ops::*;
use numr::runtime::Runtime;
use numr::runtime::cpu::{CpuDevice, CpuRuntime};
use numr::tensor::Tensor;

type Cpu = CpuRuntime;
type T = Tensor<Cpu>;
type Client = <Cpu as Runtime>::Client;

fn t(values: &[f64], shape: &[usize]) -> T {
    T::from_slice(values, shape, &CpuDevice::new())
}

fn ints(values: &[i64]) -> T {
    T::from_slice(values, &[values.len()], &CpuDevice::new())
}

fn mask(values: &[u8]) -> T {
    T::from_slice(values, &[values.len()], &CpuDevice::new())
}

fn values(t: &T) -> Vec<f64> {
    t.cast(DType::F64).unwrap().to_vec()
}

/// Tensors whose elements are compared, one after the other.
trait Answer {
    fn flat(&self) -> Vec<f64>;
}

impl Answer for T {
    fn flat(&self) -> Vec<f64> {
        values(self)
    }
}

impl Answer for Vec<T> {
    fn flat(&self) -> Vec<f64> {
        self.iter().flat_map(values).collect()
    }
}

impl Answer for (T, T) {
    fn flat(&self) -> Vec<f64> {
        [&self.0, &self.1].into_iter().flat_map(values).collect()
    }
}

impl Answer for (T, T, T) {
    fn flat(&self) -> Vec<f64> {
        [&self.0, &self.1, &self.2].into_iter().flat_map(values).collect()
    }
}

#[track_caller]
fn is(answer: Result<impl Answer>, expected: &[f64]) {
    let got = answer.unwrap().flat();
    let near = |(g, e): (&f64, &f64)| (g - e).abs() <= 1e-12 * e.abs().max(1.0) || g == e || g.is_nan() && e.is_nan();
    assert!(got.len() == expected.len() && got.iter().zip(expected).all(near), "{got:?} is not {expected:?}");
}

/// `client.op(&x)` beside the function of the standard library, for some values.
macro_rules! unary {
    ($client:ident, $x:ident, $($op:ident $f:expr;)*) => {$({
        let f: fn(f64) -> f64 = $f;
        is($client.$op(&$x), &values(&$x).into_iter().map(f).collect::<Vec<_>>());
    })*};
}

#[test]
fn element_wise() {
    let c = Cpu::default_client(&CpuDevice::new());
    let x = t(&[0.25, 0.5, 0.75], &[3]);
    unary! { c, x,
        neg |x| -x; abs f64::abs; sign f64::signum; sqrt f64::sqrt; rsqrt |x| 1.0 / x.sqrt(); square |x| x * x;
        cbrt f64::cbrt; recip f64::recip; exp f64::exp; exp2 f64::exp2; expm1 f64::exp_m1; log f64::ln; log2 f64::log2;
        log10 f64::log10; log1p f64::ln_1p; sin f64::sin; cos f64::cos; tan f64::tan; asin f64::asin; acos f64::acos;
        atan f64::atan; sinh f64::sinh; cosh f64::cosh; tanh f64::tanh; asinh f64::asinh; atanh f64::atanh;
        floor f64::floor; ceil f64::ceil; round f64::round_ties_even; trunc f64::trunc; isnan |_| 0.0; isinf |_| 0.0;
    }
    let y = t(&[1.0, 2.0, 4.0], &[3]);
    unary! { c, y, acosh f64::acosh; }
    is(c.add(&x, &y), &[1.25, 2.5, 4.75]);
    is(c.sub(&x, &y), &[-0.75, -1.5, -3.25]);
    is(c.mul(&x, &y), &[0.25, 1.0, 3.0]);
    is(c.div(&x, &y), &[0.25, 0.25, 0.1875]);
    is(c.pow(&x, &y), &[0.25, 0.25, 0.31640625]);
    is(c.maximum(&x, &y), &[1.0, 2.0, 4.0]);
    is(c.minimum(&x, &y), &[0.25, 0.5, 0.75]);
    is(c.atan2(&x, &y), &[0.25f64.atan2(1.0), 0.5f64.atan2(2.0), 0.75f64.atan2(4.0)]);
    is(c.fused_mul_add(&x, &y, &y), &[1.25, 3.0, 7.0]);
    is(c.fused_add_mul(&x, &y, &y), &[1.25, 5.0, 19.0]);
    is(c.add_scalar(&y, 1.0), &[2.0, 3.0, 5.0]);
    is(c.sub_scalar(&y, 1.0), &[0.0, 1.0, 3.0]);
    is(c.mul_scalar(&y, 3.0), &[3.0, 6.0, 12.0]);
    is(c.div_scalar(&y, 2.0), &[0.5, 1.0, 2.0]);
    is(c.pow_scalar(&y, 2.0), &[1.0, 4.0, 16.0]);
    is(c.rsub_scalar(&y, 1.0), &[0.0, -1.0, -3.0]);
    is(c.fused_mul_add_scalar(&y, 2.0, 1.0), &[3.0, 5.0, 9.0]);
    let z = t(&[1.0, 3.0, 2.0], &[3]);
    is(c.eq(&y, &z), &[1.0, 0.0, 0.0]);
    is(c.ne(&y, &z), &[0.0, 1.0, 1.0]);
    is(c.lt(&y, &z), &[0.0, 1.0, 0.0]);
    is(c.le(&y, &z), &[1.0, 1.0, 0.0]);
    is(c.gt(&y, &z), &[0.0, 0.0, 1.0]);
    is(c.ge(&y, &z), &[1.0, 0.0, 1.0]);
    let (p, q) = (mask(&[1, 1, 0]), mask(&[1, 0, 0]));
    is(c.logical_and(&p, &q), &[1.0, 0.0, 0.0]);
    is(c.logical_or(&p, &q), &[1.0, 1.0, 0.0]);
    is(c.logical_xor(&p, &q), &[0.0, 1.0, 0.0]);
    is(c.logical_not(&p), &[0.0, 0.0, 1.0]);
    is(c.where_cond(&p, &x, &y), &[0.25, 0.5, 4.0]);
    is(c.clamp(&y, 1.5, 3.0), &[1.5, 2.0, 3.0]);
    is(c.cast(&t(&[1.9, -1.9], &[2]), DType::I32), &[1.0, -1.0]);
    let (re, im) = (t(&[3.0, 0.0], &[2]), t(&[-4.0, 2.0], &[2]));
    let w = c.make_complex(&re, &im).unwrap();
    let parts = |w: Result<T>| w.and_then(|w| Ok((c.real(&w)?, c.imag(&w)?)));
    is(parts(c.conj(&w)), &[3.0, 0.0, 4.0, -2.0]);
    is(parts(c.complex_mul_real(&w, &im)), &[-12.0, 0.0, 16.0, 4.0]);
    is(parts(c.complex_div_real(&w, &im)), &[-0.75, 0.0, 1.0, 1.0]);
    is(parts(c.real_mul_complex(&im, &w)), &[-12.0, 0.0, 16.0, 4.0]);
}

#[test]
fn activations_and_norms() {
    let c = Cpu::default_client(&CpuDevice::new());
    let x = t(&[-1.0, 2.0], &[1, 2]);
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    is(c.relu(&x), &[0.0, 2.0]);
    is(c.sigmoid(&x), &[sigmoid(-1.0), sigmoid(2.0)]);
    is(c.silu(&x), &[-sigmoid(-1.0), 2.0 * sigmoid(2.0)]);
    is(c.gelu(&x), &[-0.15865525393145707, 1.9544997361036416]);
    is(c.leaky_relu(&x, 0.1), &[-0.1, 2.0]);
    is(c.elu(&x, 2.0), &[2.0 * (-1.0f64).exp_m1(), 2.0]);
    is(c.softplus(&x), &[(-1.0f64).exp().ln_1p(), 2.0f64.exp().ln_1p()]);
    let (low, high) = (sigmoid(-3.0), sigmoid(3.0));
    let soft = c.softmax(&x, -1).unwrap();
    is(Ok(soft.clone()), &[low, high]);
    is(c.log_softmax(&x, 1), &[low.ln(), high.ln()]);
    is(c.softmax_bwd(&t(&[1.0, 0.0], &[1, 2]), &soft, -1), &[low * high, -low * high]);
    let g = t(&[3.0, 5.0], &[1, 2]);
    is(c.silu_mul(&x, &g), &[-3.0 * sigmoid(-1.0), 10.0 * sigmoid(2.0)]);
    is(c.gelu_mul(&x, &g), &[-0.15865525393145707 * 3.0, 1.9544997361036416 * 5.0]);
    is(c.relu_mul(&x, &g), &[0.0, 10.0]);
    is(c.sigmoid_mul(&x, &g), &[3.0 * sigmoid(-1.0), 5.0 * sigmoid(2.0)]);
    is(c.dropout(&x, 0.5, false), &[-1.0, 2.0]);
    backward_of_pairs(&c);
    let (one, zero) = (t(&[1.0, 1.0], &[2]), t(&[0.0, 0.0], &[2]));
    let rms = 2.5f64.sqrt();
    is(c.rms_norm(&x, &one, 0.0), &[-1.0 / rms, 2.0 / rms]);
    is(c.fused_add_rms_norm(&x, &t(&[0.0, 0.0], &[1, 2]), &one, 0.0), &[-1.0 / rms, 2.0 / rms, -1.0, 2.0]);
    is(c.fused_add_layer_norm(&x, &g, &one, &zero, 0.0), &[-1.0, 1.0, 2.0, 7.0]);
    is(c.layer_norm(&x, &one, &zero, 0.0), &[-1.0, 1.0]);
    is(c.group_norm(&t(&[1.0, 3.0, 5.0, 9.0], &[1, 2, 2]), &one, &zero, 2, 0.0), &[-1.0, 1.0, -1.0, 1.0]);
}

/// The pull-backs of 0.5, for a gradient of ones, beside differences of the forward functions.
fn backward_of_pairs(c: &Client) {
    let (a, b, one) = (t(&[-1.0, 2.0], &[1, 2]), t(&[3.0, 5.0], &[1, 2]), t(&[1.0, 1.0], &[1, 2]));
    type Forward = fn(&Client, &T, &T) -> Result<T>;
    let cases: [(Forward, Result<(T, T)>); 4] = [
        (|c, a, b| c.silu_mul(a, b), c.silu_mul_bwd(&one, &a, &b)),
        (|c, a, b| c.gelu_mul(a, b), c.gelu_mul_bwd(&one, &a, &b)),
        (|c, a, b| c.relu_mul(a, b), c.relu_mul_bwd(&one, &a, &b)),
        (|c, a, b| c.sigmoid_mul(a, b), c.sigmoid_mul_bwd(&one, &a, &b)),
    ];
    for (f, exact) in cases {
        let h = 1e-6;
        let moved = |x: &T, h: f64| c.add_scalar(x, h).unwrap();
        let slope = |up: Result<T>, down: Result<T>| c.div_scalar(&c.sub(&up?, &down?)?, 2.0 * h);
        let da = slope(f(c, &moved(&a, h), &b), f(c, &moved(&a, -h), &b)).unwrap();
        let db = slope(f(c, &a, &moved(&b, h)), f(c, &a, &moved(&b, -h))).unwrap();
        let (exact, near) = (exact.unwrap().flat(), (da, db).flat());
        assert!(exact.iter().zip(&near).all(|(e, n)| (e - n).abs() < 1e-8), "{exact:?} is not {near:?}");
    }
    assert!(c.silu_mul_bwd(&one, &a, &t(&[1.0], &[1])).is_err());
    // Each row less its mean and its part along the normalised row, which for two elements leaves nothing.
    let (w, zero) = (t(&[1.0, 1.0], &[2]), t(&[0.0, 0.0], &[2]));
    let g = t(&[1.0, 0.0], &[1, 2]);
    is(c.fused_add_layer_norm_bwd(&g, &a, &w, &zero, 0.0), &[0.0, 0.0, -1.0, 0.0, 1.0, 0.0]);
    // x = (-1, 2), r = 1/√2.5: dx = r·(g - x·(g·x)·r²/2), dw = g·x·r.
    let r = 1.0 / 2.5f64.sqrt();
    is(c.fused_add_rms_norm_bwd(&g, &a, &w, 0.0), &[r * (1.0 - r * r / 2.0), r * r * r, -r, 0.0]);
}

#[test]
fn folds_and_statistics() {
    let c = Cpu::default_client(&CpuDevice::new());
    let x = t(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
    is(c.sum(&x, &[0], false), &[5.0, 7.0, 9.0]);
    is(c.sum(&x, &[], false), &[21.0]);
    is(c.mean(&x, &[1], true), &[2.0, 5.0]);
    is(c.max(&x, &[1], false), &[3.0, 6.0]);
    is(c.min(&x, &[0, 1], false), &[1.0]);
    is(c.prod(&x, &[1], false), &[6.0, 120.0]);
    is(c.any(&mask(&[0, 1]), &[0], false), &[1.0]);
    is(c.all(&mask(&[0, 1]), &[0], false), &[0.0]);
    is(c.cumsum(&x, 1), &[1.0, 3.0, 6.0, 4.0, 9.0, 15.0]);
    is(c.cumprod(&x, 0), &[1.0, 2.0, 3.0, 4.0, 10.0, 18.0]);
    is(c.logsumexp(&t(&[0.0, 0.0], &[2]), &[0], false), &[2.0f64.ln()]);
    is(c.var(&x, &[1], false, 1), &[1.0, 1.0]);
    is(c.std(&x, &[1], false, 0), &[(2.0f64 / 3.0).sqrt(); 2]);
    is(c.skew(&x, &[1], false, 0), &[0.0, 0.0]);
    is(c.kurtosis(&x, &[1], false, 0), &[-1.5, -1.5]);
    is(c.cov(&x, None), &[1.0; 4]);
    is(c.corrcoef(&x), &[1.0; 4]);
}

#[test]
fn shapes_and_indices() {
    let c = Cpu::default_client(&CpuDevice::new());
    let x = t(&[1.0, 2.0, 3.0, 4.0], &[2, 2]);
    let all = [1.0, 2.0, 3.0, 4.0];
    is(c.cat(&[&x, &x], 0), &[1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0]);
    is(c.stack(&[&x, &x], -1), &[1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]);
    is(c.split(&x, 1, 0), &all);
    is(c.chunk(&x, 2, 1), &[1.0, 3.0, 2.0, 4.0]);
    is(c.repeat(&x, &[1, 2]), &[1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0, 4.0]);
    is(c.pad(&x, &[1, 0], 9.0), &[9.0, 1.0, 2.0, 9.0, 3.0, 4.0]);
    is(c.roll(&x, 1, 0), &[3.0, 4.0, 1.0, 2.0]);
    is(c.unfold(&t(&[1.0, 2.0, 3.0], &[3]), 0, 2, 1), &[1.0, 2.0, 2.0, 3.0]);
    is(c.repeat_interleave(&t(&[1.0, 2.0], &[2]), 2, Some(0)), &[1.0, 1.0, 2.0, 2.0]);

    is(c.argmax(&x, 1, false), &[1.0, 1.0]);
    is(c.argmin(&x, 0, true), &[0.0, 0.0]);
    let i = ints(&[1, 0]);
    let rows = i.reshape(&[2, 1]).unwrap();
    is(c.gather(&x, 1, &rows), &[2.0, 3.0]);
    is(c.scatter(&x, 1, &rows, &t(&[8.0, 9.0], &[2, 1])), &[1.0, 8.0, 9.0, 4.0]);
    is(c.index_select(&x, 1, &i), &[2.0, 1.0, 4.0, 3.0]);
    is(c.index_put(&x, 0, &i, &t(&[5.0, 6.0, 7.0, 8.0], &[2, 2])), &[7.0, 8.0, 5.0, 6.0]);
    is(c.take(&x, &ints(&[3, 0])), &[4.0, 1.0]);
    is(c.put(&x, &ints(&[3]), &t(&[9.0], &[1])), &[1.0, 2.0, 3.0, 9.0]);
    let m = mask(&[1, 0, 0, 1]).reshape(&[2, 2]).unwrap();
    is(c.masked_select(&x, &m), &[1.0, 4.0]);
    is(c.masked_fill(&x, &m, 0.0), &[0.0, 2.0, 3.0, 0.0]);
    is(c.embedding_lookup(&x, &ints(&[1])), &[3.0, 4.0]);
    let twice = ints(&[0, 0]);
    is(
        c.scatter_reduce(&t(&[1.0, 1.0], &[2]), 0, &twice, &t(&[2.0, 3.0], &[2]), ScatterReduceOp::Sum, true),
        &[6.0, 1.0],
    );
    is(c.gather_nd(&x, &ints(&[1, 0]).reshape(&[1, 2]).unwrap()), &[3.0]);
    is(c.gather_2d(&x, &ints(&[0, 1]), &ints(&[1, 0])), &[2.0, 3.0]);
    is(c.bincount(&ints(&[0, 2, 2]), None, 4), &[1.0, 0.0, 2.0, 0.0]);
    is(c.slice_assign(&x, &t(&[7.0, 8.0], &[1, 2]), 0, 1), &[1.0, 2.0, 7.0, 8.0]);
    is(c.one_hot(&ints(&[1]), 3), &[0.0, 1.0, 0.0]);

    let s = t(&[3.0, 1.0, 3.0], &[3]);
    is(c.sort(&s, 0, true), &[3.0, 3.0, 1.0]);
    is(c.sort_with_indices(&s, 0, false), &[1.0, 3.0, 3.0, 1.0, 0.0, 2.0]);
    is(c.argsort(&s, -1, false), &[1.0, 0.0, 2.0]);
    is(c.topk(&s, 1, 0, false, true), &[1.0, 1.0]);
    is(c.unique(&s, true), &[1.0, 3.0]);
    is(c.unique_with_counts(&s), &[1.0, 3.0, 1.0, 0.0, 1.0, 1.0, 2.0]);
    is(c.nonzero(&t(&[0.0, 5.0], &[2])), &[1.0]);

    is(c.fill(&[2], 7.0, DType::F32), &[7.0, 7.0]);
    is(c.arange(0.0, 1.0, 0.5, DType::F64), &[0.0, 0.5]);
    is(c.linspace(0.0, 1.0, 3, DType::F64), &[0.0, 0.5, 1.0]);
    is(c.eye(2, None, DType::I32), &[1.0, 0.0, 0.0, 1.0]);
    let (p, q) = (t(&[1.0, 2.0], &[2]), t(&[3.0, 4.0], &[2]));
    is(c.meshgrid(&[&p, &q], MeshgridIndexing::Ij), &[1.0, 1.0, 2.0, 2.0, 3.0, 4.0, 3.0, 4.0]);
    is(c.meshgrid(&[&p, &q], MeshgridIndexing::Xy), &[1.0, 2.0, 1.0, 2.0, 3.0, 3.0, 4.0, 4.0]);
}

#[test]
fn products_and_random_numbers() {
    let c = Cpu::default_client(&CpuDevice::new());
    let (a, b) = (t(&[1.0, 2.0, 3.0, 4.0], &[2, 2]), t(&[0.0, 1.0, 1.0, 0.0], &[2, 2]));
    is(c.matmul(&a, &b), &[2.0, 1.0, 4.0, 3.0]);
    is(c.matmul_bias(&a, &b, &t(&[1.0, -1.0], &[2])), &[3.0, 0.0, 5.0, 2.0]);
    is(c.trace(&a), &[5.0]);
    is(c.diag(&a), &[1.0, 4.0]);
    is(c.diagflat(&t(&[1.0, 2.0], &[2])), &[1.0, 0.0, 0.0, 2.0]);
    is(c.triu(&a, 0), &[1.0, 2.0, 0.0, 4.0]);
    is(c.tril(&a, -1), &[0.0, 0.0, 3.0, 0.0]);
    is(c.kron(&b, &t(&[2.0], &[1, 1])), &[0.0, 2.0, 2.0, 0.0]);
    is(c.khatri_rao(&a, &b), &[0.0, 2.0, 1.0, 0.0, 0.0, 4.0, 3.0, 0.0]);
    is(c.einsum("ij,kj->ik", &[&a, &b]), &[2.0, 1.0, 4.0, 3.0]);
    is(c.semiring_matmul(&a, &b, SemiringOp::MinPlus), &[1.0, 2.0, 3.0, 4.0]);
    let distances = c.cdist(&a, &b, DistanceMetric::Manhattan);
    is(distances, &[2.0, 2.0, 6.0, 6.0]);
    let pairs = c.pdist(&a, DistanceMetric::SquaredEuclidean).unwrap();
    is(Ok(pairs.clone()), &[8.0]);
    let square = c.squareform(&pairs, 2).unwrap();
    is(Ok(square.clone()), &[0.0, 8.0, 8.0, 0.0]);
    is(c.squareform_inverse(&square), &[8.0]);

    let drawn = |t: Result<T>, low: f64, high: f64| {
        let drawn = values(&t.unwrap());
        assert_eq!(drawn.len(), 100);
        assert!(drawn.iter().all(|&v| low <= v && v < high), "{drawn:?}");
        assert!(drawn.iter().any(|&v| v != drawn[0]), "{drawn:?}");
    };
    let shape = &[10, 10];
    drawn(c.rand(shape, DType::F64), 0.0, 1.0);
    drawn(c.randn(shape, DType::F64), -10.0, 10.0);
    drawn(c.randint(-3, 4, shape, DType::I64), -3.0, 4.0);
    drawn(c.bernoulli(0.5, shape, DType::F64), 0.0, 2.0);
    drawn(c.exponential(2.0, shape, DType::F64), 0.0, 50.0);
    drawn(c.laplace(1.0, 2.0, shape, DType::F64), -100.0, 100.0);
    drawn(c.randperm(100), 0.0, 100.0);
    let seeded = || values(&c.rand_seeded(shape, DType::F64, 7).unwrap());
    assert_eq!(seeded(), seeded());
}

/// The gradients of Σ f(x, y)·w for weights that tell the elements apart.
fn slopes(f: impl Fn(&Var<Cpu>, &Var<Cpu>, &Client) -> Result<Var<Cpu>>) -> (Vec<f64>, Vec<f64>) {
    let c = Cpu::default_client(&CpuDevice::new());
    let x = Var::new(t(&[0.5, 1.5, 2.0, 3.0], &[2, 2]), true);
    let y = Var::new(t(&[1.0, 2.0, 0.25, 0.75], &[2, 2]), true);
    let out = f(&x, &y, &c).unwrap();
    let n = out.numel();
    let w = T::arange(1.0, n as f64 + 1.0, 1.0, DType::F64, &CpuDevice::new()).reshape(out.shape()).unwrap();
    let total = var_sum(&var_mul(&out, &Var::new(w, false), &c).unwrap(), &[], false, &c).unwrap();
    let grads = backward(&total, &c).unwrap();
    let of = |v: &Var<Cpu>| grads.get(v.id()).map(values).unwrap_or_default();
    (of(&x), of(&y))
}

/// The same by differences of the value.
fn differences(f: impl Fn(&Var<Cpu>, &Var<Cpu>, &Client) -> Result<Var<Cpu>>) -> (Vec<f64>, Vec<f64>) {
    let c = Cpu::default_client(&CpuDevice::new());
    let at = [vec![0.5, 1.5, 2.0, 3.0], vec![1.0, 2.0, 0.25, 0.75]];
    let value = |at: &[Vec<f64>; 2]| -> f64 {
        let [x, y] = at.each_ref().map(|v| Var::new(t(v, &[2, 2]), false));
        let out = values(f(&x, &y, &c).unwrap().tensor());
        out.iter().enumerate().map(|(k, v)| v * (k + 1) as f64).sum()
    };
    let h = 1e-6;
    let slope = |which: usize, k: usize| {
        let moved = [h, -h].map(|h| {
            let mut at = at.clone();
            at[which][k] += h;
            value(&at)
        });
        (moved[0] - moved[1]) / (2.0 * h)
    };
    ((0..4).map(|k| slope(0, k)).collect(), (0..4).map(|k| slope(1, k)).collect())
}

#[test]
fn gradients_of_variables() {
    type F = fn(&Var<Cpu>, &Var<Cpu>, &Client) -> Result<Var<Cpu>>;
    macro_rules! cases {
        ($($name:literal $f:expr;)*) => { &[$(($name, $f as F)),*] };
    }
    let cases: &[(&str, F)] = cases! {
        "add" |x, y, c| var_add(x, y, c);
        "sub" |x, y, c| var_sub(x, y, c);
        "mul" |x, y, c| var_mul(x, y, c);
        "div" |x, y, c| var_div(x, y, c);
        "pow" |x, y, c| var_pow(x, y, c);
        "matmul" |x, y, c| var_matmul(x, y, c);
        "neg" |x, _, c| var_neg(x, c);
        "abs" |x, _, c| var_abs(x, c);
        "exp" |x, _, c| var_exp(x, c);
        "log" |x, _, c| var_log(x, c);
        "sqrt" |x, _, c| var_sqrt(x, c);
        "square" |x, _, c| var_square(x, c);
        "recip" |x, _, c| var_recip(x, c);
        "sin" |x, _, c| var_sin(x, c);
        "cos" |x, _, c| var_cos(x, c);
        "tan" |x, _, c| var_tan(x, c);
        "tanh" |x, _, c| var_tanh(x, c);
        "relu" |x, _, c| var_relu(x, c);
        "sigmoid" |x, _, c| var_sigmoid(x, c);
        "silu" |x, _, c| var_silu(x, c);
        "softplus" |x, _, c| var_softplus(x, c);
        "softmax" |x, _, c| var_softmax(x, -1, c);
        "log_softmax" |x, _, c| var_log_softmax(x, 0, c);
        "cumsum" |x, _, c| var_cumsum(x, 1, c);
        "cumprod" |x, _, c| var_cumprod(x, 0, c);
        "silu_mul" |x, y, c| var_silu_mul(x, y, c);
        "gelu_mul" |x, y, c| var_gelu_mul(x, y, c);
        "relu_mul" |x, y, c| var_relu_mul(x, y, c);
        "sigmoid_mul" |x, y, c| var_sigmoid_mul(x, y, c);
        "swiglu" |x, y, c| var_swiglu(x, y, c);
        "trace" |x, _, c| var_trace(x, c);
        "sum" |x, _, c| var_sum(x, &[0], false, c);
        "mean" |x, _, c| var_mean(x, &[1], true, c);
        "max" |x, _, c| var_max(x, &[1], false, c);
        "min" |x, _, c| var_min(x, &[0], false, c);
        "var" |x, _, c| var_var(x, &[1], false, 1, c);
        "std" |x, _, c| var_std(x, &[0], false, 0, c);
        "add_scalar" |x, _, c| var_add_scalar(x, 2.0, c);
        "sub_scalar" |x, _, c| var_sub_scalar(x, 2.0, c);
        "mul_scalar" |x, _, c| var_mul_scalar(x, 2.0, c);
        "div_scalar" |x, _, c| var_div_scalar(x, 2.0, c);
        "pow_scalar" |x, _, c| var_pow_scalar(x, 2.5, c);
        "clamp" |x, _, c| var_clamp(x, 1.0, 2.5, c);
        "cast" |x, _, c| var_cast(&var_cast(x, DType::F64, c)?, DType::F64, c);
        "gather" |x, _, c| var_gather(x, 1, &ints(&[1, 0]).reshape(&[2, 1])?, c);
        "rms_norm" |x, y, c| var_rms_norm(x, &var_reshape(&var_narrow(y, 0, 0, 1)?, &[2])?, 1e-3, c);
        "layer_norm" |x, y, c| {
            let row = |k| var_reshape(&var_narrow(y, 0, k, 1)?, &[2]);
            var_layer_norm(x, &row(0)?, &row(1)?, 1e-3, c)
        };
        "group_norm" |x, y, c| {
            let row = |k| var_reshape(&var_narrow(y, 0, k, 1)?, &[2]);
            var_group_norm(&var_reshape(x, &[1, 2, 2])?, &row(0)?, &row(1)?, 1, 1e-3, c)
        };
        "fused_add_rms_norm" |x, y, c| var_fused_add_rms_norm(x, y, &var_reshape(&var_narrow(y, 0, 0, 1)?, &[2])?, 1e-3, c);
        "fused_add_layer_norm" |x, y, c| {
            let row = |k| var_reshape(&var_narrow(y, 0, k, 1)?, &[2]);
            var_fused_add_layer_norm(x, y, &row(0)?, &row(1)?, 1e-3, c)
        };
        "reshape" |x, _, _| var_reshape(x, &[4]);
        "transpose" |x, _, _| var_transpose(x);
        "permute" |x, _, _| var_permute(x, &[1, 0]);
        "broadcast_to" |x, _, _| var_broadcast_to(x, &[3, 2, 2]);
        "narrow" |x, _, _| var_narrow(x, 1, 1, 1);
        "cat" |x, y, c| var_cat(&[x, y], 0, c);
        "dropout of nothing" |x, _, c| Ok(var_dropout(x, 0.0, c)?.0);
    };
    for (name, f) in cases {
        let ((x, y), (dx, dy)) = (slopes(f), differences(f));
        for (exact, near) in [(x, dx), (y, dy)] {
            // What a function does not depend on has no gradient here, and one of zeros there.
            let exact = if exact.is_empty() { vec![0.0; 4] } else { exact };
            assert!(
                exact.iter().zip(&near).all(|(e, n)| (e - n).abs() <= 1e-7 * n.abs().max(1.0)),
                "{name}: {exact:?} is not {near:?}"
            );
        }
    }
}

#[test]
fn tangents_of_duals() {
    let c = Cpu::default_client(&CpuDevice::new());
    let (x, y) = (t(&[0.5, 1.5], &[2]), t(&[2.0, 0.25], &[2]));
    let (dx, dy) = (t(&[1.0, -2.0], &[2]), t(&[0.5, 3.0], &[2]));
    type F = fn(&[DualTensor<Cpu>], &Client) -> Result<DualTensor<Cpu>>;
    let cases: &[(&str, F)] = &[
        ("add", |d, c| dual_add(&d[0], &d[1], c)),
        ("sub", |d, c| dual_sub(&d[0], &d[1], c)),
        ("mul", |d, c| dual_mul(&d[0], &d[1], c)),
        ("div", |d, c| dual_div(&d[0], &d[1], c)),
        ("neg", |d, c| dual_neg(&d[0], c)),
        ("matmul", |d, c| dual_matmul(&dual_reshape(&d[0], &[1, 2])?, &dual_reshape(&d[1], &[2, 1])?, c)),
        ("sum", |d, c| dual_sum(&d[0], &[0], true, c)),
        ("mean", |d, c| dual_mean(&d[0], &[0], false, c)),
        ("add_scalar", |d, c| dual_add_scalar(&d[0], 2.0, c)),
        ("sub_scalar", |d, c| dual_sub_scalar(&d[0], 2.0, c)),
        ("mul_scalar", |d, c| dual_mul_scalar(&d[0], 2.0, c)),
        ("div_scalar", |d, c| dual_div_scalar(&d[0], 2.0, c)),
        ("pow_scalar", |d, c| dual_pow_scalar(&d[0], 3.0, c)),
        ("transpose", |d, _| dual_transpose(&dual_reshape(&d[0], &[1, 2])?, 0, 1)),
        ("narrow", |d, _| dual_narrow(&d[0], 0, 1, 1)),
        ("unsqueeze", |d, _| dual_unsqueeze(&d[0], 0)),
        ("squeeze", |d, _| Ok(dual_squeeze(&dual_unsqueeze(&d[0], 0)?, Some(0)))),
        ("permute", |d, _| dual_permute(&d[0], &[0])),
        ("contiguous", |d, _| Ok(dual_contiguous(&d[0]))),
        ("exp", |d, c| dual_exp(&d[0], c)),
        ("log", |d, c| dual_log(&d[0], c)),
        ("sqrt", |d, c| dual_sqrt(&d[0], c)),
        ("square", |d, c| dual_square(&d[0], c)),
        ("sin", |d, c| dual_sin(&d[0], c)),
        ("cos", |d, c| dual_cos(&d[0], c)),
        ("tan", |d, c| dual_tan(&d[0], c)),
        ("tanh", |d, c| dual_tanh(&d[0], c)),
        ("recip", |d, c| dual_recip(&d[0], c)),
        ("abs", |d, c| dual_abs(&d[0], c)),
        ("relu", |d, c| dual_relu(&d[0], c)),
        ("sigmoid", |d, c| dual_sigmoid(&d[0], c)),
    ];
    for (name, f) in cases {
        let (_, tangent) = forward::jvp(f, &[&x, &y], &[&dx, &dy], &c).unwrap();
        let h = 1e-6;
        let at = |h: f64| {
            let moved = [(&x, &dx), (&y, &dy)].map(|(x, d)| c.add(x, &c.mul_scalar(d, h).unwrap()).unwrap());
            let duals = moved.map(DualTensor::constant);
            values(f(&duals, &c).unwrap().primal())
        };
        let near: Vec<f64> = at(h).iter().zip(at(-h)).map(|(a, b)| (a - b) / (2.0 * h)).collect();
        let exact = values(&tangent);
        assert!(
            exact.len() == near.len() && exact.iter().zip(&near).all(|(e, n)| (e - n).abs() <= 1e-7 * n.abs().max(1.0)),
            "{name}: {exact:?} is not {near:?}"
        );
    }
    let jacobian = forward::jacobian_forward(|d, c| dual_square(d, c), &x, &c).unwrap();
    assert_eq!(values(&jacobian), [1.0, 0.0, 0.0, 3.0]);
    let product = forward::hvp(|d, c| dual_mul_scalar(&dual_square(d, c)?, 3.0, c), &x, &dx, &c).unwrap();
    assert_eq!(values(&product), [3.0, -18.0]);
    let both =
        forward::jvp_multi(|d, c| Ok(vec![dual_neg(&d[0], c)?, d[1].clone()]), &[&x, &y], &[&dx, &dy], &c).unwrap();
    assert_eq!(both.1.iter().flat_map(values).collect::<Vec<_>>(), [-1.0, 2.0, 0.5, 3.0]);
}

#[test]
fn methods_of_tensors() -> Result<()> {
    let device = CpuDevice::new();
    let x = t(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
    assert_eq!((x.rank(), x.elem_count(), x.len(), x.offset(), x.is_scalar()), (2, 6, 6, 0, false));
    assert_eq!((x.size(-1), x.size(2), x.dim(-2)?, x.dims(), x.dims2()?), (Some(3), None, 2, &[2, 3][..], (2, 3)));
    assert!(x.dims1().is_err() && x.dims3().is_err() && x.dims4().is_err() && x.dims5().is_err() && x.dim(2).is_err());
    assert!(x.shares_storage_with(&x.transpose(0, 1)?) && !x.shares_storage_with(&x.clone_deep()?));
    assert_eq!(T::full_scalar(&[2], DType::F64, 3.0, &device).to_vec::<f64>(), [3.0, 3.0]);
    assert_eq!(T::empty(&[2, 0], DType::F64, &device).shape(), [2, 0]);
    assert_eq!(T::try_empty(&[3], DType::F64, &device)?.numel(), 3);
    assert_eq!(T::try_full_scalar(&[1], DType::I64, 3.0, &device)?.item::<i64>()?, 3);
    is(x.add_scalar(1.0), &[2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    is(x.mul_scalar(2.0), &[2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
    is(x.scale(2.0), &[2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
    assert_eq!(x.to_dtype(DType::I8)?.dtype(), DType::I8);
    is(x.sum(&[1], false), &[6.0, 15.0]);
    is(x.max(&[0], true), &[4.0, 5.0, 6.0]);
    is(x.argmax(1, false), &[2.0, 2.0]);
    is(x.index_select(1, &ints(&[2])), &[3.0, 6.0]);
    is(x.slice_assign(&t(&[0.0, 0.0, 0.0], &[1, 3]), 0, 1), &[1.0, 2.0, 3.0, 0.0, 0.0, 0.0]);
    is(x.flip(0), &[4.0, 5.0, 6.0, 1.0, 2.0, 3.0]);
    is(x.flip_dims(&[0, 1]), &[6.0, 5.0, 4.0, 3.0, 2.0, 1.0]);
    is(x.permute(&[1, 0]), &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    is(x.narrow(1, 1, 1), &[2.0, 5.0]);
    is(x.view(&[3, 2]), &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    is(Ok(x.unsqueeze(0)?.squeeze(None)), &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    is(x.clamp(2.0, 5.0), &[2.0, 2.0, 3.0, 4.0, 5.0, 5.0]);
    is(Ok(x.detach()), &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    Ok(())
}
