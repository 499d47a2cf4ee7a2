//! Element-wise expressions: any of them, over operands of any layout.
//!
//! The result is contiguous and is made in blocks that stay in the first-level cache. A [`plan`] is a list of kernels,
//! each a primitive (or a whole row of the op table) compiled for one type; what lies contiguous in memory is read and
//! written where it is, everything else is brought into a block first.

mod body;
mod cast;
mod plan;

use numr_core::prim::{Bind, Map, MapOp, Meta, Prim};
use numr_core::runtime::{Outputs, Support};
use numr_core::{DType, Error, Result, Shape, Tensor, promote_weak};
use smallvec::{SmallVec, smallvec};
use std::cell::Cell;
use std::sync::Arc;

use crate::CpuRuntime;
use crate::copy::by_size;
use crate::storage::{Buffer, elements};
use crate::threads::{parallel, parallel_chunks};
use crate::walk::Walk;
use body::Kernel;
use plan::{Leaf, Place, Plan, Value};

/// Elements of a block.
const BLOCK: usize = 512;

/// Elements that a thread takes at a time.
const CHUNK: usize = 1 << 15;

/// Which expressions there are: all but those with a step on complex numbers that has no kernel.
pub(crate) fn supports(map: &Map, dtypes: &[DType]) -> Support {
    let row = matches!(map.op, MapOp::Row(_)) && !dtypes.iter().any(|d| d.is_complex());
    if row && map.binds.iter().all(|b| !matches!(b, Bind::Scalar(numr_core::Lit::Complex(..)))) {
        return Support::Native;
    }
    match plan_of(map, dtypes) {
        Ok(_) => Support::Native,
        Err(e) => Support::No { reason: e.to_string().into() },
    }
}

/// The dtype of all operands, if a row's own kernel may take it.
fn common(map: &Map, inputs: &[&Tensor<CpuRuntime>]) -> Option<DType> {
    let (first, rest) = inputs.split_first()?;
    let dtype = first.dtype();
    let same = matches!(dtype, DType::F32 | DType::F64) && rest.iter().all(|t| t.dtype() == dtype);
    let scalar = |b: &Bind| match b {
        Bind::Input => true,
        Bind::Scalar(l) => promote_weak(dtype, l.weak()) == dtype,
    };
    (same && map.binds.iter().all(scalar)).then_some(dtype)
}

fn plan_of(map: &Map, dtypes: &[DType]) -> Result<(Arc<Plan>, SmallVec<[DType; 4]>)> {
    let program = map.program(dtypes.iter().copied())?;
    let scalars = map.binds.iter().enumerate().fold(0, |m, (k, b)| m | u64::from(matches!(b, Bind::Scalar(_))) << k);
    let plan = Plan::of(&program, scalars).ok_or_else(|| {
        Error::unsupported("map", dtypes.first().copied(), "cpu", "a step of it is not defined for complex numbers")
    })?;
    Ok((plan, program.args.clone()))
}

