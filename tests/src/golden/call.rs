//! A call as a case states it: operands and arguments, in the three spellings that cases use.

use std::cell::RefCell;
use std::collections::BTreeSet;

use numr_core::ops::operands::Operand;
use numr_core::{Axes, DType, Error, Lit, Runtime, Tensor, promote_weak};
use serde_json::Value;

use super::case::{integer, lengths, number};
use super::data::dtype;

/// Why a call led to no result.
#[derive(Debug)]
pub enum Stop {
    /// The library refused it.
    Error(Error),
    /// The call asks for something that the mapper, or the library, does not know yet.
    NotMapped(String),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

/// What running a call gives.
pub type Done<R> = Result<Vec<Tensor<R>>, Stop>;

/// How a case spells operands and arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Operands in order; arguments by name.
    Plain,
    /// `input`, `args` and `kwargs`, in which `{"$t": name}` stands for an operand.
    Torch,
    /// Operands by slot; attributes by name.
    Onnx,
}

/// A tensor of a call.
pub struct Given<R: Runtime> {
    /// Its name in the case.
    pub name: String,
    /// Its place in the list of an ONNX node.
    pub slot: Option<usize>,
    /// The tensor.
    pub tensor: Tensor<R>,
}

/// A tensor, or a number that adapts to the tensors it meets.
#[derive(Clone)]
pub enum Arg<R: Runtime> {
    /// A tensor.
    Tensor(Tensor<R>),
    /// A number.
    Number(Lit),
}

impl<R: Runtime> Arg<R> {
    /// The argument as an op takes it.
    pub fn operand(&self) -> Operand<'_, R> {
        match self {
            Arg::Tensor(t) => Operand::Tensor(t),
            Arg::Number(l) => Operand::Scalar(*l),
        }
    }
}

/// A call on the runtime that runs it.
pub struct Call<'a, R: Runtime> {
    /// How it is spelled.
    pub style: Style,
    /// Its operands.
    pub operands: &'a [Given<R>],
    /// Its arguments.
    pub args: &'a Value,
    /// Where it runs.
    pub device: &'a R::Device,
    read: RefCell<BTreeSet<String>>,
}

const NULL: &Value = &Value::Null;

impl<'a, R: Runtime> Call<'a, R> {
    /// A call, no argument of which is read yet.
    pub fn new(style: Style, operands: &'a [Given<R>], args: &'a Value, device: &'a R::Device) -> Self {
        Call { style, operands, args, device, read: RefCell::default() }
    }

