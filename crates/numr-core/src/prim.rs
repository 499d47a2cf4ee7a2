//! The closed set of primitives. Everything a device does is one of these; everything else is a function over them.
//!
//! Admission: an operation is a primitive only if it cannot be built from others without losing asymptotics or
//! accuracy, or if a device has a unit for it. Matches on [`Prim`] have no wildcard: the compiler is the checklist.

use crate::dtype::{DType, DTypeSet, promote};
use crate::element::Lit;
use crate::error::{Error, Result};
use crate::layout::{Layout, SliceRange};
use crate::ops::map::Row;
use crate::scalar::graph::{Class, Graph};
use crate::scalar::program::{ArgType, Program};
use crate::shape::{Shape, broadcast};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// Axes of a tensor, ascending.
pub type AxisList = SmallVec<[usize; 8]>;

/// A primitive with its parameters. Operands are listed where they are described.
#[derive(Clone, PartialEq, Debug)]
pub enum Prim {
    /// Element-wise expression over broadcast operands.
    Map(Map),
    /// Another view of the operand's elements: no data moves.
    View(View),
    /// The operand, in row-major order in memory of its own.
    Contiguous,
    /// The operands end to end along an axis; they are of one dtype and agree on the other axes.
    Concat {
        /// The axis.
        axis: usize,
    },
    /// `(base, src)`: base with the elements that `view` shows replaced by src. The view shows no element twice.
    Assign {
        /// Where.
        view: View,
    },
    /// Folds axes away.
    Reduce(Reduce),
    /// Running fold along an axis.
    Scan(Scan),
    /// `(a, b)`: batched matrix product `[.., m, k] · [.., k, n] -> [.., m, n]`; batch axes broadcast. Narrow floats
    /// accumulate in f32.
    Contract {
        /// The dtype of the product; integers wrap in it.
        dtype: DType,
    },
    /// `(x, index)`: `y[.., i, ..] = x[.., index[.., i, ..], ..]` along `axis`. `index` is i64, has x's rank, and is
    /// not larger than x on the other axes. A negative index counts from the end.
    Gather {
        /// The axis.
        axis: usize,
    },
    /// `(base, index, src)`: the transpose of gather; `index` and `src` have one shape. The order of equal indices is
    /// the row-major order of `src`: results are deterministic.
    Scatter {
        /// The axis.
        axis: usize,
        /// What happens where an index meets an element.
        op: ScatterOp,
    },
    /// The row-major indices (i64) of the elements that are not zero.
    Nonzero,
    /// `[values, indices]` (i64) sorted along an axis; stable; NaN last whichever the direction.
    Sort {
        /// The axis.
        axis: usize,
        /// Largest first.
        descending: bool,
    },
    /// An operation with a kernel of its own on some devices, defined by its composite.
    Fused(Fused),
}

/// An element-wise expression applied to operands. Some of its arguments are bound to scalars; the others are the
/// operands, in order, broadcast against each other.
#[derive(PartialEq, Debug)]
pub struct Map {
    /// The expression.
    pub op: MapOp,
    /// What each argument is bound to.
    pub binds: SmallVec<[Bind; 3]>,
    /// For an expression without operands: the shape to fill.
    pub create: Option<Shape>,
}

impl Clone for Map {
    // By bytes; the derived one goes through an iterator.
    #[inline]
    fn clone(&self) -> Self {
        Map { op: self.op.clone(), binds: SmallVec::from_slice(&self.binds), create: self.create.clone() }
    }
}

/// A row of the table, or any expression.
#[derive(Clone, PartialEq, Debug)]
pub enum MapOp {
    /// A row.
    Row(Row),
    /// An interned expression.
    Graph(Arc<Graph>),
}

/// What an argument of a map is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bind {
    /// The next operand.
    Input,
    /// A number, given at the call.
    Scalar(Lit),
}

