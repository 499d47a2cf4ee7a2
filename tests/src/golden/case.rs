//! One golden case: an operation, its arguments, its operands and what must come out.

use std::io;
use std::path::Path;

use numr_core::DType;
use serde_json::Value;

use super::data::{self, Host, Store};

/// What a case asks about its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The results.
    Value,
    /// The vector-Jacobian product with the given cotangents.
    Grad,
    /// The forward derivative along the given tangents.
    Jvp,
    /// The gradient of `u . grad`, the cotangents held fixed.
    Hvp,
    /// The gradient of `u' H u`.
    D3,
    /// An error, never a panic.
    Error,
    /// A statement that holds of the results.
    Property,
    /// The results for an input that a formula gives.
    Formula,
}

/// One step of a program that views a stored base without copying it.
#[derive(Clone, Debug, PartialEq)]
pub enum View {
    /// Swap two axes.
    Swap(isize, isize),
    /// `length` places of an axis from `start` on.
    Narrow(isize, usize, usize),
    /// Every `k`-th place of an axis.
    Step(isize, usize),
    /// An axis backwards.
    Flip(isize),
    /// Broadcast to a shape.
    Expand(Vec<usize>),
    /// One place of an axis, which goes.
    Select(isize, usize),
    /// A new axis of length one.
    Unsqueeze(isize),
}

/// What an entry is, besides an operand or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An operand, or a result.
    Plain,
    /// The cotangent of the result named in `of`.
    Cotangent,
    /// The tangent of the operand named in `of`.
    Tangent,
    /// The `s` of rule `scaled`.
    Scale,
    /// A second accepted result.
    Alternative,
}

/// A tensor of a case.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name in the case.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// The name of the tensor that a cotangent or tangent belongs to.
    pub of: Option<String>,
    /// The operand's place in the list of an ONNX node.
    pub slot: Option<usize>,
    /// The stored tensor.
    pub host: Host,
    /// How to see the stored tensor, in order.
    pub view: Vec<View>,
}

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// `suite/name`, unique in its directory.
    pub id: String,
    /// Name of the operation.
    pub op: String,
    /// What is asked.
    pub kind: Kind,
    /// The operation's arguments.
    pub args: Value,
    /// Operands, cotangents and tangents.
    pub inputs: Vec<Entry>,
    /// Expected results.
    pub outputs: Vec<Entry>,
    /// The rule of agreement with its parameters.
    pub check: Value,
    /// The whole line, for fields that one rule alone reads.
    pub line: Value,
}

impl Case {
    /// The entries of `list` that play `role`.
    pub fn hosts(list: &[Entry], role: Role) -> Vec<&Host> {
        list.iter().filter(|e| e.role == role).map(|e| &e.host).collect()
    }

    /// The name of the rule of agreement.
    pub fn rule(&self) -> &str {
        self.check["rule"].as_str().unwrap_or("")
    }

    /// The outcome that is accepted instead, if the rule names one.
    pub fn or(&self) -> &str {
        self.check["or"].as_str().unwrap_or("")
    }
}

/// Reads every case of one suite.
pub fn read(dir: &Path, suite: &str) -> io::Result<Vec<Case>> {
    let store = Store::read(dir, suite)?;
    let text = data::read(dir, &format!("{suite}.jsonl"))?;
    let lines = text.split(|&b| b == b'\n').filter(|l| !l.is_empty());
    lines.map(|line| parse(serde_json::from_slice(line)?, &store).map_err(io::Error::other)).collect()
}

/// A number as cases write it: JSON has no NaN and no infinity, so these are strings.
pub fn number(value: &Value) -> Option<f64> {
    match value.as_str() {
        Some("nan") => Some(f64::NAN),
        Some("inf") => Some(f64::INFINITY),
        Some("-inf") => Some(f64::NEG_INFINITY),
        _ => value.as_f64().or(value.as_bool().map(f64::from)),
    }
}

/// An index or an axis.
pub fn integer(value: &Value) -> Option<isize> {
    value.as_i64().map(|i| i as isize)
}

/// A list of lengths.
pub fn lengths(value: &Value) -> Option<Vec<usize>> {
    value.as_array()?.iter().map(|d| d.as_u64().map(|d| d as usize)).collect()
}

fn parse(line: Value, store: &Store) -> Result<Case, String> {
    let text = |field: &str| line[field].as_str().map(str::to_owned).ok_or(format!("no {field} in {line}"));
    let entries = |field: &str| -> Result<Vec<Entry>, String> {
        line[field].as_array().into_iter().flatten().map(|e| entry(e, store)).collect()
    };
    let kind = match text("kind")?.as_str() {
        "value" => Kind::Value,
        "grad" => Kind::Grad,
        "jvp" => Kind::Jvp,
        "hvp" => Kind::Hvp,
        "d3" => Kind::D3,
        "error" => Kind::Error,
        "property" => Kind::Property,
        "formula" => Kind::Formula,
        other => return Err(format!("unknown kind {other}")),
    };
    Ok(Case {
        id: text("id")?,
        op: text("op")?,
        kind,
        args: line["args"].clone(),
        inputs: entries("in")?,
        outputs: entries("out")?,
        check: line["check"].clone(),
        line,
    })
}

fn entry(e: &Value, store: &Store) -> Result<Entry, String> {
    let bad = || format!("cannot read {e}");
    let text = |field: &str| e[field].as_str().map(str::to_owned);
    let dtype: DType = data::dtype(e["dtype"].as_str().unwrap_or("")).ok_or_else(bad)?;
    let shape = lengths(&e["shape"]).ok_or_else(bad)?;
    let host = store.get(e["key"].as_str().ok_or_else(bad)?, dtype, &shape)?;
    let role = match e["role"].as_str() {
        None => Role::Plain,
        Some("cotangent") => Role::Cotangent,
        Some("tangent") => Role::Tangent,
        Some("scale") => Role::Scale,
        Some("alternative") => Role::Alternative,
        Some(_) => return Err(bad()),
    };
    let view = e["view"].as_array().into_iter().flatten().map(view).collect::<Option<_>>().ok_or_else(bad)?;
    Ok(Entry {
        name: text("name").ok_or_else(bad)?,
        role,
        of: text("of"),
        slot: e["slot"].as_u64().map(|s| s as usize),
        host,
        view,
    })
}

fn view(step: &Value) -> Option<View> {
    let axis = |i: usize| integer(&step[i]);
    let at = |i: usize| step[i].as_u64().map(|n| n as usize);
    Some(match step[0].as_str()? {
        "t" => View::Swap(axis(1)?, axis(2)?),
        "narrow" => View::Narrow(axis(1)?, at(2)?, at(3)?),
        "step" => View::Step(axis(1)?, at(2)?),
        "flip" => View::Flip(axis(1)?),
        "expand" => View::Expand(lengths(&step[1])?),
        "select" => View::Select(axis(1)?, at(2)?),
        "unsq" => View::Unsqueeze(axis(1)?),
        _ => return None,
    })
}
