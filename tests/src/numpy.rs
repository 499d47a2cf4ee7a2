//! NumPy and PyTorch beside numr, as data: each row is compiled, run and compared with what NumPy answers.
//!
//! `cargo xtask gen` prints the rows as `docs/numpy.md`. The answers below are NumPy's; where there is a Python
//! (`python.rs` in the suite), NumPy is asked again, shapes included.

use numr::autograd::{grad, hessian, jvp};
use numr::ops::distance::DistanceMetric;
use numr::ops::einsum::Semiring;
use numr::ops::loss::Reduction;
use numr::prelude::*;
use numr::rng::Key;
use numr::tensor::index::NewAxis;

/// The tensor of the page.
pub type T = Tensor<CpuRuntime>;

/// Something that a row can answer, as arrays: shape and elements, a complex one as two.
pub trait Answer {
    /// The arrays.
    fn arrays(self) -> numr::Result<Vec<(Vec<usize>, Vec<f64>)>>;
}

impl Answer for T {
    fn arrays(self) -> numr::Result<Vec<(Vec<usize>, Vec<f64>)>> {
        let parts =
            if self.dtype().is_complex() { T::stack(&[&self.real()?, &self.imag()?], -1)? } else { self.clone() };
        Ok(vec![(self.shape().to_vec(), parts.cast(DType::F64)?.try_to_vec()?)])
    }
}

impl Answer for Vec<T> {
    fn arrays(self) -> numr::Result<Vec<(Vec<usize>, Vec<f64>)>> {
        Ok(self.into_iter().map(Answer::arrays).collect::<numr::Result<Vec<_>>>()?.concat())
    }
}

impl Answer for (T, T) {
    fn arrays(self) -> numr::Result<Vec<(Vec<usize>, Vec<f64>)>> {
        vec![self.0, self.1].arrays()
    }
}

impl Answer for (T, T, T) {
    fn arrays(self) -> numr::Result<Vec<(Vec<usize>, Vec<f64>)>> {
        vec![self.0, self.1, self.2].arrays()
    }
}

macro_rules! plain {
    ($($t:ty, |$v:ident| $shape:expr, $values:expr;)*) => {$(
        impl Answer for $t {
            fn arrays(self) -> numr::Result<Vec<(Vec<usize>, Vec<f64>)>> {
                let $v = self;
                Ok(vec![($shape, $values)])
            }
        }
    )*};
}

plain! {
    usize, |v| vec![], vec![v as f64];
    bool, |v| vec![], vec![f64::from(v)];
    f32, |v| vec![], vec![f64::from(v)];
    &[usize], |v| vec![v.len()], v.iter().map(|&n| n as f64).collect();
    Vec<f32>, |v| vec![v.len()], v.into_iter().map(f64::from).collect();
}

/// What a row computes.
pub type Run = fn(&Names) -> numr::Result<Vec<(Vec<usize>, Vec<f64>)>>;

/// One thing, three times.
pub struct Row {
    /// In NumPy.
    pub numpy: &'static str,
    /// In PyTorch; empty where it has no such thing.
    pub torch: &'static str,
    /// In numr.
    pub numr: &'static str,
    /// The numr side, run.
    pub run: Run,
    /// The elements of NumPy's answer.
    pub answer: &'static [f64],
}

/// The names that stand in the rows: in Python, and here.
macro_rules! names {
    (|$device:ident| $($name:ident = $python:literal, $value:expr;)*) => {
        /// What the names in the rows stand for.
        pub struct Names {
            $(
                #[doc = concat!("`", $python, "`")]
                pub $name: T,
            )*
            /// The processor.
            pub $device: CpuDevice,
        }

        impl Names {
            /// Makes them.
            pub fn new() -> numr::Result<Names> {
                let $device = &CpuDevice::new();
                Ok(Names { $($name: $value,)* $device: *$device })
            }
        }

        /// Each name, as the page shows it: in Python and in Rust.
        pub const NAMES: &[(&str, &str, &str)] = &[$((stringify!($name), $python, stringify!($value))),*];
    };
}

names! { |device|
    x = "np.array([[1, 2, 3], [4, 5, 6]], np.float32)", T::arange(1, 7, 1, DType::F32, device).reshape(&[2, 3])?;
    y = "np.array([[-1, 0.5, 2], [3, -4, 0.25]], np.float32)",
        T::from_slice(&[-1.0f32, 0.5, 2.0, 3.0, -4.0, 0.25], &[2, 3], device);
    v = "np.array([3, 1, 2], np.float32)", T::from_slice(&[3.0f32, 1.0, 2.0], &[3], device);
    u = "np.array([0.5, -0.25, 0.75], np.float32)", T::from_slice(&[0.5f32, -0.25, 0.75], &[3], device);
    w = "np.array([np.nan, 1, np.inf, -np.inf, 2], np.float32)",
        T::from_slice(&[f32::NAN, 1.0, f32::INFINITY, -f32::INFINITY, 2.0], &[5], device);
    a = "np.array([[2., 1], [1, 3]])", T::from_slice(&[2.0, 1.0, 1.0, 3.0], &[2, 2], device);
    b = "np.array([[0., 1], [-1, 2]])", T::from_slice(&[0.0, 1.0, -1.0, 2.0], &[2, 2], device);
    n = "np.array([7, -7, 12, 5], np.int32)", T::from_slice(&[7i32, -7, 12, 5], &[4], device);
    d = "np.array([3, 3, -5, 2], np.int32)", T::from_slice(&[3i32, 3, -5, 2], &[4], device);
    i = "np.array([2, 0])", T::from_slice(&[2i64, 0], &[2], device);
    k = "np.array([1, 0, 2, 1, 1])", T::from_slice(&[1i64, 0, 2, 1, 1], &[5], device);
    last = "np.array([2])", T::from_slice(&[2i64], &[1], device);
    m = "np.array([[True, False, True], [False, False, True]])",
        T::from_slice(&[true, false, true, false, false, true], &[2, 3], device);
    z = "np.array([1 + 2j, -3 + 0.5j], np.complex64)",
        T::from_slice(&[Complex::new(1.0f32, 2.0), Complex::new(-3.0, 0.5)], &[2], device);
}

/// `"NumPy", "PyTorch" => numr => NumPy's elements;` by section, with the names that may stand in them.
macro_rules! rows {
    ($names:tt $($section:literal { $($numpy:literal, $torch:literal => $numr:expr => $answer:expr;)* })*) => {
        /// The rows, by section.
        pub const SECTIONS: &[(&str, &[Row])] = &[$(($section, &[$(Row {
            numpy: $numpy,
            torch: $torch,
            numr: stringify!($numr),
            run: |names| {
                #[allow(unused_variables, reason = "a row uses some of the names")]
                let Names $names = names;
                $numr.arrays()
            },
            answer: &$answer,
        }),*])),*];
    };
}

