//! The Rust types behind the dtypes, exactly rounded conversions between them, and literals.

use std::fmt::Debug;

use bytemuck::{Pod, Zeroable};

pub use half::{bf16, f16};
pub use num_complex::Complex;

use crate::dtype::{DType, Weak};

/// A Rust type that is the element of a tensor.
///
/// Conversions are those of a cast: float to integer saturates and takes NaN to 0, float to narrower float rounds once
/// to nearest even, complex to real drops the imaginary part, anything to bool asks "is it not zero".
///
/// `half` has inherent methods of some of these names, and where the type is known, as in `dispatch_dtype!`, they win:
/// its `f16::from_f64` rounds twice. Outside of generic functions use `cast`, `from_lit` or `<T as Element>::from_f64`.
pub trait Element: Copy + Send + Sync + PartialEq + Debug + 'static {
    /// The dtype this type stands for.
    const DTYPE: DType;
    /// What lies in memory: `u8` for `bool`, the type itself for all others.
    type Pod: Pod;
    /// As it lies in memory.
    fn to_pod(self) -> Self::Pod;
    /// From memory; of a bool, any byte but 0 is true.
    fn from_pod(pod: Self::Pod) -> Self;
    /// The nearest f64.
    fn to_f64(self) -> f64;
    /// The nearest value of this type; integers saturate, NaN gives 0.
    fn from_f64(value: f64) -> Self;
    /// The nearest f32.
    fn to_f32(self) -> f32;
    /// As [`Element::from_f64`], which it equals, since every f32 is an f64.
    fn from_f32(value: f32) -> Self {
        Self::from_f64(value.into())
    }
    /// 0, or false.
    fn zero() -> Self {
        Self::from_lit(Lit::Bool(false))
    }
    /// 1, or true.
    fn one() -> Self {
        Self::from_lit(Lit::Bool(true))
    }
    /// The value as a literal; exact.
    fn to_lit(self) -> Lit;
    /// The value of a literal in this type: an integer wraps into an integer type, as in a cast.
    fn from_lit(lit: Lit) -> Self;
    /// The value as another type, by the rules above; rounded once, whatever the pair.
    ///
    /// ```
    /// use numr_core::Element;
    /// assert_eq!(300i32.cast::<u8>(), 44);
    /// assert_eq!(300f32.cast::<u8>(), 255);
    /// ```
    #[inline]
    fn cast<U: Element>(self) -> U {
        U::from_lit(self.to_lit())
    }
}

/// The parts every plain-old-data element shares.
macro_rules! pod_is_self {
    ($dtype:ident) => {
        const DTYPE: DType = DType::$dtype;
        type Pod = Self;
        fn to_pod(self) -> Self {
            self
        }
        fn from_pod(pod: Self) -> Self {
            pod
        }
    };
}

macro_rules! int_elements {
    ($($ty:ty: $dtype:ident $lit:ident $wide:ty),*) => {$(
        impl Element for $ty {
            pod_is_self!($dtype);
            fn to_f64(self) -> f64 {
                self as f64
            }
            fn from_f64(value: f64) -> Self {
                value as Self
            }
            fn to_f32(self) -> f32 {
                self as f32
            }
            fn to_lit(self) -> Lit {
                Lit::$lit(self as $wide)
            }
            fn from_lit(lit: Lit) -> Self {
                match lit {
                    Lit::Bool(v) => v as Self,
                    Lit::Int(v) => v as Self,
                    Lit::UInt(v) => v as Self,
                    Lit::Float(v) | Lit::Complex(v, _) => v as Self,
                }
            }
        }
    )*};
}
int_elements!(i64: I64 Int i64, i32: I32 Int i64, i16: I16 Int i64, i8: I8 Int i64);
int_elements!(u64: U64 UInt u64, u32: U32 UInt u64, u16: U16 UInt u64, u8: U8 UInt u64);

/// An integer as an f64 that rounds to any narrower float as the integer itself would: what f64 cannot hold is
/// kept as an odd last bit, which no tie of a narrower format has.
fn sticky(value: i128) -> f64 {
    if value.unsigned_abs() < 1 << 53 {
        return value as f64;
    }
    let lost = value & 0x7ff != 0;
    ((value >> 11) | i128::from(lost)) as f64 * 2048.0
}

