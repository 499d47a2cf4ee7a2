//! Losses and normalisation.

use numr_core::ops::loss::{Classes, Reduction};
use numr_core::{DType, Runtime, Tensor};

use super::super::call::{Call, Done, Stop};
use super::{Op, one};

/// The entry of `op` in this family.
pub(super) fn lookup<R: Runtime>(op: &str) -> Option<Op<R>> {
    Some(match op {
        "plain.layer_norm" => {
            |c| one(c.x()?.layer_norm_over(1, over(c, 1)?.as_ref(), over(c, 2)?.as_ref(), c.f64(9, "eps", 1e-5)?))
        }
        "plain.rms_norm" => |c| one(c.x()?.rms_norm_over(1, over(c, 1)?.as_ref(), c.f64(9, "eps", 1e-6)?)),
        "layer_norm" => |c| {
            let axes = c.lengths(1, "normalized_shape")?.len();
            let (weight, bias) = (c.maybe(2, "weight")?, c.maybe(3, "bias")?);
            one(c.x()?.layer_norm_over(axes, weight.as_ref(), bias.as_ref(), c.f64(4, "eps", 1e-5)?))
        },
        "native_layer_norm" => |c| {
            let (x, lengths, eps) = (c.x()?, c.lengths(1, "normalized_shape")?, c.f64(4, "eps", 1e-5)?);
            if !x.shape().ends_with(&lengths) {
                return Err(c.strange(1, "normalized_shape"));
            }
            let (axes, weight, bias) = (lengths.len(), c.maybe(2, "weight")?, c.maybe(3, "bias")?);
            let last: Vec<usize> = (x.ndim() - axes..x.ndim()).collect();
            let y = x.layer_norm_over(axes, weight.as_ref(), bias.as_ref(), eps)?;
            let spread = x.var(&last[..], true, 0)?.add(eps)?.rsqrt()?;
            Ok(vec![y, x.mean(&last[..], true)?, spread])
        },
        "rms_norm" => |c| {
            let (x, axes) = (c.x()?, c.lengths(1, "normalized_shape")?.len());
            let eps = c.f64(3, "eps", epsilon(x.dtype()))?;
            one(x.rms_norm_over(axes, c.maybe(2, "weight")?.as_ref(), eps))
        },
        "group_norm" => |c| {
            let (x, eps) = (c.x()?, c.f64(4, "eps", 1e-5)?);
            let (weight, bias) = (c.named_tensor("weight")?, c.named_tensor("bias")?);
            grouped(c, &x, [weight, bias], c.size(1, "num_groups")?, eps)
        },
        "native_group_norm" => |c| {
            let (x, groups, eps) = (c.x()?, c.size(6, "group")?, c.f64(7, "eps", 1e-5)?);
            c.skip("3 4 5");
            let y = grouped(c, &x, [c.maybe(1, "weight")?, c.maybe(2, "bias")?], groups, eps)?.remove(0);
            let (batch, rest) = (x.shape()[0], x.shape()[1..].iter().product::<usize>() / groups.max(1));
            let flat = x.reshape(&[batch, groups, rest])?;
            Ok(vec![y, flat.mean(-1, false)?, flat.var(-1, false, 0)?.add(eps)?.rsqrt()?])
        },
        "batch_norm" => |c| Ok(vec![batch(c, [1, 2, 3, 4])?.remove(0)]),
        "native_batch_norm" | "_native_batch_norm_legit" => |c| batch(c, [3, 4, 1, 2]),
        "instance_norm" => |c| {
            let (weight, bias) = (c.maybe(3, "weight")?, c.maybe(4, "bias")?);
            if !c.flag(5, "use_input_stats", true)? {
                return Err(c.strange(5, "use_input_stats"));
            }
            c.skip("1 2 6 running_mean running_var momentum");
            one(c.x()?.instance_norm(weight.as_ref(), bias.as_ref(), c.f64(7, "eps", 1e-5)?))
        },
        "normalize" => {
            |c| one(c.x()?.normalize(c.f64(1, "p", 2.0)?, c.maybe_int(2, "dim")?.unwrap_or(1), c.f64(3, "eps", 1e-12)?))
        }
        "local_response_norm" => |c| {
            let (size, alpha, beta) = (c.size(1, "size")?, c.f64(2, "alpha", 1e-4)?, c.f64(3, "beta", 0.75)?);
            one(c.x()?.local_response_norm(size, alpha, beta, c.f64(4, "k", 1.0)?))
        },
        "cosine_similarity" => |c| {
            let (y, dim, eps) = (c.t(1, "x2")?, c.maybe_int(2, "dim")?.unwrap_or(1), c.f64(3, "eps", 1e-8)?);
            one(c.x()?.cosine_similarity(&y, dim, eps))
        },
        "pairwise_distance" => |c| {
            let (p, eps) = (c.f64(2, "p", 2.0)?, c.f64(3, "eps", 1e-6)?);
            one(c.x()?.pairwise_distance(&c.t(1, "x2")?, p, eps, c.flag(4, "keepdim", false)?))
        },

        "cross_entropy" => |c| {
            let (x, target, smoothing) = (c.x()?, c.t(1, "target")?, c.f64(9, "label_smoothing", 0.0)?);
            if !target.dtype().is_int() {
                if c.maybe(9, "weight")?.is_some() {
                    return Err(c.strange(9, "weight"));
                }
                // Torch's mean is over the examples; the classes are summed.
                return one(x.cross_entropy_of(&target, smoothing, reduction(c)?));
            }
            let weight = c.maybe(9, "weight")?;
            one(match (&weight, ignored(c)?) {
                (None, None) => x.cross_entropy(&target, smoothing, reduction(c)?),
                (_, ignore) => {
                    x.cross_entropy_with(&target, Classes { weight: weight.as_ref(), ignore }, smoothing, reduction(c)?)
                }
            })
        },
        "nll_loss" => |c| {
            let (x, target, weight) = (c.x()?, c.t(1, "target")?, c.maybe(9, "weight")?);
            one(match (&weight, ignored(c)?) {
                (None, None) => x.nll_loss(&target, reduction(c)?),
                (_, ignore) => x.nll_loss_with(&target, Classes { weight: weight.as_ref(), ignore }, reduction(c)?),
            })
        },
        "mse_loss" => |c| one(c.x()?.mse_loss(&c.t(1, "target")?, reduction(c)?)),
        "binary_cross_entropy_with_logits" => |c| {
            if c.maybe(9, "pos_weight")?.is_some() {
                return Err(c.strange(9, "pos_weight"));
            }
            weighed(c, c.x()?.bce_with_logits(&c.t(1, "target")?, Reduction::None)?)
        },
        "binary_cross_entropy" => |c| weighed(c, c.x()?.bce_loss(&c.t(1, "target")?, Reduction::None)?),
        "l1_loss" => |c| one(c.x()?.l1_loss(&c.t(1, "target")?, reduction(c)?)),
        "huber_loss" => |c| one(c.x()?.huber_loss(&c.t(1, "target")?, c.f64(3, "delta", 1.0)?, reduction(c)?)),
        "smooth_l1_loss" => |c| one(c.x()?.smooth_l1_loss(&c.t(1, "target")?, c.f64(9, "beta", 1.0)?, reduction(c)?)),
        "soft_margin_loss" => |c| one(c.x()?.soft_margin_loss(&c.t(1, "target")?, reduction(c)?)),
        "kl_div" => |c| {
            let (x, target, log) = (c.x()?, c.t(1, "target")?, c.flag(9, "log_target", false)?);
            let of = |how| if log { x.kl_div_log(&target, how) } else { x.kl_div(&target, how) };
            one(match c.word(9, "reduction", "mean")? {
                "batchmean" => of(Reduction::Sum)?.div(x.shape().first().map_or(1, |&d| d as i64)),
                _ => of(reduction(c)?),
            })
        },
        "gaussian_nll_loss" => |c| {
            let (full, eps) = (c.flag(3, "full", false)?, c.f64(4, "eps", 1e-6)?);
            one(c.x()?.gaussian_nll_loss(&c.t(1, "target")?, &c.t(2, "var")?, full, eps, reduction(c)?))
        },
        "poisson_nll_loss" => |c| {
            let (x, target) = (c.x()?, c.t(1, "target")?);
            let loss = match c.flag(2, "log_input", true)? {
                true => {
                    c.skip("eps");
                    x.poisson_nll_loss_log(&target, Reduction::None)?
                }
                false => x.poisson_nll_loss(&target, c.f64(9, "eps", 1e-8)?, Reduction::None)?,
            };
            // What `full` adds depends on the target alone.
            let loss = match c.flag(3, "full", false)? {
                false => loss,
                true => {
                    let rest = target.mul(&target.log()?)?.sub(&target)?;
                    let rest = rest.add(&target.mul(std::f64::consts::TAU)?.log()?.mul(0.5)?)?;
                    loss.add(&target.gt(1)?.where_cond(&rest, &rest.zeros_like()?)?)?
                }
            };
            reduced(c, loss)
        },
        "hinge_embedding_loss" => {
            |c| one(c.x()?.hinge_embedding_loss(&c.t(1, "target")?, c.f64(9, "margin", 1.0)?, reduction(c)?))
        }
        "margin_ranking_loss" => |c| {
            let margin = c.f64(9, "margin", 0.0)?;
            if c.x()?.dtype().is_unsigned_int() {
                return Err(Stop::NotMapped("differences that wrap".into()));
            }
            one(c.x()?.margin_ranking_loss(&c.t(1, "input2")?, &c.t(2, "target")?, margin, reduction(c)?))
        },
        "cosine_embedding_loss" => |c| {
            let margin = c.f64(9, "margin", 0.0)?;
            one(c.x()?.cosine_embedding_loss(&c.t(1, "input2")?, &c.t(2, "target")?, margin, reduction(c)?))
        },
        "triplet_margin_loss" | "triplet_margin_with_distance_loss" => |c| {
            let (margin, p, eps) = (c.f64(9, "margin", 1.0)?, c.f64(9, "p", 2.0)?, c.f64(9, "eps", 1e-6)?);
            let (near, far, swap) = (c.t(1, "positive")?, c.t(2, "negative")?, c.flag(9, "swap", false)?);
            one(c.x()?.triplet_margin_loss(&near, &far, margin, p, eps, swap, reduction(c)?))
        },
        "multi_margin_loss" => |c| {
            let (p, margin, weight) =
                (c.maybe_int(9, "p")?.unwrap_or(1), c.f64(9, "margin", 1.0)?, c.maybe(9, "weight")?);
            if c.x()?.ndim() != c.t(1, "target")?.ndim() + 1 {
                return Err(Stop::NotMapped("one example as a batch".into()));
            }
            let p = u32::try_from(p).map_err(|_| c.strange(9, "p"))?;
            one(c.x()?.multi_margin_loss(&c.t(1, "target")?, p, margin, weight.as_ref(), reduction(c)?))
        },
        "multilabel_soft_margin_loss" => |c| {
            let weight = c.maybe(9, "weight")?;
            one(c.x()?.multilabel_soft_margin_loss(&c.t(1, "target")?, weight.as_ref(), reduction(c)?))
        },
        _ => return None,
    })
}