/// A view: the shape, strides and offset of the result follow from the operand's layout.
#[derive(Clone, PartialEq, Debug)]
pub enum View {
    /// The same elements in row-major order under another shape; only where the layout allows it without a copy.
    Reshape(Shape),
    /// Axis k of the result is axis `order[k]` of the operand.
    Permute(AxisList),
    /// Broadcast to a shape.
    Expand(Shape),
    /// A range of each axis, any step but 0.
    Slice(SmallVec<[SliceRange; 8]>),
    /// The elements `[.., i, .., i + offset, ..]` of two axes, as a last axis.
    Diagonal {
        /// Above (positive) or below (negative) the main diagonal.
        offset: isize,
        /// The row axis.
        a: usize,
        /// The column axis.
        b: usize,
    },
    /// Windows of an axis, as a last axis.
    Unfold {
        /// The axis.
        axis: usize,
        /// The length of a window.
        size: usize,
        /// The distance between windows.
        step: usize,
    },
}

/// A fold over axes.
#[derive(Clone, PartialEq, Debug)]
pub struct Reduce {
    /// The fold.
    pub op: ReduceOp,
    /// The axes, ascending. Arg folds take one axis.
    pub axes: AxisList,
    /// Do the axes stay, with size 1?
    pub keepdim: bool,
}

/// Folds. The value of an empty fold is the neutral element; `Max`, `Min` and the arg folds have none and refuse.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReduceOp {
    /// Sum; integers and bool in 64 bits (i64, u64), narrow floats accumulate in f32.
    Sum,
    /// Product; dtypes as for `Sum`.
    Prod,
    /// Largest; NaN if there is one.
    Max,
    /// Smallest; NaN if there is one.
    Min,
    /// Is one not zero? (bool)
    Any,
    /// Is none zero? (bool)
    All,
    /// Index (i64) of the first largest; of the first NaN if there is one.
    ArgMax,
    /// Index (i64) of the first smallest; of the first NaN if there is one.
    ArgMin,
}

/// A running fold along an axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Scan {
    /// The fold.
    pub op: ScanOp,
    /// The axis.
    pub axis: usize,
    /// From the end to the start.
    pub reverse: bool,
    /// Each element gets the fold of those before it, the first the neutral element.
    pub exclusive: bool,
}

/// Running folds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScanOp {
    /// Sum; dtypes as for [`ReduceOp::Sum`].
    Sum,
    /// Product; dtypes as for [`ReduceOp::Sum`].
    Prod,
    /// Largest so far; NaN from the first NaN on.
    Max,
    /// Smallest so far; NaN from the first NaN on.
    Min,
}

impl ScanOp {
    /// The name of the running fold.
    pub const fn name(self) -> &'static str {
        match self {
            ScanOp::Sum => "cumsum",
            ScanOp::Prod => "cumprod",
            ScanOp::Max => "cummax",
            ScanOp::Min => "cummin",
        }
    }
}

/// What a scatter does where an index meets an element.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScatterOp {
    /// Replaces it; the last one stays.
    Set,
    /// Adds to it.
    Add,
    /// Multiplies it.
    Mul,
    /// Keeps the smaller; NaN wins.
    Min,
    /// Keeps the larger; NaN wins.
    Max,
}

/// Operations that a device may have a kernel for. Each is defined by a composite; see `ops`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fused {
    /// `(x)`: softmax along an axis.
    Softmax {
        /// The axis.
        axis: usize,
    },
    /// `(y, g)`: pull-back of softmax from its result.
    SoftmaxBackward {
        /// The axis.
        axis: usize,
    },
    /// `(x)`: log-softmax along an axis.
    LogSoftmax {
        /// The axis.
        axis: usize,
    },
    /// `(y, g)`: pull-back of log-softmax from its result.
    LogSoftmaxBackward {
        /// The axis.
        axis: usize,
    },
    /// `(x, weight, bias)`: layer normalisation over the last axis.
    LayerNorm {
        /// Added to the variance.
        eps: f64,
    },
    /// `(x, weight, g)` -> `(d_x, d_weight, d_bias)`.
    LayerNormBackward {
        /// Added to the variance.
        eps: f64,
    },
    /// `(x, weight)`: root-mean-square normalisation over the last axis.
    RmsNorm {
        /// Added to the mean square.
        eps: f64,
    },
    /// `(x, weight, g)` -> `(d_x, d_weight)`.
    RmsNormBackward {
        /// Added to the mean square.
        eps: f64,
    },
}

