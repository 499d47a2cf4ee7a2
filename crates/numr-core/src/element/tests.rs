use proptest::prelude::*;

use super::*;

/// Every code of a format against the definition of rounding: at, next to and between all neighbours.
fn every_code<T: Element>(of: impl Fn(u32) -> T, code: impl Fn(T) -> u32, format: &Format) {
    assert!(of(format.nan).to_f64().is_nan());
    assert!(T::from_f64(f64::NAN).to_f64().is_nan());
    let value = |c: u32| of(c).to_f64();
    for (sign, bit) in [(1.0, 0), (-1.0, format.sign)] {
        let encode = |v: f64| code(T::from_f64(sign * v));
        for c in 0..format.overflow {
            let (low, high) =
                (value(c), if c + 1 < format.overflow { value(c + 1) } else { 2.0 * value(c) - value(c - 1) });
            assert_eq!(value(c | bit), sign * low);
            let even = c + (c & 1);
            let middle = (low + high) / 2.0;
            for (v, want) in [(low, c), (middle.next_down(), c), (middle, even), (middle.next_up(), c + 1)] {
                assert_eq!(encode(v), want | bit, "{v:e} in {}", T::DTYPE);
                let single = v as f32;
                if f64::from(single) == v {
                    assert_eq!(code(T::from_f32(single * sign as f32)), want | bit, "{v:e} in {}", T::DTYPE);
                }
            }
        }
        for huge in [f64::MAX, f64::INFINITY] {
            assert_eq!(encode(huge), format.overflow | bit);
        }
        for tiny in [0.0, f64::from_bits(1), f64::MIN_POSITIVE] {
            assert_eq!(encode(tiny), bit);
        }
    }
}

#[test]
fn narrow_floats_round_to_nearest_even() {
    every_code(|c| f16::from_bits(c as u16), |v| v.to_bits().into(), &HALF);
    every_code(|c| bf16::from_bits(c as u16), |v| v.to_bits().into(), &BRAIN);
    every_code(|c| FP8E4M3::from_bits(c as u8), |v| v.to_bits().into(), &E4M3);
    every_code(|c| FP8E5M2::from_bits(c as u8), |v| v.to_bits().into(), &E5M2);
}

#[test]
fn fp8_values_are_those_of_the_ocp_tables() {
    let e4m3 = |bits| FP8E4M3::from_bits(bits).to_f32();
    assert_eq!([0x01, 0x07, 0x08, 0x38, 0x7e].map(e4m3), [2f32.powi(-9), 0.875 / 64.0, 1.0 / 64.0, 1.0, 448.0]);
    assert_eq!([0x80, 0xb8, 0xfe].map(e4m3), [0.0, -1.0, -448.0]);
    assert!(e4m3(0x7f).is_nan() && e4m3(0xff).is_nan() && e4m3(0x80).is_sign_negative());
    let e5m2 = |bits| FP8E5M2::from_bits(bits).to_f32();
    assert_eq!(
        [0x01, 0x04, 0x3c, 0x7b, 0xfc].map(e5m2),
        [2f32.powi(-16), 2f32.powi(-14), 1.0, 57344.0, f32::NEG_INFINITY]
    );
    assert!([0x7d, 0x7e, 0x7f].map(e5m2).iter().all(|v| v.is_nan()));
    assert!(FP8E4M3::from_bits(0x7f) != FP8E4M3::from_bits(0x7f));
    assert!(FP8E4M3::from_bits(0x80) == FP8E4M3::from_bits(0) && FP8E4M3::from_bits(0x80).is_zero());
    assert!(FP8E5M2::from_bits(0xfc).is_infinite() && FP8E5M2::from_bits(0xfc).is_negative());
}

#[test]
fn floats_saturate_into_integers() {
    assert_eq!([f64::NAN, -1.5, 255.9, 256.0, f64::INFINITY].map(|v| v.cast::<u8>()), [0, 0, 255, 255, 255]);
    assert_eq!([f32::NEG_INFINITY, 1e30, -0.5].map(|v| v.cast::<i64>()), [i64::MIN, i64::MAX, 0]);
    assert_eq!([f64::NAN, 0.0, -0.0, 1e-300].map(|v| v.cast::<bool>()), [true, false, false, true]);
}

