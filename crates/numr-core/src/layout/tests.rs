use proptest::prelude::*;

use super::*;

/// What a layout means: the offset of every element, in row-major order. Every view is an index map on it.
#[derive(Clone, Debug, PartialEq)]
struct Model {
    shape: Vec<usize>,
    at: Vec<usize>,
}

/// Every index of a shape, in row-major order.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![vec![]], |all, &d| {
        all.iter().flat_map(|i| (0..d).map(move |k| [i.as_slice(), &[k]].concat())).collect()
    })
}

impl Model {
    fn of(layout: &Layout) -> Model {
        let at = indices(layout.shape()).iter().map(|i| layout.index(i).expect("in range")).collect();
        Model { shape: layout.shape().to_vec(), at }
    }

    fn get(&self, index: &[usize]) -> usize {
        self.at[index.iter().zip(&self.shape).fold(0, |n, (&i, &d)| n * d + i)]
    }

    fn map(&self, shape: Vec<usize>, from: impl Fn(&[usize]) -> Vec<usize>) -> Model {
        let at = indices(&shape).iter().map(|i| self.get(&from(i))).collect();
        Model { shape, at }
    }

    /// Whether strides exist that reach these offsets under `shape`.
    fn is_strided(&self, shape: &[usize]) -> bool {
        let Some(&origin) = self.at.first() else { return true };
        let other = Model { shape: shape.to_vec(), at: self.at.clone() };
        let step = |k: usize| {
            let unit: Vec<_> = (0..shape.len()).map(|j| usize::from(j == k)).collect();
            if shape[k] > 1 { other.get(&unit) as isize - origin as isize } else { 0 }
        };
        let steps: Vec<_> = (0..shape.len()).map(step).collect();
        indices(shape).iter().all(|i| {
            let moved: isize = i.iter().zip(&steps).map(|(&i, s)| i as isize * s).sum();
            other.get(i) as isize == origin as isize + moved
        })
    }
}

/// One view, its parameters still to be fitted to the layout at hand.
#[derive(Clone, Debug)]
enum View {
    Transpose(usize, usize),
    Permute(Vec<usize>),
    Slice(Vec<(usize, usize, isize)>),
    Flip(usize),
    Reshape(usize),
    Squeeze,
    Unsqueeze(usize),
    Broadcast(usize),
    Diagonal(isize, usize, usize),
    Unfold(usize, usize, usize),
}

fn view() -> impl Strategy<Value = View> {
    let n = || 0usize..8;
    prop_oneof![
        (n(), n()).prop_map(|(a, b)| View::Transpose(a, b)),
        prop::collection::vec(n(), 8).prop_map(View::Permute),
        prop::collection::vec((n(), n(), -3isize..4), 8).prop_map(View::Slice),
        n().prop_map(View::Flip),
        (0usize..1000).prop_map(View::Reshape),
        Just(View::Squeeze),
        n().prop_map(View::Unsqueeze),
        n().prop_map(View::Broadcast),
        (-4isize..5, n(), n()).prop_map(|(o, a, b)| View::Diagonal(o, a, b)),
        (n(), n(), 1usize..4).prop_map(|(a, size, step)| View::Unfold(a, size, step)),
    ]
}

