use super::*;
use numr_core::s;
use numr_core::tensor::index::NewAxis;

fn vec(x: Result<T>) -> Vec<f64> {
    x.expect("must work").to_vec::<f64>()
}

#[test]
fn joining_and_cutting() {
    let x = count(&[2, 3]);
    assert_eq!(vec(T::cat(&[&x, &x.flip(0).expect("flips")], 0)), [0., 1., 2., 3., 4., 5., 3., 4., 5., 0., 1., 2.]);
    assert_eq!(T::stack(&[&x, &x, &x, &x], -1).expect("stacks").shape(), [2, 3, 4]);
    assert_eq!(T::cat(&[&x, &t(&[7i32, 8], &[2, 1])], 1).expect("promotes").shape(), [2, 4]);
    let parts = count(&[7]).split(3, 0).expect("splits");
    assert_eq!(parts.iter().map(|p| p.shape()[0]).collect::<Vec<_>>(), [3, 3, 1]);
    let parts = count(&[7]).chunk(3, 0).expect("chunks");
    assert_eq!(parts.iter().map(|p| p.shape()[0]).collect::<Vec<_>>(), [3, 3, 1]);
    assert!(matches!(T::cat(&[], 0), Err(Error::Argument { .. })));
    assert!(matches!(T::stack(&[], 0), Err(Error::Argument { .. })));
    assert!(matches!(T::stack(&[&x, &count(&[3, 2])], 0), Err(Error::Shape { .. })));
    assert!(matches!(count(&[3]).split(0, 0), Err(Error::Argument { .. })));
    assert!(matches!(count(&[3]).chunk(0, 0), Err(Error::Argument { .. })));
}

#[test]
fn repeating_padding_and_rolling() {
    let x = count(&[2, 2]);
    assert_eq!(vec(x.repeat(&[1, 2])), [0., 1., 0., 1., 2., 3., 2., 3.]);
    assert_eq!(x.repeat(&[2, 1, 0]).expect("repeats").shape(), [2, 2, 0]);
    assert!(matches!(x.repeat(&[2]), Err(Error::Argument { .. })));
    assert!(matches!(x.repeat(&[usize::MAX, 1]), Err(Error::Argument { .. })));
    assert_eq!(vec(count(&[2]).repeat_interleave(2, Some(0))), [0., 0., 1., 1.]);
    assert_eq!(vec(x.repeat_interleave(2, None)), [0., 0., 1., 1., 2., 2., 3., 3.]);
    for (name, x) in layouts(&x) {
        assert_eq!(vec(x.pad(&[(1, 0), (0, 1)], 9.0)), [9., 9., 9., 0., 1., 9., 2., 3., 9.], "{name}");
        assert_eq!(vec(x.roll(1, 1)), [1., 0., 3., 2.], "{name}");
        assert_eq!(vec(x.roll(-3, 0)), [2., 3., 0., 1.], "{name}");
    }
    assert_eq!(vec(T::zeros(&[0], DType::F64, &device()).roll(2, 0)), []);
}

#[test]
fn shapes() {
    let x = count(&[2, 1, 3]);
    assert_eq!(x.squeeze(None).shape(), [2, 3]);
    assert_eq!(x.squeeze(Some(-2)).shape(), [2, 3]);
    assert_eq!(x.squeeze(Some(0)).shape(), [2, 1, 3]);
    assert!(matches!(x.squeeze_axes(0), Err(Error::Shape { .. })));
    assert_eq!(x.reshape_infer(&[3, -1]).expect("fits").shape(), [3, 2]);
    assert!(matches!(x.reshape_infer(&[4, -1]), Err(Error::Shape { .. })));
    assert!(matches!(x.reshape_infer(&[-1, -1]), Err(Error::Argument { .. })));
    assert!(matches!(T::zeros(&[0], DType::F32, &device()).reshape_infer(&[0, -1]), Err(Error::Shape { .. })));
    assert_eq!(x.movedim(0, -1).expect("moves").shape(), [1, 3, 2]);
    assert_eq!(x.expand(&[4, -1, 5, 3]).expect("expands").shape(), [4, 2, 5, 3]);
    assert!(matches!(x.expand(&[-1, 2, 1, 3]), Err(Error::Argument { .. })));
    assert_eq!(x.t().expect("two axes").flatten().expect("copies").shape(), [6]);
    assert_eq!(vec(count(&[3, 3]).diagonal(1, 0, 1)), [1., 5.]);
    assert_eq!(vec(count(&[3, 3]).trace()), [12.]);
    assert_eq!(vec(count(&[2]).diagflat()), [0., 0., 0., 1.]);
    assert_eq!(vec(count(&[5]).unfold(0, 3, 2)), [0., 1., 2., 2., 3., 4.]);
    assert_eq!(vec(count(&[2, 3]).tril(0)), [0., 0., 0., 3., 4., 0.]);
    assert_eq!(vec(count(&[2, 3]).triu(1)), [0., 1., 2., 0., 0., 5.]);
    assert_eq!(t(&[true; 4], &[2, 2]).tril(-1).expect("bool").to_vec::<bool>(), [false, false, true, false]);
    let grid = T::meshgrid(&[&count(&[2]), &count(&[3])]).expect("grids");
    assert_eq!((vec(Ok(grid[0].clone())), grid[1].shape()), (vec![0., 0., 0., 1., 1., 1.], &[2, 3][..]));
}

