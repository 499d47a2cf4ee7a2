//! The algebra of element-wise bodies.
//!
//! Every element-wise op is one generic Rust function over these traits. What the type parameter is decides what
//! the function becomes:
//!
//! - a lane ([`lane::F32`], [`lane::F64`], ...) makes it CPU code, vectorised by the compiler inside a function
//!   that carries the target features;
//! - [`expr::Expr`] makes it a [`graph::Graph`]: data that is printed as CUDA C or WGSL, differentiated, or lowered
//!   to a register [`program::Program`].
//!
//! Rules for bodies: straight-line code, [`Scalar::select`] instead of `if`, no `x - x` tricks that a re-associating
//! shader compiler may fold, constants through [`Scalar::lit`]. Generic bodies are `#[inline(always)]`; the target
//! features stand on the kernel entry only.

pub mod derive;
pub mod expr;
pub mod graph;
pub mod lane;
pub mod math;
pub mod print;
pub mod program;

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Sub};

/// The answer of a comparison.
pub trait Mask:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
}

impl Mask for bool {}

/// Numbers: arithmetic, order and choice. Integers wrap; `x / 0 = 0`, `MIN / -1 = MIN`.
pub trait Scalar:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + Neg<Output = Self>
{
    /// What a comparison gives.
    type Mask: Mask;
    /// The constant `v`, rounded to the type.
    fn lit(v: f64) -> Self;
    /// `self * b + c`, in one rounding where the instruction set has it.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// |x|; wraps at the minimum of a signed integer.
    fn abs(self) -> Self;
    /// The larger; NaN if either is NaN.
    fn max(self, o: Self) -> Self;
    /// The smaller; NaN if either is NaN.
    fn min(self, o: Self) -> Self;
    /// `self == o`; false if either is NaN.
    fn eq(self, o: Self) -> Self::Mask;
    /// `self != o`; true if either is NaN.
    fn ne(self, o: Self) -> Self::Mask;
    /// `self < o`.
    fn lt(self, o: Self) -> Self::Mask;
    /// `self <= o`.
    fn le(self, o: Self) -> Self::Mask;
    /// `self > o`.
    fn gt(self, o: Self) -> Self::Mask {
        o.lt(self)
    }
    /// `self >= o`.
    fn ge(self, o: Self) -> Self::Mask {
        o.le(self)
    }
    /// `a` where `m` holds, else `b`.
    fn select(m: Self::Mask, a: Self, b: Self) -> Self;
    /// `self` to the power `o`. For integers: wrapping; a negative exponent gives 0 (1 and -1 keep their powers).
    fn pow(self, o: Self) -> Self;
}

/// Whole numbers: bits, shifts and the high half of a product.
pub trait Int:
    Scalar + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
    /// The constant `v`, wrapped to the type.
    fn int(v: i64) -> Self;
    /// `self << n`; 0 if `n` is not below the width.
    fn shl(self, n: Self) -> Self;
    /// `self >> n`, arithmetic for signed types; 0 or -1 if `n` is not below the width.
    fn shr(self, n: Self) -> Self;
    /// `self >> n` with zeros shifted in, whatever the type's sign; 0 if `n` is not below the width.
    fn shr_logical(self, n: Self) -> Self;
    /// The high half of the double-width product of the operands read as *unsigned* words.
    fn mul_hi(self, o: Self) -> Self;
}

/// Hands the elementary functions, `method Variant "meaning"`, to a macro, after what is given: the one list of them.
#[doc(hidden)]
#[macro_export]
macro_rules! elementary {
    ($to:ident $($head:tt)*) => {
        $to! {
            $($head)*
            exp Exp "eˣ.",
            expm1 Expm1 "eˣ - 1, accurate near 0.",
            exp2 Exp2 "2ˣ.",
            ln Ln "ln x.",
            log1p Log1p "ln(1 + x), accurate near 0.",
            log2 Log2 "log₂ x.",
            log10 Log10 "log₁₀ x.",
            sin Sin "sin x, x in radians.",
            cos Cos "cos x, x in radians.",
            tan Tan "tan x, x in radians.",
            asin Asin "The angle of sine x, in -π/2..=π/2.",
            acos Acos "The angle of cosine x, in 0..=π.",
            atan Atan "The angle of tangent x, in -π/2..=π/2.",
            sinh Sinh "sinh x.",
            cosh Cosh "cosh x.",
            tanh Tanh "tanh x.",
            asinh Asinh "The inverse of sinh.",
            acosh Acosh "The inverse of cosh, not negative.",
            atanh Atanh "The inverse of tanh.",
            cbrt Cbrt "The real cube root.",
            erf Erf "The error function, 2/√π ∫₀ˣ e^(-t²) dt.",
            erfc Erfc "1 - erf x, accurate where that is small.",
        }
    };
}

macro_rules! float {
    ($($f:ident $F:ident $doc:literal,)*) => {
        /// The elementary functions of floats, with bodies in [`math`].
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Function { $(#[doc = $doc] $F,)* }

        impl Function {
            /// Every one.
            pub const ALL: &'static [Function] = &[$(Function::$F),*];

            /// Its name, as methods and generated code spell it.
            pub const fn name(self) -> &'static str {
                match self { $(Function::$F => stringify!($f)),* }
            }

            /// Its value.
            #[inline]
            pub fn of<T: Float>(self, x: T) -> T {
                match self { $(Function::$F => x.$f()),* }
            }
        }

        /// Real floating-point numbers: bits, rounding and the elementary functions of [`math`].
        pub trait Float: Scalar {
            /// The signed integer of the same width.
            type Bits: Int<Mask = Self::Mask>;
            /// The bit pattern.
            fn to_bits(self) -> Self::Bits;
            /// The number with this bit pattern.
            fn from_bits(bits: Self::Bits) -> Self;
            /// The integer of the same width nearest toward zero; only for values in its range.
            fn to_int(self) -> Self::Bits;
            /// The number nearest to an integer.
            fn from_int(i: Self::Bits) -> Self;
            /// The number as it was computed: a compiler that re-associates arithmetic may not look through it.
            #[inline(always)]
            fn keep(self) -> Self {
                self
            }
            /// √x, correctly rounded.
            fn sqrt(self) -> Self;
            /// The integer below.
            fn floor(self) -> Self;
            /// The integer above.
            fn ceil(self) -> Self;
            /// The nearest integer, halves to even.
            fn round(self) -> Self;
            /// The integer nearest toward zero.
            fn trunc(self) -> Self;
            $(#[doc = $doc] fn $f(self) -> Self;)*
        }
    };
}
elementary!(float);
