//! Files between numr and the Python packages that define them, and the rows of `docs/numpy.md` asked of NumPy.
//!
//! `NUMR_PYTHON` names the folder of the packages; `cargo xtask setup` fetches them.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use numr::io::*;
use numr::prelude::*;
use numr_tests::numpy::{NAMES, Names, SECTIONS};
use numr_tests::require::skip;

type T = Tensor<CpuRuntime>;

/// Our dtypes by the names of NumPy and `ml_dtypes`.
const DTYPES: [(DType, &str); 17] = [
    (DType::F64, "float64"),
    (DType::F32, "float32"),
    (DType::F16, "float16"),
    (DType::BF16, "bfloat16"),
    (DType::FP8E4M3, "float8_e4m3fn"),
    (DType::FP8E5M2, "float8_e5m2"),
    (DType::I64, "int64"),
    (DType::I32, "int32"),
    (DType::I16, "int16"),
    (DType::I8, "int8"),
    (DType::U64, "uint64"),
    (DType::U32, "uint32"),
    (DType::U16, "uint16"),
    (DType::U8, "uint8"),
    (DType::Bool, "bool"),
    (DType::Complex64, "complex64"),
    (DType::Complex128, "complex128"),
];

/// What both sides agree on: the dtype of a name, the shapes, and what a tensor of these holds.
const AGREED: &str = "
import os, sys, math, numpy as np, ml_dtypes, safetensors, safetensors.numpy
folder = sys.argv[1]
small = {'bfloat16', 'float8_e4m3fn', 'float8_e5m2'}
names = sys.argv[2].split(',')
dtype = lambda name: np.dtype(getattr(ml_dtypes, name) if name in small else name)
shapes = [(), (24,), (2, 3, 4), (0, 5)]
def array(name, shape):
    return np.arange(math.prod(shape)).astype(dtype(name)).reshape(shape)
def path(*parts):
    return os.path.join(folder, '-'.join(map(str, parts)))
def same(a, b, what):
    assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes(), f'{what}: {a!r} is not {b!r}'
# Below its own readers, which lack the small floats, safetensors deals in bytes.
stored = {'float8_e4m3fn': 'F8_E4M3', 'float8_e5m2': 'F8_E5M2', 'bfloat16': 'BF16', 'bool': 'BOOL', 'complex64': 'C64'}
code = lambda name: stored.get(name, name[0].upper() + name.lstrip('uintfloa'))
";

const SHAPES: [&[usize]; 4] = [&[], &[24], &[2, 3, 4], &[0, 5]];

fn tensor(dtype: DType, shape: &[usize]) -> T {
    let n = shape.iter().product::<usize>() as f64;
    let x = T::try_arange(0, n, 1, DType::F32, &CpuDevice::new()).and_then(|x| x.cast(dtype)?.reshape(shape));
    x.expect("a tensor")
}

fn same(a: &T, b: &T, what: &str) {
    assert_eq!((a.dtype(), a.shape()), (b.dtype(), b.shape()), "{what}");
    assert_eq!(a.to_bytes().expect("bytes"), b.to_bytes().expect("bytes"), "{what}");
}

/// A folder that goes when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("numr-python-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Folder(folder)
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// Runs a script after what is agreed, in a folder, on an input; `false` if there is no Python to run it.
fn python(script: &str, folder: &Folder, input: &str) -> bool {
    let Some(packages) = std::env::var_os("NUMR_PYTHON") else {
        skip("python", "NUMR_PYTHON does not name the packages; `cargo xtask setup` fetches them");
        return false;
    };
    let names = DTYPES.map(|(_, name)| name).join(",");
    let mut python = Command::new("python3");
    python.args(["-c", &format!("{AGREED}{script}")]).arg(&folder.0).arg(names).env("PYTHONPATH", packages);
    let file = folder.join("input");
    std::fs::write(&file, input).expect("the input");
    let input = std::fs::File::open(&file).expect("the input");
    let out = python.stdin(input).stderr(Stdio::piped()).output().expect("python3 starts");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    true
}

