//! Properties of tensors, on random shapes, values and views.

use numr::ops::fuse::fuse;
use numr::prelude::*;
use numr::prim::Prim;
use numr::{AnyRuntime, Device, Error, Result, promote};
use numr_core::SliceRange;
use numr_core::tensor::advanced::{Ellipsis, Item};
use numr_core::tensor::index::Slice;
use numr_tests::devices::devices;
use proptest::prelude::*;

type T = Tensor<AnyRuntime>;

fn of<E: Element>(data: &[E], shape: &[usize], device: &Device) -> T {
    T::from_slice(data, shape, device)
}

/// Shapes that broadcast together: one that all reach, and for each of two tensors which axes it has, and has of size 1.
fn broadcasting() -> impl Strategy<Value = [Vec<usize>; 3]> {
    let axes = prop::collection::vec((0usize..4, any::<[bool; 2]>()), 0..4);
    (axes, 0usize..4, 0usize..4).prop_map(|(axes, skip_a, skip_b)| {
        let whole: Vec<usize> = axes.iter().map(|&(d, _)| d).collect();
        let part = |which: usize, skip: usize| -> Vec<usize> {
            axes.iter().skip(skip).map(|&(d, ones)| if ones[which] { 1 } else { d }).collect()
        };
        let (a, b) = (part(0, skip_a), part(1, skip_b));
        // What both leave out, or have as 1, is not there.
        let reached = (0..whole.len())
            .map(|k| {
                let size = |v: &[usize]| (k + v.len()).checked_sub(whole.len()).map_or(1, |at| v[at]);
                if size(&a) == 1 { size(&b) } else { size(&a) }
            })
            .collect::<Vec<_>>();
        let rank = a.len().max(b.len());
        [reached[whole.len() - rank..].to_vec(), a, b]
    })
}

/// The coordinates of the i-th element of a shape.
fn coordinates(mut i: usize, shape: &[usize]) -> Vec<usize> {
    let mut c = vec![0; shape.len()];
    for k in (0..shape.len()).rev() {
        c[k] = i % shape[k];
        i /= shape[k];
    }
    c
}

/// Where a broadcast operand is read for a place of the result.
fn place(c: &[usize], shape: &[usize]) -> usize {
    let c = &c[c.len() - shape.len()..];
    shape.iter().zip(c).fold(0, |at, (&d, &c)| at * d + if d == 1 { 0 } else { c })
}

/// Steps of a chain of views.
#[derive(Clone, Debug)]
enum Step {
    Permute(usize),
    Flip(usize),
    Slice(usize, usize, usize, isize),
    Expand,
    Window(usize, usize),
    Diagonal,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (1usize..3).prop_map(Step::Permute),
        (0usize..4).prop_map(Step::Flip),
        (0usize..4, 0usize..5, 0usize..5, prop_oneof![-3isize..0, 1isize..4])
            .prop_map(|(axis, start, len, step)| Step::Slice(axis, start, len, step)),
        Just(Step::Expand),
        (0usize..4, 1usize..3).prop_map(|(axis, size)| Step::Window(axis, size)),
        Just(Step::Diagonal),
    ];
    prop::collection::vec(step, 1..5)
}

