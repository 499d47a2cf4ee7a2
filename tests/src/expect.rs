//! Known gaps between what the golden cases ask and what we do, as data. One that closes is an error until its line
//! goes.

use numr_core::DType;

/// Cases that are known to fail.
#[derive(Debug, PartialEq, Eq)]
pub struct Gap {
    /// The case's name; one that ends in `*` covers all names that begin so.
    pub case: &'static str,
    /// The op, or `*`.
    pub op: &'static str,
    /// The dtype of the first operand, or any.
    pub dtype: Option<DType>,
    /// Why, and what would close it.
    pub reason: &'static str,
}

impl Gap {
    /// Whether the gap covers this case.
    pub fn covers(&self, id: &str, op: &str, dtype: Option<DType>) -> bool {
        let matches = |pattern: &str, text: &str| match pattern.strip_suffix('*') {
            Some(start) => text.starts_with(start),
            None => pattern == text,
        };
        matches(self.case, id) && matches(self.op, op) && (self.dtype.is_none() || self.dtype == dtype)
    }
}

/// Every known gap.
pub const GAPS: &[Gap] = &[Gap {
    case: "opinfo_err/*",
    op: "torch.arange",
    dtype: None,
    reason: "as in NumPy, a step that leads away gives no element; torch refuses",
}];
