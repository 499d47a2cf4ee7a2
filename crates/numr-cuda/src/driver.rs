//! The driver: every call of libcuda, each with its answer as a `Result`. Nothing else in the crate touches it.

use cudarc::driver::sys;
use numr_core::{Error, Result};
use std::cell::Cell;
use std::ffi::{CStr, CString, c_void};
use std::fmt;
use std::sync::LazyLock;

/// What the driver or the compiler said, as an error.
#[derive(Debug)]
struct Said(String);

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Said {}

pub(crate) fn said(op: &'static str, text: impl fmt::Display) -> Error {
    Error::backend(op, Said(text.to_string()))
}

/// An address on a device.
pub(crate) type Address = sys::CUdeviceptr;

fn unsupported(reason: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::Unsupported { op: "device", dtype: None, device: "cuda".to_owned(), reason: reason.into() }
}

/// The driver, once it is initialised; why not, otherwise.
static READY: LazyLock<std::result::Result<i32, String>> = LazyLock::new(|| {
    // A stub library has the file and not the functions: cudarc panics on those.
    let opened = std::panic::catch_unwind(|| {
        // SAFETY: it only looks for the library.
        if !unsafe { sys::is_culib_present() } {
            return Err("no driver: libcuda was not found".to_owned());
        }
        let mut count = 0;
        // SAFETY: the library is there; the count is a place for one number.
        let code = unsafe {
            match sys::cuInit(0) {
                sys::CUresult::CUDA_SUCCESS => sys::cuDeviceGetCount(&mut count),
                error => error,
            }
        };
        match code {
            sys::CUresult::CUDA_SUCCESS if count > 0 => Ok(count),
            sys::CUresult::CUDA_SUCCESS => Err("the driver sees no device".to_owned()),
            error => Err(format!("the driver does not start: {}", text(error))),
        }
    });
    opened.unwrap_or_else(|_| Err("libcuda lacks functions of CUDA 12.0; update the driver".to_owned()))
});

fn text(code: sys::CUresult) -> String {
    let mut words = std::ptr::null();
    // SAFETY: the library is there, as it answered; what it points to is a text of its own.
    unsafe {
        match sys::cuGetErrorString(code, &mut words) {
            sys::CUresult::CUDA_SUCCESS if !words.is_null() => CStr::from_ptr(words).to_string_lossy().into_owned(),
            _ => format!("{code:?}"),
        }
    }
}

fn ok(op: &'static str, device: usize, code: sys::CUresult) -> Result<()> {
    use sys::CUresult as C;
    match code {
        C::CUDA_SUCCESS => Ok(()),
        C::CUDA_ERROR_ILLEGAL_ADDRESS
        | C::CUDA_ERROR_LAUNCH_FAILED
        | C::CUDA_ERROR_ASSERT
        | C::CUDA_ERROR_ILLEGAL_INSTRUCTION
        | C::CUDA_ERROR_MISALIGNED_ADDRESS
        | C::CUDA_ERROR_ECC_UNCORRECTABLE => {
            Err(Error::DeviceLost { device: format!("cuda:{device}"), reason: format!("{op}: {}", text(code)).into() })
        }
        code => Err(said(op, text(code))),
    }
}

/// The devices' names.
pub(crate) fn names() -> Result<Vec<String>> {
    let count = READY.clone().map_err(unsupported)?;
    (0..count)
        .map(|k| {
            let (mut device, mut name) = (0, [0; 128]);
            // SAFETY: the driver is ready and k below its count; the name has room for 128 bytes with their end.
            let code = unsafe {
                match sys::cuDeviceGet(&mut device, k) {
                    sys::CUresult::CUDA_SUCCESS => sys::cuDeviceGetName(name.as_mut_ptr(), 128, device),
                    error => error,
                }
            };
            ok("device", k as usize, code)?;
            let bytes: Vec<u8> = name.iter().take_while(|&&c| c != 0).map(|&c| c as u8).collect();
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        })
        .collect()
}

/// A device with its primary context and one stream, kept for the life of the process.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) number: usize,
    context: sys::CUcontext,
    stream: sys::CUstream,
    /// Compute capability, as 90 for 9.0.
    pub(crate) capability: i32,
    pub(crate) processors: u32,
}

// SAFETY: the driver's handles may be used from any thread; each call makes the context current first.
unsafe impl Send for Device {}
// SAFETY: as above; the driver locks what it shares.
unsafe impl Sync for Device {}

/// A kernel in memory of the device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function(sys::CUfunction);

// SAFETY: as for `Device`; modules are never unloaded.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

thread_local! {
    /// The device whose context is current on this thread.
    static CURRENT: Cell<Option<usize>> = const { Cell::new(None) };
}

