//! The element types a tensor may hold, their lattice of promotions, and sets of them.

use std::borrow::Cow;
use std::fmt;
use std::hash::Hash;
use std::str::FromStr;

use crate::element::Element;
use crate::error::{Error, Result};

/// Names the element type of a tensor. The discriminants are stable.
#[repr(u8)]
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// IEEE binary64.
    F64 = 0,
    /// IEEE binary32.
    F32 = 1,
    /// IEEE binary16, computed in `F32`.
    F16 = 2,
    /// The upper half of a binary32, computed in `F32`.
    BF16 = 3,
    /// OCP E4M3FN: 4 exponent bits, 3 mantissa bits, no infinity; computed in `F32`.
    FP8E4M3 = 4,
    /// OCP E5M2: 5 exponent bits, 2 mantissa bits; computed in `F32`.
    FP8E5M2 = 5,
    /// Signed 64-bit integer.
    I64 = 10,
    /// Signed 32-bit integer.
    I32 = 11,
    /// Signed 16-bit integer.
    I16 = 12,
    /// Signed 8-bit integer.
    I8 = 13,
    /// Unsigned 64-bit integer.
    U64 = 20,
    /// Unsigned 32-bit integer.
    U32 = 21,
    /// Unsigned 16-bit integer.
    U16 = 22,
    /// Unsigned 8-bit integer.
    U8 = 23,
    /// A truth value, stored as one byte that is 0 or 1.
    Bool = 30,
    /// A pair of `F32`: real and imaginary part.
    Complex64 = 40,
    /// A pair of `F64`: real and imaginary part.
    Complex128 = 41,
}

/// Evaluates an expression with a type alias bound to the Rust type of a [`DType`]; `Bool` binds `bool`.
///
/// The alias is the type itself: a method that `half::f16` has of its own hides one of [`Element`] of the same name,
/// so call a generic function, or `cast` and `from_lit`, which it lacks.
///
/// ```
/// use numr_core::{DType, Element, dispatch_dtype};
/// let name = dispatch_dtype!(DType::I16, T => T::DTYPE.short_name());
/// assert_eq!(name, "i16");
/// ```
#[macro_export]
macro_rules! dispatch_dtype {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::__dispatch!($dtype, bool, $T => $body)
    };
}

