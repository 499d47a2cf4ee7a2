//! Gather, scatter, nonzero and sort against plain loops.

use crate::cpu::{CPU, T, layouts, numbers, stored, values};
use numr_core::element::Complex;
use numr_core::prim::{Prim, ScatterOp};
use numr_core::{DType, Error, dispatch_dtype};
use numr_cpu::threads::with_threads;

/// An index of this shape, some of it negative.
fn index(shape: &[usize], size: i64) -> T {
    let n: usize = shape.iter().product();
    let data: Vec<i64> = (0..n as i64).map(|i| (i * 7919 + i * i % 5) % (2 * size) - size).collect();
    T::from_slice(&data, shape, &CPU)
}

/// For each element of a row-major index of this shape: its own number, and that of the element of `full` it names.
fn meetings(index: &T, full: &[usize], axis: usize) -> Vec<(usize, usize)> {
    let shape = index.shape();
    let named = index.to_vec::<i64>();
    (0..named.len())
        .map(|k| {
            let mut at = [k / shape[2] / shape[1], k / shape[2] % shape[1], k % shape[2]];
            at[axis] = named[k].rem_euclid(full[axis] as i64) as usize;
            (k, (at[0] * full[1] + at[1]) * full[2] + at[2])
        })
        .collect()
}

fn indices(axis: usize) -> Vec<T> {
    let full = [3, 4, 9];
    let size = full[axis] as i64;
    let mut shape = full;
    shape[axis] = 6;
    let mut narrow = [2, 2, 2];
    narrow[axis] = 5;
    let mut row = [1, 1, 1];
    row[axis] = 6;
    let across = [shape[2], shape[0], shape[1]];
    vec![
        index(&shape, size),
        index(&narrow, size),
        index(&row, size).broadcast_to(&shape).expect("broadcast"),
        index(&across, size).permute([1, 2, 0]).expect("permute"),
        index(&[0, 0, 0], size),
    ]
}

#[test]
fn gathers() {
    for dtype in DType::ALL {
        for axis in 0..3 {
            for index in indices(axis) {
                for x in layouts(&[3, 4, 9], dtype, false) {
                    let y = T::run_one(&Prim::Gather { axis }, &[&x, &index]).expect("gather");
                    let from = values(&x);
                    let expected: Vec<_> = meetings(&index, &[3, 4, 9], axis).iter().map(|m| from[m.1]).collect();
                    assert_eq!(values(&y), expected, "{dtype} {axis} {:?} {:?}", x.strides(), index.strides());
                }
            }
        }
    }
}

#[test]
fn scatters() {
    for dtype in DType::ALL {
        for axis in 0..3 {
            for index in indices(axis) {
                let shape: [usize; 3] = index.shape().try_into().expect("three axes");
                for op in [ScatterOp::Set, ScatterOp::Add, ScatterOp::Mul, ScatterOp::Min, ScatterOp::Max] {
                    if dtype.is_complex() && matches!(op, ScatterOp::Min | ScatterOp::Max) {
                        continue;
                    }
                    let powers = op == ScatterOp::Mul;
                    for (base, src) in layouts(&[3, 4, 9], dtype, powers).iter().zip(layouts(&shape, dtype, powers)) {
                        let y = T::run_one(&Prim::Scatter { axis, op }, &[base, &index, &src]).expect("scatter");
                        let (mut expected, from) = (values(base), values(&src));
                        for (k, to) in meetings(&index, &[3, 4, 9], axis) {
                            let (a, b) = (expected[to], from[k]);
                            let v = match op {
                                ScatterOp::Set => b,
                                ScatterOp::Add if dtype == DType::Bool => (a.re.max(b.re)).into(),
                                ScatterOp::Add => a + b,
                                ScatterOp::Mul => a * b,
                                ScatterOp::Min => a.re.min(b.re).into(),
                                ScatterOp::Max => a.re.max(b.re).into(),
                            };
                            expected[to] = stored(v, dtype);
                        }
                        assert_eq!(values(&y), expected, "{op:?} {dtype} {axis} {:?}", base.strides());
                    }
                }
            }
        }
    }
}

#[test]
fn indices_out_of_range() {
    let x = numbers(&[4, 3], DType::F32, false);
    for (bad, shown) in [(4, 4), (-5, -5), (i64::MIN, i64::MIN), (i64::MAX, i64::MAX)] {
        let index = T::from_slice(&[0, 1, bad, 2, 0, i64::MAX], &[2, 3], &CPU);
        let row = T::from_slice(&[0, bad], &[2, 1], &CPU).broadcast_to(&[2, 3]).expect("broadcast");
        for index in [&index, &row] {
            let error = T::run_one(&Prim::Gather { axis: 0 }, &[&x, index]).expect_err("gather");
            assert!(matches!(error, Error::Index { op: "gather", index, size: 4 } if index == shown), "{error}");
            let src = numbers(&[2, 3], DType::F32, false);
            let prim = Prim::Scatter { axis: 0, op: ScatterOp::Add };
            let error = T::run_one(&prim, &[&x, index, &src]).expect_err("scatter");
            assert!(matches!(error, Error::Index { op: "scatter", index, size: 4 } if index == shown), "{error}");
        }
    }
    let empty = numbers(&[0, 3], DType::F32, false);
    let index = T::from_slice(&[0i64; 3], &[1, 3], &CPU);
    assert!(T::run_one(&Prim::Gather { axis: 0 }, &[&empty, &index]).is_err());
}

