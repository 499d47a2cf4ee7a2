//! Reductions and scans against plain loops. The numbers are small and whole, so that every dtype holds the results
//! exactly and they have to be equal.

use crate::cpu::{CPU, T, layouts, stored, values};
use numr_core::element::Complex;
use numr_core::prim::{Prim, Reduce, ReduceOp, Scan, ScanOp, wide};
use numr_core::{DType, Error};
use numr_cpu::threads::with_threads;

const FOLDS: [ReduceOp; 8] = {
    use ReduceOp::*;
    [Sum, Prod, Max, Min, Any, All, ArgMax, ArgMin]
};

fn fold(op: ReduceOp, x: &[Complex<f64>]) -> Complex<f64> {
    let best = |better: fn(f64, f64) -> bool| {
        let mut at = 0;
        for (i, v) in x.iter().enumerate() {
            if better(v.re, x[at].re) || (v.re.is_nan() && !x[at].re.is_nan()) {
                at = i;
            }
        }
        at
    };
    let truth = |b: bool| Complex::from(f64::from(u8::from(b)));
    match op {
        ReduceOp::Sum => x.iter().sum(),
        ReduceOp::Prod => x.iter().product(),
        ReduceOp::Max => x[best(|a, b| a > b)],
        ReduceOp::Min => x[best(|a, b| a < b)],
        ReduceOp::Any => truth(x.iter().any(|v| *v != Complex::ZERO)),
        ReduceOp::All => truth(x.iter().all(|v| *v != Complex::ZERO)),
        ReduceOp::ArgMax => (best(|a, b| a > b) as f64).into(),
        ReduceOp::ArgMin => (best(|a, b| a < b) as f64).into(),
    }
}

/// With NaN as a number that equals itself.
fn marked(mut values: Vec<Complex<f64>>) -> Vec<Complex<f64>> {
    values.iter_mut().filter(|v| v.re.is_nan()).for_each(|v| *v = Complex::new(1e300, 0.0));
    values
}

fn check_reduce(op: ReduceOp, axes: &[usize], x: &T) {
    let keepdim = axes.len() == 2;
    let prim = Prim::Reduce(Reduce { op, axes: axes.into(), keepdim });
    let y = T::run_one(&prim, &[x]).expect("reduce");
    let kept: Vec<usize> = (0..3).filter(|k| !axes.contains(k)).collect();
    // Folded axes last, then the loop is over rows.
    let order: Vec<usize> = kept.iter().chain(axes).copied().collect();
    let rows = values(&x.permute(order.as_slice()).expect("permute"));
    let each: usize = axes.iter().map(|&k| x.shape()[k]).product();
    let expected: Vec<_> = rows.chunks(each.max(1)).map(|row| stored(fold(op, row), y.dtype())).collect();
    let context = format!("{op:?} {axes:?} of {} {:?} strides {:?}", x.dtype(), x.shape(), x.strides());
    assert_eq!(marked(values(&y)), marked(expected), "{context}");
    let shape: Vec<usize> = match keepdim {
        true => (0..3).map(|k| if axes.contains(&k) { 1 } else { x.shape()[k] }).collect(),
        false => kept.iter().map(|&k| x.shape()[k]).collect(),
    };
    assert_eq!(y.shape(), shape, "{context}");
}

const AXES: [&[usize]; 8] = [&[], &[0], &[1], &[2], &[0, 1], &[0, 2], &[1, 2], &[0, 1, 2]];

fn each_axes(op: ReduceOp) -> impl Iterator<Item = &'static [usize]> {
    let one = matches!(op, ReduceOp::ArgMax | ReduceOp::ArgMin);
    AXES.into_iter().filter(move |axes| !one || axes.len() == 1)
}

fn applies(op: ReduceOp, dtype: DType) -> bool {
    !dtype.is_complex() || matches!(op, ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Any | ReduceOp::All)
}

#[test]
fn reductions_of_every_dtype_and_layout() {
    for dtype in DType::ALL {
        for op in FOLDS.into_iter().filter(|&op| applies(op, dtype)) {
            for x in layouts(&[3, 4, 9], dtype, op == ReduceOp::Prod) {
                each_axes(op).for_each(|axes| check_reduce(op, axes, &x));
            }
        }
    }
}