/// As [`dispatch_dtype!`], with `Bool` bound to `u8`: the type that lies in memory ([`Element::Pod`]).
///
/// ```
/// use numr_core::{DType, dispatch_storage};
/// assert_eq!(dispatch_storage!(DType::Bool, T => bytemuck::bytes_of(&T::default()).len()), 1);
/// ```
#[macro_export]
macro_rules! dispatch_storage {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::__dispatch!($dtype, u8, $T => $body)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __dispatch {
    (@arms $dtype:expr, $T:ident, $body:expr, $($variant:ident: $ty:ty),*) => {
        match $dtype {
            $($crate::DType::$variant => {
                type $T = $ty;
                $body
            })*
        }
    };
    ($dtype:expr, $bool:ty, $T:ident => $body:expr) => {
        $crate::__dispatch!(
            @arms $dtype, $T, $body,
            F64: f64, F32: f32, F16: $crate::element::f16, BF16: $crate::element::bf16,
            FP8E4M3: $crate::element::FP8E4M3, FP8E5M2: $crate::element::FP8E5M2,
            I64: i64, I32: i32, I16: i16, I8: i8, U64: u64, U32: u32, U16: u16, U8: u8,
            Bool: $bool,
            Complex64: $crate::element::Complex<f32>, Complex128: $crate::element::Complex<f64>
        )
    };
}

impl DType {
    /// Every dtype, in discriminant order.
    pub const ALL: [DType; 17] = {
        use DType::*;
        [F64, F32, F16, BF16, FP8E4M3, FP8E5M2, I64, I32, I16, I8, U64, U32, U16, U8, Bool, Complex64, Complex128]
    };

    /// Bytes that one element takes.
    pub const fn size_in_bytes(self) -> usize {
        use DType::*;
        match self {
            FP8E4M3 | FP8E5M2 | I8 | U8 | Bool => 1,
            F16 | BF16 | I16 | U16 => 2,
            F32 | I32 | U32 => 4,
            F64 | I64 | U64 | Complex64 => 8,
            Complex128 => 16,
        }
    }

    /// The name used in messages: `f32`, `bf16`, `f8e4m3`, `i64`, `bool`, `c64`.
    pub const fn short_name(self) -> &'static str {
        self.names().0
    }

    /// The short name and NumPy's (or ml_dtypes') name.
    const fn names(self) -> (&'static str, &'static str) {
        use DType::*;
        match self {
            F64 => ("f64", "float64"),
            F32 => ("f32", "float32"),
            F16 => ("f16", "float16"),
            BF16 => ("bf16", "bfloat16"),
            FP8E4M3 => ("f8e4m3", "float8_e4m3fn"),
            FP8E5M2 => ("f8e5m2", "float8_e5m2"),
            I64 => ("i64", "int64"),
            I32 => ("i32", "int32"),
            I16 => ("i16", "int16"),
            I8 => ("i8", "int8"),
            U64 => ("u64", "uint64"),
            U32 => ("u32", "uint32"),
            U16 => ("u16", "uint16"),
            U8 => ("u8", "uint8"),
            Bool => ("bool", "bool"),
            Complex64 => ("c64", "complex64"),
            Complex128 => ("c128", "complex128"),
        }
    }

    /// Whether this is a real floating-point type.
    pub const fn is_float(self) -> bool {
        DTypeSet::FLOATS.contains(self)
    }

    /// Whether this is a complex type.
    pub const fn is_complex(self) -> bool {
        DTypeSet::COMPLEX.contains(self)
    }

    /// Whether this is an integer type, signed or not; `Bool` is none.
    pub const fn is_int(self) -> bool {
        DTypeSet::INTS.contains(self)
    }

    /// Whether this is a signed integer type.
    pub const fn is_signed_int(self) -> bool {
        DTypeSet::SIGNED.contains(self)
    }

    /// Whether this is an unsigned integer type.
    pub const fn is_unsigned_int(self) -> bool {
        DTypeSet::UNSIGNED.contains(self)
    }

    /// Whether this is `Bool`.
    pub const fn is_bool(self) -> bool {
        matches!(self, DType::Bool)
    }

    /// Whether values below zero exist: signed integers, floats and complex types.
    pub const fn is_signed(self) -> bool {
        !self.is_unsigned_int() && !self.is_bool()
    }

    /// The real type of the two parts of a complex type, `None` for any other.
    pub const fn complex_component_dtype(self) -> Option<DType> {
        match self {
            DType::Complex64 => Some(DType::F32),
            DType::Complex128 => Some(DType::F64),
            _ => None,
        }
    }

    /// The type of a float literal without context: `F32`.
    pub const fn default_float() -> DType {
        DType::F32
    }

    /// The type of an integer literal without context: `I64`.
    pub const fn default_int() -> DType {
        DType::I64
    }

    /// The least finite value, rounded to f64; of a complex type, its component's.
    pub const fn min_value(self) -> f64 {
        use DType::*;
        match self {
            I64 => i64::MIN as f64,
            I32 => i32::MIN as f64,
            I16 => i16::MIN as f64,
            I8 => i8::MIN as f64,
            U64 | U32 | U16 | U8 | Bool => 0.0,
            float => -float.max_value(),
        }
    }

    /// The greatest finite value, rounded to f64; of a complex type, its component's.
    pub const fn max_value(self) -> f64 {
        use DType::*;
        match self {
            F64 | Complex128 => f64::MAX,
            F32 | Complex64 => f32::MAX as f64,
            F16 => 65504.0,
            BF16 => f32::from_bits(0x7f7f_0000) as f64,
            FP8E4M3 => 448.0,
            FP8E5M2 => 57344.0,
            I64 => i64::MAX as f64,
            I32 => i32::MAX as f64,
            I16 => i16::MAX as f64,
            I8 => i8::MAX as f64,
            U64 => u64::MAX as f64,
            U32 => u32::MAX as f64,
            U16 => u16::MAX as f64,
            U8 => u8::MAX as f64,
            Bool => 1.0,
        }
    }

    /// The type arithmetic runs in: `F32` for the narrow floats, itself for all others.
    pub const fn compute(self) -> DType {
        use DType::*;
        match self {
            F16 | BF16 | FP8E4M3 | FP8E5M2 => F32,
            other => other,
        }
    }

    /// The complex type that holds this one: `Complex128` for `F64`, `Complex64` for all that are not complex yet.
    pub const fn to_complex(self) -> DType {
        use DType::*;
        match self {
            F64 | Complex128 => Complex128,
            _ => Complex64,
        }
    }

    /// The component of a complex type, itself for all others.
    pub const fn to_real(self) -> DType {
        match self.complex_component_dtype() {
            Some(real) => real,
            None => self,
        }
    }

    /// The bytes of `count` elements that all hold `value`, converted as a cast does.
    pub fn fill_bytes_impl(self, value: f64, count: usize) -> Vec<u8> {
        dispatch_dtype!(self, T => bytemuck::bytes_of(&value.cast::<T>().to_pod()).repeat(count))
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.short_name())
    }
}

impl FromStr for DType {
    type Err = Error;

    /// Reads a short name (`f32`) or NumPy's (`float32`).
    fn from_str(s: &str) -> Result<DType> {
        DType::ALL.into_iter().find(|d| d.names().0 == s || d.names().1 == s).ok_or_else(|| {
            Error::argument("dtype", "name", format!("{s:?} names no dtype; expected one of {}", DTypeSet::ALL))
        })
    }
}