/// Shape and dtype of an operand or a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meta {
    /// The shape.
    pub shape: Shape,
    /// The dtype.
    pub dtype: DType,
}

/// The metas of a primitive's results.
pub type Metas = SmallVec<[Meta; 1]>;

impl MapOp {
    /// The expression.
    pub fn graph(&self) -> &Arc<Graph> {
        match self {
            MapOp::Row(row) => row.graph(),
            MapOp::Graph(graph) => graph,
        }
    }
}

impl Map {
    /// The typed expression for operands of these dtypes.
    ///
    /// # Errors
    /// `Error::DType` if the expression does not accept them.
    pub fn program(&self, dtypes: impl IntoIterator<Item = DType>) -> Result<Arc<Program>> {
        let mut inputs = dtypes.into_iter();
        let args: SmallVec<[ArgType; 4]> = self
            .binds
            .iter()
            .map(|b| match b {
                Bind::Input => ArgType::Tensor(inputs.next().unwrap_or(DType::Bool)),
                Bind::Scalar(l) => ArgType::Scalar(l.weak()),
            })
            .collect();
        self.op.graph().program(&args)
    }

    fn infer(&self, inputs: &[(&[usize], DType)]) -> Result<Metas> {
        let shape = match &self.create {
            Some(shape) => shape.clone(),
            None => match inputs {
                [(one, _)] => Shape::from(*one),
                [(a, _), (b, _)] if a == b => Shape::from(*a),
                _ => {
                    let shapes: SmallVec<[&[usize]; 4]> = inputs.iter().map(|(s, _)| *s).collect();
                    broadcast(self.name(), &shapes)?
                }
            },
        };
        // The common case, one dtype that the row takes as it is, needs no program.
        if let (MapOp::Row(row), [(_, first), rest @ ..]) = (&self.op, inputs) {
            let Class::Common { dtypes, masks } = row.class() else { unreachable!("rows have a common dtype") };
            let plain = masks == 0
                && dtypes.contains(*first)
                && !first.is_complex()
                && rest.iter().all(|(_, d)| d == first)
                && self.binds.iter().all(|b| match b {
                    Bind::Input => true,
                    Bind::Scalar(l) => crate::dtype::promote_weak(*first, l.weak()) == *first,
                });
            if plain && !first.is_bool() {
                let dtype = if row.info().answers_mask { DType::Bool } else { *first };
                return Ok(smallvec![Meta { shape, dtype }]);
            }
        }
        let program = self.program(inputs.iter().map(|&(_, d)| d))?;
        Ok((0..program.outs.len()).map(|k| Meta { shape: shape.clone(), dtype: program.out(k) }).collect())
    }

    fn name(&self) -> &'static str {
        match &self.op {
            MapOp::Row(row) => row.name(),
            MapOp::Graph(_) => "map",
        }
    }
}

impl View {
    /// The layout that the view gives of an operand's.
    ///
    /// # Errors
    /// The error of the view, e.g. `Error::Shape` for a reshape that needs a copy.
    pub fn apply(&self, layout: &Layout) -> Result<Layout> {
        match self {
            View::Reshape(shape) => layout.reshape("reshape", shape)?.ok_or_else(|| {
                Error::shape(
                    "reshape",
                    "a layout that can be seen under this shape without a copy",
                    &[layout.shape(), shape],
                )
            }),
            View::Permute(order) => layout.permute("permute", order),
            View::Expand(shape) => layout.broadcast_to("broadcast_to", shape),
            View::Slice(ranges) => layout.slice("slice", ranges),
            View::Diagonal { offset, a, b } => layout.diagonal("diagonal", *offset, *a, *b),
            View::Unfold { axis, size, step } => layout.unfold("unfold", *axis, *size, *step),
        }
    }

