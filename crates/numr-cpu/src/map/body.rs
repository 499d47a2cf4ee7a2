//! One step of an expression on a block of elements: the scalar primitives for every type, and which kernel a typed
//! step needs.
//!
//! In a block, narrow floats are `f32`, truth values are bytes 0 and 1, and all others are themselves.

use bytemuck::{Pod, Zeroable, cast_slice, cast_slice_mut};
use numr_core::ops::map::{NativeRow, NativeVisitor, Row};
use numr_core::scalar::graph::{Bin, Un};
use numr_core::scalar::lane::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
use numr_core::scalar::{Float, Function, Int, Scalar, math};
use numr_core::{Complex, DType};
use std::marker::PhantomData;

use super::cast;
use crate::copy::by_size;
use crate::isa::versions;

/// A step on blocks: the operands (unused ones are empty) and the result, as bytes of whole elements.
pub(crate) type Kernel = fn([&[u8]; 3], &mut [u8]);

/// A function of up to three elements. `A` and `B` are what the first and the other two operands are.
pub(super) trait Body: 'static {
    type A: Pod;
    type B: Pod;
    type Out: Pod;
    const ARITY: usize;
    fn call<const FMA: bool>(a: Self::A, b: Self::B, c: Self::B) -> Self::Out;
}

#[inline(always)]
fn each<K: Body, const FMA: bool>(a: &[u8], b: &[u8], c: &[u8], out: &mut [u8]) {
    let out: &mut [K::Out] = cast_slice_mut(out);
    let n = out.len();
    let a: &[K::A] = &cast_slice(a)[..n];
    let zero = K::B::zeroed;
    if K::ARITY == 1 {
        for (o, &a) in out.iter_mut().zip(a) {
            *o = K::call::<FMA>(a, zero(), zero());
        }
        return;
    }
    let b: &[K::B] = &cast_slice(b)[..n];
    if K::ARITY == 2 {
        for ((o, &a), &b) in out.iter_mut().zip(a).zip(b) {
            *o = K::call::<FMA>(a, b, zero());
        }
        return;
    }
    let c: &[K::B] = &cast_slice(c)[..n];
    for (((o, &a), &b), &c) in out.iter_mut().zip(a).zip(b).zip(c) {
        *o = K::call::<FMA>(a, b, c);
    }
}

versions! {
    fn run_each<K: Body>(a: &[u8], b: &[u8], c: &[u8], out: &mut [u8]) = each
}

/// The kernel of a body.
pub(super) fn kernel<K: Body>() -> Kernel {
    |[a, b, c], out| run_each::<K>(a, b, c, out)
}

/// A type with arithmetic in a lane.
pub(super) trait Number: Pod {
    type Lane<const M: bool>: Scalar<Mask = bool>;
    fn lane<const M: bool>(self) -> Self::Lane<M>;
    fn of<const M: bool>(lane: Self::Lane<M>) -> Self;
}

/// A type whose lane is a float.
pub(super) trait Real: Pod {
    type Lane<const M: bool>: Float<Mask = bool>;
    fn lane<const M: bool>(self) -> Self::Lane<M>;
    fn of<const M: bool>(lane: Self::Lane<M>) -> Self;
}

/// A type whose lane is an integer.
pub(super) trait Whole: Pod {
    type Lane<const M: bool>: Int<Mask = bool>;
    fn lane<const M: bool>(self) -> Self::Lane<M>;
    fn of<const M: bool>(lane: Self::Lane<M>) -> Self;
}

macro_rules! lanes {
    ($($trait:ident: $($t:ty => $L:ident$(<$m:ident>)?),*;)*) => { $($(
        impl $trait for $t {
            type Lane<const M: bool> = $L$(<$m>)?;
            #[inline(always)]
            fn lane<const M: bool>(self) -> Self::Lane<M> {
                $L(self)
            }
            #[inline(always)]
            fn of<const M: bool>(lane: Self::Lane<M>) -> $t {
                lane.0
            }
        }
    )*)* };
}
lanes! {
    Number: f32 => F32<M>, f64 => F64<M>, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16,
        u32 => U32, u64 => U64;
    Real: f32 => F32<M>, f64 => F64<M>;
    Whole: i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64;
}