#[test]
fn reductions_of_many_elements() {
    for shape in [[2100, 1, 9], [5, 3, 1500], [70, 30, 40], [9, 1100, 8], [300, 2, 2]] {
        for (op, dtype) in [
            (ReduceOp::Sum, DType::F32),
            (ReduceOp::Sum, DType::I8),
            (ReduceOp::Max, DType::BF16),
            (ReduceOp::ArgMin, DType::F64),
            (ReduceOp::Any, DType::F32),
        ] {
            for x in layouts(&shape, dtype, false) {
                each_axes(op).for_each(|axes| check_reduce(op, axes, &x));
            }
        }
    }
}

#[test]
fn sums_depend_on_neither_layout_nor_threads() {
    let n = 300_000;
    let data: Vec<f32> = (0..n).map(|i| ((i * 7919 % 10007) as f32 - 5000.0) * 1.37e-3).collect();
    let exact: f64 = data.iter().map(|&v| f64::from(v)).sum();
    let size: f64 = data.iter().map(|&v| f64::from(v.abs())).sum();
    let x = T::from_slice(&data, &[n / 500, 500], &CPU);
    let across = x.t().expect("t").contiguous().t().expect("t");
    for axes in [&[0][..], &[1], &[0, 1]] {
        let sum = |x: &T| x.sum(axes, false).expect("sum").to_vec::<f32>();
        let one = with_threads(1, || sum(&x));
        for threads in [2, 5] {
            assert_eq!(with_threads(threads, || sum(&x)), one);
        }
        assert_eq!(sum(&across), one, "{axes:?}");
    }
    let sum = f64::from(x.sum(.., false).expect("sum").item::<f32>().expect("item"));
    // 32 additions in a lane, 5 over the lanes, 9 over the blocks.
    assert!((sum - exact).abs() <= 46.0 * f64::from(f32::EPSILON) / 2.0 * size, "{sum} against {exact}");
}

#[test]
fn folds_of_nothing_and_nan() {
    let empty = T::from_slice::<f32>(&[], &[0, 3], &CPU);
    assert_eq!(empty.sum(0, false).expect("sum").to_vec::<f32>(), [0.0; 3]);
    assert_eq!(empty.prod(0, false).expect("prod").to_vec::<f32>(), [1.0; 3]);
    assert_eq!(empty.any(0, false).expect("any").to_vec::<bool>(), [false; 3]);
    assert_eq!(empty.all(0, false).expect("all").to_vec::<bool>(), [true; 3]);
    assert_eq!(empty.sum(1, false).expect("sum").shape(), [0]);
    assert!(empty.sum(0, false).expect("sum").to_vec::<f32>().iter().all(|v| v.is_sign_positive()));
    let refused =
        T::run_one(&Prim::Reduce(Reduce { op: ReduceOp::Max, axes: [0].as_slice().into(), keepdim: false }), &[&empty]);
    assert!(matches!(refused, Err(Error::Shape { op: "max", .. })));
    for place in [0, 5, 31, 32, 1040, 2000] {
        for other in [1.0, f32::INFINITY, f32::NEG_INFINITY] {
            let mut data = vec![other; 2001];
            data[place] = f32::NAN;
            for x in [T::from_slice(&data, &[2001], &CPU), T::from_slice(&data.repeat(9), &[9, 2001], &CPU)] {
                // Across, so that strips of neighbours are folded.
                let x = if x.ndim() == 2 { x.t().expect("t").contiguous() } else { x };
                assert!(x.max(0, false).expect("max").to_vec::<f32>().iter().all(|v| v.is_nan()));
                assert!(x.min(0, false).expect("min").to_vec::<f32>().iter().all(|v| v.is_nan()));
                assert!(x.argmax(0, false).expect("argmax").to_vec::<i64>().iter().all(|&i| i == place as i64));
                assert!(x.argmin(0, false).expect("argmin").to_vec::<i64>().iter().all(|&i| i == place as i64));
            }
        }
    }
    let x = T::from_slice(&[f32::NEG_INFINITY; 40], &[40], &CPU);
    assert_eq!(x.argmax(0, false).expect("argmax").item::<i64>().expect("item"), 0);
}

