//! Folds over axes.
//!
//! One fixed tree, whatever the layout, the instruction set's vector width or the number of threads: the folded
//! elements, in row-major order, are cut into blocks of 4096; element i of a block belongs to lane i mod 256; a lane is
//! folded in order, the lanes by halves; the blocks as a binary counter joins them, so that a power of two of them is
//! a balanced tree. A sum of n numbers so carries at most about 15 + 8 + log2(n / 4096) roundings.
//!
//! The tree is walked along a row, where the folded elements are the ones side by side in memory, or for a strip of
//! neighbouring results at once, where those are.

use numr_core::element::Complex;
use numr_core::layout::coalesce;
use numr_core::prim::{Meta, Prim, Reduce, ReduceOp};
use numr_core::runtime::Support;
use numr_core::{DType, Error, Layout, Result, Shape, Strides, Tensor};
use smallvec::SmallVec;

use crate::CpuRuntime;
use crate::convert::{Compute, Sink, Source, Store, Truth, first};
use crate::cursor::{Cursor, Steps};
use crate::fold::{Fold, Max, Min, Ordered, Prod, Sum, halves, stays};
use crate::isa::{self, Work};
use crate::runtime::CpuDevice;
use crate::storage::Buffer;
use crate::threads::parallel;

/// Partial results of a block. So many that their additions, through memory, do not wait for each other.
const LANES: usize = 256;
/// Elements of a block: 16 KiB of f32, so that a converted block stays in the first cache.
const BLOCK: usize = 4096;
/// Results that are written at once.
const BATCH: usize = 256;
/// Elements of a result that one job folds: a power of two of blocks.
const GROUP: usize = 16 * BLOCK;

/// Every fold, of every dtype (`Prim::infer` has refused those without an order).
pub(crate) fn supports(_: &Reduce, _: &[DType]) -> Support {
    Support::Native
}

/// Folds axes away.
pub(crate) fn reduce(prim: &Reduce, x: &Tensor<CpuRuntime>, out: &Meta) -> Result<Tensor<CpuRuntime>> {
    if let Some(x) = Plan::wants_copy(prim, x)? {
        return reduce(prim, &x, out);
    }
    use DType::*;
    macro_rules! number {
        ($F:ident) => {
            match x.dtype() {
                F64 => plain::<$F<f64>>(prim, x, out),
                F32 | F16 | BF16 | FP8E4M3 | FP8E5M2 => plain::<$F<f32>>(prim, x, out),
                Complex64 => plain::<$F<Complex<f32>>>(prim, x, out),
                Complex128 => plain::<$F<Complex<f64>>>(prim, x, out),
                _ => plain::<$F<i64>>(prim, x, out),
            }
        };
    }
    macro_rules! order {
        ($run:ident $F:ident) => {
            match x.dtype() {
                F64 => $run::<$F<f64>>(prim, x, out),
                F32 | F16 | BF16 | FP8E4M3 | FP8E5M2 => $run::<$F<f32>>(prim, x, out),
                U64 => $run::<$F<u64>>(prim, x, out),
                _ => $run::<$F<i64>>(prim, x, out),
            }
        };
    }
    match prim.op {
        ReduceOp::Sum => number!(Sum),
        ReduceOp::Prod => number!(Prod),
        ReduceOp::Max => order!(plain Max),
        ReduceOp::Min => order!(plain Min),
        ReduceOp::Any => plain::<Max<Truth>>(prim, x, out),
        ReduceOp::All => plain::<Min<Truth>>(prim, x, out),
        ReduceOp::ArgMax => order!(arg Max),
        ReduceOp::ArgMin => order!(arg Min),
    }
}

/// A fold as the driver sees it: results of blocks, which join.
trait Folding: Send + Sync + 'static {
    /// What is read.
    type C: Compute;
    /// The result of a part.
    type Part: Copy + Send + Sync;
    /// The fold of nothing.
    const FILL: Self::Part;
    /// The most neighbouring results of a strip.
    const WIDTH: usize;
    /// Parts that follow each other as one.
    fn join(a: Self::Part, b: Self::Part) -> Self::Part;
    /// A block whose first element is number `start`.
    fn row(block: &[Self::C], start: usize) -> Self::Part;
    /// Blocks of `rows.width` neighbouring results at once; appends their parts.
    fn strip(rows: &mut Rows<'_, Self::C>, start: usize, count: usize, parts: &mut Vec<Self::Part>);
}

/// Folds to a value.
struct Plain<F>(F);