macro_rules! float_elements {
    ($($ty:ty: $dtype:ident, $from_f64:expr, $from_f32:expr, $from_int:expr;)*) => {$(
        impl Element for $ty {
            pod_is_self!($dtype);
            #[inline]
            fn to_f64(self) -> f64 {
                self.into()
            }
            #[inline]
            fn from_f64(value: f64) -> Self {
                $from_f64(value)
            }
            #[inline]
            fn to_f32(self) -> f32 {
                f64::from(self) as f32
            }
            #[inline]
            fn from_f32(value: f32) -> Self {
                $from_f32(value)
            }
            #[inline]
            fn to_lit(self) -> Lit {
                Lit::Float(self.into())
            }
            #[inline]
            fn from_lit(lit: Lit) -> Self {
                match lit {
                    Lit::Bool(v) => Self::from_f32(v as u8 as f32),
                    Lit::Int(v) => $from_int(v.into()),
                    Lit::UInt(v) => $from_int(v.into()),
                    Lit::Float(v) | Lit::Complex(v, _) => <Self as Element>::from_f64(v),
                }
            }
        }
    )*};
}
float_elements!(
    f64: F64, std::convert::identity, f64::from, |v: i128| v as f64;
    f32: F32, |v: f64| v as f32, std::convert::identity, |v: i128| v as f32;
    f16: F16, |v| f16::from_bits(HALF.encode(v) as u16), f16::from_f32, |v| <Self as Element>::from_f64(sticky(v));
    bf16: BF16, |v| bf16::from_bits(BRAIN.encode(v) as u16), bf16::from_f32, |v| <Self as Element>::from_f64(sticky(v));
    FP8E4M3: FP8E4M3, FP8E4M3::from_f64, FP8E4M3::from_f32, |v| <Self as Element>::from_f64(sticky(v));
    FP8E5M2: FP8E5M2, FP8E5M2::from_f64, FP8E5M2::from_f32, |v| <Self as Element>::from_f64(sticky(v));
);

macro_rules! complex_elements {
    ($($part:ty: $dtype:ident),*) => {$(
        impl Element for Complex<$part> {
            pod_is_self!($dtype);
            fn to_f64(self) -> f64 {
                self.re.into()
            }
            fn from_f64(value: f64) -> Self {
                Complex::new(value as $part, 0.0)
            }
            fn to_f32(self) -> f32 {
                self.re as f32
            }
            fn to_lit(self) -> Lit {
                Lit::Complex(self.re.into(), self.im.into())
            }
            fn from_lit(lit: Lit) -> Self {
                let im = if let Lit::Complex(_, im) = lit { im as $part } else { 0.0 };
                Complex::new(<$part>::from_lit(lit), im)
            }
        }
    )*};
}
complex_elements!(f32: Complex64, f64: Complex128);

impl Element for bool {
    const DTYPE: DType = DType::Bool;
    type Pod = u8;
    fn to_pod(self) -> u8 {
        self.into()
    }
    fn from_pod(pod: u8) -> bool {
        pod != 0
    }
    fn to_f64(self) -> f64 {
        u8::from(self).into()
    }
    fn from_f64(value: f64) -> bool {
        value != 0.0
    }
    fn to_f32(self) -> f32 {
        u8::from(self).into()
    }
    fn to_lit(self) -> Lit {
        Lit::Bool(self)
    }
    fn from_lit(lit: Lit) -> bool {
        !lit.is_zero()
    }
}

/// A narrow binary float: sign, exponent, `mantissa` bits. Its codes without the sign ascend with its values.
struct Format {
    mantissa: u32,
    /// What is added to an exponent before it is stored.
    bias: i32,
    /// The sign bit.
    sign: u32,
    /// The code that follows the greatest finite value, and stands for all that rounds past it: infinity, or NaN
    /// where the format has no infinity.
    overflow: u32,
    /// The code of NaN.
    nan: u32,
}

