//! The derivative table of the scalar primitives.
//!
//! A derivative is again an expression, so derivatives of every order need nothing more than this file. A zero is
//! known as such (`None`): it is never multiplied out, so `0 · inf` cannot appear.

use super::expr::{Arena, Expr};
use super::graph::{Bin, Graph, Id, Node, Un};
use super::{Float, Function, Scalar};
use crate::element::Lit;
use smallvec::SmallVec;
use std::sync::Arc;

/// ∂root/∂arg for every argument of a graph, each over `[args.., root]`.
pub(crate) fn partials(graph: &Graph) -> Vec<Option<Arc<Graph>>> {
    let n = graph.arity();
    (0..n)
        .map(|wrt| {
            let mut zero = false;
            let d = Graph::build(n as u8 + 1, graph.class(), |arena, args| {
                let value = values(graph, arena, args);
                let seed = |k| (k as usize == wrt).then_some(Expr::lit(1.0));
                let d = slopes(graph, &value, seed)[graph.roots()[0] as usize];
                zero = d.is_none();
                vec![d.unwrap_or(Expr::lit(0.0))]
            });
            (!zero).then_some(d)
        })
        .collect()
}

/// One result of a [`Derivative`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Zero, whatever the operands are.
    Zero,
    /// The k-th of the cotangents or tangents given, as it is.
    Given(u8),
    /// The k-th root of the graph.
    Root(u8),
}

/// A pull-back or push-forward as one expression.
#[derive(Debug)]
pub struct Derivative {
    /// Computes what is neither zero nor handed on.
    pub graph: Arc<Graph>,
    /// What its arguments are: places in `[args.., roots.., given..]`, ascending.
    pub reads: SmallVec<[u8; 4]>,
    /// The results: one an argument (pull-back) or one a root (push-forward).
    pub parts: SmallVec<[Part; 2]>,
}

impl Derivative {
    /// Writes the derivative down; `body` gets `[args.., roots.., given..]` and answers one expression a result.
    fn build<F>(graph: &Graph, given: u64, body: F) -> Derivative
    where
        F: for<'a> FnOnce(&'a Arena, &[Expr<'a>], &[Option<Expr<'a>>]) -> Vec<Option<Expr<'a>>>,
    {
        let first = graph.arity() + graph.roots().len();
        let total = first + given.count_ones() as usize;
        let mut parts = SmallVec::new();
        let (graph, reads) = Graph::build_reading(total as u8, graph.class(), |arena, args| {
            let mut next = args[first..].iter();
            let mut take = |k: u32| if given >> k & 1 == 1 { next.next().copied() } else { None };
            let given: Vec<Option<Expr>> = (0..64 - given.leading_zeros()).map(&mut take).collect();
            let mut roots = Vec::new();
            for e in body(arena, args, &given) {
                parts.push(match e {
                    None => Part::Zero,
                    Some(e) => match args[first..].iter().position(|g| arena.id(*g) == arena.id(e)) {
                        Some(k) => Part::Given(k as u8),
                        None => {
                            roots.push(e);
                            Part::Root(roots.len() as u8 - 1)
                        }
                    },
                });
            }
            roots
        });
        Derivative { graph, reads, parts }
    }
}

