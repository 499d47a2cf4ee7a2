//! When a result agrees with an expected one.
//!
//! Every value rule yields a *figure*, error over allowance: at most 1 passes, infinity is a plain mismatch.

use numr_core::DType;
use serde_json::Value;

use super::case::{Case, Role, number};
use super::data::{Host, Numbers};

/// What running a case led to.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Results.
    Value(Vec<Host>),
    /// An error value, as text.
    Refused(String),
    /// A panic, as text.
    Panicked(String),
}

/// Judges an outcome by the case's rule; the error says in what it falls short.
pub fn judge(case: &Case, outcome: &Outcome) -> Result<(), String> {
    let got = match outcome {
        Outcome::Panicked(text) => return Err(format!("panicked: {text}")),
        Outcome::Refused(text) => {
            let fine = matches!(case.rule(), "refused" | "refused_or_nonfinite" | "refused_or_empty")
                || matches!(case.rule(), "ends" | "no_crash" | "documented" | "value_or_refused")
                || case.or() == "refused";
            return if fine { Ok(()) } else { Err(format!("refused: {text}")) };
        }
        Outcome::Value(got) => got,
    };
    let some = |bad: fn(f64) -> bool| got.iter().any(|h| h.numbers().complex().iter().any(|z| bad(z[0]) || bad(z[1])));
    let demand = |holds: bool, what: &str| if holds { Ok(()) } else { Err(what.to_owned()) };
    match case.rule() {
        "refused" => Err("accepted what must be refused".into()),
        "refused_or_nonfinite" => demand(some(|x| !x.is_finite()), "a plausible answer where there is none"),
        "ends" => demand(some(f64::is_nan), "a plausible answer where there is none"),
        "refused_or_empty" => demand(got.iter().all(Host::is_empty), "a result that is not empty"),
        "no_crash" | "documented" => Ok(()),
        "group_stats" => {
            let x = got.first().ok_or("no result")?.numbers().real();
            let groups = case.args["num_groups"].as_u64().ok_or("no groups")? as usize;
            let of = |name: &str| number(&case.check[name]).unwrap_or(0.0);
            let fine = x.chunks(x.len().div_ceil(groups).max(1)).all(|g| {
                let mean = g.iter().sum::<f64>() / g.len() as f64;
                let var = g.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / g.len() as f64;
                mean.abs() <= of("mean_abs_max") && (var - 1.0).abs() <= of("var_rel")
            });
            demand(fine && !x.is_empty(), "a group whose mean is not 0 or whose variance is not 1")
        }
        "valid_argsort" => {
            let order = got.first().ok_or("no result")?;
            let operand = case.inputs.first().ok_or("no operand")?;
            argsort(&operand.host, order, case.args["descending"].as_bool().unwrap_or(false))
        }
        _ => values(case, got),
    }
}

/// Judges results by the case's value rule, then by the alternatives that the case accepts.
fn values(case: &Case, got: &[Host]) -> Result<(), String> {
    let mut want = Case::hosts(&case.outputs, Role::Plain);
    // Two rules speak of the result alone.
    if matches!(case.rule(), "classes" | "all_nan") {
        want = got.iter().collect();
    }
    let plain = want.len();
    if plain == 0 {
        return Err("nothing to compare with".into());
    }
    want.extend(Case::hosts(&case.outputs, Role::Scale));
    let first = agree(&case.check, got, &want, plain);
    let others = match (case.or(), case.rule()) {
        ("alternative", _) => {
            let want = Case::hosts(&case.outputs, Role::Alternative);
            agree(&case.check, got, &want, want.len())
        }
        ("wider_accumulator", _) => equal_modulo(got, &want, |_, want| want),
        ("same_dtype_wrap", _) => equal_modulo(got, &want, |got, _| got),
        ("float_or_floor", _) => quotient(case, got),
        (_, "either") => {
            let alt: Option<Vec<f64>> =
                case.line["alt_values"].as_array().map(|v| v.iter().filter_map(number).collect());
            alt.ok_or(String::new()).and_then(|v| {
                let flat: Vec<f64> = got.first().map(|h| h.numbers().real()).unwrap_or_default();
                agree(&case.check, &[Host::vector(&flat)], &[&Host::vector(&v)], 1)
            })
        }
        _ => Err(String::new()),
    };
    if others.is_ok() { Ok(()) } else { first }
}

