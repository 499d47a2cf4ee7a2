//! Prints programs as CUDA C ([`cuda`]) and WGSL ([`wgsl`]).
//!
//! One walk over the steps serves both: a language says how a type, a constant, a step and a function look, and this
//! file does the rest. Every symbol begins with `numr_`, since `exp`, `hypot` or `tan` would clash with built-ins.
//! Arguments are `numr_a0`, `numr_a1`, ...; coordinates `numr_c0`, ...; the row-major index is `numr_i`; steps are
//! `numr_v0`, `numr_v1`, ....
//!
//! A function `numr_exp_f32` is printed once a module, from its own body in [`super::math`]: text is scanned for names
//! of that form, and what they name is printed before it.
//!
//! Registers: narrow floats are held as `f32`, and only a cast to their dtype or a store rounds, by integer
//! arithmetic without any vendor header.

pub mod cuda;
pub mod wgsl;

use super::expr::{self, Expr};
use super::graph::{Bin, Class, Graph, Un};
use super::math::{double, single};
use super::program::{ArgType, Op, Program};
use crate::dtype::{DType, DTypeSet};
use crate::element::{Element, Lit};
use crate::error::{Error, Result};
use smallvec::SmallVec;
use std::collections::HashSet;
use std::fmt::Write;
use std::sync::Arc;

/// The printed steps of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Body {
    /// One statement a line.
    pub text: String,
    /// The expression of each result, in the register type of its dtype.
    pub outs: Vec<String>,
}

/// A map kernel to print.
#[derive(Clone, Copy, Debug)]
pub struct MapKernel<'a> {
    /// What is computed for each element.
    pub program: &'a Program,
    /// Bit k: argument k is one number that comes with the launch, not a tensor.
    pub scalars: u32,
    /// How elements are found.
    pub access: Access,
    /// 64-bit indices, for tensors that span 2³¹ elements or more.
    pub wide: bool,
}

/// How the elements of operands are found. Results are always in row-major order without gaps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Every operand lies in row-major order without gaps.
    Contiguous,
    /// Every operand has a stride for each of this many axes; coordinates are known.
    Strided {
        /// The number of axes.
        rank: usize,
    },
}

impl MapKernel<'_> {
    fn is_scalar(&self, k: usize) -> bool {
        self.scalars >> k & 1 == 1
    }

    fn rank(&self) -> usize {
        match self.access {
            Access::Contiguous => 0,
            Access::Strided { rank } => rank,
        }
    }

    /// Refuses a program that asks for a coordinate that the kernel does not know.
    fn check_axes(&self) -> Result<()> {
        let unknown = |op: &Op| matches!(*op, Op::Coord(axis) if axis as usize >= self.rank());
        if self.program.insts.iter().any(|i| unknown(&i.op)) {
            return Err(Error::argument("map", "access", "coordinates need strided access of a high enough rank"));
        }
        Ok(())
    }
}

/// What differs between the languages. Types are those of registers: see [`Language::register`].
trait Language {
    /// Named in errors.
    const NAME: &'static str;
    /// The dtype whose type holds values of this dtype.
    fn register(d: DType) -> DType;
    /// The type of a register dtype.
    fn ty(d: DType) -> &'static str;
    /// A constant.
    fn lit(d: DType, lit: Lit) -> String;
    /// A primitive of one operand of dtype `d` that is not an elementary function.
    fn un(u: Un, d: DType, a: &str) -> String;
    /// A primitive of two operands of dtype `d` that is not the power of floats.
    fn bin(b: Bin, d: DType, a: &str, b: &str) -> String;
    /// a·b + c.
    fn fma(d: DType, a: &str, b: &str, c: &str) -> String;
    /// `a` where `m` holds, else `b`.
    fn select(m: &str, a: &str, b: &str) -> String;
    /// Between real registers, where every value of `from` has a nearest one in `to`.
    fn convert(from: DType, to: DType, a: &str) -> String;
    /// From integer or bool to integer, keeping the low bits.
    fn wrap(from: DType, to: DType, a: &str) -> String;
    /// From the float register `from` to an integer: the nearest toward zero within its range, 0 for NaN.
    fn saturate(from: DType, to: DType, a: &str) -> String;
    /// An index or coordinate, and the dtype that all its values fit in.
    fn index(name: &str) -> (DType, String);
    /// The definition of a value.
    fn define(d: DType, name: &str, value: &str) -> String;
    /// A definition that hides a constant from the compiler's arithmetic on constants, where that could fail.
    fn hide(name: &str, value: &str) -> Option<String>;
    /// The definition of a function of floats `numr_a0`, `numr_a1`, ....
    fn function(name: &str, d: DType, arity: usize, body: &Body) -> String;
    /// The definition of a function that the language needs, if there is one of this name for this type.
    fn helper(name: &str, suffix: &str) -> Option<String>;
}

