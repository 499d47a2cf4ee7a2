//! Cases that state what must hold of results that no file can store: random draws, and operations on nothing.

use numr_core::rng::Key;
use numr_core::{DType, Runtime, Tensor};

use super::call::Stop;
use super::case::{Case, Role, lengths, number};
use super::data::{Host, dtype};
use super::report::Verdict;
use super::run::{download, verdict_of};

/// Statements that do not hold are failures; what stops a case is told by `run`.
type Held = Result<Result<(), String>, Stop>;

/// Seeds that every distribution is drawn with.
const SEEDS: [u64; 4] = [0, 1, 42, 0xdead_beef];

/// The verdict on a case of kind property.
pub(super) fn verdict<R: Runtime>(case: &Case, device: &R::Device) -> Verdict {
    verdict_of(case, || match case.rule() {
        "ok_everywhere" => empty::<R>(case, device),
        "distribution" => distribution::<R>(case, device),
        "permutation" => permutation::<R>(case, device),
        "half_open_unit" => unit::<R>(case, device),
        "tail" => tail::<R>(case, device),
        "distinct" => distinct::<R>(case, device),
        "lag_correlation" => lags::<R>(case, device),
        "prefix" => prefix::<R>(case, device),
        _ => Err(Stop::NotMapped("property".into())),
    })
}

