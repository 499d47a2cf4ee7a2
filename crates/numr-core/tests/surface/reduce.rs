use super::*;

/// Sums, means and variances over every choice of axes, against loops, in every layout.
#[test]
fn folds_against_loops() {
    let shape = [2, 3, 4];
    let base = count(&shape).mul(1.5).expect("mul").sub(10.0).expect("sub");
    let data = base.to_vec::<f64>();
    for mask in 1..8usize {
        let axes: Vec<usize> = (0..3).filter(|k| mask >> k & 1 == 1).collect();
        let kept: Vec<usize> = (0..3).filter(|k| !axes.contains(k)).collect();
        let place = |i: usize| {
            let at = [i / 12, i / 4 % 3, i % 4];
            kept.iter().fold(0, |p, &k| p * shape[k] + at[k])
        };
        let groups: usize = kept.iter().map(|&k| shape[k]).product();
        let mut cells = vec![Vec::new(); groups];
        data.iter().enumerate().for_each(|(i, &v)| cells[place(i)].push(v));
        let each = |f: fn(&[f64]) -> f64| -> Vec<f64> { cells.iter().map(|c| f(c)).collect() };
        let mean = |c: &[f64]| c.iter().sum::<f64>() / c.len() as f64;
        let sum = each(|c| c.iter().sum());
        let var: Vec<f64> = cells
            .iter()
            .map(|c| c.iter().map(|v| (v - mean(c)).powi(2)).sum::<f64>() / (c.len() as f64 - 1.0))
            .collect();
        for (name, x) in layouts(&base) {
            for keepdim in [false, true] {
                let s = x.sum(&axes, keepdim).expect(name);
                close(&s, &sum, 1e-14);
                assert_eq!(s.ndim(), if keepdim { 3 } else { kept.len() });
                close(&x.mean(&axes, keepdim).expect(name), &cells.iter().map(|c| mean(c)).collect::<Vec<_>>(), 1e-14);
                close(&x.var(&axes, keepdim, 1).expect(name), &var, 1e-13);
                close(&x.max(&axes, keepdim).expect(name), &each(|c| c.iter().copied().fold(f64::MIN, f64::max)), 0.0);
            }
        }
    }
}

#[test]
fn axes_come_in_many_forms() {
    let x = count(&[2, 3]);
    for y in
        [x.sum(-1, false), x.sum(1usize, false), x.sum(&[1], false), x.sum([-1isize], false), x.sum(vec![1], false)]
    {
        close(&y.expect("sums"), &[3.0, 12.0], 0.0);
    }
    let none: &[usize] = &[];
    for y in [x.sum(.., false), x.sum(none, false), x.sum((), false)] {
        assert_eq!(y.expect("sums").item::<f64>().expect("one"), 15.0);
    }
    assert!(matches!(x.sum(&[0, -2], false), Err(Error::Argument { .. })));
    assert!(matches!(x.sum(2, false), Err(Error::Axis { axis: 2, ndim: 2, .. })));
}

#[test]
fn dtypes_of_folds() {
    let small = t(&[100i8, 100, 100], &[3]);
    assert_eq!(small.sum(.., false).expect("sum").to_vec::<i64>(), [300]);
    assert_eq!(t(&[200u8, 200], &[2]).prod(.., false).expect("prod").to_vec::<u64>(), [40000]);
    assert_eq!(t(&[true, false, true], &[3]).sum(0, false).expect("sum").to_vec::<i64>(), [2]);
    close(&small.mean(.., false).expect("mean"), &[100.0], 0.0);
    assert_eq!(small.mean(.., false).expect("mean").dtype(), DType::F32);
    assert_eq!(small.max(.., false).expect("max").to_vec::<i8>(), [100]);
    assert_eq!(small.any(.., false).expect("any").to_vec::<bool>(), [true]);
    // A sum in f16 would overflow at 65504.
    let half = T::full(&[2000], 100.0, DType::F16, &device());
    close(&half.mean(.., false).expect("mean"), &[100.0], 0.0);
    assert_eq!(half.var(.., false, 0).expect("var").dtype(), DType::F16);
    let z = t(&[numr_core::Complex::new(1.0f64, 1.0), numr_core::Complex::new(1.0, -1.0)], &[2]);
    close(&z.var(.., false, 0).expect("var"), &[1.0], 1e-15);
    close(&z.norm(.., false).expect("norm"), &[2.0], 1e-15);
}

