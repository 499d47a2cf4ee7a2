//! NVRTC: where it may be, what it makes, and the cache of that on disk.
//!
//! An entry of the cache is named by a hash of all that the result depends on: source, options, architecture and
//! compiler. It is written beside its place and renamed, so that processes do not see halves, and carries its own
//! hash, so that a damaged one is made anew.

use crate::driver::said;
use libloading::Library;
use numr_core::{Error, Result};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

type Program = *mut c_void;

/// The functions that are used, and the version.
struct Nvrtc {
    create:
        unsafe extern "C" fn(*mut Program, *const c_char, *const c_char, c_int, *const c_void, *const c_void) -> c_int,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int,
    destroy: unsafe extern "C" fn(*mut Program) -> c_int,
    log_size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    log: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    cubin_size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    cubin: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    ptx_size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    ptx: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    version: (c_int, c_int),
}

/// The library, or the places where it was looked for.
static NVRTC: LazyLock<std::result::Result<Nvrtc, String>> = LazyLock::new(|| {
    let mut tried = vec![];
    for place in places() {
        match open(&place) {
            Ok(nvrtc) => return Ok(nvrtc),
            Err(why) => tried.push(format!("{}: {why}", place.display())),
        }
    }
    Err(format!("NVRTC was not found; set NUMR_NVRTC to libnvrtc.so. Tried {}", tried.join("; ")))
});

/// Where the library may be, best first: what the user says, what the loader knows, toolkits, Python's wheels.
fn places() -> Vec<PathBuf> {
    let names = ["libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so", "nvrtc64_120_0.dll"];
    let mut places: Vec<PathBuf> = std::env::var_os("NUMR_NVRTC").map(PathBuf::from).into_iter().collect();
    places.extend(names.iter().map(PathBuf::from));
    let roots = ["CUDA_PATH", "CUDA_HOME"].iter().filter_map(std::env::var_os).map(PathBuf::from);
    for root in roots.chain([PathBuf::from("/usr/local/cuda")]) {
        for folder in ["lib64", "targets/x86_64-linux/lib", "lib"] {
            places.extend(names.iter().map(|name| root.join(folder).join(name)));
        }
    }
    if let Some(environment) = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from) {
        let versions = std::fs::read_dir(environment.join("lib")).into_iter().flatten().flatten();
        for python in versions.map(|entry| entry.path().join("site-packages/nvidia")) {
            places.extend(names.iter().map(|name| python.join("cuda_nvrtc/lib").join(name)));
            places.extend(names.iter().map(|name| python.join("cu13/lib").join(name)));
        }
    }
    places.retain(|p| p.components().count() == 1 || p.exists());
    places
}

fn open(place: &Path) -> std::result::Result<Nvrtc, String> {
    // The builtins beside it are found by name only once they are loaded.
    let folder = place.parent().filter(|f| !f.as_os_str().is_empty());
    for entry in folder.and_then(|f| std::fs::read_dir(f).ok()).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("libnvrtc-builtins.so") {
            // SAFETY: NVIDIA's library; it has no initialiser that asks for anything.
            if let Ok(builtins) = unsafe { Library::new(entry.path()) } {
                std::mem::forget(builtins);
            }
        }
    }
    // SAFETY: as above.
    let library = unsafe { Library::new(place) }.map_err(|e| e.to_string())?;
    macro_rules! symbol {
        ($name:literal) => {
            // SAFETY: the type is that of nvrtc.h.
            *unsafe { library.get(concat!($name, "\0").as_bytes()) }.map_err(|e| e.to_string())?
        };
    }
    let version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int = symbol!("nvrtcVersion");
    let (mut major, mut minor) = (0, 0);
    // SAFETY: two places for numbers.
    if unsafe { version(&mut major, &mut minor) } != 0 {
        return Err("it does not tell its version".to_owned());
    }
    let nvrtc = Nvrtc {
        create: symbol!("nvrtcCreateProgram"),
        compile: symbol!("nvrtcCompileProgram"),
        destroy: symbol!("nvrtcDestroyProgram"),
        log_size: symbol!("nvrtcGetProgramLogSize"),
        log: symbol!("nvrtcGetProgramLog"),
        cubin_size: symbol!("nvrtcGetCUBINSize"),
        cubin: symbol!("nvrtcGetCUBIN"),
        ptx_size: symbol!("nvrtcGetPTXSize"),
        ptx: symbol!("nvrtcGetPTX"),
        version: (major, minor),
    };
    std::mem::forget(library);
    Ok(nvrtc)
}

/// The image of a source for this compute capability, from the cache or made now.
///
/// # Errors
/// `Error::Unsupported` with the places tried if NVRTC is missing; its log if the source does not compile.
pub(crate) fn image(op: &'static str, source: &str, capability: i32) -> Result<Vec<u8>> {
    let nvrtc = NVRTC.as_ref().map_err(|why| Error::Unsupported {
        op,
        dtype: None,
        device: "cuda".to_owned(),
        reason: why.clone().into(),
    })?;
    // Machine code for just this processor, then for its family, then PTX for the driver to translate.
    let names = [format!("sm_{capability}a"), format!("sm_{capability}"), format!("compute_{capability}")];
    let from = usize::from(capability < 90);
    let mut failure = String::new();
    for architecture in &names[from..] {
        let options = options(architecture);
        let options = options.each_ref().map(String::as_str);
        let file = cache_file(&(source, options, nvrtc.version));
        if let Some(image) = file.as_deref().and_then(cached) {
            return Ok(image);
        }
        match nvrtc.run(source, &options, !architecture.starts_with("compute")) {
            Ok(image) => {
                if let Some(file) = &file {
                    // A cache that cannot be written is only slow.
                    let _ = keep(file, &image);
                }
                return Ok(image);
            }
            Err(log) => failure = log,
        }
    }
    Err(said(op, failure))
}

