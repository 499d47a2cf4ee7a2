use super::*;
use numr_core::Key;

fn moments(x: &T) -> (f64, f64) {
    let x = x.cast(DType::F64).expect("casts");
    let item = |r: Result<T>| r.expect("folds").item::<f64>().expect("one");
    (item(x.mean(.., false)), item(x.var(.., false, 0)))
}

/// Means and variances within five standard errors.
#[test]
fn laws_have_their_moments() {
    let n = 100_000usize;
    let d = &device();
    let within = |x: T, mean: f64, var: f64, fourth: f64| {
        let (m, v) = moments(&x);
        assert!((m - mean).abs() < 5.0 * (var / n as f64).sqrt(), "mean {m}, not {mean}");
        assert!((v - var).abs() < 5.0 * ((fourth - var * var) / n as f64).sqrt(), "variance {v}, not {var}");
    };
    for seed in 0..4 {
        let [a, b, c, e, f] = Key::new(seed).split();
        for dtype in [DType::F32, DType::F64] {
            within(a.uniform(&[n], dtype, d).expect("draws"), 0.5, 1.0 / 12.0, 1.0 / 80.0);
            within(b.normal(&[n], dtype, d).expect("draws"), 0.0, 1.0, 3.0);
            within(c.exponential(&[n], dtype, d).expect("draws"), 1.0, 1.0, 9.0);
            within(e.laplace(&[n], dtype, d).expect("draws"), 0.0, 2.0, 24.0);
        }
        within(
            f.bernoulli(0.3, &[n], DType::F32, d).expect("draws"),
            0.3,
            0.21,
            0.3 * 0.7f64.powi(4) + 0.7 * 0.3f64.powi(4),
        );
    }
}

#[test]
fn uniforms_stay_below_one() {
    let d = &device();
    for dtype in [DType::F64, DType::F32, DType::F16, DType::BF16, DType::FP8E4M3, DType::FP8E5M2] {
        let x =
            Key::new(1).uniform::<CpuRuntime>(&[100_000], dtype, d).expect("draws").cast(DType::F64).expect("casts");
        let v = x.to_vec::<f64>();
        assert!(v.iter().all(|&v| (0.0..1.0).contains(&v)), "{dtype}");
        assert!(v.iter().any(|&v| v > 0.8), "{dtype}");
    }
}

#[test]
fn integers_fill_their_range() {
    let d = &device();
    let v = Key::new(2).randint::<CpuRuntime>(-3, 4, &[10_000], DType::I8, d).expect("draws").to_vec::<i8>();
    let mut seen = v.clone();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [-3, -2, -1, 0, 1, 2, 3]);
    let wide = Key::new(2).randint::<CpuRuntime>(i64::MIN, i64::MAX, &[1000], DType::I64, d).expect("draws");
    let v = wide.to_vec::<i64>();
    assert!(v.iter().any(|&v| v < i64::MIN / 2) && v.iter().any(|&v| v > i64::MAX / 2));
    assert!(matches!(Key::new(0).randint::<CpuRuntime>(3, 3, &[1], DType::I64, d), Err(Error::Argument { .. })));
    let mut p = Key::new(3).permutation::<CpuRuntime>(1000, d).expect("draws").to_vec::<i64>();
    assert!(p.windows(2).any(|w| w[0] > w[1]));
    p.sort_unstable();
    assert!(p.into_iter().eq(0..1000));
}

/// The number of an element is its index's and its key's alone, and these bits are for ever.
#[test]
fn bits_are_fixed() {
    let d = &device();
    let long = Key::new(7).uniform::<CpuRuntime>(&[100], DType::F32, d).expect("draws").to_vec::<f32>();
    let short = Key::new(7).uniform::<CpuRuntime>(&[2, 5], DType::F32, d).expect("draws").to_vec::<f32>();
    assert_eq!(long[..10], short);
    // Philox4x32-10 of counter 0 under key 0 begins with the word 6627e8d5.
    let first = Key::new(0).uniform::<CpuRuntime>(&[1], DType::F32, d).expect("draws").to_vec::<f32>();
    assert_eq!(first, [(0x6627_e8d5u32 >> 8) as f32 / 16_777_216.0]);
    assert_ne!(
        Key::with_stream(7, 1).uniform::<CpuRuntime>(&[10], DType::F32, d).expect("draws").to_vec::<f32>(),
        short
    );
    numr_core::rng::seed(5);
    let a = T::randn(&[4], DType::F64, d).expect("draws").to_vec::<f64>();
    let b = T::randn(&[4], DType::F64, d).expect("draws").to_vec::<f64>();
    numr_core::rng::seed(5);
    assert_eq!(T::randn(&[4], DType::F64, d).expect("draws").to_vec::<f64>(), a);
    assert_ne!(a, b);
}

#[test]
fn dropout_keeps_the_mean() {
    for dtype in [DType::F32, DType::F64, DType::BF16] {
        let x = T::ones(&[100_000], dtype, &device());
        let y = Key::new(9).dropout(&x, 0.25).expect("drops");
        assert_eq!(y.dtype(), dtype);
        let (mean, _) = moments(&y);
        assert!((mean - 1.0).abs() < 0.01, "{dtype}: {mean}");
        let values = y.cast(DType::F32).expect("casts").to_vec::<f32>();
        assert!(values.iter().all(|&v| v == 0.0 || (v - 4.0 / 3.0).abs() < 0.01));
    }
    let x = count(&[3]);
    assert_eq!(x.dropout(0.5, false).expect("passes").to_vec::<f64>(), [0., 1., 2.]);
    assert_eq!(x.dropout(1.0, true).expect("drops all").to_vec::<f64>(), [0.; 3]);
    assert_eq!(x.dropout(0.0, true).expect("drops none").to_vec::<f64>(), [0., 1., 2.]);
    assert!(matches!(x.dropout(1.5, true), Err(Error::Argument { .. })));
    assert!(matches!(t(&[1i32], &[1]).dropout(0.5, true), Err(Error::DType { .. })));
}