/// Applies a view to both; `None` where the layout has not the axes for it or would grow too far.
fn apply(view: &View, layout: &Layout, model: &Model) -> Option<(Layout, Model)> {
    const OP: &str = "test";
    let ndim = layout.ndim();
    let shape = model.shape.clone();
    let fit = |k: usize| k.checked_rem(ndim);
    Some(match view {
        View::Transpose(a, b) => {
            let (a, b) = (fit(*a)?, fit(*b)?);
            let swapped = |v: &[usize]| {
                let mut v = v.to_vec();
                v.swap(a, b);
                v
            };
            (layout.transpose(OP, a, b).ok()?, model.map(swapped(&shape), swapped))
        }
        View::Permute(keys) => {
            let mut order: Vec<usize> = (0..ndim).collect();
            order.sort_by_key(|&k| keys[k % keys.len()]);
            let back =
                |i: &[usize]| (0..ndim).map(|k| i[order.iter().position(|&o| o == k).expect("listed")]).collect();
            let new = order.iter().map(|&k| shape[k]).collect();
            (layout.permute(OP, &order).ok()?, model.map(new, back))
        }
        View::Slice(keys) => {
            let ranges: Vec<_> = shape
                .iter()
                .zip(keys.iter().cycle())
                .map(|(&d, &(start, len, step))| {
                    let (start, step) = (start % d.max(1), if step == 0 { 1 } else { step });
                    let room = if step > 0 { d - start.min(d) } else { (start + 1).min(d) };
                    SliceRange { start, len: len.min(room.div_ceil(step.unsigned_abs())), step }
                })
                .collect();
            let from = |i: &[usize]| {
                i.iter().zip(&ranges).map(|(&i, r)| (r.start as isize + i as isize * r.step) as usize).collect()
            };
            let new = ranges.iter().map(|r| r.len).collect();
            (layout.slice(OP, &ranges).expect("in range"), model.map(new, from))
        }
        View::Flip(a) => {
            let a = fit(*a)?;
            let from = |i: &[usize]| {
                let mut i = i.to_vec();
                i[a] = shape[a] - 1 - i[a];
                i
            };
            (layout.flip(OP, &[a]).ok()?, model.map(shape.clone(), from))
        }
        View::Reshape(pick) => {
            let n = model.at.len();
            let mut new = Shape::new();
            let (mut rest, mut pick) = (n, *pick);
            while rest > 1 {
                let divisors: Vec<_> = (1..=rest).filter(|d| rest % d == 0).collect();
                new.push(divisors[pick % divisors.len()]);
                rest /= new[new.len() - 1];
                pick /= 3;
                if new.len() == 4 {
                    new.push(rest);
                    break;
                }
            }
            if n == 0 {
                new.push(0);
            }
            let out = layout.reshape(OP, &new).expect("equal number of elements");
            assert_eq!(out.is_some(), model.is_strided(&new), "{layout:?} as {new}");
            (out?, Model { shape: new.to_vec(), at: model.at.clone() })
        }
        View::Squeeze => {
            let ones: Vec<_> = (0..ndim).filter(|&k| shape[k] == 1).collect();
            let new = shape.iter().copied().filter(|&d| d != 1).collect();
            (layout.squeeze(OP, &ones).ok()?, Model { shape: new, at: model.at.clone() })
        }
        View::Unsqueeze(a) => {
            let a = a % (ndim + 1);
            let mut new = shape;
            new.insert(a, 1);
            (layout.unsqueeze(OP, a).ok()?, Model { shape: new, at: model.at.clone() })
        }
        View::Broadcast(to) => {
            let to = to % 4;
            let new: Vec<_> = [2].into_iter().chain(shape.iter().map(|&d| if d == 1 { to } else { d })).collect();
            let from = |i: &[usize]| i[1..].iter().zip(&shape).map(|(&i, &d)| if d == 1 { 0 } else { i }).collect();
            (layout.broadcast_to(OP, &new).ok()?, model.map(new, from))
        }
        View::Diagonal(offset, a, b) => {
            let (a, b) = (fit(*a)?, fit(*b)?);
            let out = layout.diagonal(OP, *offset, a, b);
            if a == b {
                assert!(matches!(out, Err(Error::Argument { .. })));
                return None;
            }
            let (down, right) = ((-offset).max(0) as usize, (*offset).max(0) as usize);
            let len = (0..).take_while(|i| i + down < shape[a] && i + right < shape[b]).count();
            let others: Vec<_> = (0..ndim).filter(|&k| k != a && k != b).collect();
            let from = |i: &[usize]| {
                let d = i[ndim - 2];
                let other = |k: usize| i[others.iter().position(|&o| o == k).expect("listed")];
                (0..ndim)
                    .map(|k| {
                        if k == a {
                            d + down
                        } else if k == b {
                            d + right
                        } else {
                            other(k)
                        }
                    })
                    .collect()
            };
            let new = others.iter().map(|&k| shape[k]).chain([len]).collect();
            (out.ok()?, model.map(new, from))
        }
        View::Unfold(a, size, step) => {
            let a = fit(*a)?;
            let out = layout.unfold(OP, a, *size, *step);
            let Some(room) = shape[a].checked_sub(*size) else {
                assert!(matches!(out, Err(Error::Argument { argument: "size", .. })));
                return None;
            };
            let mut new = shape;
            new[a] = room / step + 1;
            new.push(*size);
            let from = |i: &[usize]| {
                let mut old = i[..ndim].to_vec();
                old[a] = i[a] * step + i[ndim];
                old
            };
            (out.ok()?, model.map(new, from))
        }
    })
}

