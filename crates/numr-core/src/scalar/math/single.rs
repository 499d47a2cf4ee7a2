//! Placeholder bodies until the measured ones land.

use super::super::{Float, Scalar};

/// exp.
#[inline(always)]
pub fn exp<T: Float>(x: T) -> T {
    x
}

/// expm1.
#[inline(always)]
pub fn expm1<T: Float>(x: T) -> T {
    x
}

/// ln.
#[inline(always)]
pub fn ln<T: Float>(x: T) -> T {
    x
}

/// log1p.
#[inline(always)]
pub fn log1p<T: Float>(x: T) -> T {
    x
}

/// sin.
#[inline(always)]
pub fn sin<T: Float>(x: T) -> T {
    x
}

/// cos.
#[inline(always)]
pub fn cos<T: Float>(x: T) -> T {
    x
}

/// tanh.
#[inline(always)]
pub fn tanh<T: Float>(x: T) -> T {
    x
}

/// erf.
#[inline(always)]
pub fn erf<T: Float>(x: T) -> T {
    x
}

/// pow.
#[inline(always)]
pub fn pow<T: Scalar>(x: T, _y: T) -> T {
    x
}
