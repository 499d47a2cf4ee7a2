//! Element-wise ops whose arguments are not all operands, and those that are short formulas over rows of the table.

use std::f64::consts::PI;

use numr_core::ops::operands::Operand;
use numr_core::rng::philox4x32;
use numr_core::scalar::lane::U32;
use numr_core::{DType, Runtime, Tensor};

use super::super::call::{Arg, Call, Stop, Style};
use super::{Op, apply_named, one};

/// The entry of `op` in this family.
pub(super) fn lookup<R: Runtime>(op: &str) -> Option<Op<R>> {
    Some(match op {
        "cast" => |c| one(c.x()?.cast(c.maybe_dtype(1, "to dtype")?.ok_or_else(|| c.strange(1, "to"))?)),
        "philox4x32" => |c| {
            let words = |t: Tensor<R>| Ok::<Vec<U32>, Stop>(t.try_to_vec::<u32>()?.into_iter().map(U32).collect());
            let (counter, key) = (words(c.x()?)?.try_into(), words(c.t(1, "key")?)?.try_into());
            let (Ok(counter), Ok(key)) = (counter, key) else { return Err(c.strange(0, "ctr")) };
            let block = philox4x32(c.size(9, "rounds")?, counter, key).map(|w| w.0);
            one(Tensor::try_from_slice(&block, &[4], c.device))
        },
        "cast_f32" => |c| one(c.x()?.cast(DType::F32)),
        "reciprocal" => |c| apply_named("recip", c),
        "pow_scalar" => |c| one(c.x()?.pow(c.number(1, "exponent")?.operand())),
        "add_scalar" => |c| one(c.x()?.add(c.number(1, "scalar")?.operand())),
        "sub_scalar" => |c| one(c.x()?.sub(c.number(1, "scalar")?.operand())),
        "mul_scalar" => |c| one(c.x()?.mul(c.number(1, "scalar")?.operand())),
        "expm1_grad" => |c| apply_named("expm1", c),
        "gelu_erf" => |c| apply_named("gelu", c),
        "max.binary" => |c| apply_named("maximum", c),
        "min.binary" => |c| apply_named("minimum", c),
        "clamp_min" => |c| apply_named("maximum", c),
        "clamp_max" => |c| apply_named("minimum", c),
        "true_divide" | "div.no_rounding_mode" => |c| apply_named("div", c),
        "__radd__" => |c| apply_named("add", c),
        "__rmul__" => |c| apply_named("mul", c),
        "__rdiv__" => |c| one(c.t(1, "other")?.div(&c.x()?)),
        "__rpow__" => |c| one(c.t(1, "other")?.pow(&c.x()?)),
        "__rmod__" => |c| one(remainder(&c.t(1, "other")?, &c.x()?)),
        "rsub" | "__rsub__" => |c| one(c.t(1, "other")?.sub(&c.x()?.mul(c.maybe_number(2, "alpha", 1)?.operand())?)),
        "torch.add" => |c| one(c.x()?.add(&scaled(c)?)),
        "torch.sub" => |c| one(c.x()?.sub(&scaled(c)?)),
        "remainder" => |c| one(remainder(&c.x()?, &c.t(1, "other")?)),
        "div.floor_rounding" => |c| {
            c.skip("rounding_mode");
            one(c.x()?.div(c.arg(1, "other")?.operand())?.floor())
        },
        "div.trunc_rounding" => |c| {
            c.skip("rounding_mode");
            one(c.x()?.div(c.arg(1, "other")?.operand())?.trunc())
        },
        "clamp" => |c| {
            let low = c.maybe_arg(1, "min")?;
            let high = c.maybe_arg(2, "max")?;
            one(match (&low, &high) {
                (Some(low), Some(high)) => c.x()?.clamp(low.operand(), high.operand()),
                (Some(low), None) => c.x()?.maximum(low.operand()),
                (None, Some(high)) => c.x()?.minimum(high.operand()),
                (None, None) => Ok(c.x()?),
            })
        },
        "hardtanh" => |c| one(c.x()?.clamp(c.f64(1, "min_val", -1.0)?, c.f64(2, "max_val", 1.0)?)),
        "relu6" => |c| one(c.x()?.clamp(0.0, 6.0)),
        "leaky_relu" => |c| one(c.x()?.leaky_relu(c.f64(1, "negative_slope alpha", 0.01)?)),
        "elu" | "elu1" => |c| one(c.x()?.elu(c.f64(1, "alpha", 1.0)?)),
        "gelu" => |c| match c.word(1, "approximate", "none")? {
            "none" => one(c.x()?.gelu()),
            _ => one(c.x()?.gelu_tanh()),
        },
        "softplus" => |c| {
            let (beta, threshold) = (c.f64(1, "beta", 1.0)?, c.f64(2, "threshold", 20.0)?);
            if c.style != Style::Torch {
                return one(c.x()?.softplus());
            }
            // Torch is the identity beyond the threshold, where the two differ by less than e^-threshold.
            let scaled = c.x()?.mul(beta)?;
            one(scaled.gt(threshold)?.where_cond(&c.x()?, &scaled.softplus()?.div(beta)?))
        },
        "logsigmoid" => |c| one(c.x()?.neg()?.softplus()?.neg()),
        "softsign" => |c| one(c.x()?.div(&c.x()?.abs()?.add(1.0)?)),
        "tanhshrink" => |c| one(c.x()?.sub(&c.x()?.tanh()?)),
        "mish" => |c| one(c.x()?.mul(&c.x()?.softplus()?.tanh()?)),
        "threshold" => |c| {
            let keep = c.x()?.gt(c.f64(1, "threshold", 0.0)?)?;
            one(keep.where_cond(&c.x()?, c.arg(2, "value")?.operand()))
        },
        "lerp" => |c| {
            let (from, to) = (c.x()?, c.t(1, "end")?);
            one(from.add(&to.sub(&from)?.mul(c.arg(2, "weight")?.operand())?))
        },
        "addcmul" => |c| {
            let product = c.t(1, "tensor1")?.mul(&c.t(2, "tensor2")?)?;
            one(c.x()?.add(&product.mul(c.maybe_number(3, "value", 1)?.operand())?))
        },
        "addcdiv" => |c| {
            let quotient = c.t(1, "tensor1")?.div(&c.t(2, "tensor2")?)?;
            one(c.x()?.add(&quotient.mul(c.maybe_number(3, "value", 1)?.operand())?))
        },
        "deg2rad" => |c| one(c.x()?.mul(PI / 180.0)),
        "rad2deg" => |c| one(c.x()?.mul(180.0 / PI)),
        "torch.where" => |c| one(c.t(1, "condition")?.where_cond(&c.x()?, c.arg(2, "other")?.operand())),
        "masked_fill" => |c| match c.arg(2, "value")? {
            Arg::Number(value) => one(c.x()?.masked_fill(&c.t(1, "mask")?, value)),
            Arg::Tensor(value) if value.ndim() == 0 => one(c.t(1, "mask")?.where_cond(&value, &c.x()?)),
            Arg::Tensor(_) => Err(Stop::NotMapped("a value with axes".into())),
        },
        "prog.gelu" => |c| one(c.x()?.gelu_tanh()),
        "prog.leaky_relu" => |c| one(c.x()?.leaky_relu(0.1)),
        "prog.div1p" => |c| one(c.x()?.div(&c.t(1, "")?.square()?.add(1.0)?)),
        "prog.log1p_sq" => |c| one(c.x()?.square()?.log1p()),
        "prog.recip1p_sq" => |c| one(c.x()?.square()?.add(1.0)?.recip()),
        "prog.sqrt1p_sq" => |c| one(c.x()?.square()?.add(1.0)?.sqrt()),
        _ => return None,
    })
}

/// Remainder of floored division: the sign of y.
pub(super) fn remainder<R: Runtime>(x: &Tensor<R>, y: &Tensor<R>) -> numr_core::Result<Tensor<R>> {
    let rest = x.fmod(y)?;
    let other_sign = rest.lt(0)?.ne(&y.lt(0)?)?.logical_and(&rest.ne(0)?)?;
    other_sign.where_cond(&rest.add(y)?, &rest)
}

/// The second operand, times `alpha` if the call has one.
fn scaled<R: Runtime>(c: &Call<'_, R>) -> Result<Tensor<R>, Stop> {
    let other = c.t(1, "other")?;
    Ok(match c.maybe_lit(2, "alpha")? {
        Some(alpha) => other.mul(Operand::Scalar(alpha))?,
        None => other,
    })
}
