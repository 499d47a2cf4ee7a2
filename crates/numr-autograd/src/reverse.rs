//! The reverse walk.

use crate::custom::{Pass, Plain, Recorded};
use crate::rules::{self, Grads, Local};
use crate::tape::{Edge, Node, Op, Tape, inexact, is_strict};
use numr_core::prim::Meta;
use numr_core::{Error, Prim, Result, Runtime, Tensor, TensorId};
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// Gradients of variables on the tape of `R`, as tensors of `S`: of `R` itself, or of its tape where they were recorded.
#[derive(Debug)]
pub struct Gradients<R: Runtime, S: Runtime = R> {
    found: HashMap<TensorId, Tensor<S>>,
    tape: std::marker::PhantomData<fn() -> R>,
}

impl<R: Runtime, S: Runtime> Gradients<R, S> {
    /// The gradient with respect to a variable; `None` if the result does not depend on it.
    pub fn get(&self, leaf: &Tensor<Tape<R>>) -> Option<&Tensor<S>> {
        self.by_id(leaf_id(leaf)?)
    }

    /// The gradient of the variable with this id.
    pub(crate) fn by_id(&self, id: TensorId) -> Option<&Tensor<S>> {
        self.found.get(&id)
    }
}

impl<R: Runtime, S: Runtime> IntoIterator for Gradients<R, S> {
    type Item = (TensorId, Tensor<S>);
    type IntoIter = std::collections::hash_map::IntoIter<TensorId, Tensor<S>>;

    fn into_iter(self) -> Self::IntoIter {
        self.found.into_iter()
    }
}

pub(crate) fn leaf_id<R: Runtime>(t: &Tensor<Tape<R>>) -> Option<TensorId> {
    t.storage().origin().map(|edge| edge.node.id)
}

/// Gradients of a recorded result of one element with respect to every variable it came from.
///
/// # Errors
/// `Error::Grad` if `y` has more elements than one, does not depend on a variable, or came through an operation without
/// a derivative; faults of the device.
///
/// ```
/// use numr_autograd::{gradients, leaf};
/// use numr_core::Tensor;
/// use numr_cpu::{CpuDevice, CpuRuntime};
///
/// let x = leaf(&Tensor::<CpuRuntime>::from_slice(&[1.0f64, 2.0], &[2], &CpuDevice::new()));
/// let y = x.mul(&x)?.sum(.., false)?;
/// let grads = gradients(&y)?;
/// assert_eq!(grads.get(&x).map(|g| g.to_vec::<f64>()), Some(vec![2.0, 4.0]));
/// # Ok::<(), numr_core::Error>(())
/// ```
pub fn gradients<R: Runtime>(y: &Tensor<Tape<R>>) -> Result<Gradients<R>> {
    gradients_with_hooks(y, |_, _| {})
}

/// As [`gradients`]; `hook` gets every variable's id and gradient as soon as it is complete.
///
/// # Errors
/// As [`gradients`].
pub fn gradients_with_hooks<R: Runtime>(
    y: &Tensor<Tape<R>>,
    hook: impl FnMut(TensorId, &Tensor<R>),
) -> Result<Gradients<R>> {
    all_leaves::<R, Plain>(y, hook)
}

/// As [`gradients`], recorded: the gradients are on the tape and can be differentiated again.
///
/// # Errors
/// As [`gradients`].
pub fn gradients_recorded<R: Runtime>(y: &Tensor<Tape<R>>) -> Result<Gradients<R, Tape<R>>> {
    all_leaves::<R, Recorded>(y, |_, _| {})
}

fn all_leaves<R: Runtime, P: Pass<R>>(
    y: &Tensor<Tape<R>>,
    mut hook: impl FnMut(TensorId, &Tensor<P::On>),
) -> Result<Gradients<R, P::On>> {
    let edge = differentiable(y)?;
    let seed = Tensor::try_ones(y.shape(), y.dtype(), y.device())?;
    let mut found = HashMap::new();
    let mut keep = |id: TensorId, _: u32, g: &Tensor<P::On>| {
        hook(id, g);
        found.insert(id, g.clone());
    };
    walk::<R, P>(vec![(edge, seed)], &Wanted::Leaves, &mut keep)?;
    Ok(Gradients { found, tape: std::marker::PhantomData })
}

