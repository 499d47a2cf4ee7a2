//! ONNX nodes, with ONNX's own meaning of operands and attributes.

use numr_core::prim::ScanOp;
use numr_core::{Axes, DType, Runtime, Tensor};

use super::super::call::{Call, Done, Stop};
use super::{Op, apply_named, one};

/// Nodes that are a row of the op table under another name.
const ROWS: &[(&str, &str)] = &[
    ("Abs", "abs"),
    ("Add", "add"),
    ("And", "logical_and"),
    ("Ceil", "ceil"),
    ("Cos", "cos"),
    ("Cosh", "cosh"),
    ("Acos", "acos"),
    ("Acosh", "acosh"),
    ("Asin", "asin"),
    ("Asinh", "asinh"),
    ("Atan", "atan"),
    ("Atanh", "atanh"),
    ("Sinh", "sinh"),
    ("Tan", "tan"),
    ("Equal", "eq"),
    ("Erf", "erf"),
    ("Exp", "exp"),
    ("Floor", "floor"),
    ("Greater", "gt"),
    ("GreaterOrEqual", "ge"),
    ("IsNaN", "isnan"),
    ("Less", "lt"),
    ("LessOrEqual", "le"),
    ("Log", "log"),
    ("Mul", "mul"),
    ("Neg", "neg"),
    ("Not", "logical_not"),
    ("Or", "logical_or"),
    ("Reciprocal", "recip"),
    ("Relu", "relu"),
    ("Round", "round"),
    ("Sigmoid", "sigmoid"),
    ("Sign", "sign"),
    ("Sin", "sin"),
    ("Softplus", "softplus"),
    ("Sqrt", "sqrt"),
    ("Sub", "sub"),
    ("Tanh", "tanh"),
    ("Where", "where_cond"),
    ("Xor", "logical_xor"),
];

/// Runs a node.
pub(super) fn run<R: Runtime>(node: &str, c: &Call<'_, R>) -> Option<Done<R>> {
    c.skip("opset");
    if let Some((_, name)) = ROWS.iter().find(|(onnx, _)| *onnx == node) {
        return Some(apply_named(name, c));
    }
    lookup(node).map(|op: Op<R>| op(c))
}

