//! Operands for tests.

use numr_core::element::Complex;
use numr_core::prim::{Prim, View};
use numr_core::{DType, Element, Lit, SliceRange, Tensor, dispatch_dtype};
use numr_cpu::{CpuDevice, CpuRuntime};

/// A tensor on the processor.
pub(crate) type T = Tensor<CpuRuntime>;
/// The processor.
pub(crate) const CPU: CpuDevice = CpuDevice::new();

/// Small whole numbers of any dtype, row-major: from -3 to 4, or powers of two up to 2, whose products are exact.
pub(crate) fn numbers(shape: &[usize], dtype: DType, powers: bool) -> T {
    let n: usize = shape.iter().product();
    let signed = !dtype.is_unsigned_int() && !dtype.is_bool();
    let value = |i: i64| {
        let v = (i * 7919 + i * i % 13) % 8 - 3;
        let v = if powers { [1, 2, -1, 1, -2, 1, 1, -1][(v + 3) as usize] } else { v };
        if signed { v } else { v.abs() }
    };
    dispatch_dtype!(dtype, E => {
        let data: Vec<E> = (0..n as i64).map(|i| match E::from_lit(Lit::Int(value(i))).to_lit() {
            // An imaginary part too, where there is one.
            Lit::Complex(re, _) => E::from_lit(Lit::Complex(re, if powers { 0.0 } else { value(i + 1) as f64 })),
            lit => E::from_lit(lit),
        }).collect();
        T::from_slice(&data, shape, &CPU)
    })
}

/// The shape in several layouts: as it lies, across (two ways), every second element backwards, broadcast, and from the
/// middle of a larger tensor.
pub(crate) fn layouts(shape: &[usize; 3], dtype: DType, powers: bool) -> Vec<T> {
    let [a, b, c] = *shape;
    let of = |shape: &[usize]| numbers(shape, dtype, powers);
    let ok = |t: numr_core::Result<T>| t.expect("view");
    let second = View::Slice(
        [(a, a, -1), (b, b, 1), (2 * c, c, -2)]
            .map(|(size, len, step)| SliceRange { start: if step < 0 { size.max(1) - 1 } else { 0 }, len, step })
            .as_slice()
            .into(),
    );
    vec![
        of(shape),
        ok(of(&[c, b, a]).permute([2, 1, 0])),
        ok(of(&[b, a, c]).permute([1, 0, 2])),
        ok(T::run_one(&Prim::View(second), &[&of(&[a, b, 2 * c])])),
        ok(of(&[a, 1, c]).broadcast_to(shape)),
        ok(ok(of(&[a + 2, b, c + 3]).narrow(0, 1, a)).narrow(2, 2, c)),
    ]
}

/// The elements, row-major.
pub(crate) fn values(t: &T) -> Vec<Complex<f64>> {
    dispatch_dtype!(t.dtype(), E => t.to_vec::<E>().into_iter().map(|v| match v.to_lit() {
        Lit::Complex(re, im) => Complex::new(re, im),
        lit => lit.to_f64().into(),
    }).collect())
}

/// What a number is after a store as `dtype`.
pub(crate) fn stored(v: Complex<f64>, dtype: DType) -> Complex<f64> {
    if dtype.is_complex() { v } else { dispatch_dtype!(dtype, E => <E as Element>::from_f64(v.re).to_f64().into()) }
}