    /// The argument at position `at` (0 is `input`) or of one of `names`, which are separated by spaces; null if absent.
    pub fn value(&self, at: usize, names: &str) -> &'a Value {
        let named = |map: &'a Value| {
            let name = names.split(' ').find(|&n| map.get(n).is_some())?;
            self.read.borrow_mut().insert(name.to_owned());
            map.get(name)
        };
        if self.style != Style::Torch {
            return named(self.args).unwrap_or(NULL);
        }
        if at == 0 {
            return &self.args["input"];
        }
        if let Some(value) = self.args["args"].get(at - 1) {
            self.read.borrow_mut().insert(at.to_string());
            return value;
        }
        named(&self.args["kwargs"]).unwrap_or(NULL)
    }

    /// Reads arguments that say nothing about the result.
    pub fn skip(&self, names: &str) {
        self.read.borrow_mut().extend(names.split(' ').map(str::to_owned));
    }

    /// An argument that nobody read, though it says something.
    pub fn unread(&self) -> Option<String> {
        let read = self.read.borrow();
        let idle = |name: &str, value: &Value| {
            value.is_null() || name == "device" && value == "cpu" || name == "requires_grad" && value == false
        };
        let map = if self.style == Style::Torch { &self.args["kwargs"] } else { self.args };
        let by_name = map.as_object().into_iter().flatten();
        let named = by_name.filter(|(n, v)| !idle(n, v) && !read.contains(*n)).map(|(n, _)| n.clone()).next();
        let listed = if self.style == Style::Torch { self.args["args"].as_array() } else { None };
        let positions = listed.into_iter().flatten().enumerate().map(|(i, v)| ((i + 1).to_string(), v));
        named.or_else(|| positions.filter(|(i, v)| !v.is_null() && !read.contains(i)).map(|(i, _)| i).next())
    }

    /// The stop that says that argument `names` is not understood.
    pub fn strange(&self, at: usize, names: &str) -> Stop {
        Stop::NotMapped(format!("argument {names} = {}", self.value(at, names)))
    }

    fn named(&self, name: &str) -> Option<&'a Tensor<R>> {
        self.operands.iter().find(|o| o.name == name).map(|o| &o.tensor)
    }

    /// The tensor or number at position `at` or of name `names`, if the call has one.
    pub fn maybe_arg(&self, at: usize, names: &str) -> Result<Option<Arg<R>>, Stop> {
        let tensor = match self.style {
            Style::Plain => self.operands.get(at),
            Style::Onnx => self.operands.iter().find(|o| o.slot == Some(at)),
            Style::Torch => None,
        };
        if let Some(given) = tensor {
            return Ok(Some(Arg::Tensor(given.tensor.clone())));
        }
        match self.value(at, names) {
            Value::Null => Ok(None),
            value => self.arg_of(value).map(Some).ok_or_else(|| self.strange(at, names)),
        }
    }

    /// The tensor or number at position `at` or of name `names`.
    pub fn arg(&self, at: usize, names: &str) -> Result<Arg<R>, Stop> {
        self.maybe_arg(at, names)?.ok_or_else(|| Stop::NotMapped(format!("no operand {names}")))
    }

    /// The tensor at position `at` or of name `names`, if the call has one. A number becomes a tensor without axes, of
    /// the dtype that it would adapt to.
    pub fn maybe(&self, at: usize, names: &str) -> Result<Option<Tensor<R>>, Stop> {
        Ok(match self.maybe_arg(at, names)? {
            None => None,
            Some(Arg::Tensor(t)) => Some(t),
            Some(Arg::Number(_)) if at == 0 => return Err(Stop::NotMapped("a number for a tensor".into())),
            Some(Arg::Number(lit)) => {
                let partner = self.operands.first().map_or(DType::Bool, |o| o.tensor.dtype());
                Some(Tensor::try_full(&[], lit, promote_weak(partner, lit.weak()), self.device)?)
            }
        })
    }

    /// The tensor at position `at` or of name `names`.
    pub fn t(&self, at: usize, names: &str) -> Result<Tensor<R>, Stop> {
        self.maybe(at, names)?.ok_or_else(|| Stop::NotMapped(format!("no operand {names}")))
    }

    /// The tensor that is operand `plain` in the plain spelling and argument `torch` or `name` in torch's.
    pub fn nth(&self, plain: usize, torch: usize, name: &str) -> Result<Tensor<R>, Stop> {
        self.t(if self.style == Style::Torch { torch } else { plain }, name)
    }

    /// The tensor that a keyword names, or in the plain spelling an operand's own name.
    pub fn named_tensor(&self, name: &str) -> Result<Option<Tensor<R>>, Stop> {
        if self.style == Style::Torch { self.maybe(usize::MAX, name) } else { Ok(self.named(name).cloned()) }
    }

    /// The first operand.
    pub fn x(&self) -> Result<Tensor<R>, Stop> {
        self.t(0, "input")
    }

    /// What `value` stands for.
    pub fn arg_of(&self, value: &Value) -> Option<Arg<R>> {
        match value["$t"].as_str() {
            Some(name) => self.named(name).cloned().map(Arg::Tensor),
            None => literal(value).map(Arg::Number),
        }
    }

    /// All operands in order, or those of the list that is the first argument.
    pub fn all(&self) -> Result<Vec<Tensor<R>>, Stop> {
        match (self.style, &self.args["input"]) {
            (Style::Torch, Value::Array(list)) => {
                let tensor = |v| match self.arg_of(v) {
                    Some(Arg::Tensor(t)) => Ok(t),
                    _ => Err(self.strange(0, "input")),
                };
                list.iter().map(tensor).collect()
            }
            (Style::Torch, _) => {
                let count = 1 + self.args["args"].as_array().map_or(0, Vec::len);
                (0..count).map(|at| self.t(at, "")).collect()
            }
            _ => Ok(self.operands.iter().map(|o| o.tensor.clone()).collect()),
        }
    }

    /// A number, as an op takes it.
    pub fn number(&self, at: usize, names: &str) -> Result<Arg<R>, Stop> {
        self.lit(at, names).map(Arg::Number)
    }

    /// A number, as an op takes it; `default` if the argument is absent.
    pub fn maybe_number(&self, at: usize, names: &str, default: i64) -> Result<Arg<R>, Stop> {
        Ok(Arg::Number(self.maybe_lit(at, names)?.unwrap_or(Lit::Int(default))))
    }

    /// A number as a literal that adapts to its partner's dtype, if the argument is there.
    pub fn maybe_lit(&self, at: usize, names: &str) -> Result<Option<Lit>, Stop> {
        let value = self.value(at, names);
        if value.is_null() { Ok(None) } else { literal(value).map(Some).ok_or_else(|| self.strange(at, names)) }
    }

    /// A number as a literal that adapts to its partner's dtype.
    pub fn lit(&self, at: usize, names: &str) -> Result<Lit, Stop> {
        self.maybe_lit(at, names)?.ok_or_else(|| self.strange(at, names))
    }

    /// A number, `default` if the argument is absent.
    pub fn f64(&self, at: usize, names: &str, default: f64) -> Result<f64, Stop> {
        let value = self.value(at, names);
        if value.is_null() { Ok(default) } else { number(value).ok_or_else(|| self.strange(at, names)) }
    }

    /// An integer, if the argument is there.
    pub fn maybe_int(&self, at: usize, names: &str) -> Result<Option<isize>, Stop> {
        let value = self.value(at, names);
        if value.is_null() { Ok(None) } else { integer(value).map(Some).ok_or_else(|| self.strange(at, names)) }
    }

    /// An integer.
    pub fn int(&self, at: usize, names: &str) -> Result<isize, Stop> {
        self.maybe_int(at, names)?.ok_or_else(|| self.strange(at, names))
    }

    /// A length or a count.
    pub fn size(&self, at: usize, names: &str) -> Result<usize, Stop> {
        self.value(at, names).as_u64().map(|n| n as usize).ok_or_else(|| self.strange(at, names))
    }

    /// A flag, `default` if the argument is absent; ONNX writes 0 and 1.
    pub fn flag(&self, at: usize, names: &str, default: bool) -> Result<bool, Stop> {
        match self.value(at, names) {
            Value::Null => Ok(default),
            Value::Bool(b) => Ok(*b),
            value => integer(value).map(|i| i != 0).ok_or_else(|| self.strange(at, names)),
        }
    }

    /// A word, `default` if the argument is absent.
    pub fn word(&self, at: usize, names: &str, default: &'a str) -> Result<&'a str, Stop> {
        match self.value(at, names) {
            Value::Null => Ok(default),
            value => value.as_str().ok_or_else(|| self.strange(at, names)),
        }
    }

    /// A dtype, if the argument is there.
    pub fn maybe_dtype(&self, at: usize, names: &str) -> Result<Option<DType>, Stop> {
        let value = self.value(at, names);
        if value.is_null() {
            return Ok(None);
        }
        let short = |name: &str| match name.strip_prefix("torch.") {
            Some("float64" | "double") => dtype("f64"),
            Some("float32" | "float") => dtype("f32"),
            Some("float16") => dtype("f16"),
            Some("bfloat16") => dtype("bf16"),
            Some("complex64") => dtype("c64"),
            Some("complex128") => dtype("c128"),
            Some("bool") => dtype("bool"),
            Some(int) => dtype(&int.replace("uint", "u").replace("int", "i")),
            None => dtype(name),
        };
        value.as_str().and_then(short).map(Some).ok_or_else(|| self.strange(at, names))
    }

    /// Axes: none given, or an empty list, means all.
    pub fn axes(&self, at: usize, names: &str) -> Result<Axes, Stop> {
        let list = match self.value(at, names) {
            Value::Null => return Ok(Axes::All),
            Value::Array(list) if list.is_empty() => return Ok(Axes::All),
            Value::Array(list) => list.iter().map(integer).collect::<Option<Vec<_>>>(),
            value => integer(value).map(|i| vec![i]),
        };
        list.map(Axes::from).ok_or_else(|| self.strange(at, names))
    }

    /// A list of integers, or a single one, or (in torch's spelling) the rest of the positions from `at` on.
    pub fn ints(&self, at: usize, names: &str) -> Result<Vec<isize>, Stop> {
        let value = self.value(at, names);
        let list = match value {
            Value::Array(list) => list.iter().map(integer).collect::<Option<Vec<_>>>(),
            Value::Number(_) if self.style == Style::Torch => {
                let count = self.args["args"].as_array().map_or(0, Vec::len);
                (at..=count.max(at)).map(|i| integer(self.value(i, names))).collect()
            }
            value => integer(value).map(|i| vec![i]),
        };
        list.ok_or_else(|| self.strange(at, names))
    }

    /// A list of lengths.
    pub fn lengths(&self, at: usize, names: &str) -> Result<Vec<usize>, Stop> {
        lengths(self.value(at, names)).ok_or_else(|| self.strange(at, names))
    }
}

/// A JSON number as a literal: whole numbers are integers.
pub fn literal(value: &Value) -> Option<Lit> {
    Some(match value {
        Value::Bool(b) => Lit::Bool(*b),
        Value::Object(z) => Lit::Complex(number(z.get("re")?)?, number(z.get("im")?)?),
        Value::Number(n) if n.is_i64() => Lit::Int(n.as_i64()?),
        Value::Number(n) if n.is_u64() => Lit::UInt(n.as_u64()?),
        other => Lit::Float(number(other)?),
    })
}
