//! Files: NumPy's `.npy` and `.npz`, and safetensors.
//!
//! ```
//! use numr::io::{SafeTensors, load_npy, load_npz, save_npy, save_npz, save_safetensors};
//! use numr::prelude::*;
//!
//! # fn main() -> numr::Result<()> {
//! # let folder = std::env::temp_dir().join(format!("numr-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).map_err(|e| numr::Error::io("folder", e))?;
//! let device = CpuDevice::new();
//! let w = Tensor::<CpuRuntime>::from_slice(&[1.0f32, 2.0], &[2], &device);
//! save_npy(folder.join("w.npy"), &w)?; // one array: numpy.load("w.npy")
//! save_npz(folder.join("all.npz"), [("w", &w)])?; // named arrays: numpy.load("all.npz")["w"]
//! save_safetensors(folder.join("all.safetensors"), [("w", &w)])?; // what models are kept in
//!
//! assert_eq!(load_npy::<CpuRuntime>(folder.join("w.npy"), &device)?.to_vec::<f32>(), [1.0, 2.0]);
//! assert_eq!(load_npz::<CpuRuntime>(folder.join("all.npz"), &device)?["w"].to_vec::<f32>(), [1.0, 2.0]);
//! // Memory-mapped: what is not asked for is not read.
//! let file = SafeTensors::open(folder.join("all.safetensors"))?;
//! assert_eq!(file.tensor::<CpuRuntime>("w", &device)?.to_vec::<f32>(), [1.0, 2.0]);
//! # std::fs::remove_dir_all(&folder).ok();
//! # Ok(())
//! # }
//! ```
//!
//! | | `.npy`, `.npz` | safetensors |
//! |---|---|---|
//! | floats | f64, f32, f16 | f64, f32, f16, bf16, both f8 |
//! | integers, bool | all | all |
//! | complex | c64, c128 | c64 |
//!
//! A file is judged before it is believed: one that is cut off, lies about a size or names what numr does not have is
//! an `Err` that says so. Saving writes a file beside the path that then takes its place, so that a reader never sees
//! half of one.

mod mmap;
mod npy;
mod npz;
mod safetensors;

pub use npy::{load_npy, read_npy, save_npy, write_npy};
pub use npz::{load_npz, save_npz};
pub use safetensors::{SafeTensors, load_safetensors, save_safetensors, save_safetensors_with};

use numr_core::{DType, Error, Result};
use std::fs::{File, remove_file, rename};
use std::io::{Error as IoError, ErrorKind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|e| Error::io(path.display().to_string(), e))
}

/// What is wrong with the contents of a file or stream.
fn malformed(what: &str, reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::io(what, IoError::new(ErrorKind::InvalidData, reason))
}

/// Has `write` fill a new file beside `path`, which then takes its place.
fn replace(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    // Two threads may save to one folder, even to one path.
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    let beside = Path::new(&beside);
    let io = |e| Error::io(path.display().to_string(), e);
    write(beside).and_then(|()| rename(beside, path).map_err(io)).inspect_err(|_| {
        // What is left of a failed write is of no use; that it may not be there is no second error.
        remove_file(beside).ok();
    })
}

/// Reverses the bytes of every number where they are not in the host's order, or not to be.
fn swap_bytes(bytes: &mut [u8], dtype: DType, swap: bool) {
    // A complex number is two numbers.
    let word = dtype.to_real().size_in_bytes();
    if swap && word > 1 {
        bytes.chunks_exact_mut(word).for_each(<[u8]>::reverse);
    }
}

/// Is the host big-endian? What is written is not.
const BIG: bool = cfg!(target_endian = "big");
