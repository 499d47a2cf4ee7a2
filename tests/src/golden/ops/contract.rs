//! Products, norms, distances and differences.

use numr_core::ops::distance::DistanceMetric;
use numr_core::ops::operands::Operand;
use numr_core::prim::ScanOp;
use numr_core::{Lit, Runtime, Tensor};
use serde_json::Value;

use super::super::call::{Arg, Call, Done, Stop, Style};
use super::super::case::{integer, number};
use super::{Op, one};

/// The entry of `op` in this family.
pub(super) fn lookup<R: Runtime>(op: &str) -> Option<Op<R>> {
    Some(match op {
        "einsum" => |c| {
            let parts = c.all()?;
            one(Tensor::einsum(c.word(1, "notation equation", "")?, &parts.iter().collect::<Vec<_>>()))
        },
        "kron" => |c| one(c.x()?.kron(&c.t(1, "other")?)),
        "khatri_rao" => |c| one(c.x()?.khatri_rao(&c.t(1, "")?)),
        "tensordot" => |c| {
            let (a, b) = (c.x()?, c.t(1, "other")?);
            let list = |v: &Value| v.as_array().and_then(|l| l.iter().map(integer).collect::<Option<Vec<_>>>());
            let (own, others) = match c.value(2, "dims") {
                Value::Array(pair) if pair.len() == 2 => match (list(&pair[0]), list(&pair[1])) {
                    (Some(own), Some(others)) => (own, others),
                    _ => return Err(c.strange(2, "dims")),
                },
                n => {
                    let n = integer(n).ok_or_else(|| c.strange(2, "dims"))?;
                    ((-n..0).collect(), (0..n).collect())
                }
            };
            let size =
                |x: &Tensor<R>, d: isize| x.shape().get(d.rem_euclid(x.ndim().max(1) as isize) as usize).copied();
            let differ = |(&i, &j): (&isize, &isize)| {
                size(&a, i) != size(&b, j) && (size(&a, i) == Some(1) || size(&b, j) == Some(1))
            };
            if own.iter().zip(&others).any(differ) {
                return Err(Stop::NotMapped("axes of size 1, which torch broadcasts".into()));
            }
            one(a.tensordot(&b, &own, &others))
        },
        "multi_dot" => |c| one(Tensor::multi_dot(&c.all()?.iter().collect::<Vec<_>>())),
        "matrix_power" => |c| match c.int(1, "n")? {
            n if n >= 0 => one(c.x()?.matrix_power(n as u32)),
            _ => Err(Stop::NotMapped("a negative power, which is an inverse".into())),
        },
        "vecdot" => |c| one(c.x()?.vecdot(&c.t(1, "y")?, c.maybe_int(9, "dim")?.unwrap_or(-1))),
        "vdot" => |c| one(c.x()?.vdot(&c.t(1, "other")?)),
        "inner" => |c| one(c.x()?.inner(&c.t(1, "other")?)),
        "trace" => |c| one(c.x()?.trace()),
        "linalg.cross" => |c| one(c.x()?.cross(&c.t(1, "other")?, c.maybe_int(2, "dim")?.unwrap_or(-1))),
        "cross" => |c| {
            let x = c.x()?;
            let three = || x.shape().iter().position(|&d| d == 3).map(|k| k as isize);
            let dim = c.maybe_int(2, "dim")?.or_else(three).ok_or_else(|| c.strange(2, "dim"))?;
            one(x.cross(&c.t(1, "other")?, dim))
        },
        "addbmm" => |c| {
            let products = c.t(1, "batch1")?.matmul(&c.t(2, "batch2")?)?;
            combined(c, products.sum(0, false)?.cast(products.dtype())?)
        },
        "addr" => |c| combined(c, c.t(1, "vec1")?.unsqueeze(-1)?.mul(&c.t(2, "vec2")?)?),
        "nn.functional.bilinear" => |c| {
            let y = Tensor::einsum("...i,oij,...j->...o", &[&c.x()?, &c.t(2, "weight")?, &c.t(1, "input2")?])?;
            one(match c.maybe(3, "bias")? {
                Some(bias) => y.add(&bias),
                None => Ok(y),
            })
        },
        "sum_to_size" => |c| {
            let (x, to) = (c.x()?, c.ints(1, "size")?);
            let new = x.ndim().saturating_sub(to.len());
            let summed = |k: &usize| *k < new || to[k - new] == 1 && x.shape()[*k] != 1;
            let axes: Vec<usize> = (0..x.ndim()).filter(summed).collect();
            let shape: Vec<usize> = to.iter().map(|&d| d as usize).collect();
            one(if axes.is_empty() { Ok(x) } else { x.sum(&axes[..], false)?.reshape(&shape) })
        },
        "vector_norm" => |c| {
            let x = match c.maybe_dtype(9, "dtype")? {
                Some(dtype) => c.x()?.cast(dtype)?,
                None => c.x()?,
            };
            one(x.vector_norm(c.f64(1, "ord", 2.0)?, c.axes(2, "dim")?, c.flag(3, "keepdim", false)?))
        },
        "linalg.norm" => |c| {
            // Matrix norms are another family's.
            if !c.value(1, "ord").is_null() && (c.x()?.ndim() != 1 || c.value(2, "dim").is_array()) {
                return Err(c.strange(1, "ord"));
            }
            one(c.x()?.vector_norm(c.f64(1, "ord", 2.0)?, c.axes(2, "dim")?, c.flag(3, "keepdim", false)?))
        },
        "norm" | "norm.fro" | "norm.inf" => |c| {
            let p = match c.value(1, "p") {
                v if v.is_null() || v == "fro" => 2.0,
                v => number(v).ok_or_else(|| c.strange(1, "p"))?,
            };
            one(c.x()?.vector_norm(p, c.axes(2, "dim")?, c.flag(3, "keepdim", false)?))
        },
        "dist" => |c| one(c.x()?.sub(&c.t(1, "other")?)?.vector_norm(c.f64(2, "p", 2.0)?, .., false)),
        "renorm" => |c| {
            let (x, p, dim) = (c.x()?, c.f64(1, "p", 2.0)?, c.int(2, "dim")?);
            let most = c.f64(3, "maxnorm", 0.0)?;
            let own = numr_core::shape::axis("renorm", dim, x.ndim())?;
            let others: Vec<usize> = (0..x.ndim()).filter(|&k| k != own).collect();
            let norm = x.vector_norm(p, &others[..], true)?;
            let scale = norm.add(1e-7)?.recip()?.mul(most)?;
            one(x.mul(&norm.gt(most)?.where_cond(&scale, &scale.ones_like()?)?))
        },
        "plain.cdist" => |c| one(c.x()?.cdist(&c.t(1, "")?, metric(c)?)),
        "plain.pdist" => |c| one(c.x()?.pdist(metric(c)?)),
        "cdist" => |c| {
            c.skip("3");
            one(c.x()?.cdist(&c.t(1, "x2")?, DistanceMetric::Minkowski(c.f64(2, "p", 2.0)?)))
        },
        "nn.functional.pdist" => |c| one(c.x()?.pdist(DistanceMetric::Minkowski(c.f64(1, "p", 2.0)?))),
        "squareform" => |c| one(c.x()?.squareform(c.size(1, "n")?)),
        "cov" => |c| {
            c.skip("rows");
            let correction = c.f64(9, if c.style == Style::Torch { "correction" } else { "ddof" }, 1.0)?;
            one(c.x()?.cov(correction))
        },
        "corrcoef" => |c| {
            c.skip("rows");
            one(c.x()?.corrcoef())
        },
        "skew" => |c| one(c.x()?.skew(c.axes(1, "dims")?, false, c.f64(9, "correction", 0.0)?)),
        "kurtosis" => |c| one(c.x()?.kurtosis(c.axes(1, "dims")?, false, c.f64(9, "correction", 0.0)?)),
        "cummax" => |c| pair(c.x()?.cummax_with_indices(c.int(1, "dim")?)),
        "cummin" => |c| pair(c.x()?.cummin_with_indices(c.int(1, "dim")?)),
        "logcumsumexp" => |c| one(c.x()?.logcumsumexp(c.int(1, "dim")?)),
        "diff" => |c| {
            let (x, n, dim) = (c.x()?, c.maybe_int(1, "n")?.unwrap_or(1), c.maybe_int(2, "dim")?.unwrap_or(-1));
            let ends = [c.maybe(3, "prepend")?, Some(x.clone()), c.maybe(4, "append")?];
            let parts: Vec<&Tensor<R>> = ends.iter().flatten().collect();
            let n = usize::try_from(n).map_err(|_| c.strange(1, "n"))?;
            one(if parts.len() == 1 { x.diff(n, dim) } else { Tensor::cat(&parts, dim)?.diff(n, dim) })
        },
        "trapezoid" | "trapz" => |c| integral(c, false),
        "cumulative_trapezoid" => |c| integral(c, true),
        "gradient" => |c| {
            let x = c.x()?;
            if c.maybe_int(9, "edge_order")?.unwrap_or(1) != 1 {
                return Err(c.strange(9, "edge_order"));
            }
            let dims = match c.value(9, "dim") {
                v if v.is_null() => (0..x.ndim() as isize).collect(),
                _ => c.ints(9, "dim")?,
            };
            let spacing = match c.value(9, "spacing") {
                Value::Null => vec![Arg::Number(Lit::Int(1)); dims.len()],
                Value::Array(list) => list.iter().map(|v| c.arg_of(v)).collect::<Option<_>>().unwrap_or_default(),
                v => vec![c.arg_of(v).ok_or_else(|| c.strange(9, "spacing"))?; dims.len()],
            };
            if dims.len() != spacing.len() {
                return Err(c.strange(9, "spacing"));
            }
            dims.iter().zip(&spacing).map(|(&d, s)| Ok(x.gradient(s.operand(), d)?)).collect()
        },
        "nansum" => |c| one(c.x()?.nansum(c.axes(1, "dim")?, c.flag(2, "keepdim", false)?)),
        "nanmean" => |c| one(c.x()?.nanmean(c.axes(1, "dim")?, c.flag(2, "keepdim", false)?)),
        "_softmax_backward_data" => |c| {
            c.skip("3");
            one(c.t(1, "output")?.softmax_bwd(&c.x()?, c.int(2, "dim")?))
        },
        _ => return None,
    })
}

