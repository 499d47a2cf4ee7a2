//! Elementary functions of complex numbers, from those of their parts. No device knows them: a program that applies
//! one to a complex number holds the steps below instead.
//!
//! Branch cuts, and the sides that ±0 chooses, are those of C (ISO/IEC 9899, annex G). Method: Kahan, *Branch cuts for
//! complex elementary functions* (1987). Each part is within a few ulp of the modulus of the value, not of itself.

use super::super::expr::Expr;
use super::super::{Float, Function, Scalar};
use crate::ops::map::Row;
use std::f64::consts::{LN_2, LN_10, LOG2_E};

/// A complex number by its parts.
#[derive(Clone, Copy)]
pub(crate) struct Z<'a> {
    pub(crate) re: T<'a>,
    pub(crate) im: T<'a>,
}

type T<'a> = Expr<'a>;

fn z<'a>(re: T<'a>, im: T<'a>) -> Z<'a> {
    Z { re, im }
}

impl Z<'_> {
    fn scale(self, by: f64) -> Self {
        z(self.re * by, self.im * by)
    }

    /// i·self.
    fn turn(self) -> Self {
        z(-self.im, self.re)
    }

    /// -i·self.
    fn turn_back(self) -> Self {
        z(self.im, -self.re)
    }
}

fn hypot<'a>(x: T<'a>, y: T<'a>) -> T<'a> {
    Expr::call(Row::Hypot, &[x, y])
}

fn atan2<'a>(y: T<'a>, x: T<'a>) -> T<'a> {
    Expr::call(Row::Atan2, &[y, x])
}

fn copysign<'a>(x: T<'a>, y: T<'a>) -> T<'a> {
    Expr::call(Row::Copysign, &[x, y])
}

/// A function of a complex number; `None` where there is no definition (cbrt, erf, erfc).
pub(crate) fn function<'a>(f: Function, v: Z<'a>) -> Option<Z<'a>> {
    Some(match f {
        Function::Exp => exp(v),
        // e^x cos y - 1 without cancellation.
        Function::Expm1 => {
            let s = (v.im * T::lit(0.5)).sin();
            z(v.re.expm1() * v.im.cos() - T::lit(2.0) * (s * s), exp(v).im)
        }
        Function::Exp2 => exp(v.scale(LN_2)),
        Function::Ln => ln(v),
        Function::Log1p => {
            let near = v.re * (v.re + T::lit(2.0)) + v.im * v.im;
            let far = ln(z(v.re + T::lit(1.0), v.im));
            z(T::select(near.abs().lt(T::lit(0.5)), T::lit(0.5) * near.log1p(), far.re), far.im)
        }
        Function::Log2 => ln(v).scale(LOG2_E),
        Function::Log10 => ln(v).scale(1.0 / LN_10),
        Function::Sin => sinh(v.turn()).turn_back(),
        Function::Cos => cosh(v.turn()),
        Function::Tan => tanh(v.turn()).turn_back(),
        Function::Asin => asin(v),
        Function::Acos => acos(v),
        Function::Atan => atanh(v.turn()).turn_back(),
        Function::Sinh => sinh(v),
        Function::Cosh => cosh(v),
        Function::Tanh => tanh(v),
        Function::Asinh => asin(v.turn_back()).turn(),
        Function::Acosh => acosh(v),
        Function::Atanh => atanh(v),
        Function::Cbrt | Function::Erf | Function::Erfc => return None,
    })
}

/// The root in the right half plane.
pub(crate) fn sqrt<'a>(v: Z<'a>) -> Z<'a> {
    // In eighths, so that the sum does not overflow: √(|x| + |v|)/√2 = 2·√(|x|/8 + |v|/8).
    let (x, y) = (v.re.abs() * T::lit(0.125), v.im.abs() * T::lit(0.125));
    let zero = T::lit(0.0);
    let t = T::lit(2.0) * (x + hypot(x, y)).sqrt();
    let other = T::select(t.eq(zero), zero, T::lit(0.5) * (v.im.abs() / t));
    let right = !v.re.lt(zero);
    z(T::select(right, t, other), copysign(T::select(right, other, t), v.im))
}

