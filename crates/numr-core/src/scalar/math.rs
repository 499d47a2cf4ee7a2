//! Elementary functions written once over [`super::Float`]: [`single`] for 32-bit and [`double`] for 64-bit numbers.
//!
//! A body is the CPU kernel, the CUDA function and the WGSL function at once. Method: reduce the argument, evaluate a
//! minimax polynomial, reconstruct; the coefficients are made by `xtask/gen/minimax.py` (Remez exchange in 300 bits).
//! Both widths share the bodies below; what differs is a table of constants, `Width`.
//!
//! Rules kept here: straight-line code, no table look-up, no step that relies on `mul_add` being fused or on its being
//! unfused. An exact split clears low bits of the pattern, which no compiler re-associates away. Where a body adds back
//! what a sum rounded off (`r0 - (r0 + c) + c`: the reductions of expm1 and of the circular functions, π/2 - y, erfc), a
//! compiler that re-associates loses that correction and about one ulp, no more.
//!
//! `sin`, `cos` and `tan` carry Payne and Hanek's reduction for huge arguments, four times the work of the rest. A kernel
//! that finds every |x| of a block below `TRIG_LIMIT` may run `sin_bounded` and `cos_bounded`, which give the same bits.
//!
//! Largest errors seen, in ulp, fused and unfused: f32 on all 2³² numbers for the first eight, on every fifth for
//! the others, pow on 12 million pairs; f64 on 60 to 600 thousand points against MPFR. Time: µs for 10⁶ numbers in cache on one Zen 4
//! core at 3.7 GHz with AVX-512 (fused multiply-adds alone: 17 each in f32).
//!
//! | function | f32 | f64 | f32 µs | f64 µs |
//! |---|---|---|---|---|
//! | exp | 1.02, 0.99 | 0.96, 0.95 | 220 | 630 |
//! | expm1 | 1.43, 1.56 | 1.57, 1.46 | 270 | 730 |
//! | ln | 0.83, 0.90 | 0.88, 0.88 | 390 | 890 |
//! | log1p | 1.43, 1.50 | 1.39, 1.30 | 390 | 940 |
//! | sin, bounded | 1.30, 1.30 | 1.50, 1.50 | 1550, 350 | 4900, 930 |
//! | cos, bounded | 1.30, 1.31 | 1.51, 1.51 | 1570, 350 | 4900, 930 |
//! | tanh | 1.47, 1.46 | 1.41, 1.37 | 360 | 1060 |
//! | erf | 1.13, 1.20 | 1.10, 1.14 | 500 | 1970 |
//! | pow | 1.02, 1.27 | 1.54, 1.90 | 1500 | 3570 |
//! | exp2 | 0.92, 1.19 | 0.78, 0.99 | 170 | 500 |
//! | log2, log10 | 0.51, 0.51 | 0.50, 0.50 | 800 | 1800 |
//! | tan | 1.64, 1.68 | 1.72, 1.59 | 2000 | 5900 |
//! | asin, acos | 1.27, 1.27 | 1.18, 1.29 | 340 | 970 |
//! | atan | 1.52, 1.61 | 1.20, 1.15 | 310 | 900 |
//! | sinh | 1.62, 1.62 | 1.49, 1.49 | 360 | 1070 |
//! | cosh | 1.47, 1.43 | 1.41, 1.34 | 255 | 740 |
//! | asinh | 1.28, 1.35 | 1.17, 1.26 | 680 | 1790 |
//! | acosh | 1.53, 1.60 | 1.42, 1.43 | 700 | 1870 |
//! | atanh | 1.04, 1.05 | 1.03, 1.03 | 710 | 1800 |
//! | cbrt | 0.51, 0.52 | 0.50, 0.50 | 810 | 1650 |
//! | erfc | 1.77, 1.90 | 1.55, 1.55 | 1150 | 3180 |

mod circular;
pub(crate) mod complex;
pub mod double;
mod hyperbolic;
pub mod single;

#[cfg(test)]
mod tests;

use super::{Float, Int, Scalar};
use circular::{acos, asin, atan, tan};
use hyperbolic::{acosh, asinh, atanh, cosh, sinh, tanh};
use std::f64::consts::{FRAC_2_PI, LOG2_E};