/// A running sum or product as ONNX asks for it.
pub(super) fn onnx_scan<R: Runtime>(c: &Call<'_, R>, op: ScanOp) -> Done<R> {
    let axis = c.t(1, "")?.cast(numr_core::DType::I64)?.to_vec::<i64>()[0] as isize;
    let x = c.x()?;
    let scanned = x.scan(op, axis, c.flag(9, "reverse", false)?, c.flag(9, "exclusive", false)?)?;
    one(scanned.cast(x.dtype()))
}

fn pair<R: Runtime>(both: numr_core::Result<(Tensor<R>, Tensor<R>)>) -> Done<R> {
    let (a, b) = both?;
    Ok(vec![a, b])
}

/// beta·x + alpha·product; torch leaves x out where beta is zero, NaN included.
fn combined<R: Runtime>(c: &Call<'_, R>, product: Tensor<R>) -> Done<R> {
    let (alpha, beta) = (c.maybe_lit(9, "alpha")?, c.maybe_lit(9, "beta")?);
    let (alpha, beta) = (alpha.unwrap_or(Lit::Int(1)), beta.unwrap_or(Lit::Int(1)));
    if product.dtype().is_int() && [alpha, beta].iter().any(|l| !matches!(l, Lit::Int(_))) {
        return Err(Stop::NotMapped("a fraction of integers, which torch cuts off first".into()));
    }
    let dtype = product.dtype();
    let product = product.mul(Operand::Scalar(alpha))?.cast(dtype)?;
    one(match beta.is_zero() {
        true => product.broadcast_to(&numr_core::shape::broadcast("add", &[product.shape(), c.x()?.shape()])?),
        false => c.x()?.mul(Operand::Scalar(beta))?.add(&product)?.cast(numr_core::promote(c.x()?.dtype(), dtype)),
    })
}