/// Bodies over a lane: `Op(operands) { expression }`.
macro_rules! bodies {
    (@out mask $t:ident) => { u8 };
    (@out same $t:ident) => { $t };
    (@of mask $t:ident $m:ident $e:expr) => { u8::from($e) };
    (@of same $t:ident $m:ident $e:expr) => { $t::of::<$m>($e) };
    ($($trait:ident $answer:ident { $($Op:ident $arity:literal |$a:ident, $b:ident, $c:ident| $e:expr;)* })*) => { $($(
        struct $Op<T>(PhantomData<T>);
        impl<T: $trait> Body for $Op<T> {
            type A = T;
            type B = T;
            type Out = bodies!(@out $answer T);
            const ARITY: usize = $arity;
            #[inline(always)]
            fn call<const M: bool>(a: T, b: T, c: T) -> Self::Out {
                let ($a, $b, $c) = (a.lane::<M>(), b.lane::<M>(), c.lane::<M>());
                bodies!(@of $answer T M $e)
            }
        }
    )*)* };
}
bodies! {
    Number same {
        Neg 1 |a, _b, _c| -a;
        Abs 1 |a, _b, _c| a.abs();
        Add 2 |a, b, _c| a + b;
        Sub 2 |a, b, _c| a - b;
        Mul 2 |a, b, _c| a * b;
        Div 2 |a, b, _c| a / b;
        Rem 2 |a, b, _c| a % b;
        Max 2 |a, b, _c| a.max(b);
        Min 2 |a, b, _c| a.min(b);
        Pow 2 |a, b, _c| a.pow(b);
        Fma 3 |a, b, c| a.mul_add(b, c);
    }
    Number mask {
        Eq 2 |a, b, _c| a.eq(b);
        Ne 2 |a, b, _c| a.ne(b);
        Lt 2 |a, b, _c| a.lt(b);
        Le 2 |a, b, _c| a.le(b);
    }
    Whole same {
        Not 1 |a, _b, _c| !a;
        And 2 |a, b, _c| a & b;
        Or 2 |a, b, _c| a | b;
        Xor 2 |a, b, _c| a ^ b;
        Shl 2 |a, b, _c| a.shl(b);
        Shr 2 |a, b, _c| a.shr(b);
        ShrLogical 2 |a, b, _c| a.shr_logical(b);
        MulHi 2 |a, b, _c| a.mul_hi(b);
    }
    Real same {
        Sqrt 1 |a, _b, _c| a.sqrt();
        Floor 1 |a, _b, _c| a.floor();
        Ceil 1 |a, _b, _c| a.ceil();
        Round 1 |a, _b, _c| a.round();
        Trunc 1 |a, _b, _c| a.trunc();
    }
}

macro_rules! functions {
    ($($f:ident $F:ident $doc:literal,)*) => {
        bodies! { Real same { $($F 1 |a, _b, _c| a.$f();)* } }

        fn function(f: Function, d: DType) -> Option<Kernel> {
            match f { $(Function::$F => with!(real d, T => kernel::<$F<T>>()),)* }
        }
    };
}
numr_core::elementary!(functions);

/// Bodies between plain types: `Op<T> A, B -> Out { expression }`.
macro_rules! plain {
    ($($Op:ident$(<$T:ident: $bound:path>)? $arity:literal ($a:ident: $A:ty, $b:ident, $c:ident: $B:ty) -> $Out:ty = $e:expr;)*) => { $(
        pub(super) struct $Op$(<$T>(PhantomData<$T>))?;
        impl$(<$T: $bound>)? Body for $Op$(<$T>)? {
            type A = $A;
            type B = $B;
            type Out = $Out;
            const ARITY: usize = $arity;
            #[inline(always)]
            fn call<const M: bool>($a: $A, $b: $B, $c: $B) -> $Out {
                $e
            }
        }
    )* };
}
pub(super) use plain;