/// All that a layout says of itself, against its model.
fn check(layout: &Layout, model: &Model, storage: usize) {
    assert_eq!(&Model::of(layout), model, "{layout:?}");
    assert!(layout.offsets().eq(model.at.iter().copied()), "{layout:?}");
    assert_eq!((layout.numel(), layout.is_empty()), (model.at.len(), model.at.is_empty()));
    assert_eq!(layout.offsets().len(), model.at.len());
    let span = model.at.iter().min().copied().zip(model.at.iter().max().copied());
    assert_eq!(layout.span(), span, "{layout:?}");
    let dense = model.at.windows(2).all(|w| w[1] == w[0] + 1);
    assert_eq!(layout.is_contiguous(), dense, "{layout:?}");
    let again = Layout::try_new(layout.shape(), layout.strides(), layout.offset(), storage);
    assert_eq!(again.ok().as_ref(), Some(layout));
    let (dims, strides) = coalesce(layout.shape(), &[layout.strides()]);
    let merged = Layout { shape: dims, strides: strides[0].clone(), offset: layout.offset() };
    assert_eq!(Model::of(&merged).at, model.at);
}

fn small_shape() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(prop_oneof![1 => Just(0usize), 20 => 1usize..5], 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn views_are_index_maps(shape in small_shape(), views in prop::collection::vec(view(), 1..6)) {
        let mut layout = Layout::contiguous(shape);
        let mut model = Model::of(&layout);
        let storage = layout.numel();
        check(&layout, &model, storage);
        for view in views {
            if let Some((l, m)) = apply(&view, &layout, &model)
                && m.at.len() <= 2000
            {
                check(&l, &m, storage);
                (layout, model) = (l, m);
            }
        }
    }

    #[test]
    fn only_valid_layouts_exist(
        shape in small_shape(),
        strides in prop::collection::vec(-4isize..5, 3),
        offset in 0usize..12,
        storage in 0usize..24,
    ) {
        let strides = &strides[..shape.len()];
        let reached: Vec<isize> = indices(&shape)
            .iter()
            .map(|i| offset as isize + i.iter().zip(strides).map(|(&i, s)| i as isize * s).sum::<isize>())
            .collect();
        let inside = reached.iter().all(|&at| (0..storage as isize).contains(&at));
        let valid = if reached.is_empty() { offset <= storage } else { inside };
        prop_assert_eq!(Layout::try_new(shape, strides, offset, storage).is_ok(), valid);
    }

    #[test]
    fn slices_are_checked(size in 0usize..5, start in 0usize..7, len in 0usize..7, step in -3isize..4) {
        let got = Layout::contiguous([size]).slice("t", &[SliceRange { start, len, step }]);
        let inside = (0..len as isize).all(|i| (0..size as isize).contains(&(start as isize + i * step)));
        prop_assert_eq!(got.is_ok(), step != 0 && inside);
    }

    #[test]
    fn coalescing_keeps_all_operands_in_step(shape in small_shape(), a in prop::collection::vec(0isize..3, 3), b in prop::collection::vec(-3isize..3, 3)) {
        let operands = [&a[..shape.len()], &b[..shape.len()], &row_major(&shape)];
        let (dims, strides) = coalesce(&shape, &operands);
        let reach = |shape: &[usize], s: &[isize]| -> Vec<isize> {
            indices(shape).iter().map(|i| i.iter().zip(s).map(|(&i, s)| i as isize * s).sum()).collect()
        };
        for (before, after) in operands.iter().zip(&strides) {
            prop_assert_eq!(reach(&shape, before), reach(&dims, after));
        }
        // Nothing is left to merge.
        prop_assert!(dims.iter().all(|&d| d != 1));
        for k in 1..dims.len() {
            prop_assert!(strides.iter().any(|s| s[k - 1] != s[k] * dims[k] as isize));
        }
    }
}