fn lookup<R: Runtime>(node: &str) -> Option<Op<R>> {
    Some(match node {
        "ArgMax" => |c| arg_fold(c, |x, a, k| x.argmax(a, k)),
        "ArgMin" => |c| arg_fold(c, |x, a, k| x.argmin(a, k)),
        "Cast" => |c| {
            let code = c.int(9, "to")?;
            cast(c, element(code).ok_or_else(|| c.strange(9, "to"))?)
        },
        "CastLike" => |c| cast(c, c.t(1, "")?.dtype()),
        "Celu" => |c| {
            let alpha = c.f64(9, "alpha", 1.0)?;
            one(c.x()?.div(alpha)?.elu(1.0)?.mul(alpha))
        },
        "Clip" => |c| {
            let mut x = c.x()?;
            if let Some(low) = c.maybe(1, "")? {
                x = x.maximum(&low)?;
            }
            match c.maybe(2, "")? {
                Some(high) => one(x.minimum(&high)),
                None => Ok(vec![x]),
            }
        },
        "Concat" => |c| {
            let parts = c.all()?;
            one(Tensor::cat(&parts.iter().collect::<Vec<_>>(), c.int(9, "axis")?))
        },
        "CumSum" => |c| super::contract::onnx_scan(c, ScanOp::Sum),
        "CumProd" => |c| super::contract::onnx_scan(c, ScanOp::Prod),
        "Einsum" => |c| {
            let parts = c.all()?;
            one(Tensor::einsum(c.word(9, "equation", "")?, &parts.iter().collect::<Vec<_>>()))
        },
        "NegativeLogLikelihoodLoss" => |c| super::loss::onnx_loss(c, false),
        "SoftmaxCrossEntropyLoss" => |c| super::loss::onnx_loss(c, true),
        "LRN" => |c| {
            let (alpha, beta, k) = (c.f64(9, "alpha", 1e-4)?, c.f64(9, "beta", 0.75)?, c.f64(9, "bias", 1.0)?);
            let size = c.size(9, "size")?;
            one(c.x()?.local_response_norm(size, alpha, beta, k))
        },
        "LpNormalization" => {
            |c| one(c.x()?.normalize(c.f64(9, "p", 2.0)?, c.f64(9, "axis", -1.0)? as isize, f32::MIN_POSITIVE))
        }
        "BatchNormalization" => |c| {
            let (x, eps) = (c.x()?, c.f64(9, "epsilon", 1e-5)?);
            let (weight, bias, mean, var) = (c.t(1, "")?, c.t(2, "")?, c.t(3, "")?, c.t(4, "")?);
            if !c.flag(9, "training_mode", false)? {
                return one(x.batch_norm(&mean, &var, Some(&weight), Some(&bias), eps));
            }
            let keep = c.f64(9, "momentum", 0.9)?;
            let (of_batch, spread) = x.batch_statistics()?;
            let y = x.batch_norm(&of_batch, &spread, Some(&weight), Some(&bias), eps)?;
            Ok(vec![y, of_batch.lerp(&mean, keep)?, spread.lerp(&var, keep)?])
        },
        "InstanceNormalization" => {
            |c| one(c.x()?.instance_norm(Some(&c.t(1, "")?), Some(&c.t(2, "")?), c.f64(9, "epsilon", 1e-5)?))
        }
        "Div" => |c| {
            let (x, y) = (c.x()?, c.t(1, "")?);
            if x.dtype().is_float() {
                return one(x.div(&y));
            }
            // ONNX truncates; ours converts. Small integers survive the way through f64.
            one(x.cast(DType::F64)?.div(&y.cast(DType::F64)?)?.trunc()?.cast(x.dtype()))
        },
        "Elu" => |c| one(c.x()?.elu(c.f64(9, "alpha", 1.0)?)),
        "Expand" => |c| {
            let shape = ints(&c.t(1, "")?)?.into_iter().map(|n| n as usize).collect::<Vec<_>>();
            let both = numr_core::shape::broadcast("expand", &[c.x()?.shape(), &shape])?;
            one(c.x()?.broadcast_to(&both))
        },
        "Flatten" => |c| {
            let x = c.x()?;
            let axis = c.f64(9, "axis", 1.0)? as isize;
            let split = if axis < 0 { (axis + x.ndim() as isize) as usize } else { axis as usize };
            let (lead, rest) = x.shape().split_at(split);
            one(x.reshape(&[lead.iter().product(), rest.iter().product()]))
        },
        "Gather" => |c| {
            let (x, index, axis) = (c.x()?, c.t(1, "")?, c.f64(9, "axis", 0.0)? as isize);
            let dim = numr_core::shape::axis("gather", axis, x.ndim())?;
            let flat = x.index_select(axis, &index.reshape(&[index.numel()])?)?;
            one(flat.reshape(&[&x.shape()[..dim], index.shape(), &x.shape()[dim + 1..]].concat()))
        },
        "GatherElements" => |c| one(c.x()?.gather(c.f64(9, "axis", 0.0)? as isize, &c.t(1, "")?)),
        "Gelu" => |c| match c.word(9, "approximate", "none")? {
            "none" => one(c.x()?.gelu()),
            _ => one(c.x()?.gelu_tanh()),
        },
        "Gemm" => |c| {
            let turned = |t: Tensor<R>, flag: &str| Ok::<_, Stop>(if c.flag(9, flag, false)? { t.t()? } else { t });
            let product = turned(c.x()?, "transA")?.matmul(&turned(c.t(1, "")?, "transB")?)?;
            let product = product.mul(c.f64(9, "alpha", 1.0)?)?;
            let beta = c.f64(9, "beta", 1.0)?;
            one(match c.maybe(2, "")? {
                Some(bias) => product.add(&bias.mul(beta)?),
                None => Ok(product),
            })
        },
        "GlobalAveragePool" => |c| one(c.x()?.mean(spatial(&c.x()?), true)),
        "GlobalMaxPool" => |c| one(c.x()?.max(spatial(&c.x()?), true)),
        "HardSigmoid" => |c| one(c.x()?.mul(c.f64(9, "alpha", 0.2)?)?.add(c.f64(9, "beta", 0.5)?)?.clamp(0.0, 1.0)),
        "HardSwish" => |c| one(c.x()?.mul(&c.x()?.div(6.0)?.add(0.5)?.clamp(0.0, 1.0)?)),
        "Identity" => |c| Ok(vec![c.x()?]),
        "IsInf" => |c| {
            let up = c.x()?.eq(f64::INFINITY)?.logical_and(c.flag(9, "detect_positive", true)?)?;
            one(c.x()?.eq(f64::NEG_INFINITY)?.logical_and(c.flag(9, "detect_negative", true)?)?.logical_or(&up))
        },
        "LayerNormalization" => |c| {
            let (x, lead) = (c.x()?, from_axis(c)?);
            let eps = c.f64(9, "epsilon", 1e-5)?;
            let axes: Vec<usize> = (lead..x.ndim()).collect();
            let bias = c.maybe(2, "")?;
            let over = |t: Option<Tensor<R>>| t.map(|t| t.reshape(&x.shape()[lead..])).transpose();
            let (weight, bias) = (over(c.maybe(1, "")?)?, over(bias)?);
            let y = x.layer_norm_over(axes.len(), weight.as_ref(), bias.as_ref(), eps)?;
            let mean = x.mean(&axes, true)?;
            let deviation = x.var(&axes, true, 0)?.add(eps)?.rsqrt()?;
            Ok(vec![y, mean, deviation])
        },
        "RMSNormalization" => |c| {
            let (x, lead) = (c.x()?, from_axis(c)?);
            let eps = c.f64(9, "epsilon", 1e-5)?;
            let weight = c.maybe(1, "")?.map(|t| t.reshape(&x.shape()[lead..])).transpose()?;
            one(x.rms_norm_over(x.ndim() - lead, weight.as_ref(), eps))
        },
        "LeakyRelu" => |c| one(c.x()?.leaky_relu(c.f64(9, "alpha", 0.01)?)),
        "LogSoftmax" => |c| one(modern(c)?.log_softmax(c.f64(9, "axis", -1.0)? as isize)),
        "Softmax" => |c| one(modern(c)?.softmax(c.f64(9, "axis", -1.0)? as isize)),
        "MatMul" => |c| one(c.x()?.matmul(&c.t(1, "")?)),
        "Max" => |c| folded(c, |a, b| a.maximum(b)),
        "Min" => |c| folded(c, |a, b| a.minimum(b)),
        "Sum" => |c| folded(c, |a, b| a.add(b)),
        "Mean" => |c| one(folded(c, |a, b| a.add(b))?.remove(0).div(c.all()?.len() as f64)),
        "MeanVarianceNormalization" => |c| {
            let (x, axes) = (c.x()?, [0isize, 2, 3]);
            one(x.sub(&x.mean(axes, true)?)?.div(&x.std(axes, true, 0)?.add(1e-9)?))
        },
        "Mish" => |c| one(c.x()?.mul(&c.x()?.softplus()?.tanh()?)),
        "Mod" => |c| match c.flag(9, "fmod", false)? {
            true => one(c.x()?.fmod(&c.t(1, "")?)),
            false => one(super::elementwise::remainder(&c.x()?, &c.t(1, "")?)),
        },
        "NonZero" => |c| one(c.x()?.nonzero()?.t()),
        "PRelu" => |c| one(c.x()?.leaky_relu(&c.t(1, "")?)),
        "Pow" => |c| {
            let (x, y) = (c.x()?, c.t(1, "")?);
            one(x.pow(&y)?.cast(x.dtype()))
        },
        "ReduceL1" => |c| reduced(c, |x, a, k| x.abs()?.sum(a, k)),
        "ReduceL2" => |c| reduced(c, |x, a, k| x.square()?.sum(a, k)?.sqrt()),
        "ReduceLogSum" => |c| reduced(c, |x, a, k| x.sum(a, k)?.log()),
        "ReduceLogSumExp" => |c| reduced(c, |x, a, k| x.logsumexp(a, k)),
        "ReduceMax" => |c| reduced(c, |x, a, k| x.max(a, k)),
        "ReduceMean" => |c| reduced(c, |x, a, k| x.mean(a, k)),
        "ReduceMin" => |c| reduced(c, |x, a, k| x.min(a, k)),
        "ReduceProd" => |c| reduced(c, |x, a, k| x.prod(a, k)),
        "ReduceSum" => |c| reduced(c, |x, a, k| x.sum(a, k)),
        "ReduceSumSquare" => |c| reduced(c, |x, a, k| x.square()?.sum(a, k)),
        "Reshape" => |c| {
            let (x, keep) = (c.x()?, !c.flag(9, "allowzero", false)?);
            let size = |(i, n): (usize, i64)| if n == 0 && keep { x.shape()[i] as isize } else { n as isize };
            let shape: Vec<isize> = ints(&c.t(1, "")?)?.into_iter().enumerate().map(size).collect();
            one(x.reshape_infer(&shape))
        },
        "Selu" => |c| {
            let (alpha, gamma) =
                (c.f64(9, "alpha", 1.673_263_192_176_818_8)?, c.f64(9, "gamma", 1.050_701_022_148_132_3)?);
            one(c.x()?.elu(alpha)?.mul(gamma))
        },
        "Softsign" => |c| one(c.x()?.div(&c.x()?.abs()?.add(1.0)?)),
        "Squeeze" => |c| {
            let x = c.x()?;
            let axes: Option<Vec<usize>> = match c.maybe(1, "")? {
                Some(axes) => {
                    let place = |a: i64| numr_core::shape::axis("squeeze", a as isize, x.ndim());
                    Some(ints(&axes)?.into_iter().map(place).collect::<numr_core::Result<_>>()?)
                }
                None => None,
            };
            let gone = |i: usize| x.shape()[i] == 1 && axes.as_ref().is_none_or(|a| a.contains(&i));
            let shape: Vec<usize> = (0..x.ndim()).filter(|&i| !gone(i)).map(|i| x.shape()[i]).collect();
            one(x.reshape(&shape))
        },
        "Swish" => |c| one(c.x()?.mul(&c.x()?.mul(c.f64(9, "alpha", 1.0)?)?.sigmoid()?)),
        "ThresholdedRelu" => |c| {
            let keep = c.x()?.gt(c.f64(9, "alpha", 1.0)?)?;
            one(keep.where_cond(&c.x()?, 0.0))
        },
        "Tile" => |c| {
            let counts: Vec<usize> = ints(&c.t(1, "")?)?.into_iter().map(|n| n as usize).collect();
            one(c.x()?.repeat(&counts))
        },
        "Transpose" => |c| match c.value(9, "perm").is_null() {
            true => one(c.x()?.permute((0..c.x()?.ndim()).rev().collect::<Vec<_>>())),
            false => one(c.x()?.permute(c.ints(9, "perm")?)),
        },
        "Trilu" => |c| {
            let k = match c.maybe(1, "")? {
                Some(k) => ints(&k)?[0],
                None => 0,
            };
            one(if c.flag(9, "upper", true)? { c.x()?.triu(k) } else { c.x()?.tril(k) })
        },
        "Unsqueeze" => |c| {
            let x = c.x()?;
            let axes = ints(&c.t(1, "")?)?;
            let ndim = (x.ndim() + axes.len()) as i64;
            let mut axes: Vec<i64> = axes.into_iter().map(|a| if a < 0 { a + ndim } else { a }).collect();
            axes.sort();
            one(axes.into_iter().try_fold(x, |x, a| x.unsqueeze(a as isize)))
        },
        _ => return None,
    })
}

