//! Element-wise expressions.

use super::sample::{CPU, T, awkward, bits, layouts, naive, of_dtype};
use numr_core::element::{bf16, f16};
use numr_core::ops::fuse::{fuse, fuse_many};
use numr_core::ops::map::Row;
use numr_core::ops::map::symbolic::Symbolic;
use numr_core::prim::{Bind, Map, MapOp, Prim};
use numr_core::scalar::Int;
use numr_core::scalar::graph::Class;
use numr_core::{Complex, DType, DTypeSet, Element, Lit, dispatch_dtype};
use numr_cpu::threads::with_threads;

/// Every pair of dtypes, element by element.
#[test]
fn casts_are_those_of_the_elements() {
    fn check<A: Element, B: Element>(x: &T) {
        let got = x.cast(B::DTYPE).expect("cast").to_vec::<B>();
        for (&a, b) in x.to_vec::<A>().iter().zip(got) {
            let expected: B = a.cast();
            let same = bytemuck::bytes_of(&expected.to_pod()) == bytemuck::bytes_of(&b.to_pod());
            assert!(same || (expected != expected && b != b), "{a:?} as {}: {b:?}, not {expected:?}", B::DTYPE);
        }
    }
    let lits = awkward();
    for from in DType::ALL {
        dispatch_dtype!(from, A => {
            let values: Vec<A> = lits.iter().map(|&l| A::from_lit(l)).collect();
            let x = T::from_slice(&values, &[values.len()], &CPU);
            for to in DType::ALL {
                dispatch_dtype!(to, B => check::<A, B>(&x));
            }
        });
    }
}

fn apply(row: Row, operands: &[&T]) -> numr_core::Result<T> {
    let binds = operands.iter().map(|_| Bind::Input).collect();
    T::run_one(&Prim::Map(Map { op: MapOp::Row(row), binds, create: None }), operands)
}

/// Every row on every dtype that it takes: what a layout shows gives what a contiguous copy of it gives.
#[test]
fn rows_read_every_layout() {
    for &row in Row::ALL {
        let Class::Common { dtypes, .. } = row.class() else { continue };
        for dtype in DTypeSet::ALL.iter() {
            let base = of_dtype(dtype);
            for (name, x) in layouts(&base) {
                let plain = dispatch_dtype!(dtype, E => T::from_slice(&naive::<E>(&x), x.shape(), &CPU));
                let supported = dtypes.contains(dtype) && !(row == Row::Pow && dtype.is_complex());
                let operands = |t| [t, &plain, t];
                match (apply(row, &operands(&x)[..row.arity()]), apply(row, &operands(&plain)[..row.arity()])) {
                    (Ok(a), Ok(b)) => assert_eq!(bits(&a), bits(&b), "{} of {dtype}, {name}", row.name()),
                    (Err(a), Err(b)) => {
                        assert_eq!(a.to_string(), b.to_string());
                        assert!(!supported, "{} of {dtype}: {a}", row.name());
                    }
                    _ => panic!("{} of {dtype}, {name}: the layout decides", row.name()),
                }
            }
        }
    }
}

/// Every row on one element gives what it gives within many: blocks, vectors and remainders agree.
#[test]
fn rows_do_not_depend_on_the_place() {
    let n = 1234;
    for &row in Row::ALL {
        for dtype in [DType::F32, DType::F64, DType::BF16, DType::I32, DType::U8] {
            let many = T::try_from_expr(&[n], &[], &CPU, |a, _| (a.index().cast(DType::F64) * 0.01 + 0.1).cast(dtype));
            let many = many.expect("index");
            let args = [&many, &many, &many];
            let Ok(all) = apply(row, &args[..row.arity()]) else { continue };
            for k in [0, 1, 17, 511, 512, 513, 1023, n - 1] {
                let one = many.narrow(0, k, 1).expect("narrow");
                let args = [&one, &one, &one];
                let got = apply(row, &args[..row.arity()]).expect("one");
                assert_eq!(bits(&got), bits(&all.narrow(0, k, 1).expect("narrow")), "{} of {dtype} at {k}", row.name());
            }
        }
    }
}