plain! {
    NotBool 1 (a: u8, _b, _c: u8) -> u8 = a ^ 1;
    Select<T: Pod> 3 (a: u8, b, c: T) -> T = if a != 0 { b } else { c };
    Copy<T: Pod> 1 (a: T, _b, _c: u8) -> T = a;
    NegC<T: Part> 1 (a: Complex<T>, _b, _c: Complex<T>) -> Complex<T> = -a;
    AbsC<T: Real> 1 (a: Complex<T>, _b, _c: Complex<T>) -> T =
        T::of::<M>(math::hypot(a.re.lane::<M>(), a.im.lane::<M>()));
    ConjC<T: Part> 1 (a: Complex<T>, _b, _c: Complex<T>) -> Complex<T> = a.conj();
    RealC<T: Part> 1 (a: Complex<T>, _b, _c: Complex<T>) -> T = a.re;
    ImagC<T: Part> 1 (a: Complex<T>, _b, _c: Complex<T>) -> T = a.im;
    AddC<T: Part> 2 (a: Complex<T>, b, _c: Complex<T>) -> Complex<T> = a + b;
    SubC<T: Part> 2 (a: Complex<T>, b, _c: Complex<T>) -> Complex<T> = a - b;
    MulC<T: Part> 2 (a: Complex<T>, b, _c: Complex<T>) -> Complex<T> = a * b;
    DivC<T: Part> 2 (a: Complex<T>, b, _c: Complex<T>) -> Complex<T> = divide(a, b);
    FmaC<T: Part> 3 (a: Complex<T>, b, c: Complex<T>) -> Complex<T> = a * b + c;
    EqC<T: Part> 2 (a: Complex<T>, b, _c: Complex<T>) -> u8 = u8::from(a == b);
    NeC<T: Part> 2 (a: Complex<T>, b, _c: Complex<T>) -> u8 = u8::from(a != b);
    ComplexC<T: Part> 2 (a: T, b, _c: T) -> Complex<T> = Complex::new(a, b);
}

/// The component of a complex type.
pub(super) trait Part: Pod + num_traits::Float {}
impl Part for f32 {}
impl Part for f64 {}

/// a / b by Smith's method: no overflow of |b|², and a division by a real number is one of the parts.
#[inline(always)]
fn divide<T: Part>(a: Complex<T>, b: Complex<T>) -> Complex<T> {
    if b.re.abs() >= b.im.abs() {
        // With b = 0 the ratio would be NaN where a / 0 is infinite.
        let ratio = if b.im.is_zero() { T::zero() } else { b.im / b.re };
        let scale = b.re + b.im * ratio;
        Complex::new((a.re + a.im * ratio) / scale, (a.im - a.re * ratio) / scale)
    } else {
        let ratio = b.re / b.im;
        let scale = b.re * ratio + b.im;
        Complex::new((a.re * ratio + a.im) / scale, (a.im * ratio - a.re) / scale)
    }
}

/// Evaluates an expression with `T` bound to the type of a dtype's elements in a block, for dtypes of one family.
macro_rules! with {
    (real $dtype:expr, $T:ident => $e:expr) => { with!(@ $dtype, $T => $e, F32 f32, F64 f64) };
    (whole $dtype:expr, $T:ident => $e:expr) => {
        with!(@ $dtype, $T => $e, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64)
    };
    (number $dtype:expr, $T:ident => $e:expr) => {
        with!(@ $dtype, $T => $e, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64)
    };
    (complex $dtype:expr, $T:ident => $e:expr) => { with!(@ $dtype, $T => $e, Complex64 f32, Complex128 f64) };
    (@ $dtype:expr, $T:ident => $e:expr, $($D:ident $t:ty),*) => {
        match $dtype {
            $(DType::$D => {
                type $T = $t;
                Some($e)
            })*
            _ => None,
        }
    };
}
pub(super) use with;

/// The dtype whose type stands for this one in a block.
pub(super) fn in_block(dtype: DType) -> DType {
    if dtype.is_bool() { DType::U8 } else { dtype.compute() }
}

/// As [`in_block`], for operations that do not ask for the sign: half the kernels do.
fn unsigned(dtype: DType) -> DType {
    match in_block(dtype) {
        DType::I8 => DType::U8,
        DType::I16 => DType::U16,
        DType::I32 => DType::U32,
        DType::I64 => DType::U64,
        other => other,
    }
}

/// The circular functions without the reduction of huge arguments, which would be most of the work.
trait Angle: Real {
    /// Are they good for this one?
    fn is_bounded(self) -> bool;
    fn sin_bounded<const M: bool>(lane: Self::Lane<M>) -> Self::Lane<M>;
    fn cos_bounded<const M: bool>(lane: Self::Lane<M>) -> Self::Lane<M>;
}