fn body<L: Language>(program: &Program) -> Result<Body> {
    let mut text = String::new();
    let mut names: Vec<String> = Vec::with_capacity(program.insts.len());
    for (i, inst) in program.insts.iter().enumerate() {
        let d = inst.dtype;
        let is_lit = |&a: &u32| matches!(program.insts[a as usize].op, Op::Lit(_));
        let mut operands: SmallVec<[String; 3]> = inst.inputs().iter().map(|&a| names[a as usize].clone()).collect();
        if !operands.is_empty()
            && inst.inputs().iter().all(is_lit)
            && let Some(definition) = L::hide(&format!("numr_k{i}"), &operands[0])
        {
            text.push_str(&definition);
            let hidden = std::mem::replace(&mut operands[0], format!("numr_k{i}"));
            for o in operands.iter_mut().filter(|o| **o == hidden) {
                *o = format!("numr_k{i}");
            }
        }
        let from = inst.inputs().last().map_or(d, |&a| program.insts[a as usize].dtype);
        let o = |k: usize| operands[k].as_str();
        let value = match inst.op {
            // These need no statement.
            Op::Arg(k) => {
                names.push(format!("numr_a{k}"));
                continue;
            }
            Op::Lit(lit) => {
                names.push(L::lit(d, lit));
                continue;
            }
            Op::Coord(_) | Op::Index => {
                let (held, name) = index::<L>(inst.op).unwrap_or((d, String::new()));
                names.push(cast::<L>(held, d, &name));
                continue;
            }
            Op::Un(Un::Math(f)) => call::<L>(f.name(), from, &operands),
            Op::Un(u) => L::un(u, from, o(0)),
            Op::Bin(Bin::Pow) if !from.is_int() => call::<L>("pow", from, &operands),
            Op::Bin(b) => L::bin(b, from, o(0), o(1)),
            Op::Fma => L::fma(d, o(0), o(1), o(2)),
            Op::Select => L::select(o(0), o(1), o(2)),
            // An index goes straight to where it is wanted: a shader may have no 64-bit integers.
            Op::Cast => match index::<L>(program.insts[inst.a[0] as usize].op) {
                Some((held, name)) => cast::<L>(held, d, &name),
                None => cast::<L>(from, d, o(0)),
            },
        };
        let name = format!("numr_v{i}");
        text.push_str(&L::define(L::register(d), &name, &value));
        names.push(name);
    }
    Ok(Body { text, outs: program.outs.iter().map(|&o| names[o as usize].clone()).collect() })
}

fn index<L: Language>(op: Op) -> Option<(DType, String)> {
    match op {
        Op::Coord(axis) => Some(L::index(&format!("numr_c{axis}"))),
        Op::Index => Some(L::index("numr_i")),
        _ => None,
    }
}

fn call<L: Language>(name: &str, d: DType, operands: &[String]) -> String {
    format!("numr_{name}_{}({})", L::register(d), operands.join(", "))
}

