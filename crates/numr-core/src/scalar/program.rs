//! A graph lowered for given argument dtypes: every step typed, every conversion written out.
//!
//! A program is what runs (block by block on the CPU) and what is printed (CUDA C, WGSL). Each step has a *logical*
//! dtype; arithmetic on it runs in [`DType::compute`] and a cast to a narrow dtype rounds.

use super::graph::{Bin, Class, Graph, Id, Node, Un, in_masks};
use super::math::complex::{self, Z};
use crate::dtype::{DType, DTypeSet, Weak, promote, promote_weak};
use crate::element::Lit;
use crate::error::{Error, Result};
use crate::ops::map::Row;
use smallvec::SmallVec;
use std::collections::HashMap;

/// What stands for an argument when a program is made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ArgType {
    /// A tensor of this dtype.
    Tensor(DType),
    /// A scalar, which adapts to the tensors it meets.
    Scalar(Weak),
}

/// What a step does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Loads the k-th argument, in its own dtype.
    Arg(u8),
    /// A constant of the step's dtype.
    Lit(Lit),
    /// Coordinate along an axis of the output (i64).
    Coord(u8),
    /// Row-major index in the output (i64).
    Index,
    /// A primitive of one operand.
    Un(Un),
    /// A primitive of two operands.
    Bin(Bin),
    /// a·b + c.
    Fma,
    /// b where a (bool) holds, else c.
    Select,
    /// Conversion from the operand's dtype to the step's.
    Cast,
}

impl Op {
    /// Number of operands.
    pub fn arity(self) -> usize {
        match self {
            Op::Arg(_) | Op::Lit(_) | Op::Coord(_) | Op::Index => 0,
            Op::Un(_) | Op::Cast => 1,
            Op::Bin(_) => 2,
            Op::Fma | Op::Select => 3,
        }
    }
}

/// One typed step; its operands are earlier steps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// The dtype of its result.
    pub dtype: DType,
    /// The operands; unused places hold 0.
    pub a: [Id; 3],
}

impl Inst {
    /// The operands in use.
    pub fn inputs(&self) -> &[Id] {
        &self.a[..self.op.arity()]
    }
}

/// A typed expression in single-assignment form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// The dtype in which each argument is given: a tensor's own, or what a scalar adapted to.
    pub args: SmallVec<[DType; 4]>,
    /// The steps.
    pub insts: Vec<Inst>,
    /// The steps that are results.
    pub outs: SmallVec<[Id; 2]>,
}

impl Program {
    /// The dtype of the k-th result.
    pub fn out(&self, k: usize) -> DType {
        self.insts[self.outs[k] as usize].dtype
    }

    /// Types a graph.
    ///
    /// # Errors
    /// `Error::DType` where a step is not defined for its operands' dtypes.
    pub fn lower(graph: &Graph, args: &[ArgType]) -> Result<Program> {
        let (op, class) = (name(graph), graph.class());
        let common = match class {
            Class::Common { dtypes, masks } => resolve(op, dtypes, masks, args)?,
            Class::Free => mixed(args.iter().copied()),
        };
        let mut b = Builder { op, common, insts: Vec::new(), memo: HashMap::new() };
        let mut typed = SmallVec::new();
        let mut values = Vec::with_capacity(args.len());
        for (k, arg) in args.iter().enumerate() {
            let is_mask = class.is_mask(k);
            let dtype = match *arg {
                ArgType::Tensor(d) => d,
                ArgType::Scalar(_) if is_mask => DType::Bool,
                ArgType::Scalar(_) if class != Class::Free => common,
                ArgType::Scalar(w) => only_cast(graph, k as u8).unwrap_or(promote_weak(common, w)),
            };
            typed.push(dtype);
            if !graph.reads(k) {
                values.push(Val::Lit(Lit::Bool(false)));
                continue;
            }
            let loaded = b.push(Op::Arg(k as u8), dtype, &[]);
            values.push(Val::Id(match class {
                Class::Common { .. } => b.cast(loaded, if is_mask { DType::Bool } else { common }),
                Class::Free => loaded,
            }));
        }
        let roots = b.run(graph, &values, class != Class::Free)?;
        let outs = roots.into_iter().map(|r| b.at(r, common)).collect();
        Ok(Program { args: typed, insts: b.insts, outs }.pruned())
    }