macro_rules! angle {
    ($($t:ty: $width:ident;)*) => { $(
        impl Angle for $t {
            #[inline(always)]
            fn is_bounded(self) -> bool {
                self.abs() < math::$width::TRIG_LIMIT as $t
            }
            #[inline(always)]
            fn sin_bounded<const M: bool>(lane: Self::Lane<M>) -> Self::Lane<M> {
                math::$width::sin_bounded(lane)
            }
            #[inline(always)]
            fn cos_bounded<const M: bool>(lane: Self::Lane<M>) -> Self::Lane<M> {
                math::$width::cos_bounded(lane)
            }
        }
    )* };
}
angle! {
    f32: single;
    f64: double;
}
bodies! {
    Angle same {
        SinBounded 1 |a, _b, _c| T::sin_bounded::<M>(a);
        CosBounded 1 |a, _b, _c| T::cos_bounded::<M>(a);
    }
}

/// The kernel of a circular function: the short form, of the same bits, for every stretch whose angles allow it.
fn angles<T: Angle, Short: Body, Full: Body>() -> Kernel {
    |[a, b, c], out| {
        let stretch = 1024 * size_of::<T>();
        for (a, out) in a.chunks(stretch).zip(out.chunks_mut(stretch)) {
            let x: &[T] = cast_slice(a);
            if x.iter().fold(true, |all, x| all & x.is_bounded()) {
                run_each::<Short>(a, b, c, out);
            } else {
                run_each::<Full>(a, b, c, out);
            }
        }
    }
}

/// The kernel of a primitive of one operand of this dtype.
pub(super) fn un(u: Un, dtype: DType) -> Option<Kernel> {
    if dtype.is_complex() {
        return match u {
            Un::Neg => with!(complex dtype, T => kernel::<NegC<T>>()),
            Un::Abs => with!(complex dtype, T => kernel::<AbsC<T>>()),
            Un::Conj => with!(complex dtype, T => kernel::<ConjC<T>>()),
            Un::Real => with!(complex dtype, T => kernel::<RealC<T>>()),
            Un::Imag => with!(complex dtype, T => kernel::<ImagC<T>>()),
            _ => None,
        };
    }
    let d = in_block(dtype);
    match u {
        Un::Not if dtype.is_bool() => Some(kernel::<NotBool>()),
        Un::Not => with!(whole unsigned(d), T => kernel::<Not<T>>()),
        Un::Neg => with!(number unsigned(d), T => kernel::<Neg<T>>()),
        Un::Abs => with!(number d, T => kernel::<Abs<T>>()),
        Un::Keep => Some(copy(d.size_in_bytes())),
        Un::Sqrt => with!(real d, T => kernel::<Sqrt<T>>()),
        Un::Floor => with!(real d, T => kernel::<Floor<T>>()),
        Un::Ceil => with!(real d, T => kernel::<Ceil<T>>()),
        Un::Round => with!(real d, T => kernel::<Round<T>>()),
        Un::Trunc => with!(real d, T => kernel::<Trunc<T>>()),
        Un::Math(Function::Sin) => with!(real d, T => angles::<T, SinBounded<T>, Sin<T>>()),
        Un::Math(Function::Cos) => with!(real d, T => angles::<T, CosBounded<T>, Cos<T>>()),
        Un::Math(f) => function(f, d),
        Un::ToBits | Un::FromBits => match d {
            DType::F32 | DType::I32 => Some(kernel::<Copy<u32>>()),
            DType::F64 | DType::I64 => Some(kernel::<Copy<u64>>()),
            _ => None,
        },
        Un::ToInt => match d {
            DType::F32 => cast::kernel(d, DType::I32),
            _ => cast::kernel(d, DType::I64),
        },
        Un::FromInt => match d {
            DType::I32 => cast::kernel(d, DType::F32),
            _ => cast::kernel(d, DType::F64),
        },
        Un::Conj | Un::Real => None,
        Un::Imag => None,
    }
}

