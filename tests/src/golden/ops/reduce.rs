//! Folds, scans, statistics, normalisation and products.

use numr_core::ops::loss::Reduction;
use numr_core::ops::operands::Operand;
use numr_core::{Axes, DType, Lit, Runtime, Tensor};

use super::super::call::{Call, Done, Stop};
use super::{Op, one};

/// The entry of `op` in this family.
pub(super) fn lookup<R: Runtime>(op: &str) -> Option<Op<R>> {
    Some(match op {
        "sum" | "sum_is_nan" | "nansum_like" => |c| one(c.x()?.sum(axes(c)?, keep(c)?)),
        "edge_grad.sum" => |c| one(c.x()?.sub(&c.x()?.sum(axes(c)?, keep(c)?)?)),
        "prod" => |c| one(c.x()?.prod(axes(c)?, keep(c)?)),
        "mean" => |c| one(c.x()?.mean(axes(c)?, keep(c)?)),
        "max" | "amax" | "max.reduction_no_dim" => |c| one(c.x()?.max(axes(c)?, keep(c)?)),
        "min" | "amin" | "min.reduction_no_dim" => |c| one(c.x()?.min(axes(c)?, keep(c)?)),
        "any" => |c| one(c.x()?.any(axes(c)?, keep(c)?)),
        "all" => |c| one(c.x()?.all(axes(c)?, keep(c)?)),
        "count_nonzero" => |c| one(c.x()?.ne(0)?.sum(axes(c)?, keep(c)?)),
        "logsumexp" => |c| one(c.x()?.logsumexp(axes(c)?, keep(c)?)),
        "var" | "var.unbiased" => |c| one(c.x()?.var(spread_axes(c)?, keep(c)?, correction(c)?)),
        "std" | "std.unbiased" => |c| one(c.x()?.std(spread_axes(c)?, keep(c)?, correction(c)?)),
        "var_mean" | "var_mean.unbiased" => |c| {
            let (x, a, k) = (c.x()?, spread_axes(c)?, keep(c)?);
            Ok(vec![x.var(a.clone(), k, correction(c)?)?, x.mean(a, k)?])
        },
        "std_mean" | "std_mean.unbiased" => |c| {
            let (x, a, k) = (c.x()?, spread_axes(c)?, keep(c)?);
            Ok(vec![x.std(a.clone(), k, correction(c)?)?, x.mean(a, k)?])
        },
        "aminmax" => |c| Ok(vec![c.x()?.min(axes(c)?, keep(c)?)?, c.x()?.max(axes(c)?, keep(c)?)?]),
        "argmax" => |c| one(c.x()?.argmax(axes(c)?, keep(c)?)),
        "argmin" => |c| one(c.x()?.argmin(axes(c)?, keep(c)?)),
        "max.reduction_with_dim" => |c| chosen(c, Tensor::argmax),
        "min.reduction_with_dim" => |c| chosen(c, Tensor::argmin),
        "cumsum" => |c| one(c.x()?.cumsum(c.int(1, "dim")?)),
        "cumprod" => |c| one(c.x()?.cumprod(c.int(1, "dim")?)),

        "softmax" => |c| one(c.x()?.softmax(c.int(1, "dim")?)),
        "log_softmax" => |c| one(c.x()?.log_softmax(c.int(1, "dim")?)),
        "softmin" => |c| one(c.x()?.neg()?.softmax(c.int(1, "dim")?)),
        "softmax.with_dtype" => |c| one(typed(c)?.softmax(c.int(1, "dim")?)),
        "log_softmax.with_dtype" => |c| one(typed(c)?.log_softmax(c.int(1, "dim")?)),
        "softmin.with_dtype" => |c| one(typed(c)?.neg()?.softmax(c.int(1, "dim")?)),
        "plain.layer_norm" => |c| {
            let (x, eps) = (c.x()?, c.f64(9, "eps", 1e-5)?);
            normalized(&x, 1, c.maybe(1, "weight")?, c.maybe(2, "bias")?, |x, w, b| x.layer_norm(w, b, eps))
        },
        "plain.rms_norm" => |c| {
            let (x, eps) = (c.x()?, c.f64(9, "eps", 1e-6)?);
            normalized(&x, 1, c.maybe(1, "weight")?, None, |x, w, _| x.rms_norm(w, eps))
        },
        "layer_norm" => |c| {
            let (x, axes, eps) = (c.x()?, c.lengths(1, "normalized_shape")?.len(), c.f64(4, "eps", 1e-5)?);
            normalized(&x, axes, c.maybe(2, "weight")?, c.maybe(3, "bias")?, |x, w, b| x.layer_norm(w, b, eps))
        },
        "rms_norm" => |c| {
            let (x, axes) = (c.x()?, c.lengths(1, "normalized_shape")?.len());
            let eps = c.f64(3, "eps", epsilon(x.dtype()))?;
            normalized(&x, axes, c.maybe(2, "weight")?, None, |x, w, _| x.rms_norm(w, eps))
        },
        "cross_entropy" => |c| {
            let target = c.t(1, "target")?;
            if !target.dtype().is_int() {
                return Err(Stop::NotMapped("a target of probabilities".into()));
            }
            one(c.x()?.cross_entropy(&target, c.f64(9, "label_smoothing", 0.0)?, reduction(c)?))
        },
        "nll_loss" => |c| one(c.x()?.nll_loss(&c.t(1, "target")?, reduction(c)?)),
        "mse_loss" => |c| one(c.x()?.mse_loss(&c.t(1, "target")?, reduction(c)?)),
        "binary_cross_entropy_with_logits" => |c| one(c.x()?.bce_with_logits(&c.t(1, "target")?, reduction(c)?)),
        "group_norm" => |c| {
            let (x, eps) = (c.x()?, c.f64(4, "eps", 1e-5)?);
            let channels = x.shape().get(1).copied().unwrap_or(0);
            let fill = |t: Option<Tensor<R>>, n: i64| {
                t.map_or_else(|| Tensor::try_full(&[channels], n, x.dtype(), c.device), Ok)
            };
            let (weight, bias) = (fill(c.named_tensor("weight")?, 1)?, fill(c.named_tensor("bias")?, 0)?);
            one(x.group_norm(&weight, &bias, c.size(1, "num_groups")?, eps))
        },
        "plain.norm" => |c| one(c.x()?.norm(.., false)),
        "l1_loss" => |c| reduced(c, c.x()?.sub(&c.t(1, "target")?)?.abs()?),
        "soft_margin_loss" => |c| reduced(c, c.x()?.mul(&c.t(1, "target")?)?.neg()?.softplus()?),
        "matmul" | "mm" | "bmm" | "mv" | "bmm.triton_optimized" | "dot" => |c| {
            let (a, b) = (c.x()?, c.t(1, "other mat2 vec tensor")?);
            one(a.matmul(&b))
        },
        "vdot" => |c| one(c.x()?.conj()?.matmul(&c.t(1, "other")?)),
        "__rmatmul__" => |c| one(c.t(1, "other")?.matmul(&c.x()?)),
        "matmul_t" => |c| one(c.x()?.matmul(&c.t(1, "")?.t()?)),
        "outer" => |c| one(c.x()?.unsqueeze(-1)?.mul(&c.t(1, "vec2")?)),
        "linear" => |c| {
            let product = c.x()?.matmul(&transposed(&c.t(1, "weight")?)?)?;
            one(match c.maybe(2, "bias")? {
                Some(bias) => product.add(&bias),
                None => Ok(product),
            })
        },
        "addmm" | "addmm.decomposed" | "addmv" | "baddbmm" => |c| {
            let product = c.t(1, "mat1 batch1 mat")?.matmul(&c.t(2, "mat2 batch2 vec")?)?;
            let (alpha, beta) = (c.maybe_lit(9, "alpha")?, c.maybe_lit(9, "beta")?);
            let (alpha, beta) = (alpha.unwrap_or(Lit::Int(1)), beta.unwrap_or(Lit::Int(1)));
            if product.dtype().is_int() && [alpha, beta].iter().any(|l| !matches!(l, Lit::Int(_))) {
                return Err(Stop::NotMapped("a fraction of integers, which torch cuts off first".into()));
            }
            let product = product.mul(Operand::Scalar(alpha))?;
            // Torch leaves the first operand out where beta is zero, NaN included.
            one(if beta.is_zero() { Ok(product) } else { c.x()?.mul(Operand::Scalar(beta))?.add(&product) })
        },
        "multi_dot" => |c| {
            let mut parts = c.all()?.into_iter();
            let first = parts.next().ok_or_else(|| c.strange(0, "tensors"))?;
            one(parts.try_fold(first, |a, b| a.matmul(&b)))
        },
        "vecdot" => |c| one(c.x()?.mul(&c.t(1, "y")?)?.sum(c.maybe_int(9, "dim")?.unwrap_or(-1), false)),
        "inner" => |c| {
            let (a, b) = (c.x()?, c.t(1, "other")?);
            one(if a.ndim() == 0 || b.ndim() == 0 { a.mul(&b) } else { a.matmul(&transposed(&b)?) })
        },
        _ => return None,
    })
}

