use super::*;

#[test]
fn all_forms_agree() {
    let (a, b) = (count(&[3]), t(&[10.0f64, 20.0, 30.0], &[3]));
    let want = [10.0, 21.0, 32.0];
    for y in [&a + &b, a.clone() + &b, &a + b.clone(), a.clone() + b.clone()] {
        assert_eq!(y.to_vec::<f64>(), want);
    }
    for y in [&a * 2.0, 2.0 * &a, a.clone() * 2, 2 * a.clone(), &a * 2i64] {
        assert_eq!(y.to_vec::<f64>(), [0.0, 2.0, 4.0]);
    }
    assert_eq!((1.0 / &b).to_vec::<f64>()[0], 0.1);
    assert_eq!((1 - &a).to_vec::<f64>(), [1.0, 0.0, -1.0]);
    assert_eq!((-&a).to_vec::<f64>()[2], -2.0);
    assert_eq!((&t(&[-7i32, 7], &[2]) % 4).to_vec::<i32>(), [-3, 3]);
    assert_eq!((2.0 * &a + 2 * (&a - 1.0f32)).abs().expect("abs").to_vec::<f64>(), [2.0, 2.0, 6.0]);
    let mut c = a.clone();
    c += &b;
    c -= 1;
    c *= b.clone();
    assert_eq!(c.to_vec::<f64>(), [90.0, 400.0, 930.0]);
}

#[test]
fn bits_and_truth() {
    let (a, b) = (t(&[12u8, 10], &[2]), t(&[10u8, 6], &[2]));
    assert_eq!((&a & &b).to_vec::<u8>(), [8, 2]);
    assert_eq!((&a | &b).to_vec::<u8>(), [14, 14]);
    assert_eq!((&a ^ 1).to_vec::<u8>(), [13, 11]);
    assert_eq!((!&a).to_vec::<u8>(), [243, 245]);
    let m = t(&[true, false], &[2]);
    assert_eq!((!&m & true).to_vec::<bool>(), [false, true]);
}

/// A scalar keeps the tensor's dtype unless its kind is higher; a comparison gives bool.
#[test]
fn scalars_adapt() {
    let half = T::ones(&[1], DType::F16, &device());
    assert_eq!((&half + 1.5).dtype(), DType::F16);
    assert_eq!((&t(&[1i32], &[1]) + 1.5).dtype(), DType::F32);
    assert_eq!((&t(&[1i8], &[1]) + 1).dtype(), DType::I8);
    assert_eq!((&t(&[1i32], &[1]) / 2).to_vec::<f32>(), [0.5]);
    assert_eq!(t(&[1i64 << 60], &[1]).add(1).expect("adds").to_vec::<i64>(), [(1 << 60) + 1]);
    assert_eq!(count(&[2]).gt(0.5).expect("compares").to_vec::<bool>(), [false, true]);
}

fn panic_text(f: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let payload = std::panic::catch_unwind(f).expect_err("must panic");
    payload.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn operators_panic_with_the_error() {
    let text = panic_text(|| {
        let _ = count(&[2]) + count(&[3]);
    });
    assert!(text.contains("add") && text.contains("[2]") && text.contains("[3]"), "{text}");
    let text = panic_text(|| {
        let mut a = count(&[2]);
        a += count(&[3, 2]);
    });
    assert!(text.contains("add_assign"), "{text}");
    let text = panic_text(|| {
        let mut a = t(&[1i32], &[1]);
        a *= 1.5;
    });
    assert!(text.contains("mul_assign") && text.contains("f32"), "{text}");
}

/// One kernel gives the bits of the ops one by one.
#[test]
fn fused_is_unfused() {
    use numr_core::ops::map::symbolic::Symbolic;
    let (x, y) = (count(&[4, 1]).div(7.0).expect("div"), count(&[3]).sub(1.3).expect("sub"));
    let one = numr_core::ops::fuse([&x, &y], |[x, y]| (x * y + 0.5).relu().exp() / (y.square() + 1.0)).expect("fuses");
    let top = x.mul(&y).and_then(|p| p.add(0.5)).and_then(|p| p.relu()).and_then(|p| p.exp()).expect("steps");
    let many = top.div(&y.square().expect("square").add(1.0).expect("add")).expect("div");
    assert_eq!((one.shape(), one.to_vec::<f64>()), (&[4, 3][..], many.to_vec::<f64>()));
    let both = numr_core::ops::fuse_many([&x, &y], |[x, y]| [x + y, x - y]).expect("fuses");
    assert_eq!(both[1].to_vec::<f64>(), x.sub(&y).expect("sub").to_vec::<f64>());
}

/// In narrow floats the steps of a fused formula stay in f32, and the result is rounded once.
#[test]
fn fused_narrow_floats_round_once() {
    let draw = |seed| numr_core::Key::new(seed).normal::<CpuRuntime>(&[1000], DType::F16, &device()).expect("draws");
    let (x, y) = (draw(1), draw(2));
    let one = numr_core::ops::fuse([&x, &y], |[x, y]| x * y + x).expect("fuses");
    let wide = |t: &T| t.cast(DType::F32).expect("casts");
    let want = (wide(&x) * wide(&y) + wide(&x)).cast(DType::F16).expect("casts");
    assert_eq!(wide(&one).to_vec::<f32>(), wide(&want).to_vec::<f32>());
}