#[test]
fn what_python_writes_is_read() {
    let script = "
for name in names:
    for k, shape in enumerate(shapes):
        x = array(name, shape)
        if name not in small:
            for order in 'CF':
                for version in 1, 2, 3:
                    for end in '<>':
                        with open(path(name, k, order, version, end == '>') + '.npy', 'wb') as file:
                            y = np.asarray(x.astype(x.dtype.newbyteorder(end)), order=order)
                            np.lib.format.write_array(file, y, (version, 0))
every = {f'{name}-{k}': array(name, shape) for name in names for k, shape in enumerate(shapes)}
plain = {key: x for key, x in every.items() if key.split('-')[0] not in small}
np.savez(path('plain.npz'), **plain)
np.savez_compressed(path('packed.npz'), **plain)
own = {key: x for key, x in every.items() if not key.startswith(('float8', 'complex128'))}
safetensors.numpy.save_file(own, path('own.safetensors'), {'by': 'numpy'})
";
    let folder = Folder::new("read");
    if !python(script, &folder, "") {
        return;
    }
    let device = CpuDevice::new();
    let archives = ["plain.npz", "packed.npz"].map(|name| load_npz(folder.join(name), &device).expect(name));
    let file = SafeTensors::open(folder.join("own.safetensors")).expect("a safetensors file");
    assert_eq!(file.metadata().into_iter().collect::<Vec<_>>(), [("by", "numpy")]);
    let (mut read, mut mapped) = (0, 0);
    for (dtype, name) in DTYPES {
        for (k, shape) in SHAPES.into_iter().enumerate() {
            let (x, key) = (tensor(dtype, shape), format!("{name}-{k}"));
            for (order, version, swap) in [("C", 1, false), ("F", 2, false), ("C", 3, true), ("F", 1, true)] {
                let swap = if swap { "True" } else { "False" };
                let path = folder.join(&format!("{key}-{order}-{version}-{swap}.npy"));
                if path.exists() {
                    same(&load_npy(&path, &device).expect(&key), &x, &key);
                    read += 1;
                }
            }
            archives.iter().filter_map(|archive| archive.get(&key)).for_each(|y| {
                same(y, &x, &key);
                read += 1;
            });
            if file.info(&key).is_ok() {
                same(&file.tensor(&key, &device).expect(&key), &x, &key);
                mapped += 1;
            }
        }
    }
    // Three dtypes that NumPy does not have, two and complex128 that safetensors' own reader lacks.
    assert_eq!((read, mapped), (14 * 4 * 6, 14 * 4));
}

#[test]
fn what_we_write_is_read_by_python() {
    let folder = Folder::new("written");
    let all: Vec<(DType, String, T)> = DTYPES
        .into_iter()
        .flat_map(|(dtype, name)| {
            SHAPES.into_iter().enumerate().map(move |(k, shape)| (dtype, format!("{name}-{k}"), tensor(dtype, shape)))
        })
        .collect();
    let plain = || all.iter().filter(|(dtype, ..)| !matches!(dtype, DType::BF16 | DType::FP8E4M3 | DType::FP8E5M2));
    for (_, key, x) in plain() {
        save_npy(folder.join(&format!("{key}.npy")), x).expect(key);
    }
    save_npz(folder.join("all.npz"), plain().map(|(_, key, x)| (&**key, x))).expect("an archive");
    let some = all.iter().filter(|(dtype, ..)| *dtype != DType::Complex128).map(|(_, key, x)| (&**key, x));
    save_safetensors_with(folder.join("all.safetensors"), some, [("by", "numr")]).expect("a safetensors file");
    let script = "
read = 0
archive = np.load(path('all.npz'))
with open(path('all.safetensors'), 'rb') as file:
    raw = dict(safetensors.deserialize(file.read()))
with safetensors.safe_open(path('all.safetensors'), 'numpy') as file:
    assert file.metadata() == {'by': 'numr'}
    for name in names:
        for k, shape in enumerate(shapes):
            x, key = array(name, shape), f'{name}-{k}'
            if name not in small:
                same(np.load(path(key) + '.npy'), x, key)
                same(archive[key], x, key)
                read += 2
            if name != 'complex128':
                entry = raw[key]
                assert entry['dtype'] == code(name), (entry['dtype'], code(name))
                same(np.frombuffer(bytes(entry['data']), dtype(name)).reshape(entry['shape']), x, key)
                read += 1
                if not name.startswith('float8'):
                    same(file.get_tensor(key), x, key)
                    read += 1
assert read == 4 * (14 * 2 + 16 + 14), read
";
    python(script, &folder, "");
}

#[test]
fn numpy_gives_the_answers_of_the_page() {
    let names = Names::new().expect("the names");
    let mut input = String::new();
    for (name, value, _) in NAMES {
        input += &format!("{name} = {value}\n");
    }
    input += "cases = []\n";
    for row in SECTIONS.iter().flat_map(|(_, rows)| *rows) {
        let arrays = (row.run)(&names).expect(row.numr);
        let literal = |values: &[f64]| values.iter().map(|v| format!("float('{v}'),")).collect::<String>();
        let arrays = arrays.iter().map(|(shape, values)| format!("({shape:?}, [{}]),", literal(values)));
        input += &format!("cases.append((lambda: {}, [{}]))\n", row.numpy, arrays.collect::<String>());
    }
    let script = "
source = sys.stdin.read()
np.seterr(all='ignore')
scope = {'np': np, 'math': math}
exec(source, scope)
lines = [line for line in source.splitlines() if line.startswith('cases.append')]
def flat(value):
    several = isinstance(value, (tuple, list)) and any(isinstance(part, np.ndarray) for part in value)
    return [np.asarray(part) for part in (value if several else [value])]
faults = []
for line, (ask, ours) in zip(lines, scope['cases'], strict=True):
    theirs = flat(ask())
    fits = len(theirs) == len(ours)
    for a, (shape, values) in zip(theirs, ours):
        b = np.stack([a.real, a.imag], -1) if np.iscomplexobj(a) else a
        b = b.astype(np.float64).ravel()
        fits = fits and list(a.shape) == shape and len(b) == len(values)
        fits = fits and np.allclose(b, values, rtol=2e-6, atol=2e-6, equal_nan=True)
    if not fits:
        faults.append(f'{line} but NumPy says {theirs}')
assert not faults, chr(10).join(faults)
assert len(lines) >= 200
";
    python(script, &Folder::new("page"), &input);
}
