//! The tangent and the inverse circular functions.

use super::super::{Float, Scalar};
use super::{Width, finite, flip, horner, int, odd_tail, reduce, two_prod};

/// tan of quadrant·π/2 + r: tan r = r + r³·P(r²)/Q(r²) in even quadrants, -cot r = r·K(r²) - 1/r in odd ones, with one
/// division for both. What r and 1/r lack enters by the derivative.
#[inline(always)]
pub(super) fn tan<W: Width, T: Float>(x: T) -> T {
    let (a, one) = (x.abs(), T::lit(1.0));
    let (quadrant, r, r2) = reduce::<W, T>(a);
    let sum = (r + r2).keep();
    let (r, r2) = (sum, (r - sum) + r2);
    let z = r * r;
    let odd = (quadrant & int::<T>(1)).ne(int::<T>(0));
    let [p, q] = W::TAN;
    let quotient = T::select(odd, one, r * z * horner(z, p)) / T::select(odd, r, horner(z, q));
    let even = (r + quotient).mul_add((r + quotient) * r2, r2 + quotient) + r;
    let (product, rest) = two_prod::<W, T>(quotient, r);
    let miss = quotient.mul_add(r2, rest) - (one - product);
    let cot = r.mul_add(horner(z, W::COT), quotient * miss) - quotient;
    finite(a, flip::<W, T>(T::select(odd, cot, even), x.to_bits()))
}

/// π/2 - v - t for `t` the smaller, rounded once.
#[inline(always)]
fn from_half_pi<W: Width, T: Float>(v: T, t: T) -> T {
    let [half, rest] = W::HALF_PI_2.map(T::lit);
    let d = (half - v).keep();
    d + (((half - d) - v) - (t - rest))
}

/// asin as v + t, t the smaller, about 0 for |x| <= 0.5, else of v = √((1 - |x|)/2), as asin x = π/2 - 2·asin v; and
/// which it is.
#[inline(always)]
fn asin_parts<W: Width, T: Float>(a: T) -> (T, T, T::Mask) {
    let near = a.le(T::lit(0.5));
    let v = T::select(near, a, ((T::lit(1.0) - a) * T::lit(0.5)).sqrt());
    (v, odd_tail(v, W::ASIN), near)
}

#[inline(always)]
pub(super) fn asin<W: Width, T: Float>(x: T) -> T {
    let (v, t, near) = asin_parts::<W, T>(x.abs());
    flip::<W, T>(T::select(near, v + t, from_half_pi::<W, T>(v + v, t + t)), x.to_bits())
}

/// π/2 - asin x near 0; 2·asin v from there to 1; π - 2·asin v from there to -1.
#[inline(always)]
pub(super) fn acos<W: Width, T: Float>(x: T) -> T {
    let (v, t, near) = asin_parts::<W, T>(x.abs());
    let [half, rest] = W::HALF_PI_2.map(T::lit);
    let y = v + t;
    let middle = half - (flip::<W, T>(y, x.to_bits()) - rest);
    let twice = y + y;
    let far = T::select(x.lt(T::lit(0.0)), (half + half) - (twice - (rest + rest)), twice);
    T::select(near, middle, far)
}

/// v + t is atan v, v = |x| up to 1, then 1/|x|, as atan x = π/2 - atan(1/x).
#[inline(always)]
pub(super) fn atan<W: Width, T: Float>(x: T) -> T {
    let (a, one) = (x.abs(), T::lit(1.0));
    let large = a.gt(one);
    let v = T::select(large, one / a, a);
    let t = odd_tail(v, W::ATAN);
    flip::<W, T>(T::select(large, from_half_pi::<W, T>(v, t), v + t), x.to_bits())
}