/// The constants of one floating-point format. Polynomials list the lowest power first.
trait Width {
    /// Stored bits of the significand.
    const MANTISSA: i64;
    /// Bits of a number.
    const BITS: i64;
    /// The pattern of 1.
    const ONE: i64;
    /// The pattern of -0.
    const SIGN: i64;
    /// The smallest normal number.
    const MIN_POSITIVE: f64;
    /// Low bits that [`head`] clears: a product of two heads is exact.
    const TAIL_BITS: i64;
    /// ln 2 as two parts, the first with so many trailing zeros that its product with an exponent is exact.
    const LN2: [f64; 2];
    /// Where eˣ is surely 0 and surely infinite.
    const EXP_RANGE: [f64; 2];
    /// (eʳ - 1 - r)/r² on ±ln2/2, best relative to eʳ.
    const EXP: &[f64];
    /// (eʳ - 1 - r)/r² on ±ln2/2, best relative to eʳ - 1.
    const EXPM1: &[f64];
    /// (2ʳ - 1)/r on ±1/2.
    const EXP2: &[f64];
    /// Below this, eˣ - 1 is -1.
    const EXPM1_LOW: f64;
    /// |x| below this is its own expm1, log1p.
    const TINY: f64;
    /// tanh is 1 from here on.
    const TANH_HIGH: f64;
    /// (tanh x - x)/x³ in x² as a quotient of polynomials, |x| <= 0.55.
    const TANH: [&[f64]; 2];
    /// (erf x)/x - 1 in x², |x| < 0.9.
    const ERF: &[f64];
    /// (-ln erfc x)/x, x from 0.89 to [`Self::ERF_HIGH`].
    const ERFC: &[f64];
    /// (tan r - r)/r³ in r² as a quotient, |r| <= π/4; also for the others up to the given |x|.
    const TAN: [&[f64]; 2];
    /// (1/r - cot r)/r in r², |r| <= π/4.
    const COT: &[f64];
    /// asin, |x| <= 0.5.
    const ASIN: [&[f64]; 2];
    /// atan, |x| <= 1.
    const ATAN: [&[f64]; 2];
    /// (sinh x - x)/x³ in x², |x| <= 1.
    const SINH: &[f64];
    /// asinh, |x| <= 1.2.
    const ASINH: [&[f64]; 2];
    /// atanh, |x| <= 0.5.
    const ATANH: [&[f64]; 2];
    /// (acosh(1 + t)/√(2t) - 1)/t, t <= 1.
    const ACOSH: [&[f64]; 2];
    /// e^(x²)·(x + ½)·erfc x - 5/8 in 1/(x + ½) as a quotient, x >= 0.5.
    const ERFCX: [&[f64]; 2];
    /// erfc is 0 from here on.
    const ERFC_HIGH: f64;
    /// log10 2: a head and the rest.
    const LOG10_2: [f64; 2];
    /// Low bits to clear so that the cube of a number is exact.
    const CUBE_TAIL_BITS: i64;
    /// erf is 1 from here on.
    const ERF_HIGH: f64;
    /// π/2 in four parts; multiples of the first three by whole numbers below the limit's are exact.
    const HALF_PI: [f64; 4];
    /// π/2 rounded, and the rest.
    const HALF_PI_2: [f64; 2];
    /// (sin r - r)/r³ in r², |r| <= π/4.
    const SIN: &[f64];
    /// (cos r - 1 + r²/2)/r⁴ in r², |r| <= π/4.
    const COS: &[f64];
    /// The largest |x| that four parts of π/2 reduce well.
    const TRIG_LIMIT: f64;
    /// 2/ln2: a head and the rest.
    const LOG2: [f64; 2];
    /// (log2((1+s)/(1-s)) - 2s/ln2)/s³ in s², |s| <= 0.0446.
    const LOG2_S: &[f64];
    /// log2 of the centres 0.83984375, 1.1875 and 1.4140625: a multiple of a small power of two, and the rest.
    const LOG2_C: [[f64; 2]; 3];
    /// Where 2ˣ is surely 0 and surely infinite.
    const POW_RANGE: [f64; 2];
    /// The high half of the product of two words read as unsigned, the first below 2^(MANTISSA + 1).
    fn mul_hi<T: Float>(a: T::Bits, b: T::Bits) -> T::Bits;
    /// A zero word, then the bits of 2/π as far as the largest number needs them.
    const TWO_OVER_PI: &[i64];
    /// e·ln 2 + ln(1 + f) for a whole number e.
    fn log_sum<T: Float>(e: T, f: T) -> T;
}

