//! The traits of 0.5, on the client of every runtime.
//!
//! The methods are those whose op exists. Meanings are those of the ops: comparisons give bool, `gelu` is the exact
//! form, a vector in a matrix product adds no axis to the result, rounding takes halves to even.

use super::RuntimeClient;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ops::activation::gated_backward;
pub use crate::ops::distance::DistanceMetric;
pub use crate::ops::einsum::Semiring as SemiringOp;
use crate::ops::fused::{layer_norm_backward, rms_norm_backward};
use crate::ops::index::ScatterReduceOp;
use crate::ops::map::Row;
use crate::ops::order::Quantile;
use crate::rng::Key;
use crate::runtime::Runtime;
use crate::tensor::Tensor;

/// Which axis of a grid the first vector runs along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeshgridIndexing {
    /// The first: matrix indexing.
    Ij,
    /// The second: Cartesian coordinates.
    Xy,
}

/// A trait, its methods, and its implementation for every client: `name(arguments) -> result = call`. Methods of one
/// tensor, or of two, that call the tensor's own of that name, are listed only.
macro_rules! client_trait {
    ($(#[doc = $doc:literal])* $Trait:ident $(: $Super:ident $(+ $More:ident)*)? {
        $(@unary [$($u:ident)*])?
        $(@binary [$($b:ident)*])?
        $($m:ident($self:ident $(, $p:ident: $t:ty)*) -> $out:ty = $e:expr;)*
    }) => {
        $(#[doc = $doc])*
        #[allow(clippy::too_many_arguments, reason = "the signatures of 0.5")]
        pub trait $Trait<R: Runtime>: RuntimeClient<R> $(+ $Super<R> $(+ $More<R>)*)? {
            $($(#[doc = concat!("`a.", stringify!($u), "()`")]
            ///
            /// # Errors
            /// As the op.
            fn $u(&self, a: &Tensor<R>) -> Result<Tensor<R>> {
                a.$u()
            })*)?
            $($(#[doc = concat!("`a.", stringify!($b), "(b)`")]
            ///
            /// # Errors
            /// As the op.
            fn $b(&self, a: &Tensor<R>, b: &Tensor<R>) -> Result<Tensor<R>> {
                a.$b(b)
            })*)?
            $(#[doc = concat!("`", stringify!($e), "`")]
            ///
            /// # Errors
            /// As the op.
            fn $m(&$self $(, $p: $t)*) -> Result<$out> {
                $e
            })*
        }
        impl<R: Runtime, C: RuntimeClient<R>> $Trait<R> for C {}
    };
}

client_trait! {
    /// Functions of one element.
    UnaryOps {
        @unary [
            neg abs sign sqrt rsqrt cbrt square recip exp expm1 exp2 log log1p log2 log10 sin cos tan asin acos atan
            sinh cosh tanh asinh acosh atanh floor ceil round trunc isnan isinf
       ]
    }
}

client_trait! {
    /// Functions of two elements.
    BinaryOps {
        @binary [add sub mul div pow maximum minimum atan2]
        fused_mul_add(self, a: &Tensor<R>, b: &Tensor<R>, c: &Tensor<R>) -> Tensor<R> = a.fused_mul_add(b, c);
        fused_add_mul(self, a: &Tensor<R>, b: &Tensor<R>, c: &Tensor<R>) -> Tensor<R> = a.fused_add_mul(b, c);
    }
}

client_trait! {
    /// A tensor and a number, in the tensor's dtype.
    ScalarOps: TensorOps {
        add_scalar(self, a: &Tensor<R>, scalar: f64) -> Tensor<R> = a.add(a.scalar(scalar));
        sub_scalar(self, a: &Tensor<R>, scalar: f64) -> Tensor<R> = a.sub(a.scalar(scalar));
        mul_scalar(self, a: &Tensor<R>, scalar: f64) -> Tensor<R> = a.mul(a.scalar(scalar));
        div_scalar(self, a: &Tensor<R>, scalar: f64) -> Tensor<R> = a.div(a.scalar(scalar));
        pow_scalar(self, a: &Tensor<R>, scalar: f64) -> Tensor<R> = a.pow(a.scalar(scalar));
        rsub_scalar(self, a: &Tensor<R>, scalar: f64) -> Tensor<R> = a.neg()?.add(a.scalar(scalar));
        fused_mul_add_scalar(self, a: &Tensor<R>, scale: f64, bias: f64) -> Tensor<R> =
            a.fused_mul_add(a.scalar(scale), a.scalar(bias));
    }
}

client_trait! {
    /// Comparisons; the result is bool.
    CompareOps: TensorOps {
        @binary [eq ne lt le gt ge]
    }
}

client_trait! {
    /// Truth values.
    LogicalOps {
        @unary [logical_not]
        @binary [logical_and logical_or logical_xor]
    }
}

client_trait! {
    /// Choice.
    ConditionalOps {
        where_cond(self, cond: &Tensor<R>, x: &Tensor<R>, y: &Tensor<R>) -> Tensor<R> = cond.where_cond(x, y);
    }
}

client_trait! {
    /// Complex numbers.
    ComplexOps {
        @unary [conj real imag angle]
        make_complex(self, real: &Tensor<R>, imag: &Tensor<R>) -> Tensor<R> = real.complex(imag);
        complex_mul_real(self, complex: &Tensor<R>, real: &Tensor<R>) -> Tensor<R> = complex.mul(real);
        complex_div_real(self, complex: &Tensor<R>, real: &Tensor<R>) -> Tensor<R> = complex.div(real);
        real_mul_complex(self, real: &Tensor<R>, complex: &Tensor<R>) -> Tensor<R> = real.mul(complex);
    }
}

client_trait! {
    /// Activations.
    ActivationOps {
        @unary [relu sigmoid silu gelu softplus]
        @binary [silu_mul gelu_mul relu_mul sigmoid_mul]
        leaky_relu(self, a: &Tensor<R>, negative_slope: f64) -> Tensor<R> = a.leaky_relu(negative_slope);
        elu(self, a: &Tensor<R>, alpha: f64) -> Tensor<R> = a.elu(alpha);
        softmax(self, a: &Tensor<R>, dim: isize) -> Tensor<R> = a.softmax(dim);
        log_softmax(self, a: &Tensor<R>, dim: isize) -> Tensor<R> = a.log_softmax(dim);
        softmax_bwd(self, grad: &Tensor<R>, output: &Tensor<R>, dim: isize) -> Tensor<R> = output.softmax_bwd(grad, dim);
        dropout(self, a: &Tensor<R>, p: f64, training: bool) -> Tensor<R> = a.dropout(p, training);
        silu_mul_bwd(self, grad: &Tensor<R>, a: &Tensor<R>, b: &Tensor<R>) -> (Tensor<R>, Tensor<R>) =
            gated_backward(Row::Silu, grad, a, b);
        gelu_mul_bwd(self, grad: &Tensor<R>, a: &Tensor<R>, b: &Tensor<R>) -> (Tensor<R>, Tensor<R>) =
            gated_backward(Row::Gelu, grad, a, b);
        relu_mul_bwd(self, grad: &Tensor<R>, a: &Tensor<R>, b: &Tensor<R>) -> (Tensor<R>, Tensor<R>) =
            gated_backward(Row::Relu, grad, a, b);
        sigmoid_mul_bwd(self, grad: &Tensor<R>, a: &Tensor<R>, b: &Tensor<R>) -> (Tensor<R>, Tensor<R>) =
            gated_backward(Row::Sigmoid, grad, a, b);
    }
}

client_trait! {
    /// Folds; an empty list of axes means all.
    ReduceOps {
        sum(self, a: &Tensor<R>, dims: &[usize], keepdim: bool) -> Tensor<R> = a.sum(dims, keepdim);
        mean(self, a: &Tensor<R>, dims: &[usize], keepdim: bool) -> Tensor<R> = a.mean(dims, keepdim);
        max(self, a: &Tensor<R>, dims: &[usize], keepdim: bool) -> Tensor<R> = a.max(dims, keepdim);
        min(self, a: &Tensor<R>, dims: &[usize], keepdim: bool) -> Tensor<R> = a.min(dims, keepdim);
        prod(self, a: &Tensor<R>, dims: &[usize], keepdim: bool) -> Tensor<R> = a.prod(dims, keepdim);
        any(self, a: &Tensor<R>, dims: &[usize], keepdim: bool) -> Tensor<R> = a.any(dims, keepdim);
        all(self, a: &Tensor<R>, dims: &[usize], keepdim: bool) -> Tensor<R> = a.all(dims, keepdim);
    }
}

client_trait! {
    /// Running folds, and the logarithm of a sum of exponentials.
    CumulativeOps {
        cumsum(self, a: &Tensor<R>, dim: isize) -> Tensor<R> = a.cumsum(dim);
        cumprod(self, a: &Tensor<R>, dim: isize) -> Tensor<R> = a.cumprod(dim);
        logsumexp(self, a: &Tensor<R>, dims: &[usize], keepdim: bool) -> Tensor<R> = a.logsumexp(dims, keepdim);
    }
}

client_trait! {
    /// Distances of rows.
    DistanceOps {
        cdist(self, x: &Tensor<R>, y: &Tensor<R>, metric: DistanceMetric) -> Tensor<R> = x.cdist(y, metric);
        pdist(self, x: &Tensor<R>, metric: DistanceMetric) -> Tensor<R> = x.pdist(metric);
        squareform(self, condensed: &Tensor<R>, n: usize) -> Tensor<R> = condensed.squareform(n);
        squareform_inverse(self, square: &Tensor<R>) -> Tensor<R> = square.squareform_inverse();
    }
}

client_trait! {
    /// Products over named axes.
    EinsumOps {
        einsum(self, notation: &str, inputs: &[&Tensor<R>]) -> Tensor<R> = Tensor::einsum(notation, inputs);
    }
}

client_trait! {
    /// Products over semirings.
    SemiringMatmulOps {
        semiring_matmul(self, a: &Tensor<R>, b: &Tensor<R>, op: SemiringOp) -> Tensor<R> = a.semiring_matmul(b, op);
    }
}

client_trait! {
    /// Joining, cutting, repeating, padding.
    ShapeOps {
        cat(self, tensors: &[&Tensor<R>], dim: isize) -> Tensor<R> = Tensor::cat(tensors, dim);
        stack(self, tensors: &[&Tensor<R>], dim: isize) -> Tensor<R> = Tensor::stack(tensors, dim);
        split(self, tensor: &Tensor<R>, split_size: usize, dim: isize) -> Vec<Tensor<R>> = tensor.split(split_size, dim);
        chunk(self, tensor: &Tensor<R>, chunks: usize, dim: isize) -> Vec<Tensor<R>> = tensor.chunk(chunks, dim);
        repeat(self, tensor: &Tensor<R>, repeats: &[usize]) -> Tensor<R> = tensor.repeat(repeats);
        pad(self, tensor: &Tensor<R>, padding: &[usize], value: f64) -> Tensor<R> =
            tensor.pad(&widths(padding, tensor.ndim())?, value);
        roll(self, tensor: &Tensor<R>, shift: isize, dim: isize) -> Tensor<R> = tensor.roll(shift, dim);
        unfold(self, tensor: &Tensor<R>, dim: isize, size: usize, step: usize) -> Tensor<R> =
            tensor.unfold(dim, size, step);
        repeat_interleave(self, tensor: &Tensor<R>, repeats: usize, dim: Option<isize>) -> Tensor<R> =
            tensor.repeat_interleave(repeats, dim);
    }
}

/// A pair for each axis from pairs that start at the last.
fn widths(padding: &[usize], ndim: usize) -> Result<Vec<(usize, usize)>> {
    let (pairs, rest) = padding.as_chunks::<2>();
    let Some(untouched) = ndim.checked_sub(pairs.len()).filter(|_| rest.is_empty()) else {
        let reason = format!("{padding:?} is not a pair for each of the last axes of {ndim}");
        return Err(Error::argument("pad", "padding", reason));
    };
    let given = pairs.iter().rev().map(|&[before, after]| (before, after));
    Ok(std::iter::repeat_n((0, 0), untouched).chain(given).collect())
}

client_trait! {
    /// Reading and writing by index.
    IndexingOps {
        argmax(self, a: &Tensor<R>, dim: usize, keepdim: bool) -> Tensor<R> = a.argmax(dim, keepdim);
        argmin(self, a: &Tensor<R>, dim: usize, keepdim: bool) -> Tensor<R> = a.argmin(dim, keepdim);
        gather(self, a: &Tensor<R>, dim: usize, index: &Tensor<R>) -> Tensor<R> = a.gather(signed(dim), index);
        scatter(self, a: &Tensor<R>, dim: usize, index: &Tensor<R>, src: &Tensor<R>) -> Tensor<R> =
            a.scatter(signed(dim), index, src);
        index_select(self, a: &Tensor<R>, dim: usize, index: &Tensor<R>) -> Tensor<R> =
            a.index_select(signed(dim), index);
        index_put(self, a: &Tensor<R>, dim: usize, index: &Tensor<R>, src: &Tensor<R>) -> Tensor<R> =
            a.index_put(signed(dim), index, src);
        take(self, tensor: &Tensor<R>, indices: &Tensor<R>) -> Tensor<R> = tensor.take(indices);
        put(self, tensor: &Tensor<R>, indices: &Tensor<R>, values: &Tensor<R>) -> Tensor<R> = tensor.put(indices, values);
        masked_select(self, a: &Tensor<R>, mask: &Tensor<R>) -> Tensor<R> = a.masked_select(mask);
        masked_fill(self, a: &Tensor<R>, mask: &Tensor<R>, value: f64) -> Tensor<R> = a.masked_fill(mask, value);
        embedding_lookup(self, embeddings: &Tensor<R>, indices: &Tensor<R>) -> Tensor<R> =
            embeddings.embedding_lookup(indices);
        scatter_reduce(self, dst: &Tensor<R>, dim: usize, index: &Tensor<R>, src: &Tensor<R>, op: ScatterReduceOp,
            include_self: bool) -> Tensor<R> = dst.scatter_reduce(signed(dim), index, src, op, include_self);
        gather_nd(self, input: &Tensor<R>, indices: &Tensor<R>) -> Tensor<R> = input.gather_nd(indices);
        gather_2d(self, input: &Tensor<R>, rows: &Tensor<R>, cols: &Tensor<R>) -> Tensor<R> =
            input.gather_nd(&Tensor::stack(&[rows, cols], -1)?);
        bincount(self, input: &Tensor<R>, weights: Option<&Tensor<R>>, minlength: usize) -> Tensor<R> =
            input.bincount(weights, minlength);
        slice_assign(self, dst: &Tensor<R>, src: &Tensor<R>, dim: usize, start: usize) -> Tensor<R> =
            dst.slice_assign(src, signed(dim), start);
    }
}

/// An axis that counts from the front. One past `isize` is out of range, whatever the tensor.
fn signed(dim: usize) -> isize {
    isize::try_from(dim).unwrap_or(isize::MAX)
}

client_trait! {
    /// Order.
    SortingOps {
        @unary [nonzero]
        sort(self, a: &Tensor<R>, dim: isize, descending: bool) -> Tensor<R> = a.sort(dim, descending);
        sort_with_indices(self, a: &Tensor<R>, dim: isize, descending: bool) -> (Tensor<R>, Tensor<R>) =
            a.sort_with_indices(dim, descending);
        argsort(self, a: &Tensor<R>, dim: isize, descending: bool) -> Tensor<R> = a.argsort(dim, descending);
        topk(self, a: &Tensor<R>, k: usize, dim: isize, largest: bool, sorted: bool) -> (Tensor<R>, Tensor<R>) =
            a.topk(k, dim, largest, sorted);
        unique(self, a: &Tensor<R>, _sorted: bool) -> Tensor<R> = a.unique();
        unique_with_counts(self, a: &Tensor<R>) -> (Tensor<R>, Tensor<R>, Tensor<R>) = a.unique_with_counts();
        searchsorted(self, sorted_sequence: &Tensor<R>, values: &Tensor<R>, right: bool) -> Tensor<R> =
            sorted_sequence.searchsorted(values, right);
    }
}

client_trait! {
    /// Matrix products.
    MatmulOps {
        @binary [matmul]
        matmul_bias(self, a: &Tensor<R>, b: &Tensor<R>, bias: &Tensor<R>) -> Tensor<R> = a.matmul_bias(b, bias);
    }
}

client_trait! {
    /// Parts of a matrix.
    LinalgOps {
        trace(self, a: &Tensor<R>) -> Tensor<R> = a.trace();
        diag(self, a: &Tensor<R>) -> Tensor<R> = a.diagonal(0, -2, -1);
        diagflat(self, a: &Tensor<R>) -> Tensor<R> = a.diagflat();
        kron(self, a: &Tensor<R>, b: &Tensor<R>) -> Tensor<R> = a.kron(b);
        khatri_rao(self, a: &Tensor<R>, b: &Tensor<R>) -> Tensor<R> = a.khatri_rao(b);
        triu(self, a: &Tensor<R>, diagonal: i64) -> Tensor<R> = a.triu(diagonal);
        tril(self, a: &Tensor<R>, diagonal: i64) -> Tensor<R> = a.tril(diagonal);
    }
}

client_trait! {
    /// Normalisation.
    NormalizationOps {
        rms_norm(self, input: &Tensor<R>, weight: &Tensor<R>, eps: f32) -> Tensor<R> = input.rms_norm(weight, eps);
        layer_norm(self, input: &Tensor<R>, weight: &Tensor<R>, bias: &Tensor<R>, eps: f32) -> Tensor<R> =
            input.layer_norm(weight, bias, eps);
        group_norm(self, input: &Tensor<R>, weight: &Tensor<R>, bias: &Tensor<R>, num_groups: usize, eps: f32)
            -> Tensor<R> = input.group_norm(weight, bias, num_groups, eps);
        fused_add_rms_norm(self, x: &Tensor<R>, residual: &Tensor<R>, weight: &Tensor<R>, eps: f32)
            -> (Tensor<R>, Tensor<R>) = x.add_rms_norm(residual, weight, eps);
        fused_add_layer_norm(self, x: &Tensor<R>, residual: &Tensor<R>, weight: &Tensor<R>, bias: &Tensor<R>, eps: f32)
            -> (Tensor<R>, Tensor<R>) = x.add_layer_norm(residual, weight, bias, eps);
        fused_add_rms_norm_bwd(self, grad: &Tensor<R>, pre_norm: &Tensor<R>, weight: &Tensor<R>, eps: f32)
            -> (Tensor<R>, Tensor<R>) = rms_norm_backward(pre_norm, weight, grad, eps.into()).map(Into::into);
        fused_add_layer_norm_bwd(self, grad: &Tensor<R>, pre_norm: &Tensor<R>, weight: &Tensor<R>, _bias: &Tensor<R>,
            eps: f32) -> (Tensor<R>, Tensor<R>, Tensor<R>) =
            layer_norm_backward(pre_norm, weight, grad, eps.into()).map(Into::into);
    }
}

client_trait! {
    /// Conversion.
    TypeConversionOps {
        cast(self, a: &Tensor<R>, dtype: DType) -> Tensor<R> = a.cast(dtype);
    }
}

client_trait! {
    /// Limits and new tensors.
    UtilityOps {
        clamp(self, a: &Tensor<R>, min_val: f64, max_val: f64) -> Tensor<R> =
            a.clamp(a.scalar(min_val), a.scalar(max_val));
        fill(self, shape: &[usize], value: f64, dtype: DType) -> Tensor<R> =
            Tensor::try_full(shape, value, dtype, self.device());
        arange(self, start: f64, stop: f64, step: f64, dtype: DType) -> Tensor<R> =
            Tensor::try_arange(start, stop, step, dtype, self.device());
        linspace(self, start: f64, stop: f64, steps: usize, dtype: DType) -> Tensor<R> =
            Tensor::try_linspace(start, stop, steps, dtype, self.device());
        eye(self, n: usize, m: Option<usize>, dtype: DType) -> Tensor<R> =
            Tensor::try_eye(n, m, dtype, self.device());
        one_hot(self, indices: &Tensor<R>, num_classes: usize) -> Tensor<R> = indices.one_hot(num_classes);
        meshgrid(self, tensors: &[&Tensor<R>], indexing: MeshgridIndexing) -> Vec<Tensor<R>> = match indexing {
            MeshgridIndexing::Xy if tensors.len() > 1 => {
                Tensor::meshgrid(tensors)?.iter().map(|t| t.transpose(0, 1)).collect()
            }
            _ => Tensor::meshgrid(tensors),
        };
    }
}

client_trait! {
    /// Random numbers.
    RandomOps {
        rand(self, shape: &[usize], dtype: DType) -> Tensor<R> = Tensor::rand(shape, dtype, self.device());
        rand_seeded(self, shape: &[usize], dtype: DType, seed: u64) -> Tensor<R> =
            Key::new(seed).uniform(shape, dtype, self.device());
        randn(self, shape: &[usize], dtype: DType) -> Tensor<R> = Tensor::randn(shape, dtype, self.device());
        randint(self, low: i64, high: i64, shape: &[usize], dtype: DType) -> Tensor<R> =
            Tensor::randint(low, high, shape, dtype, self.device());
        bernoulli(self, p: f64, shape: &[usize], dtype: DType) -> Tensor<R> =
            Key::next().bernoulli(p, shape, dtype, self.device());
        exponential(self, rate: f64, shape: &[usize], dtype: DType) -> Tensor<R> =
            Key::next().exponential(shape, dtype, self.device())?.div(rate);
        laplace(self, loc: f64, scale: f64, shape: &[usize], dtype: DType) -> Tensor<R> =
            Key::next().laplace(shape, dtype, self.device())?.fused_mul_add(scale, loc);
        randperm(self, n: usize) -> Tensor<R> = Key::next().permutation(n, self.device());
        multinomial(self, probs: &Tensor<R>, num_samples: usize, replacement: bool) -> Tensor<R> =
            Key::next().multinomial(probs, num_samples, replacement);
    }
}

client_trait! {
    /// Statistics.
    StatisticalOps {
        var(self, a: &Tensor<R>, dims: &[usize], keepdim: bool, correction: usize) -> Tensor<R> =
            a.var(dims, keepdim, correction as f64);
        std(self, a: &Tensor<R>, dims: &[usize], keepdim: bool, correction: usize) -> Tensor<R> =
            a.std(dims, keepdim, correction as f64);
        cov(self, a: &Tensor<R>, ddof: Option<usize>) -> Tensor<R> = a.cov(ddof.unwrap_or(1) as f64);
        corrcoef(self, a: &Tensor<R>) -> Tensor<R> = a.corrcoef();
        quantile(self, a: &Tensor<R>, q: f64, dim: Option<isize>, keepdim: bool, interpolation: &str) -> Tensor<R> =
            a.quantile(q, dim, keepdim, Quantile::parse(interpolation)?);
        percentile(self, a: &Tensor<R>, p: f64, dim: Option<isize>, keepdim: bool) -> Tensor<R> =
            a.percentile(p, dim, keepdim, Quantile::Linear);
        median(self, a: &Tensor<R>, dim: Option<isize>, keepdim: bool) -> Tensor<R> = a.median(dim, keepdim);
        histogram(self, a: &Tensor<R>, bins: usize, range: Option<(f64, f64)>) -> (Tensor<R>, Tensor<R>) =
            a.histogram(bins, range);
        mode(self, a: &Tensor<R>, dim: Option<isize>, keepdim: bool) -> (Tensor<R>, Tensor<R>) = {
            let mode = dim.map_or_else(|| a.flatten()?.mode(0, false), |dim| a.mode(dim, keepdim))?;
            Ok((mode.values, mode.counts))
        };
        skew(self, a: &Tensor<R>, dims: &[usize], keepdim: bool, correction: usize) -> Tensor<R> =
            a.skew(dims, keepdim, correction as f64);
        kurtosis(self, a: &Tensor<R>, dims: &[usize], keepdim: bool, correction: usize) -> Tensor<R> =
            a.kurtosis(dims, keepdim, correction as f64);
    }
}

client_trait! {
    /// What most ops need.
    TensorOps: UnaryOps + BinaryOps + ConditionalOps + ComplexOps + ActivationOps + ReduceOps + CumulativeOps + ShapeOps
        + IndexingOps + SortingOps + MatmulOps + LinalgOps + NormalizationOps + TypeConversionOps + UtilityOps
        + StatisticalOps {
    }
}
