use proptest::prelude::*;

use super::*;

#[test]
fn counts_are_checked() {
    assert_eq!(Shape::new().numel(), Some(1));
    assert_eq!(Shape::from([3, 0, usize::MAX, usize::MAX]).numel(), Some(0));
    assert_eq!(Shape::from([usize::MAX, 2]).numel(), None);
    assert_eq!(Shape::from([isize::MAX as usize, 1]).try_numel("t").ok(), Some(isize::MAX as usize));
    for too_many in [[isize::MAX as usize + 1, 1], [usize::MAX, usize::MAX]] {
        assert!(matches!(Shape::from(too_many).try_numel("t"), Err(Error::Argument { op: "t", .. })));
    }
}

#[test]
fn lists_convert_compare_and_print() {
    let shape = Shape::from([2, 3]);
    assert_eq!(
        (format!("{shape}"), format!("{shape:?}"), format!("{}", Shape::from(()))),
        ("[2, 3]".into(), "[2, 3]".into(), "[]".into())
    );
    assert_eq!(shape, [2, 3]);
    assert_eq!(shape, Shape::from(vec![2, 3]));
    assert_eq!(shape, [2usize, 3][..]);
    assert_ne!(shape, [3, 2]);
    let mut strides = Strides::from(&[3, -1]);
    strides.swap(0, 1);
    strides.push(7);
    strides.insert(0, 5);
    assert_eq!((strides.remove(1), strides.as_slice()), (-1, &[5, 3, 7][..]));
    let long: Shape = (1..=12).collect();
    assert_eq!((long.ndim(), long.last()), (12, Some(&12)));
}

#[test]
fn axes_come_in_every_form() {
    let two = |axes: Axes| axes.resolve("t", 3).map(|a| a.to_vec()).expect("valid axes");
    assert_eq!(two((..).into()), [0, 1, 2]);
    assert_eq!(two((-1).into()), [2]);
    assert_eq!(two(1usize.into()), [1]);
    assert_eq!(two((&[2usize, 0]).into()), [0, 2]);
    assert_eq!(two([-1, -3].into()), [0, 2]);
    assert_eq!(two(vec![1isize].into()), [1]);
    assert_eq!(two((&vec![1i64]).into()), [1]);
    assert_eq!(two(().into()), [0usize; 0]);
    assert_eq!(two(Axes::from(&[] as &[usize])), [0usize; 0]);
}

#[test]
fn axes_are_checked() {
    let err = |axes: Axes, ndim| axes.resolve("sum", ndim).expect_err("invalid axes");
    assert!(matches!(err(2.into(), 2), Error::Axis { op: "sum", axis: 2, ndim: 2 }));
    assert!(matches!(err((-3).into(), 2), Error::Axis { axis: -3, .. }));
    assert!(matches!(err(isize::MIN.into(), 2), Error::Axis { .. }));
    assert!(matches!(err(usize::MAX.into(), 2), Error::Axis { .. }));
    assert!(matches!(err([0, -2].into(), 2), Error::Argument { op: "sum", argument: "axes", .. }));
    // A scalar: its two virtual names, and no other.
    assert!([0, -1].iter().all(|&a| Axes::from(a).resolve("sum", 0).is_ok_and(|a| a.is_empty())));
    assert!(matches!(err(1.into(), 0), Error::Axis { ndim: 0, .. }));
    assert!(matches!(err([0, -1].into(), 0), Error::Axis { ndim: 0, .. }));
    assert!(axis("t", 0, 0).is_err());
}

proptest! {
    #[test]
    fn broadcasting_follows_its_definition(
        shapes in prop::collection::vec(prop::collection::vec(0usize..4, 0..4), 0..4)
    ) {
        let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
        let ndim = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
        // From the last axis on: the one size that is not 1, if there is but one.
        let want: Option<Vec<usize>> = (1..=ndim)
            .rev()
            .map(|back| {
                let mut sizes: Vec<_> = shapes.iter().filter(|s| s.len() >= back).map(|s| s[s.len() - back]).filter(|&d| d != 1).collect();
                sizes.dedup();
                (sizes.len() <= 1).then(|| sizes.first().copied().unwrap_or(1))
            })
            .collect();
        let got = broadcast("t", &shapes);
        prop_assert_eq!(got.as_ref().ok().map(|s| s.to_vec()), want);
        if let Ok(out) = got {
            // Idempotent, and each shape broadcasts to it.
            for s in shapes {
                prop_assert_eq!(broadcast("t", &[s, &out]).ok(), Some(out.clone()));
            }
        }
    }
}
