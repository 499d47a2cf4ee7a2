//! Indexed reads and writes, and the indices of what is not zero.

use std::sync::Mutex;

use bytemuck::Pod;
use numr_core::element::{Complex, FP8E4M3, FP8E5M2, bf16, f16};
use numr_core::layout::coalesce;
use numr_core::prim::{Meta, Prim, ScatterOp};
use numr_core::runtime::Support;
use numr_core::{DType, Error, Result, Tensor};

use crate::CpuRuntime;
use crate::convert::{As, Sink, Source, Truth, first};
use crate::copy::by_size;
use crate::cursor::{Cursor, Steps};
use crate::storage::{Buffer, elements};
use crate::threads::parallel;

/// Elements that one job moves.
const CHUNK: usize = 1 << 14;

/// Every gather.
pub(crate) fn supports_gather(_: &[DType]) -> Support {
    Support::Native
}

/// Every scatter (`Prim::infer` has refused those without an order).
pub(crate) fn supports_scatter(_: ScatterOp, _: &[DType]) -> Support {
    Support::Native
}

/// Every dtype.
pub(crate) fn supports_nonzero(_: &[DType]) -> Support {
    Support::Native
}

/// How a tensor's elements meet those of an index: positions that move together, and the axis that the index names.
struct Meeting {
    outer: Vec<usize>,
    outer_index: Vec<isize>,
    outer_other: Vec<isize>,
    /// The innermost run: its length, and the steps of the index and of the tensor.
    run: usize,
    index_step: isize,
    other_step: isize,
    /// The step along the named axis, and its size.
    axis_step: isize,
    size: usize,
}

impl Meeting {
    /// `strides` are those of the tensor that is indexed, whose axis is of this size.
    fn new(axis: usize, index: &Tensor<CpuRuntime>, strides: &[isize], size: usize) -> Meeting {
        let mut others: Vec<isize> = strides.to_vec();
        others[axis] = 0;
        // A third operand that merges as the row-major result does.
        let dense = numr_core::Layout::contiguous(index.shape());
        let (mut dims, mut steps) = coalesce(index.shape(), &[index.strides(), &others, dense.strides()]);
        let last = dims.len().checked_sub(1);
        let (run, index_step, other_step) = last.map_or((1, 0, 0), |k| (dims[k], steps[0][k], steps[1][k]));
        if let Some(k) = last {
            dims.remove(k);
            steps[0].remove(k);
            steps[1].remove(k);
        }
        Meeting {
            outer: dims.to_vec(),
            outer_index: steps[0].to_vec(),
            outer_other: steps[1].to_vec(),
            run,
            index_step,
            other_step,
            axis_step: strides[axis],
            size,
        }
    }

    fn rows(&self) -> usize {
        self.outer.iter().product()
    }

    fn cursor(&self, start: usize) -> Cursor<2> {
        Cursor::new(&self.outer, [&self.outer_index, &self.outer_other], start)
    }

    /// The place along the axis that `index` names, from the end if negative.
    #[inline(always)]
    fn place(&self, index: i64) -> Option<isize> {
        let at = if index < 0 { index.wrapping_add(self.size as i64) } else { index };
        ((at as u64) < self.size as u64).then(|| at as isize * self.axis_step)
    }
}

/// The first index, in row-major order, that is out of range.
#[derive(Default)]
struct Fault(Mutex<Option<(usize, i64)>>);

impl Fault {
    fn report(&self, at: usize, index: i64) {
        let mut first = self.0.lock().unwrap_or_else(|e| e.into_inner());
        if first.is_none_or(|(seen, _)| at < seen) {
            *first = Some((at, index));
        }
    }

    fn check(self, op: &'static str, size: usize) -> Result<()> {
        match self.0.into_inner().unwrap_or_else(|e| e.into_inner()) {
            Some((_, index)) => Err(Error::Index { op, index, size }),
            None => Ok(()),
        }
    }
}

