//! Tensors on the host, as bytes with a dtype and a shape, and the files that hold them.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use numr_core::DType;
use safetensors::SafeTensors;
use safetensors::tensor::Metadata;

/// A tensor in row-major order on the host. Complex elements are (re, im) pairs of their dtype's half.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Element type.
    pub dtype: DType,
    /// Lengths of the axes.
    pub shape: Vec<usize>,
    /// Little-endian elements, row-major.
    pub bytes: Vec<u8>,
}

/// The elements of a [`Host`], widened without loss.
#[derive(Clone, Debug, PartialEq)]
pub enum Numbers {
    /// Integers and booleans.
    Int(Vec<i128>),
    /// Every floating type.
    Real(Vec<f64>),
    /// Every complex type, as (re, im).
    Complex(Vec<[f64; 2]>),
}

impl Numbers {
    /// The elements as complex numbers.
    pub fn complex(&self) -> Vec<[f64; 2]> {
        match self {
            Numbers::Int(v) => v.iter().map(|&i| [i as f64, 0.0]).collect(),
            Numbers::Real(v) => v.iter().map(|&r| [r, 0.0]).collect(),
            Numbers::Complex(v) => v.clone(),
        }
    }

    /// The real parts.
    pub fn real(&self) -> Vec<f64> {
        self.complex().into_iter().map(|z| z[0]).collect()
    }
}

/// The dtype that a case calls `name`, if it is one.
pub fn dtype(name: &str) -> Option<DType> {
    Some(match name {
        "bool" => DType::Bool,
        "i8" => DType::I8,
        "i16" => DType::I16,
        "i32" => DType::I32,
        "i64" => DType::I64,
        "u8" => DType::U8,
        "u16" => DType::U16,
        "u32" => DType::U32,
        "u64" => DType::U64,
        "f8e4m3" => DType::FP8E4M3,
        "f8e5m2" => DType::FP8E5M2,
        "f16" => DType::F16,
        "bf16" => DType::BF16,
        "f32" => DType::F32,
        "f64" => DType::F64,
        "c64" => DType::Complex64,
        "c128" => DType::Complex128,
        _ => return None,
    })
}

/// Bytes of one element of `dtype`.
pub fn width(dtype: DType) -> usize {
    match dtype {
        DType::Bool | DType::I8 | DType::U8 | DType::FP8E4M3 | DType::FP8E5M2 => 1,
        DType::I16 | DType::U16 | DType::F16 | DType::BF16 => 2,
        DType::I32 | DType::U32 | DType::F32 => 4,
        DType::I64 | DType::U64 | DType::F64 | DType::Complex64 => 8,
        _ => 16,
    }
}

/// An 8-bit float with `mantissa` bits of mantissa. The finite-only format (e4m3) has one NaN and no infinity.
fn small_float(bits: u8, mantissa: i32, finite_only: bool) -> f64 {
    let sign = if bits & 0x80 != 0 { -1.0 } else { 1.0 };
    let top = (1 << (7 - mantissa)) - 1;
    let bias = top >> 1;
    let (exponent, fraction) = ((bits & 0x7f) as i32 >> mantissa, (bits & 0x7f) as i32 & ((1 << mantissa) - 1));
    let full = (1 << mantissa) - 1;
    if finite_only && exponent == top && fraction == full {
        return f64::NAN;
    }
    if !finite_only && exponent == top {
        return if fraction == 0 { sign * f64::INFINITY } else { f64::NAN };
    }
    let (scale, lead) = if exponent == 0 { (1, 0) } else { (exponent, full + 1) };
    sign * f64::from(lead + fraction) * 2f64.powi(scale - bias - mantissa)
}

impl Host {
    /// A tensor from its parts; `None` unless `bytes` holds exactly the elements that `shape` asks for.
    pub fn new(dtype: DType, shape: Vec<usize>, bytes: Vec<u8>) -> Option<Host> {
        let len = shape.iter().try_fold(width(dtype), |n, &d| n.checked_mul(d))?;
        (bytes.len() == len).then_some(Host { dtype, shape, bytes })
    }

    /// A vector of f64.
    pub fn vector(values: &[f64]) -> Host {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Host { dtype: DType::F64, shape: vec![values.len()], bytes }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / width(self.dtype)
    }

