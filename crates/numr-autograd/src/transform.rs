//! Functions to functions: gradients, products with Jacobians, Jacobians, Hessians.
//!
//! What is differentiated is a closure over tensors of a decorated runtime; a function that is generic in the runtime
//! fits everywhere: `grad(|x| f(x), &x)`. A result that does not depend on an input has a gradient of zeros (in
//! [`crate::strict`] mode it is an error).

use crate::custom::Plain;
use crate::dual::{Dual, dual, tangent, tangent_of};
use crate::reverse::{differentiable, pull, pull_asked};
use crate::rules::view::concat;
use crate::tape::{Edge, Tape, inexact, is_strict, leaf, value};
use numr_core::scalar::Scalar;
use numr_core::scalar::expr::Expr;
use numr_core::{Error, Lit, Result, Runtime, Shape, Tensor};

/// A tensor on the tape of `R`.
type Taped<R> = Tensor<Tape<R>>;
/// A tensor on the tape of the dual numbers over `R`: both modes at once.
type Mixed<R> = Tensor<Tape<Dual<R>>>;

/// The gradient at `x` of a function with a result of one element.
///
/// # Errors
/// `Error::Grad` if the result has more elements or an operation has no derivative; errors of `f`.
///
/// ```
/// use numr_autograd::grad;
/// use numr_core::Tensor;
/// use numr_cpu::{CpuDevice, CpuRuntime};
///
/// let x = Tensor::<CpuRuntime>::from_slice(&[1.0f64, 2.0], &[2], &CpuDevice::new());
/// let g = grad(|x| x.square()?.sum(.., false), &x)?;
/// assert_eq!(g.to_vec::<f64>(), [2.0, 4.0]);
/// // The gradient is a function too: here its sum is differentiated once more.
/// let h = grad(|x| grad(|x| x.square()?.sum(.., false), x)?.sum(.., false), &x)?;
/// assert_eq!(h.to_vec::<f64>(), [2.0, 2.0]);
/// # Ok::<(), numr_core::Error>(())
/// ```
pub fn grad<R: Runtime>(f: impl FnOnce(&Taped<R>) -> Result<Taped<R>>, x: &Tensor<R>) -> Result<Tensor<R>> {
    Ok(value_and_grad(f, x)?.1)
}

/// The value and the gradient at `x`.
///
/// # Errors
/// As [`grad`].
pub fn value_and_grad<R: Runtime>(
    f: impl FnOnce(&Taped<R>) -> Result<Taped<R>>,
    x: &Tensor<R>,
) -> Result<(Tensor<R>, Tensor<R>)> {
    let (y, mut grads) = value_and_grad_many(|xs| f(&xs[0]), std::slice::from_ref(x))?;
    Ok((y, grads.swap_remove(0)))
}

/// The gradients of a function of several inputs.
///
/// # Errors
/// As [`grad`].
pub fn grad_many<R: Runtime>(
    f: impl FnOnce(&[Taped<R>]) -> Result<Taped<R>>,
    xs: &[Tensor<R>],
) -> Result<Vec<Tensor<R>>> {
    Ok(value_and_grad_many(f, xs)?.1)
}

/// The value and the gradients of a function of several inputs.
///
/// # Errors
/// As [`grad`].
pub fn value_and_grad_many<R: Runtime>(
    f: impl FnOnce(&[Taped<R>]) -> Result<Taped<R>>,
    xs: &[Tensor<R>],
) -> Result<(Tensor<R>, Vec<Tensor<R>>)> {
    let leaves = variables("grad", xs)?;
    let edges: Vec<Option<Edge<R>>> = leaves.iter().map(|t| t.storage().origin().cloned()).collect();
    let y = f(&leaves)?;
    drop(leaves);
    let out = value(&y);
    if y.storage().origin().is_none() && y.numel() == 1 && inexact(y.dtype()) && !is_strict() {
        return Ok((out, xs.iter().map(Tensor::zeros_like).collect::<Result<_>>()?));
    }
    let edge = differentiable(&y)?;
    // Nothing but the walk holds the graph now, so that it is freed as it is walked.
    drop(y);
    let seed = out.ones_like()?;
    let grads = pull_asked::<R, Plain>(vec![(edge, seed)], &edges)?;
    Ok((out, or_zeros(grads, xs)?))
}