/// `y[.., i, ..] = x[.., index[.., i, ..], ..]`.
pub(crate) fn gather(
    axis: usize,
    x: &Tensor<CpuRuntime>,
    index: &Tensor<CpuRuntime>,
    out: &Meta,
) -> Result<Tensor<CpuRuntime>> {
    let mut buffer = Buffer::for_meta(out)?;
    if !buffer.is_empty() {
        by_size!(out.dtype.size_in_bytes(), T => gather_into::<T>(axis, x, index, buffer.slice_mut())?);
    }
    Ok(buffer.into_tensor(out.shape.clone(), out.dtype))
}

fn gather_into<T: Pod + Send + Sync>(
    axis: usize,
    x: &Tensor<CpuRuntime>,
    index: &Tensor<CpuRuntime>,
    out: &mut [T],
) -> Result<()> {
    let (src, indices) = (elements::<T>(x)?, elements::<i64>(index)?);
    let meeting = Meeting::new(axis, index, x.strides(), x.shape()[axis]);
    let fault = Fault::default();
    let (rows, run) = (meeting.rows(), meeting.run);
    let batch = CHUNK.div_ceil(run);
    let (from, start) = (x.layout().offset(), index.layout().offset());
    let work = 2 * out.len();
    let sink = Sink::new(out);
    parallel(rows.div_ceil(batch), work, |job| {
        let mut cursor = meeting.cursor(job * batch);
        for row in job * batch..rows.min((job + 1) * batch) {
            let [at, base] = cursor.at;
            cursor.advance();
            // SAFETY: the row is this job's own, and inside of `out`, which holds `rows` of them.
            let out = unsafe { sink.part(row * run, run) };
            let (at, base) = (start.wrapping_add_signed(at), from.wrapping_add_signed(base));
            if meeting.index_step == 0 {
                let Some(place) = meeting.place(indices[at]) else {
                    fault.report(row * run, indices[at]);
                    continue;
                };
                let base = base.wrapping_add_signed(place);
                if meeting.other_step == 1 {
                    out.copy_from_slice(&src[base..base + run]);
                } else {
                    for (i, o) in out.iter_mut().enumerate() {
                        *o = src[base.wrapping_add_signed(i as isize * meeting.other_step)];
                    }
                }
                continue;
            }
            for (i, o) in out.iter_mut().enumerate() {
                let index = indices[at.wrapping_add_signed(i as isize * meeting.index_step)];
                match meeting.place(index) {
                    Some(place) => *o = src[base.wrapping_add_signed(place + i as isize * meeting.other_step)],
                    None => {
                        fault.report(row * run + i, index);
                        break;
                    }
                }
            }
        }
    });
    fault.check("gather", meeting.size)
}

/// The transpose of gather.
pub(crate) fn scatter(
    axis: usize,
    op: ScatterOp,
    base: &Tensor<CpuRuntime>,
    index: &Tensor<CpuRuntime>,
    src: &Tensor<CpuRuntime>,
    out: &Meta,
) -> Result<Tensor<CpuRuntime>> {
    let contiguous = |t: &Tensor<CpuRuntime>| -> Result<Tensor<CpuRuntime>> {
        if t.is_contiguous() { Ok(t.clone()) } else { Tensor::run_one(&Prim::Contiguous, &[t]) }
    };
    let src = contiguous(src)?;
    let mut buffer = Buffer::for_meta(out)?;
    crate::copy::download(base, buffer.slice_mut())?;
    let out_tensor = |buffer: Buffer| Ok(buffer.into_tensor(out.shape.clone(), out.dtype));
    if index.is_empty() {
        return out_tensor(buffer);
    }
    macro_rules! by_dtype {
        ($($dtype:ident: $T:ty),*) => {
            match (op, out.dtype) {
                (ScatterOp::Set, dtype) => by_size!(dtype.size_in_bytes(), T => {
                    scatter_into::<T>(axis, index, &src, out, buffer.slice_mut(), |_, new| new)?
                }),
                $((_, DType::$dtype) => {
                    let dst = buffer.slice_mut::<$T>();
                    match op {
                        ScatterOp::Add => scatter_into(axis, index, &src, out, dst, <$T as Combine>::plus)?,
                        ScatterOp::Mul => scatter_into(axis, index, &src, out, dst, <$T as Combine>::times)?,
                        ScatterOp::Min => scatter_into(axis, index, &src, out, dst, <$T as Combine>::lesser)?,
                        ScatterOp::Max => scatter_into(axis, index, &src, out, dst, <$T as Combine>::larger)?,
                        ScatterOp::Set => {}
                    }
                })*
            }
        };
    }
    by_dtype!(
        F64: f64, F32: f32, F16: f16, BF16: bf16, FP8E4M3: FP8E4M3, FP8E5M2: FP8E5M2, I64: i64, I32: i32, I16: i16,
        I8: i8, U64: u64, U32: u32, U16: u16, U8: u8, Bool: Truth, Complex64: Complex<f32>, Complex128: Complex<f64>
    );
    out_tensor(buffer)
}

