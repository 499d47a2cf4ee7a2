//! Errors against higher precision over the whole domain, for both settings of fused multiply-add.
//!
//! f32 is checked against the f64 functions of std (where std has none or a poor one: ours, which the reference values
//! check). f64 is checked
//! against `reference/*.txt`, made by `xtask/gen/reference.py` with MPFR.

use super::{double, single};
use crate::dtype::DType;
use crate::element::Lit;
use crate::ops::map::Row;
use crate::scalar::Scalar;
use crate::scalar::lane::{F32, F64};
use crate::scalar::program::ArgType;
use num_complex::Complex;
use std::f64::consts::{FRAC_PI_2, PI};

/// Name, the lane's function with and without fusing, an f64 version, and the bounds in ulp that we hold f32 and f64 to.
macro_rules! functions {
    ($($name:ident $std:expr, $single:literal, $double:literal;)*) => {
        const SINGLE: &[(&str, fn(f32) -> f32, fn(f32) -> f32, fn(f64) -> f64, f64)] = &[$((
            stringify!($name), |x| single::$name(F32::<true>(x)).0, |x| single::$name(F32::<false>(x)).0, $std, $single,
        )),*];
        const DOUBLE: &[(&str, fn(f64) -> f64, fn(f64) -> f64, &str, f64)] = &[$((
            stringify!($name), |x| double::$name(F64::<true>(x)).0, |x| double::$name(F64::<false>(x)).0,
            include_str!(concat!("reference/", stringify!($name), ".txt")), $double,
        )),*];
    };
}

functions! {
    exp f64::exp, 1.1, 1.1;
    expm1 f64::exp_m1, 1.6, 1.7;
    ln f64::ln, 1.0, 1.0;
    log1p f64::ln_1p, 1.6, 1.6;
    sin f64::sin, 1.4, 1.7;
    cos f64::cos, 1.4, 1.7;
    tanh f64::tanh, 1.6, 1.6;
    erf |x| double::erf(F64::<false>(x)).0, 1.3, 1.3;
    exp2 f64::exp2, 1.2, 1.2;
    log2 f64::log2, 0.6, 0.6;
    log10 f64::log10, 0.6, 0.6;
    tan f64::tan, 1.7, 1.9;
    asin f64::asin, 1.4, 1.4;
    acos f64::acos, 1.3, 1.3;
    atan f64::atan, 1.6, 1.4;
    sinh f64::sinh, 1.6, 1.7;
    cosh f64::cosh, 1.6, 1.6;
    asinh |x| double::asinh(F64::<false>(x)).0, 1.4, 1.4;
    acosh |x| double::acosh(F64::<false>(x)).0, 1.6, 1.6;
    atanh |x| double::atanh(F64::<false>(x)).0, 1.2, 1.2;
    cbrt f64::cbrt, 0.6, 0.6;
    erfc |x| double::erfc(F64::<false>(x)).0, 2.0, 1.8;
}

/// |got - want| in units of the last place of `want`; infinite where one of them alone is NaN or infinite, or where a
/// zero has the wrong sign.
fn error32(got: f32, want: f64) -> f64 {
    let nearest = want as f32;
    if got.to_bits() == nearest.to_bits() && (nearest == 0.0 || nearest.is_infinite()) || got.is_nan() && want.is_nan()
    {
        return 0.0;
    }
    if got.is_nan() || want.is_nan() || got == nearest && nearest == 0.0 {
        return f64::INFINITY;
    }
    // An infinity stands for the first number that the format lacks.
    let value = if got.is_infinite() { f64::from(got.signum()) * 128f64.exp2() } else { f64::from(got) };
    let exponent = want.abs().clamp(f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX)).to_bits() >> 52;
    (value - want).abs() / f64::from_bits((exponent - 23) << 52)
}

/// The same for f64, where the exact value is `want` plus `thousandths` of its last place.
fn error64(got: f64, want: f64, thousandths: f64) -> f64 {
    if !got.is_finite() {
        return f64::INFINITY;
    }
    // Neighbouring patterns are neighbouring numbers, and the exponents of the two agree or differ by one.
    let steps = (got.to_bits() as i64).wrapping_sub(want.to_bits() as i64) as f64;
    (steps - thousandths / 1000.0 * want.signum()).abs()
}

fn rows(text: &str) -> impl Iterator<Item = Vec<f64>> {
    text.lines().map(|line| {
        let (bits, rest) = line.rsplit_once(' ').expect("a line has fields");
        let bits = bits.split(' ').map(|b| f64::from_bits(u64::from_str_radix(b, 16).expect("a pattern")));
        bits.chain([rest.parse().expect("thousandths")]).collect()
    })
}

