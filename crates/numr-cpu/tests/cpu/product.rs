//! Matrix products against plain loops, in small whole numbers, which every order of summation gives exactly.

use crate::cpu::{CPU, T, layouts, numbers, values};
use numr_core::DType;
use numr_core::element::Complex;
use numr_core::prim::Prim;
use numr_cpu::threads::with_threads;

/// `[p, m, k] · [q, k, n]` with p and q equal or 1, as f64.
fn plain(a: &T, b: &T) -> Vec<Complex<f64>> {
    let (&[p, m, k], &[q, _, n]) = (a.shape(), b.shape()) else { panic!("three axes") };
    let (x, y) = (values(a), values(b));
    let mut out = vec![];
    for s in 0..p.max(q) {
        for i in 0..m {
            for j in 0..n {
                let at = |l| x[(s % p * m + i) * k + l] * y[(s % q * k + l) * n + j];
                out.push((0..k).map(at).sum());
            }
        }
    }
    out
}

fn check(a: &T, b: &T, dtype: DType) {
    let c = T::run_one(&Prim::Contract { dtype }, &[a, b]).expect("matmul");
    let truth = |v: &Complex<f64>| if dtype == DType::Bool { f64::from(u8::from(v.re != 0.0)).into() } else { *v };
    let expected: Vec<_> = plain(a, b).iter().map(truth).collect();
    let context = format!("{dtype} {:?} {:?} · {:?} {:?}", a.shape(), a.strides(), b.shape(), b.strides());
    assert_eq!(values(&c), expected, "{context}");
}

#[test]
fn products_of_every_dtype_and_layout() {
    for dtype in DType::ALL {
        // Small enough that narrow dtypes hold the sums.
        for (m, k, n) in [(3, 2, 9), (9, 2, 3), (4, 1, 1)] {
            for a in layouts(&[2, m, k], dtype, true) {
                for b in layouts(&[2, k, n], dtype, true) {
                    check(&a, &b, dtype);
                    check(&a.narrow(0, 1, 1).expect("narrow"), &b, dtype);
                    check(&a, &b.narrow(0, 0, 1).expect("narrow"), dtype);
                }
            }
        }
    }
}

#[test]
fn products_of_every_shape() {
    for dtype in [DType::F32, DType::F64, DType::Complex64, DType::I32, DType::I64] {
        for (m, k, n) in
            [(1, 70, 1030), (1030, 70, 1), (8, 130, 40), (40, 130, 2), (70, 90, 300), (300, 5, 20), (12, 12, 12)]
        {
            for a in layouts(&[1, m, k], dtype, false) {
                for b in layouts(&[1, k, n], dtype, false) {
                    check(&a, &b, dtype);
                }
            }
        }
    }
}

#[test]
fn wider_results() {
    let of = |shape: &[usize], dtype| numbers(shape, dtype, false);
    for (from, to) in [
        (DType::I8, DType::I32),
        (DType::U8, DType::U64),
        (DType::Bool, DType::I64),
        (DType::BF16, DType::F32),
        (DType::F32, DType::F64),
        (DType::F32, DType::Complex64),
        (DType::I32, DType::F64),
    ] {
        check(&of(&[2, 7, 200], from), &of(&[2, 200, 11], from), to);
    }
    let x = T::from_slice(&[100i8; 4], &[2, 2], &CPU);
    let same = T::run_one(&Prim::Contract { dtype: DType::I8 }, &[&x, &x]).expect("matmul");
    assert_eq!(same.to_vec::<i8>(), [20_000u16 as i8; 4]);
}

#[test]
fn narrow_floats_accumulate_in_f32_and_round_once() {
    let ones = T::from_slice(&[numr_core::f16::from_f32(1.0); 4096], &[1, 4096], &CPU);
    let product = ones.matmul(&ones.t().expect("t")).expect("matmul");
    assert_eq!(values(&product), [Complex::from(4096.0)]);
}

#[test]
fn products_of_nothing() {
    for (m, k, n) in [(2, 0, 3), (0, 4, 3), (2, 4, 0)] {
        let (a, b) = (numbers(&[2, m, k], DType::F32, false), numbers(&[2, k, n], DType::F32, false));
        let c = a.matmul(&b).expect("matmul");
        assert_eq!(c.shape(), [2, m, n]);
        assert!(c.to_vec::<f32>().iter().all(|&v| v == 0.0));
    }
}

#[test]
fn products_do_not_depend_on_threads() {
    let data = |n: usize| -> Vec<f32> { (0..n).map(|i| ((i * 7919 % 1009) as f32 - 504.0) * 1e-3).collect() };
    for (batch, m, k, n) in [(1, 300, 700, 600), (1, 1, 3000, 900), (40, 50, 60, 70), (1, 3, 5000, 64)] {
        let a = T::from_slice(&data(batch * m * k), &[batch, m, k], &CPU);
        let b = T::from_slice(&data(batch * k * n), &[batch, k, n], &CPU);
        let across = b.contiguous().transpose(1, 2).expect("t").contiguous().transpose(1, 2).expect("t");
        for b in [&b, &across] {
            let run = |threads| with_threads(threads, || a.matmul(b).expect("matmul").to_vec::<f32>());
            let one = run(1);
            assert_eq!(run(2), one);
            assert_eq!(run(5), one);
        }
    }
}

/// A product kernel that leaves the upper halves of the vector registers dirty makes SSE code on the thread, such as
/// libm's, several times slower.
#[test]
fn products_leave_the_vector_state_clean() {
    use std::hint::black_box;
    use std::time::{Duration, Instant};
    let libm = || {
        let once = || {
            let start = Instant::now();
            let total: f32 = (0..20_000).map(|i| black_box(i as f32 * 1e-4).exp()).sum();
            black_box(total);
            start.elapsed()
        };
        (0..20).map(|_| once()).min().unwrap_or(Duration::MAX)
    };
    with_threads(1, || {
        let before = libm();
        for (m, k, n) in [(64, 64, 64), (512, 100, 512), (1, 512, 512), (8, 8, 8)] {
            for dtype in [DType::F32, DType::F64, DType::Complex64, DType::Complex128] {
                let (a, b) = (numbers(&[m, k], dtype, false), numbers(&[k, n], dtype, false));
                black_box(a.matmul(&b).expect("matmul"));
                let after = libm();
                assert!(after < before * 2, "{dtype} {m} x {k} x {n}: {before:?} before, {after:?} after");
            }
        }
    });
}
