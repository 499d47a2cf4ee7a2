//! The compilers that judge generated GPU code on a machine without a GPU: NVRTC for CUDA C, naga for WGSL.

use std::path::Path;

use cudarc::nvrtc::{CompileError, CompileOptions, compile_ptx_with_opts};
use naga::valid::{Capabilities, ValidationFlags, Validator};

use crate::require::skip;

/// NVRTC, once it is known to be there.
#[derive(Clone, Copy, Debug)]
pub struct Nvrtc(());

impl Nvrtc {
    /// The library that `NUMR_NVRTC` names, or a noted skip. `cargo xtask setup` fetches it and prints what to export.
    pub fn find() -> Option<Nvrtc> {
        let Some(path) = std::env::var_os("NUMR_NVRTC") else {
            skip("nvrtc", "NUMR_NVRTC is not set; see `cargo xtask setup`");
            return None;
        };
        // The loader below looks it up by name, so the search path must lead to it.
        let folder = Path::new(&path).parent().unwrap_or(Path::new(""));
        let search = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        if !Path::new(&path).exists() || !std::env::split_paths(&search).any(|entry| entry == folder) {
            skip("nvrtc", "NUMR_NVRTC names no file, or LD_LIBRARY_PATH lacks its folder");
            return None;
        }
        Some(Nvrtc(()))
    }

    /// Compiles CUDA C for an architecture such as `sm_90a`, as the backend will: no fused multiply-add but the written ones.
    ///
    /// **Errors**: the compiler's log.
    pub fn compile(self, source: &str, architecture: &str) -> Result<(), String> {
        let options = [&format!("--gpu-architecture={architecture}"), "--std=c++17", "--fmad=false", "-default-device"];
        let options = CompileOptions { options: options.map(str::to_owned).to_vec(), ..Default::default() };
        match compile_ptx_with_opts(source, options) {
            Ok(_) => Ok(()),
            Err(CompileError::CompileError { log, .. }) => Err(log.to_string_lossy().into_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Parses and validates WGSL, with the types that a backend may ask an adapter for (f16, f64, 64-bit integers).
///
/// **Errors**: naga's message, with the place in the source.
pub fn validate_wgsl(source: &str) -> Result<(), String> {
    let module = naga::front::wgsl::parse_str(source).map_err(|error| error.emit_to_string(source))?;
    let capabilities = Capabilities::FLOAT64 | Capabilities::SHADER_FLOAT16 | Capabilities::SHADER_INT64;
    Validator::new(ValidationFlags::all(), capabilities)
        .validate(&module)
        .map(|_| ())
        .map_err(|error| error.emit_to_string(source))
}