#[test]
fn integers_wrap_in_64_bits() {
    let x = T::from_slice(&[i64::MAX, 1, i64::MAX], &[3], &CPU);
    assert_eq!(x.sum(0, false).expect("sum").to_vec::<i64>(), [i64::MAX.wrapping_mul(2).wrapping_add(1)]);
    let x = T::from_slice(&[u64::MAX, 3, 1 << 63], &[3], &CPU);
    assert_eq!(x.max(0, false).expect("max").to_vec::<u64>(), [u64::MAX]);
    assert_eq!(x.argmin(0, false).expect("argmin").to_vec::<i64>(), [1]);
    assert_eq!(T::from_slice(&[200u8; 100], &[100], &CPU).sum(0, false).expect("sum").to_vec::<u64>(), [20_000]);
}

#[test]
fn scans_of_every_dtype_and_layout() {
    for dtype in DType::ALL {
        for (op, like) in [
            (ScanOp::Sum, ReduceOp::Sum),
            (ScanOp::Prod, ReduceOp::Prod),
            (ScanOp::Max, ReduceOp::Max),
            (ScanOp::Min, ReduceOp::Min),
        ] {
            if !applies(like, dtype) {
                continue;
            }
            for x in layouts(&[3, 4, 9], dtype, op == ScanOp::Prod) {
                for k in 0..12 {
                    check_scan(Scan { op, axis: k % 3, reverse: k % 2 == 0, exclusive: k < 6 }, like, &x);
                }
            }
        }
    }
    for shape in [[3, 1, 700], [2, 700, 1], [30, 5, 300]] {
        for x in layouts(&shape, DType::F32, false) {
            for k in 0..12 {
                let scan = Scan { op: ScanOp::Sum, axis: k % 3, reverse: k % 2 == 0, exclusive: k < 6 };
                check_scan(scan, ReduceOp::Sum, &x);
            }
        }
    }
}

fn check_scan(scan: Scan, like: ReduceOp, x: &T) {
    let y = T::run_one(&Prim::Scan(scan.clone()), &[x]).expect("scan");
    let order: Vec<usize> = (0..3).filter(|&k| k != scan.axis).chain([scan.axis]).collect();
    let rows = |t: &T| values(&t.permute(order.as_slice()).expect("permute"));
    let dtype = x.dtype();
    let nothing = match scan.op {
        ScanOp::Sum => 0.0,
        ScanOp::Prod => 1.0,
        ScanOp::Max if dtype.is_float() && dtype != DType::FP8E4M3 => f64::NEG_INFINITY,
        ScanOp::Min if dtype.is_float() && dtype != DType::FP8E4M3 => f64::INFINITY,
        ScanOp::Max => dtype.min_value(),
        ScanOp::Min => dtype.max_value(),
    };
    let expected: Vec<_> = rows(x)
        .chunks(x.shape()[scan.axis])
        .flat_map(|row| {
            let n = row.len();
            (0..n).map(move |i| {
                let range = match (scan.reverse, scan.exclusive) {
                    (false, false) => 0..i + 1,
                    (false, true) => 0..i,
                    (true, false) => i..n,
                    (true, true) => i + 1..n,
                };
                if range.is_empty() { nothing.into() } else { fold(like, &row[range]) }
            })
        })
        .map(|v| stored(v, y.dtype()))
        .collect();
    assert_eq!(marked(rows(&y)), marked(expected), "{scan:?} of {dtype} {:?} strides {:?}", x.shape(), x.strides());
    let sums = matches!(scan.op, ScanOp::Sum | ScanOp::Prod);
    assert_eq!(y.dtype(), if sums { wide(dtype) } else { dtype });
}

#[test]
fn scans_keep_nan_and_take_nothing() {
    let x = T::from_slice(&[1.0, f32::NAN, 3.0], &[3], &CPU);
    let run = |op, x: &T| T::run_one(&Prim::Scan(Scan { op, axis: 0, reverse: false, exclusive: false }), &[x]);
    let max = run(ScanOp::Max, &x).expect("cummax").to_vec::<f32>();
    assert!(max[0] == 1.0 && max[1].is_nan() && max[2].is_nan());
    let empty = T::from_slice::<f32>(&[], &[0, 4], &CPU);
    assert_eq!(run(ScanOp::Sum, &empty).expect("cumsum").shape(), [0, 4]);
    let many = T::from_slice(&vec![0.1f32; 40_000], &[4, 10_000], &CPU);
    let sum = |n| with_threads(n, || many.cumsum(1).expect("cumsum").to_vec::<f32>());
    assert_eq!(sum(1), sum(2));
    assert_eq!(sum(1), sum(5));
}