    /// True if there is no element.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The elements, widened without loss.
    pub fn numbers(&self) -> Numbers {
        fn each<const N: usize, T>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> Vec<T> {
            bytes.as_chunks::<N>().0.iter().map(|c| read(*c)).collect()
        }
        let b = &self.bytes[..];
        match self.dtype {
            DType::Bool | DType::U8 => Numbers::Int(each(b, |[x]| x.into())),
            DType::I8 => Numbers::Int(each(b, |x| i8::from_le_bytes(x).into())),
            DType::I16 => Numbers::Int(each(b, |x| i16::from_le_bytes(x).into())),
            DType::I32 => Numbers::Int(each(b, |x| i32::from_le_bytes(x).into())),
            DType::I64 => Numbers::Int(each(b, |x| i64::from_le_bytes(x).into())),
            DType::U16 => Numbers::Int(each(b, |x| u16::from_le_bytes(x).into())),
            DType::U32 => Numbers::Int(each(b, |x| u32::from_le_bytes(x).into())),
            DType::U64 => Numbers::Int(each(b, |x| u64::from_le_bytes(x).into())),
            DType::FP8E4M3 => Numbers::Real(each(b, |[x]| small_float(x, 3, true))),
            DType::FP8E5M2 => Numbers::Real(each(b, |[x]| small_float(x, 2, false))),
            DType::F16 => Numbers::Real(each(b, |x| f16::from_le_bytes(x).into())),
            DType::BF16 => Numbers::Real(each(b, |x| bf16::from_le_bytes(x).into())),
            DType::F32 => Numbers::Real(each(b, |x| f32::from_le_bytes(x).into())),
            DType::F64 => Numbers::Real(each(b, f64::from_le_bytes)),
            DType::Complex64 => {
                let v = each(b, |x| f64::from(f32::from_le_bytes(x)));
                Numbers::Complex(v.as_chunks::<2>().0.to_vec())
            }
            _ => Numbers::Complex(each(b, f64::from_le_bytes).as_chunks::<2>().0.to_vec()),
        }
    }

    /// A copy whose axis `i` is axis `axes[i]` of this tensor.
    pub fn permuted(&self, axes: &[usize]) -> Host {
        let strides = row_major(&self.shape);
        let shape: Vec<usize> = axes.iter().map(|&a| self.shape[a]).collect();
        let moved: Vec<isize> = axes.iter().map(|&a| strides[a] as isize).collect();
        self.walk(shape, 0, &moved)
    }

    /// A copy with every axis reversed.
    pub fn reversed(&self) -> Host {
        let bytes = self.bytes.chunks_exact(width(self.dtype)).rev().flatten().copied().collect();
        Host { dtype: self.dtype, shape: self.shape.clone(), bytes }
    }

    /// A bigger tensor that holds this one at `before` of every axis, with `after` more beyond it, in a sea of
    /// all-ones bytes (NaN in floats, -1 in signed integers; `true` in booleans).
    pub fn embedded(&self, before: usize, after: usize) -> Host {
        let shape: Vec<usize> = self.shape.iter().map(|d| d + before + after).collect();
        let w = width(self.dtype);
        let filler = if self.dtype == DType::Bool { 1 } else { 0xff };
        let strides = row_major(&shape);
        let mut bytes = vec![filler; shape.iter().product::<usize>() * w];
        let mut index = vec![0; shape.len()];
        for element in self.bytes.chunks_exact(w) {
            let at: usize = index.iter().zip(&strides).map(|(i, s)| (i + before) * s).sum();
            bytes[at * w..(at + 1) * w].copy_from_slice(element);
            advance(&mut index, &self.shape);
        }
        Host { dtype: self.dtype, shape, bytes }
    }

    /// The elements at `offset + sum(index * strides)` for every index of `shape`.
    fn walk(&self, shape: Vec<usize>, offset: isize, strides: &[isize]) -> Host {
        let w = width(self.dtype);
        let len: usize = shape.iter().product();
        let mut bytes = Vec::with_capacity(len * w);
        let mut index = vec![0; shape.len()];
        for _ in 0..len {
            let at = offset + index.iter().zip(strides).map(|(&i, s)| i as isize * s).sum::<isize>();
            bytes.extend_from_slice(&self.bytes[at as usize * w..][..w]);
            advance(&mut index, &shape);
        }
        Host { dtype: self.dtype, shape, bytes }
    }
}

