//! Named arrays in NumPy's archive: a zip file with a `.npy` file for each.

use super::{malformed, npy, open, replace};
use numr_core::{Error, Result, Runtime, Tensor};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// Reads the arrays of a `.npz` file, as `numpy.savez` and `numpy.savez_compressed` write it, by name.
///
/// # Errors
/// `Error::Io` if the file cannot be read or is no such archive, or one with a member that is no array; as
/// [`super::read_npy`] for each array.
pub fn load_npz<R: Runtime>(path: impl AsRef<Path>, device: &R::Device) -> Result<BTreeMap<String, Tensor<R>>> {
    let path = path.as_ref();
    let what = path.display().to_string();
    let mut archive = ZipArchive::new(BufReader::new(open(path)?)).map_err(|e| fault(&what, e))?;
    let mut tensors = BTreeMap::new();
    for k in 0..archive.len() {
        let mut member = archive.by_index(k).map_err(|e| fault(&what, e))?;
        let file = member.name().map_err(|e| fault(&what, e))?.into_owned();
        let what = format!("{what}: {file}");
        let tensor = npy::read(&what, &mut member, device)?;
        // The checksum is looked at where the member ends.
        std::io::copy(&mut member, &mut std::io::sink()).map_err(|e| Error::io(&*what, e))?;
        tensors.insert(file.strip_suffix(".npy").unwrap_or(&file).to_owned(), tensor);
    }
    Ok(tensors)
}

/// Writes a `.npz` file, not compressed, as `numpy.savez` does.
///
/// # Errors
/// As [`super::write_npy`]; `Error::Io` also for a name that is given twice.
pub fn save_npz<'a, R: Runtime>(
    path: impl AsRef<Path>,
    tensors: impl IntoIterator<Item = (&'a str, &'a Tensor<R>)>,
) -> Result<()> {
    let path = path.as_ref();
    let what = path.display().to_string();
    replace(path, |beside| {
        let file = File::create(beside).map_err(|e| Error::io(&*what, e))?;
        let mut archive = ZipWriter::new(BufWriter::new(file));
        for (name, tensor) in tensors {
            let large = tensor.numel().saturating_mul(tensor.dtype().size_in_bytes()) >= 1 << 31;
            let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(large);
            archive.start_file(format!("{name}.npy"), options).map_err(|e| fault(&what, e))?;
            npy::write(&what, &mut archive, tensor)?;
        }
        let mut file = archive.finish().map_err(|e| fault(&what, e))?;
        file.flush().map_err(|e| Error::io(&*what, e))
    })
}

fn fault(what: &str, e: ZipError) -> Error {
    match e {
        ZipError::Io(e) => Error::io(what, e),
        e => malformed(what, e),
    }
}