/// A tensor and, beside it, what each of its elements must be.
fn follow(step: &Step, x: &T, all: &[i64]) -> Result<(T, Vec<i64>)> {
    let shape = x.shape().to_vec();
    let rank = shape.len();
    let read = |new: &[usize], from: &dyn Fn(&[usize]) -> Vec<usize>| -> Vec<i64> {
        let n: usize = new.iter().product();
        (0..n).map(|i| all[from(&coordinates(i, new)).iter().zip(&shape).fold(0, |at, (c, d)| at * d + c)]).collect()
    };
    Ok(match *step {
        Step::Permute(by) if rank > 0 => {
            let order: Vec<usize> = (0..rank).map(|k| (k + by) % rank).collect();
            let new: Vec<usize> = order.iter().map(|&k| shape[k]).collect();
            let from = |c: &[usize]| {
                let mut old = vec![0; rank];
                order.iter().zip(c).for_each(|(&k, &c)| old[k] = c);
                old
            };
            (x.permute(&order)?, read(&new, &from))
        }
        Step::Flip(axis) if rank > 0 => {
            let k = axis % rank;
            let from = |c: &[usize]| {
                let mut c = c.to_vec();
                c[k] = shape[k] - 1 - c[k];
                c
            };
            (x.flip(k as isize)?, read(&shape, &from))
        }
        Step::Slice(axis, start, len, step) if rank > 0 && shape[axis % rank] > 0 => {
            let k = axis % rank;
            let start = start % shape[k];
            let room = if step > 0 { (shape[k] - 1 - start) / step as usize } else { start / step.unsigned_abs() };
            let len = len.min(room + 1);
            let mut ranges: smallvec::SmallVec<[SliceRange; 8]> =
                shape.iter().map(|&d| SliceRange { start: 0, len: d, step: 1 }).collect();
            ranges[k] = SliceRange { start, len, step };
            let mut new = shape.clone();
            new[k] = len;
            let from = |c: &[usize]| {
                let mut c = c.to_vec();
                c[k] = (start as isize + c[k] as isize * step) as usize;
                c
            };
            (Tensor::run_one(&Prim::View(numr::prim::View::Slice(ranges)), &[x])?, read(&new, &from))
        }
        Step::Expand if rank < 4 => {
            let new: Vec<usize> = std::iter::once(2).chain(shape.iter().copied()).collect();
            (x.broadcast_to(&new)?, read(&new, &|c| c[1..].to_vec()))
        }
        Step::Window(axis, size) if rank > 0 && rank < 4 && shape[axis % rank] >= size => {
            let k = axis % rank;
            let mut new = shape.clone();
            new[k] = shape[k] - size + 1;
            new.push(size);
            let from = |c: &[usize]| {
                let mut old = c[..rank].to_vec();
                old[k] += c[rank];
                old
            };
            (x.unfold(k as isize, size, 1)?, read(&new, &from))
        }
        Step::Diagonal if rank > 1 => {
            let mut new = shape[2..].to_vec();
            new.push(shape[0].min(shape[1]));
            let from = |c: &[usize]| {
                let i = c[c.len() - 1];
                [&[i, i], &c[..c.len() - 1]].concat()
            };
            (x.diagonal(0, 0, 1)?, read(&new, &from))
        }
        _ => (x.clone(), all.to_vec()),
    })
}

