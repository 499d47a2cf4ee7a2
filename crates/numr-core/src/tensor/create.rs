//! New tensors: from host memory, and filled on the device.

use super::{Tensor, or_panic};
use crate::dtype::{DType, DTypeSet};
use crate::element::{Element, Lit};
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::prim::{Bind, Map, MapOp, Prim};
use crate::runtime::Runtime;
use crate::scalar::expr::{Arena, Expr};
use crate::scalar::graph::{Class, Graph};
use crate::scalar::{Float, Scalar};
use crate::shape::{Shape, try_numel};

/// Weights that fade a stretch of a signal towards both ends, for [`Tensor::try_window`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// A triangle: 1 - |2k/N - 1|.
    Bartlett,
    /// 0.42 - 0.5·cos(2πk/N) + 0.08·cos(4πk/N).
    Blackman,
    /// 0.54 - 0.46·cos(2πk/N).
    Hamming,
    /// 0.5 - 0.5·cos(2πk/N).
    Hann,
}

impl<R: Runtime> Tensor<R> {
    /// A tensor of these elements, row-major.
    ///
    /// # Errors
    /// `Error::Shape` if the shape does not hold just that many; faults of the device.
    pub fn try_from_slice<T: Element>(data: &[T], shape: &[usize], device: &R::Device) -> Result<Tensor<R>> {
        if try_numel("from_slice", shape)? != data.len() {
            return Err(Error::shape("from_slice", format!("a shape of {} elements", data.len()), &[shape]));
        }
        let pods: Vec<T::Pod> = data.iter().map(|v| v.to_pod()).collect();
        Self::uploaded("from_slice", bytemuck::cast_slice(&pods), shape, T::DTYPE, device)
    }

    /// A tensor of these elements, row-major. Panics where [`Tensor::try_from_slice`] is an `Err`.
    #[track_caller]
    pub fn from_slice<T: Element>(data: &[T], shape: &[usize], device: &R::Device) -> Tensor<R> {
        or_panic(Self::try_from_slice(data, shape, device))
    }

    /// A tensor of these bytes, row-major, in the host's byte order; a bool is 0 or 1.
    ///
    /// # Errors
    /// `Error::Shape` if the bytes do not fit shape and dtype; `Error::Argument` for a bool that is neither.
    pub fn try_from_bytes(bytes: &[u8], shape: &[usize], dtype: DType, device: &R::Device) -> Result<Tensor<R>> {
        let op = "from_bytes";
        if try_numel(op, shape)?.checked_mul(dtype.size_in_bytes()) != Some(bytes.len()) {
            return Err(Error::shape(op, format!("a shape of {} bytes of {dtype}", bytes.len()), &[shape]));
        }
        if dtype == DType::Bool && bytes.iter().any(|&b| b > 1) {
            return Err(Error::argument(op, "bytes", "a bool is the byte 0 or 1"));
        }
        Self::uploaded(op, bytes, shape, dtype, device)
    }

    fn uploaded(op: &'static str, bytes: &[u8], shape: &[usize], dtype: DType, device: &R::Device) -> Result<Self> {
        let layout = Layout::try_contiguous(op, shape)?;
        Ok(Tensor::from_storage(R::upload(device, dtype, bytes)?, layout, dtype, device.clone()))
    }

