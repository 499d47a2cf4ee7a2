//! Hyperbolic functions and their inverses: an odd series about 0, exponentials and logarithms further out.

use super::super::Float;
use super::{LOW, two_to};
use super::{Width, at_most, exp_near, exp_normal, flip, horner, log_edges, log1p, odd_tail, power, reduce_exp, split};

/// x + x³·P(x²)/Q(x²) up to 0.55; then 1 - 2/(e^(2x) + 1). One division serves both.
#[inline(always)]
pub(super) fn tanh<W: Width, T: Float>(x: T) -> T {
    let a = at_most(x.abs(), W::TANH_HIGH);
    let z = a * a;
    let small = a.lt(T::lit(0.55));
    let top = T::select(small, a * z * horner(z, W::TANH[0]), T::lit(-2.0));
    let bottom = T::select(small, horner(z, W::TANH[1]), exp_normal::<W, T>(a + a) + T::lit(1.0));
    flip::<W, T>(T::select(small, a, T::lit(1.0)) + top / bottom, x.to_bits())
}

/// e^|x|/2, which is finite wherever sinh and cosh are.
#[inline(always)]
fn half_exp<W: Width, T: Float>(a: T) -> T {
    let (n, r) = reduce_exp::<W, T>(at_most(a, W::EXP_RANGE[1] + 1.0));
    let p = exp_near::<W, T>(r);
    (p + p) * power::<W, T>(n, -2)
}

/// x + x³·P(x²) up to 1, then h - 1/(4h) with h = eˣ/2.
#[inline(always)]
pub(super) fn sinh<W: Width, T: Float>(x: T) -> T {
    let a = x.abs();
    let z = a * a;
    let h = half_exp::<W, T>(a);
    let y = T::select(a.lt(T::lit(1.0)), (a * z).mul_add(horner(z, W::SINH), a), h - T::lit(0.25) / h);
    flip::<W, T>(y, x.to_bits())
}

/// h + 1/(4h) with h = e^|x|/2.
#[inline(always)]
pub(super) fn cosh<W: Width, T: Float>(x: T) -> T {
    let h = half_exp::<W, T>(x.abs());
    h + T::lit(0.25) / h
}

/// ln(a + s) for 1 <= a and 0 <= s <= a + 1, without rounding the sum; ln 2a where the square of `a` overflows or `s`
/// is as good as `a`.
#[inline(always)]
fn log_of_sum<W: Width, T: Float>(a: T, s: T) -> T {
    let large = a.gt(T::lit(two_to(W::MANTISSA / 2 + 2)));
    let s = T::select(large, T::lit(0.0), s);
    let (_, e) = split::<W, T>(a + s, LOW);
    let e = T::from_int(e);
    let unit = power::<W, T>(-e, 2);
    let quarter = T::lit(0.25);
    let f = unit.mul_add(a * quarter, unit.mul_add(s * quarter, T::lit(-1.0)).keep());
    W::log_sum(e + T::select(large, T::lit(1.0), T::lit(0.0)), f)
}

/// Up to 1.2 an odd series, then ln(x + √(x² + 1)).
#[inline(always)]
pub(super) fn asinh<W: Width, T: Float>(x: T) -> T {
    let a = x.abs();
    let y = log_edges(a, log_of_sum::<W, T>(a, a.mul_add(a, T::lit(1.0)).sqrt()));
    let y = T::select(a.lt(T::lit(1.2)), a + odd_tail(at_most(a, 1.2), W::ASINH), y);
    flip::<W, T>(y, x.to_bits())
}

/// √(2t)·(1 + t·P(t)/Q(t)) with t = x - 1 up to 2, then ln(x + √(x² - 1)).
#[inline(always)]
pub(super) fn acosh<W: Width, T: Float>(x: T) -> T {
    let one = T::lit(1.0);
    let t = x - one;
    let root = (t + t).sqrt();
    let [p, q] = W::ACOSH;
    let near = (root * t).mul_add(horner(t, p) / horner(t, q), root);
    let far = log_edges(x, log_of_sum::<W, T>(x, x.mul_add(x, -one).sqrt()));
    let y = T::select(x.lt(T::lit(2.0)), near, far);
    T::select(x.lt(one), T::lit(f64::NAN), y)
}

/// Up to 0.5 an odd series, then ln(1 + 2x/(1 - x))/2.
#[inline(always)]
pub(super) fn atanh<W: Width, T: Float>(x: T) -> T {
    let a = x.abs();
    let far = T::lit(0.5) * log1p::<W, T>((a + a) / (T::lit(1.0) - a));
    let y = T::select(a.lt(T::lit(0.5)), a + odd_tail(a, W::ATANH), far);
    let y = T::select(a.gt(T::lit(1.0)), T::lit(f64::NAN), y);
    flip::<W, T>(y, x.to_bits())
}
