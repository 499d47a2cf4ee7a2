//! The symbol: a body run on [`Expr`] writes itself down as a [`super::graph::Graph`].

use super::graph::{Bin, Id, Node, Un};
use super::lane::{F32, F64, I32, I64};
use super::{Float, Function, Int, Mask, Scalar};
use crate::dtype::DType;
use crate::element::Lit;
use crate::ops::map::Row;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Sub};

/// Where expressions live while they are built; equal nodes are one node.
#[derive(Default)]
pub struct Arena(RefCell<(Vec<Node>, HashMap<Node, Id>)>);

/// A value in an expression under construction.
///
/// A constant needs no arena until it meets something that has one; operations on constants alone are done at once,
/// in `f64` unless the body is made for one dtype.
#[derive(Clone, Copy)]
pub enum Expr<'a> {
    /// A constant.
    Lit(Lit),
    /// A node of an arena.
    Node(&'a Arena, Id),
}

impl Arena {
    /// The expression of a node; its operands must be of this arena.
    pub fn node(&self, node: Node) -> Expr<'_> {
        let (nodes, memo) = &mut *self.0.borrow_mut();
        let id = *memo.entry(node).or_insert_with(|| {
            nodes.push(node);
            (nodes.len() - 1) as Id
        });
        Expr::Node(self, id)
    }

    /// The k-th argument.
    pub fn arg(&self, k: u8) -> Expr<'_> {
        self.node(Node::Arg(k))
    }

    /// The element's coordinate along an axis of the output, as i64.
    pub fn coord(&self, axis: u8) -> Expr<'_> {
        self.node(Node::Coord(axis))
    }

    /// The element's row-major index in the output, as i64.
    pub fn index(&self) -> Expr<'_> {
        self.node(Node::Index)
    }

    /// A constant as a node.
    pub fn lit(&self, l: Lit) -> Expr<'_> {
        self.node(Node::Lit(l))
    }

    pub(crate) fn id(&self, e: Expr<'_>) -> Id {
        match e {
            Expr::Node(_, id) => id,
            Expr::Lit(l) => match self.node(Node::Lit(l)) {
                Expr::Node(_, id) => id,
                Expr::Lit(_) => unreachable!("a node is a node"),
            },
        }
    }

    pub(crate) fn into_nodes(self) -> Vec<Node> {
        self.0.into_inner().0
    }
}

impl<'a> Expr<'a> {
    fn arena(self) -> Option<&'a Arena> {
        match self {
            Expr::Node(a, _) => Some(a),
            Expr::Lit(_) => None,
        }
    }

    /// Mask and choices, if it is a choice. A constant among them is given as such.
    pub(crate) fn selected(self) -> Option<(Self, Self, Self)> {
        let Expr::Node(arena, id) = self else { return None };
        let nodes = &arena.0.borrow().0;
        let Node::Select(m, a, b) = nodes[id as usize] else { return None };
        let at = |id: Id| match nodes[id as usize] {
            Node::Lit(l) => Expr::Lit(l),
            _ => Expr::Node(arena, id),
        };
        Some((at(m), at(a), at(b)))
    }

    fn un(self, u: Un) -> Self {
        match self {
            Expr::Node(a, id) => a.node(Node::Un(u, id)),
            Expr::Lit(l) => Expr::Lit(fold_un(u, l)),
        }
    }

    fn bin(self, b: Bin, o: Self) -> Self {
        match (self, o) {
            (Expr::Lit(x), Expr::Lit(y)) => Expr::Lit(fold_bin(b, x, y)),
            _ => match self.arena().or(o.arena()) {
                Some(a) => a.node(Node::Bin(b, a.id(self), a.id(o))),
                None => unreachable!("one of them is a node"),
            },
        }
    }

    /// Conversion to a dtype.
    pub fn cast(self, dtype: DType) -> Self {
        match self {
            Expr::Node(a, id) => a.node(Node::Cast(dtype, id)),
            lit => lit,
        }
    }

    /// The complex conjugate; the identity on real numbers.
    pub fn conj(self) -> Self {
        self.un(Un::Conj)
    }

    /// The real part.
    pub fn real(self) -> Self {
        self.un(Un::Real)
    }

    /// The imaginary part; 0 on real numbers.
    pub fn imag(self) -> Self {
        self.un(Un::Imag)
    }

    /// The complex number `self + i·im`.
    pub fn complex(self, im: Self) -> Self {
        self.bin(Bin::Complex, im)
    }

    /// A row of the op table on these arguments, with its stated derivative. `args` must be `row.arity()` long.
    pub fn call(row: Row, args: &[Self]) -> Self {
        match args.iter().find_map(|a| a.arena()) {
            Some(a) => a.node(Node::Call(row, std::array::from_fn(|k| args.get(k).map_or(0, |&e| a.id(e))))),
            None => row.expand(args),
        }
    }
}

thread_local! {
    /// The type in which constants are folded.
    static WIDTH: Cell<DType> = const { Cell::new(DType::F64) };
}

