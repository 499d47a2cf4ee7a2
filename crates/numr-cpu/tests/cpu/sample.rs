//! Tensors to test with: awkward values of every dtype, in every kind of layout.

use numr_core::{DType, Element, Lit, Tensor};
use numr_cpu::{CpuDevice, CpuRuntime};

pub(super) type T = Tensor<CpuRuntime>;
pub(super) const CPU: CpuDevice = CpuDevice::new();

/// Values at and around the edges of all dtypes, without order.
pub(super) fn awkward() -> Vec<Lit> {
    let mut all = vec![Lit::Bool(false), Lit::Bool(true)];
    for e in 0..64 {
        for v in [(1i64 << e).wrapping_sub(1), 1 << e, (1i64 << e).wrapping_add(1), 3 << e >> 1] {
            all.extend([Lit::Int(v), Lit::Int(v.wrapping_neg()), Lit::UInt(v as u64)]);
            all.extend([Lit::Float(v as f64), Lit::Float(-(v as f64) * 0.75), Lit::Float(0.7 / v as f64)]);
        }
    }
    // Ties and near-ties of the narrow floats, and the ends of their ranges.
    for x in [65504.0, 65519.99, 65520.0, 448.0, 464.0, 464.1, 57344.0, 61440.0, 3.39e38, 3.4e38, 1e39, 1e300, 5e-324] {
        all.extend([Lit::Float(x), Lit::Float(-x)]);
    }
    for e in [-150, -133, -126, -25, -24, -15, -14, -10, -9, -7, 0, 4, 8] {
        for m in
            [1.0, 1.5, 1.0 + 1.0 / 16.0, 1.0 + 3.0 / 16.0, 1.0 + 1.0 / 2048.0, 1.0 + 3.0 / 2048.0, 1.0 + 1.0 / 256.0]
        {
            for nudge in [0.0, 1e-14, -1e-14] {
                all.push(Lit::Float((m + nudge) * 2f64.powi(e)));
            }
        }
    }
    all.extend([f64::NAN, f64::INFINITY, -f64::INFINITY, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5].map(Lit::Float));
    all.extend([Lit::Complex(1.5, -2.0), Lit::Complex(0.0, 1.0), Lit::Complex(-0.0, 0.0), Lit::Complex(1e39, 1e-39)]);
    all.push(Lit::UInt(u64::MAX));
    all
}

/// Small values of a dtype, none of them 0, some below.
pub(super) fn small<E: Element>(n: usize) -> Vec<E> {
    (0..n)
        .map(|i| ((i * 7 % 11) as f64 - if E::DTYPE.is_signed() { 5.5 } else { -0.5 }).mul_add(0.75, 0.2).cast())
        .collect()
}

/// The same elements, a tensor of shape [3, 4, 5] at most, in every kind of layout. Each comes with its name.
pub(super) fn layouts(x: &T) -> Vec<(&'static str, T)> {
    let ok = |t: numr_core::Result<T>| t.expect("a view");
    let t = ok(x.permute([2, 0, 1]));
    vec![
        ("contiguous", x.clone()),
        ("transposed", ok(x.transpose(0, 2))),
        ("rotated", t.clone()),
        ("offset", ok(ok(x.narrow(0, 1, 2)).narrow(2, 1, 3))),
        ("flipped", ok(x.flip([0, 2]))),
        ("flipped and transposed", ok(ok(t.flip(1)).narrow(0, 1, 3))),
        ("row repeated", ok(ok(x.narrow(0, 1, 1)).broadcast_to(&[3, 4, 5]))),
        ("column repeated", ok(ok(x.narrow(2, 2, 1)).broadcast_to(&[3, 4, 5]))),
        ("one repeated", ok(ok(ok(ok(x.narrow(0, 1, 1)).narrow(1, 1, 1)).narrow(2, 1, 1)).broadcast_to(&[3, 4, 5]))),
        ("every second", ok(x.unfold(2, 1, 2))),
        ("windows", ok(x.unfold(1, 3, 1))),
        ("diagonal", ok(x.diagonal(1, 1, 2))),
        ("empty", ok(x.narrow(1, 2, 0))),
        ("rank 0", ok(ok(ok(ok(x.narrow(0, 2, 1)).narrow(1, 1, 1)).narrow(2, 3, 1)).reshape(&[]))),
    ]
}

/// The elements by one walk over the layout, without the backend's help.
pub(super) fn naive<E: Element>(x: &T) -> Vec<E> {
    let all = x.storage().slice::<E::Pod>();
    x.layout().offsets().map(|at| E::from_pod(all[at])).collect()
}

/// The elements as bytes, with one pattern for every NaN.
pub(super) fn bits(x: &T) -> Vec<u8> {
    fn of<E: Element>(x: &T) -> Vec<u8> {
        #[allow(clippy::eq_op, reason = "a NaN is not itself")]
        let quiet = |e: E| if e == e { e } else { f64::NAN.cast() };
        x.to_vec::<E>().into_iter().flat_map(|e| bytemuck::bytes_of(&quiet(e).to_pod()).to_vec()).collect()
    }
    numr_core::dispatch_dtype!(x.dtype(), E => of::<E>(x))
}

/// A tensor of every dtype with small values, of shape [3, 4, 5].
pub(super) fn of_dtype(dtype: DType) -> T {
    numr_core::dispatch_dtype!(dtype, E => T::from_slice(&small::<E>(60), &[3, 4, 5], &CPU))
}