    /// Without the steps that casts and aliases left unread.
    fn pruned(mut self) -> Program {
        let mut live = vec![false; self.insts.len()];
        for &o in &self.outs {
            live[o as usize] = true;
        }
        for i in (0..self.insts.len()).rev() {
            if live[i] {
                for &a in self.insts[i].inputs() {
                    live[a as usize] = true;
                }
            }
        }
        let mut place = vec![0; live.len()];
        let mut kept = Vec::with_capacity(live.len());
        for (i, mut inst) in self.insts.into_iter().enumerate() {
            if live[i] {
                for a in &mut inst.a[..inst.op.arity()] {
                    *a = place[*a as usize];
                }
                place[i] = kept.len() as Id;
                kept.push(inst);
            }
        }
        self.insts = kept;
        for o in &mut self.outs {
            *o = place[*o as usize];
        }
        self
    }
}

/// The dtype to which a graph casts argument `k`, if it does nothing else with it. A scalar is then given in that dtype
/// at once: a seed or a 64-bit constant loses nothing to the dtype of the tensors around it.
fn only_cast(graph: &Graph, k: u8) -> Option<DType> {
    let id = graph.nodes().iter().position(|n| *n == Node::Arg(k))? as Id;
    if graph.roots().contains(&id) {
        return None;
    }
    let mut readers = graph.nodes().iter().filter(|n| n.inputs().contains(&id));
    let Some(&Node::Cast(dtype, _)) = readers.next() else { return None };
    readers.all(|n| matches!(n, Node::Cast(d, _) if *d == dtype)).then_some(dtype)
}

/// The name that errors give to a graph: its row's, if it is one.
fn name(graph: &Graph) -> &'static str {
    match graph.nodes().last() {
        Some(Node::Call(row, _)) if graph.roots().len() == 1 => row.name(),
        _ => "map",
    }
}

/// The one dtype that tensors and scalars agree on, without a look at what is accepted.
fn mixed(args: impl Iterator<Item = ArgType> + Clone) -> DType {
    let tensors = args.clone().filter_map(|a| match a {
        ArgType::Tensor(d) => Some(d),
        ArgType::Scalar(_) => None,
    });
    let scalars = args.filter_map(|a| match a {
        ArgType::Scalar(w) => Some(w),
        ArgType::Tensor(_) => None,
    });
    match tensors.reduce(promote) {
        Some(d) => scalars.fold(d, promote_weak),
        None => scalars.map(default).reduce(promote).unwrap_or(DType::default_float()),
    }
}

/// The dtype of a scalar that meets no tensor.
fn default(weak: Weak) -> DType {
    match weak {
        Weak::Bool => DType::Bool,
        Weak::Int => DType::default_int(),
        Weak::Float => DType::default_float(),
        Weak::Complex => DType::Complex64,
    }
}

/// The dtype in which a body runs on these arguments.
pub(crate) fn resolve(op: &'static str, accepts: DTypeSet, masks: u8, args: &[ArgType]) -> Result<DType> {
    let values = args.iter().enumerate().filter(|&(k, _)| !in_masks(masks, k)).map(|(_, &a)| a);
    let common = mixed(values);
    if accepts.contains(common) {
        return Ok(common);
    }
    // A body for floats takes whole numbers and truth values as floats. One that takes integers but no truth values
    // (a difference, a negation) means it: NumPy and PyTorch refuse those too.
    let whole = (common.is_int() || common.is_bool()) && !accepts.contains(DType::default_int());
    if whole && accepts.contains(DType::default_float()) {
        return Ok(DType::default_float());
    }
    let got = args.iter().map(|a| match *a {
        ArgType::Tensor(d) => d,
        ArgType::Scalar(w) => default(w),
    });
    Err(Error::DType { op, got: got.collect(), expected: accepts.to_string().into() })
}