fn variables<R: Runtime>(op: &'static str, xs: &[Tensor<R>]) -> Result<Vec<Taped<R>>> {
    match xs.iter().find(|x| !inexact(x.dtype())) {
        Some(x) => Err(Error::dtype(op, &[x.dtype()], "inputs of a floating-point or complex dtype")),
        None => Ok(xs.iter().map(leaf).collect()),
    }
}

fn or_zeros<R: Runtime>(grads: Vec<Option<Tensor<R>>>, xs: &[Tensor<R>]) -> Result<Vec<Tensor<R>>> {
    grads.into_iter().zip(xs).map(|(g, x)| g.map_or_else(|| x.zeros_like(), Ok)).collect()
}

/// What [`vjp`] answers: the way back from cotangents of the results to gradients of the inputs, as often as wanted.
#[derive(Debug)]
pub struct Pullback<R: Runtime> {
    inputs: Vec<Taped<R>>,
    outputs: Vec<Taped<R>>,
}

impl<R: Runtime> Pullback<R> {
    /// The cotangents times the Jacobian: Jᴴ·g, one gradient an input. There must be one cotangent a result, in its
    /// shape.
    ///
    /// # Errors
    /// `Error::Grad` for cotangents that do not fit, or if an operation has no derivative.
    pub fn call(&self, cotangents: &[Tensor<R>]) -> Result<Vec<Tensor<R>>> {
        let fits = |(y, g): (&Taped<R>, &Tensor<R>)| y.shape() == g.shape() && y.dtype() == g.dtype();
        if self.outputs.len() != cotangents.len() || !self.outputs.iter().zip(cotangents).all(fits) {
            return Err(Error::grad("vjp", "there must be a cotangent a result, of its shape and dtype"));
        }
        let seed = |(y, g): (&Taped<R>, &Tensor<R>)| Some((y.storage().origin()?.clone(), g.clone()));
        let seeds = self.outputs.iter().zip(cotangents).filter_map(seed).collect();
        let edges: Vec<Option<Edge<R>>> = self.inputs.iter().map(|t| t.storage().origin().cloned()).collect();
        let values: Vec<Tensor<R>> = self.inputs.iter().map(value).collect();
        or_zeros(pull_asked::<R, Plain>(seeds, &edges)?, &values)
    }
}

/// The value at `x` of a function of any result, and the gradient along a cotangent of it, Jᴴ·g.
///
/// # Errors
/// As [`grad`].
pub fn vjp<R: Runtime>(
    f: impl FnOnce(&Taped<R>) -> Result<Taped<R>>,
    x: &Tensor<R>,
    cotangent: &Tensor<R>,
) -> Result<(Tensor<R>, Tensor<R>)> {
    let (mut ys, back) = vjp_many(|xs| Ok(vec![f(&xs[0])?]), std::slice::from_ref(x))?;
    let mut grads = back.call(std::slice::from_ref(cotangent))?;
    Ok((ys.swap_remove(0), grads.swap_remove(0)))
}

/// The values of a function of several inputs and results, and the way back.
///
/// # Errors
/// As [`grad`].
pub fn vjp_many<R: Runtime>(
    f: impl FnOnce(&[Taped<R>]) -> Result<Vec<Taped<R>>>,
    xs: &[Tensor<R>],
) -> Result<(Vec<Tensor<R>>, Pullback<R>)> {
    let inputs = variables("vjp", xs)?;
    let outputs = f(&inputs)?;
    Ok((outputs.iter().map(value).collect(), Pullback { inputs, outputs }))
}

