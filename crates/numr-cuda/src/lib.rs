//! The CUDA backend of numr. It is not written yet: the crate holds its place in the workspace and says so when asked.

#![forbid(unsafe_code)]

use numr_core::{Error, Result};

/// The names of the CUDA devices of this machine.
///
/// **Errors**: always [`Error::Unsupported`], until the backend exists.
///
/// ```
/// let error = numr_cuda::devices().unwrap_err();
/// assert!(error.to_string().contains("not there yet"));
/// ```
pub fn devices() -> Result<Vec<String>> {
    Err(Error::Unsupported {
        op: "devices",
        dtype: None,
        device: "cuda".to_owned(),
        reason: "the CUDA backend is not there yet; use \"cpu\"".into(),
    })
}
