//! Conversions between elements in a block, and between a block and memory.
//!
//! Rounding is done once for every pair: what an `f32` cannot hold exactly goes to a narrow float by way of the `f32`
//! rounded to odd (the last bit says whether something was cut off), which rounds on as the number itself would.

use bytemuck::Pod;
use numr_core::{Complex, DType, FP8E4M3, FP8E5M2, bf16, f16};
use std::marker::PhantomData;

use crate::convert;

use super::body::{Body, Kernel, RealC, copy, in_block, kernel as of, plain, with};

/// A float of fewer bits than `f32`.
pub(super) trait Narrow: Pod {
    fn load(self) -> f32;
    fn store(x: f32) -> Self;
}

macro_rules! narrow {
    ($($t:ty),*) => { $(
        impl Narrow for $t {
            #[inline(always)]
            fn load(self) -> f32 {
                convert::As::to(self)
            }
            #[inline(always)]
            fn store(x: f32) -> $t {
                convert::As::to(x)
            }
        }
    )* };
}
narrow!(f16, bf16, FP8E4M3, FP8E5M2);

/// A number that may not fit an `f32`.
trait Odd: Pod {
    /// The nearest `f32` toward zero, with its last bit set if it is not the number itself.
    fn to_odd(self) -> f32;
}

impl Odd for f64 {
    #[inline(always)]
    fn to_odd(self) -> f32 {
        let near = self as f32;
        let past = (near as f64).abs() > self.abs();
        let inexact = near as f64 != self && !self.is_nan();
        f32::from_bits((near.to_bits() - u32::from(past)) | u32::from(inexact))
    }
}

macro_rules! odd {
    ($($t:ty: |$v:ident| $e:expr;)*) => { $(
        impl Odd for $t {
            #[inline(always)]
            fn to_odd(self) -> f32 {
                let $v = self;
                $e
            }
        }
    )* };
}
odd! {
    i32: |v| f64::from(v).to_odd();
    u32: |v| f64::from(v).to_odd();
    // 53 bits hold the number, but for bits that only ever say "more than a tie".
    i64: |v| if v.unsigned_abs() >> 53 == 0 { v as f64 } else { (v >> 11 | i64::from(v & 0x7ff != 0)) as f64 * 2048.0 }.to_odd();
    u64: |v| if v >> 53 == 0 { v as f64 } else { (v >> 11 | u64::from(v & 0x7ff != 0)) as f64 * 2048.0 }.to_odd();
}

plain! {
    ToOdd<T: Odd> 1 (a: T, _b, _c: u8) -> f32 = a.to_odd();
    Load<T: Narrow> 1 (a: T, _b, _c: u8) -> f32 = a.load();
    Store<T: Narrow> 1 (a: f32, _b, _c: u8) -> T = T::store(a);
    Rounded<T: Narrow> 1 (a: f32, _b, _c: u8) -> f32 = T::store(a).load();
    ToC<T: super::body::Part> 1 (a: T, _b, _c: u8) -> Complex<T> = Complex::new(a, T::zero());
    WidenC 1 (a: Complex<f32>, _b, _c: u8) -> Complex<f64> = Complex::new(a.re.into(), a.im.into());
    NarrowC 1 (a: Complex<f64>, _b, _c: u8) -> Complex<f32> = Complex::new(a.re as f32, a.im as f32);
    TrueC<T: super::body::Part> 1 (a: Complex<T>, _b, _c: u8) -> u8 = u8::from(!a.re.is_zero() || !a.im.is_zero());
    True<T: Zero> 1 (a: T, _b, _c: u8) -> u8 = u8::from(a != T::ZERO);
}

/// A type with a zero to compare with.
trait Zero: Pod + PartialEq {
    const ZERO: Self;
}

/// `as` between two types.
trait As<U>: Pod {
    fn as_(self) -> U;
}
struct Convert<A, B>(PhantomData<(A, B)>);
impl<A: As<B>, B: Pod> Body for Convert<A, B> {
    type A = A;
    type B = u8;
    type Out = B;
    const ARITY: usize = 1;
    #[inline(always)]
    fn call<const M: bool>(a: A, _: u8, _: u8) -> B {
        a.as_()
    }
}

macro_rules! conversions {
    ($($kind:ident $a:ident: $($b:ident)*;)*) => { $(
        impl Zero for $a {
            const ZERO: $a = 0 as $a;
        }
        $(impl As<$b> for $a {
            #[inline(always)]
            fn as_(self) -> $b {
                conversions!(@ $kind self $a $b)
            }
        })*
    )* };
    (@ int $x:ident $a:ident $b:ident) => { $x as $b };
    (@ float $x:ident $a:ident $b:ident) => { <$b as Saturate<$a>>::saturate($x) };
}
conversions! {
    int i8: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64;
    int i16: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64;
    int i32: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64;
    int i64: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64;
    int u8: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64;
    int u16: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64;
    int u32: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64;
    int u64: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64;
    float f32: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64;
    float f64: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64;
}