/// On cache lines of its own, so that no vector crosses two.
#[repr(align(64))]
struct Lines<T>(T);

impl<F: Fold<C: Compute>> Folding for Plain<F> {
    type C = F::C;
    type Part = F::C;
    const FILL: F::C = F::EMPTY;
    // The nine parts of the stack fit into the first cache.
    const WIDTH: usize = 2048 / size_of::<F::C>();

    #[inline(always)]
    fn join(a: F::C, b: F::C) -> F::C {
        F::join(a, b)
    }

    #[inline(always)]
    fn row(block: &[F::C], _: usize) -> F::C {
        if F::FREE {
            // Any tree will do, and the compiler knows the best.
            return block[1..].iter().fold(block[0], |a, &b| F::join(a, b));
        }
        let mut lanes = Lines([F::EMPTY; LANES]);
        let lanes = &mut lanes.0;
        let mut chunks = block.chunks(LANES);
        let used = chunks.next().map_or(0, |first| {
            lanes[..first.len()].copy_from_slice(first);
            first.len()
        });
        for chunk in chunks {
            for (lane, &x) in lanes.iter_mut().zip(chunk) {
                *lane = F::join(*lane, x);
            }
        }
        let mut half = LANES / 2;
        while half >= 32 {
            let (low, high) = lanes.split_at_mut(half);
            for (a, &b) in low[..half.min(used.saturating_sub(half))].iter_mut().zip(&*high) {
                *a = F::join(*a, b);
            }
            half /= 2;
        }
        if used >= 32 {
            return halves(std::array::from_fn(|j| lanes[j]), F::join);
        }
        while half > 0 {
            for j in 0..half.min(used.saturating_sub(half)) {
                lanes[j] = F::join(lanes[j], lanes[j + half]);
            }
            half /= 2;
        }
        lanes[0]
    }

    #[inline(always)]
    fn strip(rows: &mut Rows<'_, F::C>, _: usize, count: usize, parts: &mut Vec<F::C>) {
        const { assert!(LANES == 1 << u8::BITS) };
        let w = rows.width;
        let places: SmallVec<[isize; 32]> = (0..count).map(|_| rows.next_place()).collect();
        // With the bits of their numbers reversed, lanes that are joined follow each other, and so do the pairs: the
        // tree needs a short stack, not all lanes at once.
        let bits = count.min(LANES).next_power_of_two().ilog2();
        let lane = |k: usize| usize::from((k as u8).reverse_bits()) >> (u8::BITS - bits);
        for k in 0..1 << bits {
            if lane(k) < count {
                let base = parts.len();
                parts.extend_from_slice(rows.row(places[lane(k)]));
                for &place in places[lane(k)..].iter().step_by(LANES).skip(1) {
                    join_rows::<Self>(&mut parts[base..], rows.row(place));
                }
            }
            for level in 0..k.trailing_ones() {
                // Of a pair, the second may have no element.
                if lane(k >> level << level) < count {
                    join_top::<Self>(parts, w);
                }
            }
        }
    }
}

#[inline(always)]
fn join_rows<F: Folding>(a: &mut [F::Part], b: &[F::Part]) {
    for (a, &b) in a.iter_mut().zip(b) {
        *a = F::join(*a, b);
    }
}

/// Neighbouring results of an arg fold.
const ARG_WIDTH: usize = 64;

/// Folds to a value and the number of the element it was.
struct Arg<F>(F);

/// The fold that an arg fold follows.
trait Choice: Fold<C: Compute + Ordered> {
    /// Is `a` as good as `b`?
    fn as_good(a: Self::C, b: Self::C) -> bool;
}
impl<C: Compute + Ordered> Choice for Max<C> {
    #[inline(always)]
    fn as_good(a: C, b: C) -> bool {
        a >= b
    }
}
impl<C: Compute + Ordered> Choice for Min<C> {
    #[inline(always)]
    fn as_good(a: C, b: C) -> bool {
        a <= b
    }
}

impl<F: Choice> Folding for Arg<F> {
    type C = F::C;
    type Part = (F::C, i64);
    const FILL: (F::C, i64) = (F::EMPTY, 0);
    const WIDTH: usize = ARG_WIDTH;

    #[inline(always)]
    fn join(a: Self::Part, b: Self::Part) -> Self::Part {
        if stays(F::as_good(a.0, b.0), a.0) { a } else { b }
    }

