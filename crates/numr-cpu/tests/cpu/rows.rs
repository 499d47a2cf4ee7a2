//! Fused rows against plain loops in f64.

use crate::cpu::{CPU, T, values};
use numr_core::prim::{Fused, Prim};
use numr_core::{DType, Element, dispatch_dtype};
use numr_cpu::threads::with_threads;

const EPS: f64 = 1e-3;

/// Numbers between -2 and 2 that the dtype holds.
fn operand(shape: &[usize], dtype: DType, seed: usize) -> T {
    let n = shape.iter().product();
    dispatch_dtype!(dtype, E => {
        let data: Vec<E> = (0..n)
            .map(|i| <E as Element>::from_f64(((i * 7919 + seed * 104_729 + i * i % 31) % 1000) as f64 / 250.0 - 2.0))
            .collect();
        T::from_slice(&data, shape, &CPU)
    })
}

/// The same elements in other places: as they are, across, and every second of a larger tensor.
fn placed(t: &T) -> Vec<T> {
    let ok = |t: numr_core::Result<T>| t.expect("view");
    let last = t.ndim() as isize - 1;
    vec![
        t.clone(),
        ok(ok(t.transpose(0, last)).contiguous().transpose(0, last)),
        ok(ok(T::stack(&[t, t], -1)).narrow(-1, 1, 1)).squeeze(Some(-1)),
    ]
}

/// The results of a fused operation on f64 rows, by the definition.
fn plain(of: Fused, n: usize, ops: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let x = &ops[0];
    let mut out = vec![vec![]];
    let (mut dw, mut db) = (vec![0.0; n], vec![0.0; n]);
    for (r, x) in x.chunks(n).enumerate() {
        let row = |k: usize| &ops[k][r * n..][..n];
        let most = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = x.iter().map(|v| (v - most).exp()).sum();
        let mean = match of {
            Fused::RmsNorm { .. } | Fused::RmsNormBackward { .. } => 0.0,
            _ => x.iter().sum::<f64>() / n as f64,
        };
        let var = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n as f64;
        let rstd = 1.0 / (var + EPS).sqrt();
        let hat: Vec<f64> = x.iter().map(|v| (v - mean) * rstd).collect();
        let y = &mut out[0];
        match of {
            Fused::Softmax { .. } => y.extend(x.iter().map(|v| (v - most).exp() / total)),
            Fused::LogSoftmax { .. } => y.extend(x.iter().map(|v| v - most - total.ln())),
            Fused::SoftmaxBackward { .. } => {
                let s: f64 = x.iter().zip(row(1)).map(|(y, g)| y * g).sum();
                y.extend(x.iter().zip(row(1)).map(|(y, g)| y * (g - s)));
            }
            Fused::LogSoftmaxBackward { .. } => {
                let s: f64 = row(1).iter().sum();
                y.extend(x.iter().zip(row(1)).map(|(y, g)| g - y.exp() * s));
            }
            Fused::LayerNorm { .. } => y.extend((0..n).map(|i| hat[i] * ops[1][i] + ops[2][i])),
            Fused::RmsNorm { .. } => y.extend((0..n).map(|i| hat[i] * ops[1][i])),
            Fused::LayerNormBackward { .. } | Fused::RmsNormBackward { .. } => {
                let g = row(2);
                let h: Vec<f64> = g.iter().zip(&ops[1]).map(|(g, w)| g * w).collect();
                let centre = matches!(of, Fused::LayerNormBackward { .. });
                let m = if centre { h.iter().sum::<f64>() / n as f64 } else { 0.0 };
                let c = h.iter().zip(&hat).map(|(h, x)| h * x).sum::<f64>() / n as f64;
                y.extend((0..n).map(|i| rstd * (h[i] - m - hat[i] * c)));
                for i in 0..n {
                    dw[i] += g[i] * hat[i];
                    db[i] += g[i];
                }
            }
        }
    }
    match of {
        Fused::LayerNormBackward { .. } => out.extend([dw, db]),
        Fused::RmsNormBackward { .. } => out.push(dw),
        _ => {}
    }
    out
}

/// The operations over axis `axis` of `shape`, and the shapes of their operands.
fn cases(shape: &[usize], axis: usize) -> Vec<(Fused, Vec<Vec<usize>>)> {
    let (x, w) = (shape.to_vec(), vec![shape[shape.len() - 1]]);
    let two = vec![x.clone(), x.clone()];
    let mut cases = vec![
        (Fused::Softmax { axis }, vec![x.clone()]),
        (Fused::LogSoftmax { axis }, vec![x.clone()]),
        (Fused::SoftmaxBackward { axis }, two.clone()),
        (Fused::LogSoftmaxBackward { axis }, two),
    ];
    if axis + 1 == shape.len() {
        cases.extend([
            (Fused::LayerNorm { eps: EPS }, vec![x.clone(), w.clone(), w.clone()]),
            (Fused::RmsNorm { eps: EPS }, vec![x.clone(), w.clone()]),
            (Fused::LayerNormBackward { eps: EPS }, vec![x.clone(), w.clone(), x.clone()]),
            (Fused::RmsNormBackward { eps: EPS }, vec![x.clone(), w, x]),
        ]);
    }
    cases
}

