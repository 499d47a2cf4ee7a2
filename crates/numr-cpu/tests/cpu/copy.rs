//! Moves of elements.

use super::sample::{CPU, T, layouts, naive, of_dtype};
use numr_core::prim::{Prim, View};
use numr_core::{DType, Element, Lit, SliceRange, dispatch_dtype};

/// Small dtypes of every size.
const SIZES: [DType; 6] = [DType::Bool, DType::I8, DType::F16, DType::F32, DType::I64, DType::Complex128];

#[test]
fn contiguous_and_download() {
    for dtype in DType::ALL {
        for (name, x) in layouts(&of_dtype(dtype)) {
            dispatch_dtype!(dtype, E => {
                assert_eq!(x.to_vec::<E>(), naive::<E>(&x), "{name} of {dtype}");
                let copy = T::run_one(&Prim::Contiguous, &[&x]).expect("contiguous");
                assert_eq!(copy.layout(), &numr_core::Layout::contiguous(x.shape()));
                assert_eq!(naive::<E>(&copy), naive::<E>(&x), "{name} of {dtype}");
            });
        }
    }
}

/// Sizes around those of the tiles that a transposed copy is made in.
#[test]
fn large_transposes() {
    for (rows, columns) in [(1, 5000), (5000, 1), (63, 65), (64, 64), (129, 257), (700, 300)] {
        for dtype in SIZES {
            let x =
                T::try_from_expr(&[2, rows, columns], &[Lit::Int(251)], &CPU, |a, s| (a.index() % s[0]).cast(dtype));
            let x = x.expect("index");
            for order in [[0, 2, 1], [2, 1, 0], [2, 0, 1], [1, 0, 2]] {
                let t = x.permute(order).expect("permute");
                let f = t.flip(1).expect("flip");
                dispatch_dtype!(dtype, E => {
                    assert!(t.to_vec::<E>() == naive::<E>(&t), "{rows} x {columns}, {order:?} of {dtype}");
                    assert!(f.to_vec::<E>() == naive::<E>(&f), "{rows} x {columns}, {order:?} of {dtype}");
                });
            }
        }
    }
}

#[test]
fn concat_on_every_axis() {
    for dtype in SIZES {
        let x = of_dtype(dtype);
        for axis in 0..3 {
            let part = x.narrow(axis as isize, 1, 2).expect("narrow");
            let none = x.narrow(axis as isize, 0, 0).expect("narrow");
            let flipped = x.flip(axis as isize).expect("flip");
            let parts = [&x, &part, &none, &flipped];
            let y = T::run_one(&Prim::Concat { axis }, &parts).expect("cat");
            let mut at = 0;
            for p in parts {
                let len = p.shape()[axis];
                let back = y.narrow(axis as isize, at, len).expect("narrow");
                dispatch_dtype!(dtype, E => assert_eq!(naive::<E>(&back), naive::<E>(p)));
                at += len;
            }
            assert_eq!(y.shape()[axis], at);
        }
    }
}

#[test]
fn assign_through_every_view() {
    let ranges = |r: [(usize, usize, isize); 3]| {
        View::Slice(r.iter().map(|&(start, len, step)| SliceRange { start, len, step }).collect())
    };
    let views = [
        View::Permute([2, 0, 1].into_iter().collect()),
        ranges([(1, 2, 1), (3, 2, -2), (0, 3, 2)]),
        ranges([(2, 3, -1), (0, 4, 1), (4, 5, -1)]),
        ranges([(0, 0, 1), (0, 4, 1), (0, 5, 1)]),
        View::Diagonal { offset: -1, a: 1, b: 2 },
        View::Reshape([12, 5].into()),
    ];
    for dtype in SIZES {
        let base = of_dtype(dtype);
        for view in &views {
            let shape = view.apply(base.layout()).expect("view");
            let src = T::try_from_expr(shape.shape(), &[Lit::Int(40)], &CPU, |a, s| (a.index() + s[0]).cast(dtype));
            let src = src.expect("index");
            let src = src.flip(..).expect("flip");
            for (name, b) in [("contiguous", base.clone()), ("flipped", base.flip(..).expect("flip"))] {
                let y = T::run_one(&Prim::Assign { view: view.clone() }, &[&b, &src]).expect("assign");
                dispatch_dtype!(dtype, E => {
                    let mut expected = naive::<E>(&b);
                    let target = view.apply(&numr_core::Layout::contiguous([3, 4, 5])).expect("view");
                    for (at, v) in target.offsets().zip(naive::<E>(&src)) {
                        expected[at] = v;
                    }
                    assert_eq!(naive::<E>(&y), expected, "{name} of {dtype}, {view:?}");
                });
            }
        }
    }
}

/// A layout that its storage does not hold is an error, not a read outside of it.
#[test]
fn wrong_layouts_are_refused() {
    let x = T::from_slice(&[1.0f32, 2.0], &[2], &CPU);
    let layout = numr_core::Layout::contiguous([3]);
    let wrong = T::from_storage(x.storage().clone(), layout, DType::F32, CPU);
    assert!(wrong.try_to_vec::<f32>().is_err());
    assert!(wrong.add(&wrong).is_err());
    let strided = numr_core::Layout::try_new([2], [5], 0, 6).expect("layout");
    let wrong = T::from_storage(x.storage().clone(), strided, DType::F32, CPU);
    assert!(wrong.try_to_vec::<f32>().is_err());
    assert!(wrong.neg().is_err());
    assert!(f32::DTYPE == DType::F32);
}
