//! Files: every dtype and layout goes out and comes back, what NumPy may write is read, and no bytes make a reader panic.
#![cfg(feature = "io")]
#![allow(clippy::unwrap_used, reason = "a test")]

use numr::io::*;
use numr::prelude::*;
use proptest::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

type T = Tensor<CpuRuntime>;

/// A path of its own, which goes when it is dropped.
struct Temp(PathBuf);

impl Temp {
    fn new(end: &str) -> Temp {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("numr-files-{}-{}.{end}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Temp(std::env::temp_dir().join(name))
    }

    fn of(bytes: &[u8]) -> Temp {
        let temp = Temp::new("bin");
        std::fs::write(&temp.0, bytes).unwrap();
        temp
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

fn cpu() -> CpuDevice {
    CpuDevice::new()
}

/// Tensors of a dtype: no axes, no elements, one axis, turned around, a step, a broadcast.
fn tensors(dtype: DType) -> Vec<T> {
    let x = T::try_arange(-3, 21, 1, DType::F32, &cpu()).unwrap().reshape(&[2, 3, 4]).unwrap().cast(dtype).unwrap();
    vec![
        x.slice(s![1, 1, 1]).unwrap(),
        x.slice(s![.., 3.., ..]).unwrap(),
        x.reshape(&[24]).unwrap(),
        x.permute([2, 0, 1]).unwrap(),
        x.slice(s![.., ..;-1, ..;2]).unwrap(),
        x.slice(s![1]).unwrap().broadcast_to(&[2, 3, 4]).unwrap(),
        x,
    ]
}

fn same(a: &T, b: &T) {
    assert_eq!((a.shape(), a.dtype()), (b.shape(), b.dtype()));
    assert_eq!(a.to_bytes().unwrap(), b.to_bytes().unwrap());
}

/// The variant of an error, and its text.
fn refused<V>(r: numr::Result<V>) -> (String, String) {
    let e = r.err().expect("an error was expected");
    (format!("{e:?}").split([' ', '(', '{']).next().unwrap().to_owned(), e.to_string())
}

#[test]
fn npy_returns_what_it_was_given() {
    for dtype in DType::ALL {
        for x in tensors(dtype) {
            let mut bytes = vec![];
            let written = write_npy(&mut bytes, &x);
            if matches!(dtype, DType::BF16 | DType::FP8E4M3 | DType::FP8E5M2) {
                assert_eq!(refused(written).0, "Unsupported");
                continue;
            }
            written.unwrap();
            let data = bytes.len() - x.numel() * dtype.size_in_bytes();
            assert_eq!((data % 64, bytes[data - 1]), (0, b'\n'));
            same(&read_npy(&bytes[..], &cpu()).unwrap(), &x);
            let temp = Temp::new("npy");
            save_npy(&temp.0, &x).unwrap();
            assert_eq!(std::fs::read(&temp.0).unwrap(), bytes);
            same(&load_npy(&temp.0, &cpu()).unwrap(), &x);
        }
    }
}

#[test]
fn archives_return_what_they_were_given() {
    let all: Vec<(String, T)> = DType::ALL
        .into_iter()
        .flat_map(|d| tensors(d).into_iter().enumerate().map(move |(k, t)| (format!("{d}/{k} ä"), t)))
        .collect();
    let list = |without: &'static [DType]| {
        all.iter().filter(|(_, t)| !without.contains(&t.dtype())).map(|(name, t)| (&**name, t))
    };
    let npz = Temp::new("npz");
    let none = &[DType::BF16, DType::FP8E4M3, DType::FP8E5M2];
    save_npz(&npz.0, list(none)).unwrap();
    let back = load_npz::<CpuRuntime>(&npz.0, &cpu()).unwrap();
    assert_eq!(back.len(), list(none).count());
    list(none).for_each(|(name, t)| same(&back[name], t));

    let file = Temp::new("safetensors");
    save_safetensors_with(&file.0, list(&[DType::Complex128]), [("format", "numr"), ("more", "ä")]).unwrap();
    let open = SafeTensors::open(&file.0).unwrap();
    assert_eq!(open.metadata().into_iter().collect::<Vec<_>>(), [("format", "numr"), ("more", "ä")]);
    assert_eq!(open.names().len(), list(&[DType::Complex128]).count());
    for (name, t) in list(&[DType::Complex128]) {
        assert_eq!(open.info(name).unwrap(), (t.shape(), t.dtype()));
        same(&open.tensor(name, &cpu()).unwrap(), t);
    }
    assert_eq!(load_safetensors::<CpuRuntime>(&file.0, &cpu()).unwrap().len(), open.names().len());
    let (kind, text) = refused(open.tensor::<CpuRuntime>("nobody", &cpu()));
    assert!(kind == "Argument" && text.contains("nobody"), "{kind}: {text}");
}

/// A `.npy` file of these parts.
fn npy(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    let length = header.len() as u32;
    bytes.extend(&length.to_le_bytes()[..if version == 1 { 2 } else { 4 }]);
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

#[test]
fn npy_of_any_version_and_order_is_read() {
    let values = [1.5f32, -2.0, 3.0, 4.0, 5.0, 6.0];
    let big: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
    for version in 1..=3 {
        let header = "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3), }     \n";
        let x = read_npy::<CpuRuntime>(&npy(version, header, &big)[..], &cpu()).unwrap();
        assert_eq!((x.shape(), x.to_vec::<f32>()), (&[2, 3][..], vec![1.5, 3.0, 5.0, -2.0, 4.0, 6.0]));
    }
    // Keys in another order, double quotes, long integers, no comma at the end; and what follows is left alone.
    let header = "{\"shape\": (3L,), \"fortran_order\": False, \"descr\": \">c8\"}";
    let mut more = npy(1, header, &big);
    more.extend(b"more");
    let mut reader = &more[..];
    let x = read_npy::<CpuRuntime>(&mut reader, &cpu()).unwrap();
    assert_eq!((x.to_vec::<Complex<f32>>()[0], reader), (Complex::new(1.5, -2.0), &b"more"[..]));
    let x =
        read_npy::<CpuRuntime>(&npy(1, "{'descr': '=i2', 'fortran_order': True, 'shape': ()}", &[7, 0])[..], &cpu());
    assert_eq!(x.unwrap().item::<i16>().unwrap(), i16::from_ne_bytes([7, 0]));
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let header = |descr: &str, shape: &str| format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
    let cases: [(&str, Vec<u8>, &str, &[&str]); 16] = [
        ("nothing", vec![], "Io", &[]),
        ("another format", b"PK\x03\x04....".to_vec(), "Io", &["magic"]),
        ("a version", npy(4, "{}", &[]), "Io", &["version 4"]),
        ("no dict", npy(1, "[]", &[]), "Io", &["`{`"]),
        ("no key", npy(1, "{'descr': '<f4'}", &[]), "Io", &["missing key"]),
        ("an unknown key", npy(1, "{'colour': 1}", &[]), "Io", &["colour"]),
        ("more after it", npy(1, &(header("'<f4'", "()") + "x"), &[0; 4]), "Io", &["`x` after"]),
        ("a shape of text", npy(1, &header("'<f4'", "('a',)"), &[]), "Io", &["size was expected"]),
        ("a negative size", npy(1, &header("'<f4'", "(-1,)"), &[]), "Io", &["size was expected"]),
        ("a size that overflows", npy(1, &header("'<f4'", "(4294967296, 4294967296, 4)"), &[]), "Io", &["overflows"]),
        ("a size past 64 bits", npy(1, &header("'<f4'", "(99999999999999999999,)"), &[]), "Io", &["size was expected"]),
        ("cut off", npy(1, &header("'<f4'", "(3,)"), &[0; 11]), "Io", &["12 bytes", "11"]),
        ("far cut off", npy(1, &header("'<f4'", "(1152921504606846976,)"), &[0; 11]), "Io", &["cut off"]),
        ("objects", npy(1, &header("'|O'", "(1,)"), &[0; 8]), "Unsupported", &["|O"]),
        ("a record", npy(1, &header("[('a', '<f4')]", "(1,)"), &[0; 4]), "Io", &["structured"]),
        ("a bool of 2", npy(1, &header("'|b1'", "(1,)"), &[2]), "Argument", &["bool"]),
    ];
    for (name, bytes, variant, parts) in cases {
        let (kind, text) = refused(read_npy::<CpuRuntime>(&bytes[..], &cpu()));
        assert_eq!(kind, variant, "{name}: {text}");
        assert!(parts.iter().all(|part| text.contains(part)), "{name}: {text}");
    }
    // A header's length is no reason to ask for memory.
    let (kind, text) = refused(read_npy::<CpuRuntime>(&b"\x93NUMPY\x02\x00\xff\xff\xff\xff"[..], &cpu()));
    assert!(kind == "Io" && text.contains("4294967295"), "{kind}: {text}");
}

/// A safetensors file of this header and data.
fn safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

#[test]
fn a_safetensors_file_that_lies_is_refused() {
    let one = |shape: &str, range: &str| {
        format!("{{\"a\":{{\"dtype\":\"F32\",\"shape\":{shape},\"data_offsets\":{range}}}}}")
    };
    let two = "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[2,6]}}";
    for (name, bytes) in [
        ("cut off", safetensors(&one("[2]", "[0,8]"), &[0; 7])),
        ("too long", safetensors(&one("[2]", "[0,8]"), &[0; 9])),
        ("a range past the end", safetensors(&one("[2]", "[8,16]"), &[0; 8])),
        ("a range turned around", safetensors(&one("[2]", "[8,0]"), &[0; 8])),
        ("a shape that does not fit", safetensors(&one("[3]", "[0,8]"), &[0; 8])),
        ("a shape that overflows", safetensors(&one("[4294967296,4294967296,4]", "[0,0]"), &[])),
        ("ranges that overlap", safetensors(two, &[0; 6])),
    ] {
        let temp = Temp::of(&bytes);
        let (kind, text) = refused(load_safetensors::<CpuRuntime>(&temp.0, &cpu()));
        assert_eq!(kind, "Io", "{name}: {text}");
    }
    let temp = Temp::of(&safetensors("{\"a\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,2]}}", &[1, 2]));
    assert_eq!(refused(SafeTensors::open(&temp.0).unwrap().tensor::<CpuRuntime>("a", &cpu())).0, "Argument");
    let temp = Temp::of(&safetensors("{\"a\":{\"dtype\":\"F8_E8M0\",\"shape\":[1],\"data_offsets\":[0,1]}}", &[1]));
    assert_eq!(refused(SafeTensors::open(&temp.0).unwrap().tensor::<CpuRuntime>("a", &cpu())).0, "Unsupported");
}

#[test]
fn a_name_given_twice_is_refused_and_a_failed_save_leaves_the_old_file() {
    let x = T::ones(&[2], DType::F32, &cpu());
    let (npz, file) = (Temp::new("npz"), Temp::new("safetensors"));
    save_npz(&npz.0, [("a", &x)]).unwrap();
    save_safetensors(&file.0, [("a", &x)]).unwrap();
    assert_eq!(refused(save_npz(&npz.0, [("a", &x), ("a", &x)])).0, "Io");
    assert_eq!(refused(save_safetensors(&file.0, [("a", &x), ("a", &x)])).0, "Argument");
    same(&load_npz(&npz.0, &cpu()).unwrap()["a"], &x);
    same(&load_safetensors(&file.0, &cpu()).unwrap()["a"], &x);
    let folder = npz.0.parent().unwrap();
    let name = npz.0.file_name().unwrap().to_string_lossy().into_owned();
    let left = std::fs::read_dir(folder).unwrap().flatten();
    let left: Vec<_> = left.filter(|f| f.file_name().to_string_lossy().starts_with(&name)).collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

/// Sound files, to be damaged.
fn sound() -> Vec<Vec<u8>> {
    let x = T::try_arange(0, 6, 1, DType::F32, &cpu()).unwrap().reshape(&[2, 3]).unwrap();
    let mut plain = vec![];
    write_npy(&mut plain, &x).unwrap();
    let (npz, file) = (Temp::new("npz"), Temp::new("safetensors"));
    save_npz(&npz.0, [("x", &x), ("y", &x)]).unwrap();
    save_safetensors(&file.0, [("x", &x), ("y", &x)]).unwrap();
    vec![plain, std::fs::read(&npz.0).unwrap(), std::fs::read(&file.0).unwrap()]
}

/// Reads bytes as each format; any answer will do.
fn read_all(bytes: &[u8]) {
    let temp = Temp::of(bytes);
    let _ = read_npy::<CpuRuntime>(bytes, &cpu());
    let _ = load_npz::<CpuRuntime>(&temp.0, &cpu());
    let _ = load_safetensors::<CpuRuntime>(&temp.0, &cpu());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// The promise is that this returns.
    #[test]
    fn no_bytes_make_a_reader_panic(
        which in 0usize..3,
        cut in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        digits in prop::option::of((any::<prop::sample::Index>(), "[0-9]{1,20}")),
    ) {
        let mut bytes = sound().swap_remove(which);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some((at, digits)) = digits {
            let at = at.index(bytes.len());
            bytes.splice(at..at, digits.bytes());
        }
        read_all(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        read_all(&bytes);
    }

    #[test]
    fn a_sound_file_that_is_cut_is_an_error(which in 0usize..3, cut in any::<prop::sample::Index>()) {
        let mut bytes = sound().swap_remove(which);
        bytes.truncate(cut.index(bytes.len()));
        let temp = Temp::of(&bytes);
        prop_assert!(read_npy::<CpuRuntime>(&bytes[..], &cpu()).is_err());
        prop_assert!(load_npz::<CpuRuntime>(&temp.0, &cpu()).is_err());
        prop_assert!(load_safetensors::<CpuRuntime>(&temp.0, &cpu()).is_err());
    }
}