    /// The name of the op.
    pub const fn name(&self) -> &'static str {
        match self {
            View::Reshape(_) => "reshape",
            View::Permute(_) => "permute",
            View::Expand(_) => "broadcast_to",
            View::Slice(_) => "slice",
            View::Diagonal { .. } => "diagonal",
            View::Unfold { .. } => "unfold",
        }
    }
}

impl ReduceOp {
    /// The name of the op.
    pub const fn name(self) -> &'static str {
        match self {
            ReduceOp::Sum => "sum",
            ReduceOp::Prod => "prod",
            ReduceOp::Max => "max",
            ReduceOp::Min => "min",
            ReduceOp::Any => "any",
            ReduceOp::All => "all",
            ReduceOp::ArgMax => "argmax",
            ReduceOp::ArgMin => "argmin",
        }
    }
}

/// The dtype in which sums and products are given.
pub fn wide(dtype: DType) -> DType {
    if dtype.is_unsigned_int() {
        DType::U64
    } else if dtype.is_int() || dtype.is_bool() {
        DType::I64
    } else {
        dtype
    }
}

impl Fused {
    /// The name of the op.
    pub const fn name(self) -> &'static str {
        match self {
            Fused::Softmax { .. } => "softmax",
            Fused::SoftmaxBackward { .. } => "softmax_backward",
            Fused::LogSoftmax { .. } => "log_softmax",
            Fused::LogSoftmaxBackward { .. } => "log_softmax_backward",
            Fused::LayerNorm { .. } => "layer_norm",
            Fused::LayerNormBackward { .. } => "layer_norm_backward",
            Fused::RmsNorm { .. } => "rms_norm",
            Fused::RmsNormBackward { .. } => "rms_norm_backward",
        }
    }
}

/// `shape` without `axes`, or with size 1 there.
fn reduced(shape: &[usize], axes: &[usize], keepdim: bool) -> Shape {
    let kept = |k: &usize| keepdim || !axes.contains(k);
    (0..shape.len()).filter(kept).map(|k| if axes.contains(&k) { 1 } else { shape[k] }).collect()
}

