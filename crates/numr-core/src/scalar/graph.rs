//! An element-wise expression as data: a list of nodes in topological order with one or more roots.
//!
//! Graphs are interned: the same expression is one allocation, so what is derived from it (typed programs,
//! derivatives, compiled kernels) is made once and found by address.

use super::Function;
use super::derive::{self, Derivative};
use super::expr::{Arena, Expr};
use super::program::{ArgType, Program};
use crate::dtype::{DType, DTypeSet};
use crate::element::Lit;
use crate::error::Result;
use crate::ops::map::Row;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

/// Place of a node in [`Graph::nodes`].
pub type Id = u32;

macro_rules! names {
    ($(#[doc = $doc:literal])* $E:ident { $($(#[doc = $d:literal])* $V:ident $(($p:ident: $P:ty))? = $n:expr,)* }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum $E { $($(#[doc = $d])* $V $(($P))?,)* }
        impl $E {
            /// The member's name, in lower case, as generated code spells it.
            pub const fn name(self) -> &'static str {
                match self { $($E::$V $(($p))? => $n),* }
            }
        }
    };
}

names! {
    /// Scalar primitives of one operand.
    Un {
        /// -x
        Neg = "neg",
        /// |x|
        Abs = "abs",
        /// bitwise or logical not
        Not = "not",
        /// the number, which a compiler may not look through
        Keep = "keep",
        /// √x
        Sqrt = "sqrt",
        /// the integer below
        Floor = "floor",
        /// the integer above
        Ceil = "ceil",
        /// the nearest integer, halves to even
        Round = "round",
        /// the integer nearest toward zero
        Trunc = "trunc",
        /// an elementary function, with a body in [`super::math`]
        Math(f: Function) = f.name(),
        /// the bit pattern, as a signed integer of the same width
        ToBits = "to_bits",
        /// the float with this bit pattern
        FromBits = "from_bits",
        /// truncation to the signed integer of the same width
        ToInt = "to_int",
        /// the float of the same width nearest to an integer
        FromInt = "from_int",
        /// the complex conjugate; the identity on real numbers
        Conj = "conj",
        /// the real part
        Real = "real",
        /// the imaginary part; 0 on real numbers
        Imag = "imag",
    }
}

names! {
    /// Scalar primitives of two operands.
    Bin {
        /// a + b
        Add = "add",
        /// a - b
        Sub = "sub",
        /// a * b
        Mul = "mul",
        /// a / b
        Div = "div",
        /// the remainder of truncated division
        Rem = "rem",
        /// the larger, NaN if either is
        Max = "max",
        /// the smaller, NaN if either is
        Min = "min",
        /// a to the power b
        Pow = "pow",
        /// bitwise or logical and
        And = "and",
        /// bitwise or logical or
        Or = "or",
        /// bitwise or logical exclusive or
        Xor = "xor",
        /// shift left
        Shl = "shl",
        /// shift right, arithmetic for signed integers
        Shr = "shr",
        /// shift right with zeros
        ShrLogical = "shr_logical",
        /// high half of the unsigned product
        MulHi = "mul_hi",
        /// a == b
        Eq = "eq",
        /// a != b
        Ne = "ne",
        /// a < b
        Lt = "lt",
        /// a <= b
        Le = "le",
        /// the complex number a + ib
        Complex = "complex",
    }
}

impl Bin {
    /// Does it answer true or false?
    pub const fn is_comparison(self) -> bool {
        matches!(self, Bin::Eq | Bin::Ne | Bin::Lt | Bin::Le)
    }
}

impl Un {
    /// Is it defined for floating-point operands only (integers are cast first)?
    pub const fn is_float(self) -> bool {
        matches!(self, Un::Math(_) | Un::Keep | Un::Sqrt | Un::ToBits | Un::ToInt)
    }
}

/// One step of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// The k-th argument.
    Arg(u8),
    /// A constant; its dtype follows from what it meets.
    Lit(Lit),
    /// The element's coordinate along an axis of the output, as i64.
    Coord(u8),
    /// The element's row-major index in the output, as i64.
    Index,
    /// A primitive of one operand.
    Un(Un, Id),
    /// A primitive of two operands.
    Bin(Bin, Id, Id),
    /// a * b + c, in one rounding where there is an instruction for it.
    Fma(Id, Id, Id),
    /// The second where the first holds, else the third.
    Select(Id, Id, Id),
    /// Conversion.
    Cast(DType, Id),
    /// A row of the op table (unused places hold 0). It is kept whole so that its stated derivative is used.
    Call(Row, [Id; 3]),
}