/// Runs a body that is made for this compute dtype (`F32` or `F64`): its constants, alone, are computed in it as the
/// lanes would, and may be taken apart into bits.
pub(crate) fn folding_in<T>(dtype: DType, body: impl FnOnce() -> T) -> T {
    let before = WIDTH.replace(dtype);
    let answer = body();
    WIDTH.set(before);
    answer
}

/// A lane that folds constants.
trait Fold: Float<Mask = bool> {
    fn value(self) -> f64;
    fn whole(i: Self::Bits) -> i64;
}

impl Fold for F32<true> {
    fn value(self) -> f64 {
        self.0.into()
    }
    fn whole(i: I32) -> i64 {
        i.0.into()
    }
}

impl Fold for F64<true> {
    fn value(self) -> f64 {
        self.0
    }
    fn whole(i: I64) -> i64 {
        i.0
    }
}

fn fold_un(u: Un, l: Lit) -> Lit {
    if WIDTH.get() == DType::F32 { fold_un_in::<F32<true>>(u, l) } else { fold_un_in::<F64<true>>(u, l) }
}

fn fold_bin(b: Bin, x: Lit, y: Lit) -> Lit {
    if WIDTH.get() == DType::F32 { fold_bin_in::<F32<true>>(b, x, y) } else { fold_bin_in::<F64<true>>(b, x, y) }
}

fn fold_un_in<F: Fold>(u: Un, l: Lit) -> Lit {
    let (x, i) = (F::lit(l.to_f64()), F::Bits::int(l.to_i64()));
    let whole = |i| Lit::Int(F::whole(i));
    let r = match (u, l) {
        (Un::Neg, Lit::Int(_)) => return whole(-i),
        (Un::Abs, Lit::Int(_)) => return whole(i.abs()),
        (Un::Not, Lit::Bool(b)) => return Lit::Bool(!b),
        (Un::Conj, Lit::Complex(re, im)) => return Lit::Complex(re, -im),
        (Un::Imag, Lit::Complex(_, im)) => return Lit::Float(im),
        (Un::Imag, _) => return Lit::Float(0.0),
        (Un::Conj, real) => return real,
        (Un::Not, _) => return whole(!i),
        (Un::ToBits, _) => return whole(x.to_bits()),
        (Un::ToInt, _) => return whole(x.to_int()),
        (Un::FromBits, _) => F::from_bits(i),
        (Un::FromInt, _) => F::from_int(i),
        (Un::Real | Un::Keep, _) => x,
        (Un::Neg, _) => -x,
        (Un::Abs, _) => x.abs(),
        (Un::Sqrt, _) => x.sqrt(),
        (Un::Floor, _) => x.floor(),
        (Un::Ceil, _) => x.ceil(),
        (Un::Round, _) => x.round(),
        (Un::Trunc, _) => x.trunc(),
        (Un::Math(f), _) => f.of(x),
    };
    Lit::Float(r.value())
}

fn fold_bin_in<F: Fold>(b: Bin, x: Lit, y: Lit) -> Lit {
    let truth = |l: Lit| !l.is_zero();
    let both_whole = matches!((x, y), (Lit::Int(_), Lit::Int(_)));
    let (i, j) = (F::Bits::int(x.to_i64()), F::Bits::int(y.to_i64()));
    let (p, q) = (F::lit(x.to_f64()), F::lit(y.to_f64()));
    macro_rules! both {
        ($f:expr) => {
            if both_whole { Lit::Int(F::whole($f(i, j))) } else { Lit::Float($f(p, q).value()) }
        };
    }
    macro_rules! compare {
        ($f:ident) => {
            Lit::Bool(if both_whole { i.$f(j) } else { p.$f(q) })
        };
    }
    let whole = |i| Lit::Int(F::whole(i));
    match b {
        Bin::Add => both!(|a, b| a + b),
        Bin::Sub => both!(|a, b| a - b),
        Bin::Mul => both!(|a, b| a * b),
        Bin::Div => both!(|a, b| a / b),
        Bin::Rem => both!(|a, b| a % b),
        Bin::Max => both!(Scalar::max),
        Bin::Min => both!(Scalar::min),
        Bin::Pow => both!(Scalar::pow),
        Bin::Eq => compare!(eq),
        Bin::Ne => compare!(ne),
        Bin::Lt => compare!(lt),
        Bin::Le => compare!(le),
        Bin::And if both_whole => whole(i & j),
        Bin::Or if both_whole => whole(i | j),
        Bin::Xor if both_whole => whole(i ^ j),
        Bin::And => Lit::Bool(truth(x) && truth(y)),
        Bin::Or => Lit::Bool(truth(x) || truth(y)),
        Bin::Xor => Lit::Bool(truth(x) != truth(y)),
        Bin::Shl => whole(i.shl(j)),
        Bin::Shr => whole(i.shr(j)),
        Bin::ShrLogical => whole(i.shr_logical(j)),
        Bin::MulHi => whole(i.mul_hi(j)),
        Bin::Complex => Lit::Complex(p.value(), q.value()),
    }
}

