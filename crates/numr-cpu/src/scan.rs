//! Running folds along an axis, each in order, so that the result is that of the plain loop.
//!
//! Where other axes lie behind the scanned one, a strip of neighbours is scanned at once; along the last axis, eight
//! rows are, so that eight chains of dependent operations run side by side.

use numr_core::element::Complex;
use numr_core::layout::coalesce;
use numr_core::prim::{Meta, Prim, Scan, ScanOp};
use numr_core::runtime::Support;
use numr_core::{DType, Error, Result, Tensor};

use crate::CpuRuntime;
use crate::convert::{Compute, Sink, Source, Store, first};
use crate::cursor::{Cursor, Steps};
use crate::fold::{Fold, Max, Min, Ordered, Prod, Sum};
use crate::isa::{self, Work};
use crate::storage::Buffer;
use crate::threads::parallel;

/// Neighbours that are scanned at once.
const WIDTH: usize = 256;
/// Rows that are scanned side by side along the last axis.
const ROWS: usize = 8;

/// Every scan, of every dtype (`Prim::infer` has refused those without an order).
pub(crate) fn supports(_: &Scan, _: &[DType]) -> Support {
    Support::Native
}

/// A running fold along an axis.
pub(crate) fn scan(prim: &Scan, x: &Tensor<CpuRuntime>, out: &Meta) -> Result<Tensor<CpuRuntime>> {
    use DType::*;
    macro_rules! order {
        ($F:ident, $end:ident, $narrowest:ident) => {
            match x.dtype() {
                F64 => run::<$F<f64>>(prim, x, out, f64::$end),
                U64 => run::<$F<u64>>(prim, x, out, u64::$end),
                FP8E4M3 => run::<$F<f32>>(prim, x, out, FP8E4M3.$narrowest() as f32),
                F32 | F16 | BF16 | FP8E5M2 => run::<$F<f32>>(prim, x, out, f32::$end),
                I64 => run::<$F<i64>>(prim, x, out, i64::$end),
                // Narrower integers: an f64 holds their ends.
                other => run::<$F<i64>>(prim, x, out, other.$narrowest() as i64),
            }
        };
    }
    macro_rules! number {
        ($F:ident) => {
            match x.dtype() {
                F64 => run::<$F<f64>>(prim, x, out, $F::<f64>::EMPTY),
                Complex64 => run::<$F<Complex<f32>>>(prim, x, out, $F::<Complex<f32>>::EMPTY),
                Complex128 => run::<$F<Complex<f64>>>(prim, x, out, $F::<Complex<f64>>::EMPTY),
                F32 | F16 | BF16 | FP8E4M3 | FP8E5M2 => run::<$F<f32>>(prim, x, out, $F::<f32>::EMPTY),
                _ => run::<$F<i64>>(prim, x, out, $F::<i64>::EMPTY),
            }
        };
    }
    match prim.op {
        ScanOp::Sum => number!(Sum),
        ScanOp::Prod => number!(Prod),
        ScanOp::Max => order!(Max, LOWEST, min_value),
        ScanOp::Min => order!(Min, HIGHEST, max_value),
    }
}

/// One scan; `empty` stands where nothing was before.
fn run<F: Fold<C: Compute>>(
    prim: &Scan,
    x: &Tensor<CpuRuntime>,
    out: &Meta,
    empty: F::C,
) -> Result<Tensor<CpuRuntime>> {
    let error = || Error::dtype(Prim::Scan(prim.clone()).name(), &[x.dtype()], "a dtype that has this fold");
    let mut buffer = Buffer::for_meta(out)?;
    if !x.is_empty() {
        let store = F::C::store(out.dtype).ok_or_else(error)?;
        let source = Source::<F::C>::new(x.dtype(), first(x)?).ok_or_else(error)?;
        let (dims, strides) = (x.shape(), x.strides());
        let (axis, n) = (prim.axis, dims[prim.axis]);
        let (outer, inner): (usize, usize) = (dims[..axis].iter().product(), dims[axis + 1..].iter().product());
        let sink = Sink::new(buffer.slice_mut::<u8>());
        let strips = inner.div_ceil(WIDTH);
        let jobs = if inner == 1 { outer.div_ceil(ROWS) } else { outer * strips };
        let (tail, tail_strides) = coalesce(&dims[axis + 1..], &[&strides[axis + 1..]]);
        parallel(jobs, 2 * x.numel(), |k| {
            let common = Job::<F> {
                source: &source,
                sink: &sink,
                store,
                size: out.dtype.size_in_bytes(),
                empty,
                n,
                step: strides[axis],
                reverse: prim.reverse,
                exclusive: prim.exclusive,
            };
            if inner == 1 {
                let start = k * ROWS;
                let rows = ROWS.min(outer - start);
                let mut at = [0; ROWS];
                let mut cursor = Cursor::new(&dims[..axis], [&strides[..axis]], start);
                for at in &mut at[..rows] {
                    *at = cursor.at[0];
                    cursor.advance();
                }
                isa::run(Lines { job: common, at, rows, start });
            } else {
                let (row, left) = (k / strips, k % strips * WIDTH);
                isa::run(Strip {
                    job: common,
                    at: Cursor::new(&dims[..axis], [&strides[..axis]], row).at[0],
                    steps: Steps::new(&tail, &tail_strides[0], left),
                    width: WIDTH.min(inner - left),
                    place: row * n * inner + left,
                    inner,
                });
            }
        });
    }
    Ok(buffer.into_tensor(out.shape.clone(), out.dtype))
}

