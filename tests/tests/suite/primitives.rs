//! Every primitive but the map, on every dtype, in every layout, against loops over the elements.
//!
//! Values are small whole numbers, so that sums and products are exact in every dtype and any order, and results must be
//! equal, not near. What a device says `No` to is counted, not a fault.

use numr::ops::index::ScatterReduceOp;
use numr::prelude::s;
use numr::prim::{Prim, Scan, ScanOp, ScatterOp};
use numr::{AnyRuntime, DType, Device, Element, Error, Lit, Result, Tensor};
use numr_core::dispatch_dtype;
use numr_tests::devices::devices;
use numr_tests::layouts::{Lay, download, upload};

type T = Tensor<AnyRuntime>;

const ROWS: usize = 5;
const COLUMNS: usize = 6;

/// Whole numbers that every dtype holds, and bool as their parity.
fn values(dtype: DType, seed: usize) -> Vec<Lit> {
    let signed = !(dtype.is_unsigned_int() || dtype.is_bool());
    let value = |i: usize| {
        let v = ((i * 7 + seed * 3 + i / 4) % 4) as i64;
        if signed { v - 1 } else { v }
    };
    (0..ROWS * COLUMNS)
        .map(|i| if dtype.is_bool() { Lit::Bool(value(i) % 2 != 0) } else { Lit::Int(value(i)) })
        .collect()
}

/// A matrix of numbers, for the loops.
#[derive(Clone)]
struct Loop {
    v: Vec<f64>,
    shape: [usize; 2],
}

impl Loop {
    fn new(shape: [usize; 2], at: impl Fn(usize, usize) -> f64) -> Loop {
        let v = (0..shape[0] * shape[1]).map(|i| at(i / shape[1].max(1), i % shape[1].max(1))).collect();
        Loop { v, shape }
    }

    fn at(&self, r: usize, c: usize) -> f64 {
        self.v[r * self.shape[1] + c]
    }

    /// A fold of each column, or of each row.
    fn fold(&self, axis: usize, f: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        let line = |k: usize| -> Vec<f64> {
            (0..self.shape[axis]).map(|i| if axis == 0 { self.at(i, k) } else { self.at(k, i) }).collect()
        };
        (0..self.shape[1 - axis]).map(|k| f(&line(k))).collect()
    }
}

/// A case: its name, what the device computes from two matrices, and what a loop does.
struct Case<'c> {
    name: String,
    run: Box<dyn Fn(&T, &T) -> Result<T> + 'c>,
    want: Vec<f64>,
}

fn sum(v: &[f64]) -> f64 {
    v.iter().sum()
}

fn product(v: &[f64]) -> f64 {
    v.iter().product()
}

