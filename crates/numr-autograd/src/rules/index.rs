//! Gathers and scatters, each the transpose of the other.

use super::map::{chosen, conj, only};
use super::scan::recurrence;
use super::view::{concat, narrow};
use super::{Grads, Local};
use numr_core::prim::{Prim, ScatterOp};
use numr_core::{DType, Result, Runtime, Tensor};
use smallvec::smallvec;

pub(crate) fn gather<S: Runtime>(t: &Tensor<S>, axis: usize, index: &Tensor<S>) -> Result<Tensor<S>> {
    Tensor::run_one(&Prim::Gather { axis }, &[t, index])
}

pub(crate) fn scatter<S: Runtime>(
    base: &Tensor<S>,
    axis: usize,
    index: &Tensor<S>,
    src: &Tensor<S>,
    op: ScatterOp,
) -> Result<Tensor<S>> {
    Tensor::run_one(&Prim::Scatter { axis, op }, &[base, index, src])
}

/// Adds up `src` where the indices say, from zeros of this shape.
pub(crate) fn scatter_zeros<S: Runtime>(
    shape: &[usize],
    axis: usize,
    index: &Tensor<S>,
    src: &Tensor<S>,
) -> Result<Tensor<S>> {
    let base = Tensor::try_zeros(shape, src.dtype(), src.device())?;
    scatter(&base, axis, index, src, ScatterOp::Add)
}

pub(crate) fn scatter_vjp<S: Runtime>(
    local: &Local<S>,
    axis: usize,
    op: ScatterOp,
    g: &Tensor<S>,
    needed: &[bool],
) -> Result<Grads<S>> {
    let index = local.input(1)?;
    let mut grads: Grads<S> = smallvec![None, None, None];
    match op {
        ScatterOp::Set => {
            if needed[0] {
                let zeros = Tensor::try_zeros(index.shape(), g.dtype(), g.device())?;
                grads[0] = Some(scatter(g, axis, index, &zeros, op)?);
            }
            if needed[2] {
                grads[2] = Some(only(&stays(g.shape(), axis, index)?, &gather(g, axis, index)?)?);
            }
        }
        ScatterOp::Add => {
            grads[0] = needed[0].then(|| g.clone());
            grads[2] = needed[2].then(|| gather(g, axis, index)).transpose()?;
        }
        ScatterOp::Mul => {
            let (base, src) = (local.input(0)?, local.input(2)?);
            if needed[0] {
                grads[0] = Some(conj(&scatter(&base.ones_like()?, axis, index, src, op)?)?.mul(g)?);
            }
            if needed[2] {
                let at = gather(&conj(base)?.mul(g)?, axis, index)?;
                grads[2] = Some(conj(&product_of_rivals(base.shape(), axis, index, src)?)?.mul(&at)?);
            }
        }
        ScatterOp::Min | ScatterOp::Max => {
            let (base, src) = (local.input(0)?, local.input(2)?);
            let ties = Ties::new(axis, index, base, src, local.output(0)?)?;
            let g = g.div(&ties.count)?;
            grads[0] = needed[0].then(|| only(&ties.base, &g)).transpose()?;
            grads[2] = needed[2].then(|| only(&ties.src, &gather(&g, axis, index)?)).transpose()?;
        }
    }
    Ok(grads)
}

pub(crate) fn scatter_jvp<S: Runtime>(
    axis: usize,
    op: ScatterOp,
    inputs: &[&Tensor<S>],
    y: &Tensor<S>,
    ts: &[Option<&Tensor<S>>],
) -> Result<Tensor<S>> {
    let &[base, index, src] = inputs else { return y.zeros_like() };
    let full = |k: usize| ts[k].map_or_else(|| inputs[k].zeros_like(), |t| Ok(t.clone()));
    let (tb, ts) = (full(0)?, full(2)?);
    match op {
        ScatterOp::Set | ScatterOp::Add => scatter(&tb, axis, index, &ts, op),
        ScatterOp::Mul => {
            let all = scatter(&base.ones_like()?, axis, index, src, op)?;
            let terms = ts.mul(&product_of_rivals(base.shape(), axis, index, src)?)?;
            let sum = scatter_zeros(base.shape(), axis, index, &terms)?;
            tb.mul(&all)?.add(&base.mul(&sum)?)
        }
        ScatterOp::Min | ScatterOp::Max => {
            let ties = Ties::new(axis, index, base, src, y)?;
            let sum = scatter(&only(&ties.base, &tb)?, axis, index, &only(&ties.src, &ts)?, ScatterOp::Add)?;
            sum.div(&ties.count)
        }
    }
}

/// Which elements of the source stay: of equal indices the last.
fn stays<S: Runtime>(shape: &[usize], axis: usize, index: &Tensor<S>) -> Result<Tensor<S>> {
    let order = Tensor::try_from_expr(index.shape(), &[], index.device(), |arena, _| arena.index())?;
    let base = Tensor::try_zeros(shape, DType::I64, index.device())?;
    gather(&scatter(&base, axis, index, &order, ScatterOp::Set)?, axis, index)?.eq(&order)
}

/// Who holds the value that a scatter of minima or maxima chose.
struct Ties<S: Runtime> {
    base: Tensor<S>,
    src: Tensor<S>,
    /// How many do.
    count: Tensor<S>,
}

impl<S: Runtime> Ties<S> {
    fn new(axis: usize, index: &Tensor<S>, base: &Tensor<S>, src: &Tensor<S>, y: &Tensor<S>) -> Result<Ties<S>> {
        let held = chosen(base, y)?;
        let won = chosen(src, &gather(y, axis, index)?)?;
        let (one, many) = (held.cast(DType::I64)?, won.cast(DType::I64)?);
        let count = scatter(&one, axis, index, &many, ScatterOp::Add)?.cast(base.dtype())?;
        Ok(Ties { base: held, src: won, count })
    }
}

/// For each element of the source the product of the others that go to the same place: of those before it times those
/// after it, in the order of the places. Right where there are zeros, and so are its derivatives.
fn product_of_rivals<S: Runtime>(
    shape: &[usize],
    axis: usize,
    index: &Tensor<S>,
    src: &Tensor<S>,
) -> Result<Tensor<S>> {
    let size = shape[axis] as i64;
    let place = index.lt(0i64)?.where_cond(&index.add(size)?, index)?;
    let sorted = Tensor::run(&Prim::Sort { axis, descending: false }, &[&place])?;
    let [place, order] = &sorted[..] else { return src.zeros_like() };
    let x = gather(src, axis, order)?;
    let n = x.shape()[axis];
    if n == 0 {
        return Ok(x);
    }
    let mut edge = x.layout().shape().clone();
    edge[axis] = 1;
    let filler = Tensor::try_full(&edge, -1i64, DType::I64, x.device())?;
    let one = Tensor::try_ones(&edge, x.dtype(), x.device())?;
    let side = |reverse: bool| -> Result<Tensor<S>> {
        // The neighbours on the one side; a place of their own starts the product afresh.
        let shifted = |t: &Tensor<S>, edge: &Tensor<S>| match reverse {
            false => concat(axis, &[edge, &narrow(t, axis, 0, n - 1)?]),
            true => concat(axis, &[&narrow(t, axis, 1, n - 1)?, edge]),
        };
        let start = shifted(place, &filler)?.ne(place)?;
        let factor = only(&start.logical_not()?, &shifted(&x, &one)?)?;
        recurrence(factor, start.cast(x.dtype())?, axis, reverse)
    };
    let rivals = side(false)?.mul(&side(true)?)?;
    scatter_zeros(src.shape(), axis, order, &rivals)
}
