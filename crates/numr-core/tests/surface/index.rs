use super::*;
use numr_core::ops::index::ScatterReduceOp;
use numr_core::prim::ScatterOp;

#[test]
fn gather_and_scatter() {
    let x = count(&[2, 3]);
    for (name, x) in layouts(&x) {
        let i = t(&[2i32, 0, -1, 1], &[2, 2]);
        assert_eq!(x.gather(1, &i).expect(name).to_vec::<f64>(), [2., 0., 5., 4.], "{name}");
        let y = x.scatter(1, &i, &t(&[10.0f64, 11., 12., 13.], &[2, 2])).expect(name);
        assert_eq!(y.to_vec::<f64>(), [11., 1., 10., 3., 13., 12.], "{name}");
        let y = x.scatter_add(1, &t(&[0u8, 0], &[1, 2]), &t(&[5i16, 6], &[1, 2])).expect(name);
        assert_eq!(y.to_vec::<f64>(), [11., 1., 2., 3., 4., 5.], "{name}");
        assert_eq!(x.index_select(-1, &t(&[2i64, 0], &[2])).expect(name).to_vec::<f64>(), [2., 0., 5., 3.], "{name}");
        assert_eq!(x.take(&t(&[5i64, -6], &[2, 1])).expect(name).to_vec::<f64>(), [5., 0.], "{name}");
        let y = x.index_put(0, &t(&[1i64], &[1]), &count(&[1, 3])).expect(name);
        assert_eq!(y.to_vec::<f64>(), [0., 1., 2., 0., 1., 2.], "{name}");
    }
    assert!(matches!(x.index_select(1, &t(&[3i64], &[1])), Err(Error::Index { index: 3, size: 3, .. })));
    assert!(matches!(x.take(&t(&[u64::MAX], &[1])), Err(Error::Index { .. })), "no index past i64 counts from the end");
    assert!(matches!(x.index_select(1, &t(&[0i64], &[1, 1])), Err(Error::Shape { .. })));
    assert!(matches!(x.gather(0, &t(&[0.0f32], &[1, 1])), Err(Error::DType { op: "gather", .. })));
    let one = t(&[4.0f64], &[]);
    assert_eq!(one.gather(0, &t(&[0i64], &[])).expect("scalar").to_vec::<f64>(), [4.0]);
}

#[test]
fn scatter_combines() {
    let base = t(&[1.0f64, 2.0, 3.0], &[3]);
    let (i, src) = (t(&[0i64, 0, 2], &[3]), t(&[4.0f64, 6.0, -1.0], &[3]));
    let got = |op, own| base.scatter_reduce(0, &i, &src, op, own).expect("reduces").to_vec::<f64>();
    assert_eq!(got(ScatterReduceOp::Sum, true), [11., 2., 2.]);
    assert_eq!(got(ScatterReduceOp::Sum, false), [10., 2., -1.]);
    assert_eq!(got(ScatterReduceOp::Mean, true), [11.0 / 3.0, 2., 1.]);
    assert_eq!(got(ScatterReduceOp::Mean, false), [5., 2., -1.]);
    assert_eq!(got(ScatterReduceOp::Prod, false), [24., 2., -1.]);
    assert_eq!(got(ScatterReduceOp::Max, true), [6., 2., 3.]);
    assert_eq!(got(ScatterReduceOp::Max, false), [6., 2., -1.]);
    assert_eq!(got(ScatterReduceOp::Min, false), [4., 2., -1.]);
    let y = base.scatter_with(ScatterOp::Mul, 0, &i, &src).expect("multiplies");
    assert_eq!(y.to_vec::<f64>(), [24., 2., -3.]);
    let ints = t(&[i64::MIN + 1, 5], &[2]).scatter_reduce(
        0,
        &t(&[0i64], &[1]),
        &t(&[i64::MIN], &[1]),
        ScatterReduceOp::Max,
        false,
    );
    assert_eq!(ints.expect("ints").to_vec::<i64>(), [i64::MIN, 5]);
}