impl Prim {
    /// The name of the op, for errors.
    pub fn name(&self) -> &'static str {
        match self {
            Prim::Map(m) => m.name(),
            Prim::View(v) => v.name(),
            Prim::Contiguous => "contiguous",
            Prim::Concat { .. } => "cat",
            Prim::Assign { .. } => "assign",
            Prim::Reduce(r) => r.op.name(),
            Prim::Scan(s) => s.op.name(),
            Prim::Contract { .. } => "matmul",
            Prim::Gather { .. } => "gather",
            Prim::Scatter { .. } => "scatter",
            Prim::Nonzero => "nonzero",
            Prim::Sort { .. } => "sort",
            Prim::Fused(f) => f.name(),
        }
    }

    /// Checks the operands and says what the results will be. This is the one validation: a backend may assume it.
    ///
    /// The first axis of `Nonzero`'s result is an upper bound.
    ///
    /// # Errors
    /// The variant that says what does not fit.
    pub fn infer(&self, inputs: &[(&[usize], DType)]) -> Result<Metas> {
        let op = self.name();
        let one = |shape: Shape, dtype: DType| -> Result<Metas> { Ok(smallvec![Meta { shape, dtype }]) };
        let ints = DTypeSet::single(DType::I64);
        match (self, inputs) {
            (Prim::Map(m), _) => m.infer(inputs),
            (Prim::View(v), &[(shape, dtype)]) => {
                // Shape and errors of a view do not depend on strides, but for reshape, which may need a copy.
                let shape = match v {
                    View::Reshape(to) => to.clone(),
                    v => v.apply(&Layout::try_contiguous(op, shape)?)?.shape().clone(),
                };
                one(shape, dtype)
            }
            (Prim::Contiguous, &[(shape, dtype)]) => one(shape.into(), dtype),
            (&Prim::Concat { axis }, &[(first, dtype), ref rest @ ..]) => {
                let mut shape = Shape::from(first);
                if axis >= first.len() {
                    return Err(Error::Axis { op, axis: axis as isize, ndim: first.len() });
                }
                for &(s, d) in rest {
                    if s.len() != first.len() || (0..s.len()).any(|k| k != axis && s[k] != first[k]) {
                        return Err(Error::shape(op, "shapes that differ on the joined axis only", &[first, s]));
                    }
                    if d != dtype {
                        return Err(Error::dtype(op, &[dtype, d], "operands of one dtype"));
                    }
                    shape[axis] = shape[axis]
                        .checked_add(s[axis])
                        .ok_or_else(|| Error::shape(op, "a size that fits in memory", &[first, s]))?;
                }
                one(shape, dtype)
            }
            (Prim::Assign { view }, &[(base, dtype), (src, d)]) => {
                let seen = view.apply(&Layout::try_contiguous(op, base)?)?;
                if seen.shape()[..] != *src {
                    return Err(Error::shape(op, format!("a source of shape {}", seen.shape()), &[base, src]));
                }
                if d != dtype {
                    return Err(Error::dtype(op, &[dtype, d], "operands of one dtype"));
                }
                one(base.into(), dtype)
            }
            (Prim::Reduce(r), &[(shape, dtype)]) => {
                if let Some(&axis) = r.axes.iter().find(|&&a| a >= shape.len()) {
                    return Err(Error::Axis { op, axis: axis as isize, ndim: shape.len() });
                }
                let empty = r.axes.iter().any(|&a| shape[a] == 0);
                let no_neutral = matches!(r.op, ReduceOp::Max | ReduceOp::Min | ReduceOp::ArgMax | ReduceOp::ArgMin);
                let out = reduced(shape, &r.axes, r.keepdim);
                if empty && no_neutral && out.iter().all(|&n| n > 0) {
                    return Err(Error::shape(op, "at least one element to choose from", &[shape]));
                }
                if no_neutral && dtype.is_complex() {
                    return Err(Error::dtype(op, &[dtype], "an ordered dtype"));
                }
                let dtype = match r.op {
                    ReduceOp::Sum | ReduceOp::Prod => wide(dtype),
                    ReduceOp::Max | ReduceOp::Min => dtype,
                    ReduceOp::Any | ReduceOp::All => DType::Bool,
                    ReduceOp::ArgMax | ReduceOp::ArgMin => DType::I64,
                };
                one(out, dtype)
            }
            (Prim::Scan(s), &[(shape, dtype)]) => {
                if s.axis >= shape.len() {
                    return Err(Error::Axis { op, axis: s.axis as isize, ndim: shape.len() });
                }
                let ordered = matches!(s.op, ScanOp::Max | ScanOp::Min);
                if ordered && dtype.is_complex() {
                    return Err(Error::dtype(op, &[dtype], "an ordered dtype"));
                }
                one(shape.into(), if ordered { dtype } else { wide(dtype) })
            }
            (&Prim::Contract { dtype }, &[(a, da), (b, db)]) => {
                let fits = a.len() >= 2 && b.len() >= 2 && a[a.len() - 1] == b[b.len() - 2];
                if !fits {
                    return Err(Error::shape(op, "[.., m, k] and [.., k, n]", &[a, b]));
                }
                if da != db {
                    return Err(Error::dtype(op, &[da, db], "operands of one dtype"));
                }
                let ok = dtype == da || (promote(dtype, da) == dtype && !dtype.is_bool());
                if !ok {
                    return Err(Error::dtype(op, &[da, dtype], "a product dtype that holds the operands'"));
                }
                let mut shape = broadcast(op, &[&a[..a.len() - 2], &b[..b.len() - 2]])?;
                shape.push(a[a.len() - 2]);
                shape.push(b[b.len() - 1]);
                one(shape, dtype)
            }
            (&Prim::Gather { axis }, &[(x, dtype), (index, di)]) => {
                check_index(op, axis, x, index)?;
                if di != DType::I64 {
                    return Err(Error::dtype(op, &[di], ints.to_string()));
                }
                one(index.into(), dtype)
            }
            (&Prim::Scatter { axis, op: how }, &[(base, dtype), (index, di), (src, ds)]) => {
                check_index(op, axis, base, index)?;
                if index != src {
                    return Err(Error::shape(op, "index and source of one shape", &[index, src]));
                }
                if di != DType::I64 || ds != dtype {
                    return Err(Error::dtype(op, &[dtype, di, ds], "an i64 index and a source of the base's dtype"));
                }
                if matches!(how, ScatterOp::Min | ScatterOp::Max) && dtype.is_complex() {
                    return Err(Error::dtype(op, &[dtype], "an ordered dtype"));
                }
                one(base.into(), dtype)
            }
            (Prim::Nonzero, &[(shape, _)]) => one([crate::shape::try_numel(op, shape)?].into(), DType::I64),
            (&Prim::Sort { axis, .. }, &[(shape, dtype)]) => {
                if axis >= shape.len() {
                    return Err(Error::Axis { op, axis: axis as isize, ndim: shape.len() });
                }
                if dtype.is_complex() {
                    return Err(Error::dtype(op, &[dtype], "an ordered dtype"));
                }
                let meta = |dtype| Meta { shape: shape.into(), dtype };
                Ok(smallvec![meta(dtype), meta(DType::I64)])
            }
            (Prim::Fused(f), _) => f.infer(inputs),
            (_, _) => {
                let got: Vec<&[usize]> = inputs.iter().map(|(s, _)| *s).collect();
                Err(Error::shape(op, "another number of operands", &got))
            }
        }
    }
}