/// c₀ + c₁x + c₂x² + ...
#[inline(always)]
fn horner<T: Scalar>(x: T, c: &[f64]) -> T {
    let (last, rest) = c.split_last().unwrap_or((&0.0, &[]));
    rest.iter().rev().fold(T::lit(*last), |sum, &c| sum.mul_add(x, T::lit(c)))
}

/// 2ⁿ.
const fn two_to(n: i64) -> f64 {
    f64::from_bits(((1023 + n) as u64) << 52)
}

/// What x³·P(x²)/Q(x²) adds to `x` in an odd series.
#[inline(always)]
fn odd_tail<T: Scalar>(x: T, [p, q]: [&[f64]; 2]) -> T {
    let z = x * x;
    (x * z) * (horner(z, p) / horner(z, q))
}

/// The smaller of `x` and `high`; NaN stays. One instruction, unlike [`Scalar::min`], which looks at both sides.
#[inline(always)]
fn at_most<T: Scalar>(x: T, high: f64) -> T {
    T::select(T::lit(high).lt(x), T::lit(high), x)
}

/// √(x² + y²) without overflow or underflow on the way; infinite if one is, even beside NaN. The modulus of a complex
/// number on every device.
#[inline(always)]
pub fn hypot<T: Float>(x: T, y: T) -> T {
    let (a, b, zero, infinity) = (x.abs(), y.abs(), T::lit(0.0), T::lit(f64::INFINITY));
    let (large, small) = (T::select(a.lt(b), b, a), T::select(a.lt(b), a, b));
    let r = small / large;
    let y = T::select(large.eq(zero), large + small, large * r.mul_add(r, T::lit(1.0)).sqrt());
    T::select(a.eq(infinity) | b.eq(infinity), infinity, y)
}

/// The larger of `x` and `low`; NaN stays.
#[inline(always)]
fn at_least<T: Scalar>(x: T, low: f64) -> T {
    T::select(x.lt(T::lit(low)), T::lit(low), x)
}

#[inline(always)]
fn int<T: Float>(v: i64) -> T::Bits {
    T::Bits::int(v)
}

/// `x` without the low half of its significand.
#[inline(always)]
fn head<W: Width, T: Float>(x: T) -> T {
    T::from_bits(x.to_bits() & int::<T>(-1 << W::TAIL_BITS))
}

/// a·b as an unevaluated sum of two numbers, by Dekker's products of halves; exact up to the last bit of the tail.
#[inline(always)]
fn two_prod<W: Width, T: Float>(a: T, b: T) -> (T, T) {
    let p = (a * b).keep();
    let (a1, b1) = (head::<W, T>(a), head::<W, T>(b));
    let (a2, b2) = (a - a1, b - b1);
    (p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2)
}

/// `x` with its sign turned where `by` has its sign bit set.
#[inline(always)]
fn flip<W: Width, T: Float>(x: T, by: T::Bits) -> T {
    T::from_bits(x.to_bits() ^ (by & int::<T>(W::SIGN)))
}

/// The pattern of `1.5·2^MANTISSA + n + k`: the low bits are the whole number `n + k` in two's complement.
#[inline(always)]
fn low_bits<W: Width, T: Float>(n: T, k: i64) -> T::Bits {
    (n + T::lit(1.5 * two_to(W::MANTISSA) + k as f64)).to_bits()
}

/// 2^(n+k) in the normal range.
#[inline(always)]
fn power<W: Width, T: Float>(n: T, k: i64) -> T {
    T::from_bits(low_bits::<W, T>(n, k + (W::ONE >> W::MANTISSA)).shl(int::<T>(W::MANTISSA)))
}