/// The value at `x` and the derivative along `tangent`, J·t, in one pass.
///
/// # Errors
/// `Error::Grad` if the tangent does not fit `x` or an operation has no derivative; errors of `f`.
///
/// ```
/// use numr_autograd::jvp;
/// use numr_core::Tensor;
/// use numr_cpu::{CpuDevice, CpuRuntime};
///
/// let device = CpuDevice::new();
/// let x = Tensor::<CpuRuntime>::from_slice(&[1.0f64, 2.0], &[2], &device);
/// let t = Tensor::from_slice(&[1.0f64, 0.0], &[2], &device);
/// let (y, dy) = jvp(|x| x.square(), &x, &t)?;
/// assert_eq!((y.to_vec::<f64>(), dy.to_vec::<f64>()), (vec![1.0, 4.0], vec![2.0, 0.0]));
/// # Ok::<(), numr_core::Error>(())
/// ```
pub fn jvp<R: Runtime>(
    f: impl FnOnce(&Tensor<Dual<R>>) -> Result<Tensor<Dual<R>>>,
    x: &Tensor<R>,
    tangent: &Tensor<R>,
) -> Result<(Tensor<R>, Tensor<R>)> {
    let one = std::slice::from_ref;
    let (mut ys, mut ts) = jvp_many(|xs| Ok(vec![f(&xs[0])?]), one(x), one(tangent))?;
    Ok((ys.swap_remove(0), ts.swap_remove(0)))
}

/// The values and tangents of a function of several inputs and results.
///
/// # Errors
/// As [`jvp`].
pub fn jvp_many<R: Runtime>(
    f: impl FnOnce(&[Tensor<Dual<R>>]) -> Result<Vec<Tensor<Dual<R>>>>,
    xs: &[Tensor<R>],
    tangents: &[Tensor<R>],
) -> Result<(Vec<Tensor<R>>, Vec<Tensor<R>>)> {
    if xs.len() != tangents.len() {
        return Err(Error::grad("jvp", format!("{} inputs and {} tangents", xs.len(), tangents.len())));
    }
    let duals = xs.iter().zip(tangents).map(|(x, t)| dual(x, Some(t))).collect::<Result<Vec<_>>>()?;
    let ys = f(&duals)?;
    let ts = ys.iter().map(tangent_of).collect::<Result<_>>()?;
    Ok((ys.iter().map(crate::dual::primal).collect(), ts))
}

/// The Jacobian at `x`, of shape `[result.., x..]`: by rows in reverse mode or by columns in forward mode, whichever are
/// fewer.
///
/// # Errors
/// `Error::DType` unless `x` is real; `Error::Grad` if an operation has no derivative; errors of `f`.
///
/// ```
/// use numr_autograd::jacobian;
/// use numr_core::Tensor;
/// use numr_cpu::{CpuDevice, CpuRuntime};
///
/// let x = Tensor::<CpuRuntime>::from_slice(&[1.0f64, 2.0], &[2], &CpuDevice::new());
/// let j = jacobian(|x| x.square(), &x)?;
/// assert_eq!(j.to_vec::<f64>(), [2.0, 0.0, 0.0, 4.0]);
/// # Ok::<(), numr_core::Error>(())
/// ```
pub fn jacobian<R: Runtime>(mut f: impl FnMut(&Mixed<R>) -> Result<Mixed<R>>, x: &Tensor<R>) -> Result<Tensor<R>> {
    real("jacobian", x)?;
    // The first column comes with the recording, which says how many rows there are.
    let start = leaf(&dual(x, (x.numel() > 0).then(|| basis(x, 0)).transpose()?.as_ref())?);
    let y = f(&start)?;
    let (rows, columns) = (y.numel(), x.numel());
    let shape: Shape = y.shape().iter().chain(x.shape()).copied().collect();
    if rows == 0 || columns == 0 {
        return Tensor::try_zeros(&shape, x.dtype(), x.device());
    }
    let below = |y: &Mixed<R>| tangent_of(&value(y));
    if columns <= rows {
        let mut all = vec![below(&y)?];
        for k in 1..columns {
            all.push(below(&f(&crate::tape::constant(&dual(x, Some(&basis(x, k)?))?))?)?);
        }
        return stack(&all)?.t()?.reshape(&shape);
    }
    let flat = y.reshape(&[rows])?;
    let mut all = Vec::with_capacity(rows);
    let (edges, values) = ([start.storage().origin().cloned()], value(&flat));
    for k in 0..rows {
        let grads = match flat.storage().origin() {
            Some(edge) => pull::<Dual<R>, Plain>(vec![(edge.clone(), basis(&values, k)?)], &edges, false)?,
            None => vec![None],
        };
        all.push(grads[0].as_ref().map_or_else(|| x.zeros_like(), |g| Ok(crate::dual::primal(g)))?);
    }
    stack(&all)?.reshape(&shape)
}