const HALF: Format = Format { mantissa: 10, bias: 15, sign: 0x8000, overflow: 0x7c00, nan: 0x7e00 };
const BRAIN: Format = Format { mantissa: 7, bias: 127, sign: 0x8000, overflow: 0x7f80, nan: 0x7fc0 };
const E4M3: Format = Format { mantissa: 3, bias: 7, sign: 0x80, overflow: 0x7f, nan: 0x7f };
const E5M2: Format = Format { mantissa: 2, bias: 15, sign: 0x80, overflow: 0x7c, nan: 0x7e };

impl Format {
    /// Rounds once, to nearest even.
    ///
    /// Measured in the unit of its last place, |value| is a number that f64 holds exactly: the unit is a power of two,
    /// and a subnormal f64 only ever gets scaled up. So the one rounding is `round_ties_even`, and a carry into the
    /// next binade is the carry of the sum.
    fn encode(&self, value: f64) -> u32 {
        let sign = if value.is_sign_negative() { self.sign } else { 0 };
        if value.is_nan() {
            return sign | self.nan;
        }
        let magnitude = value.abs();
        let exponent = (magnitude.to_bits() >> 52) as i32 - 1023;
        // Below the normal range the unit stays that of the least normal binade.
        let exponent = exponent.max(1 - self.bias);
        if exponent > self.bias + 1 {
            return sign | self.overflow;
        }
        let unit_inverse = f64::from_bits(((1023 + self.mantissa as i32 - exponent) as u64) << 52);
        let units = (magnitude * unit_inverse).round_ties_even() as u32;
        // `units` includes the hidden bit of a normal number, which counts the exponent up by one.
        let code = (((exponent + self.bias - 1) as u32) << self.mantissa) + units;
        sign | code.min(self.overflow)
    }
}

macro_rules! fp8 {
    ($(#[$doc:meta])* $name:ident, $format:ident, $max:literal, $decode:expr) => {
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Copy, Clone, Default, Pod, Zeroable)]
        pub struct $name(u8);

        impl $name {
            /// The value of a bit pattern.
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }
            /// The bit pattern.
            pub const fn to_bits(self) -> u8 {
                self.0
            }
            /// The nearest value, ties to even.
            pub fn from_f32(x: f32) -> Self {
                Self::from_f64(x.into())
            }
            /// The value, exactly.
            pub fn to_f32(self) -> f32 {
                $decode(self.0)
            }
            /// The nearest value, ties to even; rounded once.
            pub fn from_f64(x: f64) -> Self {
                Self($format.encode(x) as u8)
            }
            /// The value, exactly.
            pub fn to_f64(self) -> f64 {
                self.to_f32().into()
            }
            /// Whether this is not a number.
            pub fn is_nan(self) -> bool {
                self.to_f32().is_nan()
            }
            /// Whether this is 0 or -0.
            pub const fn is_zero(self) -> bool {
                self.0 & 0x7f == 0
            }
            /// Whether the sign bit is set.
            pub const fn is_negative(self) -> bool {
                self.0 & 0x80 != 0
            }
            /// The greatest finite value.
            pub const fn max_value() -> f32 {
                $max
            }
            /// The least finite value.
            pub const fn min_value() -> f32 {
                -$max
            }
        }

        impl From<$name> for f64 {
            fn from(x: $name) -> f64 {
                x.to_f64()
            }
        }
        impl From<$name> for f32 {
            fn from(x: $name) -> f32 {
                x.to_f32()
            }
        }
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.to_f32() == other.to_f32()
            }
        }
        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }
        impl Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                Debug::fmt(&self.to_f32(), f)
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.to_f32(), f)
            }
        }
    };
}