/// Is the largest error of `f` over the samples within the bound?
fn hold(name: &str, bound: f64, errors: impl Iterator<Item = (f64, f64)>) {
    let (worst, at) = errors.fold((0.0, 0.0), |m, (e, x)| if e > m.0 { (e, x) } else { m });
    assert!(worst <= bound, "{name}({at:e}) is {worst} ulp off, more than {bound}");
}

#[test]
fn single_precision_over_the_whole_line() {
    for &(name, fused, plain, exact, bound) in SINGLE {
        for f in [fused, plain] {
            let patterns = (0..=u32::MAX).step_by(8191).map(f32::from_bits);
            let edges = [0.0, -0.0, 1.0, -1.0, f32::MAX, f32::MIN, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
            // Around overflow and underflow of the exponentials; around the switches of reductions.
            let near = [88.72284, -103.97208, -87.33655, 17.328679, 0.34657, 0.9, 0.55, 12000.0, std::f32::consts::PI];
            let near = near.into_iter().flat_map(|x: f32| (x.to_bits() - 64..x.to_bits() + 64).map(f32::from_bits));
            let samples = patterns.chain(edges).chain(near);
            hold(name, bound, samples.map(|x| (error32(f(x), exact(f64::from(x))), f64::from(x))));
        }
    }
}

#[test]
fn double_precision_against_reference_values() {
    for &(name, fused, plain, text, bound) in DOUBLE {
        for f in [fused, plain] {
            hold(name, bound, rows(text).map(|r| (error64(f(r[0]), r[1], r[2]), r[0])));
        }
    }
}

#[test]
fn double_precision_edges() {
    let (inf, nan, tiny) = (f64::INFINITY, f64::NAN, 5e-324);
    let cases: [(&str, &[[f64; 2]]); 22] = [
        (
            "exp",
            &[[0.0, 1.0], [-0.0, 1.0], [709.782712893385, inf], [-745.14, 0.0], [-inf, 0.0], [inf, inf], [nan, nan]],
        ),
        ("expm1", &[[0.0, 0.0], [-0.0, -0.0], [-tiny, -tiny], [-inf, -1.0], [-50.0, -1.0], [709.79, inf], [nan, nan]]),
        ("ln", &[[1.0, 0.0], [0.0, -inf], [-0.0, -inf], [-1.0, nan], [-inf, nan], [inf, inf], [nan, nan]]),
        ("log1p", &[[0.0, 0.0], [-0.0, -0.0], [tiny, tiny], [-1.0, -inf], [-1.5, nan], [inf, inf], [nan, nan]]),
        ("sin", &[[0.0, 0.0], [-0.0, -0.0], [-tiny, -tiny], [inf, nan], [-inf, nan], [nan, nan]]),
        ("cos", &[[0.0, 1.0], [-0.0, 1.0], [tiny, 1.0], [inf, nan], [-inf, nan], [nan, nan]]),
        ("tanh", &[[0.0, 0.0], [-0.0, -0.0], [-tiny, -tiny], [30.0, 1.0], [-inf, -1.0], [inf, 1.0], [nan, nan]]),
        ("erf", &[[0.0, 0.0], [-0.0, -0.0], [-tiny, -tiny], [-7.0, -1.0], [-inf, -1.0], [inf, 1.0], [nan, nan]]),
        (
            "exp2",
            &[[0.0, 1.0], [-1074.0, tiny], [-1076.0, 0.0], [1023.0, 8.98846567431158e307], [1024.0, inf], [nan, nan]],
        ),
        ("log2", &[[8.0, 3.0], [tiny, -1074.0], [0.0, -inf], [-1.0, nan], [inf, inf], [nan, nan]]),
        ("log10", &[[1000.0, 3.0], [1.0, 0.0], [0.0, -inf], [-1.0, nan], [inf, inf], [nan, nan]]),
        ("tan", &[[0.0, 0.0], [-0.0, -0.0], [-tiny, -tiny], [inf, nan], [nan, nan]]),
        (
            "asin",
            &[[0.0, 0.0], [-0.0, -0.0], [-tiny, -tiny], [1.0, FRAC_PI_2], [-1.0, -FRAC_PI_2], [1.1, nan], [nan, nan]],
        ),
        ("acos", &[[1.0, 0.0], [-1.0, PI], [0.0, FRAC_PI_2], [-1.1, nan], [nan, nan]]),
        ("atan", &[[0.0, 0.0], [-0.0, -0.0], [-tiny, -tiny], [inf, FRAC_PI_2], [-inf, -FRAC_PI_2], [nan, nan]]),
        ("sinh", &[[0.0, 0.0], [-0.0, -0.0], [-tiny, -tiny], [710.5, inf], [-inf, -inf], [nan, nan]]),
        ("cosh", &[[0.0, 1.0], [-710.5, inf], [-inf, inf], [inf, inf], [nan, nan]]),
        ("asinh", &[[0.0, 0.0], [-0.0, -0.0], [-tiny, -tiny], [inf, inf], [-inf, -inf], [nan, nan]]),
        ("acosh", &[[1.0, 0.0], [0.5, nan], [-inf, nan], [inf, inf], [nan, nan]]),
        ("atanh", &[[0.0, 0.0], [-0.0, -0.0], [-tiny, -tiny], [1.0, inf], [-1.0, -inf], [1.5, nan], [nan, nan]]),
        ("cbrt", &[[0.0, 0.0], [-0.0, -0.0], [27.0, 3.0], [-8.0, -2.0], [-inf, -inf], [inf, inf], [nan, nan]]),
        ("erfc", &[[0.0, 1.0], [-6.5, 2.0], [28.0, 0.0], [inf, 0.0], [-inf, 2.0], [nan, nan]]),
    ];
    for (&(name, fused, plain, ..), (case, values)) in DOUBLE.iter().zip(cases) {
        assert_eq!(name, case);
        for f in [fused, plain] {
            for &[x, want] in values {
                let got = f(x);
                assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{name}({x:e}) = {got:e}");
            }
        }
    }
}

#[test]
fn bounded_forms_are_the_full_ones() {
    for k in 0..20_000 {
        let x = (f64::from(k) * 0.0009).exp() * if k % 2 == 0 { 1e-3 } else { -1e-3 };
        if x.abs() < single::TRIG_LIMIT {
            let x = F32::<false>(x as f32);
            assert_eq!(single::sin_bounded(x), single::sin(x));
            assert_eq!(single::cos_bounded(x), single::cos(x));
        }
        let x = F64::<false>(x * 10.0);
        assert!(x.0.abs() < double::TRIG_LIMIT);
        assert_eq!(double::sin_bounded(x), double::sin(x));
        assert_eq!(double::cos_bounded(x), double::cos(x));
    }
}

#[test]
fn pow_in_single_precision() {
    // A fixed pseudo-random walk: base over all patterns, exponent such that all result sizes occur.
    let mut state = 1u64;
    let mut next = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 32) as u32
    };
    let (mut x, mut y): (Vec<f32>, Vec<f32>) = (Vec::new(), Vec::new());
    for k in 0..200_000 {
        let base = if k % 3 == 0 { 0.5 + (next() >> 8) as f32 / 16777216.0 } else { f32::from_bits(next()) };
        let size = f64::from(next()) / 4294967296.0 * 280.0 - 151.0;
        let exponent = (size / f64::from(base.abs()).log2()) as f32;
        x.push(if k % 2 == 0 { base.abs() } else { base });
        y.push(match k % 4 {
            0 => f32::from_bits(next()),
            1 => (next() % 200) as f32 / 2.0 - 50.0,
            _ => exponent,
        });
    }
    let edges = [0.0, -0.0, 0.5, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 2.5, -0.5, 1e-45, -1e-45, 16777215.0, -16777216.0];
    let edges = [&edges[..], &[f32::MAX, f32::MIN, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e10, -33.0]].concat();
    for &a in &edges {
        for &b in &edges {
            x.push(a);
            y.push(b);
        }
    }
    for f in [|x, y| F32::<true>(x).pow(F32(y)).0, |x, y| F32::<false>(x).pow(F32(y)).0] {
        let pairs = x.iter().zip(&y);
        let errors =
            pairs.map(|(&x, &y): (&f32, &f32)| (error32(f(x, y), f64::from(x).powf(f64::from(y))), f64::from(x)));
        hold("pow", 1.4, errors);
    }
}

