//! Stable sorting along an axis.
//!
//! Elements become unsigned keys that order as they should: negative numbers below positive ones, -0 with 0, NaN last
//! whichever the direction. A key of up to 32 bits goes into one word with its element's number below it, so that any
//! way to sort the words is stable; long rows are sorted by radix, from the low digit up, and only by digits that
//! differ.

use bytemuck::Pod;
use numr_core::element::{FP8E4M3, FP8E5M2, bf16, f16};
use numr_core::prim::Meta;
use numr_core::runtime::{Outputs, Support};
use numr_core::{DType, Error, Result, Tensor};
use smallvec::smallvec;

use crate::CpuRuntime;
use crate::convert::Sink;
use crate::cursor::Cursor;
use crate::storage::{Buffer, elements};
use crate::threads::parallel;

/// Rows up to this length are sorted by comparison.
const SHORT: usize = 512;

/// Every dtype (`Prim::infer` has refused those without an order).
pub(crate) fn supports(_: &[DType]) -> Support {
    Support::Native
}

/// An element as a key.
trait Key: Pod + Send + Sync {
    /// Bits of the key.
    const BITS: u32;
    /// Orders as the element does; NaN above all.
    fn key(self) -> u64;
    /// Is it NaN?
    fn unordered(self) -> bool {
        false
    }
}

macro_rules! int_keys {
    ($($T:ty: $U:ty),*) => {$(
        impl Key for $T {
            const BITS: u32 = <$T>::BITS;
            #[inline(always)]
            fn key(self) -> u64 {
                // A signed type counts from its minimum.
                (self.wrapping_sub(<$T>::MIN) as $U).into()
            }
        }
    )*};
}
int_keys!(i64: u64, i32: u32, i16: u16, i8: u8, u64: u64, u32: u32, u16: u16, u8: u8);

macro_rules! float_keys {
    ($($T:ty: $U:ty, $bits:literal, |$x:ident| $code:expr, $infinity:expr;)*) => {$(
        impl Key for $T {
            const BITS: u32 = $bits;
            #[inline(always)]
            fn key(self) -> u64 {
                const SIGN: $U = 1 << ($bits - 1);
                let $x = self;
                let code: $U = $code;
                let size = code & !SIGN;
                if size > $infinity {
                    return <$U>::MAX.into();
                }
                (if code > SIGN { SIGN - size } else { SIGN + size }).into()
            }
            #[inline(always)]
            fn unordered(self) -> bool {
                let $x = self;
                let code: $U = $code;
                code & (<$U>::MAX >> 1) > $infinity
            }
        }
    )*};
}
float_keys! {
    f64: u64, 64, |x| x.to_bits(), f64::INFINITY.to_bits();
    f32: u32, 32, |x| x.to_bits(), f32::INFINITY.to_bits();
    f16: u16, 16, |x| x.to_bits(), 0x7c00;
    bf16: u16, 16, |x| x.to_bits(), 0x7f80;
    FP8E4M3: u8, 8, |x| x.to_bits(), 0x7e;
    FP8E5M2: u8, 8, |x| x.to_bits(), 0x7c;
}

/// `[values, indices]`, sorted along an axis.
pub(crate) fn sort(
    axis: usize,
    descending: bool,
    x: &Tensor<CpuRuntime>,
    outs: &[Meta],
) -> Result<Outputs<CpuRuntime>> {
    let [values, indices] = outs else {
        return Err(Error::argument("sort", "results", "values and indices"));
    };
    let (mut sorted, mut places) = (Buffer::for_meta(values)?, Buffer::for_meta(indices)?);
    if !x.is_empty() {
        macro_rules! by_dtype {
            ($($dtype:pat => $T:ty),*) => {
                match x.dtype() {
                    $($dtype => rows::<$T>(axis, descending, x, sorted.slice_mut(), places.slice_mut())?,)*
                    other => return Err(Error::dtype("sort", &[other], "an ordered dtype")),
                }
            };
        }
        by_dtype!(DType::F64 => f64, DType::F32 => f32, DType::F16 => f16, DType::BF16 => bf16,
            DType::FP8E4M3 => FP8E4M3, DType::FP8E5M2 => FP8E5M2, DType::I64 => i64, DType::I32 => i32,
            DType::I16 => i16, DType::I8 => i8, DType::U64 => u64, DType::U32 => u32, DType::U16 => u16,
            DType::U8 | DType::Bool => u8);
    }
    Ok(smallvec![
        sorted.into_tensor(values.shape.clone(), values.dtype),
        places.into_tensor(indices.shape.clone(), indices.dtype),
    ])
}