/// The kernel of a primitive of two operands of this dtype.
pub(super) fn bin(b: Bin, dtype: DType) -> Option<Kernel> {
    if dtype.is_complex() {
        return match b {
            Bin::Add => with!(complex dtype, T => kernel::<AddC<T>>()),
            Bin::Sub => with!(complex dtype, T => kernel::<SubC<T>>()),
            Bin::Mul => with!(complex dtype, T => kernel::<MulC<T>>()),
            Bin::Div => with!(complex dtype, T => kernel::<DivC<T>>()),
            Bin::Eq => with!(complex dtype, T => kernel::<EqC<T>>()),
            Bin::Ne => with!(complex dtype, T => kernel::<NeC<T>>()),
            _ => None,
        };
    }
    let (d, u) = (in_block(dtype), unsigned(dtype));
    match b {
        Bin::Add => with!(number u, T => kernel::<Add<T>>()),
        Bin::Sub => with!(number u, T => kernel::<Sub<T>>()),
        Bin::Mul => with!(number u, T => kernel::<Mul<T>>()),
        Bin::Div => with!(number d, T => kernel::<Div<T>>()),
        Bin::Rem => with!(number d, T => kernel::<Rem<T>>()),
        Bin::Max => with!(number d, T => kernel::<Max<T>>()),
        Bin::Min => with!(number d, T => kernel::<Min<T>>()),
        Bin::Pow => with!(number d, T => kernel::<Pow<T>>()),
        Bin::And => with!(whole u, T => kernel::<And<T>>()),
        Bin::Or => with!(whole u, T => kernel::<Or<T>>()),
        Bin::Xor => with!(whole u, T => kernel::<Xor<T>>()),
        Bin::Shl => with!(whole u, T => kernel::<Shl<T>>()),
        Bin::Shr => with!(whole d, T => kernel::<Shr<T>>()),
        Bin::ShrLogical => with!(whole u, T => kernel::<ShrLogical<T>>()),
        Bin::MulHi => with!(whole u, T => kernel::<MulHi<T>>()),
        Bin::Eq => with!(number u, T => kernel::<Eq<T>>()),
        Bin::Ne => with!(number u, T => kernel::<Ne<T>>()),
        Bin::Lt => with!(number d, T => kernel::<Lt<T>>()),
        Bin::Le => with!(number d, T => kernel::<Le<T>>()),
        Bin::Complex => with!(real d, T => kernel::<ComplexC<T>>()),
    }
}

/// The kernel of a·b + c.
pub(super) fn fma(dtype: DType) -> Option<Kernel> {
    if dtype.is_complex() {
        return with!(complex dtype, T => kernel::<FmaC<T>>());
    }
    with!(number unsigned(dtype), T => kernel::<Fma<T>>())
}

/// The kernel of a choice between elements of this many bytes.
pub(super) fn select(size: usize) -> Kernel {
    by_size!(size, T => kernel::<Select<T>>())
}

/// The kernel of a copy of elements of this many bytes.
pub(super) fn copy(size: usize) -> Kernel {
    by_size!(size, T => kernel::<Copy<T>>())
}

/// A whole row of the op table as one step.
struct RowBody<F, T>(PhantomData<(F, T)>);
impl<F: NativeRow, T: Real> Body for RowBody<F, T> {
    type A = T;
    type B = T;
    type Out = T;
    const ARITY: usize = F::ARITY;
    #[inline(always)]
    fn call<const M: bool>(a: T, b: T, c: T) -> T {
        T::of::<M>(F::call(&[a.lane::<M>(), b.lane::<M>(), c.lane::<M>()][..F::ARITY]))
    }
}

struct Native<T>(PhantomData<T>);
impl<T: Real> NativeVisitor for Native<T> {
    type Out = Kernel;
    fn visit<F: NativeRow>(self) -> Kernel {
        kernel::<RowBody<F, T>>()
    }
}

/// The kernel of a row marked `native`, for operands and result of this dtype.
pub(super) fn row(row: Row, dtype: DType) -> Option<Kernel> {
    match (row, dtype) {
        (Row::Sin, DType::F32 | DType::F64) => un(Un::Math(Function::Sin), dtype),
        (Row::Cos, DType::F32 | DType::F64) => un(Un::Math(Function::Cos), dtype),
        (_, DType::F32) => row.visit_native(Native::<f32>(PhantomData)),
        (_, DType::F64) => row.visit_native(Native::<f64>(PhantomData)),
        _ => None,
    }
}