/// The dtype of an ONNX element type.
fn element(code: isize) -> Option<DType> {
    use DType::*;
    Some(match code {
        1 => F32,
        2 => U8,
        3 => I8,
        4 => U16,
        5 => I16,
        6 => I32,
        7 => I64,
        9 => Bool,
        10 => F16,
        11 => F64,
        12 => U32,
        13 => U64,
        16 => BF16,
        17 => FP8E4M3,
        19 => FP8E5M2,
        _ => return None,
    })
}

/// A cast; into the 8-bit floats ONNX saturates unless told not to, where ours gives NaN or infinity.
fn cast<R: Runtime>(c: &Call<'_, R>, dtype: DType) -> Done<R> {
    let largest = match dtype {
        DType::FP8E4M3 => Some(448.0),
        DType::FP8E5M2 => Some(57344.0),
        _ => None,
    };
    match largest.filter(|_| c.flag(9, "saturate", true).unwrap_or(true)) {
        Some(m) if c.x()?.dtype().is_float() => one(c.x()?.clamp(-m, m)?.cast(dtype)),
        _ => one(c.x()?.cast(dtype)),
    }
}

/// The elements of an operand that holds integers.
fn ints<R: Runtime>(t: &Tensor<R>) -> Result<Vec<i64>, Stop> {
    Ok(t.cast(DType::I64)?.try_to_vec()?)
}

