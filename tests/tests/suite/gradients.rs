//! Generated from the op table: the derivatives of every row, by the checker, and what its kinks say.

use numr::{AnyRuntime, Device, Error, Result, Tensor};
use numr_autograd::{Check, Dual, Tape, grad_many, strict};
use numr_core::ops::map::Row;
use numr_core::prim::{Bind, Map, MapOp};
use numr_core::scalar::graph::Class;
use numr_core::{Prim, Runtime};
use numr_tests::devices::devices;

fn apply<R: Runtime>(row: Row, x: &[&Tensor<R>]) -> Result<Tensor<R>> {
    let binds = (0..row.arity()).map(|_| Bind::Input).collect();
    Tensor::run_one(&Prim::Map(Map { op: MapOp::Row(row), binds, create: None }), x)
}

fn is_mask(row: Row, k: usize) -> bool {
    matches!(row.class(), Class::Common { masks, .. } if masks >> k & 1 == 1)
}

/// Where the checker samples a row: within its test domain, near 1, and away from poles and jumps.
fn domain(row: Row) -> (f64, f64) {
    let test = &row.info().test;
    let (low, high) = (test.start.max(-2.0), test.end.min(2.0));
    match row {
        // A pole at π/2; at 0; at 1.
        Row::Tan => (-1.2, 1.2),
        Row::Div | Row::Recip | Row::Rsqrt | Row::Sqrt | Row::Log | Row::Log2 | Row::Log10 | Row::Pow => (0.6, 2.0),
        Row::Cbrt | Row::Hypot | Row::Atan2 | Row::Xlogy | Row::Xlog1py | Row::Celu => (0.6, 2.0),
        Row::Asin | Row::Acos | Row::Atanh => (-0.7, 0.7),
        Row::Log1p => (-0.3, 2.0),
        Row::Acosh => (1.5, 3.0),
        Row::Logit => (0.25, 0.75),
        // Jumps and kinks at multiples of the divisor.
        Row::Fmod | Row::Remainder | Row::FloorDivide => (1.1, 1.9),
        _ => (low, high),
    }
}

/// Six points for operand `k`, on no symmetry and no whole number; those of each operand in another order, and none equal.
fn points(row: Row, k: usize) -> Vec<f64> {
    let (low, high) = domain(row);
    let at = |i: usize| {
        low + (high - low) * (0.07 + 0.02 * k as f64 + 0.86 * ((i * [1, 5, 11][k] + 3 * k) % 13) as f64 / 13.03)
    };
    (0..6).map(at).collect()
}

#[test]
fn every_row() {
    for device in devices() {
        let mut faults = vec![];
        let mut checked = 0;
        for &row in Row::ALL.iter().filter(|row| row.info().differentiable) {
            let mask = Tensor::from_slice(&[true, false, true, true, false, false], &[6], &device);
            let smooth: Vec<usize> = (0..row.arity()).filter(|&k| !is_mask(row, k)).collect();
            let xs: Vec<Tensor<AnyRuntime>> =
                smooth.iter().map(|&k| Tensor::from_slice(&points(row, k), &[6], &device)).collect();
            let f = |xs: &[Tensor<Tape<Dual<AnyRuntime>>>]| {
                let mask = numr_autograd::constant(&numr_autograd::dual(&mask, None)?);
                let mut next = xs.iter();
                let operands = (0..row.arity()).map(|k| if is_mask(row, k) { Some(&mask) } else { next.next() });
                apply(row, &operands.flatten().collect::<Vec<_>>())
            };
            // Slopes of up to a thousand times the value: differences see them less sharply.
            match (Check { tolerance: 1e-7, ..Check::default() }).run(f, &xs) {
                Ok(()) => checked += 1,
                Err(Error::Unsupported { .. }) => println!("{device}: {} has no f64 there", row.name()),
                Err(error) => faults.push(format!("{}: {error}", row.name())),
            }
        }
        assert!(faults.is_empty(), "{device}: {} faults:\n{}", faults.len(), faults.join("\n"));
        println!("{device}: {checked} rows have right derivatives to second order");
    }
}

