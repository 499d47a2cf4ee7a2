//! Generated from the op table: every row, on every dtype, in every layout.

use numr::{AnyRuntime, Device};
use numr_core::ops::map::Row;
use numr_core::prim::{Bind, Map, MapOp};
use numr_core::runtime::Support;
use numr_core::scalar::graph::Class;
use numr_core::scalar::program::{ArgType, Program};
use numr_core::testing::{edges, eval, eval_wide, samples, ulp_distance};
use numr_core::{DType, Error, Lit, Prim, Runtime, Tensor};
use numr_tests::devices::devices;
use numr_tests::layouts::{Lay, download, upload};
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};

const COLUMNS: usize = 8;

/// The dtypes of a row's operands where the others are of `dtype`: its masks are bool.
fn dtypes(row: Row, dtype: DType) -> Vec<DType> {
    let Class::Common { masks, .. } = row.class() else { unreachable!("rows have a common dtype") };
    (0..row.arity()).map(|k| if masks >> k & 1 == 1 { DType::Bool } else { dtype }).collect()
}

/// Values for each operand, as many rows of `COLUMNS` as there are: those of the test domain, and the edges of the
/// dtype, every operand in another order so that they meet.
fn operands(row: Row, dtypes: &[DType]) -> Vec<Vec<Lit>> {
    let all = dtypes.iter().enumerate().map(|(k, &d)| {
        let mut values = samples(d, row.info().test.clone());
        values.extend(edges(d));
        let stride = [1, 5, 7][k % 3];
        let n = values.len();
        (0..120).map(move |i| values[(i * stride + k) % n]).collect()
    });
    all.collect()
}

fn map(row: Row) -> Prim {
    let binds = (0..row.arity()).map(|_| Bind::Input).collect();
    Prim::Map(Map { op: MapOp::Row(row), binds, create: None })
}

/// May a device make this of the bits that the evaluator gives? Just those, any NaN for any NaN; on WebGPU, whose
/// compilers reorder arithmetic, within twice the row's bound, as both may err, and with subnormal numbers taken for 0,
/// in the arguments, in the result, or in both.
fn fits(row: Row, device: &Device, program: &Program, args: &[Lit], got: Lit, want: Lit) -> bool {
    let dtype = program.out(0);
    if ulp_distance(dtype, got, want) == 0 || !device.to_string().starts_with("wgpu") {
        return ulp_distance(dtype, got, want) == 0;
    }
    let flushed: Vec<Lit> = args.iter().zip(&program.args).map(|(&a, &d)| flush(d, a)).collect();
    let near = |want| is_near(row, dtype, args, got, want) || is_near(row, dtype, args, got, flush(dtype, want));
    near(want) || near(eval(program, &flushed)[0])
}

/// A number that is subnormal in the arithmetic of its dtype as 0 of its sign.
fn flush(dtype: DType, x: Lit) -> Lit {
    let least = if dtype.compute().to_real() == DType::F64 { f64::MIN_POSITIVE } else { f64::from(f32::MIN_POSITIVE) };
    let part = |x: f64| if x.abs() < least { 0f64.copysign(x) } else { x };
    match x {
        Lit::Float(x) => Lit::Float(part(x)),
        Lit::Complex(re, im) => Lit::Complex(part(re), part(im)),
        other => other,
    }
}

/// Is it within twice the row's bound?
fn is_near(row: Row, dtype: DType, args: &[Lit], got: Lit, want: Lit) -> bool {
    let bound = 2.0 * row.info().ulp;
    if let (Lit::Complex(..), Lit::Complex(re, im)) = (got, want) {
        // Of the modulus, not of each part; and where that overflows, the parts are anything.
        let Lit::Complex(x, y) = got else { return false };
        let (modulus, unit) =
            (re.hypot(im), if dtype == DType::Complex64 { f64::from(f32::EPSILON) } else { f64::EPSILON });
        return !(modulus.is_finite() && x.is_finite())
            || (x - re).hypot(y - im) <= 8.0 * bound.max(1.0) * unit * modulus;
    }
    let modulus = args.iter().any(|a| matches!(a, Lit::Complex(..)));
    let bound = if modulus { bound + 4.0 } else { bound };
    ulp_distance(dtype, got, want) <= bound.ceil() as u64
}