/// Judges results by a value rule. The first `plain` of `want` are results, one more may be the scale.
pub fn agree(check: &Value, got: &[Host], want: &[&Host], plain: usize) -> Result<(), String> {
    if got.len() < plain {
        return Err(format!("{} results where {plain} are expected", got.len()));
    }
    for (i, (g, w)) in got.iter().zip(&want[..plain]).enumerate() {
        // A multiset is one in any shape; the other rules compare element by element.
        let same = if check["rule"] == "multiset" { g.len() == w.len() } else { g.shape == w.shape };
        if !same {
            return Err(format!("result {i} has shape {:?}, expected {:?}", g.shape, w.shape));
        }
        let figure = figure(check, g, w, want.get(plain).copied())?;
        if figure.is_nan() || figure > 1.0 {
            return Err(format!("result {i} is off by {figure:.3} of what {check} allows: {}", contrast(g, w)));
        }
    }
    Ok(())
}

fn figure(check: &Value, g: &Host, w: &Host, scale: Option<&Host>) -> Result<f64, String> {
    let of = |name: &str| number(&check[name]);
    let pass = |holds: bool| if holds { 0.0 } else { f64::INFINITY };
    let tolerances = || {
        let scaled = check["scale"] == "max" && !matches!(w.numbers(), Numbers::Int(_));
        let unit = if scaled { largest(w) } else { 1.0 };
        (of("rtol").unwrap_or(0.0), of("atol").unwrap_or(0.0) * unit)
    };
    Ok(match check["rule"].as_str().unwrap_or("") {
        // `either` with no tolerance is a choice between exact results.
        "either" if of("rtol").is_none() && of("atol").is_none() => pass(exact(g, w)),
        // What torch does is told, not asked; the shape is checked above.
        "informative" => 0.0,
        "close" | "value_or_refused" | "either" => {
            let (rtol, atol) = tolerances();
            let ends = check["ends"] != "exact" || same_ends(g, w);
            close(g, w, rtol, atol, check["nan"] == "equal_or_zero").max(pass(ends))
        }
        "exact" => pass(exact(g, w)),
        "bits" => pass(g.bytes == w.bytes),
        "all_nan" => pass(g.numbers().complex().iter().all(|z| z[0].is_nan())),
        "ulp" => {
            let max = of("max").ok_or("no max")?;
            let ulps = ulps(g, w)?;
            if ulps == 0.0 { 0.0 } else { ulps / max }
        }
        "scaled" => {
            let s = scale.ok_or("no scale")?.numbers().real();
            let (eps, floor) = (of("eps").ok_or("no eps")?, of("floor").ok_or("no floor")?);
            scaled(&g.numbers().real(), &w.numbers().real(), &s, eps, floor) / of("pass").ok_or("no pass")?
        }
        "norm" => norm(g, w, of("max_rel_rms").ok_or("no rms")?, of("max_rel_inf").ok_or("no inf")?),
        "multiset" => {
            let (rtol, atol) = tolerances();
            multiset(&g.numbers().complex(), &w.numbers().complex(), rtol, atol)
        }
        "classes" => {
            let lists = check["accept"].as_array().ok_or("no classes")?;
            let listed = |(x, list): (f64, &Value)| list.as_array().is_some_and(|l| class_is_listed(x, l));
            let g = g.numbers().real();
            pass(g.len() == lists.len() && g.into_iter().zip(lists).all(listed))
        }
        other => return Err(format!("unknown rule {other}")),
    })
}

/// The largest error of `g` over `atol + rtol |w|`, part by part; NaN must match NaN and infinity infinity.
pub fn close(g: &Host, w: &Host, rtol: f64, atol: f64, nan_or_zero: bool) -> f64 {
    if let (Numbers::Int(a), Numbers::Int(b)) = (g.numbers(), w.numbers()) {
        return if a == b { 0.0 } else { f64::INFINITY };
    }
    let mut worst: f64 = 0.0;
    for (a, b) in g.numbers().complex().into_iter().zip(w.numbers().complex()) {
        let allowed = atol + rtol * b[0].hypot(b[1]);
        for (a, b) in a.into_iter().zip(b) {
            let ratio = if b.is_nan() {
                if a.is_nan() || nan_or_zero && a == 0.0 { 0.0 } else { f64::INFINITY }
            } else if a == b {
                0.0
            } else if b.is_infinite() || a.is_nan() || allowed <= 0.0 {
                f64::INFINITY
            } else {
                (a - b).abs() / allowed
            };
            worst = worst.max(ratio);
        }
    }
    worst
}