/// See [`Graph::vjp`]. A reverse sweep: every node hands its cotangent, times the conjugate of its slope, to its
/// operands.
pub(crate) fn vjp(graph: &Graph, needed: u64, given: u64) -> Derivative {
    Derivative::build(graph, given, |arena, args, given| {
        let value = values(graph, arena, args);
        let mut live: Vec<bool> = Vec::with_capacity(value.len());
        for node in graph.nodes() {
            live.push(match node {
                Node::Arg(k) => needed >> k & 1 == 1,
                node => node.inputs().iter().any(|&a| live[a as usize]),
            });
        }
        let mut cotangent: Vec<Option<Expr>> = vec![None; value.len()];
        for (&root, &g) in graph.roots().iter().zip(given) {
            let at = &mut cotangent[root as usize];
            *at = sum(*at, g);
        }
        let mut out = vec![None; graph.arity()];
        for (i, node) in graph.nodes().iter().enumerate().rev() {
            let Some(g) = cotangent[i].filter(|_| live[i]) else { continue };
            if let Node::Arg(k) = *node {
                out[k as usize] = sum(out[k as usize], Some(g));
                continue;
            }
            let mut operands = node.inputs();
            operands.sort_unstable();
            operands.dedup();
            for a in operands.into_iter().filter(|&a| live[a as usize]) {
                let add = match *node {
                    // Linear over the reals only: each has a transpose of its own.
                    Node::Un(Un::Conj, _) => Some(g.conj()),
                    Node::Un(Un::Real, _) => Some(g.real()),
                    Node::Un(Un::Imag, _) => Some(Expr::lit(0.0).complex(g.real())),
                    Node::Bin(Bin::Complex, re, im) => sum((a == re).then(|| g.real()), (a == im).then(|| g.imag())),
                    Node::Cast(t, _) if t.is_float() => Some(g.real()),
                    Node::Cast(t, _) => t.is_complex().then_some(g),
                    // Chosen, not multiplied by 0 or 1.
                    Node::Select(m, x, y) => {
                        let zero = Expr::lit(0.0);
                        let (x, y) = ((a == x).then_some(g), (a == y).then_some(g));
                        match (x, y) {
                            (None, None) => None,
                            (x, y) => Some(Expr::select(value[m as usize], x.unwrap_or(zero), y.unwrap_or(zero))),
                        }
                    }
                    _ => {
                        let unit = |b| (b == a).then_some(Expr::lit(1.0));
                        step(node, value[i], &value, &unit).map(|slope| mul(conjugate(slope), g))
                    }
                };
                cotangent[a as usize] = sum(cotangent[a as usize], add);
            }
        }
        out
    })
}

/// See [`Graph::jvp`].
pub(crate) fn jvp(graph: &Graph, given: u64) -> Derivative {
    Derivative::build(graph, given, |arena, args, given| {
        let value = values(graph, arena, args);
        let d = slopes(graph, &value, |k| given.get(k as usize).copied().flatten());
        graph.roots().iter().map(|&r| d[r as usize]).collect()
    })
}

/// Every node as an expression. `args` holds the arguments of the graph and then its results, which are at hand: no
/// need to compute them again.
fn values<'a>(graph: &Graph, arena: &'a Arena, args: &[Expr<'a>]) -> Vec<Expr<'a>> {
    let mut value: Vec<Expr<'a>> = Vec::with_capacity(graph.nodes().len());
    for (i, node) in graph.nodes().iter().enumerate() {
        let at = graph.roots().iter().position(|&r| r as usize == i).and_then(|k| args.get(graph.arity() + k));
        value.push(match (node, at) {
            (Node::Arg(_) | Node::Lit(_), _) | (_, None) => rebuild(node, arena, args, &value),
            (_, Some(&known)) => known,
        });
    }
    value
}

/// The slope of every node, where `seed` gives those of the arguments.
fn slopes<'a>(graph: &Graph, value: &[Expr<'a>], seed: impl Fn(u8) -> Option<Expr<'a>>) -> Vec<Option<Expr<'a>>> {
    let mut slope: Vec<Option<Expr<'a>>> = Vec::with_capacity(value.len());
    for (i, node) in graph.nodes().iter().enumerate() {
        slope.push(match *node {
            Node::Arg(k) => seed(k),
            _ => step(node, value[i], value, &|a| slope[a as usize]),
        });
    }
    slope
}

/// The node over the expressions of another arena.
pub(crate) fn rebuild<'a>(node: &Node, arena: &'a Arena, args: &[Expr<'a>], value: &[Expr<'a>]) -> Expr<'a> {
    let v = |a: Id| value[a as usize];
    let id = |a: Id| arena.id(value[a as usize]);
    match *node {
        Node::Arg(k) => args[k as usize],
        Node::Lit(l) => Expr::Lit(l),
        Node::Un(u, a) => arena.node(Node::Un(u, id(a))),
        Node::Bin(b, x, y) => arena.node(Node::Bin(b, id(x), id(y))),
        Node::Fma(x, y, z) => v(x).mul_add(v(y), v(z)),
        Node::Select(x, y, z) => Expr::select(v(x), v(y), v(z)),
        Node::Cast(d, a) => arena.node(Node::Cast(d, id(a))),
        Node::Call(row, a) => {
            let args: Vec<Expr<'a>> = a[..row.arity()].iter().map(|&a| v(a)).collect();
            Expr::call(row, &args)
        }
        leaf @ (Node::Coord(_) | Node::Index) => arena.node(leaf),
    }
}