fn largest(v: &[f64]) -> f64 {
    v.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn smallest(v: &[f64]) -> f64 {
    v.iter().copied().fold(f64::INFINITY, f64::min)
}

fn first(v: &[f64], of: f64) -> f64 {
    v.iter().position(|&x| x == of).unwrap_or_default() as f64
}

fn running(v: &[f64], f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    v.iter()
        .scan(None, |acc, &x| {
            *acc = Some(acc.map_or(x, |a| f(a, x)));
            *acc
        })
        .collect()
}

/// All cases on two matrices of one dtype.
fn cases<'c>(dtype: DType, a: &Loop, b: &Loop, device: &'c Device) -> Vec<Case<'c>> {
    let mut all: Vec<Case<'c>> = vec![];
    let mut add = |name: String, want: Vec<f64>, run: Box<dyn Fn(&T, &T) -> Result<T> + 'c>| {
        all.push(Case { name, run, want });
    };
    let index = move |data: &'static [i64], shape: &'static [usize]| T::try_from_slice(data, shape, device);
    let ordered = !dtype.is_complex();
    let number = !dtype.is_bool();

    // Views, which move nothing, made visible by what reads them.
    let [m, n] = a.shape;
    add("transpose".into(), Loop::new([n, m], |r, c| a.at(c, r)).v, Box::new(|a, _| a.t()));
    add(
        "slice".into(),
        Loop::new([2, n], |r, c| a.at(1 + 2 * r, n - 1 - c)).v,
        Box::new(|a, _| a.slice(s![1..4;2, ..;-1])),
    );
    add("diagonal".into(), (0..m).map(|i| a.at(i, i + 1)).collect(), Box::new(|a, _| a.diagonal(1, 0, 1)));
    add(
        "unfold".into(),
        Loop::new([m * 3, 2], |r, c| a.at(r / 3, 2 * (r % 3) + c)).v,
        Box::new(|a, _| a.unfold(1, 2, 2)),
    );
    add("expand".into(), [&a.v[..n], &a.v[..n]].concat(), Box::new(|a, _| a.narrow(0, 0, 1)?.broadcast_to(&[2, 6])));
    add("reshape".into(), a.v.clone(), Box::new(|a, _| a.reshape(&[3, 10])));
    // Copies.
    add("contiguous".into(), a.v.clone(), Box::new(|a, _| a.try_contiguous()));
    add("concat rows".into(), [&a.v[..], &b.v[..]].concat(), Box::new(|a, b| T::cat(&[a, b], 0)));
    let beside = Loop::new([m, 2 * n], |r, c| if c < n { a.at(r, c) } else { b.at(r, c - n) });
    add("concat columns".into(), beside.v, Box::new(|a, b| T::cat(&[a, b], 1)));
    let put = Loop::new([m, n], |r, c| if r % 2 == 0 && c >= 3 { b.at(r / 2, 5 - c) } else { a.at(r, c) });
    add("assign".into(), put.v, Box::new(|a, b| a.assign(s![..;2, 3..], &b.slice(s![..3, ..3])?.flip(1)?)));
    let padded = |r: usize, c: usize| if r == 0 || c < 2 || c >= n + 2 { 1.0 } else { a.at(r - 1, c - 2) };
    add("pad".into(), Loop::new([m + 1, n + 3], padded).v, Box::new(|a, _| a.pad(&[(1, 0), (2, 1)], 1)));
    // Folds.
    for axis in [0, 1] {
        let d = axis as isize;
        add(format!("sum {axis}"), a.fold(axis, sum), Box::new(move |a, _| a.sum(d, false)));
        add(format!("prod {axis}"), a.fold(axis, product), Box::new(move |a, _| a.prod(d, true)));
        let any = |v: &[f64]| f64::from(v.iter().any(|&x| x != 0.0));
        add(format!("any {axis}"), a.fold(axis, any), Box::new(move |a, _| a.any(d, false)));
        let every = |v: &[f64]| f64::from(v.iter().all(|&x| x != 0.0));
        add(format!("all {axis}"), a.fold(axis, every), Box::new(move |a, _| a.all(d, false)));
        let scan = |f: fn(f64, f64) -> f64| {
            let lines: Vec<Vec<f64>> = (0..a.shape[1 - axis])
                .map(|k| {
                    let line = |i| if axis == 0 { a.at(i, k) } else { a.at(k, i) };
                    running(&(0..a.shape[axis]).map(line).collect::<Vec<_>>(), f)
                })
                .collect();
            Loop::new(a.shape, |r, c| if axis == 0 { lines[c][r] } else { lines[r][c] }).v
        };
        add(format!("cumsum {axis}"), scan(|x, y| x + y), Box::new(move |a, _| a.cumsum(d)));
        add(format!("cumprod {axis}"), scan(|x, y| x * y), Box::new(move |a, _| a.cumprod(d)));
        if ordered {
            add(format!("max {axis}"), a.fold(axis, largest), Box::new(move |a, _| a.max(d, false)));
            add(format!("min {axis}"), a.fold(axis, smallest), Box::new(move |a, _| a.min(d, false)));
            let top = a.fold(axis, |v| first(v, largest(v)));
            add(format!("argmax {axis}"), top, Box::new(move |a, _| a.argmax(d, false)));
            let low = a.fold(axis, |v| first(v, smallest(v)));
            add(format!("argmin {axis}"), low, Box::new(move |a, _| a.argmin(d, false)));
            add(format!("cummax {axis}"), scan(f64::max), Box::new(move |a, _| a.cummax(d)));
            add(format!("cummin {axis}"), scan(f64::min), Box::new(move |a, _| a.cummin(d)));
        }
        if ordered && number {
            for descending in [false, true] {
                let line = |k: usize| {
                    let mut v: Vec<(f64, usize)> =
                        (0..a.shape[axis]).map(|i| (if axis == 0 { a.at(i, k) } else { a.at(k, i) }, i)).collect();
                    v.sort_by(|x, y| if descending { y.0.total_cmp(&x.0) } else { x.0.total_cmp(&y.0) });
                    v
                };
                let lines: Vec<_> = (0..a.shape[1 - axis]).map(line).collect();
                let of = |r: usize, c: usize| if axis == 0 { lines[c][r] } else { lines[r][c] };
                let values = Loop::new(a.shape, |r, c| of(r, c).0).v;
                add(format!("sort {axis} {descending}"), values, Box::new(move |a, _| a.sort(d, descending)));
                let order = Loop::new(a.shape, |r, c| of(r, c).1 as f64).v;
                add(format!("argsort {axis} {descending}"), order, Box::new(move |a, _| a.argsort(d, descending)));
            }
        }
    }
    add("sum of all".into(), vec![sum(&a.v)], Box::new(|a, _| a.sum(.., false)));
    // Products.
    if number {
        let dot = Loop::new([m, m], |r, c| (0..n).map(|k| a.at(r, k) * b.at(c, k)).sum());
        add("matmul".into(), dot.v.clone(), Box::new(|a, b| a.matmul(&b.t()?)));
        let rows: Vec<f64> = (0..m).map(|r| (0..n).map(|k| a.at(r, k) * b.at(0, k)).sum()).collect();
        add("matrix times vector".into(), rows, Box::new(|a, b| a.matmul(&b.narrow(0, 0, 1)?.reshape(&[6])?)));
        let twice = [&dot.v[..], &dot.v[..]].concat();
        add("batched matmul".into(), twice, Box::new(|a, b| a.broadcast_to(&[2, 5, 6])?.matmul(&b.t()?)));
    }
    // Indices.
    let picked = Loop::new([3, n], |r, c| a.at([4, 0, 4][r], c));
    add("index_select".into(), picked.v, Box::new(move |a, _| a.index_select(0, &index(&[4, 0, -1], &[3])?)));
    let along = Loop::new([m, 2], |r, c| a.at(r, [5, 1][c]));
    add("gather".into(), along.v, Box::new(move |a, _| a.gather(1, &index(&[5, 1], &[1, 2])?.broadcast_to(&[5, 2])?)));
    let scattered = |f: fn(f64, f64) -> f64| {
        let mut out = a.clone();
        for r in 0..m {
            for c in 0..n {
                let to = [0, 2, 2, 1, 0][r] * n + c;
                out.v[to] = f(out.v[to], b.at(r, c));
            }
        }
        out.v
    };
    let rows = move || index(&[0, 2, 2, 1, 0], &[5, 1])?.broadcast_to(&[5, 6]);
    add("scatter".into(), scattered(|_, y| y), Box::new(move |a, b| a.scatter(0, &rows()?, b)));
    if number {
        add("scatter_add".into(), scattered(|x, y| x + y), Box::new(move |a, b| a.scatter_add(0, &rows()?, b)));
        let times = Box::new(move |a: &T, b: &T| a.scatter_with(ScatterOp::Mul, 0, &rows()?, b));
        add("scatter_mul".into(), scattered(|x, y| x * y), times);
    }
    if number && ordered {
        let most = Box::new(move |a: &T, b: &T| a.scatter_reduce(0, &rows()?, b, ScatterReduceOp::Max, true));
        add("scatter_max".into(), scattered(f64::max), most);
    }
    let places: Vec<f64> =
        (0..m * n).filter(|&i| a.v[i] != 0.0).flat_map(|i| [i / n, i % n]).map(|i| i as f64).collect();
    add("nonzero".into(), places, Box::new(|a, _| a.nonzero()));
    let chosen: Vec<f64> = a.v.iter().zip(&b.v).filter(|(_, y)| **y != 0.0).map(|(x, _)| *x).collect();
    add("masked_select".into(), chosen, Box::new(|a, b| a.masked_select(&b.ne(0)?)));
    all
}