#[test]
fn pow_in_double_precision() {
    for f in [|x, y| F64::<true>(x).pow(F64(y)).0, |x, y| F64::<false>(x).pow(F64(y)).0] {
        let errors = rows(include_str!("reference/pow.txt")).map(|r| (error64(f(r[0], r[1]), r[2], r[3]), r[0]));
        hold("pow", 2.0, errors);
        let (inf, nan, odd) = (f64::INFINITY, f64::NAN, 9007199254740991.0);
        let cases = [
            [0.0, 0.0, 1.0],
            [nan, 0.0, 1.0],
            [1.0, nan, 1.0],
            [nan, 1.0, nan],
            [2.0, nan, nan],
            [0.0, nan, nan],
            [0.0, 3.0, 0.0],
            [-0.0, 3.0, -0.0],
            [-0.0, 2.0, 0.0],
            [0.0, -1.0, inf],
            [-0.0, -1.0, -inf],
            [-0.0, -2.0, inf],
            [-0.0, -0.5, inf],
            [inf, 2.0, inf],
            [inf, -2.0, 0.0],
            [-inf, 3.0, -inf],
            [-inf, 2.0, inf],
            [-inf, -3.0, -0.0],
            [-inf, 0.5, inf],
            [-1.0, inf, 1.0],
            [-1.0, -inf, 1.0],
            [1.0, inf, 1.0],
            [0.5, inf, 0.0],
            [0.5, -inf, inf],
            [2.0, -inf, 0.0],
            [-2.0, inf, inf],
            [-1.5, 0.5, nan],
            [-1.0, odd, -1.0],
            [-1.0, odd + 1.0, 1.0],
            [2.0, 1024.0, inf],
            [-2.0, 1025.0, -inf],
            [2.0, -1074.0, 5e-324],
            [2.0, -1076.0, 0.0],
            [-2.0, -1077.0, -0.0],
            [2.0, 1e300, inf],
            [0.9, 1e300, 0.0],
            [3.0, 2.0, 9.0],
        ];
        for [x, y, want] in cases {
            let got: f64 = f(x, y);
            assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{x:e}^{y:e} = {got:e}");
        }
    }
}