/// p·2ⁿ for a whole `n` in twice the exponent's range. Two steps: subnormal results round once and nothing overflows
/// early. NaN stays.
#[inline(always)]
fn scale<W: Width, T: Float>(p: T, n: T) -> T {
    // Biased exponents of the two steps: n + 2·bias, halved.
    let i = low_bits::<W, T>(n, 2 * (W::ONE >> W::MANTISSA));
    let half = i.shr_logical(int::<T>(1));
    let power = |i: T::Bits| T::from_bits(i.shl(int::<T>(W::MANTISSA)));
    p * power(half) * power(i - half)
}

/// x = n·ln 2 + r.
#[inline(always)]
fn reduce_exp<W: Width, T: Float>(x: T) -> (T, T) {
    let n = (x * T::lit(LOG2_E)).round();
    (n, n.mul_add(T::lit(-W::LN2[1]), n.mul_add(T::lit(-W::LN2[0]), x).keep()))
}

/// eʳ.
#[inline(always)]
fn exp_near<W: Width, T: Float>(r: T) -> T {
    (r * r).mul_add(horner(r, W::EXP), r) + T::lit(1.0)
}

/// eˣ where it is neither subnormal nor infinite.
#[inline(always)]
fn exp_normal<W: Width, T: Float>(x: T) -> T {
    let (n, r) = reduce_exp::<W, T>(x);
    exp_near::<W, T>(r) * power::<W, T>(n, 0)
}

#[inline(always)]
fn exp<W: Width, T: Float>(x: T) -> T {
    let (n, r) = reduce_exp::<W, T>(at_least(at_most(x, W::EXP_RANGE[1]), W::EXP_RANGE[0]));
    scale::<W, T>(exp_near::<W, T>(r), n)
}

/// (eˣ - 1)/2 for `x` not far below [`Width::EXPM1_LOW`].
#[inline(always)]
fn half_expm1<W: Width, T: Float>(x: T) -> T {
    let n = (x * T::lit(LOG2_E)).round();
    // r in two parts: next to n = ±1 the error of one would show twice.
    let r0 = n.mul_add(T::lit(-W::LN2[0]), x).keep();
    let r = n.mul_add(T::lit(-W::LN2[1]), r0).keep();
    let r2 = n.mul_add(T::lit(-W::LN2[1]), r0 - r);
    let s = power::<W, T>(n, -1);
    s.mul_add((r * r).mul_add(horner(r, W::EXPM1), r2) + r, s - T::lit(0.5))
}

#[inline(always)]
fn exp2<W: Width, T: Float>(x: T) -> T {
    let x = at_least(at_most(x, W::POW_RANGE[1]), W::POW_RANGE[0]);
    let n = x.round();
    scale::<W, T>((x - n).mul_add(horner(x - n, W::EXP2), T::lit(1.0)), n)
}

#[inline(always)]
fn expm1<W: Width, T: Float>(x: T) -> T {
    let y = half_expm1::<W, T>(at_least(at_most(x, W::EXP_RANGE[1]), W::EXPM1_LOW));
    T::select(x.abs().lt(T::lit(W::TINY)), x, y + y)
}

/// x + x·P(x²) up to 0.9, then 1 - e^(-x·Q(x)): the exponent need not be better than the format gives, as erfc is small.
#[inline(always)]
fn erf<W: Width, T: Float>(x: T) -> T {
    let a = at_most(x.abs(), W::ERF_HIGH);
    let small = a.mul_add(horner(a * a, W::ERF), a);
    let large = T::lit(1.0) - exp_normal::<W, T>(-a * horner(a, W::ERFC));
    flip::<W, T>(T::select(a.lt(T::lit(0.9)), small, large), x.to_bits())
}

/// x = m·2^e with `m` from `low` to 2·`low`; `x` normal and positive. Gives (m, e).
#[inline(always)]
fn split<W: Width, T: Float>(x: T, low: f64) -> (T, T::Bits) {
    let (bits, shift) = (x.to_bits(), int::<T>(W::MANTISSA));
    // The pattern of `low`, a number in [½, 1).
    let low = W::ONE - (1 << W::MANTISSA) + ((low * 2.0 - 1.0) * two_to(W::MANTISSA)) as i64;
    let e = (bits - int::<T>(low)).shr(shift);
    (T::from_bits(bits - e.shl(shift)), e)
}