    #[inline(always)]
    #[allow(clippy::eq_op, reason = "only a NaN differs from itself")]
    fn row(block: &[F::C], start: usize) -> Self::Part {
        let best = Plain::<F>::row(block, start);
        let hit = |x: &F::C| (*x == best) | ((best != best) & (x != x));
        // By the chunk first, which vectorises.
        let at = block.chunks(LANES).position(|c| c.iter().fold(false, |any, x| any | hit(x))).unwrap_or(0) * LANES;
        let at = at + block[at..].iter().position(hit).unwrap_or(0);
        (best, (start + at) as i64)
    }

    #[inline(always)]
    fn strip(rows: &mut Rows<'_, F::C>, start: usize, count: usize, parts: &mut Vec<Self::Part>) {
        let mut best = [F::EMPTY; ARG_WIDTH];
        let mut place = [0u32; ARG_WIDTH];
        let w = rows.width.min(ARG_WIDTH);
        for r in 0..count {
            let row = &rows.next()[..w];
            if r == 0 {
                best[..w].copy_from_slice(row);
                continue;
            }
            for ((best, place), &x) in best[..w].iter_mut().zip(&mut place[..w]).zip(row) {
                let stays = stays(F::as_good(*best, x), *best);
                *best = if stays { *best } else { x };
                *place = if stays { *place } else { r as u32 };
            }
        }
        parts.extend(best[..w].iter().zip(&place[..w]).map(|(&b, &p)| (b, (start + p as usize) as i64)));
    }
}

/// Rows of a strip, one after the other.
struct Rows<'a, C> {
    source: &'a Source<C>,
    steps: Steps,
    base: isize,
    stride: isize,
    width: usize,
    buffer: &'a mut [C],
}

impl<C: Compute> Rows<'_, C> {
    #[inline(always)]
    fn next(&mut self) -> &[C] {
        let place = self.next_place();
        self.row(place)
    }

    /// Where the next row is.
    #[inline(always)]
    fn next_place(&mut self) -> isize {
        self.base + self.steps.next()
    }

    /// The row at a place that `next_place` gave.
    #[inline(always)]
    fn row(&mut self, place: isize) -> &[C] {
        // SAFETY: the positions are those of the tensor's elements; `buffer` holds a strip.
        unsafe { self.source.fetch(place, self.stride, self.width, self.buffer) }
    }
}

/// What to fold and how to go about it.
struct Plan {
    /// The kept axes, in the order in which results lie in memory, but for the strip's.
    outer: Shape,
    outer_strides: Strides,
    /// Neighbouring results that may be folded together: how many, and how far apart.
    inner: usize,
    inner_stride: isize,
    /// How many of them are.
    width: usize,
    /// The folded axes, and how many elements that makes.
    folded: Shape,
    steps: Strides,
    n: usize,
    /// The results' layout.
    layout: Layout,
}

impl Plan {
    fn new(prim: &Reduce, x: &Tensor<CpuRuntime>, out: &Meta, width: usize) -> Result<Plan> {
        let (shape, strides) = (x.shape(), x.strides());
        let pick = |axes: &[usize]| -> (Shape, Strides) {
            (axes.iter().map(|&k| shape[k]).collect(), axes.iter().map(|&k| strides[k]).collect())
        };
        let merge = |(dims, strides): (Shape, Strides)| -> (Shape, Strides) {
            let (dims, mut merged) = coalesce(&dims, &[&strides]);
            (dims, merged.pop().unwrap_or_default())
        };
        let mut kept: SmallVec<[usize; 8]> = (0..shape.len()).filter(|k| !prim.axes.contains(k)).collect();
        let far = |k: &usize| if shape[*k] == 1 { usize::MAX } else { strides[*k].unsigned_abs() };
        // Results lie in the order of their elements: nearest neighbours last.
        let layout = if kept.last().is_none_or(|last| kept.iter().all(|k| far(last) <= far(k))) {
            Layout::contiguous(out.shape.clone())
        } else {
            let axis = |k: usize| if prim.keepdim { k } else { k - prim.axes.iter().filter(|&&a| a < k).count() };
            kept.sort_by_key(|k| std::cmp::Reverse(far(k)));
            let mut places: Strides = out.shape.iter().map(|_| 1).collect();
            let mut step = 1;
            for &k in kept.iter().rev() {
                places[axis(k)] = step;
                step *= shape[k] as isize;
            }
            Layout::try_new(out.shape.clone(), places, 0, step.unsigned_abs())?
        };
        let (folded, steps) = merge(pick(&prim.axes));
        let (mut outer, mut outer_strides) = merge(pick(&kept));
        let n = folded.iter().product();
        let (inner, inner_stride) = match (outer.last(), outer_strides.last()) {
            (Some(&d), Some(&s))
                if d >= 8 && (n < LANES || steps.last().is_some_and(|r| s.unsigned_abs() < r.unsigned_abs())) =>
            {
                outer.remove(outer.len() - 1);
                outer_strides.remove(outer_strides.len() - 1);
                (d, s)
            }
            _ => (1, 1),
        };
        Ok(Plan { outer, outer_strides, inner, inner_stride, width: width.min(inner), folded, steps, n, layout })
    }