/// Where a result of one element came from.
pub(crate) fn differentiable<R: Runtime>(y: &Tensor<Tape<R>>) -> Result<Edge<R>> {
    if y.numel() != 1 {
        let reason = format!("a result of one element is differentiated, not of shape {:?}; see vjp", y.shape());
        return Err(Error::grad("backward", reason));
    }
    if !inexact(y.dtype()) {
        return Err(Error::grad("backward", format!("a result of dtype {} has no derivative", y.dtype())));
    }
    match y.storage().origin() {
        Some(edge) => Ok(edge.clone()),
        None => Err(Error::grad("backward", "the result does not depend on a variable")),
    }
}

/// The gradients of `xs`, which may be any recorded values, from cotangents of results; `None` where the results do not
/// depend on one. With `stop` nothing behind one of them is looked at.
pub(crate) fn pull<R: Runtime, P: Pass<R>>(
    seeds: Vec<(Edge<R>, Tensor<P::On>)>,
    xs: &[Option<Edge<R>>],
    stop: bool,
) -> Result<Vec<Option<Tensor<P::On>>>> {
    let ids = xs.iter().flatten().map(|edge| (edge.node.id, ())).collect();
    let mut found: Vec<Option<Tensor<P::On>>> = vec![None; xs.len()];
    walk::<R, P>(seeds, &Wanted::Nodes { ids, stop }, &mut |id, slot, g| {
        for (out, edge) in found.iter_mut().zip(xs) {
            if edge.as_ref().is_some_and(|e| (e.node.id, e.slot) == (id, slot)) {
                *out = Some(g.clone());
            }
        }
    })?;
    Ok(found)
}

/// As [`pull`] for a user who asked for the gradients of `xs`: in strict mode each must be there.
pub(crate) fn pull_asked<R: Runtime, P: Pass<R>>(
    seeds: Vec<(Edge<R>, Tensor<P::On>)>,
    xs: &[Option<Edge<R>>],
) -> Result<Vec<Option<Tensor<P::On>>>> {
    if !is_strict() {
        return pull::<R, P>(seeds, xs, false);
    }
    let results: Vec<Arc<Node<R>>> = seeds.iter().map(|(edge, _)| edge.node.clone()).collect();
    let found = pull::<R, P>(seeds, xs, false)?;
    let Some(k) = found.iter().position(Option::is_none) else { return Ok(found) };
    match xs[k].as_ref().and_then(|edge| lost_at(&results, edge.node.id)) {
        Some(op) => Err(Error::grad(op, format!("the gradient of input {k} is lost here"))),
        None => Err(Error::grad("grad", format!("the result does not depend on input {k}"))),
    }
}

/// What to find gradients of.
enum Wanted {
    Leaves,
    /// These nodes; with `stop` none of them lies behind another.
    Nodes {
        ids: ById<()>,
        stop: bool,
    },
}

impl Wanted {
    fn names<R: Runtime>(&self, node: &Node<R>) -> bool {
        match self {
            Wanted::Leaves => matches!(node.op, Op::Leaf),
            Wanted::Nodes { ids, .. } => ids.contains_key(&node.id),
        }
    }

    /// Does the walk end here?
    fn ends<R: Runtime>(&self, node: &Node<R>) -> bool {
        matches!(node.op, Op::Lost(_))
            || matches!(self, Wanted::Nodes { ids, stop: true } if ids.contains_key(&node.id))
    }
}

type ById<T> = HashMap<TensorId, T, BuildHasherDefault<IdHasher>>;