/// Integers: wrapping, division by zero gives 0, MIN / -1 = MIN.
#[test]
fn integers_wrap() {
    macro_rules! check {
        ($($t:ident $wide:ident),*) => { $({
            let edge = [0, 1, 2, 3, 7, $t::MAX, $t::MAX - 1, $t::MIN, $t::MIN + 1, (0 as $t).wrapping_sub(1), 100, 31];
            let (mut a, mut b) = (vec![], vec![]);
            for x in edge {
                for y in edge {
                    a.push(x);
                    b.push(y);
                }
            }
            let n = a.len();
            let (x, y) = (T::from_slice(&a, &[n], &CPU), T::from_slice(&b, &[n], &CPU));
            let each = |got: numr_core::Result<T>, f: &dyn Fn($t, $t) -> $t| {
                let expected: Vec<$t> = a.iter().zip(&b).map(|(&a, &b)| f(a, b)).collect();
                assert_eq!(got.expect(stringify!($t)).to_vec::<$t>(), expected);
            };
            each(x.add(&y), &|a, b| a.wrapping_add(b));
            each(x.sub(&y), &|a, b| a.wrapping_sub(b));
            each(x.mul(&y), &|a, b| a.wrapping_mul(b));
            each(x.maximum(&y), &|a, b| a.max(b));
            each(x.minimum(&y), &|a, b| a.min(b));
            each(x.fmod(&y), &|a, b| if b == 0 { 0 } else { a.wrapping_rem(b) });
            each(fuse([&x, &y], |[x, y]| x / y), &|a, b| if b == 0 { 0 } else { a.wrapping_div(b) });
            each(fuse([&x, &y], |[x, y]| x & !y), &|a, b| a & !b);
            each(fuse([&x, &y], |[x, y]| x | y), &|a, b| a | b);
            each(fuse([&x, &y], |[x, y]| x ^ y), &|a, b| a ^ b);
            each(fuse([&x, &y], |[x, _]| -x), &|a, _| a.wrapping_neg());
            let bits = $t::BITS as $wide;
            let count = |b: $t| Some(b as $wide).filter(|&b| b >= 0 && b < bits).map(|b| b as u32);
            each(fuse([&x, &y], |[x, y]| x.shl(y)), &|a, b| count(b).map_or(0, |b| a << b));
            each(fuse([&x, &y], |[x, y]| x.shr(y)), &|a, b| match count(b) {
                Some(b) => a >> b,
                None => a >> ($t::BITS - 1) >> 1,
            });
            let mask = (1 as $wide).checked_shl($t::BITS).map_or(-1, |m| m - 1);
            each(fuse([&x, &y], |[x, y]| x.mul_hi(y)), &|a, b| {
                (((a as $wide & mask) as u128 * (b as $wide & mask) as u128) >> $t::BITS) as $t
            });
            let lt = x.lt(&y).expect("lt").to_vec::<bool>();
            assert!(a.iter().zip(&b).zip(lt).all(|((a, b), lt)| (a < b) == lt));
            let ne = x.ne(&y).expect("ne").to_vec::<bool>();
            assert!(a.iter().zip(&b).zip(ne).all(|((a, b), ne)| (a != b) == ne));
        })* };
    }
    check!(i8 i128, i16 i128, i32 i128, i64 i128, u8 i128, u16 i128, u32 i128, u64 i128);
}

