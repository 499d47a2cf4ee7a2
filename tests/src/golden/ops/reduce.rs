//! Folds, scans, statistics, normalisation and products.

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
        "matmul" | "mm" | "bmm" | "mv" | "bmm.triton_optimized" | "dot" => |c| {
            let (a, b) = (c.x()?, c.t(1, "other mat2 vec tensor")?);
            one(a.matmul(&b))
        },
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
fn correction<R: Runtime>(c: &Call<'_, R>) -> Result<f64, Stop> {
    let first = c.value(1, "unbiased");
    if first.is_boolean() {
        return Ok(f64::from(u8::from(first == true)));
    }
    match c.value(9, "correction") {
        v if v.is_null() => Ok(f64::from(u8::from(c.flag(9, "unbiased", true)?))),
        _ => c.f64(9, "correction", 1.0),
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
