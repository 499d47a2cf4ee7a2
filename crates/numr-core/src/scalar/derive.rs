//! The derivative table of the scalar primitives.
//!
//! A derivative is again an expression, so derivatives of every order need nothing more than this file. A zero is
//! known as such (`None`): it is never multiplied out, so `0 · inf` cannot appear.

use super::expr::{Arena, Expr};
use super::graph::{Bin, Graph, Id, Node, Un};
use super::{Float, Scalar};
use std::sync::Arc;

/// ∂root/∂arg for every argument of a graph, each over `[args.., root]`.
pub(crate) fn partials(graph: &Graph) -> Vec<Option<Arc<Graph>>> {
    let n = graph.arity();
    (0..n)
        .map(|wrt| {
            let mut zero = false;
            let d = Graph::build(n as u8 + 1, graph.class(), |arena, args| {
                let d = derivative(graph, wrt as u8, arena, args);
                zero = d.is_none();
                vec![d.unwrap_or(Expr::lit(0.0))]
            });
            (!zero).then_some(d)
        })
        .collect()
}

/// The arguments of the mask whose slope is not zero everywhere, and their slopes.
fn nonzero(graph: &Graph, mask: u32) -> Vec<(usize, &Arc<Graph>)> {
    let slopes = graph.partials().iter().enumerate();
    slopes.filter(|(k, _)| mask >> k & 1 == 1).filter_map(|(k, p)| Some((k, p.as_ref()?))).collect()
}

fn mask(slopes: &[(usize, &Arc<Graph>)]) -> u32 {
    slopes.iter().map(|(k, _)| 1 << k).sum()
}

/// See [`Graph::vjp`].
pub(crate) fn vjp(graph: &Graph, needed: u32) -> (Arc<Graph>, u32) {
    let n = graph.arity();
    let slopes = nonzero(graph, needed);
    let pull = Graph::build(n as u8 + 2, graph.class(), |arena, args| {
        slopes.iter().flat_map(|(_, p)| p.inline(arena, &args[..=n])).map(|d| mul(d.conj(), args[n + 1])).collect()
    });
    (pull, mask(&slopes))
}

/// See [`Graph::jvp`].
pub(crate) fn jvp(graph: &Graph, given: u32) -> (Arc<Graph>, u32) {
    let n = graph.arity();
    let slopes = nonzero(graph, given);
    let push = Graph::build((n + 1 + slopes.len()) as u8, graph.class(), |arena, args| {
        let terms = slopes.iter().zip(&args[n + 1..]);
        let products = terms.flat_map(|((_, p), &t)| p.inline(arena, &args[..=n]).into_iter().map(move |d| mul(d, t)));
        products.reduce(|a, b| a + b).into_iter().collect()
    });
    (push, mask(&slopes))
}

/// `args` holds the arguments of the graph and, last, its result.
fn derivative<'a>(graph: &Graph, wrt: u8, arena: &'a Arena, args: &[Expr<'a>]) -> Option<Expr<'a>> {
    let root = *graph.roots().first()?;
    let mut value: Vec<Expr<'a>> = Vec::with_capacity(graph.nodes().len());
    let mut slope: Vec<Option<Expr<'a>>> = Vec::with_capacity(graph.nodes().len());
    for (i, node) in graph.nodes().iter().enumerate() {
        // The result is at hand as the last argument: no need to compute it again.
        let v = if i as Id == root && !matches!(node, Node::Arg(_) | Node::Lit(_)) {
            args[graph.arity()]
        } else {
            rebuild(node, arena, args, &value)
        };
        slope.push(step(node, v, wrt, &value, &slope));
        value.push(v);
    }
    slope[root as usize]
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

/// The slope of one node from the slopes of its operands; `e` is the node itself.
fn step<'a>(node: &Node, e: Expr<'a>, wrt: u8, value: &[Expr<'a>], slope: &[Option<Expr<'a>>]) -> Option<Expr<'a>> {
    let v = |a: Id| value[a as usize];
    let d = |a: Id| slope[a as usize];
    let lit = Expr::lit;
    match *node {
        Node::Arg(k) => (k == wrt).then(|| lit(1.0)),
        Node::Lit(_) | Node::Coord(_) | Node::Index => None,
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
                // The subgradient 0 at the kink.
                Un::Abs => {
                    mul(g, Expr::select(x.lt(lit(0.0)), lit(-1.0), Expr::select(lit(0.0).lt(x), lit(1.0), x * 0.0)))
                }
                Un::Sqrt => mul(g, 0.5 / e),
                Un::Exp => mul(g, e),
                Un::Expm1 => mul(g, e + 1.0),
                Un::Ln => g / x,
                Un::Log1p => g / (x + 1.0),
                Un::Sin => mul(g, x.cos()),
                Un::Cos => -mul(g, x.sin()),
                Un::Tanh => mul(g, 1.0 - e * e),
                Un::Erf => mul(g, std::f64::consts::FRAC_2_SQRT_PI * (-(x * x)).exp()),
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
                    let exponent = Expr::select(x.eq(lit(0.0)) & lit(0.0).le(y), lit(0.0), e * x.ln());
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

/// `g · k`; a slope of 1 is not multiplied out.
fn mul<'a>(g: Expr<'a>, k: Expr<'a>) -> Expr<'a> {
    match g {
        Expr::Lit(l) if l.to_f64() == 1.0 => k,
        _ => g * k,
    }
}