#[derive(Clone, Copy)]
enum Val {
    Id(Id),
    Lit(Lit),
}

struct Builder {
    op: &'static str,
    /// What the body of a row runs in.
    common: DType,
    insts: Vec<Inst>,
    memo: HashMap<Inst, Id>,
}

impl Builder {
    fn push(&mut self, op: Op, dtype: DType, operands: &[Id]) -> Id {
        let mut a = [0; 3];
        a[..operands.len()].copy_from_slice(operands);
        let inst = Inst { op, dtype, a };
        *self.memo.entry(inst).or_insert_with(|| {
            self.insts.push(inst);
            (self.insts.len() - 1) as Id
        })
    }

    fn dtype(&self, id: Id) -> DType {
        self.insts[id as usize].dtype
    }

    fn cast(&mut self, id: Id, dtype: DType) -> Id {
        if self.dtype(id) == dtype { id } else { self.push(Op::Cast, dtype, &[id]) }
    }

    /// The value as a step of this dtype.
    fn at(&mut self, v: Val, lit_dtype: DType) -> Id {
        match v {
            Val::Id(id) => id,
            Val::Lit(l) => self.push(Op::Lit(l), lit_dtype, &[]),
        }
    }

    fn to(&mut self, v: Val, dtype: DType) -> Id {
        let id = self.at(v, dtype);
        self.cast(id, dtype)
    }

    /// The dtype on which operands meet. In a row's body (`adopt`) a constant takes the dtype of what it meets.
    fn meet(&self, vals: &[Val], adopt: bool) -> DType {
        let types = vals.iter().filter_map(|v| match *v {
            Val::Id(id) => Some(ArgType::Tensor(self.dtype(id))),
            Val::Lit(l) => (!adopt).then(|| ArgType::Scalar(l.weak())),
        });
        if adopt && types.clone().next().is_none() {
            let lits = vals.iter().filter_map(|v| match *v {
                Val::Lit(l) => Some(l.weak()),
                Val::Id(_) => None,
            });
            return self.alone(lits.fold(Weak::Bool, std::cmp::max));
        }
        mixed(types)
    }

    /// The dtype of constants that meet only each other in a row's body: what the body runs in, or its bits.
    fn alone(&self, weak: Weak) -> DType {
        match (weak, self.common.compute()) {
            (Weak::Float, d) if d.is_float() || d.is_complex() => self.common,
            (Weak::Int, d) if d.is_int() => d,
            (Weak::Int, DType::F32) => DType::I32,
            (weak, _) => default(weak),
        }
    }

    fn refuse(&self, got: &[DType], expected: DTypeSet) -> Error {
        Error::DType { op: self.op, got: got.into(), expected: expected.to_string().into() }
    }