fn check_index(op: &'static str, axis: usize, x: &[usize], index: &[usize]) -> Result<()> {
    if axis >= x.len() {
        return Err(Error::Axis { op, axis: axis as isize, ndim: x.len() });
    }
    let fits = x.len() == index.len() && (0..x.len()).all(|k| k == axis || index[k] <= x[k]);
    if !fits {
        return Err(Error::shape(op, "an index of the tensor's rank, not larger on the other axes", &[x, index]));
    }
    Ok(())
}

impl Fused {
    fn infer(&self, inputs: &[(&[usize], DType)]) -> Result<Metas> {
        let op = self.name();
        let meta = |(shape, dtype): (&[usize], DType)| Meta { shape: shape.into(), dtype };
        let Some(&x) = inputs.first() else {
            return Err(Error::shape(op, "an operand", &[]));
        };
        if !x.1.is_float() || inputs.iter().any(|i| i.1 != x.1) {
            let got: Vec<DType> = inputs.iter().map(|i| i.1).collect();
            return Err(Error::dtype(op, &got, "floating-point operands of one dtype"));
        }
        let mismatch = |expected: &'static str| {
            let got: Vec<&[usize]> = inputs.iter().map(|i| i.0).collect();
            Err(Error::shape(op, expected, &got))
        };
        match (*self, inputs) {
            (Fused::Softmax { axis } | Fused::LogSoftmax { axis }, [_]) if axis < x.0.len() => Ok(smallvec![meta(x)]),
            (Fused::SoftmaxBackward { axis } | Fused::LogSoftmaxBackward { axis }, [y, g])
                if y.0 == g.0 && axis < x.0.len() =>
            {
                Ok(smallvec![meta(x)])
            }
            (Fused::LayerNorm { .. }, [_, w, b]) if last(x.0, w.0) && w.0 == b.0 => Ok(smallvec![meta(x)]),
            (Fused::RmsNorm { .. }, [_, w]) if last(x.0, w.0) => Ok(smallvec![meta(x)]),
            (Fused::LayerNormBackward { .. }, [_, w, g]) if last(x.0, w.0) && x.0 == g.0 => {
                Ok(smallvec![meta(x), meta(*w), meta(*w)])
            }
            (Fused::RmsNormBackward { .. }, [_, w, g]) if last(x.0, w.0) && x.0 == g.0 => {
                Ok(smallvec![meta(x), meta(*w)])
            }
            _ => mismatch("operands that agree on the normalised axis"),
        }
    }
}

/// Is the weight a vector over the last axis?
fn last(x: &[usize], weight: &[usize]) -> bool {
    weight.len() == 1 && x.last() == weight.first()
}
