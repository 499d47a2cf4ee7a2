//! Reverse mode: a runtime that runs every primitive on the runtime below it and remembers what it did.

use crate::rules;
use numr_core::classic::Client;
use numr_core::prim::{Meta, Prim};
use numr_core::runtime::{Outputs, Runtime, Support};
use numr_core::{DType, Result, Tensor, TensorId};
use smallvec::SmallVec;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// The runtime `R`, recorded: what is computed from a [`leaf`] can be differentiated.
///
/// It is a runtime like any other, so every op and every generic function works on its tensors, `Tape<Tape<R>>` records
/// the recording, and `Tape<Dual<R>>` is forward over reverse.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tape<R>(PhantomData<fn() -> R>);

/// The storage of a tensor on a tape: the tensor below, and where it came from if a gradient may be asked for.
#[derive(Clone)]
pub struct TapeStorage<R: Runtime> {
    inner: Tensor<R>,
    /// Is `inner` flat, of a shape that only the outer tensor knows?
    uploaded: bool,
    origin: Option<Edge<R>>,
}

/// One of the results of a node.
pub(crate) struct Edge<R: Runtime> {
    pub(crate) node: Arc<Node<R>>,
    pub(crate) slot: u32,
}

/// A recorded operation.
pub(crate) struct Node<R: Runtime> {
    /// Names it among all nodes; two leaves of one id are one variable.
    pub(crate) id: TensorId,
    pub(crate) op: Op<R>,
    /// Where the operands came from; `None` for constants.
    pub(crate) parents: SmallVec<[Option<Edge<R>>; 2]>,
    /// Shapes and dtypes of the operands, if they are known.
    pub(crate) metas: SmallVec<[Meta; 2]>,
    /// What the rule needs: operands, then results.
    pub(crate) saved: Vec<Tensor<R>>,
    /// Which those are, for a primitive; a custom rule keeps all operands.
    pub(crate) kept: Kept,
}

/// Which operands and which results a rule reads, as bit masks.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Kept {
    pub(crate) inputs: u64,
    pub(crate) outputs: u64,
}