fn options(architecture: &str) -> [String; 4] {
    [
        "--gpu-architecture=".to_owned() + architecture,
        "--std=c++17".into(),
        "--fmad=false".into(),
        "-default-device".into(),
    ]
}

/// Compiles a source for an architecture; registers in memory are an error.
#[cfg(test)]
pub(crate) fn judge(source: &str, architecture: &str) -> std::result::Result<(), String> {
    let options = options(architecture).into_iter().chain(["warn-spills", "Werror"].map(|o| format!("-Xptxas=-{o}")));
    let options: Vec<String> = options.collect();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    NVRTC.as_ref().map_err(Clone::clone)?.run(source, &options, true).map(|_| ())
}

impl Nvrtc {
    fn run(&self, source: &str, options: &[&str], cubin: bool) -> std::result::Result<Vec<u8>, String> {
        let text = CString::new(source).map_err(|e| e.to_string())?;
        let options: Vec<CString> = options
            .iter()
            .map(|o| CString::new(*o))
            .collect::<std::result::Result<_, _>>()
            .map_err(|e| e.to_string())?;
        let pointers: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        let mut program = std::ptr::null_mut();
        let null = std::ptr::null();
        // SAFETY: the texts end in 0 and outlive the calls; buffers have the sizes that were asked for.
        unsafe {
            if (self.create)(&mut program, text.as_ptr(), c"numr.cu".as_ptr(), 0, null, null) != 0 {
                return Err("NVRTC does not start".to_owned());
            }
            let code = (self.compile)(program, pointers.len() as c_int, pointers.as_ptr());
            let get = |size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
                       data: unsafe extern "C" fn(Program, *mut c_char) -> c_int| {
                let mut n = 0;
                if size(program, &mut n) != 0 {
                    return None;
                }
                let mut bytes = vec![0u8; n];
                (data(program, bytes.as_mut_ptr().cast()) == 0).then_some(bytes)
            };
            let log = || {
                let log = get(self.log_size, self.log).unwrap_or_default();
                CStr::from_bytes_until_nul(&log).map(|l| l.to_string_lossy().into_owned()).unwrap_or_default()
            };
            let image = match code {
                0 if cubin => get(self.cubin_size, self.cubin).ok_or_else(log),
                0 => get(self.ptx_size, self.ptx).ok_or_else(log),
                code => Err(format!("NVRTC {}.{}, error {code}: {}", self.version.0, self.version.1, log())),
            };
            (self.destroy)(&mut program);
            image
        }
    }
}

/// A hash of 128 bits, the same in every process: FNV-1a, twice with different starts.
struct Fnv([u64; 2]);

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for &b in bytes {
            for h in &mut self.0 {
                *h = (*h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3).rotate_left(1);
            }
        }
    }
    fn finish(&self) -> u64 {
        self.0[0] ^ self.0[1].rotate_left(32)
    }
}

fn hash(of: &impl Hash) -> String {
    let mut hasher = Fnv([0xcbf2_9ce4_8422_2325, 0x9e37_79b9_7f4a_7c15]);
    of.hash(&mut hasher);
    format!("{:016x}{:016x}", hasher.0[0], hasher.0[1])
}

/// Where the image of this belongs: in `NUMR_CACHE`, or the user's cache directory.
fn cache_file(of: &impl Hash) -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let folder = variable("NUMR_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|f| f.join("numr")))
        .or_else(|| variable("HOME").map(|f| f.join(".cache/numr")))?;
    Some(folder.join("cuda").join(hash(of)))
}

/// The image in a file, if its hash, the first 32 bytes, is right.
fn cached(file: &Path) -> Option<Vec<u8>> {
    let bytes = std::fs::read(file).ok()?;
    let (head, image) = bytes.split_at_checked(32)?;
    (head == hash(&image).as_bytes()).then(|| image.to_vec())
}

fn keep(file: &Path, image: &[u8]) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let unique = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    let part = file.with_extension(format!("{}-{unique}", std::process::id()));
    std::fs::write(&part, [hash(&image).as_bytes(), image].concat())?;
    std::fs::rename(&part, file)
}

#[cfg(test)]
mod tests {
    use super::{cached, keep};

    #[test]
    fn a_damaged_entry_is_none() {
        let file = std::env::temp_dir().join(format!("numr-cache-test-{}", std::process::id()));
        keep(&file, b"an image").expect("written");
        assert_eq!(cached(&file).as_deref(), Some(&b"an image"[..]));
        let mut bytes = std::fs::read(&file).expect("there");
        bytes[35] ^= 1;
        std::fs::write(&file, &bytes).expect("written");
        assert_eq!(cached(&file), None);
        std::fs::write(&file, &bytes[..10]).expect("written");
        assert_eq!(cached(&file), None);
        std::fs::remove_file(&file).expect("there");
        assert_eq!(cached(&file), None);
    }
}
