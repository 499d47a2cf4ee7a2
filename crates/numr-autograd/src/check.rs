//! The gradient checker: both modes against each other and against differences of values.

use crate::custom::Plain;
use crate::dual::{Dual, dual, primal, tangent_of};
use crate::reverse::pull;
use crate::tape::{Tape, constant, leaf, value};
use crate::transform::basis;
use numr_core::rng::Key;
use numr_core::{DType, Error, Result, Runtime, Tensor};

/// How a check is made. The default suits functions whose values and inputs are about 1 in size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Check {
    /// Distance of the points that differences are taken over: four of them, so that the error is of its fourth power.
    pub step: f64,
    /// Allowed difference, relative to the larger of 1 and the greatest slope.
    pub tolerance: f64,
    /// 1: gradients; 2: gradients of gradients too.
    pub order: u32,
    /// Up to this many elements each is moved alone; above, all are moved at random, eight times.
    pub elements: usize,
}

impl Default for Check {
    fn default() -> Self {
        Check { step: 1e-3, tolerance: 1e-8, order: 2, elements: 64 }
    }
}

/// [`Check::run`] as it is by default.
///
/// # Errors
/// As there.
///
/// ```
/// use numr_autograd::check_gradients;
/// use numr_core::Tensor;
/// use numr_cpu::{CpuDevice, CpuRuntime};
///
/// let x = Tensor::<CpuRuntime>::from_slice(&[0.3f64, -1.2], &[2], &CpuDevice::new());
/// check_gradients(|x| x[0].tanh()?.mul(&x[0]), &[x.clone()])?;
/// // The slope of a rounding is not what differences over it would say, nor is a constant's.
/// let wrong = check_gradients(|x| x[0].sub(&numr_autograd::Tape::detach(&x[0].sin()?)), &[x]);
/// assert!(wrong.is_err());
/// # use numr_core::Runtime;
/// # Ok::<(), numr_core::Error>(())
/// ```
pub fn check_gradients<R: Runtime>(
    f: impl Fn(&[Tensor<Tape<Dual<R>>>]) -> Result<Tensor<Tape<Dual<R>>>>,
    xs: &[Tensor<R>],
) -> Result<()> {
    Check::default().run(f, xs)
}

impl Check {
    /// Checks the derivatives of `f` at `xs`, along random weights w of its result: ∇⟨w, f⟩ in reverse mode, the same in
    /// forward mode, and for the second order the Hessian of ⟨w, f⟩ as forward over reverse; each against central
    /// differences of what is one order below.
    ///
    /// # Errors
    /// `Error::Grad` that names the input, the element and both numbers; `Error::DType` unless inputs and result are f64;
    /// errors of `f`.
    pub fn run<R: Runtime>(
        &self,
        f: impl Fn(&[Tensor<Tape<Dual<R>>>]) -> Result<Tensor<Tape<Dual<R>>>>,
        xs: &[Tensor<R>],
    ) -> Result<()> {
        if let Some(x) = xs.iter().find(|x| x.dtype() != DType::F64) {
            return Err(Error::dtype("check_gradients", &[x.dtype()], "f64 inputs: differences need its digits"));
        }
        let probe = Probe { f: &f, key: Key::new(0) };
        let at = probe.slopes(xs, None)?;
        let tolerance = self.tolerance * at.gradient.iter().map(greatest).try_fold(1.0, |m, g| g.map(|g| g.max(m)))?;
        for (k, x) in xs.iter().enumerate() {
            let alone = x.numel() <= self.elements;
            for turn in 0..if alone { x.numel() } else { 8 } {
                let v = match alone {
                    true => basis(x, turn)?,
                    false => {
                        let v = probe.key.child(2 + turn as u64).normal(x.shape(), x.dtype(), x.device())?;
                        v.div((x.numel() as f64).sqrt())?
                    }
                };
                let place = || match alone {
                    true => format!("input {k}, element {turn} (row-major)"),
                    false => format!("input {k}, along random direction {turn}"),
                };
                let compare = |what: &str, found: f64, differences: f64| {
                    if (found - differences).abs() <= tolerance {
                        return Ok(());
                    }
                    let reason = format!("{}: {what} gives {found:e}, differences {differences:e}", place());
                    Err(Error::grad("check_gradients", reason))
                };
                let moved = |h: f64| -> Result<Vec<Tensor<R>>> {
                    let mut xs = xs.to_vec();
                    xs[k] = x.add(&v.mul(h * self.step)?)?;
                    Ok(xs)
                };
                let along = probe.slopes(xs, Some((k, &v)))?;
                let near = |h: f64| probe.slopes(&moved(h)?, None);
                let points = [near(1.0)?, near(-1.0)?, near(2.0)?, near(-2.0)?];
                let slope = |p: [f64; 4]| (8.0 * (p[0] - p[1]) - (p[2] - p[3])) / (12.0 * self.step);
                let differences = slope([0, 1, 2, 3].map(|p| points[p].value));
                let reverse = dot(&at.gradient[k], &v)?;
                compare("reverse mode", reverse, differences)?;
                compare("forward mode", along.tangent, differences)?;
                // One is the transpose of the other: they differ by rounding alone.
                let rounding = 1e-12 * dot(&at.gradient[k].abs()?, &v.abs()?)?.max(1.0);
                if (reverse - along.tangent).abs() > rounding {
                    let reason =
                        format!("{}: reverse mode gives {reverse:e}, forward mode {:e}", place(), along.tangent);
                    return Err(Error::grad("check_gradients", reason));
                }
                for other in (0..xs.len()).filter(|_| self.order > 1) {
                    let w = probe.key.child(1).normal(xs[other].shape(), DType::F64, x.device())?;
                    let [a, b, c, d] = [0, 1, 2, 3].map(|p| dot(&points[p].gradient[other], &w));
                    let what = format!("forward over reverse (of the gradient of input {other})");
                    compare(&what, dot(&along.curvature[other], &w)?, slope([a?, b?, c?, d?]))?;
                }
            }
        }
        Ok(())
    }
}

