//! Adapters, and one context for each that is in use: its device, queue and caches, kept for the life of the process.

use crate::launch::{Pending, Pipelines};
use crate::memory::Pool;
use numr_core::{DType, Error, Result};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A device with all that is kept for it.
pub(crate) struct Context {
    pub(crate) number: usize,
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) limits: wgpu::Limits,
    features: wgpu::Features,
    pub(crate) pipelines: Mutex<Pipelines>,
    pub(crate) pending: Mutex<Pending>,
    pub(crate) pool: Mutex<Pool>,
    fault: Arc<Mutex<Option<Error>>>,
}

/// What the API said, as an error.
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

/// What the lock holds; a thread that panicked left it whole, since nothing panics while it is changed.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adapters in order: the best first. One that appears under two APIs counts once.
static ADAPTERS: LazyLock<Vec<wgpu::Adapter>> = LazyLock::new(|| {
    let backends = wgpu::Backends::PRIMARY;
    let descriptor = wgpu::InstanceDescriptor { backends, ..wgpu::InstanceDescriptor::new_without_display_handle() };
    let instance = wgpu::Instance::new(descriptor);
    let mut adapters = pollster::block_on(instance.enumerate_adapters(backends));
    adapters.sort_by_key(|a| match a.get_info().device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    });
    let mut seen = Vec::new();
    adapters.retain(|a| {
        let info = a.get_info();
        let key = (info.name.clone(), info.vendor, info.device, info.backend);
        let new = !seen.contains(&key);
        seen.push(key);
        new
    });
    adapters
});

static CONTEXTS: LazyLock<Mutex<HashMap<usize, Arc<Context>>>> = LazyLock::new(Mutex::default);

fn none(device: String) -> Error {
    let reason =
        "no adapter: a driver for Vulkan, Metal or DirectX 12 is needed (on Debian, software: mesa-vulkan-drivers)";
    Error::Unsupported { op: "device", dtype: None, device, reason: reason.into() }
}

/// The adapters' names.
pub(crate) fn names() -> Result<Vec<String>> {
    let name = |a: &wgpu::Adapter| {
        let info = a.get_info();
        format!("{} ({})", info.name, info.backend)
    };
    match ADAPTERS.is_empty() {
        true => Err(none("wgpu".to_owned())),
        false => Ok(ADAPTERS.iter().map(name).collect()),
    }
}

/// The name of one.
pub(crate) fn name(number: usize) -> Option<String> {
    names().ok()?.into_iter().nth(number)
}

/// Is it a processor of its own?
pub(crate) fn is_hardware(number: usize) -> bool {
    ADAPTERS.get(number).is_some_and(|a| a.get_info().device_type != wgpu::DeviceType::Cpu)
}

/// The features to do without, for tests of what adapters that lack them do: `NUMR_WGPU_WITHOUT`, a list of `f64` and
/// `int64`.
fn without() -> wgpu::Features {
    let list = std::env::var("NUMR_WGPU_WITHOUT").unwrap_or_default();
    let each = list.split(',').map(|word| match word.trim() {
        "f64" => wgpu::Features::SHADER_F64,
        "int64" => wgpu::Features::SHADER_INT64,
        _ => wgpu::Features::empty(),
    });
    each.fold(wgpu::Features::empty(), |all, one| all | one)
}

// SAFETY: as C declares it.
unsafe extern "C" {
    fn atexit(f: extern "C" fn()) -> std::ffi::c_int;
}

/// Before the process ends: what was submitted is waited for, as a driver that still compiles or runs it then crashes.
/// Told after [`Context::warm_up`], so before the driver is told to tear down.
extern "C" fn settle() {
    let wait = || {
        // Whoever holds the lock opens a device, and has submitted nothing.
        let Ok(contexts) = CONTEXTS.try_lock() else { return };
        let wait = wgpu::PollType::Wait { submission_index: None, timeout: Some(Duration::from_secs(60)) };
        contexts.values().for_each(|context| drop(context.device.poll(wait.clone())));
    };
    // The values of this thread that wgpu asks for are gone by now: in a thread of its own. Nobody is left to tell of a failure.
    drop(std::thread::Builder::new().spawn(wait).map(std::thread::JoinHandle::join));
}

impl Context {
    /// The context of adapter `number`, made when it is first asked for.
    pub(crate) fn of(number: usize) -> Result<Arc<Context>> {
        let mut contexts = locked(&CONTEXTS);
        if let Some(context) = contexts.get(&number) {
            return Ok(context.clone());
        }
        let context = Arc::new(Context::open(number)?);
        contexts.insert(number, context.clone());
        if !is_hardware(number) {
            context.warm_up()?;
        }
        // SAFETY: a function of the C library that takes a function without arguments, and this one does not unwind.
        // If there is no room for it, the process ends as it would without.
        unsafe { atexit(settle) };
        Ok(context)
    }

    fn open(number: usize) -> Result<Context> {
        let adapter = ADAPTERS.get(number).ok_or_else(|| none(format!("wgpu:{number}")))?;
        let wanted = (wgpu::Features::SHADER_F64 | wgpu::Features::SHADER_INT64) - without();
        let (features, limits) = (adapter.features() & wanted, adapter.limits());
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("numr"),
            required_features: features,
            required_limits: limits.clone(),
            memory_hints: wgpu::MemoryHints::Performance,
            ..Default::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).map_err(|e| said("device", e))?;
        let fault: Arc<Mutex<Option<Error>>> = Arc::default();
        let note = |fault: &Arc<Mutex<Option<Error>>>, error: Error| {
            locked(fault).get_or_insert(error);
        };
        let uncaptured = fault.clone();
        device.on_uncaptured_error(Arc::new(move |e: wgpu::Error| note(&uncaptured, said("wgpu", e))));
        let lost = fault.clone();
        device.set_device_lost_callback(move |_, text| {
            note(&lost, Error::DeviceLost { device: format!("wgpu:{number}"), reason: text.into() });
        });
        let pending = Mutex::new(Pending::new(&device));
        let (pipelines, pool) = Default::default();
        Ok(Context { number, device, queue, limits, features, pipelines, pending, pool, fault })
    }

    pub(crate) fn name(&self) -> String {
        format!("wgpu:{}", self.number)
    }

    /// What the device reported since someone asked last.
    ///
    /// # Errors
    /// Just that.
    pub(crate) fn check(&self) -> Result<()> {
        let mut fault = locked(&self.fault);
        match &*fault {
            // A lost device stays lost.
            Some(lost @ Error::DeviceLost { .. }) => Err(lost.clone()),
            Some(_) => fault.take().map_or(Ok(()), Err),
            None => Ok(()),
        }
    }

    /// What elements are moved as: all adapters move eight bytes, as a pair, without a look at what they mean.
    pub(crate) fn moved(&self, dtype: DType) -> DType {
        match self.lacks(dtype) {
            Some(_) if dtype.size_in_bytes() == 8 => DType::Complex64,
            _ => dtype,
        }
    }

    /// Why the device has no arithmetic of this dtype, if it has none.
    pub(crate) fn lacks(&self, dtype: DType) -> Option<&'static str> {
        match dtype {
            DType::F64 | DType::Complex128 if !self.features.contains(wgpu::Features::SHADER_F64) => {
                Some("the adapter has no f64 (SHADER_F64); use f32, or the CPU")
            }
            DType::I64 | DType::U64 if !self.features.contains(wgpu::Features::SHADER_INT64) => {
                Some("the adapter has no 64-bit integers (SHADER_INT64); use 32 bits, or the CPU")
            }
            _ => None,
        }
    }
}