fn check(row: Row, dtype: DType, device: &Device) -> Result<usize, String> {
    let (prim, dtypes) = (map(row), dtypes(row, dtype));
    let fail = |e: Error| format!("{} of {dtype}: {e}", row.name());
    let types: Vec<ArgType> = dtypes.iter().map(|&d| ArgType::Tensor(d)).collect();
    let values = operands(row, &dtypes);
    let shape = [values[0].len() / COLUMNS, COLUMNS];
    let tensors = |lay: Lay| -> Result<Vec<Tensor<AnyRuntime>>, Error> {
        values.iter().zip(&dtypes).map(|(v, &d)| lay.matrix(v, shape, d, device)).collect()
    };
    let run = |tensors: &[Tensor<AnyRuntime>]| Tensor::run_one(&prim, &tensors.iter().collect::<Vec<_>>());

    let program = match row.graph().program(&types) {
        Ok(program) => program,
        Err(_) => {
            return match run(&tensors(Lay::Contiguous).map_err(fail)?) {
                Err(Error::DType { op, .. }) if op == row.name() => Ok(0),
                other => Err(format!("{} of {dtype}: expected a DType error, got {other:?}", row.name())),
            };
        }
    };
    if let Support::No { reason } = AnyRuntime::supports(device, &prim, &dtypes) {
        return match run(&tensors(Lay::Contiguous).map_err(fail)?) {
            Err(Error::Unsupported { reason: given, .. }) if given == reason => Ok(0),
            other => Err(format!("{} of {dtype}: expected Unsupported, got {other:?}", row.name())),
        };
    }

    let out = program.out(0);
    let at = |i: usize| -> Vec<Lit> { values.iter().map(|v| v[i]).collect() };
    let want: Vec<Lit> = (0..values[0].len()).map(|i| eval(&program, &at(i))[0]).collect();
    for lay in Lay::ANY {
        let y = run(&tensors(lay).map_err(fail)?).map_err(fail)?;
        let got = download(&y).map_err(fail)?;
        if (y.dtype(), y.shape()) != (out, &shape[..]) {
            return Err(format!("{} of {dtype}, {lay:?}: {} {:?}", row.name(), y.dtype(), y.shape()));
        }
        if let Some(i) = (0..got.len()).find(|&i| !fits(row, device, &program, &at(i), got[i], want[i])) {
            return Err(format!("{} of {dtype}, {lay:?} at {:?}: {:?}, not {:?}", row.name(), at(i), got[i], want[i]));
        }
    }
    // The body against wider arithmetic, on its domain. f64 has none wider here: its functions are tested beside them.
    if matches!(out, DType::F32) && dtype == DType::F32 {
        let bound = row.info().ulp.ceil() as u64;
        for i in 0..want.len() {
            let args = at(i);
            let inside = args.iter().all(|a| row.info().test.contains(&a.to_f64()));
            let Some(wide) = eval_wide(&program, &args) else { break };
            let off = ulp_distance(out, want[i], Lit::Float(f64::from(wide[0].to_f64() as f32)));
            if inside && off > bound {
                return Err(format!("{} of {dtype} at {args:?}: {off} ulp, {bound} stated", row.name()));
            }
        }
    }
    // Rank 0, nothing at all, stride 0, and operands of different shapes.
    let first = |shape: &[usize], n: usize| -> Result<Vec<Tensor<AnyRuntime>>, Error> {
        values.iter().zip(&dtypes).map(|(v, &d)| upload(&v[..n], shape, d, device)).collect()
    };
    let scalar = run(&first(&[], 1).map_err(fail)?).map_err(fail)?;
    let nothing = run(&first(&[3, 0], 0).map_err(fail)?).map_err(fail)?;
    let ok =
        scalar.shape().is_empty() && fits(row, device, &program, &at(0), download(&scalar).map_err(fail)?[0], want[0]);
    if !ok || nothing.shape() != [3, 0] {
        return Err(format!("{} of {dtype}: rank 0 or empty", row.name()));
    }
    let mut rows = first(&[1, COLUMNS], COLUMNS).map_err(fail)?;
    rows[0] = Lay::Broadcast.matrix(&values[0], shape, dtypes[0], device).map_err(fail)?;
    let got = download(&run(&rows).map_err(fail)?).map_err(fail)?;
    match (0..got.len()).find(|&i| !fits(row, device, &program, &at(i % COLUMNS), got[i], want[i % COLUMNS])) {
        Some(i) => Err(format!("{} of {dtype}, broadcast, at {i}: {:?}", row.name(), got[i])),
        None => Ok(got.len() + want.len() * Lay::ANY.len()),
    }
}

fn run_grid(device: &Device) {
    // A GPU's kernels take their time to compile, each on its own.
    let next = AtomicUsize::new(0);
    let work = || -> Vec<Result<usize, String>> {
        let rows = std::iter::from_fn(|| Row::ALL.get(next.fetch_add(1, Ordering::Relaxed)));
        rows.flat_map(|&row| DType::ALL.map(|dtype| check(row, dtype, device))).collect()
    };
    let workers = std::thread::available_parallelism().map_or(1, NonZero::get);
    let checked: Vec<_> = std::thread::scope(|s| {
        let threads: Vec<_> = (0..workers).map(|_| s.spawn(work)).collect();
        threads.into_iter().flat_map(|t| t.join().expect("a check panicked")).collect()
    });
    let faults: Vec<String> = checked.iter().filter_map(|c| c.clone().err()).collect();
    let (cells, elements) =
        (checked.iter().flatten().filter(|&&n| n > 0).count(), checked.iter().flatten().sum::<usize>());
    println!("{device}: {cells} pairs of row and dtype, {elements} elements");
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert!(cells > Row::ALL.len() * 8, "only {cells} pairs ran");
}

#[test]
fn every_row_on_every_dtype_in_every_layout() {
    for device in devices() {
        run_grid(&device);
    }
}

/// The derivative of a body with a kink is wrong at the kink, so such a row must state one.
#[test]
fn a_row_with_a_kink_states_its_derivative() {
    use numr_core::scalar::graph::{Bin, Node, Un};
    let kink = |n: &Node| matches!(n, Node::Un(Un::Abs, _) | Node::Bin(Bin::Max | Bin::Min, ..) | Node::Select(..));
    for &row in Row::ALL {
        assert!(
            !(row.info().derived && row.body().nodes().iter().any(kink)),
            "{} has a kink and `d {{ auto }}`",
            row.name()
        );
    }
}