#[test]
fn extremes_are_errors_and_not_overflows() {
    let max = isize::MAX as usize;
    assert!(Layout::try_contiguous("t", [max, 2]).is_err());
    assert!(Layout::try_new([3], [isize::MAX], 0, usize::MAX).is_err());
    assert!(Layout::try_new([2, 2], [isize::MAX, isize::MAX], 0, usize::MAX).is_err());
    assert!(Layout::try_new([1], [1], usize::MAX, usize::MAX).is_err());
    assert!(Layout::try_new([2], [isize::MIN], max, usize::MAX).is_err());
    assert!(Layout::try_new([2], [1, 1], 0, 10).is_err());
    let one = Layout::try_new([1], [isize::MIN], 0, 1).expect("the stride is never used");
    assert_eq!(one.flip("t", &[0]).map(|l| l.offset()).ok(), Some(0));
    assert!(one.broadcast_to("t", &[max, 2]).is_err());
    assert_eq!(one.broadcast_to("t", &[2, max / 2]).map(|l| l.numel()).ok(), Some(max - 1));
    let wide = one.broadcast_to("t", &[max]).expect("fits");
    assert!(wide.unfold("t", 0, 2, 1).is_err());
    assert!(wide.slice("t", &[SliceRange { start: 0, len: max, step: isize::MAX }]).is_err());
    assert_eq!(wide.unfold("t", 0, 1, usize::MAX).map(|l| l.shape().clone()).ok(), Some([1, 1].into()));
    assert!(Layout::contiguous([2, 0, max, max]).is_contiguous());
    assert_eq!(Layout::contiguous([max, max]).numel(), usize::MAX);
    assert!(Layout::contiguous([2]).reshape("t", &[max, max].into()).is_err());
}

#[test]
fn wrong_axes_are_named() {
    let l = Layout::contiguous([2, 3]);
    let is_axis = |r: Result<Layout>| matches!(r, Err(Error::Axis { op: "t", ndim: 2, axis: 2 }));
    assert!(is_axis(l.transpose("t", 0, 2)) && is_axis(l.flip("t", &[2])) && is_axis(l.squeeze("t", &[2])));
    assert!(is_axis(l.diagonal("t", 0, 2, 0)) && is_axis(l.unfold("t", 2, 1, 1)));
    assert!(l.unsqueeze("t", 3).is_err() && l.permute("t", &[0, 0]).is_err() && l.permute("t", &[0]).is_err());
    assert!(matches!(l.squeeze("t", &[0]), Err(Error::Shape { .. })));
    assert!(matches!(l.broadcast_to("t", &[3]), Err(Error::Broadcast { .. })));
    assert!(matches!(l.broadcast_to("t", &[4, 2]), Err(Error::Broadcast { .. })));
    assert!(matches!(l.slice("t", &[]), Err(Error::Argument { .. })));
    assert_eq!(l.index(&[1, 3]), None);
    assert_eq!(l.index(&[1]), None);
}