fn complex(row: Row, z: Complex<f64>) -> Complex<f64> {
    let program = row.graph().program(&[ArgType::Tensor(DType::Complex128)]).unwrap();
    match crate::testing::eval(&program, &[Lit::Complex(z.re, z.im)])[0] {
        Lit::Complex(re, im) => Complex::new(re, im),
        other => panic!("{other:?}"),
    }
}

/// Against the formulas of num-complex, which are not ours, away from where those cancel.
#[test]
fn complex_functions() {
    type F = fn(Complex<f64>) -> Complex<f64>;
    let functions: [(Row, F); 18] = [
        (Row::Sqrt, |z| z.sqrt()),
        (Row::Exp, |z| z.exp()),
        (Row::Expm1, |z| z.exp() - 1.0),
        (Row::Exp2, |z| z.exp2()),
        (Row::Log, |z| z.ln()),
        (Row::Log1p, |z| (z + 1.0).ln()),
        (Row::Log2, |z| z.log2()),
        (Row::Log10, |z| z.log10()),
        (Row::Sin, |z| z.sin()),
        (Row::Cos, |z| z.cos()),
        (Row::Tan, |z| z.tan()),
        (Row::Asin, |z| z.asin()),
        (Row::Acos, |z| z.acos()),
        (Row::Atan, |z| z.atan()),
        (Row::Tanh, |z| z.tanh()),
        (Row::Asinh, |z| z.asinh()),
        (Row::Acosh, |z| z.acosh()),
        (Row::Atanh, |z| z.atanh()),
    ];
    let parts = [-2.75, -1.5, -0.75, -0.3, 0.4, 0.8, 1.25, 3.1];
    for (row, theirs) in functions {
        for z in parts.iter().flat_map(|&re| parts.map(|im| Complex::new(re, im))) {
            let (got, want) = (complex(row, z), theirs(z));
            assert!((got - want).norm() <= 4e-15 * want.norm().max(1.0), "{} of {z}: {got}, not {want}", row.name());
        }
    }
}

/// The values of C's annex G on the cuts; the sign of a zero chooses the side.
#[test]
fn complex_branch_cuts() {
    let l = (2.0 + 3f64.sqrt()).ln();
    let half = 0.5 * 3f64.ln();
    for (row, re, im, want) in [
        (Row::Sqrt, -4.0, 0.0, (0.0, 2.0)),
        (Row::Log, -1.0, 0.0, (0.0, PI)),
        (Row::Acos, 2.0, 0.0, (0.0, -l)),
        (Row::Asin, 2.0, 0.0, (FRAC_PI_2, l)),
        (Row::Acosh, -2.0, 0.0, (l, PI)),
        (Row::Atanh, 2.0, 0.0, (half, FRAC_PI_2)),
    ] {
        for side in [1.0, -1.0] {
            let got = complex(row, Complex::new(re, im * side));
            let near = (got.re - want.0).abs() < 1e-15 && (got.im - want.1 * side).abs() < 1e-15;
            assert!(near, "{} of {re} {:+}i: {got}, not {want:?}", row.name(), im * side);
        }
    }
    // Neither overflow nor underflow on the way.
    assert_eq!(complex(Row::Sqrt, Complex::new(1e308, 1e308)).re, 1.09868411346781e154);
    assert_eq!(complex(Row::Tanh, Complex::new(800.0, 1.0)).re, 1.0);
    assert!((complex(Row::Log, Complex::new(1.0, 1e-9)).re - 5e-19).abs() < 1e-33);
}