/// `as` from a float. What `as` does for integers is not compiled to vectors; this is.
trait Saturate<F> {
    fn saturate(x: F) -> Self;
}

macro_rules! saturate {
    ($f:ident: $($i:ident $by:ident),*) => { $(
        impl Saturate<$f> for $i {
            #[inline(always)]
            fn saturate(x: $f) -> $i {
                // Both are powers of two or 0, and so exact; the second is one past the maximum.
                let (low, end) = ($i::MIN as $f, ($i::MAX / 2 + 1) as $f * 2.0);
                let inside = x >= low && x < end;
                // SAFETY: the operand is in the range of `$i`, which is in that of `$by`, and not NaN.
                let whole = unsafe { (if inside { x } else { 0.0 }).to_int_unchecked::<$by>() } as $i;
                if inside {
                    whole
                } else if x >= end {
                    $i::MAX
                } else if x < low {
                    $i::MIN
                } else {
                    0
                }
            }
        }
    )* };
}
saturate!(f32: i8 i32, i16 i32, i32 i32, i64 i64, u8 i32, u16 i32, u32 u32, u64 u64);
saturate!(f64: i8 i32, i16 i32, i32 i32, i64 i64, u8 i32, u16 i32, u32 u32, u64 u64);

macro_rules! round {
    ($($f:ident $to:ident),*) => { $(
        impl Saturate<$f> for $to {
            #[inline(always)]
            fn saturate(x: $f) -> $to {
                x as $to
            }
        }
    )* };
}
round!(f32 f32, f32 f64, f64 f32, f64 f64);

/// The kernel from one type to another in a block, narrow floats being `f32`.
pub(super) fn kernel(from: DType, to: DType) -> Option<Kernel> {
    let (from, to) = (in_block(from), in_block(to));
    if from == to {
        return Some(copy(from.size_in_bytes()));
    }
    match (from, to) {
        (DType::Complex64, DType::Complex128) => Some(of::<WidenC>()),
        (DType::Complex128, DType::Complex64) => Some(of::<NarrowC>()),
        _ => with!(number from, A => with!(number to, B => of::<Convert<A, B>>()))?,
    }
}

/// The kernel to truth values.
fn truth(from: DType) -> Option<Kernel> {
    match in_block(from) {
        d if d.is_complex() => with!(complex d, T => of::<TrueC<T>>()),
        d => with!(number d, T => of::<True<T>>()),
    }
}

macro_rules! narrow_kernel {
    ($name:ident $K:ident $doc:literal) => {
        #[doc = $doc]
        pub(super) fn $name(dtype: DType) -> Option<Kernel> {
            match dtype {
                DType::F16 => Some(of::<$K<f16>>()),
                DType::BF16 => Some(of::<$K<bf16>>()),
                DType::FP8E4M3 => Some(of::<$K<FP8E4M3>>()),
                DType::FP8E5M2 => Some(of::<$K<FP8E5M2>>()),
                _ => None,
            }
        }
    };
}
narrow_kernel!(load Load "From memory to a block; `None` where they are the same.");
narrow_kernel!(store Store "From a block to memory; `None` where they are the same.");
narrow_kernel!(rounded Rounded "From an `f32` in a block to the nearest that the dtype holds.");

/// The kernels that take a block from one dtype to another, one after the other, each with the dtype that its result
/// has in a block; `None` if there is none.
pub(super) fn chain(from: DType, to: DType) -> Option<Vec<(Kernel, DType)>> {
    if to.is_bool() {
        return Some(vec![(if from.is_bool() { copy(1) } else { truth(from)? }, to)]);
    }
    if from.is_complex() && to.is_complex() {
        return Some(vec![(kernel(from, to)?, to)]);
    }
    if from.is_complex() {
        let part = from.to_real();
        let first = with!(complex from, T => of::<RealC<T>>())?;
        let mut rest = chain(part, to)?;
        rest.insert(0, (first, part));
        return Some(rest);
    }
    if to.is_complex() {
        let part = to.to_real();
        let mut steps = chain(from, part)?;
        steps.push((with!(real part, T => of::<ToC<T>>())?, to));
        return Some(steps);
    }
    let Some(round) = rounded(to) else { return Some(vec![(kernel(from, to)?, to)]) };
    let to_f32 = match in_block(from) {
        DType::F32 => return Some(vec![(round, to)]),
        DType::F64 => of::<ToOdd<f64>>(),
        DType::I32 => of::<ToOdd<i32>>(),
        DType::U32 => of::<ToOdd<u32>>(),
        DType::I64 => of::<ToOdd<i64>>(),
        DType::U64 => of::<ToOdd<u64>>(),
        small => kernel(small, DType::F32)?,
    };
    Some(vec![(to_f32, DType::F32), (round, to)])
}