/// [`split`] for any positive `x`, with the exponent as a number.
#[inline(always)]
fn split_any<W: Width, T: Float>(x: T, low: f64) -> (T, T) {
    let tiny = x.lt(T::lit(W::MIN_POSITIVE));
    let up = W::MANTISSA + 1;
    let (m, e) = split::<W, T>(T::select(tiny, x * T::lit(two_to(up)), x), low);
    (m, T::from_int(e) + T::select(tiny, T::lit(-up as f64), T::lit(0.0)))
}

/// Where a logarithm's significand starts: √½, so that ln is accurate about 1.
const LOW: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// `y` for finite x > 0, else what a logarithm gives there: -∞ at 0, NaN below, `x` for infinite and NaN `x`.
#[inline(always)]
fn log_edges<T: Float>(x: T, y: T) -> T {
    let y = T::select(x.eq(T::lit(0.0)), T::lit(f64::NEG_INFINITY), y);
    let y = T::select(x.lt(T::lit(f64::INFINITY)), y, x);
    T::select(x.lt(T::lit(0.0)), T::lit(f64::NAN), y)
}

#[inline(always)]
fn ln<W: Width, T: Float>(x: T) -> T {
    let (m, e) = split_any::<W, T>(x, LOW);
    log_edges(x, W::log_sum(e, m - T::lit(1.0)))
}

/// The sum 1 + x serves only to choose e; f = 2^-e·x + (2^-e - 1) is rounded once and is x itself near 0.
#[inline(always)]
fn log1p<W: Width, T: Float>(x: T) -> T {
    let one = T::lit(1.0);
    let u = one + x;
    let (_, e) = split::<W, T>(u, LOW);
    let e = T::from_int(e);
    // 2^-e could be subnormal for the largest x, its fourfold is not.
    let s = power::<W, T>(-e, 2);
    let f = s.mul_add(x * T::lit(0.25), s.mul_add(T::lit(0.25), -one).keep());
    let y = log_edges(u, W::log_sum(e, f));
    T::select(x.abs().lt(T::lit(W::TINY)), x, y)
}

/// An angle as quadrant·π/2 + r + r2: the quadrant in the low bits, |r + r2| <= π/4, `r2` small beside `r` unless the sum is.
type Angle<T> = (<T as Float>::Bits, T, T);

/// 0 <= a < [`Width::TRIG_LIMIT`], by Cody and Waite.
#[inline(always)]
fn reduce_bounded<W: Width, T: Float>(a: T) -> Angle<T> {
    let n = (a * T::lit(FRAC_2_PI)).round();
    let [p0, p1, p2, p3] = W::HALF_PI.map(|part| T::lit(-part));
    let r0 = n.mul_add(p1, n.mul_add(p0, a).keep()).keep();
    let r = n.mul_add(p2, r0).keep();
    (low_bits::<W, T>(n, 0), r, n.mul_add(p3, n.mul_add(p2, r0 - r)))
}

