//! CPU numbers: `f32` and `f64` with the instruction set's fused multiply-add chosen in the type (a `mul_add` without
//! the FMA target feature becomes a library call), and integers that wrap.

use super::{Float, Int, Scalar, math};
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Sub};

macro_rules! float_lane {
    ($(#[doc = $doc:literal])* $L:ident $f:ident $I:ident $int:ty, $m:ident) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[repr(transparent)]
        pub struct $L<const FMA: bool>(pub $f);
        float_lane!(@op $L Add add +, Sub sub -, Mul mul *, Div div /, Rem rem %);
        impl<const M: bool> Neg for $L<M> {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                $L(-self.0)
            }
        }
        impl<const M: bool> Scalar for $L<M> {
            type Mask = bool;
            #[inline(always)]
            fn lit(v: f64) -> Self {
                $L(v as $f)
            }
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                if M { $L(self.0.mul_add(b.0, c.0)) } else { $L(self.0 * b.0 + c.0) }
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $L(self.0.abs())
            }
            #[inline(always)]
            fn max(self, o: Self) -> Self {
                // `self > o` is false for a NaN on either side; the second test then keeps the NaN of `self`.
                $L(if self.0 > o.0 || self.0.is_nan() { self.0 } else { o.0 })
            }
            #[inline(always)]
            fn min(self, o: Self) -> Self {
                $L(if self.0 < o.0 || self.0.is_nan() { self.0 } else { o.0 })
            }
            float_lane!(@cmp eq ==, ne !=, lt <, le <=);
            #[inline(always)]
            fn select(m: bool, a: Self, b: Self) -> Self {
                if m { a } else { b }
            }
            #[inline(always)]
            fn pow(self, o: Self) -> Self {
                math::$m::pow(self, o)
            }
        }
        impl<const M: bool> Float for $L<M> {
            type Bits = $I;
            #[inline(always)]
            fn to_bits(self) -> $I {
                $I(self.0.to_bits() as $int)
            }
            #[inline(always)]
            fn from_bits(b: $I) -> Self {
                $L($f::from_bits(b.0 as _))
            }
            #[inline(always)]
            fn to_int(self) -> $I {
                $I(self.0 as $int)
            }
            #[inline(always)]
            fn from_int(i: $I) -> Self {
                $L(i.0 as $f)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $L(self.0.sqrt())
            }
            #[inline(always)]
            fn floor(self) -> Self {
                $L(self.0.floor())
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                $L(self.0.ceil())
            }
            #[inline(always)]
            fn round(self) -> Self {
                $L(self.0.round_ties_even())
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                $L(self.0.trunc())
            }
            crate::elementary!(float_lane @math $m);
        }
    };
    (@op $L:ident $($T:ident $t:ident $o:tt),*) => {
        $(impl<const M: bool> $T for $L<M> {
            type Output = Self;
            #[inline(always)]
            fn $t(self, r: Self) -> Self {
                $L(self.0 $o r.0)
            }
        })*
    };
    (@cmp $($n:ident $o:tt),*) => {
        $(#[inline(always)]
        fn $n(self, o: Self) -> bool {
            self.0 $o o.0
        })*
    };
    (@math $m:ident $($n:ident $N:ident $doc:literal,)*) => {
        $(#[inline(always)]
        fn $n(self) -> Self {
            math::$m::$n(self)
        })*
    };
}

float_lane! {
    /// `f32`; `FMA` says that the code is compiled with fused multiply-add.
    F32 f32 I32 i32, single
}
float_lane! {
    /// `f64`; `FMA` says that the code is compiled with fused multiply-add.
    F64 f64 I64 i64, double
}

