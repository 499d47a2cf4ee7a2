//! Fusion: one kernel for a formula over several tensors.

pub use super::map::symbolic::Symbolic;
use super::operands::Operand;
use crate::error::{Error, Result};
use crate::prim::{Bind, Map, MapOp, Prim};
use crate::runtime::Runtime;
use crate::scalar::expr::Expr;
use crate::scalar::graph::{Class, Graph};
use crate::tensor::Tensor;
use smallvec::SmallVec;

/// One kernel for a formula: `inputs` broadcast against each other, and `body` is written over their elements.
///
/// The body has the operators, the ops of the table as methods ([`crate::ops::map::symbolic::Symbolic`]) and
/// [`Expr::cast`]. The result has the bits of the same ops one by one, but in narrow floats, which compute in f32 and round
/// once, at the end. It is differentiable to any order. `/` on integers is integer division here.
///
/// ```
/// # use numr_core::{DType, Tensor};
/// # use numr_cpu::{CpuDevice, CpuRuntime};
/// # let device = CpuDevice::new();
/// use numr_core::ops::{fuse, map::symbolic::Symbolic};
/// let x = Tensor::<CpuRuntime>::from_slice(&[-1.0f32, 2.0], &[2], &device);
/// let y = Tensor::from_slice(&[3.0f32], &[1], &device);
/// let z = fuse([&x, &y], |[x, y]| (x * y).relu() + 1.0)?;
/// assert_eq!(z.to_vec::<f32>(), [1.0, 7.0]);
/// # Ok::<(), numr_core::Error>(())
/// ```
///
/// # Errors
/// `Error::Broadcast`, `Error::DType` or `Error::DeviceMismatch` where the operands do not fit together.
pub fn fuse<R: Runtime, const N: usize>(
    inputs: [&Tensor<R>; N],
    body: impl for<'a> FnOnce([Expr<'a>; N]) -> Expr<'a>,
) -> Result<Tensor<R>> {
    fuse_with(inputs.map(Operand::Tensor), body)
}

/// As [`fuse`], over tensors and scalars; scalars are arguments of the kernel, not part of its text.
pub(crate) fn fuse_with<R: Runtime, const N: usize>(
    operands: [Operand<'_, R>; N],
    body: impl for<'a> FnOnce([Expr<'a>; N]) -> Expr<'a>,
) -> Result<Tensor<R>> {
    Tensor::map(MapOp::Graph(formula(body)), &operands)
}

/// The formula as a graph of `N` arguments.
pub(crate) fn formula<const N: usize>(body: impl for<'a> FnOnce([Expr<'a>; N]) -> Expr<'a>) -> std::sync::Arc<Graph> {
    const { assert!(N <= u8::MAX as usize, "at most 255 operands") };
    Graph::build(N as u8, Class::Free, |_, args| vec![body(std::array::from_fn(|k| args[k]))])
}

/// Several formulas over the same operands in one kernel; the results come in the order of the formulas.
///
/// # Errors
/// As [`fuse`].
pub fn fuse_many<R: Runtime, const N: usize, const M: usize>(
    inputs: [&Tensor<R>; N],
    body: impl for<'a> FnOnce([Expr<'a>; N]) -> [Expr<'a>; M],
) -> Result<SmallVec<[Tensor<R>; 1]>> {
    let graph = Graph::build(N as u8, Class::Free, |_, args| body(std::array::from_fn(|k| args[k])).into());
    let binds = (0..N).map(|_| Bind::Input).collect();
    Tensor::run(&Prim::Map(Map { op: MapOp::Graph(graph), binds, create: None }), &inputs)
}

/// As [`fuse_many`], over tensors and then numbers, which are arguments of the kernel and no part of its text.
pub(crate) fn fuse_many_with<R: Runtime, const N: usize, const M: usize>(
    tensors: &[&Tensor<R>],
    numbers: &[f64],
    body: impl for<'a> FnOnce([Expr<'a>; N]) -> [Expr<'a>; M],
) -> Result<[Tensor<R>; M]> {
    let graph = Graph::build(N as u8, Class::Free, |_, args| body(std::array::from_fn(|k| args[k])).into());
    let binds = tensors.iter().map(|_| Bind::Input).chain(numbers.iter().map(|&n| Bind::Scalar(n.into()))).collect();
    let out = Tensor::run(&Prim::Map(Map { op: MapOp::Graph(graph), binds, create: None }), tensors)?;
    let found = out.len();
    let odd = move |_| Error::argument("fuse", "results", format!("{M} were expected, the runtime gave {found}"));
    out.into_vec().try_into().map_err(odd)
}