/// The slope `g` of x carried through an elementary function; `y` is its value at x.
fn slope<'a>(f: Function, g: Expr<'a>, x: Expr<'a>, y: Expr<'a>) -> Expr<'a> {
    use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10};
    let gauss = || FRAC_2_SQRT_PI * (-(x * x)).exp();
    match f {
        Function::Exp => mul(g, y),
        Function::Expm1 => mul(g, y + 1.0),
        Function::Exp2 => mul(g, LN_2 * y),
        Function::Ln => g / x,
        Function::Log1p => g / (x + 1.0),
        Function::Log2 => g / (LN_2 * x),
        Function::Log10 => g / (LN_10 * x),
        Function::Sin => mul(g, x.cos()),
        Function::Cos => -mul(g, x.sin()),
        Function::Tan => mul(g, y * y + 1.0),
        // (1 - x)·(1 + x) does not cancel as 1 - x² does.
        Function::Asin => g / ((1.0 - x) * (x + 1.0)).sqrt(),
        Function::Acos => -(g / ((1.0 - x) * (x + 1.0)).sqrt()),
        Function::Atan => g / (x * x + 1.0),
        Function::Sinh => mul(g, x.cosh()),
        Function::Cosh => mul(g, x.sinh()),
        Function::Tanh => mul(g, 1.0 - y * y),
        Function::Asinh => g / (x * x + 1.0).sqrt(),
        Function::Acosh => g / ((x - 1.0).sqrt() * (x + 1.0).sqrt()),
        Function::Atanh => g / ((1.0 - x) * (x + 1.0)),
        Function::Cbrt => g / (3.0 * (y * y)),
        Function::Erf => mul(g, gauss()),
        Function::Erfc => -mul(g, gauss()),
    }
}