fn scatter_into<T: Pod>(
    axis: usize,
    index: &Tensor<CpuRuntime>,
    src: &Tensor<CpuRuntime>,
    out: &Meta,
    dst: &mut [T],
    combine: impl Fn(T, T) -> T,
) -> Result<()> {
    let layout = numr_core::Layout::contiguous(out.shape.clone());
    let meeting = Meeting::new(axis, index, layout.strides(), out.shape[axis]);
    let (src, start) = (elements::<T>(src)?.get(src.layout().offset()..).unwrap_or(&[]), index.layout().offset());
    let indices = elements::<i64>(index)?;
    let place = |index: i64| meeting.place(index).ok_or(Error::Index { op: "scatter", index, size: meeting.size });
    let mut cursor = meeting.cursor(0);
    for src in src.chunks_exact(meeting.run).take(meeting.rows()) {
        let (at, base) = (start.wrapping_add_signed(cursor.at[0]), cursor.at[1] as usize);
        cursor.advance();
        if meeting.index_step == 0 {
            let base = base.wrapping_add_signed(place(indices[at])?);
            if meeting.other_step == 1 {
                for (d, &s) in dst[base..base + meeting.run].iter_mut().zip(src) {
                    *d = combine(*d, s);
                }
                continue;
            }
            for (i, &s) in src.iter().enumerate() {
                let d = &mut dst[base.wrapping_add_signed(i as isize * meeting.other_step)];
                *d = combine(*d, s);
            }
            continue;
        }
        for (i, &s) in src.iter().enumerate() {
            let place = place(indices[at.wrapping_add_signed(i as isize * meeting.index_step)])?;
            let d = &mut dst[base.wrapping_add_signed(place + i as isize * meeting.other_step)];
            *d = combine(*d, s);
        }
    }
    Ok(())
}

/// What a scatter does where elements meet. Integers wrap; bool adds as "or".
trait Combine: Copy {
    fn plus(self, o: Self) -> Self;
    fn times(self, o: Self) -> Self;
    fn lesser(self, o: Self) -> Self;
    fn larger(self, o: Self) -> Self;
}