/// Ids are drawn from a counter: one multiplication spreads them.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.write_u64(b.into());
        }
    }
    fn write_u64(&mut self, id: u64) {
        self.0 = (self.0.rotate_left(5) ^ id).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// A node on the way, with what it needs in the walk.
struct Visit<R: Runtime, S: Runtime> {
    node: Arc<Node<R>>,
    /// The places of its parents in the order.
    links: SmallVec<[u32; 2]>,
    /// Does a wanted value lie behind it?
    useful: bool,
    wanted: bool,
    /// Users of it that have not been walked yet.
    pending: u32,
    reported: bool,
    grads: SmallVec<[Option<Tensor<S>>; 1]>,
}

const NO_LINK: u32 = u32::MAX;

/// Every node behind the seeds, each after its parents; and where it stands.
fn order<R: Runtime, S: Runtime>(seeds: &[(Edge<R>, Tensor<S>)], wanted: &Wanted) -> (Vec<Visit<R, S>>, ById<u32>) {
    let mut visits: Vec<Visit<R, S>> = Vec::new();
    let mut places: ById<u32> = HashMap::default();
    let mut stack: Vec<(Arc<Node<R>>, usize)> = Vec::new();
    for (edge, _) in seeds {
        stack.push((edge.node.clone(), 0));
        while let Some((node, next)) = stack.last_mut() {
            if places.contains_key(&node.id) {
                stack.pop();
                continue;
            }
            let parents = if wanted.ends(node) { &[][..] } else { &node.parents[..] };
            if let Some(parent) = parents.get(*next) {
                *next += 1;
                if let Some(edge) = parent {
                    let parent = edge.node.clone();
                    stack.push((parent, 0));
                }
                continue;
            }
            let link = |parent: &Option<Edge<R>>| parent.as_ref().and_then(|edge| places.get(&edge.node.id).copied());
            let links: SmallVec<[u32; 2]> = parents.iter().map(|p| link(p).unwrap_or(NO_LINK)).collect();
            let Some((node, _)) = stack.pop() else { break };
            let chosen = wanted.names(&node);
            let useful = chosen || links.iter().any(|&at| visits.get(at as usize).is_some_and(|v| v.useful));
            places.insert(node.id, visits.len() as u32);
            let (pending, reported, grads) = (0, false, SmallVec::new());
            visits.push(Visit { node, links, useful, wanted: chosen, pending, reported, grads });
        }
    }
    for k in (0..visits.len()).filter(|&k| visits[k].useful).collect::<Vec<_>>() {
        let links = std::mem::take(&mut visits[k].links);
        for &at in &links {
            if let Some(parent) = visits.get_mut(at as usize) {
                parent.pending += 1;
            }
        }
        visits[k].links = links;
    }
    (visits, places)
}

fn add_at<S: Runtime>(grads: &mut SmallVec<[Option<Tensor<S>>; 1]>, slot: u32, g: Tensor<S>) -> Result<()> {
    let slot = slot as usize;
    if grads.len() <= slot {
        grads.resize(slot + 1, None);
    }
    grads[slot] = Some(match grads[slot].take() {
        Some(sum) => sum.add(&g)?,
        None => g,
    });
    Ok(())
}

/// Hands cotangents from results to operands, users before what they used; `found` gets every wanted one, with its
/// node's id and slot, when it is complete. What was used up is freed at once, unless someone else holds it.
fn walk<R: Runtime, P: Pass<R>>(
    seeds: Vec<(Edge<R>, Tensor<P::On>)>,
    wanted: &Wanted,
    found: &mut dyn FnMut(TensorId, u32, &Tensor<P::On>),
) -> Result<()> {
    let (mut visits, places) = order::<R, P::On>(&seeds, wanted);
    for (edge, g) in seeds {
        if let Some(visit) = places.get(&edge.node.id).and_then(|&at| visits.get_mut(at as usize)) {
            add_at(&mut visit.grads, edge.slot, g)?;
        }
    }
    drop(places);
    let mut report = |visit: &mut Visit<R, P::On>| {
        if visit.wanted && !visit.reported {
            let grads = visit.grads.iter().enumerate().filter_map(|(slot, g)| Some((slot, g.as_ref()?)));
            grads.for_each(|(slot, g)| found(visit.node.id, slot as u32, g));
            visit.reported = true;
        }
    };
    while let Some(mut visit) = visits.pop() {
        if !visit.useful {
            continue;
        }
        report(&mut visit);
        let node = &visit.node;
        let usable = |(k, &at): (usize, &u32)| {
            let smooth = node.metas.get(k).is_none_or(|meta| inexact(meta.dtype));
            smooth && visits.get(at as usize).is_some_and(|parent| parent.useful)
        };
        let needed: SmallVec<[bool; 4]> = visit.links.iter().enumerate().map(usable).collect();
        let grads: Grads<P::On> = if visit.grads.iter().all(Option::is_none) || !needed.contains(&true) {
            smallvec![None; visit.links.len()]
        } else {
            local::<R, P>(node, visit.grads, &needed)?
        };
        for ((edge, g), &at) in node.parents.iter().zip(grads).zip(&visit.links) {
            let (Some(edge), Some(parent)) = (edge, visits.get_mut(at as usize)) else { continue };
            if let Some(g) = g.filter(|_| parent.useful) {
                add_at(&mut parent.grads, edge.slot, g)?;
            }
            parent.pending -= 1;
            // A variable's gradient is out as soon as its last user is done.
            if parent.pending == 0 && matches!(parent.node.op, Op::Leaf) {
                report(parent);
            }
        }
    }
    Ok(())
}

/// The gradients of one node's operands.
pub(crate) fn local<R: Runtime, P: Pass<R>>(
    node: &Arc<Node<R>>,
    mut gs: SmallVec<[Option<Tensor<P::On>>; 1]>,
    needed: &[bool],
) -> Result<Grads<P::On>> {
    match &node.op {
        Op::Leaf | Op::Lost(_) => Ok(smallvec![None; needed.len()]),
        Op::Prim(prim) => {
            let mut saved = node.saved.iter();
            let mut take = |mask: u64, k: usize| if k < 64 && mask >> k & 1 == 1 { saved.next() } else { None };
            let lift = |(k, parent)| take(node.kept.inputs, k).map(|t| P::input(t, parent));
            let inputs: SmallVec<[Option<Tensor<P::On>>; 3]> = node.parents.iter().enumerate().map(lift).collect();
            let lift = |slot| take(node.kept.outputs, slot).map(|t| P::output(t, node, slot as u32));
            let slots = 64 - node.kept.outputs.leading_zeros() as usize;
            let outputs: SmallVec<[Option<Tensor<P::On>>; 2]> = (0..slots).map(lift).collect();
            if let Prim::Map(m) = prim {
                gs.resize(m.op.graph().roots().len(), None);
            }
            rules::vjp(&Local { prim, metas: &node.metas, inputs: &inputs, outputs: &outputs }, &gs, needed)
        }
        Op::Custom(rule) => {
            let (ins, outs) = node.saved.split_at(node.parents.len().min(node.saved.len()));
            let inputs: Vec<_> = ins.iter().zip(&node.parents).map(|(t, parent)| P::input(t, parent)).collect();
            let outputs: Vec<_> = (0..).zip(outs).map(|(slot, t)| P::output(t, node, slot)).collect();
            gs.resize(rule.results(), None);
            let mut grads = P::custom(rule.as_ref(), &inputs, &outputs, &gs)?;
            let fits = |(g, meta): (&Option<Tensor<P::On>>, &Meta)| {
                g.as_ref().is_none_or(|g| g.shape() == &meta.shape[..] && g.dtype() == meta.dtype)
            };
            if grads.len() > needed.len() || !grads.iter().zip(&node.metas).all(fits) {
                return Err(Error::grad(rule.name(), "its gradients do not have the shapes and dtypes of its inputs"));
            }
            grads.resize(needed.len(), None);
            Ok(grads)
        }
    }
}

/// The operation on a way from the results to a value at which its gradient is lost.
fn lost_at<R: Runtime>(from: &[Arc<Node<R>>], id: TensorId) -> Option<&'static str> {
    let mut seen: ById<()> = HashMap::default();
    let mut stack: Vec<(Arc<Node<R>>, Option<&'static str>)> = from.iter().map(|n| (n.clone(), None)).collect();
    while let Some((node, lost)) = stack.pop() {
        if node.id == id {
            return lost;
        }
        if seen.insert(node.id, ()).is_some() {
            continue;
        }
        // The one nearest to the value: what comes after it had nothing to lose.
        let lost = match node.op {
            Op::Lost(name) => Some(name),
            _ => lost,
        };
        stack.extend(node.parents.iter().flatten().map(|edge| (edge.node.clone(), lost)));
    }
    None
}