/// What each row says at its kinks: an operand list and the slope for each.
const KINKS: &[(Row, &[f64], &[f64])] = &[
    (Row::Abs, &[0.0], &[0.0]),
    (Row::Sign, &[0.0], &[0.0]),
    (Row::Relu, &[0.0], &[0.0]),
    (Row::Relu6, &[0.0], &[0.0]),
    (Row::Relu6, &[6.0], &[0.0]),
    (Row::LeakyRelu, &[0.0, 0.25], &[0.25, 0.0]),
    (Row::Elu, &[0.0, 1.5], &[1.5, 0.0]),
    (Row::Celu, &[0.0, 1.5], &[1.0, 0.0]),
    (Row::Hardtanh, &[1.0], &[0.0]),
    (Row::Hardtanh, &[-1.0], &[0.0]),
    (Row::Hardsigmoid, &[3.0], &[0.0]),
    (Row::Hardswish, &[3.0], &[1.0]),
    (Row::Hardswish, &[-3.0], &[0.0]),
    (Row::Hardshrink, &[0.5, 0.5], &[0.0, 0.0]),
    (Row::Softshrink, &[0.5, 0.5], &[0.0, 0.0]),
    (Row::Threshold, &[0.5, 0.5, 2.0], &[0.0, 0.0, 1.0]),
    (Row::Maximum, &[1.0, 1.0], &[0.5, 0.5]),
    (Row::Minimum, &[1.0, 1.0], &[0.5, 0.5]),
    (Row::Fmax, &[1.0, f64::NAN], &[1.0, 0.0]),
    (Row::Fmin, &[f64::NAN, 1.0], &[0.0, 1.0]),
    (Row::Clamp, &[-1.0, -1.0, 1.0], &[1.0, 0.0, 0.0]),
    (Row::Clamp, &[1.0, -1.0, 1.0], &[1.0, 0.0, 0.0]),
    (Row::Clamp, &[0.0, 1.0, -1.0], &[0.0, 0.0, 1.0]),
    (Row::Hypot, &[0.0, 0.0], &[0.0, 0.0]),
    (Row::Hypot, &[0.0, 2.0], &[0.0, 1.0]),
    (Row::Heaviside, &[0.0, 0.5], &[0.0, 1.0]),
    (Row::Xlogy, &[0.0, 0.0], &[0.0, f64::NAN]),
    (Row::Xlogy, &[0.0, 2.0], &[std::f64::consts::LN_2, 0.0]),
    (Row::Pow, &[0.0, 0.0], &[0.0, 0.0]),
    (Row::Pow, &[0.0, 2.0], &[0.0, 0.0]),
    (Row::Pow, &[-2.0, 3.0], &[12.0, f64::NAN]),
    (Row::Silu, &[0.0], &[0.5]),
    (Row::Softsign, &[0.0], &[1.0]),
    (Row::Mish, &[0.0], &[0.6]),
    (Row::Floor, &[2.0], &[0.0]),
];

#[test]
fn kinks() {
    for device in devices() {
        for &(row, at, want) in KINKS {
            let xs: Vec<Tensor<AnyRuntime>> = at.iter().map(|&x| Tensor::from_slice(&[x], &[1], &device)).collect();
            let grads = match grad_many(|xs| apply(row, &xs.iter().collect::<Vec<_>>()), &xs) {
                Err(Error::Unsupported { .. }) => continue,
                grads => grads.unwrap_or_else(|e| panic!("{} at {at:?}: {e}", row.name())),
            };
            let got: Vec<f64> = grads.iter().map(|g| g.item().expect("f64")).collect();
            let same = got.iter().zip(want).all(|(g, w)| (g - w).abs() < 1e-14 || g.is_nan() && w.is_nan());
            assert!(same, "{device}: slopes of {} at {at:?} are {got:?}, not {want:?}", row.name());
        }
    }
}

/// In strict mode a row without a derivative is named.
#[test]
fn a_row_without_a_derivative_is_named() {
    let device = Device::parse("cpu").expect("a CPU");
    let x = Tensor::<AnyRuntime>::from_slice(&[0.5f64, 1.5], &[2], &device);
    for &row in Row::ALL.iter().filter(|row| !row.info().differentiable) {
        let lost = |x: &Tensor<Tape<AnyRuntime>>| {
            let operands = vec![x; row.arity()];
            apply(row, &operands)?.cast(numr::DType::F64)?.sum(.., false)
        };
        match strict(|| numr_autograd::grad(lost, &x)) {
            Err(Error::Grad { op, .. }) => assert_eq!(op, row.name()),
            // Bits have no floats to lose.
            Err(Error::DType { op, .. }) => assert!(op == row.name() && op.starts_with("bitwise"), "{op}"),
            other => panic!("{}: {other:?}", row.name()),
        }
    }
}