/// What a dtype keeps of an exact result: integers wrap, f8 rounds.
fn kept(dtype: DType, v: f64) -> f64 {
    let exact = if dtype.is_int() { Lit::Int(v as i64) } else { Lit::Float(v) };
    dispatch_dtype!(dtype, T => <T as Element>::from_lit(exact).to_lit().to_f64())
}

#[test]
fn every_primitive_on_every_dtype_in_every_layout() {
    for device in devices() {
        let (mut faults, mut count, mut unsupported) = (vec![], 0, 0);
        for dtype in DType::ALL {
            let raw = [values(dtype, 0), values(dtype, 1)];
            let [a, b] =
                raw.clone().map(|v| Loop { v: v.iter().map(|l| l.to_f64()).collect(), shape: [ROWS, COLUMNS] });
            for case in cases(dtype, &a, &b, &device) {
                for lay in Lay::ANY {
                    let made = |v: &[Lit]| lay.matrix::<AnyRuntime>(v, [ROWS, COLUMNS], dtype, &device);
                    let result = made(&raw[0]).and_then(|a| (case.run)(&a, &made(&raw[1])?));
                    let got = result.and_then(|y| Ok((y.dtype(), download(&y)?)));
                    match got {
                        Ok((out, got)) => {
                            count += 1;
                            let equal = got.len() == case.want.len()
                                && got.iter().zip(&case.want).all(|(g, w)| g.to_f64() == kept(out, *w));
                            if !equal {
                                let got: Vec<f64> = got.iter().map(|l| l.to_f64()).collect();
                                faults.push(format!("{} of {dtype}, {lay:?}: {got:?}\nnot {:?}", case.name, case.want));
                            }
                        }
                        Err(Error::Unsupported { .. }) => unsupported += 1,
                        Err(error) => faults.push(format!("{} of {dtype}, {lay:?}: {error}", case.name)),
                    }
                }
            }
        }
        println!("{device}: {count} primitives run, {unsupported} unsupported");
        assert!(faults.is_empty(), "{device}: {} faults:\n{}", faults.len(), faults[..faults.len().min(40)].join("\n"));
        assert!(count > 1000, "{device}: only {count}");
    }
}