    /// A row-major copy of `x` if no order of results lets the fold go through memory in its order: the folded axes
    /// themselves lie across, as in the sum of all of a transposed matrix.
    fn wants_copy(prim: &Reduce, x: &Tensor<CpuRuntime>) -> Result<Option<Tensor<CpuRuntime>>> {
        let step = |k: &usize| Some(x.strides()[*k].unsigned_abs()).filter(|&s| s > 0 && x.shape()[*k] > 1);
        let Some(last) = prim.axes.iter().filter_map(step).next_back() else { return Ok(None) };
        let nearest = (0..x.ndim()).filter_map(|k| Some((step(&k)?, k))).min();
        let across = nearest.is_some_and(|(s, k)| s < last && prim.axes.contains(&k));
        if across && x.numel() >= 4 * BLOCK { Tensor::run_one(&Prim::Contiguous, &[x]).map(Some) } else { Ok(None) }
    }

    /// Runs the fold; `emit` is given the results from a number on.
    fn run<F: Folding>(&self, source: &Source<F::C>, emit: &(dyn Fn(usize, &[F::Part]) + Sync)) {
        let strips = self.inner.div_ceil(self.width.max(1));
        let rows: usize = self.outer.iter().product();
        let (units, outputs) = (rows * strips, rows * self.inner);
        let groups = self.n.div_ceil(GROUP);
        let batch = (GROUP / (self.n.min(GROUP) * self.width).max(1)).max(1);
        let batches = units.div_ceil(batch);
        let job = |k: usize, emit: &(dyn Fn(usize, &[F::Part]) + Sync)| {
            let (group, first) = (k / batches, k % batches * batch);
            let part = group * GROUP..self.n.min((group + 1) * GROUP);
            isa::run(Job::<F> { plan: self, source, units: first..units.min(first + batch), strips, part, emit });
        };
        let work = outputs * self.n;
        if groups == 1 {
            return parallel(batches, work, |k| job(k, emit));
        }
        let mut parts = vec![F::FILL; outputs * groups];
        let sink = Sink::new(&mut parts);
        parallel(batches * groups, work, |k| {
            let base = k / batches * outputs;
            // SAFETY: the results of a job are its own, and a group's lie apart from the others'.
            job(k, &|at, results| unsafe { sink.part(base + at, results.len()).copy_from_slice(results) });
        });
        let mut stack = Vec::new();
        for at in 0..outputs {
            for group in 0..groups {
                stack.push(parts[group * outputs + at]);
                carry::<F>(&mut stack, group, 1);
            }
            finish::<F>(&mut stack, 1);
            emit(at, &stack);
            stack.clear();
        }
    }
}

/// After block number `k` was pushed: joins as a binary counter carries.
#[inline(always)]
fn carry<F: Folding>(stack: &mut Vec<F::Part>, k: usize, w: usize) {
    for _ in 0..k.trailing_ones() {
        join_top::<F>(stack, w);
    }
}

/// Joins what is left, the shortest parts first.
#[inline(always)]
fn finish<F: Folding>(stack: &mut Vec<F::Part>, w: usize) {
    while stack.len() > w {
        join_top::<F>(stack, w);
    }
}

#[inline(always)]
fn join_top<F: Folding>(stack: &mut Vec<F::Part>, w: usize) {
    let top = stack.len() - w;
    let (low, high) = stack.split_at_mut(top);
    join_rows::<F>(&mut low[top - w..], high);
    stack.truncate(top);
}

/// Some results, each over one group of its elements.
struct Job<'a, F: Folding> {
    plan: &'a Plan,
    source: &'a Source<F::C>,
    units: std::ops::Range<usize>,
    strips: usize,
    part: std::ops::Range<usize>,
    emit: &'a (dyn Fn(usize, &[F::Part]) + Sync),
}