fn fold_fma(a: Lit, b: Lit, c: Lit) -> Lit {
    fn fused<F: Fold>([a, b, c]: [Lit; 3]) -> Lit {
        Lit::Float(F::lit(a.to_f64()).mul_add(F::lit(b.to_f64()), F::lit(c.to_f64())).value())
    }
    match (a, b, c) {
        (Lit::Int(_), Lit::Int(_), Lit::Int(_)) => fold_bin(Bin::Add, fold_bin(Bin::Mul, a, b), c),
        _ if WIDTH.get() == DType::F32 => fused::<F32<true>>([a, b, c]),
        _ => fused::<F64<true>>([a, b, c]),
    }
}

macro_rules! operators {
    ($($T:ident $t:ident $B:ident;)*) => { $(
        impl<'a> $T for Expr<'a> {
            type Output = Self;
            fn $t(self, o: Self) -> Self {
                self.bin(Bin::$B, o)
            }
        }
        impl<'a> $T<f64> for Expr<'a> {
            type Output = Self;
            fn $t(self, o: f64) -> Self {
                self.bin(Bin::$B, Self::lit(o))
            }
        }
        impl<'a> $T<Expr<'a>> for f64 {
            type Output = Expr<'a>;
            fn $t(self, o: Expr<'a>) -> Expr<'a> {
                Expr::lit(self).bin(Bin::$B, o)
            }
        }
    )* };
}

operators! {
    Add add Add; Sub sub Sub; Mul mul Mul; Div div Div; Rem rem Rem;
    BitAnd bitand And; BitOr bitor Or; BitXor bitxor Xor;
}

impl Neg for Expr<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        self.un(Un::Neg)
    }
}

impl Not for Expr<'_> {
    type Output = Self;
    fn not(self) -> Self {
        self.un(Un::Not)
    }
}

impl Mask for Expr<'_> {}

impl Scalar for Expr<'_> {
    type Mask = Self;
    fn lit(v: f64) -> Self {
        Expr::Lit(Lit::Float(v))
    }
    fn mul_add(self, b: Self, c: Self) -> Self {
        match (self, b, c) {
            (Expr::Lit(x), Expr::Lit(y), Expr::Lit(z)) => Expr::Lit(fold_fma(x, y, z)),
            _ => match self.arena().or(b.arena()).or(c.arena()) {
                Some(a) => a.node(Node::Fma(a.id(self), a.id(b), a.id(c))),
                None => unreachable!("one of them is a node"),
            },
        }
    }
    fn abs(self) -> Self {
        self.un(Un::Abs)
    }
    fn max(self, o: Self) -> Self {
        self.bin(Bin::Max, o)
    }
    fn min(self, o: Self) -> Self {
        self.bin(Bin::Min, o)
    }
    fn eq(self, o: Self) -> Self {
        self.bin(Bin::Eq, o)
    }
    fn ne(self, o: Self) -> Self {
        self.bin(Bin::Ne, o)
    }
    fn lt(self, o: Self) -> Self {
        self.bin(Bin::Lt, o)
    }
    fn le(self, o: Self) -> Self {
        self.bin(Bin::Le, o)
    }
    fn select(m: Self, a: Self, b: Self) -> Self {
        match m.arena().or(a.arena()).or(b.arena()) {
            Some(x) => x.node(Node::Select(x.id(m), x.id(a), x.id(b))),
            None => match m {
                Expr::Lit(l) if l.to_f64() != 0.0 => a,
                _ => b,
            },
        }
    }
    fn pow(self, o: Self) -> Self {
        self.bin(Bin::Pow, o)
    }
}

impl Int for Expr<'_> {
    fn int(v: i64) -> Self {
        Expr::Lit(Lit::Int(v))
    }
    fn shl(self, n: Self) -> Self {
        self.bin(Bin::Shl, n)
    }
    fn shr(self, n: Self) -> Self {
        self.bin(Bin::Shr, n)
    }
    fn shr_logical(self, n: Self) -> Self {
        self.bin(Bin::ShrLogical, n)
    }
    fn mul_hi(self, o: Self) -> Self {
        self.bin(Bin::MulHi, o)
    }
}

macro_rules! functions {
    ($($f:ident $F:ident $doc:literal,)*) => {
        impl Float for Expr<'_> {
            type Bits = Self;
            fn to_bits(self) -> Self {
                self.un(Un::ToBits)
            }
            fn from_bits(bits: Self) -> Self {
                bits.un(Un::FromBits)
            }
            fn to_int(self) -> Self {
                self.un(Un::ToInt)
            }
            fn from_int(i: Self) -> Self {
                i.un(Un::FromInt)
            }
            fn keep(self) -> Self {
                self.un(Un::Keep)
            }
            fn sqrt(self) -> Self {
                self.un(Un::Sqrt)
            }
            fn floor(self) -> Self {
                self.un(Un::Floor)
            }
            fn ceil(self) -> Self {
                self.un(Un::Ceil)
            }
            fn round(self) -> Self {
                self.un(Un::Round)
            }
            fn trunc(self) -> Self {
                self.un(Un::Trunc)
            }
            $(fn $f(self) -> Self {
                self.un(Un::Math(Function::$F))
            })*
        }
    };
}
crate::elementary!(functions);