/// The same for any larger `a`, by Payne and Hanek: significand times those bits of 2/π that are worth less than 4,
/// in fixed point.
#[inline(always)]
fn reduce_large<W: Width, T: Float>(a: T) -> Angle<T> {
    let i = int::<T>;
    let bits = a.to_bits();
    let significand = (bits & i((1 << W::MANTISSA) - 1)) | i(1 << W::MANTISSA);
    // a = significand·2^(exponent - bias - MANTISSA). The first bit of 2/π that counts is worth 2 after the product.
    let exponent = bits.shr_logical(i(W::MANTISSA));
    let first = exponent - i((W::ONE >> W::MANTISSA) + W::MANTISSA + 2 - W::BITS);
    let (word, shift) = (first.shr_logical(i(W::BITS.ilog2() as i64)), first & i(W::BITS - 1));
    let [mut w0, mut w1, mut w2, mut w3] = [i(0); 4];
    for (k, t) in W::TWO_OVER_PI.windows(4).enumerate() {
        let here = word.eq(i(k as i64));
        let pick = |t: i64, w: T::Bits| T::Bits::select(here, i(t), w);
        (w0, w1, w2, w3) = (pick(t[0], w0), pick(t[1], w1), pick(t[2], w2), pick(t[3], w3));
    }
    let join = |high: T::Bits, low: T::Bits| high.shl(shift) | low.shr_logical(i(W::BITS) - shift);
    let (w0, w1, w2) = (join(w0, w1), join(w1, w2), join(w2, w3));
    // The product modulo 4: two bits of quadrant, then 2·BITS - 2 bits of fraction in (top, mid).
    let (low, add) = (significand * w1, W::mul_hi::<T>(significand, w2));
    let mid = low + add;
    let carry = ((low & add) | ((low | add) & !mid)).shr_logical(i(W::BITS - 1));
    let top = significand * w0 + W::mul_hi::<T>(significand, w1) + carry;
    let quadrant = (top + i(1 << (W::BITS - 3))).shr_logical(i(W::BITS - 2));
    let fraction = top - quadrant.shl(i(W::BITS - 2));
    // Its magnitude, as a number of MANTISSA + 1 bits and a remainder.
    let negative = fraction.shr(i(W::BITS - 1));
    let (top, mid) = (fraction ^ negative, mid ^ negative);
    let rest = i((1 << (W::BITS - 4 - W::MANTISSA)) - 1);
    let unit = T::lit(two_to(2 - W::BITS));
    let x1 = T::from_int(top & !rest) * unit;
    let x2 =
        T::from_int(mid.shr_logical(i(1))).mul_add(T::lit(two_to(3 - 2 * W::BITS)), T::from_int(top & rest) * unit);
    let c = T::lit(W::HALF_PI_2[0]);
    let (p, e) = two_prod::<W, T>(x1, c);
    let tail = e + x1.mul_add(T::lit(W::HALF_PI_2[1]), x2 * c);
    (quadrant, flip::<W, T>(p, negative), flip::<W, T>(tail, negative))
}

/// sin of an angle, given one part of its sum at a time so that only the last addition rounds.
#[inline(always)]
fn turn<W: Width, T: Float>((quadrant, r, r2): Angle<T>) -> T {
    let z = r * r;
    let sin = (r * z).mul_add(horner(z, W::SIN), r2) + r;
    let cos = z.mul_add(T::lit(-0.5), T::lit(1.0)) + (z * z).mul_add(horner(z, W::COS), -(r * r2));
    let odd = (quadrant & int::<T>(1)).ne(int::<T>(0));
    flip::<W, T>(T::select(odd, cos, sin), quadrant.shl(int::<T>(W::BITS - 2)))
}

/// cos of an angle: sin a quadrant on.
#[inline(always)]
fn turn_cos<W: Width, T: Float>((quadrant, r, r2): Angle<T>) -> T {
    turn::<W, T>((quadrant + int::<T>(1), r, r2))
}

#[inline(always)]
fn reduce<W: Width, T: Float>(a: T) -> Angle<T> {
    let ((q, r, r2), (p, s, s2)) = (reduce_bounded::<W, T>(a), reduce_large::<W, T>(a));
    let small = a.lt(T::lit(W::TRIG_LIMIT));
    (T::Bits::select(small, q, p), T::select(small, r, s), T::select(small, r2, s2))
}

#[inline(always)]
fn finite<T: Float>(a: T, y: T) -> T {
    T::select(a.lt(T::lit(f64::INFINITY)), y, T::lit(f64::NAN))
}

#[inline(always)]
fn sin<W: Width, T: Float>(x: T) -> T {
    let a = x.abs();
    finite(a, flip::<W, T>(turn::<W, T>(reduce::<W, T>(a)), x.to_bits()))
}

#[inline(always)]
fn cos<W: Width, T: Float>(x: T) -> T {
    let a = x.abs();
    finite(a, turn_cos::<W, T>(reduce::<W, T>(a)))
}

#[inline(always)]
fn sin_bounded<W: Width, T: Float>(x: T) -> T {
    flip::<W, T>(turn::<W, T>(reduce_bounded::<W, T>(x.abs())), x.to_bits())
}