#[test]
fn rows_of_every_dtype_and_layout() {
    for (dtype, unit) in [
        (DType::F64, f64::EPSILON),
        (DType::F32, f64::from(f32::EPSILON)),
        (DType::F16, 1.0 / 1024.0),
        (DType::BF16, 1.0 / 128.0),
        (DType::FP8E4M3, 1.0 / 8.0),
        (DType::FP8E5M2, 1.0 / 4.0),
    ] {
        for shape in [&[5, 3, 70][..], &[40, 33], &[3, 1], &[1100]] {
            for axis in 0..shape.len() {
                for (of, shapes) in cases(shape, axis) {
                    let operands: Vec<T> = shapes.iter().zip(0..).map(|(s, k)| operand(s, dtype, k)).collect();
                    let last = shape.len() as isize - 1;
                    // The axis last, row by row.
                    let rows = |t: &T| -> Vec<f64> {
                        let t =
                            if t.shape() == shape { t.transpose(axis as isize, last).expect("t") } else { t.clone() };
                        values(&t).iter().map(|v| v.re).collect()
                    };
                    let expected = plain(of, shape[axis], &operands.iter().map(rows).collect::<Vec<_>>());
                    for k in 0..3 {
                        let placed: Vec<T> = operands.iter().map(|t| placed(t)[k].clone()).collect();
                        let got = T::run(&Prim::Fused(of), &placed.iter().collect::<Vec<_>>()).expect("fused");
                        assert_eq!(got.len(), expected.len());
                        for (got, expected) in got.iter().zip(&expected) {
                            assert_eq!(got.dtype(), dtype);
                            // Computed in f32 at least, rounded once; sums of up to 2000 terms of size up to 4.
                            let scale = expected.iter().fold(1.0f64, |m, v| m.max(v.abs()));
                            for (a, b) in rows(got).iter().zip(expected) {
                                let bound = unit * b.abs() + 30.0 * unit.min(f64::from(f32::EPSILON)) * scale;
                                // The least step of a narrow format.
                                let bound = bound
                                    + if unit > 0.1 {
                                        1.0 / 512.0
                                    } else if unit > 1e-4 {
                                        1e-7
                                    } else {
                                        0.0
                                    };
                                let past = b.abs() > dtype.max_value() && !(a.abs() <= dtype.max_value());
                                assert!(past || (a - b).abs() <= bound, "{of:?} {dtype} {shape:?} {k}: {a} for {b}");
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn rows_of_nothing_and_of_odd_numbers() {
    for (of, shapes) in cases(&[0, 3], 1).into_iter().chain(cases(&[3, 0], 1)).chain(cases(&[3, 0], 0)) {
        let operands: Vec<T> = shapes.iter().map(|s| operand(s, DType::F32, 0)).collect();
        let out = T::run(&Prim::Fused(of), &operands.iter().collect::<Vec<_>>()).expect("fused");
        assert_eq!(out[0].shape(), shapes[0]);
        assert!(out.iter().all(|t| t.to_vec::<f32>().iter().all(|&v| v == 0.0)));
    }
    let (inf, low, nan) = (f32::INFINITY, f32::NEG_INFINITY, f32::NAN);
    let softmax = |x: &[f32]| T::from_slice(x, &[x.len()], &CPU).softmax(0).expect("softmax").to_vec::<f32>();
    assert!(softmax(&[low; 40]).iter().all(|v| v.is_nan()));
    assert!(softmax(&[0.0, nan]).iter().all(|v| v.is_nan()));
    assert!(softmax(&[0.0, inf]).iter().any(|v| v.is_nan()));
    assert_eq!(softmax(&[0.0, low, 0.0]), [0.5, 0.0, 0.5]);
    assert_eq!(softmax(&[1e38, -1e38]), [1.0, 0.0]);
}

#[test]
fn rows_do_not_depend_on_threads() {
    for shape in [&[3000, 70][..], &[7, 30_000]] {
        for (of, shapes) in cases(shape, 1) {
            let operands: Vec<T> = shapes.iter().zip(0..).map(|(s, k)| operand(s, DType::F32, k)).collect();
            let operands: Vec<&T> = operands.iter().collect();
            let run = |n| -> Vec<Vec<f32>> {
                with_threads(n, || T::run(&Prim::Fused(of), &operands).expect("fused"))
                    .iter()
                    .map(|t| t.to_vec::<f32>())
                    .collect()
            };
            let one = run(1);
            assert_eq!(run(2), one);
            assert_eq!(run(5), one);
        }
    }
}