/// A matrix or vector with its last two axes swapped, if it has two.
fn transposed<R: Runtime>(x: &Tensor<R>) -> numr_core::Result<Tensor<R>> {
    if x.ndim() < 2 { Ok(x.clone()) } else { x.t() }
}

fn axes<R: Runtime>(c: &Call<'_, R>) -> Result<Axes, Stop> {
    c.axes(1, "dim dims axis")
}

fn keep<R: Runtime>(c: &Call<'_, R>) -> Result<bool, Stop> {
    c.flag(2, "keepdim", false)
}

/// The axes of a variance, whose first position may be a flag instead.
fn spread_axes<R: Runtime>(c: &Call<'_, R>) -> Result<Axes, Stop> {
    if c.value(1, "dim dims").is_boolean() { Ok(Axes::All) } else { axes(c) }
}

/// What is taken from the number of elements: `correction`, or 1 or 0 as `unbiased` says, else 1.
fn correction<R: Runtime>(c: &Call<'_, R>) -> Result<usize, Stop> {
    let first = c.value(1, "unbiased");
    if first.is_boolean() {
        return Ok(usize::from(first == true));
    }
    match c.value(9, "correction") {
        v if v.is_null() => Ok(usize::from(c.flag(9, "unbiased", true)?)),
        _ => c.size(9, "correction"),
    }
}