#[inline(always)]
fn cos_bounded<W: Width, T: Float>(x: T) -> T {
    turn_cos::<W, T>(reduce_bounded::<W, T>(x.abs()))
}

/// log2 x as a [`head`] and a tail, for x > 0 finite. The significand's nearest of four centres c leaves
/// s = (m - c)/(m + c) so small that only the linear term of the series needs more than one number.
#[inline(always)]
fn log2_parts<W: Width, T: Float>(x: T) -> (T, T) {
    let l = T::lit;
    let (m, e) = split_any::<W, T>(x, 0.7711);
    let pick = |values: [f64; 4]| {
        let upper = T::select(m.lt(l(1.297)), l(values[2]), l(values[3]));
        T::select(m.lt(l(0.915)), l(values[0]), T::select(m.lt(l(1.0905)), l(values[1]), upper))
    };
    let c = pick([0.83984375, 1.0, 1.1875, 1.4140625]);
    let [[a, a2], [b, b2], [d, d2]] = W::LOG2_C;
    let base = e + pick([a, 0.0, b, d]);
    let f = m - c;
    let sum = m + c;
    let sum1 = head::<W, T>(sum);
    let sum2 = m - (sum1 - c);
    let inverse = T::lit(1.0) / sum;
    let s1 = head::<W, T>(f * inverse);
    let s2 = ((f - s1 * sum1).keep() - s1 * sum2) * inverse;
    let s = s1 + s2;
    let z = s * s;
    let linear = s1 * l(W::LOG2[0]);
    let tail = (s * z).mul_add(horner(z, W::LOG2_S), s1.mul_add(l(W::LOG2[1]), s2 * l(W::LOG2[0] + W::LOG2[1])))
        + pick([a2, 0.0, b2, d2]);
    let high = head::<W, T>(base + (linear + tail));
    (high, ((base - high) + linear) + tail)
}

#[inline(always)]
fn log2<W: Width, T: Float>(x: T) -> T {
    let (high, tail) = log2_parts::<W, T>(x);
    log_edges(x, high + tail)
}

#[inline(always)]
fn log10<W: Width, T: Float>(x: T) -> T {
    let (high, tail) = log2_parts::<W, T>(x);
    let [c, rest] = W::LOG10_2.map(T::lit);
    log_edges(x, (high * c).keep() + high.mul_add(rest, tail * (c + rest)))
}

/// m·8^k with m from 1 to 8: a cubic start, then y·∛(m/y³) from the series in r = m/y³ - 1, where the last y is so short
/// that y³ is exact.
#[inline(always)]
fn cbrt<W: Width, T: Float>(x: T) -> T {
    let a = x.abs();
    let (m, e) = split_any::<W, T>(a, 0.5);
    // e - 1 = 3k + 0, 1, 2; the fraction is never near a whole number.
    let k = ((e - T::lit(0.5)) * T::lit(1.0 / 3.0)).floor();
    let m = m * power::<W, T>(k.mul_add(T::lit(-3.0), e), 0);
    let refine = |y: T| {
        let cube = y * y * y;
        let r = (m - cube) / cube;
        let series = horner(r, &[1.0 / 3.0, -1.0 / 9.0, 5.0 / 81.0, -10.0 / 243.0]);
        (y * r).mul_add(series, y)
    };
    let y = refine(horner(m, &[0.62729686, 0.4491914, -0.083774164, 0.009583671, -0.00043209255]));
    let y = T::from_bits(y.to_bits() & int::<T>(-1 << W::CUBE_TAIL_BITS));
    let y = flip::<W, T>(refine(y) * power::<W, T>(k, 0), x.to_bits());
    T::select(a.gt(T::lit(0.0)) & a.lt(T::lit(f64::INFINITY)), y, x)
}

