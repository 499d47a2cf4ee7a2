//! What a user calls, on the CPU.

#![allow(clippy::needless_borrows_for_generic_args, reason = "programs for numr 0.5 pass axes by reference")]

#[path = "surface/classic.rs"]
mod classic;
#[path = "surface/create.rs"]
mod create;
#[path = "surface/index.rs"]
mod index;
#[path = "surface/network.rs"]
mod network;
#[path = "surface/operator.rs"]
mod operator;
#[path = "surface/plain.rs"]
mod plain;
#[path = "surface/random.rs"]
mod random;
#[path = "surface/reduce.rs"]
mod reduce;
#[path = "surface/shape.rs"]
mod shape;
#[path = "surface/show.rs"]
mod show;

use numr_core::{DType, Element, Error, Result, Runtime, Tensor};
use numr_cpu::{CpuDevice, CpuRuntime};

type T = Tensor<CpuRuntime>;

fn device() -> CpuDevice {
    CpuDevice::new()
}

fn t<E: Element>(data: &[E], shape: &[usize]) -> T {
    T::from_slice(data, shape, &device())
}

/// 0, 1, 2, .. as f64.
fn count(shape: &[usize]) -> T {
    let n: usize = shape.iter().product();
    t(&(0..n).map(|i| i as f64).collect::<Vec<_>>(), shape)
}

/// Views of one tensor that reach its elements in different ways: each with its elements in row-major order.
fn layouts<R: Runtime>(x: &Tensor<R>) -> Vec<(&'static str, Tensor<R>)> {
    let all = numr_core::s![..., ..;-1];
    let mut views = vec![("as it is", x.clone())];
    if x.ndim() > 0 {
        views.push(("negative stride", x.slice(all).expect("slices").contiguous().slice(all).expect("slices")));
    }
    if x.ndim() > 1 {
        views.push(("transposed", x.t().expect("two axes").contiguous().t().expect("two axes")));
        let wide = Tensor::cat(&[x, x], 1).expect("joins");
        views.push(("offset", wide.narrow(1, x.shape()[1], x.shape()[1]).expect("narrows")));
    }
    views
}

fn close<R: Runtime>(got: &Tensor<R>, want: &[f64], tolerance: f64) {
    let got = got.cast(DType::F64).expect("casts").to_vec::<f64>();
    assert_eq!(got.len(), want.len());
    for (g, w) in got.iter().zip(want) {
        let fits = (g.is_nan() && w.is_nan()) || g == w || (g - w).abs() <= tolerance * w.abs().max(1.0);
        assert!(fits, "got {got:?}\nwant {want:?}");
    }
}

#[test]
fn errors_name_the_op_and_what_it_got() {
    let (a, b) = (count(&[2, 3]), count(&[4]));
    let text = |r: Result<T>| r.expect_err("must be refused").to_string();
    for (got, words) in [
        (text(a.add(&b)), ["add", "[2, 3]", "[4]"]),
        (text(a.matmul(&b)), ["matmul", "[2, 3]", "[4]"]),
        (text(a.sum(2, false)), ["sum", "axis 2", "2 axes"]),
        (text(a.reshape(&[5])), ["reshape", "[2, 3]", "[5]"]),
        (text(a.gather(0, &a)), ["gather", "f64", "integers"]),
        (text(a.narrow(1, 2, 2)), ["narrow", "index 4", "size 3"]),
        (text(a.layer_norm(&b, &b, 1e-5)), ["layer_norm", "[2, 3]", "[4]"]),
    ] {
        assert!(words.iter().all(|w| got.contains(w)), "{got:?} lacks one of {words:?}");
    }
    assert!(matches!(a.cast(DType::Complex64).and_then(|c| c.max(.., false)), Err(Error::DType { op: "max", .. })));
}