macro_rules! combine {
    ($($T:ty: |$a:ident, $b:ident| $plus:expr, $times:expr, $lesser:expr, $larger:expr;)*) => {$(
        impl Combine for $T {
            combine!(@fns $a $b: plus $plus, times $times, lesser $lesser, larger $larger);
        }
    )*};
    (@fns $a:ident $b:ident: $($name:ident $e:expr),*) => {$(
        #[inline(always)]
        fn $name(self, o: Self) -> Self {
            let ($a, $b) = (self, o);
            $e
        }
    )*};
    (@ints $($T:ty)*) => { combine! { $($T: |a, b| a.wrapping_add(b), a.wrapping_mul(b), Ord::min(a, b), Ord::max(a, b);)* } };
    (@floats $($T:ty)*) => { combine! { $($T:
        |a, b| a + b, a * b, if (b < a) | ((b != b) & (a == a)) { b } else { a },
        if (b > a) | ((b != b) & (a == a)) { b } else { a };)* } };
    // Through f32, rounded at each step.
    (@narrow $($T:ty)*) => { combine! { $($T:
        |a, b| narrow(a, b, f32::plus), narrow(a, b, f32::times), narrow(a, b, f32::lesser), narrow(a, b, f32::larger);)* } };
    (@complex $($T:ty)*) => { combine! { $($T: |a, b| a + b, a * b, a + b, a * b;)* } };
}
combine!(@ints i64 i32 i16 i8 u64 u32 u16 u8);
combine!(@floats f64 f32);
combine!(@narrow f16 bf16 FP8E4M3 FP8E5M2);
combine!(@complex Complex<f32> Complex<f64>);
combine! { Truth: |a, b| Truth(a.0 | b.0), Truth(a.0 & b.0), Truth(a.0 & b.0), Truth(a.0 | b.0); }

#[inline(always)]
fn narrow<T: As<f32>>(a: T, b: T, f: impl Fn(f32, f32) -> f32) -> T
where
    f32: As<T>,
{
    As::<T>::to(f(a.to(), b.to()))
}

/// The row-major indices of the elements that are not zero.
pub(crate) fn nonzero(x: &Tensor<CpuRuntime>, out: &Meta) -> Result<Tensor<CpuRuntime>> {
    const BLOCK: usize = 1 << 12;
    const RUN: usize = 128;
    let n = x.numel();
    if n == 0 {
        return Ok(Buffer::for_elements(0, out.dtype)?.into_tensor([0].into(), out.dtype));
    }
    let error = || Error::dtype("nonzero", &[x.dtype()], "a dtype with a zero");
    let source = Source::<Truth>::new(x.dtype(), first(x)?).ok_or_else(error)?;
    let (dims, strides) = coalesce(x.shape(), &[x.strides()]);
    let blocks = |f: &(dyn Fn(usize, &[Truth]) + Sync)| {
        parallel(n.div_ceil(BLOCK), n, |k| {
            let mut buffer = [Truth(0); BLOCK];
            let len = BLOCK.min(n - k * BLOCK);
            // SAFETY: elements of `x`.
            f(k, unsafe { Steps::new(&dims, &strides[0], k * BLOCK).block(&source, 0, len, &mut buffer) });
        });
    };
    // Counted first, so that every block knows where its indices go.
    let mut counts = vec![0usize; n.div_ceil(BLOCK)];
    let sink = Sink::new(&mut counts);
    blocks(&|k, block| {
        let count = |run: &[Truth]| run.iter().map(|t| u8::from(t.0 != 0)).sum::<u8>();
        // SAFETY: this block's own place.
        unsafe { sink.part(k, 1)[0] = block.chunks(RUN).map(|run| usize::from(count(run))).sum() };
    });
    let mut total = 0;
    let mut starts = Vec::with_capacity(counts.len());
    for count in &counts {
        starts.push(total);
        total += count;
    }
    let mut buffer = Buffer::for_elements(total, out.dtype)?;
    let sink = Sink::new(buffer.slice_mut::<i64>());
    blocks(&|k, block| {
        // SAFETY: places of this block's own, as many as were counted.
        let mut left = unsafe { sink.part(starts[k], counts[k]) };
        for (r, run) in block.chunks(RUN).enumerate() {
            // Without a branch: every index is written, and the next one over it unless it counts.
            let (mut found, mut count) = ([0; RUN], 0);
            for (i, t) in run.iter().enumerate() {
                found[count % RUN] = (k * BLOCK + r * RUN + i) as i64;
                count += usize::from(t.0 != 0);
            }
            let (part, rest) = left.split_at_mut(count);
            part.copy_from_slice(&found[..count]);
            left = rest;
        }
    });
    Ok(buffer.into_tensor([total].into(), out.dtype))
}
