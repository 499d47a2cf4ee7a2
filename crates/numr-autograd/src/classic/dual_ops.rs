//! Functions of dual tensors.

use super::dual::DualTensor;
use super::functions;
use numr_core::classic::RuntimeClient;
use numr_core::{Result, Runtime};

functions! { DualTensor:
    unary {
        dual_neg = neg; dual_abs = abs; dual_exp = exp; dual_log = log; dual_sqrt = sqrt; dual_square = square;
        dual_sin = sin; dual_cos = cos; dual_tan = tan; dual_tanh = tanh; dual_recip = recip; dual_relu = relu;
        dual_sigmoid = sigmoid; dual_silu = silu; dual_softplus = softplus;
    }
    binary { dual_add = add; dual_sub = sub; dual_mul = mul; dual_div = div; dual_pow = pow; dual_matmul = matmul; }
    of {
        dual_sum(a, dims: &[usize], keepdim: bool) = a.sum(dims, keepdim);
        dual_mean(a, dims: &[usize], keepdim: bool) = a.mean(dims, keepdim);
        dual_softmax(a, dim: isize) = a.softmax(dim);
        dual_add_scalar(a, scalar: f64) = a.add(scalar);
        dual_sub_scalar(a, scalar: f64) = a.sub(scalar);
        dual_mul_scalar(a, scalar: f64) = a.mul(scalar);
        dual_div_scalar(a, scalar: f64) = a.div(scalar);
        dual_pow_scalar(a, n: f64) = a.pow(n);
    }
    shape {
        dual_reshape(a, shape: &[usize]) = a.reshape(shape);
        dual_transpose(a, dim0: isize, dim1: isize) = a.transpose(dim0, dim1);
        dual_narrow(a, dim: isize, start: usize, length: usize) = a.narrow(dim, start, length);
        dual_unsqueeze(a, dim: isize) = a.unsqueeze(dim);
        dual_permute(a, dims: &[usize]) = a.permute(dims);
    }
}

/// `a.contiguous()`
#[track_caller]
pub fn dual_contiguous<R: Runtime>(a: &DualTensor<R>) -> DualTensor<R> {
    DualTensor::wrap(a.on().contiguous())
}

/// `a.squeeze(dim)`
#[track_caller]
pub fn dual_squeeze<R: Runtime>(a: &DualTensor<R>, dim: Option<isize>) -> DualTensor<R> {
    DualTensor::wrap(a.on().squeeze(dim))
}