#[test]
fn masks() {
    let x = count(&[2, 3]);
    let mask = x.gt(2.0).expect("compares");
    assert_eq!(x.masked_fill(&mask, -1.0).expect("fills").to_vec::<f64>(), [0., 1., 2., -1., -1., -1.]);
    assert_eq!(x.masked_select(&mask).expect("selects").to_vec::<f64>(), [3., 4., 5.]);
    assert_eq!(x.masked_select(&t(&[true, false, true], &[3])).expect("broadcasts").to_vec::<f64>(), [0., 2., 3., 5.]);
    let ints = t(&[1i32, 2], &[2]);
    assert_eq!(ints.masked_fill(&t(&[1u8, 0], &[2]), 7.9).expect("fills").to_vec::<i32>(), [7, 2]);
    assert_eq!(x.nonzero().expect("nonzero").slice(numr_core::s![..2]).expect("rows").to_vec::<i64>(), [0, 1, 0, 2]);
    assert_eq!(t(&[1i32], &[]).nonzero().expect("scalar").shape(), [1, 0]);
    assert_eq!(T::zeros(&[2, 0], DType::F32, &device()).nonzero().expect("empty").shape(), [0, 2]);
    let vast = T::zeros(&[0, 1 << 40, 1 << 40], DType::F32, &device());
    assert_eq!(vast.nonzero().expect("empty").shape(), [0, 3]);
    assert!(vast.gather_nd(&T::zeros(&[0, 3], DType::I64, &device())).is_ok_and(|y| y.is_empty()));
    assert_eq!(T::where_(&mask, &x, &t(&[9i32], &[])).expect("chooses").to_vec::<f64>(), [9., 9., 9., 3., 4., 5.]);
}

#[test]
fn tables() {
    let table = count(&[3, 2]);
    let rows = table.embedding_lookup(&t(&[2u8, 0, 1, 2], &[2, 2])).expect("looks up");
    assert_eq!((rows.shape(), rows.to_vec::<f64>()), (&[2, 2, 2][..], vec![4., 5., 0., 1., 2., 3., 4., 5.]));
    let hot = t(&[1i64, 3, -1], &[3]).one_hot(3).expect("one hot");
    assert_eq!((hot.dtype(), hot.to_vec::<f32>()), (DType::F32, vec![0., 1., 0., 0., 0., 0., 0., 0., 0.]));
    assert_eq!(table.gather_nd(&t(&[2i64, 1, 0, -1], &[2, 2])).expect("gathers").to_vec::<f64>(), [5., 1.]);
    assert_eq!(table.gather_nd(&t(&[1i64], &[1])).expect("a row").to_vec::<f64>(), [2., 3.]);
    let past = table.gather_nd(&t(&[0i64, 2], &[2]));
    assert!(matches!(past, Err(Error::Index { .. })), "column 2 is not there, though position 2 is");
    let n = t(&[1i64, 3, 1], &[3]);
    assert_eq!(n.bincount(None, 0).expect("counts").to_vec::<i64>(), [0, 2, 0, 1]);
    assert_eq!(n.bincount(Some(&count(&[3])), 6).expect("weighs").to_vec::<f64>(), [0., 2., 0., 1., 0., 0.]);
    assert!(matches!(t(&[-1i64], &[1]).bincount(None, 0), Err(Error::Argument { .. })));
    let wide = table.take_along(&t(&[1i64], &[1, 1]), 0).expect("broadcasts");
    assert_eq!(wide.to_vec::<f64>(), [2., 3.]);
}

#[test]
fn percentiles() {
    use numr_core::ops::order::Quantile;
    let at = |p| count(&[5]).percentile(p, None, false, Quantile::Linear);
    assert_eq!(at(25.0).expect("a percentile").to_vec::<f64>(), [1.0]);
    assert_eq!(at(100.0).expect("a percentile").to_vec::<f64>(), [4.0]);
    for p in [150.0, -1.0, f64::NAN] {
        assert!(matches!(at(p), Err(Error::Argument { op: "percentile", .. })), "{p}");
    }
}