/// Floats: what IEEE says; narrow ones compute in f32 and round once.
#[test]
fn floats_follow_ieee() {
    fn check<E: Element>(tell: fn(f32, f32) -> [f32; 6]) {
        let values: Vec<E> = awkward().into_iter().map(E::from_lit).collect();
        let n = values.len();
        let x = T::from_slice(&values, &[n, 1], &CPU);
        let y = T::from_slice(&values, &[n], &CPU);
        let ops: [fn(&T, &T) -> numr_core::Result<T>; 6] = [
            |x, y| x.add(y),
            |x, y| x.sub(y),
            |x, y| x.mul(y),
            |x, y| x.div(y),
            |x, y| x.maximum(y),
            |x, y| x.minimum(y),
        ];
        for (k, op) in ops.iter().enumerate() {
            let got = op(&x, &y).expect("op").to_vec::<E>();
            for (i, &a) in values.iter().enumerate() {
                for (j, &b) in values.iter().enumerate() {
                    let expected = E::from_f32(tell(a.to_f32(), b.to_f32())[k]);
                    let g = got[i * n + j];
                    let same = expected == g || (expected != expected && g != g);
                    assert!(same, "op {k} of {a:?} and {b:?}: {g:?}, not {expected:?}");
                }
            }
        }
    }
    let tell = |a: f32, b: f32| {
        let nan = a.is_nan() || b.is_nan();
        let [max, min] = if nan { [f32::NAN; 2] } else { [a.max(b), a.min(b)] };
        [a + b, a - b, a * b, a / b, max, min]
    };
    check::<f32>(tell);
    check::<f16>(tell);
    check::<bf16>(tell);
}

#[test]
fn complex_numbers() {
    type C = Complex<f64>;
    let values: Vec<C> = (0..40).map(|i| C::new(f64::from(i) * 0.5 - 7.0, f64::from(i * i % 13) - 5.5)).collect();
    let (x, y) = (T::from_slice(&values, &[40, 1], &CPU), T::from_slice(&values, &[40], &CPU));
    let close = |got: numr_core::Result<T>, f: &dyn Fn(C, C) -> C| {
        let got = got.expect("complex").to_vec::<C>();
        for (k, g) in got.iter().enumerate() {
            let e = f(values[k / 40], values[k % 40]);
            assert!((g - e).norm() <= 1e-15 * (1.0 + e.norm()), "{g} not {e}");
        }
    };
    close(x.add(&y), &|a, b| a + b);
    close(x.sub(&y), &|a, b| a - b);
    close(x.mul(&y), &|a, b| a * b);
    close(x.div(&y), &|a, b| a / b);
    let abs = x.abs().expect("abs");
    assert!(abs.to_vec::<f64>().iter().zip(&values).all(|(a, v)| (a - v.norm()).abs() <= 1e-15 * v.norm()));
    assert_eq!(x.real().expect("re").to_vec::<f64>(), values.iter().map(|v| v.re).collect::<Vec<_>>());
    assert_eq!(x.imag().expect("im").to_vec::<f64>(), values.iter().map(|v| v.im).collect::<Vec<_>>());
    assert_eq!(x.conj().expect("conj").to_vec::<C>(), values.iter().map(|v| v.conj()).collect::<Vec<_>>());
    let again = x.real().and_then(|re| re.complex(&x.imag()?)).expect("complex");
    assert!(again.eq(&x).expect("eq").to_vec::<bool>().iter().all(|&e| e));
    // Neither squares that overflow nor a zero divisor spoil a quotient.
    let big = T::from_slice(&[C::new(1e200, 1e200), C::new(1.0, 0.0)], &[2], &CPU);
    let by = T::from_slice(&[C::new(1e200, 0.0), C::new(0.0, 0.0)], &[2], &CPU);
    let q = big.div(&by).expect("div").to_vec::<C>();
    assert_eq!(q[0], C::new(1.0, 1.0));
    assert!(q[1].re.is_infinite());
}