    /// A tensor computed on the device from the coordinates of its elements.
    ///
    /// # Errors
    /// `Error::Shape` if the size overflows; what the expression or the device refuse.
    pub fn try_from_expr<F>(shape: &[usize], scalars: &[Lit], device: &R::Device, body: F) -> Result<Tensor<R>>
    where
        F: for<'a> FnOnce(&'a Arena, &[Expr<'a>]) -> Expr<'a>,
    {
        try_numel("from_expr", shape)?;
        let graph = Graph::build(scalars.len() as u8, Class::Free, |arena, args| vec![body(arena, args)]);
        let binds = scalars.iter().map(|&l| Bind::Scalar(l)).collect();
        let map = Map { op: MapOp::Graph(graph), binds, create: Some(Shape::from(shape)) };
        Tensor::run_one_on(device, &Prim::Map(map), &[])
    }

    /// A tensor of one value in every place.
    ///
    /// # Errors
    /// `Error::Shape` if the size overflows; faults of the device.
    pub fn try_full(shape: &[usize], value: impl Into<Lit>, dtype: DType, device: &R::Device) -> Result<Tensor<R>> {
        Self::try_from_expr(shape, &[value.into()], device, |_, args| args[0].cast(dtype))
    }

    /// A tensor of zeros.
    ///
    /// # Errors
    /// As [`Tensor::try_full`].
    pub fn try_zeros(shape: &[usize], dtype: DType, device: &R::Device) -> Result<Tensor<R>> {
        Self::try_full(shape, 0i64, dtype, device)
    }

    /// A tensor of zeros. Panics where [`Tensor::try_zeros`] is an `Err`.
    #[track_caller]
    pub fn zeros(shape: &[usize], dtype: DType, device: &R::Device) -> Tensor<R> {
        or_panic(Self::try_zeros(shape, dtype, device))
    }

    /// A tensor of ones.
    ///
    /// # Errors
    /// As [`Tensor::try_full`].
    pub fn try_ones(shape: &[usize], dtype: DType, device: &R::Device) -> Result<Tensor<R>> {
        Self::try_full(shape, 1i64, dtype, device)
    }

    /// A tensor of ones. Panics where [`Tensor::try_ones`] is an `Err`.
    #[track_caller]
    pub fn ones(shape: &[usize], dtype: DType, device: &R::Device) -> Tensor<R> {
        or_panic(Self::try_ones(shape, dtype, device))
    }

    /// Zeros of the shape, dtype and device of this tensor.
    ///
    /// # Errors
    /// Faults of the device.
    pub fn zeros_like(&self) -> Result<Tensor<R>> {
        Self::try_zeros(self.shape(), self.dtype(), self.device())
    }

    /// Ones of the shape, dtype and device of this tensor.
    ///
    /// # Errors
    /// Faults of the device.
    pub fn ones_like(&self) -> Result<Tensor<R>> {
        Self::try_ones(self.shape(), self.dtype(), self.device())
    }

    /// A tensor of one value in every place. Panics where [`Tensor::try_full`] is an `Err`.
    #[track_caller]
    pub fn full(shape: &[usize], value: impl Into<Lit>, dtype: DType, device: &R::Device) -> Tensor<R> {
        or_panic(Self::try_full(shape, value, dtype, device))
    }

    /// One value in every place, with the shape, dtype and device of this tensor.
    ///
    /// # Errors
    /// Faults of the device.
    pub fn full_like(&self, value: impl Into<Lit>) -> Result<Tensor<R>> {
        Self::try_full(self.shape(), value, self.dtype(), self.device())
    }

    /// The numbers `start + i·step` before `stop`, as a vector; none where the step leads away.
    ///
    /// # Errors
    /// `Error::Argument` for a step of 0, or bounds that are not finite or too far apart; `Error::DType` for bool and
    /// complex dtypes.
    pub fn try_arange(
        start: impl Into<f64>,
        stop: impl Into<f64>,
        step: impl Into<f64>,
        dtype: DType,
        device: &R::Device,
    ) -> Result<Tensor<R>> {
        let (start, stop, step) = (start.into(), stop.into(), step.into());
        let ratio = (stop - start) / step;
        let n = ratio.ceil().max(0.0);
        if step == 0.0 || ratio.is_nan() || n > isize::MAX as f64 {
            let reason = format!("from {start} to {stop} by {step} is no sequence");
            return Err(Error::argument("arange", "step", reason));
        }
        let whole = |v: f64| v.fract() == 0.0 && v.abs() < 9e15;
        let steps = match ordered("arange", dtype)? {
            None if whole(start) && whole(step) => DType::I64,
            None => DType::F64,
            Some(compute) => compute,
        };
        Self::try_from_expr(&[n as usize], &[start.into(), step.into()], device, |arena, args| {
            arena.index().cast(steps).mul_add(args[1].cast(steps), args[0].cast(steps)).cast(dtype)
        })
    }

    /// [`Tensor::try_arange`]; panics where that is an `Err`.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// let x = Tensor::<CpuRuntime>::arange(0, 1, 0.25, DType::F32, &CpuDevice::new());
    /// assert_eq!(x.to_vec::<f32>(), [0.0, 0.25, 0.5, 0.75]);
    /// ```
    #[track_caller]
    pub fn arange(
        start: impl Into<f64>,
        stop: impl Into<f64>,
        step: impl Into<f64>,
        dtype: DType,
        device: &R::Device,
    ) -> Tensor<R> {
        or_panic(Self::try_arange(start, stop, step, dtype, device))
    }

    /// `n` numbers at equal distances from `start` to `stop`, both among them, as a vector.
    ///
    /// # Errors
    /// `Error::DType` for bool and complex dtypes.
    pub fn try_linspace(
        start: impl Into<f64>,
        stop: impl Into<f64>,
        n: usize,
        dtype: DType,
        device: &R::Device,
    ) -> Result<Tensor<R>> {
        let (start, stop) = (start.into(), stop.into());
        let compute = ordered("linspace", dtype)?.unwrap_or(DType::F64);
        let last = n.saturating_sub(1);
        let step = if last == 0 { 0.0 } else { (stop - start) / last as f64 };
        // From the nearer end: both ends are exact.
        let scalars = [start.into(), if last == 0 { start.into() } else { stop.into() }, step.into(), last.into()];
        Self::try_from_expr(&[n], &scalars, device, |arena, args| {
            let [start, stop, step] = [0, 1, 2].map(|k| args[k].cast(compute));
            let (up, down) = (arena.index(), args[3].cast(DType::I64) - arena.index());
            let above = up.cast(compute).mul_add(step, start);
            let below = down.cast(compute).mul_add(-step, stop);
            Expr::select(up.lt(down), above, below).cast(dtype)
        })
    }

    /// [`Tensor::try_linspace`]; panics where that is an `Err`.
    #[track_caller]
    pub fn linspace(
        start: impl Into<f64>,
        stop: impl Into<f64>,
        n: usize,
        dtype: DType,
        device: &R::Device,
    ) -> Tensor<R> {
        or_panic(Self::try_linspace(start, stop, n, dtype, device))
    }

    /// `n` numbers from `base^start` to `base^stop` whose exponents are at equal distances, as a vector.
    ///
    /// # Errors
    /// `Error::DType` for bool and complex dtypes.
    pub fn try_logspace(
        start: impl Into<f64>,
        stop: impl Into<f64>,
        n: usize,
        base: f64,
        dtype: DType,
        device: &R::Device,
    ) -> Result<Tensor<R>> {
        let compute = ordered("logspace", dtype)?.unwrap_or(DType::F64);
        let exponents = Self::try_linspace(start, stop, n, compute, device)?;
        Tensor::try_full(&[], base, compute, device)?.pow(&exponents)?.cast(dtype)
    }

    /// `n` numbers from `start` to `stop`, both of one sign, each the one before times the same factor, as a vector.
    ///
    /// # Errors
    /// `Error::Argument` for a 0 or bounds of different signs; `Error::DType` for bool and complex dtypes.
    pub fn try_geomspace(
        start: impl Into<f64>,
        stop: impl Into<f64>,
        n: usize,
        dtype: DType,
        device: &R::Device,
    ) -> Result<Tensor<R>> {
        let (start, stop) = (start.into(), stop.into());
        // A NaN is refused too.
        if !(start * stop > 0.0) {
            return Err(Error::argument("geomspace", "stop", format!("from {start} to {stop} no factor leads")));
        }
        let compute = ordered("geomspace", dtype)?.unwrap_or(DType::F64);
        let shares = Self::try_linspace(0.0, 1.0, n, compute, device)?;
        Tensor::try_full(&[], stop / start, compute, device)?.pow(&shares)?.mul(start)?.cast(dtype)
    }

    /// The `n` weights of a window, as a vector. N is n - 1, so that both ends are alike, or n if `periodic`: one period
    /// of the weights repeated, as spectra want it. One weight alone is 1.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// use numr_core::tensor::create::Window;
    /// let x = Tensor::<CpuRuntime>::try_window(Window::Bartlett, 5, false, DType::F32, &CpuDevice::new())?;
    /// assert_eq!(x.to_vec::<f32>(), [0.0, 0.5, 1.0, 0.5, 0.0]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::DType` for a dtype that is no real float; `Error::Argument` for a size that overflows.
    pub fn try_window(window: Window, n: usize, periodic: bool, dtype: DType, device: &R::Device) -> Result<Tensor<R>> {
        if !dtype.is_float() {
            return Err(Error::dtype("window", &[dtype], DTypeSet::FLOATS));
        }
        if n <= 1 {
            return Self::try_ones(&[n], dtype, device);
        }
        // Each is a + b·s + c·s² of one rise s from 0 to 1, sin²(πk/N) or the triangle's side: unlike a sum of cosines
        // this cancels nowhere, so the ends are exact.
        let [a, b, c] = match window {
            Window::Bartlett | Window::Hann => [0.0, 1.0, 0.0],
            Window::Blackman => [0.0, 0.36, 0.64],
            Window::Hamming => [0.08, 0.92, 0.0],
        };
        let last = n - usize::from(!periodic);
        let slope = if window == Window::Bartlett { 2.0 } else { std::f64::consts::PI } / last as f64;
        let (compute, scalars) = (dtype.compute(), [a.into(), b.into(), c.into(), slope.into(), last.into()]);
        Self::try_from_expr(&[n], &scalars, device, |arena, args| {
            let [a, b, c, slope] = [0, 1, 2, 3].map(|k| args[k].cast(compute));
            // From the nearer end: both halves are the same bits.
            let (up, down) = (arena.index(), args[4].cast(DType::I64) - arena.index());
            let along = Expr::select(up.lt(down), up, down).cast(compute) * slope;
            let rise = if window == Window::Bartlett { along } else { along.sin() * along.sin() };
            rise.mul_add(rise.mul_add(c, b), a).cast(dtype)
        })
    }

    /// A matrix of ones where `column - row <= diagonal` and zeros elsewhere.
    ///
    /// # Errors
    /// `Error::Argument` for a size that overflows.
    pub fn try_tri(rows: usize, columns: usize, diagonal: i64, dtype: DType, device: &R::Device) -> Result<Tensor<R>> {
        Self::try_ones(&[rows, columns], dtype, device)?.tril(diagonal)
    }

    /// An `n` by `m` (by default n) matrix of ones on the main diagonal and zeros beside it.
    ///
    /// # Errors
    /// `Error::Argument` for a size that overflows.
    pub fn try_eye(n: usize, m: Option<usize>, dtype: DType, device: &R::Device) -> Result<Tensor<R>> {
        Self::try_from_expr(&[n, m.unwrap_or(n)], &[], device, |arena, _| arena.coord(0).eq(arena.coord(1)).cast(dtype))
    }

    /// [`Tensor::try_eye`]; panics where that is an `Err`.
    #[track_caller]
    pub fn eye(n: usize, m: Option<usize>, dtype: DType, device: &R::Device) -> Tensor<R> {
        or_panic(Self::try_eye(n, m, dtype, device))
    }

    /// The tensor on a device of this or of another runtime, through the host.
    ///
    /// # Errors
    /// Faults of the devices.
    pub fn to<S: Runtime>(&self, device: &S::Device) -> Result<Tensor<S>> {
        Tensor::try_from_bytes(&self.to_bytes()?, self.shape(), self.dtype(), device)
    }
}

/// The dtype that a float computes in; none for an integer.
fn ordered(op: &'static str, dtype: DType) -> Result<Option<DType>> {
    if !DTypeSet::REAL.contains(dtype) {
        return Err(Error::dtype(op, &[dtype], DTypeSet::REAL));
    }
    Ok(dtype.is_float().then(|| dtype.compute()))
}