/// A loss as ONNX calls it; with the class probabilities if they are asked for.
pub(super) fn onnx_loss<R: Runtime>(c: &Call<'_, R>, logits: bool) -> Done<R> {
    let (x, target, weight) = (c.x()?, c.t(1, "")?, c.maybe(2, "")?);
    let classes = Classes { weight: weight.as_ref(), ignore: c.maybe_int(9, "ignore_index")?.map(|i| i as i64) };
    let log = if logits { x.log_softmax(1)? } else { x };
    Ok(vec![log.nll_loss_with(&target, classes, reduction(c)?)?, log])
}

/// An operand over the last axis, which a case may leave out.
fn over<R: Runtime>(c: &Call<'_, R>, at: usize) -> Result<Option<Tensor<R>>, Stop> {
    c.maybe(at, ["", "weight", "bias"][at])
}

fn grouped<R: Runtime>(c: &Call<'_, R>, x: &Tensor<R>, over: [Option<Tensor<R>>; 2], n: usize, eps: f64) -> Done<R> {
    let channels = x.shape().get(1).copied().unwrap_or(0);
    let fill =
        |t: Option<Tensor<R>>, n: i64| t.map_or_else(|| Tensor::try_full(&[channels], n, x.dtype(), c.device), Ok);
    let [weight, bias] = over;
    one(x.group_norm(&fill(weight, 1)?, &fill(bias, 0)?, n, eps))
}

