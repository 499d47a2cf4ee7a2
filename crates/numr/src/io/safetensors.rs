//! Named tensors in one file, which is mapped into memory, so that only what is asked for is read.

use super::{BIG, malformed, mmap, open, replace, swap_bytes};
use ::safetensors::tensor::{Metadata, TensorView};
use ::safetensors::{Dtype, SafeTensorError, SafeTensors as Format, serialize_to_file};
use memmap2::Mmap;
use numr_core::{DType, Error, Result, Runtime, Tensor};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
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

/// An open safetensors file: its table of contents is read, its tensors when they are asked for.
///
/// The file stays mapped while this value lives. To replace it meanwhile is fine (as [`save_safetensors`] does it); to
/// write into it changes what is read, and to cut it short can end the program.
pub struct SafeTensors {
    what: String,
    map: Mmap,
    /// Where the tensors' bytes start.
    data: usize,
    header: Metadata,
}

impl SafeTensors {
    /// Opens a file and checks its table of contents.
    ///
    /// # Errors
    /// `Error::Io` if the file cannot be read or is not sound: cut off, not JSON, ranges that overlap or leave gaps,
    /// shapes that do not fit them.
    pub fn open(path: impl AsRef<Path>) -> Result<SafeTensors> {
        let what = path.as_ref().display().to_string();
        let map = mmap::map(&open(path.as_ref())?).map_err(|e| Error::io(&*what, e))?;
        let (length, header) = Format::read_metadata(&map).map_err(|e| malformed(&what, e))?;
        // The length of the header stands before it, in eight bytes.
        Ok(SafeTensors { what, map, data: 8 + length, header })
    }

    /// The names, in the order of the tensors in the file.
    pub fn names(&self) -> Vec<String> {
        self.header.offset_keys()
    }

    /// What the writer said about the file, as pairs of text.
    pub fn metadata(&self) -> BTreeMap<&str, &str> {
        self.header.metadata().iter().flatten().map(|(key, value)| (&**key, &**value)).collect()
    }

    /// The shape and the dtype of a tensor, which is not read for it.
    ///
    /// # Errors
    /// `Error::Argument` for a name that is not there; `Error::Unsupported` for a dtype that numr does not have.
    pub fn info(&self, name: &str) -> Result<(&[usize], DType)> {
        let Some(info) = self.header.info(name) else {
            let reason = format!("`{}` has no tensor `{name}`; `names` lists those it has", self.what);
            return Err(Error::argument("SafeTensors", "name", reason));
        };
        match NAMES.iter().find(|(_, format)| *format == info.dtype) {
            Some((dtype, _)) => Ok((&info.shape, *dtype)),
            None => {
                let reason = format!("tensor `{name}` is of dtype {:?}, which numr does not have", info.dtype);
                Err(Error::unsupported("SafeTensors", None, &*self.what, reason))
            }
        }
    }

    /// Reads one tensor.
    ///
    /// # Errors
    /// As [`SafeTensors::info`]; `Error::Argument` for a bool that is neither 0 nor 1; faults of the device.
    pub fn tensor<R: Runtime>(&self, name: &str, device: &R::Device) -> Result<Tensor<R>> {
        let (shape, dtype) = self.info(name)?;
        let (start, end) = self.header.info(name).map_or((0, 0), |info| info.data_offsets);
        let bytes = &self.map[self.data + start..self.data + end];
        // What is checked must be what is used, and a mapped file is not ours alone.
        let bytes = if BIG || dtype == DType::Bool {
            let mut own = bytes.to_vec();
            swap_bytes(&mut own, dtype, BIG);
            Cow::Owned(own)
        } else {
            Cow::Borrowed(bytes)
        };
        Tensor::try_from_bytes(&bytes, shape, dtype, device)
    }
}

/// Reads every tensor of a file.
///
/// # Errors
/// As [`SafeTensors::open`] and [`SafeTensors::tensor`].
pub fn load_safetensors<R: Runtime>(path: impl AsRef<Path>, device: &R::Device) -> Result<BTreeMap<String, Tensor<R>>> {
    let file = SafeTensors::open(path)?;
    file.names().into_iter().map(|name| file.tensor(&name, device).map(|tensor| (name, tensor))).collect()
}

/// Writes named tensors to a file.
///
/// # Errors
/// `Error::Unsupported` for complex128, which the format has no name for; `Error::Argument` for a name that is given
/// twice; `Error::Io`; faults of the device.
pub fn save_safetensors<'a, R: Runtime>(
    path: impl AsRef<Path>,
    tensors: impl IntoIterator<Item = (&'a str, &'a Tensor<R>)>,
) -> Result<()> {
    save_safetensors_with(path, tensors, [])
}

/// Writes named tensors to a file, and pairs of text that say something about them.
///
/// # Errors
/// As [`save_safetensors`].
pub fn save_safetensors_with<'a, R: Runtime>(
    path: impl AsRef<Path>,
    tensors: impl IntoIterator<Item = (&'a str, &'a Tensor<R>)>,
    metadata: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<()> {
    let op = "save_safetensors";
    let mut data = BTreeMap::new();
    for (name, tensor) in tensors {
        let dtype = tensor.dtype();
        let Some((_, format)) = NAMES.iter().find(|(d, _)| *d == dtype) else {
            let reason = "the safetensors format has no such dtype; save real and imaginary parts";
            return Err(Error::unsupported(op, Some(dtype), tensor.device().to_string(), reason));
        };
        let mut bytes = tensor.to_bytes()?;
        swap_bytes(&mut bytes, dtype, BIG);
        if data.insert(name, (*format, tensor.shape().to_vec(), bytes)).is_some() {
            return Err(Error::argument(op, "tensors", format!("`{name}` is there twice")));
        }
    }
    let path = path.as_ref();
    let fault = |e: SafeTensorError| match e {
        SafeTensorError::IoError(e) => Error::io(path.display().to_string(), e),
        e => malformed(&path.display().to_string(), e),
    };
    let views = data.iter().map(|(name, (dtype, shape, bytes))| {
        TensorView::new(*dtype, shape.clone(), bytes).map(|view| (*name, view)).map_err(fault)
    });
    let views = views.collect::<Result<Vec<_>>>()?;
    let metadata: HashMap<String, String> = metadata.into_iter().map(|(k, v)| (k.into(), v.into())).collect();
    let metadata = (!metadata.is_empty()).then_some(metadata);
    replace(path, |beside| serialize_to_file(views, metadata, beside).map_err(fault))
}
