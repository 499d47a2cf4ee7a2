//! Maps: the derivative is again a map, made from the expression; one kernel for the whole local Jacobian.

use super::{Grads, Local, fit};
use crate::tape::Kept;
use numr_core::dtype::DType;
use numr_core::ops::map::Row;
use numr_core::prim::{Bind, Map, MapOp, Prim};
use numr_core::scalar::Scalar;
use numr_core::scalar::derive::{Derivative, Part};
use numr_core::scalar::expr::Expr;
use numr_core::scalar::graph::{Class, Graph};
use numr_core::{Error, Lit, Result, Runtime, Tensor};
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// Masks over the arguments and the results have 64 bits.
const MOST: usize = 64;

/// The pull-back of a row, and what it reads where all arguments are operands; both found without a lock or a count.
fn pull_of_row(row: Row, needed: u64) -> Option<&'static (Arc<Derivative>, Option<Kept>)> {
    const SETS: usize = 8;
    static ROWS: [[OnceLock<(Arc<Derivative>, Option<Kept>)>; SETS]; Row::ALL.len()] =
        [const { [const { OnceLock::new() }; SETS] }; Row::ALL.len()];
    let found = ROWS[row as usize].get(needed as usize)?;
    Some(found.get_or_init(|| {
        let pull = row.graph().vjp(needed, 1);
        let kept = reads(&pull, 0..row.arity(), row.arity(), 1);
        (pull, kept)
    }))
}

/// The pull-back.
fn pull(op: &MapOp, needed: u64, given: u64) -> Cow<'static, Arc<Derivative>> {
    match op {
        MapOp::Row(row)
            if given == 1
                && let Some((pull, _)) = pull_of_row(*row, needed) =>
        {
            Cow::Borrowed(pull)
        }
        op => Cow::Owned(op.graph().vjp(needed, given)),
    }
}

/// What a pull-back reads of an expression of `n` arguments, of which these are operands.
fn reads(pull: &Derivative, places: impl Iterator<Item = usize>, n: usize, results: usize) -> Option<Kept> {
    if pull.parts.iter().all(|p| *p == Part::Zero) {
        return None;
    }
    let read = |k: usize| pull.reads.contains(&(k as u8));
    let inputs = mask_of(places.enumerate().filter(|&(_, place)| read(place)).map(|(k, _)| k));
    let outputs = mask_of((0..results).filter(|k| read(n + k)));
    Some(Kept { inputs, outputs })
}

/// The arguments of the expression that are operands.
fn places(map: &Map) -> impl Iterator<Item = usize> + '_ {
    map.binds.iter().enumerate().filter(|(_, b)| matches!(b, Bind::Input)).map(|(k, _)| k)
}

fn mask_of(places: impl Iterator<Item = usize>) -> u64 {
    places.fold(0, |mask, k| mask | 1 << k)
}

pub(crate) fn kept(map: &Map, tracked: impl Fn(usize) -> bool, results: usize) -> Option<Kept> {
    let n = map.binds.len();
    if n + results > MOST {
        // The walk says so if a gradient is asked for.
        return Some(Kept::default());
    }
    let needed = mask_of(places(map).enumerate().filter(|&(k, _)| tracked(k)).map(|(_, place)| place));
    if let MapOp::Row(row) = map.op
        && map.binds.iter().all(|b| matches!(b, Bind::Input))
        && let Some((_, kept)) = pull_of_row(row, needed)
    {
        return *kept;
    }
    reads(&pull(&map.op, needed, crate::tape::ones(results)), places(map), n, results)
}

/// Runs a derivative on what it reads.
fn run<'a, S: Runtime>(
    d: &Derivative,
    map: &Map,
    input: impl Fn(usize) -> Result<&'a Tensor<S>>,
    output: impl Fn(usize) -> Result<&'a Tensor<S>>,
    given: &[&'a Tensor<S>],
    results: usize,
) -> Result<SmallVec<[Tensor<S>; 2]>> {
    if d.graph.roots().is_empty() {
        return Ok(SmallVec::new());
    }
    let n = map.binds.len();
    let mut binds = SmallVec::new();
    let mut operands: SmallVec<[&Tensor<S>; 4]> = SmallVec::new();
    for &place in &d.reads {
        let place = place as usize;
        let operand = match map.binds.get(place) {
            Some(Bind::Scalar(l)) => {
                binds.push(Bind::Scalar(*l));
                continue;
            }
            Some(Bind::Input) => input(places(map).take_while(|&p| p < place).count())?,
            None if place < n + results => output(place - n)?,
            None => given[place - n - results],
        };
        binds.push(Bind::Input);
        operands.push(operand);
    }
    let prim = Prim::Map(Map { op: MapOp::Graph(d.graph.clone()), binds, create: None });
    Ok(Tensor::run(&prim, &operands)?.into_iter().collect())
}