    fn run(&mut self, graph: &Graph, args: &[Val], adopt: bool) -> Result<Vec<Val>> {
        let mut vals: Vec<Val> = Vec::with_capacity(graph.nodes().len());
        for node in graph.nodes() {
            let v = |id: Id| vals[id as usize];
            let val = match *node {
                Node::Arg(k) => args[k as usize],
                Node::Lit(l) => Val::Lit(l),
                Node::Coord(axis) => Val::Id(self.push(Op::Coord(axis), DType::I64, &[])),
                Node::Index => Val::Id(self.push(Op::Index, DType::I64, &[])),
                Node::Cast(d, a) => Val::Id(self.to(v(a), d)),
                Node::Un(u, a) => self.un(u, v(a), adopt)?,
                Node::Bin(b, x, y) => Val::Id(self.bin(b, v(x), v(y), adopt)?),
                Node::Fma(x, y, z) => {
                    let operands = [v(x), v(y), v(z)];
                    let d = self.meet(&operands, adopt);
                    if d.is_bool() {
                        return Err(self.refuse(&[d], DTypeSet::NUMERIC));
                    }
                    let [x, y, z] = operands.map(|o| self.to(o, d));
                    Val::Id(self.push(Op::Fma, d, &[x, y, z]))
                }
                Node::Select(m, x, y) => {
                    let d = self.meet(&[v(x), v(y)], adopt);
                    let (m, x, y) = (self.to(v(m), DType::Bool), self.to(v(x), d), self.to(v(y), d));
                    Val::Id(self.push(Op::Select, d, &[m, x, y]))
                }
                Node::Call(row, a) => {
                    let operands: SmallVec<[Val; 3]> = a[..row.arity()].iter().map(|&a| v(a)).collect();
                    self.call(row, &operands)?
                }
            };
            vals.push(val);
        }
        Ok(graph.roots().iter().map(|&r| vals[r as usize]).collect())
    }

    fn call(&mut self, row: Row, operands: &[Val]) -> Result<Val> {
        let types: SmallVec<[ArgType; 3]> = operands
            .iter()
            .map(|v| match *v {
                Val::Id(id) => ArgType::Tensor(self.dtype(id)),
                Val::Lit(l) => ArgType::Scalar(l.weak()),
            })
            .collect();
        let Class::Common { dtypes, masks } = row.class() else { unreachable!("rows have a common dtype") };
        let common = resolve(row.name(), dtypes, masks, &types)?;
        let mut args = Vec::with_capacity(operands.len());
        for (k, &v) in operands.iter().enumerate() {
            args.push(Val::Id(self.to(v, if in_masks(masks, k) { DType::Bool } else { common })));
        }
        let outer = std::mem::replace(&mut self.common, common);
        let roots = self.run(&row.body(), &args, true)?;
        self.common = outer;
        Ok(Val::Id(self.at(roots[0], common)))
    }

    fn un(&mut self, u: Un, v: Val, adopt: bool) -> Result<Val> {
        let mut d = self.meet(&[v], adopt);
        if u.is_float() && (d.is_int() || d.is_bool()) {
            d = DType::default_float();
        }
        let a = self.to(v, d);
        let real = |ok: bool, expected| if ok { Ok(()) } else { Err(self.refuse(&[d], expected)) };
        let out = match u {
            Un::Neg => {
                real(!d.is_bool(), DTypeSet::NUMERIC)?;
                d
            }
            Un::Abs if d.is_unsigned_int() || d.is_bool() => return Ok(Val::Id(a)),
            Un::Abs if d.is_complex() => d.to_real(),
            Un::Abs => d,
            Un::Floor | Un::Ceil | Un::Round | Un::Trunc => {
                real(!d.is_complex(), DTypeSet::REAL)?;
                if !d.is_float() {
                    return Ok(Val::Id(a));
                }
                d
            }
            Un::Not => {
                real(d.is_int() || d.is_bool(), DTypeSet::INTS.union(DTypeSet::BOOL))?;
                d
            }
            Un::Conj if !d.is_complex() => return Ok(Val::Id(a)),
            Un::Conj => d,
            Un::Real if !d.is_complex() => return Ok(Val::Id(a)),
            Un::Imag if !d.is_complex() => return Ok(Val::Id(self.push(Op::Lit(Lit::Float(0.0)), d, &[]))),
            Un::Real | Un::Imag => d.to_real(),
            Un::ToBits | Un::ToInt => match d {
                DType::F32 => DType::I32,
                DType::F64 => DType::I64,
                _ => return Err(self.refuse(&[d], DTypeSet::of(&[DType::F32, DType::F64]))),
            },
            Un::FromBits | Un::FromInt => match d {
                DType::I32 => DType::F32,
                DType::I64 => DType::F64,
                _ => return Err(self.refuse(&[d], DTypeSet::of(&[DType::I32, DType::I64]))),
            },
            Un::Sqrt if d.is_complex() => return self.complex(&[a], |v| Some(complex::sqrt(v[0]))).map(Val::Id),
            Un::Math(f) if d.is_complex() => return self.complex(&[a], |v| complex::function(f, v[0])).map(Val::Id),
            Un::Keep | Un::Sqrt | Un::Math(_) => d,
        };
        Ok(Val::Id(self.push(Op::Un(u), out, &[a])))
    }