/// Folds and scans that take more than one block or launch, in every order of memory: whole numbers, so that sums are exact.
#[test]
fn long_folds_and_scans() -> Result<()> {
    let shapes: [(&[usize], usize); 8] = [
        (&[140_003], 0),
        (&[3, 70_000], 1),
        (&[3, 70_001], 1),
        (&[20_000, 8], 0),
        (&[20_001, 3], 0),
        (&[40, 300, 8], 1),
        (&[3000, 20], 1),
        (&[40_000, 3], 1),
    ];
    let scan = |op, axis, reverse, exclusive| Prim::Scan(Scan { op, axis, reverse, exclusive });
    for device in devices() {
        for (dtype, (shape, axis)) in
            [DType::F32, DType::I32, DType::BF16].into_iter().flat_map(|d| shapes.map(|shape| (d, shape)))
        {
            // Sums stay small enough for bf16 along the way.
            let n: usize = shape.iter().product();
            let data: Vec<Lit> = (0..n).map(|i| Lit::Int((i * 7919 % 1009 % 5) as i64 - 2)).collect();
            let on = |device: &Device| upload::<AnyRuntime>(&data, shape, dtype, device);
            let (x, host) = (on(&device)?, on(&Device::parse("cpu")?)?);
            let d = axis as isize;
            let mut jobs: Vec<Box<dyn Fn(&T) -> Result<T>>> = vec![
                Box::new(move |x| x.max(d, false)),
                Box::new(move |x| x.argmax(d, false)),
                Box::new(move |x| x.argmin(.., false)),
                Box::new(move |x| x.cast(DType::F32)?.sum(d, false)),
                Box::new(move |x| x.cast(DType::F32)?.sum(.., false)),
                Box::new(move |x| x.slice(s![1..])?.cast(DType::I64)?.sum(d, false)),
            ];
            for (reverse, exclusive) in [(false, false), (true, false), (false, true), (true, true)] {
                let prim = scan(ScanOp::Sum, axis, reverse, exclusive);
                jobs.push(Box::new(move |x| Tensor::run_one(&prim, &[&x.cast(DType::F32)?])));
                let prim = scan(ScanOp::Min, axis, reverse, exclusive);
                jobs.push(Box::new(move |x| Tensor::run_one(&prim, &[x])));
            }
            for (k, job) in jobs.iter().enumerate() {
                let (got, want) = (download(&job(&x)?)?, download(&job(&host)?)?);
                let off = (0..want.len()).find(|&i| got.get(i) != Some(&want[i]));
                let pair = off.map(|i| (i, got.get(i), want[i]));
                assert_eq!(pair, None, "{device}: job {k} of {dtype} {shape:?} along {axis}");
            }
        }
    }
    Ok(())
}

