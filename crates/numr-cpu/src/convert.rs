//! Rows of elements between what lies in memory and what is computed with.
//!
//! The conversions are branch-free so that loops over them vectorise. They agree with [`numr_core::Element`].

use numr_core::element::{Complex, FP8E4M3, FP8E5M2, bf16, f16};
use numr_core::{DType, Result, Tensor};

use crate::CpuRuntime;
use crate::copy::by_size;
use crate::isa::{self, Work};
use crate::storage::elements;

/// A value as another type, by the rules of a cast.
pub(crate) trait As<C>: Copy + 'static {
    /// The value.
    fn to(self) -> C;
}

/// A narrow float: how many mantissa bits, what is added to the exponent, and the codes (without sign) of what is
/// past the finite values and of NaN.
struct Narrow<const MANTISSA: u32, const BIAS: u32, const OVERFLOW: u32, const NAN: u32>;

impl<const M: u32, const B: u32, const OVERFLOW: u32, const NAN: u32> Narrow<M, B, OVERFLOW, NAN> {
    /// Rounds once, to nearest even. `sign` is the place of the sign bit.
    #[inline(always)]
    fn encode(x: f32, sign: u32) -> u32 {
        let bits = x.to_bits();
        let abs = bits & 0x7fff_ffff;
        let cut = 23 - M;
        // The carry of a rounded mantissa counts the exponent up, as it should.
        let normal = (abs + ((1 << (cut - 1)) - 1) + (abs >> cut & 1)) >> cut;
        let normal = normal.wrapping_sub((127 - B) << M);
        // Below the normal range the unit is fixed: adding the number with that unit lets the addition round.
        let magic = (127 + 24 - B - M) << 23;
        let subnormal = (f32::from_bits(abs) + f32::from_bits(magic)).to_bits().wrapping_sub(magic);
        let code = if abs < (128 - B) << 23 { subnormal } else { normal };
        let code = if code > OVERFLOW { OVERFLOW } else { code };
        let code = if abs > 0x7f80_0000 { NAN } else { code };
        code | (bits >> 31) << sign
    }

    /// Exactly, from a code whose sign bit is at `sign`.
    #[inline(always)]
    fn decode(code: u32, sign: u32) -> f32 {
        let abs = code & ((1 << sign) - 1);
        let normal = (abs << (23 - M)) + ((127 - B) << 23);
        // Infinity and NaN, or NaN alone, have codes from OVERFLOW on.
        let special = if abs > OVERFLOW || OVERFLOW == NAN { 0x7fc0_0000 } else { 0x7f80_0000 };
        let unit = f32::from_bits((127 + 1 - B - M) << 23);
        let subnormal = (abs as f32 * unit).to_bits();
        let bits = if abs < 1 << M { subnormal } else { normal };
        let bits = if abs >= OVERFLOW { special } else { bits };
        f32::from_bits(bits | (code >> sign) << 31)
    }
}

type Half = Narrow<10, 15, 0x7c00, 0x7e00>;
type E4M3 = Narrow<3, 7, 0x7f, 0x7f>;
type E5M2 = Narrow<2, 15, 0x7c, 0x7e>;

macro_rules! convert {
    ($($from:ty, $to:ty: |$x:ident| $e:expr;)*) => {$(
        impl As<$to> for $from {
            #[inline(always)]
            fn to(self) -> $to {
                let $x = self;
                $e
            }
        }
    )*};
}
convert! {
    f16, f32: |x| Half::decode(x.to_bits().into(), 15);
    f32, f16: |x| f16::from_bits(Half::encode(x, 15) as u16);
    bf16, f32: |x| f32::from_bits(u32::from(x.to_bits()) << 16);
    f32, bf16: |x| {
        let bits = x.to_bits();
        let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
        let code = if x.is_nan() { bits >> 31 << 15 | 0x7fc0 } else { rounded };
        bf16::from_bits(code as u16)
    };
    FP8E4M3, f32: |x| E4M3::decode(x.to_bits().into(), 7);
    f32, FP8E4M3: |x| FP8E4M3::from_bits(E4M3::encode(x, 7) as u8);
    FP8E5M2, f32: |x| E5M2::decode(x.to_bits().into(), 7);
    f32, FP8E5M2: |x| FP8E5M2::from_bits(E5M2::encode(x, 7) as u8);
}

/// 1 where a number is not zero, else 0.
#[derive(Clone, Copy, Default, PartialEq, PartialOrd, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub(crate) struct Truth(pub(crate) u8);

macro_rules! same {
    ($($ty:ty),*) => { convert! { $($ty, $ty: |x| x;)* } };
}
same!(f32, f64, i64, u64, Truth, Complex<f32>, Complex<f64>);