impl Node {
    /// The nodes that this one reads.
    pub fn inputs(&self) -> SmallVec<[Id; 3]> {
        match *self {
            Node::Arg(_) | Node::Lit(_) | Node::Coord(_) | Node::Index => SmallVec::new(),
            Node::Un(_, a) | Node::Cast(_, a) => SmallVec::from_slice(&[a]),
            Node::Bin(_, a, b) => SmallVec::from_slice(&[a, b]),
            Node::Fma(a, b, c) | Node::Select(a, b, c) => SmallVec::from_slice(&[a, b, c]),
            Node::Call(row, a) => SmallVec::from_slice(&a[..row.arity()]),
        }
    }
}

/// How the dtypes of the arguments are brought together before the body runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// Every node promotes its own operands.
    Free,
    /// All arguments but the masks are promoted to one dtype of this set (integers to float if it has no integers).
    Common {
        /// The dtypes that the body accepts.
        dtypes: DTypeSet,
        /// Bit k: argument k is a mask, cast to bool. Those past the eighth are none.
        masks: u8,
    },
}

/// Is bit k set?
pub(crate) fn in_masks(masks: u8, k: usize) -> bool {
    k < 8 && masks >> k & 1 == 1
}

impl Class {
    /// Is argument `k` a mask?
    pub fn is_mask(self, k: usize) -> bool {
        matches!(self, Class::Common { masks, .. } if in_masks(masks, k))
    }
}

/// An interned element-wise expression.
pub struct Graph {
    content: Content,
    programs: Mutex<HashMap<SmallVec<[ArgType; 4]>, Arc<Program>>>,
    partials: OnceLock<Vec<Option<Arc<Graph>>>>,
    derived: Mutex<HashMap<Derived, Arc<Derivative>>>,
}

#[derive(PartialEq, Eq, Hash, Clone, Debug)]
struct Content {
    nodes: Vec<Node>,
    roots: SmallVec<[Id; 2]>,
    arity: u8,
    class: Class,
}

/// Enough for every row, its derivatives and a few thousand user expressions; past it the table starts afresh (graphs
/// in use stay alive through their `Arc`s and are merely no longer found).
const INTERN_LIMIT: usize = 1 << 14;
static INTERNED: LazyLock<Mutex<HashMap<Content, Arc<Graph>>>> = LazyLock::new(Mutex::default);