#[test]
fn leaves_scalars_and_several_results() {
    let shape = [3, 70, 5];
    let factors = [10_000, 100, 3, 1_000_000].map(Lit::Int);
    let x = T::try_from_expr(&shape, &factors, &CPU, |a, s| {
        a.coord(0) * s[0] + a.coord(1) * s[1] + a.coord(2) * s[2] + a.index() * s[3]
    });
    let x = x.expect("coordinates").to_vec::<i64>();
    for (i, &v) in x.iter().enumerate() {
        let (a, b, c) = (i / 350, i / 5 % 70, i % 5);
        assert_eq!(v, (a * 10_000 + b * 100 + c * 3 + i * 1_000_000) as i64);
    }
    let x = T::from_slice(&[1.0f32, -2.0, 3.0], &[3], &CPU);
    let both = fuse_many([&x], |[x]| [x * x + 1.0, x.relu(), x, x * x + 1.0]).expect("fuse");
    assert_eq!(both[0].to_vec::<f32>(), [2.0, 5.0, 10.0]);
    assert_eq!(both[1].to_vec::<f32>(), [1.0, 0.0, 3.0]);
    assert_eq!(both[2].to_vec::<f32>(), [1.0, -2.0, 3.0]);
    assert_eq!(both[3].to_vec::<f32>(), [2.0, 5.0, 10.0]);
    assert_eq!(x.mul(2).expect("mul").to_vec::<f32>(), [2.0, -4.0, 6.0]);
    assert_eq!(x.clamp(-1.0, 2.5).expect("clamp").to_vec::<f32>(), [1.0, -1.0, 2.5]);
    for dtype in DType::ALL {
        assert!(bits(&T::zeros(&[2, 3], dtype, &CPU)).iter().all(|&b| b == 0));
        let one = dispatch_dtype!(dtype, E => bits(&T::from_slice(&[E::one(); 6], &[6], &CPU)));
        assert_eq!(bits(&T::ones(&[2, 3], dtype, &CPU)), one);
    }
}

/// A chain of many steps, with more values alive than fit a plan's first places, in blocks and out of them.
#[test]
fn long_expressions() {
    let n = 2000;
    let values: Vec<f64> = (0..n).map(|i| f64::from(i) * 1e-3).collect();
    let x = T::from_slice(&values, &[n as usize], &CPU);
    let y = fuse([&x], |[x]| {
        let powers: Vec<_> = (1..40).map(|k| x * f64::from(k) + 1.0).collect();
        powers.iter().rev().fold(x, |s, &p| s * 0.5 + p)
    });
    let expected = |x: f64| (1..40).map(|k| x * f64::from(k) + 1.0).rev().fold(x, |s, p| s * 0.5 + p);
    assert_eq!(y.expect("fuse").to_vec::<f64>(), values.iter().map(|&v| expected(v)).collect::<Vec<_>>());
}

#[test]
fn threads_do_not_change_results() {
    let n = 300_001;
    let x = T::try_from_expr(&[n], &[], &CPU, |a, _| a.index().cast(DType::F32) * 1e-3).expect("index");
    let make = || {
        let t = x.narrow(0, 0, 300_000).and_then(|x| x.reshape(&[500, 600])?.t()).expect("t");
        let z = t.exp().and_then(|e| e.add(&t)?.gelu()).expect("ops");
        (bits(&z), bits(&x.sin().expect("sin")), bits(&t.contiguous()))
    };
    let one = with_threads(1, make);
    for threads in [2, 5] {
        assert!(with_threads(threads, make) == one, "{threads} threads");
    }
}

/// A block whose angles are all small takes a shorter kernel than one with a huge angle in it.
#[test]
fn circular_functions_do_not_depend_on_the_neighbours() {
    let mut values: Vec<f64> = (0..5000).map(|i| f64::from(i - 2500) * 0.37).collect();
    let alone = T::from_slice(&values, &[5000], &CPU);
    let (sin, cos) = (alone.sin().expect("sin").to_vec::<f64>(), alone.cos().expect("cos").to_vec::<f64>());
    for (at, huge) in [(10, 1e300), (1030, f64::INFINITY), (4999, f64::NAN)] {
        values[at] = huge;
    }
    let mixed = T::from_slice(&values, &[5000], &CPU);
    for (f, expected) in [(mixed.sin(), sin), (mixed.cos(), cos)] {
        let got = f.expect("a circular function").to_vec::<f64>();
        for (k, (got, expected)) in got.iter().zip(&expected).enumerate() {
            match k {
                10 => assert!(got.abs() <= 1.0),
                1030 | 4999 => assert!(got.is_nan()),
                _ => assert_eq!(got, expected, "element {k}"),
            }
        }
    }
    let far = mixed.narrow(0, 10, 1).and_then(|x| x.sin()).expect("sin").to_vec::<f64>()[0];
    assert!((far - 1e300f64.sin()).abs() < 1e-15);
}