    /// The steps of a function of complex numbers; `None` is refused.
    fn complex<F>(&mut self, operands: &[Id], f: F) -> Result<Id>
    where
        F: for<'a> FnOnce(&[Z<'a>]) -> Option<Z<'a>>,
    {
        let d = self.dtype(operands[0]);
        let real = d.to_real();
        let parts = operands.iter().flat_map(|&a| [Un::Real, Un::Imag].map(|u| (u, a)));
        let parts: Vec<Val> = parts.map(|(u, a)| Val::Id(self.push(Op::Un(u), real, &[a]))).collect();
        let class = Class::Common { dtypes: DTypeSet::single(real), masks: 0 };
        let graph = Graph::build(parts.len() as u8, class, |_, x| {
            let z: SmallVec<[Z<'_>; 2]> = x.chunks(2).map(|p| Z { re: p[0], im: p[1] }).collect();
            f(&z).map_or(vec![], |y| vec![y.re, y.im])
        });
        if graph.roots().is_empty() {
            return Err(self.refuse(&[d], DTypeSet::FLOATS));
        }
        let outer = std::mem::replace(&mut self.common, real);
        let y = self.run(&graph, &parts, true)?;
        self.common = outer;
        let y: SmallVec<[Id; 2]> = y.into_iter().map(|v| self.to(v, real)).collect();
        Ok(self.push(Op::Bin(Bin::Complex), d, &y))
    }

    fn bin(&mut self, b: Bin, x: Val, y: Val, adopt: bool) -> Result<Id> {
        let mut d = self.meet(&[x, y], adopt);
        let mut b = b;
        let expected = match b {
            // Truth values: or, and.
            Bin::Add | Bin::Max if d.is_bool() => {
                b = Bin::Or;
                DTypeSet::BOOL
            }
            Bin::Mul | Bin::Min if d.is_bool() => {
                b = Bin::And;
                DTypeSet::BOOL
            }
            Bin::Add | Bin::Sub | Bin::Mul | Bin::Div | Bin::Pow => DTypeSet::NUMERIC,
            Bin::Rem | Bin::Max | Bin::Min => DTypeSet::REAL,
            Bin::And | Bin::Or | Bin::Xor => DTypeSet::INTS.union(DTypeSet::BOOL),
            Bin::Shl | Bin::Shr | Bin::ShrLogical | Bin::MulHi => DTypeSet::INTS,
            Bin::Eq | Bin::Ne => DTypeSet::ALL,
            Bin::Lt | Bin::Le => DTypeSet::REAL.union(DTypeSet::BOOL),
            Bin::Complex => {
                if d.is_int() || d.is_bool() {
                    d = DType::default_float();
                }
                DTypeSet::FLOATS
            }
        };
        if !expected.contains(d) {
            return Err(self.refuse(&[d], expected));
        }
        let (x, y) = (self.to(x, d), self.to(y, d));
        if b == Bin::Pow && d.is_complex() {
            return self.complex(&[x, y], |v| Some(complex::pow(v[0], v[1])));
        }
        let out = match b {
            b if b.is_comparison() => DType::Bool,
            Bin::Complex => d.to_complex(),
            _ => d,
        };
        Ok(self.push(Op::Bin(b), out, &[x, y]))
    }
}