#[test]
fn scatter_lets_nan_win() {
    let base = T::from_slice(&[1.0f32, f32::NAN, 1.0], &[3], &CPU);
    let index = T::from_slice(&[0i64, 1, 2], &[3], &CPU);
    let src = T::from_slice(&[f32::NAN, 2.0, 2.0], &[3], &CPU);
    for op in [ScatterOp::Min, ScatterOp::Max] {
        let y = T::run_one(&Prim::Scatter { axis: 0, op }, &[&base, &index, &src]).expect("scatter").to_vec::<f32>();
        assert!(y[0].is_nan() && y[1].is_nan() && !y[2].is_nan());
    }
}

#[test]
fn nonzeros() {
    let check = |x: &T| {
        let y = T::run_one(&Prim::Nonzero, &[x]).expect("nonzero");
        let places = values(x).into_iter().enumerate().filter(|(_, v)| *v != Complex::ZERO);
        let expected: Vec<i64> = places.map(|(i, _)| i as i64).collect();
        assert_eq!(y.to_vec::<i64>(), expected);
        assert_eq!(y.shape(), [expected.len()]);
    };
    for dtype in DType::ALL {
        layouts(&[3, 4, 9], dtype, false).iter().for_each(check);
    }
    layouts(&[70, 60, 9], DType::F32, false).iter().for_each(check);
    check(&T::from_slice::<f32>(&[], &[0], &CPU));
    check(&T::from_slice(&[f32::NAN, -0.0, 1.0], &[3], &CPU));
    check(&T::from_slice(&[1i32], &[], &CPU));
}

fn check_sort(x: &T, axis: usize, descending: bool) {
    let sorted = T::run(&Prim::Sort { axis, descending }, &[x]).expect("sort");
    let order: Vec<usize> = (0..x.ndim()).filter(|&k| k != axis).chain([axis]).collect();
    let rows = |t: &T| values(&t.permute(order.as_slice()).expect("permute"));
    let n = x.shape()[axis];
    let (from, got, places) = (rows(x), rows(&sorted[0]), rows(&sorted[1]));
    for ((from, got), places) in from.chunks(n).zip(got.chunks(n)).zip(places.chunks(n)) {
        let mut expected: Vec<usize> = (0..n).collect();
        expected.sort_by(|&a, &b| {
            let (x, y) = (from[a].re, from[b].re);
            let way = if descending { y.partial_cmp(&x) } else { x.partial_cmp(&y) };
            way.unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()))
        });
        let places: Vec<usize> = places.iter().map(|p| p.re as usize).collect();
        assert_eq!(places, expected, "{} {axis} {descending} {:?}", x.dtype(), x.strides());
        for (v, &k) in got.iter().zip(&expected) {
            assert_eq!(v.re.to_bits(), from[k].re.to_bits());
        }
    }
}

#[test]
fn sorts() {
    for dtype in DType::ALL.into_iter().filter(|d| !d.is_complex()) {
        for x in layouts(&[3, 4, 9], dtype, false) {
            for axis in 0..3 {
                check_sort(&x, axis, false);
                check_sort(&x, axis, true);
            }
        }
        // Long enough for the radix sort.
        let x = numbers(&[2, 1500], dtype, false);
        check_sort(&x, 1, false);
        check_sort(&x, 1, true);
    }
    let empty = T::from_slice::<f32>(&[], &[3, 0], &CPU);
    assert_eq!(T::run(&Prim::Sort { axis: 1, descending: false }, &[&empty]).expect("sort")[1].shape(), [3, 0]);
}

#[test]
fn sorts_with_nan_zeros_and_infinities() {
    let odd = [f64::NAN, -0.0, 0.0, 1.0, f64::NEG_INFINITY, -1.0, f64::INFINITY, -f64::NAN, 0.0, -0.0, 1e-300, 3.0];
    let many: Vec<f64> = (0..2000).map(|i| odd[i * 7919 % 12] * if i % 3 == 0 { 1.0 } else { 0.5 }).collect();
    for data in [&odd[..], &many] {
        for dtype in [DType::F64, DType::F32, DType::F16, DType::BF16, DType::FP8E4M3, DType::FP8E5M2] {
            use numr_core::Element;
            let x = dispatch_dtype!(dtype, E => {
                let data: Vec<E> = data.iter().map(|&v| <E as Element>::from_f64(v)).collect();
                T::from_slice(&data, &[data.len()], &CPU)
            });
            check_sort(&x, 0, false);
            check_sort(&x, 0, true);
        }
    }
    for ends in [vec![i64::MIN, i64::MAX, 0, -1, i64::MIN + 1], vec![i64::MAX - 1, 5, -5]] {
        let x = T::from_slice(&ends, &[ends.len()], &CPU);
        let sorted = T::run(&Prim::Sort { axis: 0, descending: true }, &[&x]).expect("sort");
        let mut expected = ends.clone();
        expected.sort_by(|a, b| b.cmp(a));
        assert_eq!(sorted[0].to_vec::<i64>(), expected);
    }
    let x = T::from_slice(&[0u64, u64::MAX, 1 << 63], &[3], &CPU);
    assert_eq!(T::run(&Prim::Sort { axis: 0, descending: true }, &[&x]).expect("sort")[1].to_vec::<i64>(), [1, 2, 0]);
}

#[test]
fn results_do_not_depend_on_threads() {
    let x = numbers(&[100, 3000], DType::F32, false);
    let named = index(&[100, 3000], 100);
    for prim in [Prim::Gather { axis: 0 }, Prim::Sort { axis: 1, descending: false }, Prim::Nonzero] {
        let operands: Vec<&T> = if matches!(prim, Prim::Gather { .. }) { vec![&x, &named] } else { vec![&x] };
        let run = |n| with_threads(n, || values(&T::run(&prim, &operands).expect("run")[0]));
        let one = run(1);
        assert_eq!(run(2), one);
        assert_eq!(run(5), one);
    }
}