/// Equal values, signs of zero included; any NaN matches any NaN.
pub fn exact(g: &Host, w: &Host) -> bool {
    if let (Numbers::Int(a), Numbers::Int(b)) = (g.numbers(), w.numbers()) {
        return a == b;
    }
    let signs = !matches!(w.numbers(), Numbers::Complex(_));
    let same =
        |a: f64, b: f64| a.is_nan() && b.is_nan() || a == b && (!signs || a.is_sign_negative() == b.is_sign_negative());
    let (a, b) = (g.numbers().complex(), w.numbers().complex());
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| same(a[0], b[0]) && same(a[1], b[1]))
}

/// The largest distance in units of the last place, counted over the representable numbers between the two.
pub fn ulps(g: &Host, w: &Host) -> Result<f64, String> {
    let w_bytes = super::data::width(w.dtype);
    if g.dtype != w.dtype || !matches!(w_bytes, 2 | 4 | 8) {
        return Err(format!("ulps between {:?} and {:?}", g.dtype, w.dtype));
    }
    let keys = |h: &Host| -> Vec<i128> {
        let key = |c: &[u8]| {
            let bits = c.iter().rev().fold(0u64, |n, &b| n << 8 | u64::from(b));
            let sign = 1u64 << (8 * w_bytes - 1);
            if bits & sign != 0 { -i128::from(bits & !sign) } else { i128::from(bits) }
        };
        h.bytes.chunks_exact(w_bytes).map(key).collect()
    };
    let nan: Vec<bool> =
        g.numbers().real().iter().zip(w.numbers().real()).map(|(a, b)| a.is_nan() && b.is_nan()).collect();
    let distance = keys(g).into_iter().zip(keys(w)).map(|(a, b)| (a - b).unsigned_abs() as f64);
    Ok(distance.zip(nan).map(|(d, nan)| if nan { 0.0 } else { d }).fold(0.0, f64::max))
}

/// The largest `|g - w| / (eps s + floor)`.
fn scaled(g: &[f64], w: &[f64], s: &[f64], eps: f64, floor: f64) -> f64 {
    let each = g.iter().zip(w).zip(s).map(|((&g, &w), &s)| {
        if g == w || g.is_nan() && w.is_nan() {
            0.0
        } else if !w.is_finite() || g.is_nan() || s.is_nan() {
            f64::INFINITY
        } else {
            (g - w).abs() / (eps * s + floor)
        }
    });
    each.fold(0.0, f64::max)
}

/// The root-mean-square and the largest error, relative to the root mean square of `w`, over what is allowed.
fn norm(g: &Host, w: &Host, rms: f64, inf: f64) -> f64 {
    let (g, w) = (g.numbers().complex(), w.numbers().complex());
    let size = |z: &[f64; 2]| z[0].hypot(z[1]);
    if !g.iter().all(|z| size(z).is_finite()) {
        return f64::INFINITY;
    }
    let peak = w.iter().map(size).fold(0.0, f64::max);
    if peak == 0.0 {
        return if g.iter().all(|z| size(z) == 0.0) { 0.0 } else { f64::INFINITY };
    }
    // Divided by the peak first, so that squares neither overflow nor vanish.
    let error: Vec<f64> = g.iter().zip(&w).map(|(a, b)| size(&[(a[0] - b[0]) / peak, (a[1] - b[1]) / peak])).collect();
    let mean = |v: &mut dyn Iterator<Item = f64>| (v.map(|x| x * x).sum::<f64>() / w.len() as f64).sqrt();
    let unit = mean(&mut w.iter().map(|z| size(z) / peak));
    let largest = error.iter().copied().fold(0.0, f64::max);
    (mean(&mut error.into_iter()) / unit / rms).max(largest / unit / inf)
}