macro_rules! int_lane {
    ($($(#[doc = $doc:literal])* $L:ident $i:ident $u:ident $wide:ident;)*) => { $(
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(transparent)]
        pub struct $L(pub $i);
        int_lane!(@op $L
            Add add |a, b| a.wrapping_add(b), Sub sub |a, b| a.wrapping_sub(b), Mul mul |a, b| a.wrapping_mul(b),
            Div div |a, b| if b == 0 { 0 } else { a.wrapping_div(b) },
            Rem rem |a, b| if b == 0 { 0 } else { a.wrapping_rem(b) },
            BitAnd bitand |a, b| a & b, BitOr bitor |a, b| a | b, BitXor bitxor |a, b| a ^ b);
        impl Neg for $L {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                $L(self.0.wrapping_neg())
            }
        }
        impl Not for $L {
            type Output = Self;
            #[inline(always)]
            fn not(self) -> Self {
                $L(!self.0)
            }
        }
        impl Scalar for $L {
            type Mask = bool;
            #[inline(always)]
            fn lit(v: f64) -> Self {
                $L(v as $i)
            }
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                self * b + c
            }
            #[inline(always)]
            #[allow(unused_comparisons, reason = "one body for signed and unsigned")]
            fn abs(self) -> Self {
                if self.0 < 0 { -self } else { self }
            }
            #[inline(always)]
            fn max(self, o: Self) -> Self {
                $L(self.0.max(o.0))
            }
            #[inline(always)]
            fn min(self, o: Self) -> Self {
                $L(self.0.min(o.0))
            }
            #[inline(always)]
            fn eq(self, o: Self) -> bool {
                self.0 == o.0
            }
            #[inline(always)]
            fn ne(self, o: Self) -> bool {
                self.0 != o.0
            }
            #[inline(always)]
            fn lt(self, o: Self) -> bool {
                self.0 < o.0
            }
            #[inline(always)]
            fn le(self, o: Self) -> bool {
                self.0 <= o.0
            }
            #[inline(always)]
            fn select(m: bool, a: Self, b: Self) -> Self {
                if m { a } else { b }
            }
            #[inline(always)]
            #[allow(unused_comparisons, reason = "one body for signed and unsigned")]
            fn pow(self, o: Self) -> Self {
                if o.0 < 0 {
                    // 1/x^|o|, truncated: only ±1 have a whole inverse.
                    return $L(if self.0 == 1 || (self.0.wrapping_add(1) == 0 && o.0 & 1 == 0) {
                        1
                    } else if self.0.wrapping_add(1) == 0 {
                        self.0
                    } else {
                        0
                    });
                }
                let (mut base, mut n, mut r) = (self.0, o.0, 1 as $i);
                while n != 0 {
                    if n & 1 == 1 {
                        r = r.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    n >>= 1;
                }
                $L(r)
            }
        }
        impl Int for $L {
            #[inline(always)]
            fn int(v: i64) -> Self {
                $L(v as $i)
            }
            #[inline(always)]
            fn shl(self, n: Self) -> Self {
                $L(if (n.0 as $u) < <$i>::BITS as $u { self.0.wrapping_shl(n.0 as u32) } else { 0 })
            }
            #[inline(always)]
            fn shr(self, n: Self) -> Self {
                $L(if (n.0 as $u) < <$i>::BITS as $u {
                    self.0.wrapping_shr(n.0 as u32)
                } else {
                    // One bit short of the width twice: all zeros, or all ones for a negative number.
                    self.0.wrapping_shr(<$i>::BITS - 1).wrapping_shr(1)
                })
            }
            #[inline(always)]
            fn shr_logical(self, n: Self) -> Self {
                $L(if (n.0 as $u) < <$i>::BITS as $u { (self.0 as $u).wrapping_shr(n.0 as u32) as $i } else { 0 })
            }
            #[inline(always)]
            fn mul_hi(self, o: Self) -> Self {
                $L((((self.0 as $u as $wide) * (o.0 as $u as $wide)) >> <$i>::BITS) as $i)
            }
        }
    )* };
    (@op $L:ident $($T:ident $t:ident |$a:ident, $b:ident| $e:expr),*) => {
        $(impl $T for $L {
            type Output = Self;
            #[inline(always)]
            fn $t(self, r: Self) -> Self {
                let ($a, $b) = (self.0, r.0);
                $L($e)
            }
        })*
    };
}

int_lane! {
    /// Wrapping `i8`.
    I8 i8 u8 u16;
    /// Wrapping `i16`.
    I16 i16 u16 u32;
    /// Wrapping `i32`.
    I32 i32 u32 u64;
    /// Wrapping `i64`.
    I64 i64 u64 u128;
    /// Wrapping `u8`.
    U8 u8 u8 u16;
    /// Wrapping `u16`.
    U16 u16 u16 u32;
    /// Wrapping `u32`.
    U32 u32 u32 u64;
    /// Wrapping `u64`.
    U64 u64 u64 u128;
}