/// The axes after batch and channel.
fn spatial<R: Runtime>(x: &Tensor<R>) -> Vec<usize> {
    (2..x.ndim()).collect()
}

/// The first axis of a normalisation.
fn from_axis<R: Runtime>(c: &Call<'_, R>) -> Result<usize, Stop> {
    Ok(numr_core::shape::axis("axis", c.f64(9, "axis", -1.0)? as isize, c.x()?.ndim())?)
}

/// The operand, unless the node is of the time when softmax flattened.
fn modern<R: Runtime>(c: &Call<'_, R>) -> Result<Tensor<R>, Stop> {
    if c.int(9, "opset")? < 13 { Err(c.strange(9, "opset")) } else { c.x() }
}

/// All operands folded by a binary op.
fn folded<R: Runtime>(c: &Call<'_, R>, f: fn(&Tensor<R>, &Tensor<R>) -> numr_core::Result<Tensor<R>>) -> Done<R> {
    let mut parts = c.all()?.into_iter();
    let first = parts.next().ok_or_else(|| Stop::NotMapped("no operand".into()))?;
    one(parts.try_fold(first, |a, b| f(&a, &b)))
}

/// A reduction over the axes that the second operand, or an attribute, names; without any, all or none.
fn reduced<R: Runtime>(c: &Call<'_, R>, f: fn(&Tensor<R>, Axes, bool) -> numr_core::Result<Tensor<R>>) -> Done<R> {
    let keep = c.flag(9, "keepdims", true)?;
    let axes = match c.maybe(1, "")? {
        Some(axes) => ints(&axes)?,
        None if c.value(9, "axes").is_null() => Vec::new(),
        None => c.ints(9, "axes")?.into_iter().map(|a| a as i64).collect(),
    };
    let nothing = c.flag(9, "noop_with_empty_axes", false)?;
    if axes.is_empty() && nothing {
        return Err(Stop::NotMapped("no axes".into()));
    }
    let axes =
        if axes.is_empty() { Axes::All } else { Axes::from(axes.iter().map(|&a| a as isize).collect::<Vec<_>>()) };
    let y = f(&c.x()?, axes, keep)?;
    // ONNX keeps the operand's dtype where ours widens.
    one(y.cast(c.x()?.dtype()))
}

/// Argmax and argmin.
fn arg_fold<R: Runtime>(c: &Call<'_, R>, fold: fn(&Tensor<R>, isize, bool) -> numr_core::Result<Tensor<R>>) -> Done<R> {
    if c.flag(9, "select_last_index", false)? {
        return Err(c.strange(9, "select_last_index"));
    }
    one(fold(&c.x()?, c.f64(9, "axis", 0.0)? as isize, c.flag(9, "keepdims", true)?))
}