macro_rules! ints {
    ($($ty:ty),*) => { convert! { $($ty, i64: |x| x as i64; i64, $ty: |x| x as $ty;)* } };
}
ints!(i8, i16, i32, u8, u16, u32, u64);
// Bool lies in memory as u8.
convert! { Truth, u8: |x| x.0; }

macro_rules! truth {
    ($($ty:ty: |$x:ident| $e:expr;)*) => { convert! { $($ty, Truth: |$x| Truth(u8::from($e));)* } };
}
truth! {
    f32: |x| x != 0.0; f64: |x| x != 0.0;
    f16: |x| x.to_bits() & 0x7fff != 0; bf16: |x| x.to_bits() & 0x7fff != 0;
    FP8E4M3: |x| x.to_bits() & 0x7f != 0; FP8E5M2: |x| x.to_bits() & 0x7f != 0;
    i8: |x| x != 0; i16: |x| x != 0; i32: |x| x != 0; i64: |x| x != 0;
    u8: |x| x != 0; u16: |x| x != 0; u32: |x| x != 0; u64: |x| x != 0;
    Complex<f32>: |x| x.re != 0.0 || x.im != 0.0; Complex<f64>: |x| x.re != 0.0 || x.im != 0.0;
}

/// Reads as many elements as `dst` holds, `stride` elements apart.
pub(crate) type Load<C> = unsafe fn(src: *const u8, stride: isize, dst: &mut [C]);
/// Writes elements side by side.
pub(crate) type Store<C> = unsafe fn(src: &[C], dst: *mut u8);

/// A type that is computed with.
pub(crate) trait Compute: Copy + Default + Send + Sync + 'static {
    /// How elements of `dtype` are read.
    fn load(dtype: DType) -> Option<Load<Self>>;
    /// How elements of `dtype` are written.
    fn store(dtype: DType) -> Option<Store<Self>>;
    /// Does `dtype` lie in memory as this type?
    fn direct(dtype: DType) -> bool;
}

/// # Safety
/// `src` and what lies `stride` apart from it, one for each of `dst`, are readable elements of type `T`.
unsafe fn load<T: As<C>, C>(src: *const u8, stride: isize, dst: &mut [C]) {
    isa::run(Loading { src: src.cast::<T>(), stride, dst });
}

/// # Safety
/// `dst` is room for `src.len()` elements of type `T`.
unsafe fn store<C: As<T>, T>(src: &[C], dst: *mut u8) {
    isa::run(Storing { src, dst: dst.cast::<T>() });
}

struct Loading<'a, T, C> {
    src: *const T,
    stride: isize,
    dst: &'a mut [C],
}

impl<T: As<C>, C> Work for Loading<'_, T, C> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        if self.stride == 1 {
            // SAFETY: as `load` demands.
            let src = unsafe { std::slice::from_raw_parts(self.src, self.dst.len()) };
            for (d, s) in self.dst.iter_mut().zip(src) {
                *d = s.to();
            }
        } else {
            for (i, d) in self.dst.iter_mut().enumerate() {
                // SAFETY: as `load` demands.
                *d = unsafe { *self.src.offset(i as isize * self.stride) }.to();
            }
        }
    }
}

struct Storing<'a, C, T> {
    src: &'a [C],
    dst: *mut T,
}

impl<C: As<T>, T> Work for Storing<'_, C, T> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (i, s) in self.src.iter().enumerate() {
            // SAFETY: as `store` demands; written, not assigned, for there is nothing to drop.
            unsafe { self.dst.add(i).write(s.to()) };
        }
    }
}

