//! A typed program as kernels over places: which block each step reads and writes, with places reused once nothing
//! reads them any more.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use numr_core::scalar::program::{Op, Program};
use numr_core::{DType, Lit, dispatch_dtype};
use smallvec::{SmallVec, smallvec};

use super::body::{self, Kernel, in_block};
use super::cast;
use crate::copy::by_size;
use numr_core::Element;

/// Where a block lies. Arguments come first, then results, then constants and coordinates, then what is passed from
/// step to step.
pub(super) type Place = u16;

/// A place that is not there.
const NONE: (Place, u8) = (0, 0);

/// A kernel and the places that it works on, each with its bytes per element (0: unused).
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) kernel: Kernel,
    pub(super) operands: [(Place, u8); 3],
    pub(super) out: (Place, u8),
}

/// A block that does not come from memory.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Leaf {
    /// A value, with its bytes per element.
    Value(Value),
    /// The coordinate along an axis, i64.
    Coord(u8),
    /// The row-major index, i64.
    Index,
}

/// The bytes of one element in a block.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Value {
    bytes: [u64; 2],
    pub(super) size: usize,
}

impl Value {
    /// An element of at most 16 bytes.
    pub(super) fn of(element: &[u8]) -> Value {
        let mut value = Value { bytes: [0; 2], size: element.len() };
        bytemuck::bytes_of_mut(&mut value.bytes)[..element.len()].copy_from_slice(element);
        value
    }

    /// A literal in a block of this dtype. A narrow float is not rounded: it is computed with as `f32`.
    pub(super) fn new(lit: Lit, dtype: DType) -> Value {
        dispatch_dtype!(dtype.compute(), T => Value::of(bytemuck::bytes_of(&T::from_lit(lit).to_pod())))
    }

    /// Writes it to every place of a block.
    pub(super) fn fill(&self, block: &mut [u8]) {
        by_size!(self.size, T => {
            let one: T = bytemuck::pod_read_unaligned(&bytemuck::bytes_of(&self.bytes)[..self.size]);
            bytemuck::cast_slice_mut::<u8, T>(block).fill(one);
        });
    }
}

/// What runs for a program.
pub(super) struct Plan {
    pub(super) steps: SmallVec<[Step; 2]>,
    /// The number of arguments; their places come first.
    pub(super) args: usize,
    /// The number of results.
    pub(super) outs: usize,
    /// What fills the places after those of the results.
    pub(super) leaves: SmallVec<[Leaf; 2]>,
    /// The number of all places.
    pub(super) places: usize,
    /// The most bytes per element.
    pub(super) widest: usize,
}

impl Plan {
    /// One step for a whole row of so many arguments.
    pub(super) fn row(kernel: Kernel, args: usize, dtype: DType) -> Plan {
        let size = dtype.size_in_bytes() as u8;
        let operand = |k: usize| if k < args { (k as Place, size) } else { NONE };
        let step = Step { kernel, operands: [operand(0), operand(1), operand(2)], out: (args as Place, size) };
        Plan { steps: smallvec![step], args, outs: 1, leaves: SmallVec::new(), places: args + 1, widest: size.into() }
    }

    /// The plan of a program whose arguments with a bit in `scalars` are values; made once. `None` if a step has no
    /// kernel.
    pub(super) fn of(program: &Arc<Program>, scalars: u64) -> Option<Arc<Plan>> {
        /// Past this the table starts afresh.
        const LIMIT: usize = 1 << 10;
        type Table = HashMap<*const Program, (Arc<Program>, Option<Arc<Plan>>)>;
        thread_local! { static PLANS: RefCell<Table> = RefCell::default(); }
        PLANS.with_borrow_mut(|plans| {
            // The table keeps the program alive, so that its address stays its own. A program is made for argument
            // types in which scalars differ from tensors, so it stands for `scalars` as well.
            if let Some((_, plan)) = plans.get(&Arc::as_ptr(program)) {
                return plan.clone();
            }
            if plans.len() >= LIMIT {
                plans.clear();
            }
            let plan = Plan::compile(program, scalars).map(Arc::new);
            plans.insert(Arc::as_ptr(program), (program.clone(), plan.clone()));
            plan
        })
    }

