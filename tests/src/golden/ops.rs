//! The map from the names that cases use to calls of ours, for every runtime.
//!
//! One entry serves the plain spelling and torch's, whose arguments differ in name and place only. An op that the two
//! understand differently has an entry under its full name, which is looked up first.

use numr_core::ops::map::Row;
use numr_core::prim::{Bind, Map, MapOp, Prim};
use numr_core::{Runtime, Tensor};
use smallvec::SmallVec;

use super::call::{Arg, Call, Done, Stop, Style};

mod contract;
mod elementwise;
mod index;
mod layout;
mod loss;
mod onnx;
mod order;
mod reduce;
mod shape;

/// How to run an op.
pub type Op<R> = fn(&Call<'_, R>) -> Done<R>;

/// One result.
fn one<R: Runtime>(result: numr_core::Result<Tensor<R>>) -> Done<R> {
    Ok(vec![result?])
}

/// Runs a call of `op` in a case of `suite`, if we can.
pub fn run<R: Runtime>(suite: &str, op: &str, call: &Call<'_, R>) -> Done<R> {
    let done = if let (Style::Onnx, Some(node)) = (call.style, op.strip_prefix("onnx.")) {
        onnx::run(node, call).unwrap_or_else(|| Err(Stop::NotMapped(String::new())))?
    } else {
        let spelling = if call.style == Style::Torch { "torch" } else { "plain" };
        let name = bare(op);
        let path = op.strip_prefix("torch.").unwrap_or(op);
        // A path of one part is a name that both spellings may have.
        let path = if path.contains('.') { path } else { "" };
        let names = [&format!("{suite}.{name}"), path, &format!("{spelling}.{name}"), name];
        let tables = [
            elementwise::lookup,
            contract::lookup,
            loss::lookup,
            order::lookup,
            reduce::lookup,
            shape::lookup,
            index::lookup,
            layout::lookup,
        ];
        match names.iter().find_map(|name| tables.iter().find_map(|lookup| lookup(name))) {
            Some(entry) => entry(call)?,
            None => apply_named(name, call)?,
        }
    };
    match call.unread() {
        Some(argument) => Err(Stop::NotMapped(format!("argument {argument}"))),
        None => Ok(done),
    }
}

/// The name without the spelling's prefix and torch's modules.
fn bare(op: &str) -> &str {
    let name = op.strip_prefix("torch.").unwrap_or(op);
    ["nn.functional.", "special.", "linalg."].iter().find_map(|m| name.strip_prefix(m)).unwrap_or(name)
}

/// The row of the op table with this name.
pub fn row(name: &str) -> Option<Row> {
    Row::ALL.iter().copied().find(|row| row.name() == name)
}

/// Runs the row of this name.
fn apply_named<R: Runtime>(name: &str, call: &Call<'_, R>) -> Done<R> {
    apply(row(name).ok_or_else(|| Stop::NotMapped(String::new()))?, call)
}

/// Runs a row of the op table on the call's operands in order. A binary op that is given one operand uses it twice.
pub fn apply<R: Runtime>(row: Row, call: &Call<'_, R>) -> Done<R> {
    let names = ["input", "other exponent", "third"];
    let at = |i: usize| if call.style == Style::Plain && call.operands.len() == 1 { 0 } else { i };
    let args = (0..row.arity()).map(|i| call.arg(at(i), names[i])).collect::<Result<Vec<_>, Stop>>()?;
    // No call of ours starts from a number, and torch has some that take none at all.
    let strict = [Row::Maximum, Row::Minimum, Row::Fmax, Row::Fmin, Row::Atan2, Row::Ldexp].contains(&row)
        || [Row::LogicalAnd, Row::LogicalOr, Row::LogicalXor].contains(&row);
    let number = |i: usize| matches!(args.get(i), Some(Arg::Number(_)));
    if number(0) || call.style == Style::Torch && strict && number(1) {
        return Err(Stop::NotMapped("a number for a tensor".into()));
    }
    let binds = args.iter().map(|a| match a {
        Arg::Tensor(_) => Bind::Input,
        Arg::Number(l) => Bind::Scalar(*l),
    });
    let tensors: SmallVec<[&Tensor<R>; 3]> = args
        .iter()
        .filter_map(|a| match a {
            Arg::Tensor(t) => Some(t),
            Arg::Number(_) => None,
        })
        .collect();
    let map = Map { op: MapOp::Row(row), binds: binds.collect(), create: None };
    one(Tensor::run_one_on(call.device, &Prim::Map(map), &tensors))
}