fn rows<T: Key>(
    axis: usize,
    descending: bool,
    x: &Tensor<CpuRuntime>,
    sorted: &mut [T],
    places: &mut [i64],
) -> Result<()> {
    let all = elements::<T>(x)?;
    let (n, step) = (x.shape()[axis], x.strides()[axis]);
    let inner: usize = x.shape()[axis + 1..].iter().product();
    let mut others = x.layout().clone();
    // The rows are the elements of the axis' first place.
    let ranges: Vec<numr_core::SliceRange> = (x.shape().iter().enumerate())
        .map(|(k, &len)| numr_core::SliceRange { start: 0, len: if k == axis { 1 } else { len }, step: 1 })
        .collect();
    others = others.slice("sort", &ranges)?;
    let (count, batch) = (others.numel(), (4096 / n).max(1));
    let (sorted, places) = (Sink::new(sorted), Sink::new(places));
    parallel(count.div_ceil(batch), 16 * x.numel(), |job| {
        let mut cursor = Cursor::new(others.shape(), [others.strides()], job * batch);
        let mut row: Vec<T> = Vec::with_capacity(n);
        let mut order = Order::default();
        for r in job * batch..count.min((job + 1) * batch) {
            let start = x.layout().offset().wrapping_add_signed(cursor.at[0]);
            cursor.advance();
            row.clear();
            row.extend((0..n as isize).map(|i| all[start.wrapping_add_signed(i * step)]));
            let to = r / inner * n * inner + r % inner;
            // SAFETY: the places of row r of the result, which is this job's own.
            order.of(&row, descending, |k, i| unsafe {
                sorted.part(to + k * inner, 1)[0] = row[i];
                places.part(to + k * inner, 1)[0] = i as i64;
            });
        }
    });
    Ok(())
}

/// Memory for the order of a row.
#[derive(Default)]
struct Order {
    words: Vec<u64>,
    spare: Vec<u64>,
    pairs: Vec<(u64, u64)>,
    spare_pairs: Vec<(u64, u64)>,
}

impl Order {
    /// Calls `emit(k, i)`: place k of the sorted row is that of element i.
    #[inline(always)]
    fn of<T: Key>(&mut self, row: &[T], descending: bool, mut emit: impl FnMut(usize, usize)) {
        let most = u64::MAX >> (64 - T::BITS);
        let key = |x: T| match (x.unordered(), descending) {
            (true, _) => most,
            // A number is below the key of NaN, and above 0 where there is a NaN, so this is below it too.
            (false, true) => most - x.key(),
            (false, false) => x.key(),
        };
        let keys = row.iter().map(|&x| key(x)).zip(0u64..);
        if T::BITS <= 32 && row.len() <= 1 << 32 {
            self.words.clear();
            self.words.extend(keys.map(|(key, i)| key << 32 | i));
            sort_words(&mut self.words, &mut self.spare, T::BITS / 8, |w, d| (w >> (32 + 8 * d)) as u8);
            self.words.iter().enumerate().for_each(|(k, &w)| emit(k, w as u32 as usize));
        } else {
            self.pairs.clear();
            self.pairs.extend(keys);
            sort_words(&mut self.pairs, &mut self.spare_pairs, T::BITS / 8, |w, d| (w.0 >> (8 * d)) as u8);
            self.pairs.iter().enumerate().for_each(|(k, &(_, i))| emit(k, i as usize));
        }
    }
}

/// Sorts distinct words that are ordered but for their top `digits` digits, of which the lowest is number 0.
fn sort_words<W: Copy + Ord>(words: &mut Vec<W>, spare: &mut Vec<W>, digits: u32, digit: impl Fn(W, u32) -> u8) {
    if words.len() <= SHORT {
        return words.sort_unstable();
    }
    let mut counts = [[0usize; 256]; 8];
    for &w in words.iter() {
        for (d, counts) in (0..digits).zip(&mut counts) {
            counts[usize::from(digit(w, d))] += 1;
        }
    }
    spare.clone_from(words);
    for (d, counts) in (0..digits).zip(&mut counts) {
        if counts.contains(&words.len()) {
            continue;
        }
        let mut start = 0;
        for count in counts.iter_mut() {
            start += std::mem::replace(count, start);
        }
        for &w in words.iter() {
            let place = &mut counts[usize::from(digit(w, d))];
            spare[*place] = w;
            *place += 1;
        }
        std::mem::swap(words, spare);
    }
}