/// The largest error over `atol + rtol |w|` of the matching of least total distance.
fn multiset(g: &[[f64; 2]], w: &[[f64; 2]], rtol: f64, atol: f64) -> f64 {
    if g.iter().chain(w).flatten().any(|x| !x.is_finite()) {
        return f64::INFINITY;
    }
    let cost = |i: usize, j: usize| (g[i][0] - w[j][0]).hypot(g[i][1] - w[j][1]);
    let pairs = assignment(g.len(), cost).into_iter().enumerate();
    pairs.map(|(j, i)| cost(i, j) / (atol + rtol * w[j][0].hypot(w[j][1]) + 1e-300)).fold(0.0, f64::max)
}

/// The row that each column gets in the assignment of least total cost.
///
/// Shortest augmenting paths with potentials (Jonker and Volgenant 1987), O(n^3).
fn assignment(n: usize, cost: impl Fn(usize, usize) -> f64) -> Vec<usize> {
    // Place n stands for "no row yet": a row enters there and pushes the others along the path.
    let (mut u, mut v, mut row_of) = (vec![0.0; n + 1], vec![0.0; n + 1], vec![usize::MAX; n + 1]);
    for row in 0..n {
        let (mut least, mut from, mut done) = (vec![f64::INFINITY; n], vec![n; n], vec![false; n + 1]);
        row_of[n] = row;
        let mut at = n;
        loop {
            done[at] = true;
            let i = row_of[at];
            let (mut delta, mut next) = (f64::INFINITY, n);
            for j in (0..n).filter(|&j| !done[j]) {
                let reduced = cost(i, j) - u[i] - v[j];
                if reduced < least[j] {
                    (least[j], from[j]) = (reduced, at);
                }
                if least[j] < delta {
                    (delta, next) = (least[j], j);
                }
            }
            for j in 0..=n {
                if done[j] {
                    u[row_of[j]] += delta;
                    v[j] -= delta;
                } else {
                    least[j] -= delta;
                }
            }
            at = next;
            if row_of[at] == usize::MAX {
                break;
            }
        }
        while at != n {
            row_of[at] = row_of[from[at]];
            at = from[at];
        }
    }
    row_of.truncate(n);
    row_of
}

/// Whether the class of `x` ("nan", "inf", "-inf", "0", "-0" or the number itself) is listed; "0" also stands for
/// "-0" unless that is listed too.
fn class_is_listed(x: f64, list: &[Value]) -> bool {
    let has = |name: &str| list.iter().any(|v| v == name);
    match x {
        _ if x.is_nan() => has("nan"),
        f64::INFINITY => has("inf"),
        f64::NEG_INFINITY => has("-inf"),
        0.0 if x.is_sign_negative() => has("-0") || has("0"),
        _ => list.iter().filter_map(Value::as_str).any(|v| v != "-0" && v.parse() == Ok(x)),
    }
}

/// Equality of integers in the narrower of the two dtypes, which `narrow` picks from (got, want).
fn equal_modulo(got: &[Host], want: &[&Host], narrow: fn(DType, DType) -> DType) -> Result<(), String> {
    let equal = got.iter().zip(want).all(|(g, &w)| {
        let bits = 8 * super::data::width(narrow(g.dtype, w.dtype));
        match (g.numbers(), w.numbers()) {
            (Numbers::Int(a), Numbers::Int(b)) => {
                g.shape == w.shape && a.iter().zip(&b).all(|(a, b)| (a - b) & ((1i128 << bits) - 1) == 0)
            }
            _ => false,
        }
    });
    if equal { Ok(()) } else { Err("differs even when wrapped".into()) }
}

/// Whether the result is the floating-point quotient of the operands, to its own precision.
fn quotient(case: &Case, got: &[Host]) -> Result<(), String> {
    let [x, y] = &case.inputs[..] else { return Err("not two operands".into()) };
    let got = got.first().filter(|g| g.dtype.is_float()).ok_or("no float")?;
    let quotients = x.host.numbers().real().into_iter().zip(y.host.numbers().real()).map(|(x, y)| x / y);
    let want = Host { shape: got.shape.clone(), ..Host::vector(&quotients.collect::<Vec<_>>()) };
    let eps = if got.dtype == DType::F64 { f64::EPSILON } else { f32::EPSILON.into() };
    if close(got, &want, eps, 0.0, false) <= 1.0 { Ok(()) } else { Err("not the quotient".into()) }
}