rows! { { x, y, v, u, w, a, b, n, d, i, k, last, m, z, device }
    "Making tensors" {
        "np.array([3, 1, 2], np.float32)", "torch.tensor([3., 1., 2.])" =>
            T::from_slice(&[3.0f32, 1.0, 2.0], &[3], device) => [3.0, 1.0, 2.0];
        "np.array([[1, 2], [3, 4]])", "torch.tensor([[1, 2], [3, 4]])" =>
            T::from_slice(&[1i64, 2, 3, 4], &[2, 2], device) => [1.0, 2.0, 3.0, 4.0];
        "np.zeros((2, 3), np.float32)", "torch.zeros(2, 3)" =>
            T::zeros(&[2, 3], DType::F32, device) => [0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        "np.ones((2, 3))", "torch.ones(2, 3, dtype=torch.float64)" =>
            T::ones(&[2, 3], DType::F64, device) => [1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        "np.full((2, 2), 7)", "torch.full((2, 2), 7)" =>
            T::full(&[2, 2], 7, DType::I64, device) => [7.0, 7.0, 7.0, 7.0];
        "np.zeros_like(x)", "torch.zeros_like(x)" =>
            x.zeros_like()? => [0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        "np.ones_like(x)", "torch.ones_like(x)" =>
            x.ones_like()? => [1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        "np.full_like(x, 0.5)", "torch.full_like(x, 0.5)" =>
            x.full_like(0.5)? => [0.5, 0.5, 0.5, 0.5, 0.5, 0.5];
        "np.arange(5)", "torch.arange(5)" =>
            T::arange(0, 5, 1, DType::I64, device) => [0.0, 1.0, 2.0, 3.0, 4.0];
        "np.arange(1, 2, 0.25)", "torch.arange(1, 2, 0.25)" =>
            T::arange(1, 2, 0.25, DType::F64, device) => [1.0, 1.25, 1.5, 1.75];
        "np.linspace(0, 1, 5)", "torch.linspace(0, 1, 5)" =>
            T::linspace(0, 1, 5, DType::F64, device) => [0.0, 0.25, 0.5, 0.75, 1.0];
        "np.eye(2)", "torch.eye(2)" =>
            T::eye(2, None, DType::F64, device) => [1.0, 0.0, 0.0, 1.0];
        "np.eye(2, 3)", "torch.eye(2, 3)" =>
            T::eye(2, Some(3), DType::F64, device) => [1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        "np.fromfunction(lambda r, c: 10 * r + c, (2, 3))", "" =>
            T::try_from_expr(&[2, 3], &[], device, |at, _| at.coord(0) * 10.0 + at.coord(1))?
                => [0.0, 1.0, 2.0, 10.0, 11.0, 12.0];
        "np.copy(x)", "x.clone()" =>
            x.clone() => [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        "np.meshgrid(v, i, indexing='ij')", "torch.meshgrid(v, i, indexing='ij')" =>
            T::meshgrid(&[v, &i.cast(DType::F32)?])? => [3.0, 3.0, 1.0, 1.0, 2.0, 2.0, 2.0, 0.0, 2.0, 0.0, 2.0, 0.0];
        "np.diagflat(v)", "torch.diagflat(v)" =>
            v.diagflat()? => [3.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0];
        "np.array([[1., 2.], [3., 4.]])", "torch.tensor([[1., 2.], [3., 4.]])" =>
            T::from([[1.0, 2.0], [3.0, 4.0]]) => [1.0, 2.0, 3.0, 4.0];
    }
    "What a tensor says of itself" {
        "x.shape", "x.shape" =>
            x.shape() => [2.0, 3.0];
        "x.ndim", "x.ndim" =>
            x.ndim() => [2.0];
        "x.size", "x.numel()" =>
            x.numel() => [6.0];
        "x.dtype == np.float32", "x.dtype == torch.float32" =>
            x.dtype() == DType::F32 => [1.0];
        "x.itemsize", "x.element_size()" =>
            x.dtype().size_in_bytes() => [4.0];
        "len(x)", "len(x)" =>
            x.shape()[0] => [2.0];
        "x.flags.c_contiguous", "x.is_contiguous()" =>
            x.is_contiguous() => [1.0];
        "x.T.flags.c_contiguous", "x.T.is_contiguous()" =>
            x.t()?.is_contiguous() => [0.0];
        "x.astype(np.int32)", "x.to(torch.int32)" =>
            x.cast(DType::I32)? => [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        "x.astype(np.float16)", "x.half()" =>
            x.cast(DType::F16)? => [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        "x.ravel().tolist()", "x.flatten().tolist()" =>
            x.to_vec::<f32>() => [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        "x[1, 2].item()", "x[1, 2].item()" =>
            x.slice(s![1, 2])?.item::<f32>()? => [6.0];
        "np.ascontiguousarray(x.T)", "x.T.contiguous()" =>
            x.t()?.contiguous() => [1.0, 4.0, 2.0, 5.0, 3.0, 6.0];
        "np.result_type(np.float32, np.float64) == np.float64", "torch.promote_types(f32, f64) == f64" =>
            numr::promote(DType::F32, DType::F64) == DType::F64 => [1.0];
    }
    "Shape" {
        "x.reshape(3, 2)", "x.reshape(3, 2)" =>
            x.reshape(&[3, 2])? => [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        "x.reshape(-1, 2)", "x.reshape(-1, 2)" =>
            x.reshape_infer(&[-1, 2])? => [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        "x.ravel()", "x.flatten()" =>
            x.flatten()? => [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        "x.T", "x.T" =>
            x.t()? => [1.0, 4.0, 2.0, 5.0, 3.0, 6.0];
        "x.swapaxes(0, 1)", "x.swapaxes(0, 1)" =>
            x.swapaxes(0, 1)? => [1.0, 4.0, 2.0, 5.0, 3.0, 6.0];
        "x.transpose(1, 0)", "x.permute(1, 0)" =>
            x.permute([1, 0])? => [1.0, 4.0, 2.0, 5.0, 3.0, 6.0];
        "np.moveaxis(x, 0, -1)", "x.movedim(0, -1)" =>
            x.movedim(0, -1)? => [1.0, 4.0, 2.0, 5.0, 3.0, 6.0];
        "x[None]", "x.unsqueeze(0)" =>
            x.unsqueeze(0)? => [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        "np.expand_dims(x, -1)", "x.unsqueeze(-1)" =>
            x.unsqueeze(-1)? => [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        "np.squeeze(x[None], 0)", "x[None].squeeze(0)" =>
            x.unsqueeze(0)?.squeeze(Some(0)) => [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        "np.squeeze(x[None, :, None])", "x[None, :, None].squeeze()" =>
            x.slice(s![NewAxis, .., NewAxis])?.squeeze(None) => [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        "np.broadcast_to(v, (2, 3))", "v.expand(2, 3)" =>
            v.broadcast_to(&[2, 3])? => [3.0, 1.0, 2.0, 3.0, 1.0, 2.0];
        "np.broadcast_arrays(x, v)", "torch.broadcast_tensors(x, v)" =>
            T::broadcast_together(&[x, v])? => [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0];
        "np.flip(x, 1)", "x.flip(1)" =>
            x.flip(1)? => [3.0, 2.0, 1.0, 6.0, 5.0, 4.0];
        "np.flip(x)", "x.flip(0, 1)" =>
            x.flip(..)? => [6.0, 5.0, 4.0, 3.0, 2.0, 1.0];
        "np.roll(x, 1, axis=1)", "x.roll(1, 1)" =>
            x.roll(1, 1)? => [3.0, 1.0, 2.0, 6.0, 4.0, 5.0];
        "np.tile(x, (1, 2))", "x.repeat(1, 2)" =>
            x.repeat(&[1, 2])? => [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 4.0, 5.0, 6.0];
        "np.repeat(x, 2, axis=0)", "x.repeat_interleave(2, 0)" =>
            x.repeat_interleave(2, Some(0))? => [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 4.0, 5.0, 6.0];
        "np.pad(x, ((0, 1), (2, 0)))", "F.pad(x, (2, 0, 0, 1))" =>
            x.pad(&[(0, 1), (2, 0)], 0)? => [0.0, 0.0, 1.0, 2.0, 3.0, 0.0, 0.0, 4.0, 5.0, 6.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        "np.triu(x)", "x.triu()" =>
            x.triu(0)? => [1.0, 2.0, 3.0, 0.0, 5.0, 6.0];
        "np.tril(x, -1)", "x.tril(-1)" =>
            x.tril(-1)? => [0.0, 0.0, 0.0, 4.0, 0.0, 0.0];
        "np.diagonal(x, 1)", "x.diagonal(1)" =>
            x.diagonal(1, 0, 1)? => [2.0, 6.0];
        "np.lib.stride_tricks.sliding_window_view(v, 2)", "v.unfold(0, 2, 1)" =>
            v.unfold(0, 2, 1)? => [3.0, 1.0, 1.0, 2.0];
    }
    "Slices, which share memory" {
        "x[1]", "x[1]" =>
            x.slice(s![1])? => [4.0, 5.0, 6.0];
        "x[:, 1]", "x[:, 1]" =>
            x.slice(s![.., 1])? => [2.0, 5.0];
        "x[-1, -2:]", "x[-1, -2:]" =>
            x.slice(s![-1, -2..])? => [5.0, 6.0];
        "x[:, ::2]", "x[:, ::2]" =>
            x.slice(s![.., ..;2])? => [1.0, 3.0, 4.0, 6.0];
        "x[:, ::-1]", "x.flip(1)" =>
            x.slice(s![.., ..;-1])? => [3.0, 2.0, 1.0, 6.0, 5.0, 4.0];
        "x[..., 0]", "x[..., 0]" =>
            x.slice(s![..., 0])? => [1.0, 4.0];
        "x[:, None, 1:]", "x[:, None, 1:]" =>
            x.slice(s![.., NewAxis, 1..])? => [2.0, 3.0, 5.0, 6.0];
        "x[:, 1:3]", "x.narrow(1, 1, 2)" =>
            x.narrow(1, 1, 2)? => [2.0, 3.0, 5.0, 6.0];
    }
    "Joining and cutting" {
        "np.concatenate([x, y])", "torch.cat([x, y])" =>
            T::cat(&[x, y], 0)? => [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -1.0, 0.5, 2.0, 3.0, -4.0, 0.25];
        "np.concatenate([x, y], axis=1)", "torch.cat([x, y], 1)" =>
            T::cat(&[x, y], 1)? => [1.0, 2.0, 3.0, -1.0, 0.5, 2.0, 4.0, 5.0, 6.0, 3.0, -4.0, 0.25];
        "np.stack([x, y])", "torch.stack([x, y])" =>
            T::stack(&[x, y], 0)? => [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -1.0, 0.5, 2.0, 3.0, -4.0, 0.25];
        "np.stack([x, y], axis=-1)", "torch.stack([x, y], -1)" =>
            T::stack(&[x, y], -1)? => [1.0, -1.0, 2.0, 0.5, 3.0, 2.0, 4.0, 3.0, 5.0, -4.0, 6.0, 0.25];
        "np.split(x, [2], axis=1)", "x.split(2, 1)" =>
            x.split(2, 1)? => [1.0, 2.0, 4.0, 5.0, 3.0, 6.0];
        "np.array_split(x, 2, axis=1)", "x.tensor_split(2, 1)" =>
            x.chunk(2, 1)? => [1.0, 2.0, 4.0, 5.0, 3.0, 6.0];
        "list(x)", "x.unbind(0)" =>
            x.unbind(0)? => [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    }
    "Arithmetic" {
        "x + y", "x + y" =>
            x + y => [0.0, 2.5, 5.0, 7.0, 1.0, 6.25];
        "x - y", "x - y" =>
            x - y => [2.0, 1.5, 1.0, 1.0, 9.0, 5.75];
        "x * y", "x * y" =>
            x * y => [-1.0, 1.0, 6.0, 12.0, -20.0, 1.5];
        "x / y", "x / y" =>
            x / y => [-1.0, 4.0, 1.5, 1.333333, -1.25, 24.0];
        "-x", "-x" =>
            -x => [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0];
        "x + v", "x + v" =>
            x + v => [4.0, 3.0, 5.0, 7.0, 6.0, 8.0];
        "2 * x + 1", "2 * x + 1" =>
            2.0 * x + 1.0 => [3.0, 5.0, 7.0, 9.0, 11.0, 13.0];
        "1 / x", "1 / x" =>
            1.0 / x => [1.0, 0.5, 0.3333333, 0.25, 0.2, 0.1666667];
        "x ** 2", "x ** 2" =>
            x.pow(2.0)? => [1.0, 4.0, 9.0, 16.0, 25.0, 36.0];
        "np.square(x)", "x.square()" =>
            x.square()? => [1.0, 4.0, 9.0, 16.0, 25.0, 36.0];
        "np.reciprocal(x)", "x.reciprocal()" =>
            x.recip()? => [1.0, 0.5, 0.3333333, 0.25, 0.2, 0.1666667];
        "np.add(x, y)", "torch.add(x, y)" =>
            x.add(y)? => [0.0, 2.5, 5.0, 7.0, 1.0, 6.25];
        "np.power(x, y)", "torch.pow(x, y)" =>
            x.pow(y)? => [1.0, 1.414214, 9.0, 64.0, 0.0016, 1.565085];
        "n // d", "n // d" =>
            n.floor_divide(d)? => [2.0, -3.0, -3.0, 2.0];
        "n % d", "n % d" =>
            n.remainder(d)? => [1.0, 2.0, -3.0, 1.0];
        "np.fmod(n, d)", "torch.fmod(n, d)" =>
            n.fmod(d)? => [1.0, -1.0, 2.0, 1.0];
        "np.abs(y)", "y.abs()" =>
            y.abs()? => [1.0, 0.5, 2.0, 3.0, 4.0, 0.25];
        "np.sign(y)", "y.sign()" =>
            y.sign()? => [-1.0, 1.0, 1.0, 1.0, -1.0, 1.0];
        "np.copysign(x, y)", "torch.copysign(x, y)" =>
            x.copysign(y)? => [-1.0, 2.0, 3.0, 4.0, -5.0, 6.0];
        "np.maximum(x, y)", "torch.maximum(x, y)" =>
            x.maximum(y)? => [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        "np.minimum(x, y)", "torch.minimum(x, y)" =>
            x.minimum(y)? => [-1.0, 0.5, 2.0, 3.0, -4.0, 0.25];
        "np.fmax(w, 0)", "torch.fmax(w, zero)" =>
            w.fmax(0.0)? => [0.0, 1.0, f64::INFINITY, 0.0, 2.0];
        "np.fmin(w, 0)", "torch.fmin(w, zero)" =>
            w.fmin(0.0)? => [0.0, 0.0, 0.0, f64::NEG_INFINITY, 0.0];
        "np.clip(y, -1, 2)", "y.clamp(-1, 2)" =>
            y.clamp(-1.0, 2.0)? => [-1.0, 0.5, 2.0, 2.0, -1.0, 0.25];
        "np.hypot(x, y)", "torch.hypot(x, y)" =>
            x.hypot(y)? => [1.414214, 2.061553, 3.605551, 5.0, 6.403124, 6.005206];
        "x + 0.5 * (y - x)", "torch.lerp(x, y, 0.5)" =>
            x.lerp(y, 0.5)? => [0.0, 1.25, 2.5, 3.5, 0.5, 3.125];
        "x * y + v", "torch.addcmul(v, x, y)" =>
            x.fused_mul_add(y, v)? => [2.0, 2.0, 8.0, 15.0, -19.0, 3.5];
        "np.nextafter(x, y)", "torch.nextafter(x, y)" =>
            x.nextafter(y)? => [0.9999999, 2.0, 3.0, 4.0, 5.0, 6.0];
        "np.ldexp(x, 3)", "torch.ldexp(x, 3)" =>
            x.ldexp(3.0)? => [8.0, 16.0, 24.0, 32.0, 40.0, 48.0];
        "np.heaviside(y, 0.5)", "torch.heaviside(y, half)" =>
            y.heaviside(0.5)? => [0.0, 1.0, 1.0, 1.0, 0.0, 1.0];
    }
    "Rounding" {
        "np.floor(y)", "y.floor()" =>
            y.floor()? => [-1.0, 0.0, 2.0, 3.0, -4.0, 0.0];
        "np.ceil(y)", "y.ceil()" =>
            y.ceil()? => [-1.0, 1.0, 2.0, 3.0, -4.0, 1.0];
        "np.round(y)", "y.round()" =>
            y.round()? => [-1.0, 0.0, 2.0, 3.0, -4.0, 0.0];
        "np.trunc(y)", "y.trunc()" =>
            y.trunc()? => [-1.0, 0.0, 2.0, 3.0, -4.0, 0.0];
        "y - np.trunc(y)", "y.frac()" =>
            y.frac()? => [0.0, 0.5, 0.0, 0.0, 0.0, 0.25];
    }
    "Roots, exponentials, logarithms" {
        "np.sqrt(x)", "x.sqrt()" =>
            x.sqrt()? => [1.0, 1.414214, 1.732051, 2.0, 2.236068, 2.44949];
        "1 / np.sqrt(x)", "x.rsqrt()" =>
            x.rsqrt()? => [1.0, 0.7071068, 0.5773503, 0.5, 0.4472136, 0.4082483];
        "np.cbrt(y)", "" =>
            y.cbrt()? => [-1.0, 0.7937005, 1.259921, 1.44225, -1.587401, 0.6299605];
        "np.exp(y)", "y.exp()" =>
            y.exp()? => [0.3678794, 1.648721, 7.389056, 20.08554, 0.01831564, 1.284026];
        "np.exp2(y)", "y.exp2()" =>
            y.exp2()? => [0.5, 1.414214, 4.0, 8.0, 0.0625, 1.189207];
        "np.expm1(y)", "y.expm1()" =>
            y.expm1()? => [-0.6321205, 0.6487213, 6.389056, 19.08554, -0.9816843, 0.2840254];
        "np.log(x)", "x.log()" =>
            x.log()? => [0.0, 0.6931472, 1.098612, 1.386294, 1.609438, 1.791759];
        "np.log2(x)", "x.log2()" =>
            x.log2()? => [0.0, 1.0, 1.584962, 2.0, 2.321928, 2.584962];
        "np.log10(x)", "x.log10()" =>
            x.log10()? => [0.0, 0.30103, 0.4771213, 0.60206, 0.69897, 0.7781513];
        "np.log1p(x)", "x.log1p()" =>
            x.log1p()? => [0.6931472, 1.098612, 1.386294, 1.609438, 1.791759, 1.94591];
        "np.logaddexp(x, y)", "torch.logaddexp(x, y)" =>
            x.logaddexp(y)? => [1.126928, 2.201413, 3.313262, 4.313262, 5.000124, 6.003178];
        "np.logaddexp2(x, y)", "torch.logaddexp2(x, y)" =>
            x.logaddexp2(y)? => [1.321928, 2.436752, 3.584962, 4.584962, 5.002815, 6.026561];
        "y * np.log(x)", "torch.xlogy(y, x)" =>
            y.xlogy(x)? => [-0.0, 0.3465736, 2.197225, 4.158883, -6.437752, 0.4479399];
    }
    "Trigonometric and hyperbolic functions" {
        "np.sin(x)", "x.sin()" =>
            x.sin()? => [0.841471, 0.9092974, 0.14112, -0.7568025, -0.9589243, -0.2794155];
        "np.cos(x)", "x.cos()" =>
            x.cos()? => [0.5403023, -0.4161468, -0.9899925, -0.6536436, 0.2836622, 0.9601703];
        "np.tan(x)", "x.tan()" =>
            x.tan()? => [1.557408, -2.18504, -0.1425465, 1.157821, -3.380515, -0.2910062];
        "np.arcsin(u)", "u.asin()" =>
            u.asin()? => [0.5235988, -0.2526802, 0.8480622];
        "np.arccos(u)", "u.acos()" =>
            u.acos()? => [1.047198, 1.823477, 0.7227342];
        "np.arctan(y)", "y.atan()" =>
            y.atan()? => [-0.7853982, 0.4636476, 1.107149, 1.249046, -1.325818, 0.2449787];
        "np.arctan2(y, x)", "torch.atan2(y, x)" =>
            y.atan2(x)? => [-0.7853981, 0.2449787, 0.5880026, 0.6435012, -0.674741, 0.04164258];
        "np.sinh(y)", "y.sinh()" =>
            y.sinh()? => [-1.175201, 0.5210953, 3.62686, 10.01787, -27.28992, 0.2526123];
        "np.cosh(y)", "y.cosh()" =>
            y.cosh()? => [1.543081, 1.127626, 3.762196, 10.06766, 27.30824, 1.031413];
        "np.tanh(y)", "y.tanh()" =>
            y.tanh()? => [-0.7615942, 0.4621172, 0.9640276, 0.9950548, -0.9993293, 0.2449187];
        "np.arcsinh(y)", "y.asinh()" =>
            y.asinh()? => [-0.8813736, 0.4812118, 1.443635, 1.818447, -2.094712, 0.2474665];
        "np.arccosh(x)", "x.acosh()" =>
            x.acosh()? => [0.0, 1.316958, 1.762747, 2.063437, 2.292432, 2.477889];
        "np.arctanh(u)", "u.atanh()" =>
            u.atanh()? => [0.5493062, -0.2554128, 0.972955];
        "np.deg2rad(x)", "x.deg2rad()" =>
            x.deg2rad()? => [0.01745329, 0.03490658, 0.05235988, 0.06981317, 0.08726646, 0.1047198];
        "np.rad2deg(x)", "x.rad2deg()" =>
            x.rad2deg()? => [57.29578, 114.5916, 171.8873, 229.1831, 286.4789, 343.7747];
        "np.vectorize(math.erf)(y)", "y.erf()" =>
            y.erf()? => [-0.8427008, 0.5204999, 0.9953223, 0.9999779, -1.0, 0.2763264];
        "np.vectorize(math.erfc)(y)", "y.erfc()" =>
            y.erfc()? => [1.842701, 0.4795001, 0.004677735, 2.20905e-5, 2.0, 0.7236736];
    }
    "Comparisons and truth" {
        "x == y", "x == y" =>
            x.eq(y)? => [0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        "x != y", "x != y" =>
            x.ne(y)? => [1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        "x < y", "x < y" =>
            x.lt(y)? => [0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        "x <= 2", "x <= 2" =>
            x.le(2.0)? => [1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        "x > y", "x > y" =>
            x.gt(y)? => [1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        "x >= 5", "x >= 5" =>
            x.ge(5.0)? => [0.0, 0.0, 0.0, 0.0, 1.0, 1.0];
        "m & (x > 2)", "m & (x > 2)" =>
            m.logical_and(&x.gt(2.0)?)? => [0.0, 0.0, 1.0, 0.0, 0.0, 1.0];
        "m | (x > 5)", "m | (x > 5)" =>
            m.logical_or(&x.gt(5.0)?)? => [1.0, 0.0, 1.0, 0.0, 0.0, 1.0];
        "np.logical_xor(m, x > 2)", "torch.logical_xor(m, x > 2)" =>
            m.logical_xor(&x.gt(2.0)?)? => [1.0, 0.0, 0.0, 1.0, 1.0, 0.0];
        "~m", "~m" =>
            m.logical_not()? => [0.0, 1.0, 0.0, 1.0, 1.0, 0.0];
        "np.isnan(w)", "w.isnan()" =>
            w.isnan()? => [1.0, 0.0, 0.0, 0.0, 0.0];
        "np.isinf(w)", "w.isinf()" =>
            w.isinf()? => [0.0, 0.0, 1.0, 1.0, 0.0];
        "np.isfinite(w)", "w.isfinite()" =>
            w.isfinite()? => [0.0, 1.0, 0.0, 0.0, 1.0];
        "np.isposinf(w)", "w.isposinf()" =>
            w.isposinf()? => [0.0, 0.0, 1.0, 0.0, 0.0];
        "np.isneginf(w)", "w.isneginf()" =>
            w.isneginf()? => [0.0, 0.0, 0.0, 1.0, 0.0];
        "np.signbit(y)", "y.signbit()" =>
            y.signbit()? => [1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        "np.where(m, x, y)", "torch.where(m, x, y)" =>
            T::where_(m, x, y)? => [1.0, 0.5, 3.0, 3.0, -4.0, 6.0];
        "np.where(m, x, 0)", "torch.where(m, x, 0)" =>
            m.where_cond(x, 0.0)? => [1.0, 0.0, 3.0, 0.0, 0.0, 6.0];
    }
    "Bits" {
        "n & d", "n & d" =>
            n.bitwise_and(d)? => [3.0, 1.0, 8.0, 0.0];
        "n | d", "n | d" =>
            n.bitwise_or(d)? => [7.0, -5.0, -1.0, 7.0];
        "n ^ d", "n ^ d" =>
            n.bitwise_xor(d)? => [4.0, -6.0, -9.0, 7.0];
        "~n", "~n" =>
            n.bitwise_not()? => [-8.0, 6.0, -13.0, -6.0];
        "n << 2", "n << 2" =>
            n.bitwise_left_shift(2)? => [28.0, -28.0, 48.0, 20.0];
        "n >> 1", "n >> 1" =>
            n.bitwise_right_shift(1)? => [3.0, -4.0, 6.0, 2.0];
    }
    "Folds" {
        "x.sum()", "x.sum()" =>
            x.sum(.., false)? => [21.0];
        "x.sum(axis=0)", "x.sum(0)" =>
            x.sum(0, false)? => [5.0, 7.0, 9.0];
        "x.sum(axis=-1, keepdims=True)", "x.sum(-1, keepdim=True)" =>
            x.sum(-1, true)? => [6.0, 15.0];
        "x.sum(axis=(0, 1))", "x.sum((0, 1))" =>
            x.sum([0, 1], false)? => [21.0];
        "x.prod(axis=1)", "x.prod(1)" =>
            x.prod(1, false)? => [6.0, 120.0];
        "x.mean(axis=0)", "x.mean(0)" =>
            x.mean(0, false)? => [2.5, 3.5, 4.5];
        "x.var(axis=1)", "x.var(1, correction=0)" =>
            x.var(1, false, 0)? => [0.6666667, 0.6666667];
        "x.std(axis=1, ddof=1)", "x.std(1)" =>
            x.std(1, false, 1)? => [1.0, 1.0];
        "x.max()", "x.max()" =>
            x.max(.., false)? => [6.0];
        "x.max(axis=1)", "x.amax(1)" =>
            x.max(1, false)? => [3.0, 6.0];
        "y.min(axis=0)", "y.amin(0)" =>
            y.min(0, false)? => [-1.0, -4.0, 0.25];
        "y.argmax()", "y.argmax()" =>
            y.argmax(.., false)? => [3.0];
        "y.argmax(axis=1)", "y.argmax(1)" =>
            y.argmax(1, false)? => [2.0, 0.0];
        "y.argmin(axis=0)", "y.argmin(0)" =>
            y.argmin(0, false)? => [0.0, 1.0, 1.0];
        "m.any(axis=1)", "m.any(1)" =>
            m.any(1, false)? => [1.0, 1.0];
        "m.all(axis=0)", "m.all(0)" =>
            m.all(0, false)? => [0.0, 0.0, 1.0];
        "np.count_nonzero(m)", "m.count_nonzero()" =>
            m.count_nonzero(.., false)? => [3.0];
        "np.count_nonzero(m, axis=0)", "m.count_nonzero(0)" =>
            m.count_nonzero(0, false)? => [1.0, 0.0, 2.0];
        "np.linalg.norm(v)", "v.norm()" =>
            v.norm(.., false)? => [3.741657];
        "np.linalg.norm(x, axis=1)", "x.norm(dim=1)" =>
            x.norm(1, false)? => [3.741657, 8.774964];
        "np.log(np.exp(x).sum(axis=1))", "x.logsumexp(1)" =>
            x.logsumexp(1, false)? => [3.407606, 6.407606];
        "np.linalg.norm(x, 1, axis=1)", "torch.linalg.vector_norm(x, 1, 1)" =>
            x.vector_norm(1.0, 1, false)? => [6.0, 15.0];
        "np.linalg.norm(x, np.inf, axis=0)", "torch.linalg.vector_norm(x, torch.inf, 0)" =>
            x.vector_norm(f64::INFINITY, 0, false)? => [4.0, 5.0, 6.0];
        "np.ptp(y, axis=1)", "y.amax(1) - y.amin(1)" =>
            y.ptp(1, false)? => [3.0, 7.0];
        "(y.min(axis=0), y.max(axis=0))", "torch.aminmax(y, dim=0)" =>
            y.aminmax(0, false)? => [-1.0, -4.0, 0.25, 3.0, 0.5, 2.0];
        "np.average(x, axis=1, weights=v)", "" =>
            x.average(v, 1, false)? => [1.833333, 4.833333];
        "np.cov(y)", "torch.cov(y)" =>
            y.cov(1)? => [2.25, -2.0625, -2.0625, 12.4375];
        "np.corrcoef(y)", "torch.corrcoef(y)" =>
            y.corrcoef()? => [1.0, -0.3898847, -0.3898847, 1.0];
        "np.nansum(w[:2])", "w[:2].nansum()" =>
            w.slice(s![..2])?.nansum(.., false)? => [1.0];
        "np.nanmean(w[:2])", "w[:2].nanmean()" =>
            w.slice(s![..2])?.nanmean(.., false)? => [1.0];
        "np.nanmax(w[:2])", "" =>
            w.slice(s![..2])?.nanmax(.., false)? => [1.0];
        "np.nanstd(w[:2])", "" =>
            w.slice(s![..2])?.nanstd(.., false, 0)? => [0.0];
    }
    "Running folds" {
        "x.cumsum(axis=1)", "x.cumsum(1)" =>
            x.cumsum(1)? => [1.0, 3.0, 6.0, 4.0, 9.0, 15.0];
        "x.cumprod(axis=0)", "x.cumprod(0)" =>
            x.cumprod(0)? => [1.0, 2.0, 3.0, 4.0, 10.0, 18.0];
        "np.maximum.accumulate(y, axis=1)", "y.cummax(1).values" =>
            y.cummax(1)? => [-1.0, 0.5, 2.0, 3.0, 3.0, 3.0];
        "np.minimum.accumulate(y, axis=1)", "y.cummin(1).values" =>
            y.cummin(1)? => [-1.0, -1.0, -1.0, 3.0, -4.0, -4.0];
        "np.logaddexp.accumulate(v)", "v.logcumsumexp(0)" =>
            v.logcumsumexp(0)? => [3.0, 3.126928, 3.407606];
        "np.diff(y)", "y.diff()" =>
            y.diff(1, -1)? => [1.5, 1.5, -7.0, 4.25];
        "np.diff(y, n=2)", "y.diff(2)" =>
            y.diff(2, -1)? => [0.0, 11.25];
        "np.trapezoid(y)", "torch.trapezoid(y)" =>
            y.trapezoid(1.0, -1)? => [1.0, -2.375];
        "np.gradient(v)", "torch.gradient(v)[0]" =>
            v.gradient(1.0, 0)? => [-2.0, -0.5, 1.0];
    }
    "Products" {
        "a @ b", "a @ b" =>
            a.matmul(b)? => [-1.0, 4.0, -3.0, 7.0];
        "x @ v", "x @ v" =>
            x.matmul(v)? => [11.0, 29.0];
        "v @ x.T", "v @ x.T" =>
            v.matmul(&x.t()?)? => [11.0, 29.0];
        "np.matmul(x[None], y.T)", "torch.matmul(x[None], y.T)" =>
            x.unsqueeze(0)?.matmul(&y.t()?)? => [6.0, -4.25, 10.5, -6.5];
        "np.dot(v, u)", "torch.dot(v, u)" =>
            v.dot(u)? => [2.75];
        "np.outer(v, u)", "torch.outer(v, u)" =>
            v.outer(u)? => [1.5, -0.75, 2.25, 0.5, -0.25, 0.75, 1.0, -0.5, 1.5];
        "a @ b + a[0]", "torch.addmm(a[0], a, b)" =>
            a.matmul_bias(b, &a.slice(s![0])?)? => [1.0, 5.0, -1.0, 8.0];
        "np.trace(a)", "a.trace()" =>
            a.trace()? => [5.0];
        "(x[:, :, None] * y.T[None]).sum(axis=1)", "torch.einsum('ij,kj->ik', x, y)" =>
            x.matmul(&y.t()?)? => [6.0, -4.25, 10.5, -6.5];
        "np.einsum('ij,kj->ik', x, y)", "torch.einsum('ij,kj->ik', x, y)" =>
            T::einsum("ij,kj->ik", &[x, y])? => [6.0, -4.25, 10.5, -6.5];
        "np.einsum('ii', a)", "torch.einsum('ii', a)" =>
            T::einsum("ii", &[a])? => [5.0];
        "np.einsum('...i,i', x, v)", "torch.einsum('...i,i', x, v)" =>
            T::einsum("...i,i", &[x, v])? => [11.0, 29.0];
        "np.tensordot(x, y, axes=([1], [1]))", "torch.tensordot(x, y, ([1], [1]))" =>
            x.tensordot(y, &[1], &[1])? => [6.0, -4.25, 10.5, -6.5];
        "np.inner(x, v)", "torch.inner(x, v)" =>
            x.inner(v)? => [11.0, 29.0];
        "np.vdot(z, z)", "torch.vdot(z, z)" =>
            z.vdot(z)? => [14.25, 0.0];
        "np.vecdot(x, y)", "torch.linalg.vecdot(x, y)" =>
            x.vecdot(y, -1)? => [6.0, -6.5];
        "np.kron(a, b)", "torch.kron(a, b)" =>
            a.kron(b)? => [0.0, 2.0, 0.0, 1.0, -2.0, 4.0, -1.0, 2.0, 0.0, 1.0, 0.0, 3.0, -1.0, 2.0, -3.0, 6.0];
        "np.cross(v, u)", "torch.linalg.cross(v, u)" =>
            v.cross(u, 0)? => [1.25, -1.25, -1.25];
        "np.linalg.matrix_power(a, 3)", "torch.linalg.matrix_power(a, 3)" =>
            a.matrix_power(3)? => [15.0, 20.0, 20.0, 35.0];
        "np.linalg.multi_dot([a, b, a])", "torch.linalg.multi_dot([a, b, a])" =>
            T::multi_dot(&[a, b, a])? => [2.0, 11.0, 1.0, 18.0];
        "(a[:, :, None] + b[None]).max(axis=1)", "(a[:, :, None] + b[None]).amax(1)" =>
            a.semiring_matmul(b, Semiring::MaxPlus)? => [2.0, 3.0, 2.0, 5.0];
        "np.sqrt(((x[:, None] - y[None]) ** 2).sum(-1))", "torch.cdist(x, y)" =>
            x.cdist(y, DistanceMetric::Euclidean)? => [2.692582, 6.896557, 7.826238, 10.72672];
    }
    "Reading by index" {
        "x[:, i]", "x[:, i]" =>
            x.index_select(1, i)? => [3.0, 1.0, 6.0, 4.0];
        "np.take(x, i)", "torch.take(x, i)" =>
            x.take(i)? => [3.0, 1.0];
        "np.take_along_axis(y, y.argsort(axis=1), axis=1)", "torch.take_along_dim(y, y.argsort(1), 1)" =>
            y.take_along(&y.argsort(1, false)?, 1)? => [-1.0, 0.5, 2.0, -4.0, 0.25, 3.0];
        "np.take_along_axis(x, np.array([[0], [2]]), axis=1)", "x.gather(1, index)" =>
            x.gather(1, &T::from_slice(&[0i64, 2], &[2, 1], device))? => [1.0, 6.0];
        "x[m]", "x[m]" =>
            x.masked_select(m)? => [1.0, 3.0, 6.0];
        "np.argwhere(m)", "m.nonzero()" =>
            m.nonzero()? => [0.0, 0.0, 0.0, 2.0, 1.0, 2.0];
        "x[[0, 1], [2, 0]]", "x[[0, 1], [2, 0]]" =>
            x.gather_nd(&T::from_slice(&[0i64, 2, 1, 0], &[2, 2], device))? => [3.0, 4.0];
        "x.T[i]", "F.embedding(i, x.T)" =>
            x.t()?.embedding_lookup(i)? => [3.0, 6.0, 1.0, 4.0];
        "np.eye(3)[i]", "F.one_hot(i, 3)" =>
            i.one_hot(3)? => [0.0, 0.0, 1.0, 1.0, 0.0, 0.0];
        "np.bincount(k)", "k.bincount()" =>
            k.bincount(None, 0)? => [1.0, 3.0, 1.0];
        "np.bincount(k, minlength=5)", "k.bincount(minlength=5)" =>
            k.bincount(None, 5)? => [1.0, 3.0, 1.0, 0.0, 0.0];
    }
    "Writing by index, which answers a new tensor" {
        "np.where(m, 9, x)", "x.masked_fill(m, 9)" =>
            x.masked_fill(m, 9.0)? => [9.0, 2.0, 9.0, 4.0, 5.0, 9.0];
        "np.concatenate([x[:, :1], y[:, 1:]], axis=1)", "x[:, 1:] = y[:, 1:]" =>
            x.assign(s![.., 1..], &y.slice(s![.., 1..])?)? => [1.0, 0.5, 2.0, 4.0, -4.0, 0.25];
        "np.concatenate([v[:2], [9]])", "v.index_fill(0, last, 9)" =>
            v.index_put(0, last, &T::full(&[1], 9.0, DType::F32, device))? => [3.0, 1.0, 9.0];
        "np.add.at(t := v.copy(), i, u[:2]) or t", "v.scatter_add(0, i, u[:2])" =>
            v.scatter_add(0, i, &u.slice(s![..2])?)? => [2.75, 1.0, 2.5];
        "np.concatenate([v[:2], v[:1]])", "v.scatter(0, last, v[:1])" =>
            v.scatter(0, last, &v.slice(s![..1])?)? => [3.0, 1.0, 3.0];
    }
    "Order" {
        "np.sort(y, axis=1)", "y.sort(1).values" =>
            y.sort(1, false)? => [-1.0, 0.5, 2.0, -4.0, 0.25, 3.0];
        "np.sort(v)[::-1]", "v.sort(descending=True).values" =>
            v.sort(0, true)? => [3.0, 2.0, 1.0];
        "np.argsort(v)", "v.argsort()" =>
            v.argsort(0, false)? => [1.0, 2.0, 0.0];
        "(np.sort(v), np.argsort(v))", "v.sort()" =>
            v.sort_with_indices(0, false)? => [1.0, 2.0, 3.0, 1.0, 2.0, 0.0];
        "np.sort(v)[::-1][:2]", "v.topk(2).values" =>
            v.topk(2, 0, true, true)?.0 => [3.0, 2.0];
        "np.unique(k)", "k.unique()" =>
            k.unique()? => [0.0, 1.0, 2.0];
        "np.unique(k, return_inverse=True, return_counts=True)", "k.unique(return_inverse=True, return_counts=True)" =>
            k.unique_with_counts()? => [0.0, 1.0, 2.0, 1.0, 0.0, 2.0, 1.0, 1.0, 1.0, 3.0, 1.0];
    }
    "Activations" {
        "np.maximum(y, 0)", "F.relu(y)" =>
            y.relu()? => [0.0, 0.5, 2.0, 3.0, 0.0, 0.25];
        "1 / (1 + np.exp(-y))", "y.sigmoid()" =>
            y.sigmoid()? => [0.2689414, 0.6224594, 0.880797, 0.9525741, 0.01798621, 0.5621765];
        "y / (1 + np.exp(-y))", "F.silu(y)" =>
            y.silu()? => [-0.2689414, 0.3112297, 1.761594, 2.857723, -0.07194484, 0.1405441];
        "y * (1 + np.vectorize(math.erf)(y / np.sqrt(2))) / 2", "F.gelu(y)" =>
            y.gelu()? => [-0.1586553, 0.3457312, 1.9545, 2.99595, -0.000126685, 0.1496766];
        "np.where(y > 0, y, 0.1 * y)", "F.leaky_relu(y, 0.1)" =>
            y.leaky_relu(0.1)? => [-0.1, 0.5, 2.0, 3.0, -0.4, 0.25];
        "np.where(y > 0, y, np.expm1(y))", "F.elu(y)" =>
            y.elu(1.0)? => [-0.6321205, 0.5, 2.0, 3.0, -0.9816843, 0.25];
        "np.log1p(np.exp(y))", "F.softplus(y)" =>
            y.softplus()? => [0.3132616, 0.974077, 2.126928, 3.048587, 0.01814993, 0.8259395];
        "y / (1 + np.abs(y))", "F.softsign(y)" =>
            y.softsign()? => [-0.5, 0.3333333, 0.6666667, 0.75, -0.8, 0.2];
        "np.clip(y, 0, 6)", "F.relu6(y)" =>
            y.relu6()? => [0.0, 0.5, 2.0, 3.0, 0.0, 0.25];
        "y * np.clip(y + 3, 0, 6) / 6", "F.hardswish(y)" =>
            y.hardswish()? => [-0.3333333, 0.2916667, 1.666667, 3.0, -0.0, 0.1354167];
        "y * np.tanh(np.log1p(np.exp(y)))", "F.mish(y)" =>
            y.mish()? => [-0.3034014, 0.3752452, 1.943959, 2.986535, -0.07259174, 0.1695724];
        "-np.log1p(np.exp(-y))", "F.logsigmoid(y)" =>
            y.log_sigmoid()? => [-1.313262, -0.474077, -0.126928, -0.04858735, -4.01815, -0.5759394];
        "np.log(x / 10 / (1 - x / 10))", "torch.logit(x / 10)" =>
            (x / 10.0).logit()? => [-2.197225, -1.386294, -0.8472978, -0.4054652, 0.0, 0.4054652];
        "np.exp(y) / np.exp(y).sum(axis=1, keepdims=True)", "y.softmax(1)" =>
            y.softmax(1)? => [0.03911257, 0.1752904, 0.785597, 0.9391084, 0.0008563561, 0.0600352];
        "y - np.log(np.exp(y).sum(axis=1, keepdims=True))", "y.log_softmax(1)" =>
            y.log_softmax(1)? => [-3.241311, -1.741311, -0.2413113, -0.06282425, -7.062824, -2.812824];
        "x * y / (1 + np.exp(-x))", "F.silu(x) * y" =>
            x.silu_mul(y)? => [-0.7310586, 0.880797, 5.715445, 11.78417, -19.86614, 1.496291];
    }
    "Normalisation and losses" {
        "(x - x.mean(1)[:, None]) / np.sqrt(x.var(1)[:, None] + 1e-5) * v + u", "F.layer_norm(x, (3,), v, u)" =>
            x.layer_norm(v, u, 1e-5)? => [-3.174207, -0.25, 3.199471, -3.174207, -0.25, 3.199471];
        "x / np.sqrt((x * x).mean(1)[:, None] + 1e-6) * v", "F.rms_norm(x, (3,), v, 1e-6)" =>
            x.rms_norm(v, 1e-6)? => [1.38873, 0.92582, 2.77746, 2.368626, 0.9869274, 2.368626];
        "((x - y) ** 2).mean()", "F.mse_loss(x, y)" =>
            x.mse_loss(y, Reduction::Mean)? => [20.38542];
        "-(y - np.log(np.exp(y).sum(axis=1, keepdims=True)))[[0, 1], i].mean()", "F.cross_entropy(y, i)" =>
            y.cross_entropy(i, 0.0, Reduction::Mean)? => [0.1520678];
        "-y[[0, 1], i].mean()", "F.nll_loss(y, i)" =>
            y.nll_loss(i, Reduction::Mean)? => [-2.5];
        "x / np.linalg.norm(x, axis=1, keepdims=True)", "F.normalize(x, dim=1)" =>
            x.l2_normalize(1, 1e-12)? => [0.2672612, 0.5345225, 0.8017837, 0.4558423, 0.5698029, 0.6837634];
        "np.vecdot(x, y) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)", "F.cosine_similarity(x, y)" =>
            x.cosine_similarity(y, 1, 1e-8)? => [0.6998541, -0.1479639];
        "np.abs(x - y).mean()", "F.l1_loss(x, y)" =>
            x.l1_loss(y, Reduction::Mean)? => [3.375];
        "np.where(np.abs(x - y) < 1, 0.5 * (x - y) ** 2, np.abs(x - y) - 0.5).sum()",
        "F.huber_loss(x, y, reduction='sum')" =>
            x.huber_loss(y, 1.0, Reduction::Sum)? => [17.25];
    }
    "Complex numbers" {
        "z.real", "z.real" =>
            z.real()? => [1.0, -3.0];
        "z.imag", "z.imag" =>
            z.imag()? => [2.0, 0.5];
        "np.conj(z)", "z.conj()" =>
            z.conj()? => [1.0, -2.0, -3.0, -0.5];
        "np.abs(z)", "z.abs()" =>
            z.abs()? => [2.236068, 3.041381];
        "z * z", "z * z" =>
            z * z => [-3.0, 4.0, 8.75, -3.0];
        "np.exp(z)", "z.exp()" =>
            z.exp()? => [-1.131204, 2.471727, 0.04369226, 0.02386919];
        "v + 1j * u", "torch.complex(v, u)" =>
            v.complex(u)? => [3.0, 0.5, 1.0, -0.25, 2.0, 0.75];
    }
    "Random numbers: numr's depend on the seed and the position alone, so only their shape is compared" {
        "np.random.default_rng(0).random((2, 3)).shape", "torch.rand(2, 3).shape" =>
            T::rand(&[2, 3], DType::F64, device)?.shape() => [2.0, 3.0];
        "np.random.default_rng(0).standard_normal((2, 3)).shape", "torch.randn(2, 3).shape" =>
            T::randn(&[2, 3], DType::F32, device)?.shape() => [2.0, 3.0];
        "np.random.default_rng(0).integers(0, 10, (4,)).shape", "torch.randint(0, 10, (4,)).shape" =>
            T::randint(0, 10, &[4], DType::I64, device)?.shape() => [4.0];
        "np.random.default_rng(7).random(4).shape", "torch.rand(4, generator=g).shape" =>
            Key::new(7).uniform::<CpuRuntime>(&[4], DType::F64, device)?.shape() => [4.0];
        "np.sort(np.random.default_rng(0).permutation(5))", "torch.randperm(5).sort().values" =>
            Key::new(0).permutation::<CpuRuntime>(5, device)?.sort(0, false)? => [0.0, 1.0, 2.0, 3.0, 4.0];
    }
    "Gradients" {
        "2 * x", "torch.autograd.grad((x ** 2).sum(), x)" =>
            grad(|x| x.square()?.sum(.., false), x)? => [2.0, 4.0, 6.0, 8.0, 10.0, 12.0];
        "(2 * x * y).sum()", "torch.func.jvp(lambda x: (x ** 2).sum(), (x,), (y,))" =>
            jvp(|x| x.square()?.sum(.., false), x, y)?.1 => [-1.0];
        "2 * np.eye(3)", "torch.func.hessian(lambda v: (v ** 2).sum())(v)" =>
            hessian(|v| v.square()?.sum(.., false), v)? => [2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0];
    }
}

/// The page.
pub fn page() -> String {
    let mut page = String::from(PREFACE);
    for (name, python, rust) in NAMES {
        page += &format!("| `{name}` | `{python}` | `{}` |\n", one_line(rust));
    }
    for (section, rows) in SECTIONS {
        page += &format!("\n## {section}\n\n| NumPy | PyTorch | numr |\n|---|---|---|\n");
        for row in *rows {
            let cells = [row.numpy, row.torch, row.numr].map(|text| match one_line(text) {
                text if text.is_empty() => text,
                text => format!("`{}`", text.replace('|', "\\|")),
            });
            page += &format!("| {} |\n", cells.join(" | "));
        }
    }
    page
}

/// The compiler breaks long expressions into lines.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

const PREFACE: &str = "\
# From NumPy and PyTorch to numr

Generated by `cargo xtask gen` from `tests/src/numpy.rs`. Every row of the numr column is compiled and run by the tests,
and its answer compared with what NumPy's column gives, which is run too; PyTorch's column is for reading.

What is fallible returns a `Result`; the operators `+ - * /` panic instead. Axes may be negative, `..` means all of them.
An operation answers a new tensor; a slice shares memory with what it is cut from. An integer tensor with a float tensor
gives the float dtype, as in PyTorch; NumPy may widen it. In all rows:

```rust
use numr::autograd::{grad, hessian, jvp};
use numr::ops::{distance::DistanceMetric, einsum::Semiring, loss::Reduction};
use numr::prelude::*;
use numr::rng::Key;
use numr::tensor::index::NewAxis;

type T = Tensor<CpuRuntime>;
let device = &CpuDevice::new();
```

| name | Python | Rust |
|---|---|---|
";