/// Many indices along an axis, some of them twice, and the same or other ones in each line; and many places.
#[test]
fn long_scatters_and_searches() -> Result<()> {
    let (n, m) = (5000, 700);
    for device in devices() {
        for dtype in [DType::F32, DType::I64] {
            let data: Vec<Lit> = (0..2 * n).map(|i| Lit::Int((i * 7919 % 1009 % 5) as i64 - 2)).collect();
            let places: Vec<Lit> = (0..2 * n).map(|i| Lit::Int((i * i % (2 * m)) as i64 - m as i64)).collect();
            let run = |device: &Device, shape: &[usize], to: &[usize], axis: isize| -> Result<Vec<Vec<Lit>>> {
                let src = upload::<AnyRuntime>(&data, shape, dtype, device)?;
                let each = upload::<AnyRuntime>(&places, shape, DType::I64, device)?;
                let same = each.narrow(1 - axis, 0, 1)?.broadcast_to(shape)?;
                let base = T::try_ones(to, dtype, device)?;
                let mut found = vec![];
                for index in [each, same] {
                    found.push(download(&base.scatter(axis, &index, &src)?)?);
                    found.push(download(&base.scatter_add(axis, &index, &src)?)?);
                    found.push(download(&base.scatter_reduce(axis, &index, &src, ScatterReduceOp::Max, true)?)?);
                }
                match src.nonzero() {
                    Err(Error::Unsupported { .. }) => {}
                    places => found.push(download(&places?)?),
                }
                Ok(found)
            };
            for (shape, to, axis) in [([n, 2], [m, 2], 0), ([2, n], [2, m], 1)] {
                let (got, want) = (run(&device, &shape, &to, axis)?, run(&Device::parse("cpu")?, &shape, &to, axis)?);
                assert!(got.iter().zip(&want).all(|(g, w)| g == w), "{device}: {dtype} along {axis}");
            }
        }
        let far = T::try_full(&[200], 9, DType::I64, &device)?;
        let base = T::try_zeros(&[9], DType::I64, &device)?;
        let refused = base.scatter_add(0, &far, &far).and_then(|y| download(&y));
        assert!(matches!(refused, Err(Error::Index { index: 9, size: 9, .. })), "{device}: {refused:?}");
    }
    Ok(())
}