impl<F: Folding> Work for Job<'_, F> {
    type Out = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Job { plan, source, units, strips, part, emit } = self;
        let from = Steps::new(&plan.folded, &plan.steps, part.start);
        let mut outer = Cursor::new(&plan.outer, [&plan.outer_strides], units.start / strips);
        let in_place = source.is_direct() && plan.folded.len() == 1 && plan.steps[0] == 1;
        let room = if plan.inner > 1 { plan.width } else { BLOCK.min(if in_place { 0 } else { part.len() }) };
        let mut buffer = vec![F::C::default(); room];
        let blocks = || part.clone().step_by(BLOCK).map(|start| (start, BLOCK.min(part.end - start))).enumerate();
        let mut stack: Vec<F::Part> = Vec::new();
        if plan.inner == 1 {
            let mut results: Vec<F::Part> = Vec::with_capacity(units.len().min(BATCH));
            for unit in units.clone() {
                let mut steps = from.clone();
                for (k, (start, n)) in blocks() {
                    // SAFETY: these are elements of the tensor that the plan was made for.
                    let block = unsafe { steps.block(source, outer.at[0], n, &mut buffer) };
                    stack.push(F::row(block, start));
                    carry::<F>(&mut stack, k, 1);
                }
                finish::<F>(&mut stack, 1);
                results.append(&mut stack);
                outer.advance();
                if results.len() == BATCH || unit + 1 == units.end {
                    emit(unit + 1 - results.len(), &results);
                    results.clear();
                }
            }
            return;
        }
        for unit in units {
            let left = unit % strips * plan.width;
            let width = plan.width.min(plan.inner - left);
            let base = outer.at[0] + left as isize * plan.inner_stride;
            let stride = plan.inner_stride;
            let mut rows = Rows { source, steps: from.clone(), base, stride, width, buffer: &mut buffer };
            for (k, (start, n)) in blocks() {
                F::strip(&mut rows, start, n, &mut stack);
                carry::<F>(&mut stack, k, width);
            }
            finish::<F>(&mut stack, width);
            emit(unit / strips * plan.inner + left, &stack);
            stack.clear();
            if unit % strips == strips - 1 {
                outer.advance();
            }
        }
    }
}

/// Folds to values of the operand's or a wider dtype.
fn plain<F: Fold<C: Compute>>(prim: &Reduce, x: &Tensor<CpuRuntime>, out: &Meta) -> Result<Tensor<CpuRuntime>> {
    let error = || Error::dtype(prim.op.name(), &[x.dtype()], "a dtype that has this fold");
    let store: Store<F::C> = F::C::store(out.dtype).ok_or_else(error)?;
    drive::<Plain<F>>(prim, x, out, &|results, place| {
        // SAFETY: `place` is room for just these results, of the dtype that `store` was chosen for.
        unsafe { store(results, place.as_mut_ptr()) };
    })
}

/// Folds to the number of an element.
fn arg<F: Choice>(prim: &Reduce, x: &Tensor<CpuRuntime>, out: &Meta) -> Result<Tensor<CpuRuntime>> {
    drive::<Arg<F>>(prim, x, out, &|results, place| {
        for (place, (_, at)) in place.chunks_exact_mut(size_of::<i64>()).zip(results) {
            place.copy_from_slice(&at.to_ne_bytes());
        }
    })
}

/// Runs a fold; `write` puts results into memory.
fn drive<F: Folding>(
    prim: &Reduce,
    x: &Tensor<CpuRuntime>,
    out: &Meta,
    write: &(dyn Fn(&[F::Part], &mut [u8]) + Sync),
) -> Result<Tensor<CpuRuntime>> {
    let plan = Plan::new(prim, x, out, F::WIDTH)?;
    let mut buffer = Buffer::for_meta(out)?;
    let size = out.dtype.size_in_bytes();
    let bytes = buffer.slice_mut::<u8>();
    if plan.n == 0 {
        for place in bytes.chunks_exact_mut(size) {
            write(&[F::FILL], place);
        }
    } else if !bytes.is_empty() {
        let error = || Error::dtype(prim.op.name(), &[x.dtype()], "a dtype that has this fold");
        let source = Source::<F::C>::new(x.dtype(), first(x)?).ok_or_else(error)?;
        let sink = Sink::new(bytes);
        plan.run::<F>(&source, &|at, results| {
            // SAFETY: the driver gives every result once, and there is one place for each.
            write(results, unsafe { sink.part(at * size, results.len() * size) });
        });
    }
    Ok(Tensor::from_storage(buffer.share(), plan.layout, out.dtype, CpuDevice))
}