#[test]
fn slices() {
    let x = count(&[3, 4]);
    assert_eq!(vec(x.slice(s![1])), [4., 5., 6., 7.]);
    assert_eq!(vec(x.slice(s![-1, ..;-2])), [11., 9.]);
    assert_eq!(vec(x.slice(s![.., 1..3])), [1., 2., 5., 6., 9., 10.]);
    assert_eq!(vec(x.slice(s![..=0, -2..])), [2., 3.]);
    assert_eq!(x.slice(s![NewAxis, ..., NewAxis]).expect("slices").shape(), [1, 3, 4, 1]);
    assert_eq!(x.slice(s![5.., ..]).expect("empty").shape(), [0, 4]);
    assert_eq!(vec(x.slice(s![1, 2])), [6.]);
    assert_eq!(vec(x.slice(s![1..;2, ..;3])), [4., 7.]);
    let n = 2usize;
    assert_eq!(vec(x.slice(s![..n, 0])), [0., 4.]);
    assert!(matches!(x.slice(s![3]), Err(Error::Index { index: 3, size: 3, .. })));
    let y = x.assign(s![1.., ..;-3], &t(&[-1.0f64, -2.0], &[2])).expect("assigns");
    assert_eq!(vec(Ok(y)), [0., 1., 2., 3., -2., 5., 6., -1., -2., 9., 10., -1.]);
    assert_eq!(vec(x.slice_assign(&t(&[7i32; 4], &[1, 4]), 0, 1)), [0., 1., 2., 3., 7., 7., 7., 7., 8., 9., 10., 11.]);
    assert!(matches!(x.slice_assign(&x, 0, 1), Err(Error::Index { .. })));
}

/// Every pair of ranks, against loops.
#[test]
fn products() {
    let shapes: [&[usize]; 8] = [&[3], &[2, 3], &[3, 4], &[5, 2, 3], &[1, 3, 2], &[5, 3, 4], &[4, 1, 2, 3], &[0, 3]];
    for a in shapes {
        for b in shapes {
            let k = if b.len() == 1 { b[0] } else { b[b.len() - 2] };
            let batch = numr_core::shape::broadcast("", &[&a[..a.len().max(2) - 2], &b[..b.len().max(2) - 2]]);
            let (x, y) = (count(a).add(1.0).expect("add"), count(b).sub(3.0).expect("sub"));
            let got = x.matmul(&y);
            let (Ok(batch), true) = (batch, a[a.len() - 1] == k) else {
                assert!(got.is_err(), "{a:?} {b:?}");
                continue;
            };
            let lift = |x: &T, row: bool| {
                if x.ndim() > 1 { x.clone() } else { x.unsqueeze(if row { 0 } else { 1 }).expect("lifts") }
            };
            let (m, n) = (if a.len() > 1 { a[a.len() - 2] } else { 1 }, if b.len() > 1 { b[b.len() - 1] } else { 1 });
            let spread = |x: T, r: usize, c: usize| {
                let mut to = batch.clone();
                to.push(r);
                to.push(c);
                x.broadcast_to(&to).expect("spreads").to_vec::<f64>()
            };
            let (p, q) = (spread(lift(&x, true), m, k), spread(lift(&y, false), k, n));
            let mut want = Vec::new();
            for i in 0..batch.numel().expect("small") {
                for (r, c) in (0..m).flat_map(|r| (0..n).map(move |c| (r, c))) {
                    want.push((0..k).map(|j| p[(i * m + r) * k + j] * q[(i * k + j) * n + c]).sum());
                }
            }
            let mut shape: Vec<usize> = batch.to_vec();
            shape.extend((a.len() > 1).then_some(m));
            shape.extend((b.len() > 1).then_some(n));
            let got = got.expect("fits");
            assert_eq!(got.shape(), shape, "{a:?} {b:?}");
            close(&got, &want, 1e-14);
        }
    }
}

#[test]
fn product_dtypes() {
    let a = t(&[100i8, 100], &[2]);
    assert_eq!(a.matmul_as(&a, DType::I32).expect("wide").to_vec::<i32>(), [20000]);
    assert_eq!(a.matmul(&t(&[2.5f32, 0.5], &[2])).expect("promotes").to_vec::<f32>(), [300.0]);
    assert_eq!(count(&[2]).outer(&count(&[3])).expect("outer").shape(), [2, 3]);
    assert_eq!(count(&[3]).dot(&count(&[3])).expect("dot").to_vec::<f64>(), [5.0]);
    assert!(matches!(count(&[]).matmul(&a), Err(Error::Shape { op: "matmul", .. })));
    assert!(matches!(count(&[2]).dot(&count(&[3])), Err(Error::Shape { op: "dot", .. })));
}