pub(crate) enum Op<R: Runtime> {
    /// A variable.
    Leaf,
    Prim(Prim),
    Custom(Box<dyn crate::custom::Rule<R>>),
    /// Has no derivative by nature; only recorded in strict mode, to be named.
    Lost(&'static str),
}

thread_local! {
    static RECORDING: Cell<bool> = const { Cell::new(true) };
    static STRICT: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` with a thread-local flag set to `value`, and puts it back even if `f` panics.
fn with_flag<T>(flag: &'static std::thread::LocalKey<Cell<bool>>, value: bool, f: impl FnOnce() -> T) -> T {
    struct Restore(&'static std::thread::LocalKey<Cell<bool>>, bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            self.0.set(self.1);
        }
    }
    let _restore = Restore(flag, flag.replace(value));
    f()
}

/// Runs `f` on this thread without recording: what it computes is constant for every derivative, in both modes and
/// at every level.
pub fn no_grad<T>(f: impl FnOnce() -> T) -> T {
    with_flag(&RECORDING, false, f)
}

/// Runs `f` on this thread in strict mode: a gradient that is zero only because an operation on the way has none (a
/// comparison, a rounding, an integer cast ...) is an `Error::Grad` that names the operation.
pub fn strict<T>(f: impl FnOnce() -> T) -> T {
    with_flag(&STRICT, true, f)
}

/// Are derivatives being kept on this thread?
pub fn is_grad_enabled() -> bool {
    RECORDING.get()
}

pub(crate) fn is_strict() -> bool {
    STRICT.get()
}

/// Has it derivatives?
pub(crate) fn inexact(dtype: DType) -> bool {
    dtype.is_float() || dtype.is_complex()
}

/// A variable with the value of `x`: gradients with respect to it can be asked for.
pub fn leaf<R: Runtime>(x: &Tensor<R>) -> Tensor<Tape<R>> {
    leaf_of(x, TensorId::new())
}

/// A constant with the value of `x`.
pub fn constant<R: Runtime>(x: &Tensor<R>) -> Tensor<Tape<R>> {
    on_tape(x.clone(), None)
}

/// The value of a recorded tensor.
pub fn value<R: Runtime>(x: &Tensor<Tape<R>>) -> Tensor<R> {
    match below(x) {
        Ok(inner) => inner.clone(),
        Err(rebuilt) => rebuilt,
    }
}

pub(crate) fn leaf_of<R: Runtime>(x: &Tensor<R>, id: TensorId) -> Tensor<Tape<R>> {
    on_tape(x.clone(), Some(Edge { node: Arc::new(Node::leaf(id)), slot: 0 }))
}

/// A tensor of the tape over one of the runtime below.
pub(crate) fn on_tape<R: Runtime>(inner: Tensor<R>, origin: Option<Edge<R>>) -> Tensor<Tape<R>> {
    let (layout, dtype, device) = (inner.layout().clone(), inner.dtype(), inner.device().clone());
    Tensor::from_storage(TapeStorage { inner, uploaded: false, origin }, layout, dtype, device)
}

/// The tensor below. An upload does not know its shape, so there it is made anew from the outer layout.
fn below<R: Runtime>(x: &Tensor<Tape<R>>) -> std::result::Result<&Tensor<R>, Tensor<R>> {
    let TapeStorage { inner, uploaded, .. } = x.storage();
    if !uploaded {
        return Ok(inner);
    }
    Err(Tensor::from_storage(inner.storage().clone(), x.layout().clone(), x.dtype(), x.device().clone()))
}

impl<R: Runtime> TapeStorage<R> {
    pub(crate) fn origin(&self) -> Option<&Edge<R>> {
        self.origin.as_ref()
    }

    /// The tensor below; an upload's is flat.
    pub(crate) fn inner(&self) -> &Tensor<R> {
        &self.inner
    }
}

impl<R: Runtime> Clone for Edge<R> {
    fn clone(&self) -> Self {
        Edge { node: self.node.clone(), slot: self.slot }
    }
}

impl<R: Runtime> Node<R> {
    pub(crate) fn leaf(id: TensorId) -> Node<R> {
        Node::new(id, Op::Leaf)
    }

    fn new(id: TensorId, op: Op<R>) -> Node<R> {
        let (parents, metas) = Default::default();
        Node { id, op, parents, metas, saved: Vec::new(), kept: Kept::default() }
    }

    /// A node over these operands that keeps all of them, and these results.
    pub(crate) fn custom(
        rule: Box<dyn crate::custom::Rule<R>>,
        inputs: &[Tensor<Tape<R>>],
        outputs: &[Tensor<R>],
    ) -> Arc<Node<R>> {
        let mut node = Node::new(TensorId::new(), Op::Custom(rule));
        node.parents = inputs.iter().map(|t| t.storage().origin.clone()).collect();
        node.metas = inputs.iter().map(meta).collect();
        node.saved = inputs.iter().map(value).chain(outputs.iter().cloned()).collect();
        Arc::new(node)
    }

    /// A node of a rule that knows no more of its operands than where they came from.
    pub(crate) fn by_hand(
        rule: Box<dyn crate::custom::Rule<R>>,
        parents: SmallVec<[Option<Edge<R>>; 2]>,
    ) -> Arc<Node<R>> {
        let mut node = Node::new(TensorId::new(), Op::Custom(rule));
        node.parents = parents;
        Arc::new(node)
    }

    pub(crate) fn is_leaf(&self) -> bool {
        matches!(self.op, Op::Leaf)
    }

    /// The classic pull-back that the node runs, if it is one of those.
    pub(crate) fn user(&self) -> Option<&Arc<dyn crate::classic::grad_fn::GradFn<R>>> {
        match &self.op {
            Op::Custom(rule) => rule.user(),
            _ => None,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match &self.op {
            Op::Leaf => "leaf",
            Op::Prim(prim) => prim.name(),
            Op::Custom(rule) => rule.name(),
            Op::Lost(name) => name,
        }
    }
}

/// The lowest `n` bits.
pub(crate) fn ones(n: usize) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

pub(crate) fn meta<R: Runtime>(t: &Tensor<R>) -> Meta {
    Meta { shape: t.layout().shape().clone(), dtype: t.dtype() }
}

/// A long chain must not be dropped by recursion.
impl<R: Runtime> Drop for Node<R> {
    fn drop(&mut self) {
        let mut owned: Vec<Node<R>> = Vec::new();
        let take = |parents: &mut SmallVec<[Option<Edge<R>>; 2]>, owned: &mut Vec<Node<R>>| {
            owned.extend(parents.drain(..).flatten().filter_map(|edge| Arc::into_inner(edge.node)));
        };
        take(&mut self.parents, &mut owned);
        while let Some(mut node) = owned.pop() {
            take(&mut node.parents, &mut owned);
        }
    }
}

impl<R: Runtime> fmt::Debug for TapeStorage<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = self.origin.as_ref().map(|edge| edge.node.name());
        f.debug_struct("TapeStorage").field("inner", &self.inner).field("origin", &origin).finish()
    }
}

impl<R: Runtime> Runtime for Tape<R> {
    type Device = R::Device;
    type Storage = TapeStorage<R>;
    type Client = Client<Tape<R>>;

    fn name() -> &'static str {
        R::name()
    }

    fn default_device() -> R::Device {
        R::default_device()
    }

    fn default_client(device: &R::Device) -> Self::Client {
        Client::new(device.clone())
    }

    fn supports(device: &R::Device, prim: &Prim, dtypes: &[DType]) -> Support {
        if let Prim::Fused(fused) = prim
            && !rules::fused::recordable(fused)
        {
            return Support::No { reason: "it is recorded as the composite that defines it".into() };
        }
        R::supports(device, prim, dtypes)
    }

    fn run(device: &R::Device, prim: &Prim, inputs: &[&Tensor<Self>], outs: &[Meta]) -> Result<Outputs<Self>> {
        let mut refs: SmallVec<[&Tensor<R>; 4]> = SmallVec::new();
        for t in inputs {
            match below(t) {
                Ok(inner) => refs.push(inner),
                Err(_) => {
                    let owned: Vec<Tensor<R>> = inputs.iter().map(|t| value(t)).collect();
                    let results = R::run(device, prim, &owned.iter().collect::<Vec<_>>(), outs)?;
                    return Ok(record(prim, inputs, &owned.iter().collect::<Vec<_>>(), results));
                }
            }
        }
        let results = R::run(device, prim, &refs, outs)?;
        Ok(record(prim, inputs, &refs, results))
    }

    fn upload(device: &R::Device, dtype: DType, bytes: &[u8]) -> Result<TapeStorage<R>> {
        let storage = R::upload(device, dtype, bytes)?;
        let layout = numr_core::Layout::contiguous([bytes.len() / dtype.size_in_bytes()]);
        Ok(TapeStorage {
            inner: Tensor::from_storage(storage, layout, dtype, device.clone()),
            uploaded: true,
            origin: None,
        })
    }

    fn download(tensor: &Tensor<Self>, bytes: &mut [u8]) -> Result<()> {
        match below(tensor) {
            Ok(inner) => R::download(inner, bytes),
            Err(rebuilt) => R::download(&rebuilt, bytes),
        }
    }

    fn same_storage(a: &TapeStorage<R>, b: &TapeStorage<R>) -> bool {
        R::same_storage(a.inner.storage(), b.inner.storage())
    }

    fn detach(tensor: &Tensor<Self>) -> Tensor<Self> {
        constant(&value(tensor))
    }

    fn synchronize(device: &R::Device) -> Result<()> {
        R::synchronize(device)
    }
}

/// Can a gradient flow to it, or, in strict mode, be missed there?
fn tracked<R: Runtime>(t: &Tensor<Tape<R>>) -> bool {
    t.storage().origin.is_some() && (inexact(t.dtype()) || is_strict())
}

fn origin<R: Runtime>(t: &Tensor<Tape<R>>) -> Option<Edge<R>> {
    if tracked(t) { t.storage().origin.clone() } else { None }
}

/// A node at which a gradient is lost. Apart, because what makes a node is slow where it is not inlined: the node then
/// moves several times.
#[cold]
fn lost<R: Runtime>(prim: &Prim, inputs: &[&Tensor<Tape<R>>]) -> Arc<Node<R>> {
    let mut node = Node::new(TensorId::new(), Op::Lost(prim.name()));
    node.parents = inputs.iter().map(|t| origin(t)).collect();
    node.metas = inputs.iter().map(|t| meta(t)).collect();
    Arc::new(node)
}

/// Puts results on the tape, with a node if an operand has one.
fn record<R: Runtime>(
    prim: &Prim,
    inputs: &[&Tensor<Tape<R>>],
    below: &[&Tensor<R>],
    mut results: Outputs<R>,
) -> Outputs<Tape<R>> {
    if !inputs.iter().any(|t| tracked(t)) || !RECORDING.get() {
        return results.into_iter().map(|t| on_tape(t, None)).collect();
    }
    let kept = rules::kept(prim, |k| inputs.get(k).is_some_and(|t| tracked(t)), results.len());
    let smooth = kept.filter(|_| results.iter().any(|t| inexact(t.dtype())));
    let through = smooth.map(|kept| {
        let mut saved = Vec::with_capacity((kept.inputs.count_ones() + kept.outputs.count_ones()) as usize);
        if saved.capacity() > 0 {
            let chosen = |mask: u64| move |(k, _): &(usize, &Tensor<R>)| mask >> (k & 63) & 1 == 1;
            let (ins, outs) = (below.iter().copied().enumerate(), results.iter().enumerate());
            saved.extend(ins.filter(chosen(kept.inputs)).map(|(_, t)| t.clone()));
            saved.extend(outs.filter(chosen(kept.outputs)).map(|(_, t)| t.clone()));
        }
        let (mut parents, mut metas) = (SmallVec::new(), SmallVec::new());
        for t in inputs {
            parents.push(origin(t));
            metas.push(meta(t));
        }
        Arc::new(Node { id: TensorId::new(), op: Op::Prim(prim.clone()), parents, metas, saved, kept })
    });
    let lost = (is_strict() && (smooth.is_none() || results.len() > 1)).then(|| lost(prim, inputs));
    // There is nearly always one result, which takes the node as it is.
    if results.len() == 1 {
        let edge = through.or(lost).map(|node| Edge { node, slot: 0 });
        return results.pop().map(|t| on_tape(t, edge)).into_iter().collect();
    }
    let place = |(slot, t): (usize, Tensor<R>)| {
        let node = if inexact(t.dtype()) { through.as_ref().or(lost.as_ref()) } else { lost.as_ref() };
        on_tape(t, node.map(|node| Edge { node: node.clone(), slot: slot as u32 }))
    };
    results.into_iter().enumerate().map(place).collect()
}