/// (1 - x) - x·P(x²) for |x| < 0.8; then e^(-x²)·t·(5/8 + P(t)/Q(t)) with t = 1/(x + ½), the square in two parts;
/// 2 minus that for negative `x`.
#[inline(always)]
fn erfc<W: Width, T: Float>(x: T) -> T {
    let (a, one) = (at_most(x.abs(), W::ERFC_HIGH), T::lit(1.0));
    let small = (one - x) - x * horner(x * x, W::ERF);
    let shifted = a + T::lit(0.5);
    let t = one / shifted;
    let [p, q] = W::ERFCX;
    let (c, part) = (T::lit(0.625), horner(t, p) / horner(t, q));
    let top = (c + part).keep();
    let factor = top / shifted;
    let a1 = head::<W, T>(a);
    let (square, rest) = (a1 * a1, (a - a1) * (a + a1));
    let n = ((square + rest) * T::lit(-LOG2_E)).round();
    let (r1, r2) = (n.mul_add(T::lit(-W::LN2[0]), -square).keep(), n.mul_add(T::lit(-W::LN2[1]), -rest));
    let r = (r1 + r2).keep();
    // The factor times eʳ, its product with r exact: what factor·(x + ½) lacks of `top`, which is 0.6 or near it, and `top` and r of
    // their sums goes into the exponent.
    let (product, tail) = two_prod::<W, T>(factor, a);
    let lack = (((top - product) - factor * T::lit(0.5)) - tail) + ((c - top) + part);
    let miss = lack.mul_add(T::lit(1.0 / 0.6), (r1 - r) + r2);
    let more = (r * r).mul_add(horner(r, W::EXP), miss);
    let (f1, g1) = (head::<W, T>(factor), head::<W, T>(r));
    let growth = f1 * g1 + (factor - f1).mul_add(g1, factor * ((r - g1) + more));
    let large = scale::<W, T>(factor + growth, n);
    let large = T::select(x.lt(T::lit(0.0)), T::lit(2.0) - large, large);
    T::select(a.lt(T::lit(0.8)), small, large)
}

/// 2^(y·log2|x|), the product in two parts; then the cases of IEEE 754.
#[inline(always)]
fn pow<W: Width, T: Float>(x: T, y: T) -> T {
    let (zero, one, infinity) = (T::lit(0.0), T::lit(1.0), T::lit(f64::INFINITY));
    let a = x.abs();
    let (l1, l2) = log2_parts::<W, T>(a);
    // Past this the result is 0, 1 or infinite whatever the base, and the parts below stay finite.
    let limit = two_to(W::MANTISSA + 14);
    let e = at_least(at_most(y, limit), -limit);
    let e1 = head::<W, T>(e);
    let (p, p2) = (e1 * l1, (e - e1).mul_add(l1, e * l2));
    let n = at_least(at_most(p + p2, W::POW_RANGE[1]), W::POW_RANGE[0]).round();
    let r = at_least(at_most((p - n).keep() + p2, 1.0), -1.0);
    let size = scale::<W, T>(r.mul_add(horner(r, W::EXP2), one), n);

    let (null, infinite) = (a.eq(zero), a.eq(infinity));
    let size = T::select(null | infinite, T::select(null ^ y.lt(zero), zero, infinity), size);
    let whole = y.trunc().eq(y);
    let half = y * T::lit(0.5);
    let odd = whole & half.trunc().ne(half);
    let value = T::select(odd, flip::<W, T>(size, x.to_bits()), size);
    let undefined = x.lt(zero) & !infinite & !whole;
    let value = T::select(undefined, T::lit(f64::NAN), value);
    let value = T::select(x.ne(x) | y.ne(y), x + y, value);
    T::select(y.eq(zero) | x.eq(one), one, value)
}

/// The public functions of one width.
macro_rules! width {
    ($W:ident $($extra:ident)*; $($name:ident $N:ident $doc:literal,)*) => {
        width!(@each $W $($extra)* $($name)*);
        /// `x` to the power `y`, with the special cases of IEEE 754.
        #[inline(always)]
        pub fn pow<T: super::Float>(x: T, y: T) -> T {
            super::pow::<$W, T>(x, y)
        }
    };
    (@each $W:ident $($name:ident)*) => {
        $(
            #[doc = concat!("[`Float`](crate::scalar::Float)'s `", stringify!($name), "` for this width.")]
            #[inline(always)]
            pub fn $name<T: super::Float>(x: T) -> T {
                super::$name::<$W, T>(x)
            }
        )*
    };
}
use width;
