//! Running folds.
//!
//! The derivative of a running product is a linear recurrence, D_k = a_k · D_(k-1) + b_k. It is solved by doubling:
//! log2 n steps of plain products and sums, right where factors are zero, and differentiable again.

use super::Local;
use super::index::{gather, scatter_zeros};
use super::map::conj;
use super::view::{concat, narrow};
use numr_core::prim::{Bind, Map, MapOp, Prim, Scan, ScanOp};
use numr_core::scalar::expr::Expr;
use numr_core::scalar::graph::{Class, Graph};
use numr_core::scalar::{Int, Scalar};
use numr_core::{Result, Runtime, Tensor};
use smallvec::smallvec;

pub(crate) fn scan<S: Runtime>(
    t: &Tensor<S>,
    op: ScanOp,
    axis: usize,
    reverse: bool,
    exclusive: bool,
) -> Result<Tensor<S>> {
    Tensor::run_one(&Prim::Scan(Scan { op, axis, reverse, exclusive }), &[t])
}

pub(crate) fn vjp<S: Runtime>(local: &Local<S>, s: &Scan, g: &Tensor<S>) -> Result<Tensor<S>> {
    let (axis, back) = (s.axis, !s.reverse);
    if s.op == ScanOp::Sum {
        return scan(g, ScanOp::Sum, axis, back, s.exclusive);
    }
    let x = local.input(0)?;
    // An exclusive scan is the inclusive one, moved on by one.
    let g = if s.exclusive { &moved(g, axis, back, 0)? } else { g };
    match s.op {
        ScanOp::Sum => Ok(g.clone()),
        ScanOp::Prod => {
            let x = conj(x)?;
            let before = scan(&x, ScanOp::Prod, axis, s.reverse, true)?;
            let after = recurrence(moved(&x, axis, back, 0)?, g.clone(), axis, back)?;
            before.mul(&after)
        }
        ScanOp::Max | ScanOp::Min => scatter_zeros(x.layout().shape(), axis, &choice(x, s)?, g),
    }
}

pub(crate) fn jvp<S: Runtime>(s: &Scan, x: &Tensor<S>, t: &Tensor<S>) -> Result<Tensor<S>> {
    let axis = s.axis;
    let inclusive = match s.op {
        ScanOp::Sum => return scan(t, ScanOp::Sum, axis, s.reverse, s.exclusive),
        ScanOp::Prod => {
            let before = scan(x, ScanOp::Prod, axis, s.reverse, true)?;
            recurrence(x.clone(), t.mul(&before)?, axis, s.reverse)?
        }
        ScanOp::Max | ScanOp::Min => gather(t, axis, &choice(x, s)?)?,
    };
    if s.exclusive { moved(&inclusive, axis, s.reverse, 0) } else { Ok(inclusive) }
}

/// Moved on along the axis by one, or back if `reverse`; `fill` comes in.
fn moved<S: Runtime>(t: &Tensor<S>, axis: usize, reverse: bool, fill: i64) -> Result<Tensor<S>> {
    let n = t.shape()[axis];
    if n == 0 {
        return Ok(t.clone());
    }
    let mut edge = t.layout().shape().clone();
    edge[axis] = 1;
    let edge = Tensor::try_full(&edge, fill, t.dtype(), t.device())?;
    match reverse {
        false => concat(axis, &[&edge, &narrow(t, axis, 0, n - 1)?]),
        true => concat(axis, &[&narrow(t, axis, 1, n - 1)?, &edge]),
    }
}

/// D_k = a_k · D_(k-1) + b_k with D_(-1) = 0, from the end if `reverse`.
pub(crate) fn recurrence<S: Runtime>(
    mut a: Tensor<S>,
    mut b: Tensor<S>,
    axis: usize,
    reverse: bool,
) -> Result<Tensor<S>> {
    let n = b.shape()[axis];
    let mut d = 1;
    while d < n {
        // Element k stands for the d steps up to k; each swallows the d steps before.
        let (head, tail, prior) =
            if reverse { ((n - d, d), (0, n - d), (d, n - d)) } else { ((0, d), (d, n - d), (0, n - d)) };
        let part = |t: &Tensor<S>, (start, len)| narrow(t, axis, start, len);
        let join = |head: Tensor<S>, tail: Tensor<S>| match reverse {
            true => concat(axis, &[&tail, &head]),
            false => concat(axis, &[&head, &tail]),
        };
        let factor = part(&a, tail)?;
        b = join(part(&b, head)?, factor.mul(&part(&b, prior)?)?.add(&part(&b, tail)?)?)?;
        if 2 * d < n {
            a = join(part(&a, head)?, factor.mul(&part(&a, prior)?)?)?;
        }
        d *= 2;
    }
    Ok(b)
}

/// Where along the axis each running maximum (minimum) stands: the latest place of equals, as PyTorch has it.
fn choice<S: Runtime>(x: &Tensor<S>, s: &Scan) -> Result<Tensor<S>> {
    let x = &S::detach(x);
    let y = scan(x, s.op, s.axis, s.reverse, false)?;
    let (axis, last) = (s.axis as u8, x.shape()[s.axis] as i64);
    let graph = Graph::build(2, Class::Free, |arena, a| {
        let hit = a[0].eq(a[1]) | a[0].ne(a[0]);
        vec![Expr::select(hit, arena.coord(axis), Expr::int(if s.reverse { last } else { 0 }))]
    });
    let binds = smallvec![Bind::Input; 2];
    let at = Tensor::run_one(&Prim::Map(Map { op: MapOp::Graph(graph), binds, create: None }), &[x, &y])?;
    scan(&at, if s.reverse { ScanOp::Min } else { ScanOp::Max }, s.axis, s.reverse, false)
}