/// Strides of a row-major tensor, in elements.
fn row_major(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * shape[i];
    }
    strides
}

/// Moves `index` to the next place of `shape` in row-major order.
fn advance(index: &mut [usize], shape: &[usize]) {
    for (i, &d) in index.iter_mut().zip(shape).rev() {
        *i += 1;
        if *i < d {
            return;
        }
        *i = 0;
    }
}

/// The tensors of one suite.
pub struct Store {
    raw: Vec<u8>,
    start: usize,
    header: Metadata,
}

impl Store {
    /// Reads `<suite>.safetensors` or its compressed form.
    pub fn read(dir: &Path, suite: &str) -> io::Result<Store> {
        let raw = read(dir, &format!("{suite}.safetensors"))?;
        let (n, header) = SafeTensors::read_metadata(&raw).map_err(io::Error::other)?;
        Ok(Store { start: n + 8, raw, header })
    }

    /// The tensor stored under `key`, seen as `dtype` and `shape`; an error text if it is not there or does not fit.
    pub fn get(&self, key: &str, dtype: DType, shape: &[usize]) -> Result<Host, String> {
        let info = self.header.info(key).ok_or_else(|| format!("no tensor {key}"))?;
        let (from, to) = info.data_offsets;
        let bytes = self.raw[self.start + from..self.start + to].to_vec();
        Host::new(dtype, shape.to_vec(), bytes).ok_or_else(|| format!("tensor {key} is not {dtype:?} {shape:?}"))
    }
}

/// The bytes of `dir/name`, or of `dir/name.gz` uncompressed.
pub fn read(dir: &Path, name: &str) -> io::Result<Vec<u8>> {
    let plain = dir.join(name);
    if plain.exists() {
        return fs::read(plain);
    }
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(fs::File::open(dir.join(format!("{name}.gz")))?).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The names of the suites in `dir`, sorted.
pub fn suites(dir: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.trim_end_matches(".gz").strip_suffix(".jsonl").map(str::to_owned));
    }
    names.sort();
    names.dedup();
    Ok(names)
}

/// The directory that `NUMR_GOLDEN` names, or else the project's own, or else `golden` beside the program: on a machine
/// that has no more than a bundle.
pub fn directory() -> PathBuf {
    if let Some(named) = std::env::var_os("NUMR_GOLDEN") {
        return named.into();
    }
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let beside = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.join("golden")));
    match beside {
        Some(beside) if !own.exists() => beside,
        _ => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bit_floats_decode_to_the_published_values() {
        let e4m3 = |b| small_float(b, 3, true);
        assert_eq!((e4m3(0x01), e4m3(0x08), e4m3(0x38), e4m3(0x7e)), (2f64.powi(-9), 2f64.powi(-6), 1.0, 448.0));
        assert!(e4m3(0x7f).is_nan() && e4m3(0x80).is_sign_negative());
        let e5m2 = |b| small_float(b, 2, false);
        assert_eq!((e5m2(0x01), e5m2(0x3c), e5m2(0x7b), e5m2(0xfc)), (2f64.powi(-16), 1.0, 57344.0, f64::NEG_INFINITY));
        assert!(e5m2(0x7d).is_nan());
    }

    #[test]
    fn copies_hold_every_element_where_the_view_will_look() {
        let x = Host { dtype: DType::U8, shape: vec![2, 3], bytes: vec![0, 1, 2, 3, 4, 5] };
        assert_eq!(x.permuted(&[1, 0]).bytes, [0, 3, 1, 4, 2, 5]);
        assert_eq!(x.reversed().bytes, [5, 4, 3, 2, 1, 0]);
        let e = x.embedded(1, 0);
        assert_eq!((e.shape, e.bytes), (vec![3, 4], vec![255, 255, 255, 255, 255, 0, 1, 2, 255, 3, 4, 5]));
        let empty = Host { dtype: DType::U8, shape: vec![0, 3], bytes: vec![] };
        assert_eq!(empty.embedded(1, 1).shape, [2, 5]);
        assert_eq!(empty.permuted(&[1, 0]).shape, [3, 0]);
    }
}