/// Largest or smallest elements along an axis, with their places.
fn chosen<R: Runtime>(c: &Call<'_, R>, fold: fn(&Tensor<R>, isize, bool) -> numr_core::Result<Tensor<R>>) -> Done<R> {
    let (x, dim, keep) = (c.x()?, c.int(1, "dim")?, keep(c)?);
    if x.ndim() == 0 {
        return Ok(vec![x.clone(), Tensor::try_zeros(&[], DType::I64, c.device)?]);
    }
    let place = fold(&x, dim, true)?;
    let value = x.gather(dim, &place)?;
    if keep {
        return Ok(vec![value, place]);
    }
    let mut shape = x.shape().to_vec();
    shape.remove(numr_core::shape::axis("max", dim, x.ndim())?);
    Ok(vec![value.reshape(&shape)?, place.reshape(&shape)?])
}

/// The operand in the dtype that the call asks for.
fn typed<R: Runtime>(c: &Call<'_, R>) -> Result<Tensor<R>, Stop> {
    let dtype = c.maybe_dtype(9, "dtype")?.ok_or_else(|| c.strange(9, "dtype"))?;
    Ok(c.x()?.cast(dtype)?)
}

/// A normalisation over the last `axes` axes, seen as one; a missing weight is one, a missing bias zero.
pub(super) fn normalized<R: Runtime>(
    x: &Tensor<R>,
    axes: usize,
    weight: Option<Tensor<R>>,
    bias: Option<Tensor<R>>,
    norm: impl Fn(&Tensor<R>, &Tensor<R>, &Tensor<R>) -> numr_core::Result<Tensor<R>>,
) -> Done<R> {
    let lead = Some(axes).filter(|&n| n > 0).and_then(|n| x.ndim().checked_sub(n));
    let lead = lead.ok_or_else(|| Stop::NotMapped("no axis to normalise over".into()))?;
    let n: usize = x.shape()[lead..].iter().product();
    let flat = |t: Option<Tensor<R>>, fill: i64| match t {
        Some(t) => t.reshape(&[n]),
        None => Tensor::try_full(&[n], fill, x.dtype(), x.device()),
    };
    let seen = x.reshape(&[&x.shape()[..lead], &[n]].concat())?;
    one(norm(&seen, &flat(weight, 1)?, &flat(bias, 0)?)?.reshape(x.shape()))
}

/// What becomes of the losses of the elements.
fn reduction<R: Runtime>(c: &Call<'_, R>) -> Result<Reduction, Stop> {
    match c.word(9, "reduction", "mean")? {
        "none" => Ok(Reduction::None),
        "sum" => Ok(Reduction::Sum),
        "mean" => Ok(Reduction::Mean),
        _ => Err(c.strange(9, "reduction")),
    }
}

/// A loss of each element, as the call's `reduction` gives it.
fn reduced<R: Runtime>(c: &Call<'_, R>, loss: Tensor<R>) -> Done<R> {
    one(match reduction(c)? {
        Reduction::None => Ok(loss),
        Reduction::Sum => loss.sum(.., false),
        Reduction::Mean => loss.mean(.., false),
    })
}

/// The distance from 1 to the next number.
fn epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::EPSILON,
        DType::BF16 => 2f64.powi(-7),
        DType::F16 => 2f64.powi(-10),
        _ => f32::EPSILON.into(),
    }
}