fn small() -> ProptestConfig {
    ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(small())]

    #[test]
    fn operands_broadcast_as_loops_do([whole, a, b] in broadcasting()) {
        for device in devices() {
            let data = |shape: &[usize], by: i64| (0..shape.iter().product::<usize>() as i64).map(|i| i * by + 1).collect::<Vec<_>>();
            let (x, y) = (data(&a, 3), data(&b, 5));
            let n: usize = whole.iter().product();
            let want: Vec<i64> = (0..n).map(|i| {
                let c = coordinates(i, &whole);
                x[place(&c, &a)] - y[place(&c, &b)]
            }).collect();
            let got = of(&x, &a, &device).sub(&of(&y, &b, &device)).expect("they broadcast");
            prop_assert_eq!(got.shape(), &whole[..]);
            prop_assert_eq!(got.to_vec::<i64>(), want);
        }
    }

    #[test]
    fn views_are_index_functions(shape in prop::collection::vec(0usize..5, 1..4), steps in steps()) {
        for device in devices() {
            let mut all: Vec<i64> = (0..shape.iter().product::<usize>() as i64).collect();
            let mut x = of(&all, &shape, &device);
            for step in &steps {
                (x, all) = follow(step, &x, &all).expect("a valid view");
                prop_assert_eq!(&x.to_vec::<i64>(), &all, "{:?}", step);
            }
            // Read by a map, a copy, a fold and a gather, not only by a download.
            prop_assert_eq!(&x.add(1).expect("map").sub(1).expect("map").to_vec::<i64>(), &all);
            prop_assert_eq!(&x.contiguous().to_vec::<i64>(), &all);
            prop_assert_eq!(x.sum(.., false).expect("sum").to_vec::<i64>(), vec![all.iter().sum::<i64>()]);
            let flat = x.reshape(&[all.len()]).expect("reshape");
            prop_assert_eq!(&flat.flip(0).expect("flip").flip(0).expect("flip").to_vec::<i64>(), &all);
        }
    }

    #[test]
    fn results_have_the_promoted_dtype(i in 0usize..17, j in 0usize..17) {
        let (a, b) = (numr::DType::ALL[i], numr::DType::ALL[j]);
        for device in devices() {
            let ones = |d| T::try_ones(&[2], d, &device);
            match ones(a).and_then(|x| x.add(&ones(b)?)) {
                Err(Error::Unsupported { .. }) => {}
                y => prop_assert_eq!(y.expect("numbers add").dtype(), promote(a, b)),
            }
            // Nothing was read: a driver that still compiles a kernel when the process ends may crash it.
            AnyRuntime::synchronize(&device).expect("synchronize");
        }
    }

    #[test]
    fn einsums_are_loops(terms in prop::collection::vec(prop::collection::vec(0usize..4, 0..4), 1..4), wanted in 0usize..16,
                         sizes in prop::collection::vec(1usize..4, 4)) {
        let letters: Vec<usize> = (0..4).filter(|l| terms.iter().flatten().any(|m| m == l)).collect();
        let result: Vec<usize> = letters.iter().copied().filter(|l| wanted >> l & 1 == 1).collect();
        let name = |labels: &[usize]| labels.iter().map(|&l| (b'a' + l as u8) as char).collect::<String>();
        let left: Vec<String> = terms.iter().map(|t| name(t)).collect();
        let equation = format!("{}->{}", left.join(","), name(&result));
        let shape = |labels: &[usize]| labels.iter().map(|&l| sizes[l]).collect::<Vec<_>>();
        let data = |k: usize, n: usize| (0..n as i64).map(|i| (i * 7 + k as i64 * 3) % 5 - 2).collect::<Vec<_>>();
        let all: Vec<usize> = (0..4).map(|l| if letters.contains(&l) { sizes[l] } else { 1 }).collect();
        let at = |labels: &[usize], c: &[usize]| labels.iter().fold(0, |at, &l| at * sizes[l] + c[l]);
        let values: Vec<Vec<i64>> = terms.iter().enumerate().map(|(k, t)| data(k, shape(t).iter().product())).collect();
        let mut want = vec![0; shape(&result).iter().product()];
        for i in 0..all.iter().product() {
            let c = coordinates(i, &all);
            want[at(&result, &c)] += terms.iter().zip(&values).map(|(t, v)| v[at(t, &c)]).product::<i64>();
        }
        for device in devices() {
            let operands: Vec<T> = terms.iter().zip(&values).map(|(t, v)| of(v, &shape(t), &device)).collect();
            match T::einsum(&equation, &operands.iter().collect::<Vec<_>>()) {
                Err(Error::Unsupported { .. }) => {}
                got => {
                    let got = got.expect("an equation");
                    prop_assert_eq!(got.shape(), &shape(&result)[..], "{}", equation);
                    prop_assert_eq!(got.to_vec::<i64>(), want.clone(), "{}", equation);
                }
            }
        }
    }

    /// Items of three axes: what each picks, in order, and whether it is a tensor.
    #[test]
    fn advanced_indices_are_loops(kinds in prop::collection::vec(0usize..5, 3), picks in prop::collection::vec(0i64..12, 6),
                                  wide: bool) {
        let shape = [3usize, 4, 2];
        let all: Vec<i64> = (0..24).collect();
        // 0: everything; 1: backward; 2: a number; 3: a vector of two; 4: a column, or a mask.
        let index = |k: usize, j: usize| picks[2 * k + j] % (2 * shape[k] as i64) - shape[k] as i64;
        let wrap = |k: usize, i: i64| (if i < 0 { i + shape[k] as i64 } else { i }) as usize;
        let tensors: Vec<bool> = kinds.iter().map(|&kind| kind >= 3).collect();
        let advanced: Vec<usize> = (0..3).filter(|&k| kinds[k] >= 2 && tensors.iter().any(|&t| t)).collect();
        // The common shape of the indices: two, or two by two if a column meets it.
        let columns = kinds.contains(&4);
        let common: Vec<usize> = match (advanced.is_empty(), columns) {
            (true, _) => vec![],
            (_, false) => vec![2],
            _ => vec![2, if kinds.contains(&3) { 2 } else { 1 }],
        };
        let together = advanced.windows(2).all(|w| w[1] - w[0] == 1);
        let sliced: Vec<usize> = (0..3).filter(|&k| kinds[k] < 2).collect();
        let ahead = match together && !advanced.is_empty() { true => sliced.iter().filter(|&&k| k < advanced[0]).count(), false => 0 };
        let kept: Vec<usize> = sliced.iter().map(|&k| shape[k]).collect();
        let out: Vec<usize> = [&kept[..ahead], &common, &kept[ahead..]].concat();
        let want: Vec<i64> = (0..out.iter().product::<usize>()).map(|i| {
            let c = coordinates(i, &out);
            let (mut basic, picked) = (c.clone(), c[ahead..ahead + common.len()].to_vec());
            basic.drain(ahead..ahead + common.len());
            let mut at = [0; 3];
            for k in 0..3 {
                at[k] = match kinds[k] {
                    0 => basic[sliced.iter().position(|&s| s == k).unwrap_or(0)],
                    1 => shape[k] - 1 - basic[sliced.iter().position(|&s| s == k).unwrap_or(0)],
                    2 => wrap(k, index(k, 0)),
                    3 => wrap(k, index(k, picked[common.len() - 1])),
                    _ => wrap(k, index(k, picked[0])),
                };
            }
            all[at[0] * 8 + at[1] * 2 + at[2]]
        }).collect();
        for device in devices() {
            let x = of(&all, &shape, &device);
            let held: Vec<T> = (0..3).map(|k| {
                let pair = [index(k, 0), index(k, 1)];
                of(&pair, if kinds[k] == 4 { &[2, 1] } else { &[2] }, &device)
            }).collect();
            let mut items: Vec<Item<'_, AnyRuntime>> = (0..3).map(|k| match kinds[k] {
                0 => Item::from(..),
                1 => Item::from(Slice::from(..).step_by(-1)),
                2 => Item::from(index(k, 0)),
                _ => Item::from(&held[k]),
            }).collect();
            if wide && kinds[2] == 0 {
                items[2] = Item::from(Ellipsis);
            }
            let got = x.i(items.clone()).expect("valid items");
            prop_assert_eq!((got.shape(), got.to_vec::<i64>()), (&out[..], want.clone()), "{:?}", kinds);
            let put = x.zeros_like().expect("zeros").i_put(items, &got.ones_like().expect("ones"), true).expect("valid items");
            prop_assert_eq!(put.sum(.., false).expect("sum").item::<i64>().expect("one"), want.len() as i64);
        }
    }

    #[test]
    fn folds_are_loops(shape in prop::collection::vec(0usize..5, 1..4), mask in 0usize..8, keepdim: bool) {
        for device in devices() {
            let axes: Vec<usize> = (0..shape.len()).filter(|k| mask >> k & 1 == 1).collect();
            if axes.is_empty() {
                continue;
            }
            let data: Vec<i64> = (0..shape.iter().product::<usize>() as i64).map(|i| i * i % 11 - 5).collect();
            let kept: Vec<usize> = (0..shape.len()).filter(|k| !axes.contains(k)).collect();
            let sizes: Vec<usize> = kept.iter().map(|&k| shape[k]).collect();
            let mut sums = vec![0; sizes.iter().product()];
            for (i, v) in data.iter().enumerate() {
                let c = coordinates(i, &shape);
                sums[kept.iter().fold(0, |at, &k| at * shape[k] + c[k])] += v;
            }
            let got = of(&data, &shape, &device).sum(&axes, keepdim).expect("sum");
            let out: Vec<usize> = match keepdim {
                true => (0..shape.len()).map(|k| if axes.contains(&k) { 1 } else { shape[k] }).collect(),
                false => sizes,
            };
            prop_assert_eq!(got.shape(), &out[..]);
            prop_assert_eq!(got.to_vec::<i64>(), sums);
        }
    }

    /// In f64, against sums in any order: within n·u·Σ|a||b|.
    #[test]
    fn products_are_loops(m in 0usize..9, k in 0usize..40, n in 0usize..9, seed in 0u64..1000, transposed: bool) {
        for device in devices() {
            let value = |i: usize, s: u64| ((i as f64 + 1.3) * (s as f64 + 0.7)).sin();
            let a: Vec<f64> = (0..m * k).map(|i| value(i, seed)).collect();
            let b: Vec<f64> = (0..k * n).map(|i| value(i, seed + 1)).collect();
            let x = of(&a, &[m, k], &device);
            let y = match transposed {
                true => {
                    let t: Vec<f64> = (0..n * k).map(|i| b[i % k.max(1) * n + i / k.max(1)]).collect();
                    of(&t, &[n, k], &device).t().expect("t")
                }
                false => of(&b, &[k, n], &device),
            };
            let got = match x.matmul(&y) {
                Err(Error::Unsupported { .. }) => continue,
                y => y.expect("matmul").to_vec::<f64>(),
            };
            for r in 0..m {
                for c in 0..n {
                    let terms = || (0..k).map(|i| a[r * k + i] * b[i * n + c]);
                    let bound = (k as f64 + 1.0) * f64::EPSILON * terms().map(f64::abs).sum::<f64>();
                    prop_assert!((got[r * n + c] - terms().sum::<f64>()).abs() <= bound);
                }
            }
        }
    }

    /// ⟨gather(x, i), w⟩ = ⟨x, scatter_add(0, i, w)⟩, exactly in integers.
    #[test]
    fn scatter_is_the_transpose_of_gather(n in 1usize..7, index in prop::collection::vec(-6i64..6, 0..12)) {
        for device in devices() {
            let index: Vec<i64> = index.iter().map(|i| i % n as i64).collect();
            let x: Vec<i64> = (0..n as i64).map(|i| 3 * i - 4).collect();
            let w: Vec<i64> = (0..index.len() as i64).map(|i| i * i - 7).collect();
            let (x, i, w) = (of(&x, &[n], &device), of(&index, &[index.len()], &device), of(&w, &[index.len()], &device));
            let there = x.gather(0, &i).expect("gather").mul(&w).expect("mul").sum(.., false).expect("sum");
            let spread = x.zeros_like().expect("zeros").scatter_add(0, &i, &w);
            let back = match spread {
                Err(Error::Unsupported { .. }) => continue,
                y => y.expect("scatter").mul(&x).expect("mul").sum(.., false).expect("sum"),
            };
            prop_assert_eq!(there.to_vec::<i64>(), back.to_vec::<i64>());
        }
    }

    /// Equal elements keep their order, whichever the direction, and NaN comes last.
    #[test]
    fn sorts_are_stable(values in prop::collection::vec(prop_oneof![4 => (0i32..4).prop_map(|v| v as f32), 1 => Just(f32::NAN)], 0..80), descending: bool) {
        for device in devices() {
            let (sorted, order) = match of(&values, &[values.len()], &device).sort_with_indices(0, descending) {
                Err(Error::Unsupported { .. }) => continue,
                both => both.expect("sort"),
            };
            let mut want: Vec<usize> = (0..values.len()).collect();
            want.sort_by(|&a, &b| {
                let (x, y) = (values[a], values[b]);
                x.is_nan().cmp(&y.is_nan()).then(if descending { y.total_cmp(&x) } else { x.total_cmp(&y) })
            });
            prop_assert_eq!(order.to_vec::<i64>(), want.iter().map(|&i| i as i64).collect::<Vec<_>>());
            let bits = |v: &[f32]| v.iter().map(|x| if x.is_nan() { u32::MAX } else { x.to_bits() }).collect::<Vec<_>>();
            let values: Vec<f32> = want.iter().map(|&i| values[i]).collect();
            prop_assert_eq!(bits(&sorted.to_vec::<f32>()), bits(&values));
        }
    }

    /// A fused chain has the bits of its steps.
    #[test]
    fn fused_is_unfused(values in prop::collection::vec(-4.0f32..4.0, 1..40)) {
        for device in devices() {
            let x = of(&values, &[values.len()], &device);
            let y = x.flip(0).expect("flip");
            let fused = fuse([&x, &y], |[x, y]| {
                use numr::ops::map::symbolic::Symbolic;
                Symbolic::tanh(Symbolic::relu(x * y) + Symbolic::exp(x))
            }).expect("fuse");
            let steps = || x.mul(&y)?.relu()?.add(&x.exp()?)?.tanh();
            let bits = |t: T| t.to_vec::<f32>().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(fused), bits(steps().expect("steps")), "{}", device);
        }
    }

    /// Every device against the CPU: exact arithmetic is equal.
    #[test]
    fn devices_agree(values in prop::collection::vec(-1000i32..1000, 1..60)) {
        let cpu = Device::parse("cpu").expect("a CPU");
        let run = |device: &Device| -> Result<Vec<f32>> {
            let x = of(&values, &[values.len()], device).cast(numr::DType::F32)?;
            let y = x.mul(0.5)?.floor()?.flip(0)?.add(&x)?.maximum(&x)?;
            Ok(Tensor::cat(&[&y, &y.cumsum(0)?, &y.sum(.., true)?.abs()?], 0)?.to_vec())
        };
        let want = run(&cpu).expect("on the CPU");
        for device in devices() {
            match run(&device) {
                Err(Error::Unsupported { .. }) => {}
                got => prop_assert_eq!(&got.expect("there"), &want, "{}", device),
            }
        }
    }
}
