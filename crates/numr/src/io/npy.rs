//! One array in NumPy's format: a magic word, a version, and a header that is a Python dict, padded so that the
//! elements start at a multiple of 64 bytes.
//!
//! Source: NEP 1 and the docs of `numpy.lib.format`. Versions 1 to 3 are read: they differ in the width of the
//! header's length and in its encoding.

use super::{BIG, malformed, open, replace, swap_bytes};
use numr_core::{DType, Error, Result, Runtime, Shape, Tensor};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// NumPy's name of each dtype, without the byte order. It has none for bfloat16 and the 8-bit floats.
const NAMES: [(DType, &str); 14] = [
    (DType::F64, "f8"),
    (DType::F32, "f4"),
    (DType::F16, "f2"),
    (DType::I64, "i8"),
    (DType::I32, "i4"),
    (DType::I16, "i2"),
    (DType::I8, "i1"),
    (DType::U64, "u8"),
    (DType::U32, "u4"),
    (DType::U16, "u2"),
    (DType::U8, "u1"),
    (DType::Bool, "b1"),
    (DType::Complex64, "c8"),
    (DType::Complex128, "c16"),
];

/// A header longer than this describes no array that numr could hold.
const LONGEST: usize = 1 << 20;
/// How much memory a file is trusted with before its bytes are there.
const TRUST: usize = 1 << 26;

/// Reads the array of a `.npy` file. One in Fortran order comes as a transposed view.
///
/// # Errors
/// As [`read_npy`].
pub fn load_npy<R: Runtime>(path: impl AsRef<Path>, device: &R::Device) -> Result<Tensor<R>> {
    let path = path.as_ref();
    read(&path.display().to_string(), BufReader::new(open(path)?), device)
}

/// Writes a `.npy` file.
///
/// # Errors
/// As [`write_npy`].
pub fn save_npy<R: Runtime>(path: impl AsRef<Path>, tensor: &Tensor<R>) -> Result<()> {
    let path = path.as_ref();
    let what = path.display().to_string();
    replace(path, |beside| {
        let file = File::create(beside).map_err(|e| Error::io(&*what, e))?;
        let mut file = BufWriter::new(file);
        write(&what, &mut file, tensor)?;
        file.flush().map_err(|e| Error::io(&*what, e))
    })
}

/// Reads an array in the `.npy` format, and nothing after it.
///
/// ```
/// # use numr::prelude::*;
/// let mut bytes = vec![];
/// let x = Tensor::<CpuRuntime>::from_slice(&[1u8, 2, 3], &[3], &CpuDevice::new());
/// numr::io::write_npy(&mut bytes, &x)?;
/// let back = numr::io::read_npy::<CpuRuntime>(&bytes[..], &CpuDevice::new())?;
/// assert_eq!(back.to_vec::<u8>(), [1, 2, 3]);
/// # Ok::<(), numr::Error>(())
/// ```
///
/// # Errors
/// `Error::Io` if it cannot be read, is cut off or is no such array; `Error::Unsupported` for a dtype that numr does
/// not have; `Error::Argument` for a bool that is neither 0 nor 1; faults of the device.
pub fn read_npy<R: Runtime>(reader: impl Read, device: &R::Device) -> Result<Tensor<R>> {
    read("npy stream", reader, device)
}

/// Writes an array in the `.npy` format, version 1.0, in C order.
///
/// # Errors
/// `Error::Unsupported` for bf16 and f8, which NumPy does not have; `Error::Io`; faults of the device.
pub fn write_npy<R: Runtime>(writer: impl Write, tensor: &Tensor<R>) -> Result<()> {
    write("npy stream", writer, tensor)
}

pub(super) fn read<R: Runtime>(what: &str, mut reader: impl Read, device: &R::Device) -> Result<Tensor<R>> {
    let io = |e| Error::io(what, e);
    let bad = |reason: String| malformed(what, reason);
    let mut start = [0; 8];
    reader.read_exact(&mut start).map_err(io)?;
    let width = match start {
        [magic @ .., _, _] if magic != *MAGIC => {
            return Err(bad("this is no .npy file: the magic word is missing".into()));
        }
        [.., 1, _] => 2,
        [.., 2 | 3, _] => 4,
        [.., version, _] => return Err(bad(format!("version {version} of the .npy format; 1 to 3 are known"))),
    };
    let mut length = [0; 4];
    reader.read_exact(&mut length[..width]).map_err(io)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST {
        return Err(bad(format!("a header of {length} bytes; {LONGEST} at most")));
    }
    let header = String::from_utf8_lossy(&take(&mut reader, length).map_err(io)?).into_owned();
    let header =
        Header::parse(&header).map_err(|reason| bad(format!("{reason}, in the header `{}`", header.trim())))?;

    let (order, name) = header.descr.split_at_checked(1).unwrap_or_default();
    let swap = match order {
        "<" => BIG,
        ">" => !BIG,
        "|" | "=" => false,
        _ => return Err(bad(format!("a dtype `{}` without a byte order", header.descr))),
    };
    let Some(&(dtype, _)) = NAMES.iter().find(|(_, n)| *n == name) else {
        let reason = format!("`{what}` holds NumPy's dtype `{}`, which numr does not have", header.descr);
        return Err(Error::unsupported("read_npy", None, device.to_string(), reason));
    };
    let shape = &mut header.shape.clone()[..];
    let size = shape.iter().try_fold(dtype.size_in_bytes(), |size, &n| size.checked_mul(n));
    let size = size.ok_or_else(|| bad(format!("the size of shape {shape:?} overflows")))?;
    let mut bytes = take(&mut reader, size).map_err(io)?;
    swap_bytes(&mut bytes, dtype, swap);
    if !header.fortran_order {
        return Tensor::try_from_bytes(&bytes, shape, dtype, device);
    }
    shape.reverse();
    let order: Vec<isize> = (0..shape.len() as isize).rev().collect();
    Tensor::try_from_bytes(&bytes, shape, dtype, device)?.permute(order)
}