impl Device {
    /// Opens device `number`.
    ///
    /// # Errors
    /// `Error::Unsupported` if there is none; what the driver says.
    pub(crate) fn open(number: usize) -> Result<Device> {
        let count = READY.clone().map_err(unsupported)?;
        let index = i32::try_from(number).ok().filter(|&k| k < count);
        let index = index.ok_or_else(|| unsupported(format!("there is no cuda:{number}; devices: {count}")))?;
        let (mut device, mut context, mut stream) = (0, std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the driver is ready, and every argument is a place of the type that is asked for.
        unsafe {
            ok("device", number, sys::cuDeviceGet(&mut device, index))?;
            ok("device", number, sys::cuDevicePrimaryCtxRetain(&mut context, device))?;
            ok("device", number, sys::cuCtxSetCurrent(context))?;
            CURRENT.set(Some(number));
            let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
            ok("device", number, sys::cuStreamCreate(&mut stream, flags))?;
            // What was freed stays with the process.
            let mut pool = std::ptr::null_mut();
            ok("device", number, sys::cuDeviceGetDefaultMemPool(&mut pool, device))?;
            let mut most = u64::MAX;
            let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
            ok("device", number, sys::cuMemPoolSetAttribute(pool, attribute, (&raw mut most).cast::<c_void>()))?;
        }
        let attribute = |what| -> Result<i32> {
            let mut value = 0;
            // SAFETY: as above.
            ok("device", number, unsafe { sys::cuDeviceGetAttribute(&mut value, what, device) })?;
            Ok(value)
        };
        use sys::CUdevice_attribute as A;
        let major = attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let processors = attribute(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32;
        Ok(Device { number, context, stream, capability: 10 * major + minor, processors })
    }

    fn bind(&self) -> Result<()> {
        if CURRENT.get() != Some(self.number) {
            // SAFETY: the context is never released.
            ok("device", self.number, unsafe { sys::cuCtxSetCurrent(self.context) })?;
            CURRENT.set(Some(self.number));
        }
        Ok(())
    }

    /// Memory in the order of the stream; `None` if there is none.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<Option<Address>> {
        self.bind()?;
        let mut address = 0;
        // SAFETY: the context is current.
        match unsafe { sys::cuMemAllocAsync(&mut address, bytes, self.stream) } {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => Ok(None),
            code => ok("alloc", self.number, code).map(|()| Some(address)),
        }
    }

    /// Gives memory back, in the order of the stream.
    ///
    /// # Safety
    /// It came from [`Device::allocate`] and is not used by what comes later.
    pub(crate) unsafe fn free(&self, address: Address) {
        if self.bind().is_ok() {
            // SAFETY: passed on. A failure has been reported by what caused it.
            let _ = unsafe { sys::cuMemFreeAsync(address, self.stream) };
        }
    }

    /// Host to device, done when it returns.
    ///
    /// # Safety
    /// The memory at `to` has room for the bytes.
    pub(crate) unsafe fn write(&self, to: Address, bytes: &[u8]) -> Result<()> {
        self.bind()?;
        // SAFETY: passed on; the bytes live until the wait is over.
        ok("upload", self.number, unsafe {
            sys::cuMemcpyHtoDAsync_v2(to, bytes.as_ptr().cast(), bytes.len(), self.stream)
        })?;
        self.wait()
    }

    /// Device to host, after all work before.
    ///
    /// # Safety
    /// The memory at `from` has as many bytes.
    pub(crate) unsafe fn read(&self, from: Address, bytes: &mut [u8]) -> Result<()> {
        self.bind()?;
        // SAFETY: passed on; the bytes live until the wait is over.
        ok("to_vec", self.number, unsafe {
            sys::cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), from, bytes.len(), self.stream)
        })?;
        self.wait()
    }

    /// Zeros, in the order of the stream.
    ///
    /// # Safety
    /// The memory at `at` has as many bytes.
    pub(crate) unsafe fn zero(&self, at: Address, bytes: usize) -> Result<()> {
        self.bind()?;
        // SAFETY: passed on.
        ok("fill", self.number, unsafe { sys::cuMemsetD8Async(at, 0, bytes, self.stream) })
    }

    /// Waits for all work before.
    pub(crate) fn wait(&self) -> Result<()> {
        self.bind()?;
        // SAFETY: the stream is never destroyed.
        ok("synchronize", self.number, unsafe { sys::cuStreamSynchronize(self.stream) })
    }

    /// Loads machine code, or PTX that ends in 0, and finds its kernel.
    pub(crate) fn load(&self, image: &[u8], name: &str) -> Result<Function> {
        self.bind()?;
        let name = CString::new(name).map_err(|e| said("load", e))?;
        let (mut module, mut function) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the image is what the compiler made, whole; the name ends in 0.
        unsafe {
            ok("load", self.number, sys::cuModuleLoadData(&mut module, image.as_ptr().cast()))?;
            ok("load", self.number, sys::cuModuleGetFunction(&mut function, module, name.as_ptr()))?;
        }
        Ok(Function(function))
    }

    /// Launches a kernel with these arguments.
    ///
    /// # Safety
    /// The arguments are those that the kernel takes, and what it reads and writes lies in the memory they point to.
    pub(crate) unsafe fn launch(
        &self,
        op: &'static str,
        function: Function,
        grid: [u32; 2],
        block: u32,
        arguments: &mut [*mut c_void],
    ) -> Result<()> {
        self.bind()?;
        let list = arguments.as_mut_ptr();
        // SAFETY: passed on.
        ok(op, self.number, unsafe {
            sys::cuLaunchKernel(
                function.0,
                grid[0],
                grid[1],
                1,
                block,
                1,
                1,
                0,
                self.stream,
                list,
                std::ptr::null_mut(),
            )
        })
    }
}
