//! What tests need and cargo does not bring: the NVRTC library, from its PyPI wheel, into `target/`; NumPy and
//! safetensors, likewise; a Vulkan driver for the WebGPU tests, Mesa's software one where the machine has none.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use xshell::{Shell, cmd};

/// Newest of the 12.x line, whose output every driver since 525 accepts.
const NVRTC: &str = "nvidia-cuda-nvrtc-cu12==12.9.86";

/// What writes and reads the files that ours are compared with.
const PYTHON: [&str; 3] = ["numpy>=2.1,<3", "ml_dtypes>=0.5,<1", "safetensors>=0.5,<1"];

/// Fetches everything and prints how to use it by hand.
pub(crate) fn run(sh: &Shell) -> Result<()> {
    if vulkan(sh)? {
        println!("Vulkan: there is a driver");
    }
    match nvrtc(sh)? {
        Some(path) => {
            println!("export NUMR_NVRTC={} LD_LIBRARY_PATH={}", path.display(), search_path(sh, &path).display());
        }
        None => println!("no NVRTC wheel for this operating system: its tests will be skipped"),
    }
    if let Some(path) = python(sh)? {
        println!("export NUMR_PYTHON={}", path.display());
    }
    Ok(())
}

/// Is there a Vulkan driver, found or installed? Where it can be neither, a line says what to install.
pub(crate) fn vulkan(sh: &Shell) -> Result<bool> {
    if !cfg!(target_os = "linux") {
        return Ok(true); // Metal and DirectX 12 come with the system.
    }
    let found = || {
        let folders = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"];
        let has_driver = |folder| sh.read_dir(folder).is_ok_and(|files| !files.is_empty());
        sh.var_os("VK_DRIVER_FILES").is_some() || folders.into_iter().any(has_driver)
    };
    if found() {
        return Ok(true);
    }
    let install = || -> Result<()> {
        // The lists of a fresh machine are empty or old.
        cmd!(sh, "apt-get -qq update").quiet().ignore_status().run()?;
        let mute = sh.push_env("DEBIAN_FRONTEND", "noninteractive");
        cmd!(sh, "apt-get -qq install -y --no-install-recommends mesa-vulkan-drivers libvulkan1")
            .ignore_stdout()
            .run()?;
        drop(mute);
        Ok(())
    };
    if install().is_ok() && found() {
        return Ok(true);
    }
    println!(
        "no Vulkan driver: WebGPU tests are skipped (on Debian, as root: apt-get install mesa-vulkan-drivers libvulkan1)"
    );
    Ok(false)
}

/// `LD_LIBRARY_PATH` with the folder of a library first.
pub(crate) fn search_path(sh: &Shell, library: &Path) -> PathBuf {
    let mut path = library.parent().unwrap_or(Path::new("")).as_os_str().to_owned();
    if let Some(rest) = sh.var_os("LD_LIBRARY_PATH").filter(|rest| !rest.is_empty()) {
        path.push(":");
        path.push(rest);
    }
    path.into()
}

/// The NVRTC library, fetched once; `None` where no wheel exists for the operating system.
pub(crate) fn nvrtc(sh: &Shell) -> Result<Option<PathBuf>> {
    if !cfg!(target_os = "linux") {
        return Ok(None);
    }
    wheels(sh, "nvrtc", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12", &[NVRTC]).map(Some)
}

/// The folder with the Python packages that files are exchanged with, fetched once; `None`, with a line that says so,
/// where there is no Python.
pub(crate) fn python(sh: &Shell) -> Result<Option<PathBuf>> {
    if cmd!(sh, "python3 --version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
        println!("no python3: what NumPy reads and writes is not tested");
        return Ok(None);
    }
    let found = wheels(sh, "python", "safetensors/__init__.py", &PYTHON)?;
    Ok(found.parent().and_then(Path::parent).map(Path::to_owned))
}

/// Has NumPy and numr share memory in one process: the example `python`, which NumPy loads.
pub(crate) fn share(sh: &Shell, packages: &Path) -> Result<()> {
    cmd!(sh, "cargo build --quiet -p numr --all-features --example python").run()?;
    let (before, after) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = target(sh).join(format!("debug/examples/{before}python{after}"));
    let _path = sh.push_env("PYTHONPATH", packages);
    Ok(cmd!(sh, "python3 crates/numr/examples/python.py {library}").run()?)
}

/// Where cargo builds.
fn target(sh: &Shell) -> PathBuf {
    let target = sh.var_os("CARGO_TARGET_DIR").map_or_else(|| sh.current_dir().join("target"), PathBuf::from);
    sh.current_dir().join(target)
}

/// A file out of wheels, which are fetched into a folder of `target/` if it is not there.
fn wheels(sh: &Shell, folder: &str, file: &str, packages: &[&str]) -> Result<PathBuf> {
    let target = target(sh).join(folder);
    let file = target.join(file);
    if !file.exists() {
        let (pip, shown) = ("python3 -m pip", packages.join(" "));
        if cmd!(sh, "python3 -m pip --version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
            bail!("`{pip}` is missing: install Python with pip (Debian: apt-get install python3-pip) and run again");
        }
        cmd!(sh, "python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-compile --no-deps --upgrade --target {target} {packages...}")
            .run()
            .with_context(|| format!("`{pip}` could not fetch {shown}"))?;
        if !file.exists() {
            bail!("{shown}: no {} in it", file.display());
        }
    }
    Ok(file)
}