/// An argument, in the order of the result's elements.
enum Source<'a> {
    /// The elements as they lie in memory.
    Dense(&'a [u8]),
    /// Elements that have to be brought into a block.
    Strided(Box<Walk>, &'a [u8]),
    /// One value.
    Value(Value),
}

impl<'a> Source<'a> {
    fn new(tensor: &'a Tensor<CpuRuntime>, shape: &Shape) -> Result<Source<'a>> {
        let size = tensor.dtype().size_in_bytes();
        let bytes: &[u8] = by_size!(size, T => bytemuck::cast_slice(elements::<T>(tensor)?));
        let layout = tensor.layout();
        let first = layout.offset() * size;
        if layout.shape() == shape && layout.is_contiguous() {
            return Ok(Source::Dense(&bytes[first.min(bytes.len())..]));
        }
        if shape.contains(&0) {
            return Ok(Source::Dense(&bytes[..0]));
        }
        let value = || Ok(Source::Value(Value::of(&bytes[first..first + size])));
        if layout.numel() == 1 {
            return value();
        }
        let walk = Walk::new(&layout.broadcast_to("map", shape)?);
        if walk.single() {
            return value();
        }
        Ok(match walk.dense() {
            Some(at) => Source::Dense(&bytes[at * size..]),
            None => Source::Strided(Box::new(walk), bytes),
        })
    }
}

/// The arguments of a map, in order. `types` says what a scalar becomes.
fn sources<'a>(
    map: &Map,
    inputs: &[&'a Tensor<CpuRuntime>],
    shape: &Shape,
    types: impl Fn(usize) -> DType,
) -> Result<SmallVec<[Source<'a>; 3]>> {
    let mut inputs = inputs.iter();
    let mut sources = SmallVec::new();
    for (k, bind) in map.binds.iter().enumerate() {
        match bind {
            Bind::Scalar(l) => sources.push(Source::Value(Value::new(*l, types(k)))),
            Bind::Input => sources.extend(inputs.next().map(|t| Source::new(t, shape)).transpose()?),
        }
    }
    Ok(sources)
}

/// Is a row-major copy worth it? Where neighbours in memory are not neighbours in a row: a copy goes by the tile, which
/// a block, being a few hundred elements of one row, cannot.
fn wants_copy(t: &Tensor<CpuRuntime>) -> bool {
    t.numel() >= 4 * BLOCK && !t.is_contiguous() && Walk::new(t.layout()).across().is_some()
}

/// Runs an expression.
pub(crate) fn map(map: &Map, inputs: &[&Tensor<CpuRuntime>], outs: &[Meta]) -> Result<Outputs<CpuRuntime>> {
    if inputs.iter().any(|t| wants_copy(t)) {
        let copy = |&t: &&Tensor<CpuRuntime>| -> Result<Tensor<CpuRuntime>> {
            if wants_copy(t) { Tensor::run_one(&Prim::Contiguous, &[t]) } else { Ok(t.clone()) }
        };
        let straight: SmallVec<[Tensor<CpuRuntime>; 3]> = inputs.iter().map(copy).collect::<Result<_>>()?;
        return self::map(map, &straight.iter().collect::<SmallVec<[_; 3]>>(), outs);
    }
    if let (MapOp::Row(row), [out]) = (&map.op, outs)
        && let Some(dtype) = common(map, inputs)
        && let Some(kernel) = body::row(*row, dtype)
    {
        let mut buffer = Buffer::for_meta(out)?;
        if !one_step(kernel, map, inputs, &out.shape, buffer.slice_mut(), dtype) {
            let sources = sources(map, inputs, &out.shape, |_| dtype)?;
            run(&Plan::row(kernel, sources.len(), dtype), &sources, &out.shape, &mut [buffer.slice_mut()]);
        }
        return Ok(smallvec![buffer.into_tensor(out.shape.clone(), out.dtype)]);
    }
    let mut buffers = outs.iter().map(Buffer::for_meta).collect::<Result<SmallVec<[Buffer; 1]>>>()?;
    if let Some(Meta { shape, .. }) = outs.first() {
        let dtypes: SmallVec<[DType; 4]> = inputs.iter().map(|t| t.dtype()).collect();
        let (plan, types) = plan_of(map, &dtypes)?;
        let sources = sources(map, inputs, shape, |k| types[k])?;
        let mut results: SmallVec<[&mut [u8]; 1]> = buffers.iter_mut().map(|b| b.slice_mut()).collect();
        run(&plan, &sources, shape, &mut results);
    }
    Ok(buffers.into_iter().zip(outs).map(|(b, m)| b.into_tensor(m.shape.clone(), m.dtype)).collect())
}

/// The bytes of a tensor whose elements lie as those of a contiguous result of this shape.
fn dense<'a>(tensor: &'a Tensor<CpuRuntime>, shape: &Shape) -> Option<&'a [u8]> {
    let layout = tensor.layout();
    if layout.shape() != shape || !layout.is_contiguous() {
        return None;
    }
    let size = tensor.dtype().size_in_bytes();
    let (start, len) = (layout.offset().checked_mul(size)?, layout.numel().checked_mul(size)?);
    // The empty tensor of an empty storage may have any offset.
    let all = tensor.storage().slice();
    if len == 0 { Some(&all[..0]) } else { all.get(start..start.checked_add(len)?) }
}

