use super::*;

/// The expected text is what NumPy prints.
#[test]
fn display() {
    assert_eq!(count(&[2, 2]).to_string(), "[[0. 1.]\n [2. 3.]]");
    assert_eq!(format!("{:.3}", count(&[3]).div(3.0).expect("div")), "[0.000 0.333 0.667]");
    assert_eq!(t(&[1i32, -20, 3], &[3]).to_string(), "[  1 -20   3]");
    assert_eq!(t(&[true, false], &[2]).to_string(), "[ true false]");
    assert_eq!(t(&[2.5f32], &[]).to_string(), "2.5");
    assert_eq!(T::zeros(&[0, 3], DType::F32, &device()).to_string(), "[]");
    assert_eq!(t(&[numr_core::Complex::new(1.0f32, -2.5)], &[1]).to_string(), "[1.-2.5j]");
    assert_eq!(t(&[u64::MAX], &[1]).to_string(), "[18446744073709551615]");
    assert_eq!(count(&[2, 3]).t().expect("two axes").to_string(), "[[0. 3.]\n [1. 4.]\n [2. 5.]]");
    assert_eq!(count(&[2000]).cast(DType::I64).expect("casts").to_string(), "[   0    1    2 ... 1997 1998 1999]");
    let text = count(&[2000, 3]).to_string();
    assert_eq!(text.lines().count(), 7, "{text}");
    assert_eq!(text.lines().nth(3), Some(" ..."));
    for dtype in DType::ALL {
        assert!(!T::ones(&[2], dtype, &device()).to_string().contains("<"), "{dtype}");
    }
}
