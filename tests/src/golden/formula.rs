//! Cases whose operand is too big to store: a formula gives it.

use numr_core::{DType, Runtime, Tensor};
use serde_json::{Map, Value, json};

use super::call::{Call, Done, Given, Stop, Style};
use super::case::{Case, lengths};
use super::ops;

/// Bytes beyond which a case is left to machines with more memory.
const LIMIT: usize = 1 << 29;

/// The element at flat index i, by a fragment of the formula's text. The first that occurs counts.
const ELEMENTS: &[(&str, fn(usize) -> f32)] = &[
    ("i*7919 mod 1009", |i| (i * 7919 % 1009) as f32 - 504.0),
    ("i mod 1000", |i| (i % 1000) as f32),
    ("i mod 7", |i| (i % 7) as f32),
    ("column 0 = 100, column 1 = -100", |i| if i % 2 == 0 { 100.0 } else { -100.0 }),
    ("= 1 in f32", |_| 1.0),
    ("ones in f32", |_| 1.0),
    ("zeros", |_| 0.0),
    // The sizes of suite `edge` all speak of one signal.
    ("y = x + x; read y[0], y[n/2], y[n-1]", |i| (i * 7919 % 1009) as f32 - 504.0),
];

/// Runs a case of kind formula.
pub(super) fn run<R: Runtime>(case: &Case, device: &R::Device) -> Done<R> {
    let strange = |what: &str| Stop::NotMapped(format!("formula: {what}"));
    let args = &case.args;
    let text = args["formula"].as_str().ok_or_else(|| strange("none"))?;
    let shape = lengths(&args["shape"]).or_else(|| Some(vec![args["n"].as_u64()? as usize]));
    let shape = shape.ok_or_else(|| strange("no size"))?;
    let n = shape.iter().product::<usize>();
    if n > LIMIT / size_of::<f32>() {
        return Err(strange("more memory than a test takes"));
    }
    let (_, element) = ELEMENTS.iter().find(|(part, _)| text.contains(part)).ok_or_else(|| strange(text))?;
    let x = Tensor::<R>::try_from_slice(&(0..n).map(element).collect::<Vec<f32>>(), &shape, device)?;
    match case.op.as_str() {
        "add" => {
            let mut places = vec![0, n as i64 / 2, n as i64 - 1];
            if !text.contains("n/2") {
                places.remove(1);
            }
            let places = Tensor::try_from_slice(&places, &[places.len()], device)?;
            Ok(vec![x.add(&x)?.gather(0, &places)?.cast(DType::F64)?])
        }
        "cumsum_last" => Ok(vec![x.cumsum(0)?.narrow(0, n - 1, 1)?.reshape(&[])?.cast(DType::F64)?]),
        "cumsum" if text.contains("last row") => {
            let last = x.cumsum(1)?.narrow(0, shape[0] - 1, 1)?.narrow(1, shape[1] - 1, 1)?;
            Ok(vec![last.sum(.., false)?.cast(DType::F64)?])
        }
        op => {
            let known = |(name, _): &(&String, &Value)| !matches!(name.as_str(), "formula" | "n" | "shape");
            let args = args.as_object().map(|all| all.iter().filter(known)).into_iter().flatten();
            let args = json!(args.map(|(k, v)| (k.clone(), v.clone())).collect::<Map<_, _>>());
            let given = [Given { name: "x".into(), slot: None, tensor: x }];
            ops::run("", op, &Call::new(Style::Plain, &given, &args, device))
        }
    }
}