/// Batch normalisation, with the statistics of the batch or those that are given; those are the other results.
fn batch<R: Runtime>(c: &Call<'_, R>, at: [usize; 4]) -> Done<R> {
    let (x, eps) = (c.x()?, c.f64(7, "eps", 1e-5)?);
    if x.ndim() < 2 {
        return Err(Stop::NotMapped("channels without a batch".into()));
    }
    let (mean, var) = (c.maybe(at[0], "running_mean")?, c.maybe(at[1], "running_var")?);
    let (weight, bias) = (c.maybe(at[2], "weight")?, c.maybe(at[3], "bias")?);
    c.skip("6 momentum");
    if c.flag(5, "training", false)? {
        let (mean, var) = x.batch_statistics()?;
        let y = x.batch_norm(&mean, &var, weight.as_ref(), bias.as_ref(), eps)?;
        return Ok(vec![y, mean, var.add(eps)?.rsqrt()?]);
    }
    let (Some(mean), Some(var)) = (mean, var) else { return Err(c.strange(1, "running_mean")) };
    let none = Tensor::try_zeros(&[0], x.dtype(), c.device)?;
    Ok(vec![x.batch_norm(&mean, &var, weight.as_ref(), bias.as_ref(), eps)?, none.clone(), none])
}

/// The class that does not count; torch's default is in no target.
fn ignored<R: Runtime>(c: &Call<'_, R>) -> Result<Option<i64>, Stop> {
    Ok(c.maybe_int(9, "ignore_index")?.map(|i| i as i64))
}

/// A loss whose elements are weighed.
fn weighed<R: Runtime>(c: &Call<'_, R>, loss: Tensor<R>) -> Done<R> {
    match c.maybe(9, "weight")? {
        Some(weight) => reduced(c, loss.mul(&weight)?),
        None => reduced(c, loss),
    }
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