/// Runs one kernel where all operands lie in memory as the result does, or are scalars and few enough to be laid out on
/// the stack. Answers whether it did.
fn one_step(
    kernel: Kernel,
    map: &Map,
    inputs: &[&Tensor<CpuRuntime>],
    shape: &Shape,
    out: &mut [u8],
    dtype: DType,
) -> bool {
    let mut few = [[0u64; 8]; 3];
    let mut operands: [&[u8]; 3] = [&[]; 3];
    let mut inputs = inputs.iter();
    for ((operand, few), bind) in operands.iter_mut().zip(&mut few).zip(&map.binds) {
        *operand = match bind {
            Bind::Input => match inputs.next().and_then(|t| dense(t, shape)) {
                Some(bytes) => bytes,
                None => return false,
            },
            Bind::Scalar(l) => {
                let Some(block) = bytemuck::cast_slice_mut(few).get_mut(..out.len()) else { return false };
                Value::new(*l, dtype).fill(block);
                block
            }
        };
    }
    let chunk = CHUNK * dtype.size_in_bytes();
    if out.len() <= chunk {
        kernel(operands, out);
    } else {
        let work = out.len() / dtype.size_in_bytes();
        parallel_chunks(out, chunk, work, |k, part| {
            kernel(operands.map(|o| if o.is_empty() { o } else { &o[k * chunk..][..part.len()] }), part);
        });
    }
    true
}

/// Runs a plan into its results.
fn run(plan: &Plan, sources: &[Source<'_>], shape: &Shape, results: &mut [&mut [u8]]) {
    let total = shape.numel().unwrap_or(0);
    if total == 0 {
        return;
    }
    let target = |bytes: &mut &mut [u8]| Target { start: bytes.as_mut_ptr(), size: bytes.len() / total };
    let targets: SmallVec<[Target; 1]> = results.iter_mut().map(target).collect();
    let run = Run { plan, sources, targets: &targets, shape };
    parallel(total.div_ceil(CHUNK), total * plan.steps.len(), |k| {
        run.chunk(k * CHUNK, CHUNK.min(total - k * CHUNK));
    });
}

/// The memory of a result.
struct Target {
    start: *mut u8,
    size: usize,
}

// SAFETY: every thread writes through it to elements of its own.
unsafe impl Sync for Target {}

/// An expression with all that it reads and writes.
struct Run<'a> {
    plan: &'a Plan,
    sources: &'a [Source<'a>],
    targets: &'a [Target],
    shape: &'a Shape,
}