#[test]
fn nothing_and_scalars() {
    let empty = T::zeros(&[0, 3], DType::F64, &device());
    close(&empty.sum(0, false).expect("sum"), &[0.0; 3], 0.0);
    close(&empty.mean(0, false).expect("mean"), &[f64::NAN; 3], 0.0);
    close(&empty.logsumexp(0, false).expect("lse"), &[f64::NEG_INFINITY; 3], 0.0);
    close(&empty.var(0, false, 0).expect("var"), &[f64::NAN; 3], 0.0);
    assert!(matches!(empty.max(0, false), Err(Error::Shape { op: "max", .. })));
    assert_eq!(empty.max(1, false).expect("nothing to choose for").shape(), [0]);
    let one = t(&[7.0f64], &[]);
    for y in [one.sum(.., false), one.mean(0, false), one.max(-1, true), one.logsumexp(.., false)] {
        let y = y.expect("folds a scalar");
        assert_eq!((y.shape(), y.item::<f64>().expect("one")), (&[][..], 7.0));
    }
    assert_eq!(one.argmax(.., true).expect("argmax").to_vec::<i64>(), [0]);
    assert!(count(&[1]).var(.., false, 1).expect("var").item::<f64>().expect("one").is_nan());
}

#[test]
fn nan_and_infinity() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let x = t(&[1.0, nan, 3.0, -inf, -inf, -inf, inf, 1.0, 2.0], &[3, 3]);
    close(&x.max(1, false).expect("max"), &[nan, -inf, inf], 0.0);
    close(&x.logsumexp(1, false).expect("lse"), &[nan, -inf, inf], 0.0);
    assert_eq!(x.argmax(1, false).expect("argmax").to_vec::<i64>(), [1, 0, 0]);
    close(&t(&[1000.0, 1000.0], &[2]).logsumexp(.., false).expect("lse"), &[1000.0 + 2f64.ln()], 1e-15);
}

#[test]
fn arg_folds() {
    let x = t(&[3, 1, 3, 0, 0, 5], &[2, 3]);
    assert_eq!(x.argmax(1, false).expect("argmax").to_vec::<i64>(), [0, 2]);
    assert_eq!(x.argmin(0, true).expect("argmin").shape(), [1, 3]);
    assert_eq!(x.argmax(.., false).expect("argmax").to_vec::<i64>(), [5]);
    assert!(matches!(x.argmax(&[0, 1], false), Err(Error::Argument { op: "argmax", .. })));
}

#[test]
fn scans_and_order() {
    let x = t(&[3.0, 1.0, f64::NAN, 2.0], &[4]);
    close(&x.cumsum(0).expect("cumsum"), &[3.0, 4.0, f64::NAN, f64::NAN], 0.0);
    close(&x.cummax(0).expect("cummax"), &[3.0, 3.0, f64::NAN, f64::NAN], 0.0);
    for (descending, want) in [(false, [1.0, 2.0, 3.0]), (true, [3.0, 2.0, 1.0])] {
        let (values, order) = x.sort_with_indices(0, descending).expect("sorts");
        assert_eq!(values.to_vec::<f64>()[..3], want);
        assert!(values.to_vec::<f64>()[3].is_nan());
        let again = x.take_along(&order, 0).expect("takes");
        assert_eq!(again.to_vec::<f64>()[..3], want);
    }
    let m = count(&[2, 4]);
    let (values, at) = m.topk(2, -1, true, true).expect("topk");
    assert_eq!((values.to_vec::<f64>(), at.to_vec::<i64>()), (vec![3.0, 2.0, 7.0, 6.0], vec![3, 2, 3, 2]));
    assert!(matches!(m.topk(5, -1, true, true), Err(Error::Argument { .. })));
    assert_eq!(t(&[5], &[]).cumsum(0).expect("scalar").to_vec::<i64>(), [5]);
    assert_eq!(t(&[5], &[]).sort(-1, true).expect("scalar").shape(), [0usize; 0]);
    let (values, inverse, counts) = t(&[2, 1, 2, 7], &[2, 2]).unique_with_counts().expect("unique");
    assert_eq!(values.to_vec::<i32>(), [1, 2, 7]);
    assert_eq!(inverse.to_vec::<i64>(), [1, 0, 1, 2]);
    assert_eq!(counts.to_vec::<i64>(), [1, 2, 1]);
    assert_eq!(t(&[f32::NAN, 1.0, f32::NAN], &[3]).unique().expect("unique").shape(), [2]);
    assert_eq!(T::zeros(&[0], DType::F32, &device()).unique().expect("unique").shape(), [0]);
}
