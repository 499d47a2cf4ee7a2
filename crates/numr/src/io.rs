//! Files: named tensors in the safetensors format.
//!
//! ```
//! use numr::io::{load_safetensors, save_safetensors};
//! use numr::prelude::*;
//!
//! # fn main() -> numr::Result<()> {
//! let device = CpuDevice::new();
//! let w = Tensor::<CpuRuntime>::from_slice(&[1.0f32, 2.0], &[2], &device);
//! let path = std::env::temp_dir().join("numr-doc.safetensors");
//! save_safetensors(&path, [("w", &w)])?;
//! let back = load_safetensors::<CpuRuntime>(&path, &device)?;
//! assert_eq!(back["w"].to_vec::<f32>(), [1.0, 2.0]);
//! # std::fs::remove_file(&path).ok();
//! # Ok(())
//! # }
//! ```

use numr_core::{DType, Error, Result, Runtime, Tensor};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use std::collections::BTreeMap;
use std::io::{Error as IoError, ErrorKind};
use std::path::Path;

/// The format's name of each dtype; complex128 has none.
const NAMES: [(DType, Dtype); 16] = [
    (DType::F64, Dtype::F64),
    (DType::F32, Dtype::F32),
    (DType::F16, Dtype::F16),
    (DType::BF16, Dtype::BF16),
    (DType::FP8E4M3, Dtype::F8_E4M3),
    (DType::FP8E5M2, Dtype::F8_E5M2),
    (DType::I64, Dtype::I64),
    (DType::I32, Dtype::I32),
    (DType::I16, Dtype::I16),
    (DType::I8, Dtype::I8),
    (DType::U64, Dtype::U64),
    (DType::U32, Dtype::U32),
    (DType::U16, Dtype::U16),
    (DType::U8, Dtype::U8),
    (DType::Bool, Dtype::BOOL),
    (DType::Complex64, Dtype::C64),
];

/// Writes named tensors, in the order of their names, to a file beside `path` that then takes its place: a reader
/// never sees half of it.
///
/// # Errors
/// `Error::Unsupported` for complex128, which the format has no name for; `Error::Io`; faults of the device.
pub fn save_safetensors<'a, R: Runtime>(
    path: impl AsRef<Path>,
    tensors: impl IntoIterator<Item = (&'a str, &'a Tensor<R>)>,
) -> Result<()> {
    let path = path.as_ref();
    let mut data = Vec::new();
    for (name, tensor) in tensors {
        let dtype = tensor.dtype();
        let Some((_, format)) = NAMES.iter().find(|(d, _)| *d == dtype) else {
            let reason = "the safetensors format has no such dtype; save real and imaginary parts";
            return Err(Error::unsupported("save_safetensors", Some(dtype), tensor.device().to_string(), reason));
        };
        data.push((name, *format, tensor.shape().to_vec(), little_endian(tensor.to_bytes()?, dtype)));
    }
    let views =
        data.iter().map(|(name, dtype, shape, bytes)| Ok((*name, TensorView::new(*dtype, shape.clone(), bytes)?)));
    let views = views.collect::<Result<Vec<_>, safetensors::SafeTensorError>>().map_err(|e| malformed(path, e))?;
    let bytes = safetensors::serialize(views, None).map_err(|e| malformed(path, e))?;
    let beside = path.with_extension(format!("{}.tmp", std::process::id()));
    let written = std::fs::write(&beside, bytes).and_then(|()| std::fs::rename(&beside, path));
    written.map_err(|e| {
        // What is left of a failed write is of no use; that it may not be there is no second error.
        std::fs::remove_file(&beside).ok();
        Error::io(path.display().to_string(), e)
    })
}

/// Reads every tensor of a file.
///
/// # Errors
/// `Error::Io` if the file cannot be read or is not sound; `Error::Unsupported` for a dtype that numr does not have;
/// faults of the device.
pub fn load_safetensors<R: Runtime>(path: impl AsRef<Path>, device: &R::Device) -> Result<BTreeMap<String, Tensor<R>>> {
    let path = path.as_ref();
    let bytes = std::fs::read(path).map_err(|e| Error::io(path.display().to_string(), e))?;
    let file = SafeTensors::deserialize(&bytes).map_err(|e| malformed(path, e))?;
    let mut tensors = BTreeMap::new();
    for (name, view) in file.tensors() {
        let Some((dtype, _)) = NAMES.iter().find(|(_, f)| *f == view.dtype()) else {
            let reason = format!("tensor `{name}` is of dtype {:?}, which numr does not have", view.dtype());
            return Err(Error::unsupported("load_safetensors", None, device.to_string(), reason));
        };
        let data = little_endian(view.data().to_vec(), *dtype);
        tensors.insert(name, Tensor::try_from_bytes(&data, view.shape(), *dtype, device)?);
    }
    Ok(tensors)
}

/// The format is little-endian: on a big-endian host every number is turned around, either way.
fn little_endian(mut bytes: Vec<u8>, dtype: DType) -> Vec<u8> {
    if cfg!(target_endian = "big") {
        // A complex number is two numbers.
        let word = dtype.to_real().size_in_bytes();
        bytes.chunks_exact_mut(word).for_each(<[u8]>::reverse);
    }
    bytes
}

fn malformed(path: &Path, e: safetensors::SafeTensorError) -> Error {
    Error::io(path.display().to_string(), IoError::new(ErrorKind::InvalidData, e))
}