/// The Jacobian at `x` by columns.
pub(crate) fn columns<R: Runtime>(
    mut f: impl FnMut(&Tensor<Dual<R>>) -> Result<Tensor<Dual<R>>>,
    x: &Tensor<R>,
) -> Result<Tensor<R>> {
    real("jacobian_forward", x)?;
    let ys = (0..x.numel()).map(|k| f(&dual(x, Some(&basis(x, k)?))?)).collect::<Result<Vec<_>>>()?;
    let Some(y) = ys.first() else { return Tensor::try_zeros(x.shape(), x.dtype(), x.device()) };
    let shape: Shape = y.shape().iter().chain(x.shape()).copied().collect();
    stack(&ys.iter().map(tangent_of).collect::<Result<Vec<_>>>()?)?.t()?.reshape(&shape)
}

/// The Hessian at `x` of a function with a result of one element, of shape `[x.., x..]`: forward over reverse.
///
/// # Errors
/// As [`hvp`].
pub fn hessian<R: Runtime>(mut f: impl FnMut(&Mixed<R>) -> Result<Mixed<R>>, x: &Tensor<R>) -> Result<Tensor<R>> {
    real("hessian", x)?;
    let shape: Shape = x.shape().iter().chain(x.shape()).copied().collect();
    if x.is_empty() {
        return Tensor::try_zeros(&shape, x.dtype(), x.device());
    }
    let columns = (0..x.numel()).map(|k| hvp(&mut f, x, &basis(x, k)?)).collect::<Result<Vec<_>>>()?;
    stack(&columns)?.reshape(&shape)
}

/// The Hessian at `x` times `v` without the Hessian: forward over reverse, at a small multiple of the cost of `f`.
///
/// # Errors
/// `Error::Grad` if the result has more than one element or an operation has no derivative; errors of `f`.
///
/// ```
/// use numr_autograd::hvp;
/// use numr_core::Tensor;
/// use numr_cpu::{CpuDevice, CpuRuntime};
///
/// let device = CpuDevice::new();
/// let x = Tensor::<CpuRuntime>::from_slice(&[1.0f64, 2.0], &[2], &device);
/// let v = Tensor::from_slice(&[1.0f64, 1.0], &[2], &device);
/// let h = hvp(|x| x.square()?.mul(x)?.sum(.., false), &x, &v)?;
/// assert_eq!(h.to_vec::<f64>(), [6.0, 12.0]);
/// # Ok::<(), numr_core::Error>(())
/// ```
pub fn hvp<R: Runtime>(
    f: impl FnOnce(&Mixed<R>) -> Result<Mixed<R>>,
    x: &Tensor<R>,
    v: &Tensor<R>,
) -> Result<Tensor<R>> {
    let g = grad(f, &dual(x, Some(v))?)?;
    match tangent(&g) {
        Some(t) => Ok(t.clone()),
        None => x.zeros_like(),
    }
}

fn real<R: Runtime>(op: &'static str, x: &Tensor<R>) -> Result<()> {
    match x.dtype().is_float() {
        true => Ok(()),
        false => Err(Error::dtype(op, &[x.dtype()], "an input of a floating-point dtype")),
    }
}

/// 1 at one place, in row-major order, and 0 elsewhere.
pub(crate) fn basis<S: Runtime>(like: &Tensor<S>, place: usize) -> Result<Tensor<S>> {
    let dtype = like.dtype();
    Tensor::try_from_expr(like.shape(), &[Lit::from(place as i64)], like.device(), |arena, a| {
        let here = arena.index().eq(a[0].cast(numr_core::DType::I64));
        Expr::select(here, Expr::lit(1.0), Expr::lit(0.0)).cast(dtype)
    })
}

/// The tensors as the rows of a matrix.
fn stack<R: Runtime>(rows: &[Tensor<R>]) -> Result<Tensor<R>> {
    let rows = rows.iter().map(|t| t.reshape(&[1, t.numel()])).collect::<Result<Vec<_>>>()?;
    concat(0, &rows.iter().collect::<Vec<_>>())
}