/// The slope of one node from the slopes of its operands; `e` is the node itself.
fn step<'a>(node: &Node, e: Expr<'a>, value: &[Expr<'a>], d: &dyn Fn(Id) -> Option<Expr<'a>>) -> Option<Expr<'a>> {
    let v = |a: Id| value[a as usize];
    let lit = Expr::lit;
    match *node {
        Node::Arg(_) | Node::Lit(_) | Node::Coord(_) | Node::Index => None,
        Node::Cast(t, a) => {
            if t.is_float() || t.is_complex() {
                d(a).map(|g| g.cast(t))
            } else {
                None
            }
        }
        Node::Fma(x, y, z) => sum(sum(times(d(x), v(y)), times(d(y), v(x))), d(z)),
        Node::Select(m, x, y) => match (d(x), d(y)) {
            (None, None) => None,
            (x, y) => Some(Expr::select(v(m), x.unwrap_or(lit(0.0)), y.unwrap_or(lit(0.0)))),
        },
        Node::Un(u, a) => {
            let (g, x) = (d(a)?, v(a));
            Some(match u {
                Un::Neg => -g,
                Un::Keep => g,
                // The subgradient 0 at the kink.
                Un::Abs => {
                    mul(g, Expr::select(x.lt(lit(0.0)), lit(-1.0), Expr::select(lit(0.0).lt(x), lit(1.0), x * 0.0)))
                }
                Un::Sqrt => mul(g, 0.5 / e),
                Un::Math(f) => slope(f, g, x, e),
                Un::Conj => g.conj(),
                Un::Real => g.real(),
                Un::Imag => g.imag(),
                Un::FromInt => g,
                Un::Floor | Un::Ceil | Un::Round | Un::Trunc | Un::Not | Un::ToBits | Un::FromBits | Un::ToInt => {
                    return None;
                }
            })
        }
        Node::Bin(b, p, q) => {
            let (x, y) = (v(p), v(q));
            match b {
                Bin::Add => sum(d(p), d(q)),
                Bin::Sub => sum(d(p), d(q).map(|g| -g)),
                Bin::Mul => sum(times(d(p), y), times(d(q), x)),
                Bin::Div => sum(d(p).map(|g| g / y), d(q).map(|g| -(mul(g, e) / y))),
                Bin::Rem => sum(d(p), d(q).map(|g| -mul(g, (x / y).trunc()))),
                // Ties share the slope, as in PyTorch.
                Bin::Max => sum(times(d(p), share(y, x)), times(d(q), share(x, y))),
                Bin::Min => sum(times(d(p), share(x, y)), times(d(q), share(y, x))),
                Bin::Pow => {
                    // y·x^(y-1), which is 0 for y = 0 even where x^(y-1) is infinite; ln x·x^y, which is 0 for x = 0
                    // and y > 0 (and for y = 0, where 0^y is taken as the constant 1).
                    let base = Expr::select(y.eq(lit(0.0)), lit(0.0), y * x.pow(y - 1.0));
                    let exponent = Expr::select(x.eq(lit(0.0)) & lit(0.0).le(y.real()), lit(0.0), e * x.ln());
                    sum(times(d(p), base), times(d(q), exponent))
                }
                Bin::Complex => match (d(p), d(q)) {
                    (None, None) => None,
                    (re, im) => Some(re.unwrap_or(lit(0.0)).complex(im.unwrap_or(lit(0.0)))),
                },
                Bin::And | Bin::Or | Bin::Xor | Bin::Shl | Bin::Shr | Bin::ShrLogical | Bin::MulHi => None,
                Bin::Eq | Bin::Ne | Bin::Lt | Bin::Le => None,
            }
        }
        Node::Call(row, a) => {
            let n = row.arity();
            let args: Vec<Expr<'a>> = a[..n].iter().map(|&a| v(a)).collect();
            let mut total = None;
            for (&k, p) in a[..n].iter().zip(row.slopes(&args, e)) {
                if let (Some(g), Some(p)) = (d(k), p) {
                    total = sum(total, Some(mul(g, p)));
                }
            }
            total
        }
    }
}

/// 1 where `low < high`, ½ on a tie, else 0.
fn share<'a>(low: Expr<'a>, high: Expr<'a>) -> Expr<'a> {
    let lit = Expr::lit;
    Expr::select(low.lt(high), lit(1.0), Expr::select(low.eq(high), lit(0.5), lit(0.0)))
}

fn sum<'a>(a: Option<Expr<'a>>, b: Option<Expr<'a>>) -> Option<Expr<'a>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}

fn times<'a>(g: Option<Expr<'a>>, k: Expr<'a>) -> Option<Expr<'a>> {
    g.map(|g| mul(g, k))
}

/// The conjugate; a choice stays one.
fn conjugate<'a>(e: Expr<'a>) -> Expr<'a> {
    match e.selected() {
        Some((m, a, b)) => Expr::select(m, conjugate(a), conjugate(b)),
        None => e.conj(),
    }
}

/// `g · k`; a factor of 1 or -1 is not multiplied out, nor one that is 0 where a mask says so: `0 · inf` is NaN.
fn mul<'a>(g: Expr<'a>, k: Expr<'a>) -> Expr<'a> {
    let is = |e: Expr<'a>, c: f64| matches!(e, Expr::Lit(l) if l == Lit::Float(c));
    if is(g, 1.0) {
        return k;
    }
    if is(k, 1.0) {
        return g;
    }
    if is(g, -1.0) {
        return -k;
    }
    if is(k, -1.0) {
        return -g;
    }
    for (k, g) in [(k, g), (g, k)] {
        if let Some((m, a, b)) = k.selected()
            && (is(a, 0.0) || is(b, 0.0))
        {
            let part = |e| if is(e, 0.0) { e } else { mul(g, e) };
            return Expr::select(m, part(a), part(b));
        }
    }
    g * k
}