/// A value of dtype `from` as one of dtype `to`, by the rules of [`crate::Element`].
fn cast<L: Language>(from: DType, to: DType, a: &str) -> String {
    let (held, target) = (L::register(from), L::register(to));
    if from == to {
        return a.to_owned();
    }
    if to.is_bool() {
        return L::bin(Bin::Ne, from, a, &L::lit(from, Lit::Bool(false)));
    }
    if to.is_complex() {
        let part = to.to_real();
        let parts = if from.is_complex() {
            [Un::Real, Un::Imag].map(|u| cast::<L>(from.to_real(), part, &L::un(u, from, a)))
        } else {
            [cast::<L>(from, part, a), L::lit(part, Lit::Float(0.0))]
        };
        return L::bin(Bin::Complex, part, &parts[0], &parts[1]);
    }
    if from.is_complex() {
        return cast::<L>(from.to_real(), to, &L::un(Un::Real, from, a));
    }
    if to.is_int() {
        return if from.is_float() { L::saturate(held, to, a) } else { L::wrap(from, to, a) };
    }
    if to == target {
        return if held == to { a.to_owned() } else { L::convert(held, to, a) };
    }
    // What f32 cannot hold goes there with an odd last bit, so that it is rounded once.
    let lossy = held == DType::F64 || (from.is_int() && from.size_in_bytes() >= 4);
    let single = match held {
        DType::F32 => a.to_owned(),
        _ if lossy => format!("numr_odd_{held}({a})"),
        _ => L::convert(held, DType::F32, a),
    };
    format!("numr_round_{to}({single})")
}

/// The body of the elementary function of this name on a compute dtype.
fn math(name: &str, d: DType) -> Option<Arc<Program>> {
    macro_rules! functions {
        ($($f:ident $F:ident $doc:literal,)*) => {
            match (name, d) {
                $((stringify!($f), DType::F32) => (1, |x| single::$f(x[0])),
                (stringify!($f), DType::F64) => (1, |x| double::$f(x[0])),)*
                ("pow", DType::F32) => (2, |x| single::pow(x[0], x[1])),
                ("pow", DType::F64) => (2, |x| double::pow(x[0], x[1])),
                _ => return None,
            }
        };
    }
    type Function = for<'a, 'b> fn(&'b [Expr<'a>]) -> Expr<'a>;
    let (arity, f): (u8, Function) = crate::elementary!(functions);
    // As in a row of the table, a constant takes the type of what it meets.
    let class = Class::Common { dtypes: DTypeSet::single(d), masks: 0 };
    let graph = expr::folding_in(d, || Graph::build(arity, class, |_, x| vec![f(x)]));
    graph.program(&[ArgType::Tensor(d)].repeat(arity as usize)).ok()
}

/// Definitions, each after those it uses.
#[derive(Clone, Default, Debug)]
struct Functions {
    printed: HashSet<String>,
    text: String,
}

impl Functions {
    /// Adds what the names in `text` stand for.
    fn require<L: Language>(&mut self, text: &str) -> Result<()> {
        for name in names(text) {
            let Some((base, suffix)) = name.rsplit_once('_') else { continue };
            if !self.printed.insert(name.to_owned()) {
                continue;
            }
            let definition = match L::helper(base, suffix) {
                Some(helper) => helper,
                None => match suffix.parse().ok().and_then(|d| Some((d, math(base, d)?))) {
                    Some((d, program)) => {
                        L::function(&format!("numr_{name}"), d, program.args.len(), &body::<L>(&program)?)
                    }
                    None => continue,
                },
            };
            self.require::<L>(&definition)?;
            self.text.push_str(&definition);
            self.text.push('\n');
        }
        Ok(())
    }
}

/// What follows `numr_` in each name of the text.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split("numr_").skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        &rest[..end]
    })
}

/// The pieces of a list with commas between.
fn join(parts: impl IntoIterator<Item = String>, separator: &str) -> String {
    let mut text = String::new();
    for (i, part) in parts.into_iter().enumerate() {
        let _ = write!(text, "{}{part}", if i == 0 { "" } else { separator });
    }
    text
}

/// A constant as a value of the dtype, of a narrow float as one of `f32`.
fn typed(d: DType, lit: Lit) -> Lit {
    crate::dispatch_dtype!(d.compute(), T => <T as Element>::from_lit(lit).to_lit())
}