/// A function with fixed weights of its result.
struct Probe<'f, F> {
    f: &'f F,
    key: Key,
}

/// What is known of ⟨w, f⟩ at a point.
struct Slopes<R: Runtime> {
    value: f64,
    /// Along the tangent.
    tangent: f64,
    gradient: Vec<Tensor<R>>,
    /// The gradient's derivative along the tangent.
    curvature: Vec<Tensor<R>>,
}

impl<F> Probe<'_, F> {
    fn slopes<R: Runtime>(&self, xs: &[Tensor<R>], along: Option<(usize, &Tensor<R>)>) -> Result<Slopes<R>>
    where
        F: Fn(&[Tensor<Tape<Dual<R>>>]) -> Result<Tensor<Tape<Dual<R>>>>,
    {
        let tangent = |k: usize| along.filter(|&(at, _)| at == k).map(|(_, v)| v);
        let leaves = (0..).zip(xs).map(|(k, x)| Ok(leaf(&dual(x, tangent(k))?))).collect::<Result<Vec<_>>>()?;
        let y = (self.f)(&leaves)?;
        if y.dtype() != DType::F64 {
            return Err(Error::dtype("check_gradients", &[y.dtype()], "an f64 result"));
        }
        let w = self.key.child(0).normal(y.shape(), DType::F64, y.device())?;
        let y = y.mul(&constant(&dual(&w, None)?))?.sum(.., false)?;
        let edges: Vec<_> = leaves.iter().map(|t| t.storage().origin().cloned()).collect();
        let below = value(&y);
        let seeds = y.storage().origin().map(|edge| Ok((edge.clone(), below.ones_like()?)));
        let grads = pull::<Dual<R>, Plain>(seeds.into_iter().collect::<Result<_>>()?, &edges, false)?;
        let grads = grads.into_iter().zip(xs).map(|(g, x)| g.map_or_else(|| dual(&x.zeros_like()?, None), Ok));
        let grads: Vec<_> = grads.collect::<Result<_>>()?;
        Ok(Slopes {
            value: primal(&below).item()?,
            tangent: tangent_of(&below)?.item()?,
            gradient: grads.iter().map(primal).collect(),
            curvature: grads.iter().map(tangent_of).collect::<Result<_>>()?,
        })
    }
}

fn dot<R: Runtime>(a: &Tensor<R>, b: &Tensor<R>) -> Result<f64> {
    a.mul(b)?.sum(.., false)?.item()
}

fn greatest<R: Runtime>(x: &Tensor<R>) -> Result<f64> {
    if x.is_empty() { Ok(0.0) } else { x.abs()?.max(.., false)?.item() }
}