/// Just so many bytes. A length that the stream does not keep costs no memory.
fn take(reader: &mut impl Read, count: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(count.min(TRUST));
    reader.take(count as u64).read_to_end(&mut bytes)?;
    if bytes.len() < count {
        let reason = format!("cut off: {count} bytes were to come, {} did", bytes.len());
        return Err(std::io::Error::new(std::io::ErrorKind::UnexpectedEof, reason));
    }
    Ok(bytes)
}

pub(super) fn write<R: Runtime>(what: &str, mut writer: impl Write, tensor: &Tensor<R>) -> Result<()> {
    let dtype = tensor.dtype();
    let Some((_, name)) = NAMES.iter().find(|(d, _)| *d == dtype) else {
        let reason = "NumPy has no such dtype; save it as safetensors, or cast to f32";
        return Err(Error::unsupported("save_npy", Some(dtype), tensor.device().to_string(), reason));
    };
    let order = if dtype.to_real().size_in_bytes() == 1 { '|' } else { '<' };
    let shape = match tensor.shape() {
        [n] => format!("({n},)"),
        shape => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    };
    let mut header = format!("{{'descr': '{order}{name}', 'fortran_order': False, 'shape': {shape}, }}");
    // Magic word, version and length are ten bytes; the header ends in a new line.
    let padded = (10 + header.len() + 1).next_multiple_of(64) - 10;
    header.extend(std::iter::repeat_n(' ', padded - header.len() - 1));
    header.push('\n');
    let length = u16::try_from(header.len())
        .map_err(|_| Error::argument("save_npy", "tensor", "too many axes for a .npy header of 65535 bytes"))?;
    let mut bytes = tensor.to_bytes()?;
    swap_bytes(&mut bytes, dtype, BIG);
    let length = length.to_le_bytes();
    let parts: [&[u8]; 5] = [MAGIC, &[1, 0], &length, header.as_bytes(), &bytes];
    parts.into_iter().try_for_each(|part| writer.write_all(part)).map_err(|e| Error::io(what, e))
}

/// What a header says.
struct Header {
    descr: String,
    fortran_order: bool,
    shape: Shape,
}

impl Header {
    /// Reads the one form of Python dict that the format knows.
    fn parse(text: &str) -> Result<Header, String> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        let mut rest = Literal(text);
        rest.expect("{")?;
        while !rest.accept("}") {
            let key = rest.string()?;
            rest.expect(":")?;
            match key {
                "descr" => descr = Some(rest.descr()?.to_owned()),
                "fortran_order" => fortran_order = Some(rest.bool()?),
                "shape" => shape = Some(rest.tuple()?),
                _ => return Err(format!("an unknown key `{key}`")),
            }
            if !rest.accept(",") {
                rest.expect("}")?;
                break;
            }
        }
        match (descr, fortran_order, shape, rest.0.trim()) {
            (Some(descr), Some(fortran_order), Some(shape), "") => Ok(Header { descr, fortran_order, shape }),
            (_, _, _, "") => Err("a missing key".into()),
            (.., more) => Err(format!("`{more}` after the end")),
        }
    }
}

/// What is left of a Python literal.
struct Literal<'a>(&'a str);

impl<'a> Literal<'a> {
    fn accept(&mut self, token: &str) -> bool {
        let rest = self.0.trim_start().strip_prefix(token);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.accept(token) { Ok(()) } else { Err(format!("`{token}` was expected at `{}`", self.0)) }
    }

    fn string(&mut self) -> Result<&'a str, String> {
        let quote = if self.accept("\"") { '"' } else { self.expect("'").map(|()| '\'')? };
        let (text, rest) = self.0.split_once(quote).ok_or("a string without an end")?;
        self.0 = rest;
        Ok(text)
    }

    fn descr(&mut self) -> Result<&'a str, String> {
        if self.0.trim_start().starts_with('[') {
            return Err("a structured dtype, which numr does not have; save its fields one by one".into());
        }
        self.string()
    }

    fn bool(&mut self) -> Result<bool, String> {
        if self.accept("True") { Ok(true) } else { self.expect("False").map(|()| false) }
    }

    fn tuple(&mut self) -> Result<Shape, String> {
        let mut sizes = vec![];
        self.expect("(")?;
        while !self.accept(")") {
            let text = self.0.trim_start();
            let (digits, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
            sizes.push(digits.parse().map_err(|_| format!("a size was expected at `{text}`"))?);
            self.0 = rest;
            // Python 2 wrote long integers with an L.
            self.accept("L");
            if !self.accept(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(Shape::from(&sizes[..]))
    }
}