    fn compile(program: &Program, scalars: u64) -> Option<Plan> {
        let (args, outs) = (program.args.len(), program.outs.len());
        let leaf = |op: Op, dtype: DType| match op {
            Op::Lit(l) => Some(Leaf::Value(Value::new(l, dtype))),
            Op::Coord(k) => Some(Leaf::Coord(k)),
            Op::Index => Some(Leaf::Index),
            _ => None,
        };
        let mut leaves: SmallVec<[Leaf; 2]> = SmallVec::new();
        let first_leaf = args + outs;
        let first_slot = first_leaf + program.insts.iter().filter(|i| leaf(i.op, i.dtype).is_some()).count();

        // A cast that changes nothing in a block, such as from f16 to f32, is its operand.
        let mut is: Vec<usize> = Vec::with_capacity(program.insts.len());
        for (i, inst) in program.insts.iter().enumerate() {
            let operand = inst.inputs().first().map(|&a| a as usize).filter(|_| inst.op == Op::Cast);
            let same = operand.filter(|&a| in_block(program.insts[a].dtype) == in_block(inst.dtype));
            let free = cast::rounded(inst.dtype).is_none() && !inst.dtype.is_bool();
            is.push(same.filter(|_| free).map_or(i, |a| is[a]));
        }
        let inputs = |i: usize| program.insts[i].inputs().iter().map(|&a| is[a as usize]);
        let roots: SmallVec<[usize; 2]> = program.outs.iter().map(|&o| is[o as usize]).collect();
        let mut last_read = vec![0; program.insts.len()];
        for i in (0..program.insts.len()).filter(|&i| is[i] == i) {
            inputs(i).for_each(|a| last_read[a] = i);
        }
        // Where a step's result goes to memory at once: where it is stored as it is in a block, or where rounding is
        // all that a cast does, and nobody else wants it.
        let direct = |i: usize| (0..outs).find(|&k| roots[k] == i && cast::store(program.out(k)).is_none());
        let stored = |i: usize| -> Option<(usize, Kernel)> {
            let root = roots.iter().position(|&r| r == i)?;
            let only = last_read[i] == 0 && roots.iter().filter(|&&r| r == i).count() == 1;
            cast::store(program.insts[i].dtype).filter(|_| only).map(|kernel| (root, kernel))
        };
        let dies = |a: usize, i: usize| last_read[a] == i && !roots.contains(&a);

        let mut slots = Slots { free: Vec::new(), next: first_slot };
        let mut places: Vec<(Place, u8)> = Vec::with_capacity(program.insts.len());
        let mut steps: SmallVec<[Step; 2]> = SmallVec::new();
        for (i, inst) in program.insts.iter().enumerate() {
            if is[i] != i {
                places.push(places[is[i]]);
                continue;
            }
            let size = in_block(inst.dtype).size_in_bytes() as u8;
            let target = |slots: &mut Slots| direct(i).map_or_else(|| slots.take(), |k| (args + k) as Place);
            let place = match inst.op {
                Op::Arg(k) => {
                    let memory = (Place::from(k), inst.dtype.size_in_bytes() as u8);
                    match cast::load(inst.dtype).filter(|_| scalars >> k & 1 == 0) {
                        Some(kernel) => {
                            let out = (target(&mut slots), size);
                            steps.push(Step { kernel, operands: [memory, NONE, NONE], out });
                            out
                        }
                        None => (memory.0, size),
                    }
                }
                op @ (Op::Lit(_) | Op::Coord(_) | Op::Index) => {
                    leaves.extend(leaf(op, inst.dtype));
                    ((first_leaf + leaves.len() - 1) as Place, size)
                }
                op @ (Op::Un(_) | Op::Bin(_) | Op::Fma | Op::Select | Op::Cast) => {
                    let mut out = (target(&mut slots), size);
                    let from = inst.inputs().first().map(|&a| program.insts[a as usize].dtype)?;
                    let mut operands = [NONE; 3];
                    for (o, &a) in operands.iter_mut().zip(inst.inputs()) {
                        *o = places[a as usize];
                    }
                    let kernel = match op {
                        Op::Un(u) => body::un(u, from)?,
                        Op::Bin(b) => body::bin(b, from)?,
                        Op::Fma => body::fma(from)?,
                        Op::Select => body::select(size.into()),
                        _ => {
                            let mut chain = cast::chain(from, inst.dtype)?;
                            let (last, _) = chain.pop()?;
                            let mut passed = SmallVec::<[Place; 2]>::new();
                            for (kernel, dtype) in chain {
                                let next = (slots.take(), in_block(dtype).size_in_bytes() as u8);
                                passed.push(next.0);
                                steps.push(Step { kernel, operands, out: next });
                                operands = [next, NONE, NONE];
                            }
                            slots.free.extend(passed);
                            match stored(i) {
                                Some((root, kernel)) => {
                                    slots.free.push(out.0);
                                    out = ((args + root) as Place, inst.dtype.size_in_bytes() as u8);
                                    kernel
                                }
                                None => last,
                            }
                        }
                    };
                    steps.push(Step { kernel, operands, out });
                    out
                }
            };
            places.push(place);
            // Only now: a result never takes the place of an operand.
            for (k, a) in inputs(i).enumerate() {
                let (slot, _) = places[a];
                if dies(a, i) && usize::from(slot) >= first_slot && !inputs(i).take(k).any(|b| b == a) {
                    slots.free.push(slot);
                }
            }
        }
        for (k, &o) in program.outs.iter().enumerate() {
            let (dtype, from) = (program.insts[o as usize].dtype, places[o as usize]);
            let out = ((args + k) as Place, dtype.size_in_bytes() as u8);
            if from.0 != out.0 {
                let kernel = cast::store(dtype).unwrap_or_else(|| body::copy(dtype.size_in_bytes()));
                steps.push(Step { kernel, operands: [from, NONE, NONE], out });
            }
        }
        let widest = steps.iter().flat_map(|s| s.operands.iter().chain([&s.out])).map(|p| usize::from(p.1)).max();
        Some(Plan { steps, args, outs, leaves, places: slots.next, widest: widest.unwrap_or(1) })
    }
}

/// Places for what is passed from step to step.
struct Slots {
    free: Vec<Place>,
    next: usize,
}

impl Slots {
    fn take(&mut self) -> Place {
        self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            (self.next - 1) as Place
        })
    }
}
