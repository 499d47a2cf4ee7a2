//! Serde: a tensor is its dtype, its shape and its elements in row-major order.
//!
//! In a format for people an element is a number, a complex one a pair of them, and what is not finite is a word
//! (`"NaN"`, `"inf"`, `"-inf"`), since JSON has no number for it. In other formats the elements are one run of bytes,
//! little-endian. A tensor is read onto the default device of its runtime.

use super::Tensor;
use crate::dispatch_dtype;
use crate::dtype::DType;
use crate::element::{Element, Lit};
use crate::runtime::Runtime;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The form that is written and read.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Tensor")]
struct Parts<V> {
    dtype: String,
    shape: Vec<usize>,
    values: V,
}

/// An element in a format for people.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Value {
    Bool(bool),
    UInt(u64),
    Int(i64),
    Single(f32),
    Double(f64),
    Word(String),
    Pair(Box<[Value; 2]>),
}

impl Value {
    /// `narrow`: the number is one of f32, whose shortest digits say it all.
    fn of(lit: Lit, narrow: bool) -> Value {
        match lit {
            Lit::Bool(v) => Value::Bool(v),
            Lit::Int(v) => Value::Int(v),
            Lit::UInt(v) => Value::UInt(v),
            Lit::Float(v) if !v.is_finite() => Value::Word(v.to_string()),
            Lit::Float(v) if narrow => Value::Single(v as f32),
            Lit::Float(v) => Value::Double(v),
            Lit::Complex(re, im) => Value::Pair(Box::new([re, im].map(|v| Value::of(Lit::Float(v), narrow)))),
        }
    }

    /// The element of a dtype, if it is one of it.
    fn element<T: Element>(&self) -> Option<T> {
        let real = |value: &Value| match value {
            Value::UInt(v) => Some(*v as f64),
            Value::Int(v) => Some(*v as f64),
            Value::Single(v) => Some((*v).into()),
            Value::Double(v) => Some(*v),
            Value::Word(v) => v.parse().ok(),
            _ => None,
        };
        let dtype = T::DTYPE;
        let lit = match self {
            Value::Bool(v) if dtype.is_bool() => Lit::Bool(*v),
            Value::UInt(v) if dtype.is_int() => Lit::UInt(*v),
            Value::Int(v) if dtype.is_int() => Lit::Int(*v),
            Value::Pair(parts) if dtype.is_complex() => Lit::Complex(real(&parts[0])?, real(&parts[1])?),
            value if dtype.is_float() => Lit::Float(real(value)?),
            _ => return None,
        };
        let element = T::from_lit(lit);
        let whole = |lit| match lit {
            Lit::UInt(v) => i128::from(v),
            other => i128::from(other.to_i64()),
        };
        (!dtype.is_int() || whole(element.to_lit()) == whole(lit)).then_some(element)
    }
}

/// Elements in any other format.
struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        struct Run;
        impl<'de> Visitor<'de> for Run {
            type Value = Bytes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut bytes: A) -> Result<Bytes, A::Error> {
                let mut all = vec![];
                while let Some(byte) = bytes.next_element()? {
                    all.push(byte);
                }
                Ok(Bytes(all))
            }
        }
        deserializer.deserialize_byte_buf(Run)
    }
}

/// Turns every number around where the host is big-endian.
fn little_endian(mut bytes: Vec<u8>, dtype: DType) -> Vec<u8> {
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(dtype.to_real().size_in_bytes()).for_each(<[u8]>::reverse);
    }
    bytes
}

impl<R: Runtime> Serialize for Tensor<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (dtype, shape) = (self.dtype().short_name().to_owned(), self.shape().to_vec());
        if !serializer.is_human_readable() {
            let bytes = self.to_bytes().map_err(S::Error::custom)?;
            let values = Bytes(little_endian(bytes, self.dtype()));
            return Parts { dtype, shape, values }.serialize(serializer);
        }
        let narrow = !matches!(self.dtype(), DType::F64 | DType::Complex128);
        let values: Vec<Value> = dispatch_dtype!(self.dtype(), T => {
            let elements = self.try_to_vec::<T>().map_err(S::Error::custom)?;
            elements.into_iter().map(|v| Value::of(v.to_lit(), narrow)).collect()
        });
        Parts { dtype, shape, values }.serialize(serializer)
    }
}

impl<'de, R: Runtime> Deserialize<'de> for Tensor<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tensor<R>, D::Error> {
        let named = |name: &str| {
            let found = DType::ALL.into_iter().find(|d| d.short_name() == name);
            found.ok_or_else(|| D::Error::custom(format!("`{name}` is no dtype")))
        };
        let device = R::default_device();
        if !deserializer.is_human_readable() {
            let Parts { dtype, shape, values } = Parts::<Bytes>::deserialize(deserializer)?;
            let dtype = named(&dtype)?;
            let bytes = little_endian(values.0, dtype);
            return Tensor::try_from_bytes(&bytes, &shape, dtype, &device).map_err(D::Error::custom);
        }
        let Parts { dtype, shape, values } = Parts::<Vec<Value>>::deserialize(deserializer)?;
        let tensor = dispatch_dtype!(named(&dtype)?, T => {
            let elements: Option<Vec<T>> = values.iter().map(Value::element).collect();
            let elements = elements.ok_or_else(|| D::Error::custom(format!("an element that is no {dtype}")))?;
            Tensor::try_from_slice(&elements, &shape, &device)
        });
        tensor.map_err(D::Error::custom)
    }
}