/// The trapezoidal rule, of positions or of a distance.
fn integral<R: Runtime>(c: &Call<'_, R>, running: bool) -> Done<R> {
    let (y, dim) = (c.x()?, c.maybe_int(9, "dim")?.unwrap_or(-1));
    if y.dtype().is_unsigned_int() {
        return Err(Stop::NotMapped("differences that wrap".into()));
    }
    let spacing = match c.maybe_arg(1, "x")? {
        Some(positions) => positions,
        None => Arg::Number(c.maybe_lit(9, "dx")?.unwrap_or(Lit::Int(1))),
    };
    one(match running {
        true => y.cumulative_trapezoid(spacing.operand(), dim),
        false => y.trapezoid(spacing.operand(), dim),
    })
}

fn metric<R: Runtime>(c: &Call<'_, R>) -> Result<DistanceMetric, Stop> {
    use DistanceMetric as M;
    let name = c.word(9, "metric", "Euclidean")?;
    if let Some(p) = name.strip_prefix("Minkowski(").and_then(|s| s.strip_suffix(')')?.parse().ok()) {
        return Ok(M::Minkowski(p));
    }
    Ok(match name {
        "Euclidean" => M::Euclidean,
        "SquaredEuclidean" => M::SquaredEuclidean,
        "Manhattan" => M::Manhattan,
        "Chebyshev" => M::Chebyshev,
        "Cosine" => M::Cosine,
        "Correlation" => M::Correlation,
        "Hamming" => M::Hamming,
        "Jaccard" => M::Jaccard,
        _ => return Err(c.strange(9, "metric")),
    })
}