impl Graph {
    /// Runs `body` on symbols and keeps what it answers, one root an expression.
    pub fn build<F>(arity: u8, class: Class, body: F) -> Arc<Graph>
    where
        F: for<'a> FnOnce(&'a Arena, &[Expr<'a>]) -> Vec<Expr<'a>>,
    {
        Self::intern(Content::written(arity, class, body))
    }

    /// As [`Graph::build`], but a graph of those arguments only that are read; and which these are.
    pub(crate) fn build_reading<F>(arity: u8, class: Class, body: F) -> (Arc<Graph>, SmallVec<[u8; 4]>)
    where
        F: for<'a> FnOnce(&'a Arena, &[Expr<'a>]) -> Vec<Expr<'a>>,
    {
        let mut content = Content::written(arity, class, body);
        let read = |k: &u8| content.nodes.contains(&Node::Arg(*k));
        let reads: SmallVec<[u8; 4]> = (0..arity).filter(read).collect();
        for node in &mut content.nodes {
            if let Node::Arg(k) = node {
                *k = reads.iter().position(|r| r == k).unwrap_or_default() as u8;
            }
        }
        content.arity = reads.len() as u8;
        if let Class::Common { masks, .. } = &mut content.class {
            let is_mask = |&(_, &k): &(usize, &u8)| in_masks(*masks, k as usize);
            *masks = reads.iter().enumerate().filter(is_mask).map(|(at, _)| 1 << at).sum();
        }
        (Self::intern(content), reads)
    }

    fn intern(content: Content) -> Arc<Graph> {
        let mut table = INTERNED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(graph) = table.get(&content) {
            return graph.clone();
        }
        if table.len() >= INTERN_LIMIT {
            table.clear();
        }
        let graph = Arc::new(Graph {
            content: content.clone(),
            programs: Mutex::default(),
            partials: OnceLock::new(),
            derived: Mutex::default(),
        });
        table.insert(content, graph.clone());
        graph
    }

    /// The nodes, each after the ones it reads.
    pub fn nodes(&self) -> &[Node] {
        &self.content.nodes
    }

    /// The results.
    pub fn roots(&self) -> &[Id] {
        &self.content.roots
    }

    /// Number of arguments.
    pub fn arity(&self) -> usize {
        self.content.arity as usize
    }

    /// How argument dtypes are brought together.
    pub fn class(&self) -> Class {
        self.content.class
    }

    /// Is argument `k` read?
    pub fn reads(&self, k: usize) -> bool {
        self.content.nodes.contains(&Node::Arg(k as u8))
    }

    /// The graph lowered for these argument types; made once.
    ///
    /// # Errors
    /// `Error::DType` if an argument's dtype is outside what the body accepts.
    pub fn program(&self, args: &[ArgType]) -> Result<Arc<Program>> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(p) = programs.get(args) {
            return Ok(p.clone());
        }
        let p = Arc::new(Program::lower(self, args)?);
        programs.insert(SmallVec::from_slice(args), p.clone());
        Ok(p)
    }

    /// Writes the graph down in another arena with these arguments; one expression a root.
    pub fn inline<'a>(&self, arena: &'a Arena, args: &[Expr<'a>]) -> Vec<Expr<'a>> {
        let mut value = Vec::with_capacity(self.nodes().len());
        for node in self.nodes() {
            let e = derive::rebuild(node, arena, args, &value);
            value.push(e);
        }
        self.roots().iter().map(|&r| value[r as usize]).collect()
    }

    /// ∂root/∂arg for every argument, each a graph over `[args.., root]`; `None` where it is zero everywhere.
    /// Made once; only for graphs of one root.
    pub fn partials(&self) -> &[Option<Arc<Graph>>] {
        self.partials.get_or_init(|| derive::partials(self))
    }

    /// The whole pull-back in one expression over `[args.., roots.., cotangents..]`: for each argument of the bit mask
    /// `needed` the sum over the roots of cotangent times conjugate slope. `given` says which roots have a cotangent;
    /// that of the others is zero. Made once.
    pub fn vjp(&self, needed: u64, given: u64) -> Arc<Derivative> {
        self.cached(Derived::Vjp(needed, given), || derive::vjp(self, needed, given))
    }

    /// The push-forward in one expression over `[args.., roots.., tangents..]`: for each root the sum of slope times
    /// tangent. `given` says which arguments have a tangent; that of the others is zero. Made once.
    pub fn jvp(&self, given: u64) -> Arc<Derivative> {
        self.cached(Derived::Jvp(given), || derive::jvp(self, given))
    }

    fn cached(&self, key: Derived, make: impl FnOnce() -> Derivative) -> Arc<Derivative> {
        let lock = || self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = lock().get(&key) {
            return found.clone();
        }
        let made = Arc::new(make());
        lock().insert(key, made.clone());
        made
    }
}

#[derive(PartialEq, Eq, Hash)]
enum Derived {
    Vjp(u64, u64),
    Jvp(u64),
}

impl Content {
    fn written<F>(arity: u8, class: Class, body: F) -> Content
    where
        F: for<'a> FnOnce(&'a Arena, &[Expr<'a>]) -> Vec<Expr<'a>>,
    {
        let arena = Arena::default();
        let roots = {
            let args: SmallVec<[Expr; 8]> = (0..arity).map(|i| arena.arg(i)).collect();
            body(&arena, &args).into_iter().map(|e| arena.id(e)).collect()
        };
        Content { nodes: arena.into_nodes(), roots, arity, class }.pruned()
    }

    /// Without the nodes that no root needs, which a stated derivative or an unused argument leaves behind.
    fn pruned(self) -> Content {
        let mut live = vec![false; self.nodes.len()];
        for &r in &self.roots {
            live[r as usize] = true;
        }
        for i in (0..self.nodes.len()).rev() {
            if live[i] {
                for a in self.nodes[i].inputs() {
                    live[a as usize] = true;
                }
            }
        }
        let mut place = vec![0; self.nodes.len()];
        let mut nodes = Vec::with_capacity(self.nodes.len());
        for (i, node) in self.nodes.iter().enumerate().filter(|&(i, _)| live[i]) {
            let at = |a: Id| place[a as usize];
            let moved = match *node {
                Node::Un(u, a) => Node::Un(u, at(a)),
                Node::Cast(d, a) => Node::Cast(d, at(a)),
                Node::Bin(b, x, y) => Node::Bin(b, at(x), at(y)),
                Node::Fma(x, y, z) => Node::Fma(at(x), at(y), at(z)),
                Node::Select(x, y, z) => Node::Select(at(x), at(y), at(z)),
                Node::Call(row, a) => {
                    Node::Call(row, std::array::from_fn(|k| if k < row.arity() { at(a[k]) } else { 0 }))
                }
                leaf @ (Node::Arg(_) | Node::Lit(_) | Node::Coord(_) | Node::Index) => leaf,
            };
            place[i] = nodes.len() as Id;
            nodes.push(moved);
        }
        Content { roots: self.roots.iter().map(|&r| place[r as usize]).collect(), nodes, ..self }
    }
}

/// Equal graphs are one allocation.
impl PartialEq for Graph {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || self.content == other.content
    }
}

impl Eq for Graph {}

impl Hash for Graph {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.content.hash(state);
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.content.fmt(f)
    }
}