/// No rows, no columns, no axes.
#[test]
fn empty_and_rank_0() -> Result<()> {
    for device in devices() {
        for dtype in [DType::F32, DType::I64, DType::U8] {
            let of = |shape: &[usize]| {
                upload::<AnyRuntime>(&vec![Lit::Int(3); shape.iter().product()], shape, dtype, &device)
            };
            let (none, rows, number) = (of(&[0, 4])?, of(&[4, 0])?, of(&[])?);
            let all = |t: &T| Ok::<Vec<f64>, Error>(download(t)?.iter().map(|l| l.to_f64()).collect());
            assert_eq!(all(&none.sum(0, false)?)?, [0.0; 4]);
            assert_eq!(all(&none.prod(.., false)?)?, [1.0]);
            assert_eq!(all(&rows.sum(1, true)?)?, [0.0; 4]);
            assert_eq!(none.cumsum(0)?.shape(), [0, 4]);
            assert_eq!(all(&rows.matmul(&none)?)?, [0.0; 16]);
            assert_eq!(none.matmul(&rows)?.shape(), [0, 0]);
            assert_eq!(T::cat(&[&none, &of(&[1, 4])?, &none], 0)?.shape(), [1, 4]);
            assert_eq!(none.sort(1, false)?.shape(), [0, 4]);
            let places = |t: &T| match t.nonzero() {
                Err(Error::Unsupported { .. }) => Ok(None),
                places => places.map(|p| Some(p.shape().to_vec())),
            };
            assert!(places(&none)?.is_none_or(|shape| shape == [0, 2]));
            assert!(places(&number)?.is_none_or(|shape| shape == [1, 0]));
            assert_eq!(none.t()?.contiguous().shape(), [4, 0]);
            assert_eq!(all(&number.sum(.., false)?)?, [3.0]);
            assert_eq!(all(&number.cumsum(0)?)?, [3.0]);
            assert_eq!(all(&number.sort(0, true)?)?, [3.0]);
            assert_eq!(number.contiguous().shape(), [0usize; 0]);
            assert!(matches!(none.max(0, false), Err(Error::Shape { op: "max", .. })));
        }
    }
    Ok(())
}

/// NaN goes through folds and to the end of sorts; the first counts for the arg folds.
#[test]
fn nan_in_folds() -> Result<()> {
    let nan = f64::NAN;
    for device in devices() {
        for dtype in [DType::F64, DType::F32, DType::F16, DType::BF16] {
            let data = [1.0, nan, 3.0, nan, f64::NEG_INFINITY, f64::INFINITY].map(Lit::Float);
            let x = match upload::<AnyRuntime>(&data, &[6], dtype, &device) {
                Err(Error::Unsupported { .. }) => continue,
                x => x?,
            };
            let item = |t: T| Ok::<f64, Error>(download(&t)?[0].to_f64());
            for fold in [x.max(0, false), x.min(0, false), x.sum(0, false), x.prod(0, false)] {
                match fold {
                    Err(Error::Unsupported { .. }) => {}
                    y => assert!(item(y?)?.is_nan(), "{device} {dtype}"),
                }
            }
            assert_eq!((item(x.argmax(0, false)?)?, item(x.argmin(0, false)?)?), (1.0, 1.0), "{device} {dtype}");
            for descending in [false, true] {
                match x.sort(0, descending) {
                    Err(Error::Unsupported { .. }) => {}
                    y => {
                        let sorted: Vec<f64> = download(&y?)?.iter().map(|l| l.to_f64()).collect();
                        assert!(sorted[4].is_nan() && sorted[5].is_nan(), "{device} {dtype}: {sorted:?}");
                        let ends = [f64::NEG_INFINITY, f64::INFINITY];
                        assert_eq!([sorted[0], sorted[3]], if descending { [ends[1], ends[0]] } else { ends });
                    }
                }
            }
        }
    }
    Ok(())
}
