//! The symbol: a body run on [`Expr`] writes itself down as a [`super::graph::Graph`].

use super::graph::{Bin, Id, Node, Un};
use super::{Float, Int, Mask, Scalar};
use crate::dtype::DType;
use crate::element::Lit;
use crate::ops::map::Row;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Sub};

/// Where expressions live while they are built; equal nodes are one node.
#[derive(Default)]
pub struct Arena(RefCell<(Vec<Node>, HashMap<Node, Id>)>);

/// A value in an expression under construction.
///
/// A constant needs no arena until it meets something that has one; operations on constants alone are done at once,
/// in `f64`.
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

fn fold_un(u: Un, l: Lit) -> Lit {
    use super::lane::F64;
    let x = F64::<false>(l.to_f64());
    let r = match u {
        Un::Neg => -x,
        Un::Abs => x.abs(),
        Un::Sqrt => x.sqrt(),
        Un::Floor => x.floor(),
        Un::Ceil => x.ceil(),
        Un::Round => x.round(),
        Un::Trunc | Un::ToInt => x.trunc(),
        Un::Exp => x.exp(),
        Un::Expm1 => x.expm1(),
        Un::Ln => x.ln(),
        Un::Log1p => x.log1p(),
        Un::Sin => x.sin(),
        Un::Cos => x.cos(),
        Un::Tanh => x.tanh(),
        Un::Erf => x.erf(),
        Un::FromInt | Un::Real => x,
        Un::Imag => F64(match l {
            Lit::Complex(_, im) => im,
            _ => 0.0,
        }),
        Un::Conj => {
            return match l {
                Lit::Complex(re, im) => Lit::Complex(re, -im),
                real => real,
            };
        }
        Un::Not => {
            return match l {
                Lit::Bool(b) => Lit::Bool(!b),
                l => Lit::Int(!l.to_i64()),
            };
        }
        // The width is not known here; bodies write such constants down instead.
        Un::ToBits | Un::FromBits => unreachable!("bit patterns of constants are written as constants"),
    };
    match l {
        Lit::Int(i) if u == Un::Neg => Lit::Int(i.wrapping_neg()),
        Lit::Int(i) if u == Un::Abs => Lit::Int(i.wrapping_abs()),
        _ => Lit::Float(r.0),
    }
}

fn fold_bin(b: Bin, x: Lit, y: Lit) -> Lit {
    use super::lane::{F64, I64};
    if let (Lit::Int(p), Lit::Int(q)) = (x, y) {
        let (p, q) = (I64(p), I64(q));
        let r = match b {
            Bin::Add => p + q,
            Bin::Sub => p - q,
            Bin::Mul => p * q,
            Bin::Div => p / q,
            Bin::Rem => p % q,
            Bin::Max => p.max(q),
            Bin::Min => p.min(q),
            Bin::Pow => p.pow(q),
            Bin::And => p & q,
            Bin::Or => p | q,
            Bin::Xor => p ^ q,
            Bin::Shl => p.shl(q),
            Bin::Shr => p.shr(q),
            Bin::ShrLogical => p.shr_logical(q),
            Bin::MulHi => p.mul_hi(q),
            Bin::Eq => return Lit::Bool(p.eq(q)),
            Bin::Ne => return Lit::Bool(p.ne(q)),
            Bin::Lt => return Lit::Bool(p.lt(q)),
            Bin::Le => return Lit::Bool(p.le(q)),
            Bin::Complex => return Lit::Complex(x.to_f64(), y.to_f64()),
        };
        return Lit::Int(r.0);
    }
    let truth = |l: Lit| l.to_f64() != 0.0;
    let (p, q) = (F64::<false>(x.to_f64()), F64::<false>(y.to_f64()));
    let r = match b {
        Bin::Add => p + q,
        Bin::Sub => p - q,
        Bin::Mul => p * q,
        Bin::Div => p / q,
        Bin::Rem => p % q,
        Bin::Max => p.max(q),
        Bin::Min => p.min(q),
        Bin::Pow => p.pow(q),
        Bin::And => return Lit::Bool(truth(x) && truth(y)),
        Bin::Or => return Lit::Bool(truth(x) || truth(y)),
        Bin::Xor => return Lit::Bool(truth(x) != truth(y)),
        Bin::Eq => return Lit::Bool(p.eq(q)),
        Bin::Ne => return Lit::Bool(p.ne(q)),
        Bin::Lt => return Lit::Bool(p.lt(q)),
        Bin::Le => return Lit::Bool(p.le(q)),
        Bin::Complex => return Lit::Complex(p.0, q.0),
        Bin::Shl | Bin::Shr | Bin::ShrLogical | Bin::MulHi => unreachable!("bodies use Int for these"),
    };
    Lit::Float(r.0)
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
        match self.arena().or(b.arena()).or(c.arena()) {
            Some(a) => a.node(Node::Fma(a.id(self), a.id(b), a.id(c))),
            None => self * b + c,
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

macro_rules! float {
    ($($f:ident $U:ident),*) => { $(fn $f(self) -> Self {
        self.un(Un::$U)
    })* };
}

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
    float!(sqrt Sqrt, floor Floor, ceil Ceil, round Round, trunc Trunc, exp Exp, expm1 Expm1, ln Ln, log1p Log1p,
        sin Sin, cos Cos, tanh Tanh, erf Erf);
}