/// What all jobs of a scan share.
struct Job<'a, F: Fold> {
    source: &'a Source<F::C>,
    sink: &'a Sink<u8>,
    store: Store<F::C>,
    size: usize,
    empty: F::C,
    n: usize,
    step: isize,
    reverse: bool,
    exclusive: bool,
}

impl<F: Fold<C: Compute>> Job<'_, F> {
    /// Writes results from element `at` on.
    ///
    /// # Safety
    /// The elements are this job's own.
    #[inline(always)]
    unsafe fn write(&self, at: usize, results: &[F::C]) {
        // SAFETY: the place is inside the result, and its caller's; `store` was chosen for the result's dtype.
        unsafe { (self.store)(results, self.sink.part(at * self.size, results.len() * self.size).as_mut_ptr()) }
    }
}

/// Neighbours, scanned at once.
struct Strip<'a, F: Fold> {
    job: Job<'a, F>,
    at: isize,
    steps: Steps,
    width: usize,
    place: usize,
    inner: usize,
}

impl<F: Fold<C: Compute>> Work for Strip<'_, F> {
    type Out = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Strip { job, at, steps, width, place, inner } = self;
        let mut buffer = [F::C::default(); WIDTH];
        let mut total = [job.empty; WIDTH];
        let total = &mut total[..width];
        for i in 0..job.n {
            let t = if job.reverse { job.n - 1 - i } else { i };
            // SAFETY: elements of the tensor that is scanned.
            let row = unsafe { steps.clone().block(job.source, at + t as isize * job.step, width, &mut buffer) };
            if job.exclusive {
                // SAFETY: this strip's own results.
                unsafe { job.write(place + t * inner, total) };
            }
            if i == 0 {
                total.copy_from_slice(row);
            } else {
                for (a, &x) in total.iter_mut().zip(row) {
                    *a = F::join(*a, x);
                }
            }
            if !job.exclusive {
                // SAFETY: as above.
                unsafe { job.write(place + t * inner, total) };
            }
        }
    }
}

/// Rows along the last axis, scanned side by side.
struct Lines<'a, F: Fold> {
    job: Job<'a, F>,
    at: [isize; ROWS],
    rows: usize,
    start: usize,
}

impl<F: Fold<C: Compute>> Work for Lines<'_, F> {
    type Out = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Lines { job, at, rows, start } = self;
        let n = job.n;
        let mut tile = [[F::C::default(); WIDTH]; ROWS];
        let mut total = [job.empty; ROWS];
        for i in (0..n).step_by(WIDTH) {
            let width = WIDTH.min(n - i);
            let t = if job.reverse { n - i - width } else { i };
            for (line, &at) in tile.iter_mut().zip(&at).take(rows) {
                // SAFETY: elements of the tensor that is scanned.
                unsafe { job.source.read(at + t as isize * job.step, job.step, &mut line[..width]) };
            }
            for k in 0..width {
                let j = if job.reverse { width - 1 - k } else { k };
                for (line, total) in tile.iter_mut().zip(&mut total) {
                    let x = line[j];
                    let joined = if i + k == 0 { x } else { F::join(*total, x) };
                    line[j] = if job.exclusive { *total } else { joined };
                    *total = joined;
                }
            }
            for (r, line) in tile.iter().enumerate().take(rows) {
                // SAFETY: these rows' own results.
                unsafe { job.write((start + r) * n + t, &line[..width]) };
            }
        }
    }
}