macro_rules! compute {
    ($($C:ty, $own:pat, [$($dtype:pat => $T:ty),*], [$($out:pat => $U:ty),*];)*) => {$(
        impl Compute for $C {
            fn load(dtype: DType) -> Option<Load<Self>> {
                match dtype {
                    $($dtype => Some(load::<$T, $C>),)*
                    #[allow(unreachable_patterns, reason = "one type reads all")]
                    _ => None,
                }
            }
            fn store(dtype: DType) -> Option<Store<Self>> {
                match dtype {
                    $($out => Some(store::<$C, $U>),)*
                    _ => None,
                }
            }
            fn direct(dtype: DType) -> bool {
                matches!(dtype, $own)
            }
        }
    )*};
}
use DType::*;
compute! {
    f32, F32, [F32 => f32, F16 => f16, BF16 => bf16, DType::FP8E4M3 => FP8E4M3, DType::FP8E5M2 => FP8E5M2],
        [F32 => f32, F16 => f16, BF16 => bf16, DType::FP8E4M3 => FP8E4M3, DType::FP8E5M2 => FP8E5M2];
    f64, F64, [F64 => f64], [F64 => f64];
    i64, I64 | U64,
        [I64 | U64 => i64, I32 => i32, I16 => i16, I8 => i8, U32 => u32, U16 => u16, U8 | Bool => u8],
        [I64 | U64 => i64, I32 => i32, I16 => i16, I8 => i8, U32 => u32, U16 => u16, U8 | Bool => u8];
    u64, U64, [U64 => u64], [U64 => u64];
    Complex<f32>, Complex64, [Complex64 => Complex<f32>], [Complex64 => Complex<f32>];
    Complex<f64>, Complex128, [Complex128 => Complex<f64>], [Complex128 => Complex<f64>];
    Truth, Bool,
        [F64 => f64, F32 => f32, F16 => f16, BF16 => bf16, DType::FP8E4M3 => FP8E4M3, DType::FP8E5M2 => FP8E5M2,
         I64 => i64, I32 => i32, I16 => i16, I8 => i8, U64 => u64, U32 => u32, U16 => u16, U8 | Bool => u8,
         Complex64 => Complex<f32>, Complex128 => Complex<f64>],
        [Bool => u8];
}

/// Strided elements of a tensor, read as the compute type.
pub(crate) struct Source<C> {
    first: *const u8,
    size: usize,
    load: Load<C>,
    direct: bool,
}

// SAFETY: a `Source` only reads, from a tensor that outlives it.
unsafe impl<C> Send for Source<C> {}
// SAFETY: as above.
unsafe impl<C> Sync for Source<C> {}

impl<C: Compute> Source<C> {
    /// The elements of `dtype` around `first`, the one of index 0; `None` if `C` does not read the dtype.
    pub(crate) fn new(dtype: DType, first: *const u8) -> Option<Source<C>> {
        Some(Source { first, size: dtype.size_in_bytes(), load: C::load(dtype)?, direct: C::direct(dtype) })
    }

    /// Does memory hold the compute type itself?
    pub(crate) fn is_direct(&self) -> bool {
        self.direct
    }

    /// Fills `dst` with the elements `at`, `at + stride`, ...
    ///
    /// # Safety
    /// They are elements of the tensor.
    #[inline]
    pub(crate) unsafe fn read(&self, at: isize, stride: isize, dst: &mut [C]) {
        // SAFETY: as the caller promises; the element lies in the tensor's storage.
        unsafe { (self.load)(self.first.offset(at * self.size as isize), stride, dst) }
    }

    /// `n` elements from `at` on where they lie, or converted in `buffer`, which has room.
    ///
    /// # Safety
    /// As for `read`; the answer is used no longer than the tensor.
    #[inline]
    pub(crate) unsafe fn fetch<'a>(&self, at: isize, stride: isize, n: usize, buffer: &'a mut [C]) -> &'a [C] {
        if self.direct && (stride == 1 || n == 1) {
            // SAFETY: `direct` says that memory holds this very type.
            return unsafe { std::slice::from_raw_parts(self.first.offset(at * self.size as isize).cast(), n) };
        }
        // SAFETY: passed on.
        unsafe { self.read(at, stride, &mut buffer[..n]) };
        &buffer[..n]
    }
}

/// Where results go, written by several threads, each at places of its own.
pub(crate) struct Sink<T>(*mut T);

// SAFETY: what is written through it is disjoint, as `Sink::new` demands, and is sent.
unsafe impl<T: Send> Send for Sink<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Sink<T> {}

impl<T> Sink<T> {
    /// The elements of `out`. Those who write through it agree on who writes where.
    pub(crate) fn new(out: &mut [T]) -> Sink<T> {
        Sink(out.as_mut_ptr())
    }

    /// The elements from `at` on.
    ///
    /// # Safety
    /// They are inside the slice that `new` was given and nobody else looks at them meanwhile.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "the caller vouches that places are disjoint")]
    pub(crate) unsafe fn part(&self, at: usize, len: usize) -> &mut [T] {
        // SAFETY: as the caller promises.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(at), len) }
    }
}

/// The first byte of the element of index 0, after the check that the layout stays inside the storage.
pub(crate) fn first(x: &Tensor<CpuRuntime>) -> Result<*const u8> {
    let size = x.dtype().size_in_bytes();
    by_size!(size, T => { elements::<T>(x)?; });
    let bytes = x.storage().slice::<u8>();
    Ok(bytes[(x.layout().offset() * size).min(bytes.len())..].as_ptr())
}
