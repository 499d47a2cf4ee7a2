//! Functions of variables.

use super::functions;
use super::var::Var;
use crate::tape::{Tape, constant, value};
use numr_core::classic::RuntimeClient;
use numr_core::{DType, Result, Runtime, Tensor};

functions! { Var:
    unary {
        var_neg = neg; var_abs = abs; var_sqrt = sqrt; var_rsqrt = rsqrt; var_cbrt = cbrt; var_square = square;
        var_recip = recip; var_exp = exp; var_expm1 = expm1; var_exp2 = exp2; var_log = log; var_log1p = log1p;
        var_log2 = log2; var_log10 = log10; var_sin = sin; var_cos = cos; var_tan = tan; var_asin = asin;
        var_acos = acos; var_atan = atan; var_sinh = sinh; var_cosh = cosh; var_tanh = tanh; var_asinh = asinh;
        var_acosh = acosh; var_atanh = atanh; var_erf = erf; var_erfc = erfc; var_relu = relu; var_sigmoid = sigmoid;
        var_silu = silu; var_gelu = gelu; var_softplus = softplus; var_mish = mish; var_selu = selu; var_trace = trace;
    }
    binary {
        var_add = add; var_sub = sub; var_mul = mul; var_div = div; var_pow = pow; var_maximum = maximum;
        var_minimum = minimum; var_matmul = matmul; var_silu_mul = silu_mul; var_gelu_mul = gelu_mul;
        var_relu_mul = relu_mul; var_sigmoid_mul = sigmoid_mul; var_swiglu = silu_mul; var_hypot = hypot;
        var_atan2 = atan2;
    }
    of {
        var_add_scalar(a, scalar: f64) = a.add(scalar);
        var_sub_scalar(a, scalar: f64) = a.sub(scalar);
        var_mul_scalar(a, scalar: f64) = a.mul(scalar);
        var_div_scalar(a, scalar: f64) = a.div(scalar);
        var_pow_scalar(a, scalar: f64) = a.pow(scalar);
        var_clamp(a, min_val: f64, max_val: f64) = a.clamp(min_val, max_val);
        var_leaky_relu(a, negative_slope: f64) = a.leaky_relu(negative_slope);
        var_elu(a, alpha: f64) = a.elu(alpha);
        var_softmax(a, dim: isize) = a.softmax(dim);
        var_log_softmax(a, dim: isize) = a.log_softmax(dim);
        var_sum(a, dims: &[usize], keepdim: bool) = a.sum(dims, keepdim);
        var_mean(a, dims: &[usize], keepdim: bool) = a.mean(dims, keepdim);
        var_prod(a, dims: &[usize], keepdim: bool) = a.prod(dims, keepdim);
        var_max(a, dims: &[usize], keepdim: bool) = a.max(dims, keepdim);
        var_min(a, dims: &[usize], keepdim: bool) = a.min(dims, keepdim);
        var_logsumexp(a, dims: &[usize], keepdim: bool) = a.logsumexp(dims, keepdim);
        var_var(a, dims: &[usize], keepdim: bool, correction: usize) = a.var(dims, keepdim, correction as f64);
        var_std(a, dims: &[usize], keepdim: bool, correction: usize) = a.std(dims, keepdim, correction as f64);
        var_cumsum(a, dim: isize) = a.cumsum(dim);
        var_cumprod(a, dim: isize) = a.cumprod(dim);
        var_cast(a, dtype: DType) = a.cast(dtype);
        var_gather(a, dim: usize, index: &Tensor<R>) =
            a.gather(isize::try_from(dim).unwrap_or(isize::MAX), &constant(index));
        var_matmul_bias(a, b: &Var<R>, bias: &Var<R>) = a.matmul_bias(b.on(), bias.on());
        var_rms_norm(input, weight: &Var<R>, eps: f32) = input.rms_norm(weight.on(), eps);
        var_layer_norm(input, weight: &Var<R>, bias: &Var<R>, eps: f32) =
            input.layer_norm(weight.on(), bias.on(), eps);
        var_group_norm(input, weight: &Var<R>, bias: &Var<R>, num_groups: usize, eps: f32) =
            input.group_norm(weight.on(), bias.on(), num_groups, eps);
        var_fused_add_rms_norm(x, residual: &Var<R>, weight: &Var<R>, eps: f32) =
            x.add(residual.on())?.rms_norm(weight.on(), eps);
        var_fused_add_layer_norm(x, residual: &Var<R>, weight: &Var<R>, bias: &Var<R>, eps: f32) =
            x.add(residual.on())?.layer_norm(weight.on(), bias.on(), eps);
    }
    shape {
        var_reshape(a, shape: &[usize]) = a.reshape(shape);
        var_transpose(a) = a.transpose(-2, -1);
        var_permute(a, dims: &[usize]) = a.permute(dims);
        var_broadcast_to(a, shape: &[usize]) = a.broadcast_to(shape);
        var_narrow(a, dim: isize, start: usize, length: usize) = a.narrow(dim, start, length);
    }
}

/// `Tensor::cat(vars, dim)`
///
/// # Errors
/// As the op.
pub fn var_cat<R: Runtime, C: RuntimeClient<R>>(vars: &[&Var<R>], dim: isize, _client: &C) -> Result<Var<R>> {
    Tensor::cat(&vars.iter().map(|v| v.on()).collect::<Vec<&Tensor<Tape<R>>>>(), dim).map(Var::wrap)
}

/// `a.mul(mask)` and the mask: 0 with probability p, else 1/(1 - p).
///
/// # Errors
/// As [`Tensor::dropout`].
pub fn var_dropout<R: Runtime, C: RuntimeClient<R>>(a: &Var<R>, p: f64, _client: &C) -> Result<(Var<R>, Tensor<R>)> {
    let mask = value(&a.on().ones_like()?.dropout(p, true)?);
    Ok((a.on().mul(&constant(&mask)).map(Var::wrap)?, mask))
}