#[test]
fn integers_wrap_into_integers_and_keep_all_bits() {
    assert_eq!((300i64.cast::<u8>(), (-1i8).cast::<u64>(), u64::MAX.cast::<i32>()), (44, u64::MAX, -1));
    assert_eq!((u64::MAX.cast::<u64>(), i64::MIN.cast::<i64>()), (u64::MAX, i64::MIN));
    assert_eq!(((1u64 << 40).cast::<bool>(), true.cast::<i8>(), false.cast::<f16>()), (true, 1, f16::ZERO));
}

#[test]
fn complex_numbers_keep_or_drop_their_imaginary_part() {
    let z = Complex::new(1.5f64, -2.0);
    assert_eq!((z.cast::<Complex<f32>>(), z.cast::<f32>(), z.cast::<i8>()), (Complex::new(1.5, -2.0), 1.5, 1));
    assert!(Complex::new(0.0f32, 1.0).cast::<bool>());
    assert_eq!(2u8.cast::<Complex<f64>>(), Complex::new(2.0, 0.0));
    assert_eq!((Complex::<f32>::zero(), Complex::<f32>::one()), (Complex::new(0.0, 0.0), Complex::new(1.0, 0.0)));
}

#[test]
fn bools_come_from_any_byte() {
    assert_eq!([0, 1, 2, 255].map(bool::from_pod), [false, true, true, true]);
    assert_eq!([false, true].map(Element::to_pod), [0, 1]);
}

#[test]
fn literals_are_equal_by_bits() {
    assert_eq!(Lit::from(f64::NAN), Lit::from(f64::NAN));
    assert_ne!(Lit::from(0.0), Lit::from(-0.0));
    assert_ne!(Lit::from(1i32), Lit::from(1u32));
    assert_ne!(Lit::from(1.0), Lit::from(Complex::new(1.0, 0.0)));
    assert_eq!(Lit::from(1usize), Lit::UInt(1));
    assert_eq!(Lit::from(f16::ONE), Lit::Float(1.0));
    assert_eq!(
        [Lit::from(true), Lit::from(2u8), Lit::from(0.5f32)].map(Lit::weak),
        [Weak::Bool, Weak::Int, Weak::Float]
    );
    assert_eq!(
        [Lit::UInt(u64::MAX), Lit::Float(f64::NAN), Lit::Float(-1e30)].map(Lit::to_i64),
        [i64::MAX, 0, i64::MIN]
    );
    assert_eq!([Lit::Bool(true), Lit::Int(-3), Lit::Complex(2.5, 1.0)].map(Lit::to_f64), [1.0, -3.0, 2.5]);
    assert!(Lit::Float(-0.0).is_zero() && !Lit::Complex(0.0, 1.0).is_zero() && !Lit::Float(f64::NAN).is_zero());
}

/// An integer's distance to what it became is no more than to either neighbour, and less at an odd code.
fn nearest(value: i128, code: u16, of: impl Fn(u16) -> f64) {
    let distance = |c: u16| (of(c) as i128 - value).unsigned_abs();
    for neighbour in [code - 1, code + 1] {
        let (here, there) = (distance(code), distance(neighbour));
        assert!(here < there || here == there && code & 1 == 0, "{value} -> {}", of(code));
    }
}

proptest! {
    #[test]
    fn integers_round_once(v in any::<i64>(), keep in 0u32..56) {
        // Few significant bits at the top and one at the bottom: where rounding to f64 first would make a tie.
        let v = (v >> keep << keep) | 1;
        let of = |c| bf16::from_bits(c).to_f64();
        nearest(v.unsigned_abs().into(), v.unsigned_abs().cast::<bf16>().to_bits(), of);
        nearest(v.into(), v.cast::<bf16>().to_bits(), of);
    }

    #[test]
    fn an_f32_narrows_as_the_f64_it_is(bits in any::<u32>()) {
        fn same<T: Element>(v: f32) -> bool {
            let (a, b) = (T::from_f32(v).to_f64(), T::from_f64(v.into()).to_f64());
            a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
        }
        let v = f32::from_bits(bits);
        prop_assert!(same::<f16>(v) && same::<bf16>(v) && same::<FP8E4M3>(v) && same::<FP8E5M2>(v));
    }
}
