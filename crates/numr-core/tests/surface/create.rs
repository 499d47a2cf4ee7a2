use super::*;
use numr_core::tensor::create::Window;

fn vec(x: Result<T>) -> Vec<f64> {
    x.expect("makes").cast(DType::F64).expect("casts").to_vec::<f64>()
}

#[test]
fn sequences() {
    let d = &device();
    assert_eq!(vec(T::try_arange(0, 5, 2, DType::I32, d)), [0., 2., 4.]);
    assert_eq!(vec(T::try_arange(5, 0, -2, DType::U8, d)), [5., 3., 1.]);
    assert_eq!(vec(T::try_arange(0.5, 3, 1, DType::F16, d)), [0.5, 1.5, 2.5]);
    assert_eq!(vec(T::try_arange(0, 1, 0.3, DType::I64, d)), [0., 0., 0., 0.]);
    assert_eq!(vec(T::try_arange(3, 0, 1, DType::F32, d)), []);
    assert_eq!(vec(T::try_arange(0, 1, 0.1, DType::F64, d))[3], 0.1f64.mul_add(3.0, 0.0));
    assert!(matches!(T::try_arange(0, 1, 0, DType::F32, d), Err(Error::Argument { .. })));
    assert!(matches!(T::try_arange(0, f64::NAN, 1, DType::F32, d), Err(Error::Argument { .. })));
    assert!(matches!(T::try_arange(0, f64::INFINITY, 1, DType::F32, d), Err(Error::Argument { .. })));
    assert!(matches!(T::try_arange(0, 1, 1, DType::Bool, d), Err(Error::DType { .. })));
    assert_eq!(vec(T::try_linspace(0, 1, 5, DType::F32, d)), [0., 0.25, 0.5, 0.75, 1.]);
    assert_eq!(vec(T::try_linspace(2, 9, 1, DType::F32, d)), [2.]);
    assert_eq!(vec(T::try_linspace(2, 9, 0, DType::F32, d)), []);
    assert_eq!(vec(T::try_linspace(0, 10, 4, DType::I32, d)), [0., 3., 6., 10.]);
    let ends = vec(T::try_linspace(0.1, 0.7, 1000, DType::F64, d));
    assert_eq!((ends[0], ends[999]), (0.1, 0.7));
}

/// Against the sums of cosines by which the windows are defined.
#[test]
fn windows() {
    let d = &device();
    let angle = |k: usize, n: usize| std::f64::consts::TAU * k as f64 / n as f64;
    let wants: [(Window, f64, fn(f64) -> f64); 4] = [
        (Window::Bartlett, 0.0, |x| 1.0 - (x / std::f64::consts::PI - 1.0).abs()),
        (Window::Blackman, 0.0, |x| 0.42 - 0.5 * x.cos() + 0.08 * (2.0 * x).cos()),
        (Window::Hamming, 0.08, |x| 0.54 - 0.46 * x.cos()),
        (Window::Hann, 0.0, |x| 0.5 - 0.5 * x.cos()),
    ];
    for (window, end, want) in wants {
        // In f64 and f32 at most 3 eps: the angle, at most π/2, is two roundings off, a window rises at most 1.2 times as
        // fast as it, and s and the sum add a rounding or two. 1 more for the f64 sums of cosines compared with.
        let eps = |e: f64| 4.0 * e;
        for (dtype, tolerance) in [
            (DType::F64, eps(f64::EPSILON)),
            (DType::F32, eps(f32::EPSILON.into())),
            (DType::F16, 1e-3),
            (DType::BF16, 4e-3),
        ] {
            for n in [2, 3, 8, 101] {
                let x = T::try_window(window, n, false, dtype, d).expect("makes");
                assert_eq!(x.dtype(), dtype);
                close(&x, &(0..n).map(|k| want(angle(k, n - 1))).collect::<Vec<_>>(), tolerance);
                let all = vec(Ok(x));
                assert!(all.iter().eq(all.iter().rev()), "{window:?} {dtype} {n}: {all:?}");
                assert_eq!(all[0], vec(T::try_full(&[1], end, dtype, d))[0], "{window:?} {dtype} {n}");
                if n > 2 {
                    assert_eq!(
                        vec(T::try_window(window, n - 1, true, dtype, d)),
                        all[..n - 1],
                        "{window:?} {dtype} {n}"
                    );
                }
            }
            assert_eq!(vec(T::try_window(window, 1, true, dtype, d)), [1.]);
            assert_eq!(vec(T::try_window(window, 1, false, dtype, d)), [1.]);
            assert_eq!(vec(T::try_window(window, 0, false, dtype, d)), []);
        }
        for dtype in [DType::Bool, DType::I32, DType::Complex64] {
            assert!(matches!(T::try_window(window, 4, false, dtype, d), Err(Error::DType { op: "window", .. })));
        }
        assert!(matches!(T::try_window(window, usize::MAX, true, DType::F64, d), Err(Error::Argument { .. })));
    }
}

#[test]
fn constants_keep_every_bit() {
    let d = &device();
    assert_eq!(T::full(&[1], 0.1, DType::F64, d).to_vec::<f64>(), [0.1]);
    assert_eq!(T::full(&[1], i64::MAX, DType::I64, d).to_vec::<i64>(), [i64::MAX]);
    assert_eq!(T::full(&[1], u64::MAX, DType::U64, d).to_vec::<u64>(), [u64::MAX]);
    assert_eq!(T::full(&[1], 300, DType::U8, d).to_vec::<u8>(), [44]);
    assert_eq!(T::full(&[2], 2.5, DType::Bool, d).to_vec::<bool>(), [true; 2]);
    let z = numr_core::Complex::new(0.1f64, -0.2);
    assert_eq!(T::full(&[1], z, DType::Complex128, d).to_vec::<numr_core::Complex<f64>>(), [z]);
    assert_eq!(vec(T::try_eye(2, Some(3), DType::I8, d)), [1., 0., 0., 0., 1., 0.]);
    for dtype in DType::ALL {
        assert_eq!(vec(T::try_ones(&[2], dtype, d)), [1., 1.], "{dtype}");
        assert_eq!(T::zeros(&[0, 3], dtype, d).numel(), 0);
    }
    assert!(T::try_zeros(&[usize::MAX, 2], DType::F32, d).is_err());
}