/// The type both `a` and `b` convert to before an operation on the two: total, commutative, idempotent.
///
/// bool < integers < real floats < complex. Between kinds the higher kind's type stays (`i64 + f16 = f16`, as in
/// PyTorch and JAX); between integers the result holds both ranges, as in NumPy (`u8 + i8 = i16`,
/// `u64 + i64 = f64`); `f16 + bf16 = f32`, the two fp8 types give `f16`, `c64 + f64 = c128`.
///
/// Associative but for two corners, where the grouping decides: the fp8 types with `bf16`
/// (`(e4m3 + e5m2) + bf16 = f32`, `e4m3 + (e5m2 + bf16) = bf16`) and `u64` with a signed integer and a third that is
/// inexact (`(u64 + i64) + f32 = f64`, `u64 + (i64 + f32) = f32`).
///
/// ```
/// use numr_core::{DType, promote};
/// assert_eq!(promote(DType::U8, DType::I8), DType::I16);
/// assert_eq!(promote(DType::I64, DType::BF16), DType::BF16);
/// ```
pub const fn promote(a: DType, b: DType) -> DType {
    use DType::*;
    // By symmetry let `a` come first in declaration order; complex types, last there, are looked at first.
    let (a, b) = if a as u8 <= b as u8 { (a, b) } else { (b, a) };
    if a as u8 == b as u8 {
        return a;
    }
    match (a, b) {
        (Complex64, Complex128) | (F64, Complex64) => Complex128,
        (_, Complex64 | Complex128) => b,
        (_, Bool) => a,
        (F64, _) | (F32, _) => a,
        (F16, BF16) => F32,
        (FP8E4M3, FP8E5M2) => F16,
        (F16 | BF16 | FP8E4M3 | FP8E5M2, _) => a,
        _ if a.is_signed_int() == b.is_signed_int() => a,
        // Signed with unsigned: the signed type, if it is wider, else twice the unsigned width.
        _ if a.size_in_bytes() > b.size_in_bytes() => a,
        (_, U8) => I16,
        (_, U16) => I32,
        (_, U32) => I64,
        _ => F64,
    }
}

/// The kind of a scalar that adapts to a tensor: a Rust literal has a kind but no width.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Weak {
    /// A truth value.
    Bool,
    /// An integer.
    Int,
    /// A real number.
    Float,
    /// A complex number.
    Complex,
}

/// The type of an operation between a tensor and a scalar: the tensor's, unless the scalar's kind is higher.
///
/// ```
/// use numr_core::{DType, Weak, promote_weak};
/// assert_eq!(promote_weak(DType::F16, Weak::Float), DType::F16);
/// assert_eq!(promote_weak(DType::I32, Weak::Float), DType::F32);
/// ```
pub const fn promote_weak(tensor: DType, scalar: Weak) -> DType {
    match scalar {
        Weak::Bool => tensor,
        Weak::Int if tensor.is_bool() => DType::default_int(),
        Weak::Int => tensor,
        Weak::Float if tensor.is_float() || tensor.is_complex() => tensor,
        Weak::Float => DType::default_float(),
        Weak::Complex => tensor.to_complex(),
    }
}

/// A set of dtypes.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Default)]
pub struct DTypeSet(u32);

impl DTypeSet {
    /// No dtype.
    pub const NONE: DTypeSet = DTypeSet(0);
    /// The real floats.
    pub const FLOATS: DTypeSet = {
        use DType::*;
        DTypeSet::of(&[F64, F32, F16, BF16, FP8E4M3, FP8E5M2])
    };
    /// The signed integers.
    pub const SIGNED: DTypeSet = DTypeSet::of(&[DType::I64, DType::I32, DType::I16, DType::I8]);
    /// The unsigned integers.
    pub const UNSIGNED: DTypeSet = DTypeSet::of(&[DType::U64, DType::U32, DType::U16, DType::U8]);
    /// All integers.
    pub const INTS: DTypeSet = DTypeSet::SIGNED.union(DTypeSet::UNSIGNED);
    /// The complex types.
    pub const COMPLEX: DTypeSet = DTypeSet::of(&[DType::Complex64, DType::Complex128]);
    /// `Bool` alone.
    pub const BOOL: DTypeSet = DTypeSet::single(DType::Bool);
    /// Integers and real floats: all that is ordered, without `Bool`.
    pub const REAL: DTypeSet = DTypeSet::INTS.union(DTypeSet::FLOATS);
    /// Integers, real floats and complex types.
    pub const NUMERIC: DTypeSet = DTypeSet::REAL.union(DTypeSet::COMPLEX);
    /// Every dtype.
    pub const ALL: DTypeSet = DTypeSet::NUMERIC.union(DTypeSet::BOOL);
    /// Real and complex floats.
    pub const INEXACT: DTypeSet = DTypeSet::FLOATS.union(DTypeSet::COMPLEX);
    /// What has an order: reals and bool.
    pub const ORDERED: DTypeSet = DTypeSet::REAL.union(DTypeSet::BOOL);
    /// Integers and bool.
    pub const INTEGRAL: DTypeSet = DTypeSet::INTS.union(DTypeSet::BOOL);
    /// Floats that compute in their own precision.
    pub const FULL_FLOATS: DTypeSet = DTypeSet::of(&[DType::F64, DType::F32]);