fn demand(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

fn real<R: Runtime>(x: &Tensor<R>) -> Result<Vec<f64>, Stop> {
    Ok(download(x)?.numbers().real())
}

fn count(case: &Case) -> Result<usize, Stop> {
    let n = case.args["n"].as_u64().or(case.check["n"].as_u64());
    n.map(|n| n as usize).ok_or_else(|| Stop::NotMapped("no n".into()))
}

/// A draw of `n` numbers of the case's law.
fn draw<R: Runtime>(case: &Case, key: Key, n: usize, device: &R::Device) -> Result<Tensor<R>, Stop> {
    let of = |name: &str| number(&case.args[name]).ok_or_else(|| Stop::NotMapped(format!("no {name}")));
    let whole = |name: &str| case.args[name].as_i64().ok_or_else(|| Stop::NotMapped(format!("no {name}")));
    let float = case.args["dtype"].as_str().and_then(dtype).unwrap_or(DType::F64);
    Ok(match case.op.as_str() {
        "rand" | "rand_seeded" => key.uniform(&[n], float, device)?,
        "randn" => key.normal(&[n], float, device)?,
        "exponential" => key.exponential(&[n], float, device)?.div(of("rate")?)?,
        "laplace" => key.laplace(&[n], float, device)?.mul(of("scale")?)?.add(of("loc")?)?,
        "bernoulli" => key.bernoulli(of("p")?, &[n], float, device)?,
        "randint" => key.randint(whole("low")?, whole("high")?, &[n], DType::I64, device)?,
        _ => return Err(Stop::NotMapped(String::new())),
    })
}

/// The empirical distribution stays close to the stored one, and so do mean and variance; no draw leaves the support;
/// neighbours do not correlate.
fn distribution<R: Runtime>(case: &Case, device: &R::Device) -> Held {
    let of = |name: &str| number(&case.check[name]);
    let points = Case::hosts(&case.outputs, Role::Plain);
    let [x, cdf] = points[..] else { return Err(Stop::NotMapped("no distribution function".into())) };
    let n = count(case)?;
    for seed in SEEDS {
        let mut v = real(&draw::<R>(case, Key::new(seed), n, device)?)?;
        let count = n as f64;
        let mean = v.iter().sum::<f64>() / count;
        let var = v.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        let pairs = v.windows(2).map(|p| (p[0] - mean) * (p[1] - mean)).sum::<f64>() / count;
        v.sort_by(f64::total_cmp);
        let below = |x: f64| v.partition_point(|&d| d <= x) as f64 / count;
        let far = x.numbers().real().into_iter().zip(cdf.numbers().real()).map(|(x, p)| (below(x) - p).abs());
        let ks = far.fold(0.0, f64::max);
        let support = &case.check["support"];
        let inside = number(&support[0]).zip(number(&support[1])).is_none_or(|(a, b)| v[0] >= a && v[n - 1] <= b);
        let checks = || {
            demand(v.iter().all(|x| !x.is_nan()), || "NaN".into())?;
            demand(inside, || format!("{}..={} leaves the support {support}", v[0], v[n - 1]))?;
            demand(Some(ks) <= of("ks_max"), || format!("the distribution is {ks} off"))?;
            // The stated moments, within five times what chance does to them. One case states a variance below zero.
            let (Some(m), Some(s)) = (of("mean"), of("var").filter(|&s| s >= 0.0)) else { return Ok(()) };
            demand((mean - m).abs() <= 5.0 * (s / count).sqrt(), || format!("the mean is {mean}, not {m}"))?;
            let wide = of("kurt_excess").filter(|k| k.is_finite()).map_or(0.0, |k| s * ((k + 2.0) / count).sqrt());
            demand((var - s).abs() <= 5.0 * wide + 1e-3 * s, || format!("the variance is {var}, not {s}"))?;
            demand(pairs.abs() <= 5.0 * s / count.sqrt(), || format!("neighbours correlate: {pairs}"))
        };
        if let Err(why) = checks() {
            return Ok(Err(format!("seed {seed}: {why}")));
        }
    }
    Ok(Ok(()))
}

fn permutation<R: Runtime>(case: &Case, device: &R::Device) -> Held {
    let n = count(case)?;
    let mut v = real(&Key::new(3).permutation::<R>(n, device)?)?;
    let moved = n < 3 || v.iter().enumerate().any(|(i, &x)| x != i as f64);
    v.sort_by(f64::total_cmp);
    let all = v.iter().enumerate().all(|(i, &x)| x == i as f64) && v.len() == n;
    Ok(demand(all && moved, || "not a permutation".into()))
}

fn unit<R: Runtime>(case: &Case, device: &R::Device) -> Held {
    let v = real(&draw::<R>(case, Key::new(5), count(case)?, device)?)?;
    Ok(demand(v.iter().all(|x| (0.0..1.0).contains(x)), || "outside of 0 <= x < 1".into()))
}

fn tail<R: Runtime>(case: &Case, device: &R::Device) -> Held {
    // In f32, where the tail is the harder to get right.
    let v = real(&Key::new(5).normal::<R>(&[count(case)?], DType::F32, device)?)?;
    let most = v.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    let beyond = v.iter().filter(|x| x.abs() > 4.0).count() as f64;
    let range = lengths(&case.check["count_abs_gt_4"]).ok_or_else(|| Stop::NotMapped("no count".into()))?;
    let fine = v.iter().all(|x| x.is_finite()) && Some(most) >= number(&case.check["max_abs_at_least"]);
    let fine = fine && (range[0] as f64..=range[1] as f64).contains(&beyond);
    Ok(demand(fine, || format!("the largest is {most}, {beyond} are beyond 4")))
}

fn distinct<R: Runtime>(case: &Case, device: &R::Device) -> Held {
    let (mut seen, n) = (std::collections::HashSet::new(), count(case)?);
    let calls = case.args["calls"].as_u64().unwrap_or(1);
    for call in 0..calls {
        seen.extend(real(&draw::<R>(case, Key::new(9).child(call), n, device)?)?.into_iter().map(f64::to_bits));
    }
    let fraction = seen.len() as f64 / (n as u64 * calls) as f64;
    Ok(demand(Some(fraction) >= number(&case.check["min_distinct_fraction"]), || format!("{fraction} are distinct")))
}

fn lags<R: Runtime>(case: &Case, device: &R::Device) -> Held {
    let v = real(&draw::<R>(case, Key::new(11), count(case)?, device)?)?;
    let mean = v.iter().sum::<f64>() / v.len() as f64;
    let product = |lag: usize| v.iter().zip(&v[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    let worst = lengths(&case.check["lags"]).into_iter().flatten().map(|lag| (product(lag) / product(0)).abs());
    let worst = worst.fold(0.0, f64::max);
    Ok(demand(Some(worst) <= number(&case.check["max_abs"]), || format!("a correlation of {worst}")))
}

fn prefix<R: Runtime>(case: &Case, device: &R::Device) -> Held {
    let seed = Key::new(case.args["seed"].as_u64().unwrap_or(0));
    let sizes = lengths(&case.args["n"]).ok_or_else(|| Stop::NotMapped("no n".into()))?;
    let draw = |n: usize| Ok::<Host, Stop>(download(&draw::<R>(case, seed, n, device)?.narrow(0, 0, 1000)?)?);
    let draws = sizes.into_iter().map(draw).collect::<Result<Vec<_>, _>>()?;
    Ok(demand(draws.windows(2).all(|d| d[0] == d[1]), || "the first numbers depend on how many are drawn".into()))
}

/// Every op of the case's list on a tensor without elements.
fn empty<R: Runtime>(case: &Case, device: &R::Device) -> Held {
    let shape = lengths(&case.args["shape"]).ok_or_else(|| Stop::NotMapped("no shape".into()))?;
    let mut last = Tensor::<R>::try_zeros(&shape, DType::F32, device)?;
    for op in case.args["ops"].as_array().into_iter().flatten() {
        let x = Tensor::<R>::try_zeros(&shape, DType::F32, device)?;
        let turned = || x.transpose(0, x.ndim() as isize - 1);
        last = match op.as_str().unwrap_or("") {
            "zeros" => x,
            "add_scalar" => x.add(1.0)?,
            "exp" => x.exp()?,
            "sum" => x.sum(.., false)?,
            "cast" => x.cast(DType::I32)?,
            "transpose+contiguous" => turned()?.try_contiguous()?,
            "matmul with its transpose" => x.matmul(&turned()?)?,
            "cat with itself" => Tensor::cat(&[&x, &x], 0)?,
            "sort" => x.sort(0, false)?,
            "cumsum" => x.cumsum(0)?,
            "read back" => last,
            other => return Err(Stop::NotMapped(other.into())),
        };
        real(&last)?;
    }
    Ok(Ok(()))
}