pub(crate) fn vjp<S: Runtime>(
    local: &Local<S>,
    map: &Map,
    gs: &[Option<Tensor<S>>],
    needed: &[bool],
) -> Result<Grads<S>> {
    if map.binds.len() + gs.len() > MOST {
        return Err(Error::grad("map", "an expression of more than 64 arguments is not differentiated"));
    }
    if modulus(map, local.metas[0].dtype) {
        let z = local.input(0)?;
        let [Some(g)] = gs else { return Ok(smallvec![None]) };
        let grad = complex_abs(&[z, &z.abs()?, g], |z, r, g| z * (g / r))?;
        return Ok(smallvec![Some(grad)]);
    }
    let wanted = mask_of(places(map).zip(needed).filter(|(_, n)| **n).map(|(place, _)| place));
    let given = mask_of((0..gs.len()).filter(|&k| gs[k].is_some()));
    let pull = pull(&map.op, wanted, given);
    let gs_given: SmallVec<[&Tensor<S>; 2]> = gs.iter().flatten().collect();
    let roots = run(&pull, map, |k| local.input(k), |k| local.output(k), &gs_given, gs.len())?;
    let part = |(k, place): (usize, usize)| match pull.parts[place] {
        Part::Zero => Ok(None),
        Part::Given(j) => fit(gs_given[j as usize], &local.metas[k]).map(Some),
        Part::Root(j) => fit(&roots[j as usize], &local.metas[k]).map(Some),
    };
    places(map).enumerate().map(part).collect()
}

pub(crate) fn jvp<S: Runtime>(
    map: &Map,
    inputs: &[&Tensor<S>],
    outputs: &[Tensor<S>],
    ts: &[Option<&Tensor<S>>],
) -> Result<Grads<S>> {
    if map.binds.len() + outputs.len() > MOST {
        return Err(Error::grad("map", "an expression of more than 64 arguments is not differentiated"));
    }
    if modulus(map, inputs[0].dtype()) {
        let Some(t) = ts[0] else { return Ok(smallvec![None]) };
        let tangent = complex_abs(&[inputs[0], &outputs[0], t], |z, r, t| (z.conj() * t).real() / r)?;
        return Ok(smallvec![Some(tangent.cast(outputs[0].dtype())?)]);
    }
    let given = mask_of(places(map).zip(ts).filter(|(_, t)| t.is_some()).map(|(place, _)| place));
    let push = map.op.graph().jvp(given);
    let ts_given: SmallVec<[&Tensor<S>; 2]> = ts.iter().flatten().copied().collect();
    let roots = run(&push, map, |k| Ok(inputs[k]), |k| Ok(&outputs[k]), &ts_given, outputs.len())?;
    let part = |(part, y): (&Part, &Tensor<S>)| match *part {
        Part::Zero => Ok(None),
        Part::Given(j) => ts_given[j as usize].broadcast_to(y.shape())?.cast(y.dtype()).map(Some),
        Part::Root(j) => roots[j as usize].broadcast_to(y.shape())?.cast(y.dtype()).map(Some),
    };
    push.parts.iter().zip(outputs).map(part).collect()
}

/// Is it |z| of complex numbers? It is not holomorphic, so that no slope describes it.
fn modulus(map: &Map, dtype: DType) -> bool {
    matches!(map.op, MapOp::Row(Row::Abs)) && dtype.is_complex()
}

/// `body(z, |z|, d)`, and 0 where z is 0.
fn complex_abs<S: Runtime>(
    operands: &[&Tensor<S>],
    body: impl for<'a> Fn(Expr<'a>, Expr<'a>, Expr<'a>) -> Expr<'a>,
) -> Result<Tensor<S>> {
    expression(operands, |a| {
        let zero = Expr::lit(0.0);
        Expr::select(a[1].eq(zero), zero, body(a[0], a[1], a[2]))
    })
}

/// An element-wise expression of tensors, each node promoting what it meets.
pub(crate) fn expression<S: Runtime>(
    operands: &[&Tensor<S>],
    body: impl for<'a> Fn(&[Expr<'a>]) -> Expr<'a>,
) -> Result<Tensor<S>> {
    let graph = Graph::build(operands.len() as u8, Class::Free, |_, args| vec![body(args)]);
    let binds = smallvec![Bind::Input; operands.len()];
    Tensor::run_one(&Prim::Map(Map { op: MapOp::Graph(graph), binds, create: None }), operands)
}

/// The complex conjugate; the tensor itself if it is real.
pub(crate) fn conj<S: Runtime>(t: &Tensor<S>) -> Result<Tensor<S>> {
    if !t.dtype().is_complex() {
        return Ok(t.clone());
    }
    expression(&[t], |a| a[0].conj())
}

/// Keeps `t` where `mask` holds; 0 elsewhere.
pub(crate) fn only<S: Runtime>(mask: &Tensor<S>, t: &Tensor<S>) -> Result<Tensor<S>> {
    mask.where_cond(t, Lit::Int(0).to_i64())
}

/// Where is `x` the value chosen, `y`? NaN is chosen where it stands.
pub(crate) fn chosen<S: Runtime>(x: &Tensor<S>, y: &Tensor<S>) -> Result<Tensor<S>> {
    expression(&[x, y], |a| a[0].eq(a[1]) | a[0].ne(a[0]))
}