/// `a` to the power `b`, as e^(b·ln a): 1 for b = 0, and 0 for a = 0 if the real part of b is positive.
pub(crate) fn pow<'a>(a: Z<'a>, b: Z<'a>) -> Z<'a> {
    let (zero, l) = (T::lit(0.0), ln(a));
    let y = exp(z(b.re * l.re - b.im * l.im, b.re * l.im + b.im * l.re));
    let no_base = a.re.eq(zero) & a.im.eq(zero) & b.re.gt(zero);
    let no_exponent = b.re.eq(zero) & b.im.eq(zero);
    let re = T::select(no_exponent, T::lit(1.0), T::select(no_base, zero, y.re));
    z(re, T::select(no_exponent | no_base, zero, y.im))
}

/// A number that `s`, which may be infinite, multiplies to 0 if it is 0 itself.
fn times<'a>(s: T<'a>, v: T<'a>) -> T<'a> {
    T::select(v.eq(T::lit(0.0)), v, s * v)
}

fn exp<'a>(v: Z<'a>) -> Z<'a> {
    let r = v.re.exp();
    z(times(r, v.im.cos()), times(r, v.im.sin()))
}

fn ln<'a>(v: Z<'a>) -> Z<'a> {
    let (a, b, one) = (v.re.abs(), v.im.abs(), T::lit(1.0));
    let (large, small) = (a.max(b), a.min(b));
    // Near the unit circle ln|v| is small: |v|² - 1 without cancellation.
    let h = hypot(a, b);
    let near = T::lit(0.5).lt(h) & h.lt(T::lit(2.0));
    let excess = small.mul_add(small, (large - one) * (large + one));
    z(T::select(near, T::lit(0.5) * excess.log1p(), h.ln()), atan2(v.im, v.re))
}

fn sinh<'a>(v: Z<'a>) -> Z<'a> {
    z(times(v.re.sinh(), v.im.cos()), times(v.re.cosh(), v.im.sin()))
}

fn cosh<'a>(v: Z<'a>) -> Z<'a> {
    z(times(v.re.cosh(), v.im.cos()), times(v.re.sinh(), v.im.sin()))
}

fn tanh<'a>(v: Z<'a>) -> Z<'a> {
    let (one, a) = (T::lit(1.0), v.re.abs());
    let (t, s, c) = (v.im.tan(), v.re.sinh(), v.re.cosh());
    let b = t.mul_add(t, one);
    let d = (b * s).mul_add(s, one);
    // Far out tanh is ±1 and its imaginary part 4·sin y·cos y·e^(-2|x|).
    let far = T::lit(20.0).lt(a);
    let tail = T::lit(4.0) * v.im.sin() * v.im.cos() * (-(a + a)).exp();
    z(T::select(far, copysign(one, v.re), b * c * s / d), T::select(far, tail, t / d))
}

/// √(1 - v) and √(1 + v).
fn roots<'a>(v: Z<'a>) -> [Z<'a>; 2] {
    let one = T::lit(1.0);
    [sqrt(z(one - v.re, -v.im)), sqrt(z(one + v.re, v.im))]
}

fn asin<'a>(v: Z<'a>) -> Z<'a> {
    let [p, q] = roots(v);
    z(atan2(v.re, p.re * q.re - p.im * q.im), (p.re * q.im - p.im * q.re).asinh())
}

fn acos<'a>(v: Z<'a>) -> Z<'a> {
    let [p, q] = roots(v);
    z(T::lit(2.0) * atan2(p.re, q.re), (q.re * p.im - q.im * p.re).asinh())
}

fn acosh<'a>(v: Z<'a>) -> Z<'a> {
    let one = T::lit(1.0);
    let (p, q) = (sqrt(z(v.re - one, v.im)), sqrt(z(v.re + one, v.im)));
    z((p.re * q.re + p.im * q.im).asinh(), T::lit(2.0) * atan2(p.im, q.re))
}

fn atanh<'a>(v: Z<'a>) -> Z<'a> {
    let (one, a) = (T::lit(1.0), v.re.abs());
    let (away, y2) = (one - a, v.im * v.im);
    let re = T::lit(0.25) * (T::lit(4.0) * a / away.mul_add(away, y2)).log1p();
    z(copysign(re, v.re), T::lit(0.5) * atan2(v.im + v.im, away * (one + a) - y2))
}