impl Run<'_> {
    /// Makes elements `start..start + len`.
    fn chunk(&self, start: usize, len: usize) {
        let plan = self.plan;
        let blocks =
            plan.args + plan.outs != plan.places || !self.sources.iter().all(|s| matches!(s, Source::Dense(_)));
        let most = if blocks { BLOCK.min(len) } else { len };
        // A slot is whole cache lines, and one more so that slots do not meet in the same cache sets.
        let slot = (most * plan.widest).next_multiple_of(64) + 64;
        with_scratch(if blocks { plan.places * slot } else { 0 }, |scratch| {
            let base = scratch.as_mut_ptr();
            // Where the block of each place starts.
            let mut at: SmallVec<[*mut u8; 8]> = SmallVec::new();
            for place in 0..plan.places {
                // SAFETY: the scratch has a slot for every place, if any is used.
                at.push(if blocks { unsafe { base.add(place * slot) } } else { base });
            }
            for (place, value) in self.values() {
                // SAFETY: the place's slot holds `most` elements.
                let block = unsafe { std::slice::from_raw_parts_mut(at[place], most * value.size) };
                value.fill(block);
            }
            let mut done = 0;
            while done < len {
                let (first, n) = (start + done, most.min(len - done));
                self.leaves(first, n, &at);
                for (k, source) in self.sources.iter().enumerate() {
                    match source {
                        Source::Dense(bytes) => at[k] = bytes[first * self.size_of(k)..].as_ptr().cast_mut(),
                        Source::Strided(walk, bytes) => {
                            let size = self.size_of(k);
                            if size == 0 {
                                continue;
                            }
                            // SAFETY: the place's slot holds `most` elements.
                            let block = unsafe { std::slice::from_raw_parts_mut(at[k], n * size) };
                            by_size!(size, T => {
                                walk.load::<T>(bytemuck::cast_slice(bytes), first, bytemuck::cast_slice_mut(block));
                            });
                        }
                        Source::Value(_) => {}
                    }
                }
                for (k, target) in self.targets.iter().enumerate() {
                    // SAFETY: the result has elements up to `start + len`.
                    at[plan.args + k] = unsafe { target.start.add(first * target.size) };
                }
                for step in &plan.steps {
                    let block = |(place, size): (Place, u8)| -> &[u8] {
                        // SAFETY: the place holds `n` elements of this size: a slot, or memory whose length was
                        // checked against the layout; no step writes there while it reads, as a plan gives a result
                        // a place that none of its operands has, and results are fresh memory.
                        unsafe { std::slice::from_raw_parts(at[usize::from(place)], n * usize::from(size)) }
                    };
                    let (place, size) = step.out;
                    // SAFETY: as above; and chunks are given to one thread each.
                    let out = unsafe { std::slice::from_raw_parts_mut(at[usize::from(place)], n * usize::from(size)) };
                    (step.kernel)(step.operands.map(block), out);
                }
                done += n;
            }
        });
    }

    /// The bytes per element of the k-th argument, as the plan reads it.
    fn size_of(&self, k: usize) -> usize {
        let read = self.plan.steps.iter().flat_map(|s| s.operands).find(|o| usize::from(o.0) == k && o.1 != 0);
        read.map_or(0, |o| usize::from(o.1))
    }

    /// The places that hold one value, with it.
    fn values(&self) -> impl Iterator<Item = (usize, Value)> {
        let args = self.sources.iter().enumerate().filter_map(|(k, s)| match s {
            Source::Value(v) if self.size_of(k) != 0 => Some((k, *v)),
            _ => None,
        });
        let first = self.plan.args + self.plan.outs;
        let leaves = self.plan.leaves.iter().enumerate().filter_map(move |(k, l)| match l {
            Leaf::Value(v) => Some((first + k, *v)),
            _ => None,
        });
        args.chain(leaves)
    }

    /// Fills the coordinates of elements `first..first + n` in.
    fn leaves(&self, first: usize, n: usize, at: &[*mut u8]) {
        for (k, leaf) in self.plan.leaves.iter().enumerate() {
            let (inner, size) = match *leaf {
                Leaf::Value(_) => continue,
                Leaf::Index => (1, usize::MAX),
                Leaf::Coord(axis) => {
                    let axis = usize::from(axis);
                    let Some(&size) = self.shape.get(axis) else { continue };
                    (self.shape[axis + 1..].iter().product(), size)
                }
            };
            let place = self.plan.args + self.plan.outs + k;
            // SAFETY: the place's slot holds `n` elements of 8 bytes, aligned to 64.
            let block = unsafe { std::slice::from_raw_parts_mut(at[place].cast::<i64>(), n) };
            coordinates(block, first, inner, size);
        }
    }
}

/// `out[i] = (first + i) / inner % size`, by the run.
fn coordinates(out: &mut [i64], first: usize, inner: usize, size: usize) {
    let (mut value, mut left) = ((first / inner) % size, inner - first % inner);
    let mut out = out;
    while !out.is_empty() {
        if inner == 1 {
            let run = out.len().min(size - value);
            let (part, rest) = out.split_at_mut(run);
            for (i, o) in part.iter_mut().enumerate() {
                *o = (value + i) as i64;
            }
            (out, value) = (rest, 0);
        } else {
            let run = out.len().min(left);
            let (part, rest) = out.split_at_mut(run);
            part.fill(value as i64);
            out = rest;
            left = inner;
            value = if value + 1 == size { 0 } else { value + 1 };
        }
    }
}

/// A cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Memory of this thread for `f`, of at least so many bytes, kept for the next call.
fn with_scratch<T>(bytes: usize, f: impl FnOnce(&mut [u8]) -> T) -> T {
    thread_local! { static SCRATCH: Cell<Vec<Line>> = const { Cell::new(Vec::new()) }; }
    let mut lines = SCRATCH.take();
    if lines.len() * 64 < bytes {
        lines.resize(bytes.div_ceil(64), Line([0; 64]));
    }
    // SAFETY: the lines are initialised bytes without padding.
    let scratch = unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast::<u8>(), lines.len() * 64) };
    let result = f(scratch);
    SCRATCH.set(lines);
    result
}