fp8!(
    /// OCP E4M3FN: 4 exponent bits, 3 mantissa bits, up to ±448; no infinity, so what rounds past 448 is NaN.
    ///
    /// ```
    /// use numr_core::FP8E4M3;
    /// assert_eq!(FP8E4M3::from_f32(0.3).to_f32(), 0.3125);
    /// assert!(FP8E4M3::from_f32(500.0).is_nan());
    /// ```
    FP8E4M3,
    E4M3,
    448.0,
    |bits: u8| {
        let (exponent, mantissa) = (u32::from(bits >> 3 & 15), u32::from(bits & 7));
        let magnitude = match bits & 0x7f {
            0x7f => f32::NAN,
            // The subnormal unit is 2^-9.
            0..8 => mantissa as f32 / 512.0,
            _ => f32::from_bits((exponent + 120) << 23 | mantissa << 20),
        };
        if bits & 0x80 != 0 { -magnitude } else { magnitude }
    }
);
fp8!(
    /// OCP E5M2: 5 exponent bits, 2 mantissa bits, up to ±57344, with infinities.
    ///
    /// ```
    /// use numr_core::FP8E5M2;
    /// assert_eq!(FP8E5M2::from_f32(0.3).to_f32(), 0.3125);
    /// assert!(FP8E5M2::from_f32(1e6).is_infinite());
    /// ```
    FP8E5M2,
    E5M2,
    57344.0,
    // The upper byte of a binary16.
    |bits: u8| f16::from_bits(u16::from(bits) << 8).to_f32()
);

impl FP8E5M2 {
    /// Whether this is one of the infinities.
    pub const fn is_infinite(self) -> bool {
        self.0 & 0x7f == 0x7c
    }
}

/// A scalar whose width is open: what a Rust literal means next to a tensor. Equal if the bits are, so NaN equals NaN.
#[derive(Copy, Clone, Debug)]
pub enum Lit {
    /// A truth value.
    Bool(bool),
    /// An integer that fits in 64 bits with sign.
    Int(i64),
    /// An integer that fits in 64 bits without sign.
    UInt(u64),
    /// A real number.
    Float(f64),
    /// A complex number: real and imaginary part.
    Complex(f64, f64),
}

impl Lit {
    /// Its kind, for [`promote_weak`](crate::promote_weak).
    pub const fn weak(self) -> Weak {
        match self {
            Lit::Bool(_) => Weak::Bool,
            Lit::Int(_) | Lit::UInt(_) => Weak::Int,
            Lit::Float(_) => Weak::Float,
            Lit::Complex(..) => Weak::Complex,
        }
    }

    /// The nearest f64; of a complex number, of its real part.
    pub fn to_f64(self) -> f64 {
        f64::from_lit(self)
    }

    /// The integer part, saturated; NaN gives 0.
    pub fn to_i64(self) -> i64 {
        match self {
            Lit::UInt(v) => i64::try_from(v).unwrap_or(i64::MAX),
            other => i64::from_lit(other),
        }
    }

    /// Whether this is 0, -0 or false.
    pub fn is_zero(self) -> bool {
        match self {
            Lit::Bool(v) => !v,
            Lit::Int(v) => v == 0,
            Lit::UInt(v) => v == 0,
            Lit::Float(v) => v == 0.0,
            Lit::Complex(re, im) => re == 0.0 && im == 0.0,
        }
    }

    /// The variant and the bits of its value: what equality and hashing go by.
    pub const fn to_bits(self) -> (u8, u64, u64) {
        match self {
            Lit::Bool(v) => (0, v as u64, 0),
            Lit::Int(v) => (1, v as u64, 0),
            Lit::UInt(v) => (2, v, 0),
            Lit::Float(v) => (3, v.to_bits(), 0),
            Lit::Complex(re, im) => (4, re.to_bits(), im.to_bits()),
        }
    }
}

impl PartialEq for Lit {
    fn eq(&self, other: &Lit) -> bool {
        self.to_bits() == other.to_bits()
    }
}
impl Eq for Lit {}
impl std::hash::Hash for Lit {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.to_bits().hash(state);
    }
}

macro_rules! lit_from {
    ($($ty:ty),*) => {$(
        impl From<$ty> for Lit {
            fn from(value: $ty) -> Lit {
                value.to_lit()
            }
        }
    )*};
}
lit_from!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, f16, bf16, FP8E4M3, FP8E5M2);
lit_from!(Complex<f32>, Complex<f64>);

impl From<isize> for Lit {
    fn from(value: isize) -> Lit {
        Lit::Int(value as i64)
    }
}
impl From<usize> for Lit {
    fn from(value: usize) -> Lit {
        Lit::UInt(value as u64)
    }
}

#[cfg(test)]
mod tests;