/// Whether `order` is a permutation that sorts the vector `x`.
fn argsort(x: &Host, order: &Host, descending: bool) -> Result<(), String> {
    let x = x.numbers().real();
    let Numbers::Int(order) = order.numbers() else { return Err("the order is not of integers".into()) };
    let mut seen = vec![false; x.len()];
    for &i in &order {
        let slot = usize::try_from(i).ok().and_then(|i| seen.get_mut(i)).ok_or(format!("no place {i}"))?;
        *slot = true;
    }
    let sorted = order.windows(2).all(|p| {
        let (a, b) = (x[p[0] as usize], x[p[1] as usize]);
        if descending { a >= b } else { a <= b }
    });
    match order.len() == x.len() && seen.iter().all(|&s| s) && sorted {
        true => Ok(()),
        false => Err("not an order that sorts".into()),
    }
}

fn largest(h: &Host) -> f64 {
    h.numbers().complex().iter().map(|z| z[0].hypot(z[1])).filter(|a| a.is_finite()).fold(0.0, f64::max)
}

fn same_ends(g: &Host, w: &Host) -> bool {
    let (g, w) = (g.numbers().real(), w.numbers().real());
    g.first() == w.first() && g.last() == w.last()
}

/// The pair of elements that differ most, for a message.
fn contrast(g: &Host, w: &Host) -> String {
    let (g, w) = (g.numbers().complex(), w.numbers().complex());
    let gap = |i: usize| {
        let gap = (g[i][0] - w[i][0]).hypot(g[i][1] - w[i][1]);
        let alike = g[i][0].is_nan() && w[i][0].is_nan() || g[i] == w[i];
        if alike {
            0.0
        } else if gap.is_nan() {
            f64::INFINITY
        } else {
            gap / (1e-300 + w[i][0].hypot(w[i][1]))
        }
    };
    match (0..g.len().min(w.len())).max_by(|&i, &j| gap(i).total_cmp(&gap(j))) {
        Some(i) => format!("at {i} of {} got {:?}, expected {:?}", w.len(), g[i], w[i]),
        None => "no element".into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn passes(check: Value, got: &Host, want: &[&Host]) -> bool {
        agree(&check, std::slice::from_ref(got), want, 1).is_ok()
    }

    fn vector(v: &[f64]) -> Host {
        Host::vector(v)
    }

    fn typed(dtype: DType, bytes: &[u8]) -> Host {
        let len = bytes.len() / super::super::data::width(dtype);
        Host { dtype, shape: vec![len], bytes: bytes.to_vec() }
    }

    const NAN: f64 = f64::NAN;
    const INF: f64 = f64::INFINITY;

    #[test]
    fn close_allows_the_stated_error_and_no_more() {
        let check = json!({"rule": "close", "rtol": 1e-3, "atol": 0.0});
        let want = vector(&[1.0, 100.0, NAN, INF, 0.0]);
        assert!(passes(check.clone(), &vector(&[1.0009, 99.91, NAN, INF, -0.0]), &[&want]));
        for (at, wrong) in [(0, 1.0011), (1, 99.89), (1, NAN), (2, 0.0), (3, -INF), (3, 1.0), (4, 1e-300)] {
            let mut got = [1.0, 100.0, NAN, INF, 0.0];
            got[at] = wrong;
            assert!(!passes(check.clone(), &vector(&got), &[&want]), "{wrong} at {at}");
        }
        assert!(!passes(check.clone(), &vector(&[1.0]), &[&want]), "another shape");
        assert!(agree(&check, &[], &[&want], 1).is_err(), "no result");
        let scaled = json!({"rule": "close", "rtol": 0.0, "atol": 1e-3, "scale": "max"});
        assert!(passes(scaled.clone(), &vector(&[0.09, 100.0]), &[&vector(&[0.0, 100.0])]));
        assert!(!passes(scaled, &vector(&[0.11, 100.0]), &[&vector(&[0.0, 100.0])]));
    }

    #[test]
    fn close_judges_each_part_of_a_complex_number_by_its_size() {
        let check = json!({"rule": "close", "rtol": 1e-3, "atol": 0.0});
        let pair = |re: f64, im: f64| typed(DType::Complex128, &[re.to_le_bytes(), im.to_le_bytes()].concat());
        let want = pair(1000.0, 0.0);
        assert!(passes(check.clone(), &pair(1000.5, 0.5), &[&want]));
        assert!(!passes(check, &pair(1000.0, 1.5), &[&want]));
    }

    #[test]
    fn integers_are_never_close_only_equal() {
        let check = json!({"rule": "close", "rtol": 1.0, "atol": 1.0});
        let want = typed(DType::I8, &[5]);
        assert!(passes(check.clone(), &typed(DType::I64, &5i64.to_le_bytes()), &[&want]));
        assert!(!passes(check, &typed(DType::I8, &[6]), &[&want]));
    }

    #[test]
    fn exact_sees_the_sign_of_zero_and_bits_the_bytes() {
        let check = json!({"rule": "exact"});
        assert!(passes(check.clone(), &vector(&[-0.0, NAN]), &[&vector(&[-0.0, -NAN])]));
        assert!(!passes(check.clone(), &vector(&[0.0]), &[&vector(&[-0.0])]));
        assert!(!passes(check, &vector(&[1.0 + f64::EPSILON]), &[&vector(&[1.0])]));
        let bits = json!({"rule": "bits"});
        assert!(passes(bits.clone(), &vector(&[1.0]), &[&vector(&[1.0])]));
        assert!(!passes(bits, &vector(&[-NAN]), &[&vector(&[NAN])]));
    }

    #[test]
    fn ulps_count_representable_numbers_across_zero() {
        let check = json!({"rule": "ulp", "max": 2});
        let f32s = |v: f32| typed(DType::F32, &v.to_le_bytes());
        let tiny = f32::from_bits(1);
        assert!(passes(check.clone(), &f32s(-tiny), &[&f32s(tiny)]));
        assert!(!passes(check.clone(), &f32s(-tiny), &[&f32s(2.0 * tiny)]));
        assert!(passes(check.clone(), &f32s(1.0 + 2.0 * f32::EPSILON), &[&f32s(1.0)]));
        assert!(!passes(check.clone(), &f32s(1.0 + 3.0 * f32::EPSILON), &[&f32s(1.0)]));
        assert!(!passes(check.clone(), &f32s(f32::NAN), &[&f32s(1.0)]));
        assert!(!passes(check, &vector(&[1.0]), &[&f32s(1.0)]), "another dtype");
    }

    #[test]
    fn scaled_measures_by_the_given_scale() {
        let check = json!({"rule": "scaled", "eps": 1e-3, "pass": 2, "floor": 0.0});
        let (want, scale) = (vector(&[1.0, INF]), vector(&[10.0, 1.0]));
        assert!(passes(check.clone(), &vector(&[1.019, INF]), &[&want, &scale]));
        for wrong in [[1.021, INF], [NAN, INF], [1.0, 1e300]] {
            assert!(!passes(check.clone(), &vector(&wrong), &[&want, &scale]), "{wrong:?}");
        }
    }

    #[test]
    fn norm_bounds_the_mean_and_the_largest_error() {
        let check = json!({"rule": "norm", "max_rel_rms": 0.1, "max_rel_inf": 0.15});
        let want = vector(&[1.0, 1.0, 1.0, 1.0]);
        assert!(passes(check.clone(), &vector(&[1.14, 1.0, 1.0, 1.0]), &[&want]));
        assert!(!passes(check.clone(), &vector(&[1.16, 1.0, 1.0, 1.0]), &[&want]));
        assert!(!passes(check.clone(), &vector(&[1.11, 1.11, 1.11, 1.11]), &[&want]));
        assert!(!passes(check.clone(), &vector(&[INF, 1.0, 1.0, 1.0]), &[&want]));
        assert!(!passes(check, &vector(&[1e-300; 4]), &[&vector(&[0.0; 4])]));
    }

    #[test]
    fn multisets_match_in_any_order_but_each_element_once() {
        let check = json!({"rule": "multiset", "rtol": 0.0, "atol": 0.1});
        let want = vector(&[1.0, 2.0, 2.0, 3.0]);
        assert!(passes(check.clone(), &vector(&[3.05, 1.95, 1.0, 2.0]), &[&want]));
        assert!(!passes(check.clone(), &vector(&[1.0, 1.0, 2.0, 3.0]), &[&want]));
        assert!(!passes(check.clone(), &vector(&[NAN, 1.0, 2.0, 3.0]), &[&want]));
        assert!(!passes(check, &vector(&[1.0, 2.0, 3.0]), &[&want]));
        // Taking the nearest free partner in turn would pair 0 with 1 here and leave 3 to -2.
        assert_eq!(assignment(2, |i, j| [[1.0, 2.0], [2.0, 5.0]][i][j]), [1, 0]);
    }

    #[test]
    fn classes_take_minus_zero_for_zero_unless_told_apart() {
        let passes = |x: f64, accept: Value| {
            passes(json!({"rule": "classes", "accept": [accept]}), &vector(&[x]), &[&vector(&[0.0])])
        };
        assert!(passes(-0.0, json!(["0"])) && passes(NAN, json!(["0", "nan"])) && passes(1.5, json!(["1.5"])));
        assert!(!passes(0.0, json!(["-0"])) && !passes(INF, json!(["-inf", "nan"])) && !passes(1.0, json!(["0"])));
    }

    #[test]
    fn an_order_must_sort_and_name_each_place_once() {
        let x = vector(&[3.0, 1.0, 2.0, 1.0]);
        let order = |v: &[u8]| typed(DType::U8, v);
        assert!(argsort(&x, &order(&[3, 1, 2, 0]), false).is_ok());
        assert!(argsort(&x, &order(&[0, 2, 1, 3]), true).is_ok());
        for wrong in [&[1, 1, 2, 0][..], &[0, 1, 2, 3], &[1, 3, 2, 9], &[1, 3, 2]] {
            assert!(argsort(&x, &order(wrong), false).is_err(), "{wrong:?}");
        }
    }

    fn case(check: Value, line: Value) -> Case {
        let (id, op, args) = (String::new(), String::new(), Value::Null);
        Case { id, op, kind: super::super::case::Kind::Value, args, inputs: vec![], outputs: vec![], check, line }
    }

    #[test]
    fn error_rules_reject_panics_and_plausible_numbers() {
        let refused = Outcome::Refused("no".into());
        let panicked = Outcome::Panicked("ouch".into());
        let value = |x: f64| Outcome::Value(vec![vector(&[x])]);
        for rule in ["refused", "refused_or_nonfinite", "refused_or_empty", "ends", "no_crash", "close"] {
            let case = case(json!({"rule": rule}), Value::Null);
            assert!(judge(&case, &panicked).is_err(), "{rule}");
            assert_eq!(judge(&case, &refused).is_ok(), rule != "close", "{rule}");
            assert_eq!(judge(&case, &value(1.0)).is_ok(), rule == "no_crash", "{rule}");
        }
        let nonfinite = |rule: &str, x| judge(&case(json!({"rule": rule}), Value::Null), &value(x)).is_ok();
        assert!(nonfinite("refused_or_nonfinite", INF) && nonfinite("ends", NAN));
        assert!(!nonfinite("refused", NAN) && !nonfinite("ends", INF));
        assert!(judge(&case(json!({"rule": "close", "or": "refused"}), Value::Null), &refused).is_ok());
    }

    #[test]
    fn accepted_alternatives_are_the_named_ones() {
        let wide = typed(DType::I64, &300i64.to_le_bytes());
        let narrow = typed(DType::U8, &[44]);
        assert!(equal_modulo(std::slice::from_ref(&wide), &[&narrow], |_, w| w).is_ok());
        assert!(equal_modulo(std::slice::from_ref(&narrow), &[&wide], |g, _| g).is_ok());
        assert!(equal_modulo(&[typed(DType::U8, &[45])], &[&wide], |g, _| g).is_err());
        let mut either = case(json!({"rule": "either", "rtol": 1e-9}), json!({"alt_values": [2.0]}));
        let entry = |host| super::super::case::Entry {
            name: "y".into(),
            role: Role::Plain,
            of: None,
            slot: None,
            host,
            view: vec![],
        };
        either.outputs = vec![entry(vector(&[1.0]))];
        for (x, fine) in [(1.0, true), (2.0, true), (1.5, false)] {
            assert_eq!(judge(&either, &Outcome::Value(vec![vector(&[x])])).is_ok(), fine, "{x}");
        }
    }
}
