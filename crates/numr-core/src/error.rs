//! The one error of the workspace.

use std::borrow::Cow;
use std::sync::Arc;

use crate::dtype::DType;
use crate::shape::Shape;

/// `std::result::Result` with [`Error`] filled in.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong: in which operation, with which operands, and what was expected.
#[non_exhaustive]
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The shapes of the operands do not fit the operation.
    #[error("{op}: expected {expected}, got {}", list(got, "no operand"))]
    Shape {
        /// The operation.
        op: &'static str,
        /// What it takes.
        expected: Cow<'static, str>,
        /// The shapes it was given.
        got: Vec<Shape>,
    },
    /// Two shapes have an axis on which they differ and neither is 1.
    #[error("{op}: shapes {} do not broadcast; aligned from the last axis, sizes must be equal or 1", list(shapes, ""))]
    Broadcast {
        /// The operation.
        op: &'static str,
        /// The shapes.
        shapes: Vec<Shape>,
    },
    /// An axis that the tensor does not have.
    #[error("{op}: axis {axis} is out of range for a tensor of {ndim} axes{}", axis_hint(*ndim))]
    Axis {
        /// The operation.
        op: &'static str,
        /// The axis asked for.
        axis: isize,
        /// The number of axes there are.
        ndim: usize,
    },
    /// The element types of the operands do not fit the operation.
    #[error("{op}: expected {expected}, got {}", list(got, "no operand"))]
    DType {
        /// The operation.
        op: &'static str,
        /// The dtypes of the operands.
        got: Vec<DType>,
        /// What it takes.
        expected: Cow<'static, str>,
    },
    /// A device cannot do this; another may.
    #[error("{op}{} is not supported on {device}: {reason}", dtype.map(|d| format!(" of {d}")).unwrap_or_default())]
    Unsupported {
        /// The operation.
        op: &'static str,
        /// The dtype it was asked for, where that is the reason.
        dtype: Option<DType>,
        /// The device.
        device: String,
        /// Why, and what to do instead.
        reason: Cow<'static, str>,
    },
    /// An index outside of its axis.
    #[error("{op}: index {index} is out of range for an axis of size {size}")]
    Index {
        /// The operation.
        op: &'static str,
        /// The index.
        index: i64,
        /// The size of the axis.
        size: usize,
    },
    /// A value that an argument may not have.
    #[error("{op}: {argument}: {reason}")]
    Argument {
        /// The operation.
        op: &'static str,
        /// The argument.
        argument: &'static str,
        /// What it may be, and what it was.
        reason: Cow<'static, str>,
    },
    /// A factorisation met a leading minor that is not positive definite.
    #[error("the leading minor of order {} is not positive definite", index + 1)]
    NotPositiveDefinite {
        /// The row where it showed.
        index: usize,
    },
    /// A matrix has no inverse.
    #[error("the matrix is singular: pivot {index} is zero")]
    Singular {
        /// The pivot that is zero.
        index: usize,
    },
    /// An iteration hit its limit.
    #[error("no convergence after {iterations} iterations; the residual is {residual:e}")]
    NoConvergence {
        /// The number of iterations made.
        iterations: usize,
        /// The residual reached.
        residual: f64,
    },
    /// A device has no room for an allocation.
    #[error("out of memory on {device}: {bytes} bytes asked for")]
    OutOfMemory {
        /// The size of the allocation.
        bytes: usize,
        /// The device.
        device: String,
    },
    /// A device stopped answering; its tensors are gone.
    #[error("device {device} is lost: {reason}")]
    DeviceLost {
        /// The device.
        device: String,
        /// What it said.
        reason: Cow<'static, str>,
    },
    /// Operands live on different devices.
    #[error("{op}: operands are on {left} and on {right}; move one with `to`")]
    DeviceMismatch {
        /// The operation.
        op: &'static str,
        /// The device of the first.
        left: String,
        /// The device of the other.
        right: String,
    },
    /// A driver or compiler below us failed.
    #[error("{op}: backend failure: {source}")]
    Backend {
        /// The operation.
        op: &'static str,
        /// Its own error.
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// An operation cannot be differentiated as asked.
    #[error("{op}: no gradient: {reason}")]
    Grad {
        /// The operation.
        op: &'static str,
        /// Why.
        reason: Cow<'static, str>,
    },
    /// A file could not be read or written.
    #[error("{what}: {source}")]
    Io {
        /// The path, or what was being read.
        what: String,
        /// The system's error.
        source: Arc<std::io::Error>,
    },
}

impl Error {
    /// An [`Error::Shape`].
    pub fn shape(op: &'static str, expected: impl Into<Cow<'static, str>>, got: &[&[usize]]) -> Error {
        Error::Shape { op, expected: expected.into(), got: got.iter().map(|&s| s.into()).collect() }
    }

    /// An [`Error::Broadcast`].
    pub fn broadcast(op: &'static str, shapes: &[&[usize]]) -> Error {
        Error::Broadcast { op, shapes: shapes.iter().map(|&s| s.into()).collect() }
    }

    /// An [`Error::DType`]; `expected` may be a [`DTypeSet`](crate::DTypeSet).
    pub fn dtype(op: &'static str, got: &[DType], expected: impl Into<Cow<'static, str>>) -> Error {
        Error::DType { op, got: got.to_vec(), expected: expected.into() }
    }

    /// An [`Error::Unsupported`].
    pub fn unsupported(
        op: &'static str,
        dtype: Option<DType>,
        device: impl Into<String>,
        reason: impl Into<Cow<'static, str>>,
    ) -> Error {
        Error::Unsupported { op, dtype, device: device.into(), reason: reason.into() }
    }

    /// An [`Error::Argument`].
    pub fn argument(op: &'static str, argument: &'static str, reason: impl Into<Cow<'static, str>>) -> Error {
        Error::Argument { op, argument, reason: reason.into() }
    }

    /// An [`Error::Backend`].
    pub fn backend(op: &'static str, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error::Backend { op, source: Arc::new(source) }
    }

    /// An [`Error::Grad`].
    pub fn grad(op: &'static str, reason: impl Into<Cow<'static, str>>) -> Error {
        Error::Grad { op, reason: reason.into() }
    }

    /// An [`Error::Io`].
    pub fn io(what: impl Into<String>, source: std::io::Error) -> Error {
        Error::Io { what: what.into(), source: Arc::new(source) }
    }
}

fn list(items: &[impl std::fmt::Display], none: &str) -> String {
    match items {
        [] => none.to_owned(),
        [one] => one.to_string(),
        [init @ .., last] => {
            let init: Vec<_> = init.iter().map(|s| s.to_string()).collect();
            format!("{} and {last}", init.join(", "))
        }
    }
}

fn axis_hint(ndim: usize) -> String {
    if ndim == 0 { String::new() } else { format!(" (expected -{ndim}..{ndim})") }
}

#[cfg(test)]
mod tests;