    /// Bits follow declaration order, not discriminants, which leave gaps past 32.
    const fn bit(dtype: DType) -> u32 {
        let mut i = 0;
        while DType::ALL[i] as u8 != dtype as u8 {
            i += 1;
        }
        1 << i
    }

    /// The set of one.
    pub const fn single(dtype: DType) -> DTypeSet {
        DTypeSet(DTypeSet::bit(dtype))
    }

    /// The set of those listed.
    pub const fn of(dtypes: &[DType]) -> DTypeSet {
        let (mut set, mut i) = (0, 0);
        while i < dtypes.len() {
            set |= DTypeSet::bit(dtypes[i]);
            i += 1;
        }
        DTypeSet(set)
    }

    /// Whether `dtype` is in the set.
    pub const fn contains(self, dtype: DType) -> bool {
        self.0 & DTypeSet::bit(dtype) != 0
    }

    /// Those in either set.
    pub const fn union(self, other: DTypeSet) -> DTypeSet {
        DTypeSet(self.0 | other.0)
    }

    /// Those in both sets.
    pub const fn intersection(self, other: DTypeSet) -> DTypeSet {
        DTypeSet(self.0 & other.0)
    }

    /// Those in this set and not in the other.
    pub const fn without(self, other: DTypeSet) -> DTypeSet {
        DTypeSet(self.0 & !other.0)
    }

    /// Whether nothing is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The members, in discriminant order.
    pub fn iter(self) -> impl Iterator<Item = DType> {
        DType::ALL.into_iter().filter(move |&d| self.contains(d))
    }
}

impl FromIterator<DType> for DTypeSet {
    fn from_iter<I: IntoIterator<Item = DType>>(iter: I) -> DTypeSet {
        iter.into_iter().fold(DTypeSet::NONE, |set, d| set.union(DTypeSet::single(d)))
    }
}

impl fmt::Display for DTypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, dtype) in self.iter().enumerate() {
            write!(f, "{}{dtype}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl fmt::Debug for DTypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

impl From<DTypeSet> for Cow<'static, str> {
    fn from(set: DTypeSet) -> Self {
        Cow::Owned(if set.0.count_ones() == 1 { set.to_string() } else { format!("one of {set}") })
    }
}

/// What a storage must know of its element type; a runtime of another crate may bring its own, block-quantised ones too.
pub trait DataType: Copy + fmt::Debug + PartialEq + Eq + Hash + Send + Sync + 'static {
    /// Bytes per element; of a block-quantised type, bytes per block.
    fn size_in_bytes(self) -> usize;
    /// The name used in messages.
    fn short_name(self) -> &'static str;
    /// Whether this is a real floating-point type.
    fn is_float(self) -> bool;
    /// Whether this is an integer type.
    fn is_int(self) -> bool;
    /// Whether elements are stored in quantised blocks.
    fn is_quantized(self) -> bool {
        false
    }
    /// Elements per block.
    fn block_size(self) -> usize {
        1
    }
    /// Bytes per block.
    fn block_bytes(self) -> usize {
        self.size_in_bytes()
    }
    /// Bytes that `numel` elements take; saturates, so that an allocation of an impossible size fails.
    fn storage_bytes(self, numel: usize) -> usize {
        numel.div_ceil(self.block_size()).saturating_mul(self.block_bytes())
    }
    /// The [`DType`] this is, if it is one.
    fn as_standard(&self) -> Option<DType>;
    /// The bytes of `count` elements that all hold `value`, or `None` if the type cannot say.
    fn fill_bytes(self, value: f64, count: usize) -> Option<Vec<u8>>;
}

impl DataType for DType {
    fn size_in_bytes(self) -> usize {
        DType::size_in_bytes(self)
    }
    fn short_name(self) -> &'static str {
        DType::short_name(self)
    }
    fn is_float(self) -> bool {
        DType::is_float(self)
    }
    fn is_int(self) -> bool {
        DType::is_int(self)
    }
    fn as_standard(&self) -> Option<DType> {
        Some(*self)
    }
    fn fill_bytes(self, value: f64, count: usize) -> Option<Vec<u8>> {
        Some(self.fill_bytes_impl(value, count))
    }
}

#[cfg(test)]
mod tests;
