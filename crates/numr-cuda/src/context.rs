//! One context for each device that is in use, kept for the life of the process: caches, and the launches.

use crate::driver::{Device, Function};
use crate::fold::Folding;
use crate::memory::{Buffer, Pool};
use crate::{contract, copy, fold, index, map, nvrtc, rows, scan, sort};
use numr_core::prim::{ReduceOp, ScatterOp};
use numr_core::scalar::print::{Access, MapKernel};
use numr_core::scalar::program::Program;
use numr_core::{DType, Error, Result};
use std::collections::HashMap;
use std::ffi::c_void;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A device with all that is kept for it.
pub(crate) struct Context {
    pub(crate) device: Device,
    kernels: Mutex<HashMap<Key, Function>>,
    pub(crate) pool: Mutex<Pool>,
    /// Four numbers that an index out of range writes: raised, the index, the size.
    flag: OnceLock<Arc<Buffer>>,
    flagged: Mutex<Option<&'static str>>,
}

/// Names a kernel; everything that its text depends on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Key {
    Map { program: ByAddress, scalars: u32, access: Access, wide: bool },
    Put(DType),
    Fold { op: ReduceOp, from: DType, acc: DType, to: DType, folding: Folding },
    Arg { op: ReduceOp, from: DType },
    Scan { op: ReduceOp, from: DType, acc: DType, to: DType, lines: bool },
    Gather(DType),
    Scatter { op: ScatterOp, dtype: DType },
    ScatterSorted { op: ScatterOp, dtype: DType },
    Compact,
    Contract { from: DType, right: DType, acc: DType, to: DType, inner: [bool; 2] },
    Rows { row: rows::Kind, dtype: DType, threads: usize, vectors: usize },
    Columns { dtype: DType },
    SortStart,
    SortStep(DType),
    SortRead(DType),
}

/// A program by its address, which it keeps alive: programs are interned.
#[derive(Clone, Debug)]
pub(crate) struct ByAddress(pub(crate) Arc<Program>);

impl PartialEq for ByAddress {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ByAddress {}

impl Hash for ByAddress {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

/// The text of a kernel and its name.
pub(crate) struct Text {
    pub(crate) source: String,
    pub(crate) entry: String,
}

impl Key {
    /// The text of the kernel.
    ///
    /// # Errors
    /// None but those of printing.
    pub(crate) fn text(&self) -> Result<Text> {
        match *self {
            Key::Map { ref program, scalars, access, wide } => {
                map::text(&MapKernel { program: &program.0, scalars, access, wide })
            }
            Key::Put(dtype) => copy::put_text(dtype),
            Key::Fold { op, from, acc, to, folding } => fold::reduce_text(op, from, acc, to, folding),
            Key::Arg { op, from } => fold::arg_text(op, from),
            Key::Scan { op, from, acc, to, lines } => scan::text(op, from, acc, to, lines),
            Key::Gather(dtype) => index::gather_text(dtype),
            Key::Scatter { op, dtype } => index::scatter_text(op, dtype),
            Key::ScatterSorted { op, dtype } => index::scatter_sorted_text(op, dtype),
            Key::Compact => Ok(index::compact_text()),
            Key::Contract { from, right, acc, to, inner } => contract::text(from, right, acc, to, inner),
            Key::Rows { row, dtype, threads, vectors } => rows::text(row, dtype, threads, vectors),
            Key::Columns { dtype } => rows::columns_text(dtype),
            Key::SortStart => sort::start_text(),
            Key::SortStep(dtype) => sort::step_text(dtype),
            Key::SortRead(dtype) => sort::read_text(dtype),
        }
    }
}

/// What the lock holds; a thread that panicked left it whole, since nothing panics while it is changed.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Devices beyond these are refused.
const MOST: usize = 64;
static CONTEXTS: [OnceLock<Context>; MOST] = [const { OnceLock::new() }; MOST];

impl Context {
    /// The context of a device, made when it is first asked for.
    pub(crate) fn of(number: usize) -> Result<&'static Context> {
        static OPENING: Mutex<()> = Mutex::new(());
        let slot = CONTEXTS.get(number).ok_or_else(|| {
            Error::unsupported("device", None, format!("cuda:{number}"), format!("devices are numbered below {MOST}"))
        })?;
        if let Some(context) = slot.get() {
            return Ok(context);
        }
        let _one_at_a_time = locked(&OPENING);
        if let Some(context) = slot.get() {
            return Ok(context);
        }
        let context = Context {
            device: Device::open(number)?,
            kernels: Mutex::default(),
            pool: Mutex::default(),
            flag: OnceLock::new(),
            flagged: Mutex::default(),
        };
        Ok(slot.get_or_init(|| context))
    }

    pub(crate) fn name(&self) -> String {
        format!("cuda:{}", self.device.number)
    }

    /// The kernel of a key, compiled when it is first wanted.
    ///
    /// # Errors
    /// NVRTC's.
    pub(crate) fn kernel(&self, op: &'static str, key: Key) -> Result<Function> {
        if let Some(&function) = locked(&self.kernels).get(&key) {
            return Ok(function);
        }
        // Two threads may both compile it; one of the two is kept.
        let text = key.text()?;
        let image = nvrtc::image(op, &text.source, self.device.capability)?;
        let function = self.device.load(&image, &text.entry)?;
        Ok(*locked(&self.kernels).entry(key).or_insert(function))
    }

    /// Threads of a block, and blocks for `n` elements: no more than keep the processors busy.
    pub(crate) fn grid(&self, n: usize) -> ([u32; 2], u32) {
        let block = 256;
        let most = 16 * self.device.processors;
        ([n.div_ceil(block as usize).clamp(1, most as usize) as u32, 1], block)
    }

    /// Launches a kernel.
    ///
    /// # Safety
    /// As [`Device::launch`].
    pub(crate) unsafe fn launch(
        &self,
        op: &'static str,
        function: Function,
        grid: ([u32; 2], u32),
        arguments: &mut [*mut c_void],
    ) -> Result<()> {
        // SAFETY: passed on.
        unsafe { self.device.launch(op, function, grid.0, grid.1, arguments) }
    }

    /// The flag, for a launch that may raise it.
    pub(crate) fn flag(&'static self, op: &'static str) -> Result<u64> {
        let flag = match self.flag.get() {
            Some(flag) => flag,
            None => {
                let flag = Buffer::new(self, 32)?;
                // SAFETY: it is 32 bytes long.
                unsafe { self.device.zero(flag.address, 32)? };
                self.flag.get_or_init(|| flag)
            }
        };
        locked(&self.flagged).get_or_insert(op);
        Ok(flag.address)
    }

    /// Waits for all work before.
    ///
    /// # Errors
    /// What went wrong in it: faults of the device, and indices out of range.
    pub(crate) fn wait(&self) -> Result<()> {
        let op = locked(&self.flagged).take();
        let (Some(op), Some(flag)) = (op, self.flag.get()) else { return self.device.wait() };
        let mut words = [0i64; 4];
        // SAFETY: the flag is 32 bytes long.
        unsafe {
            self.device.read(flag.address, bytemuck::cast_slice_mut(&mut words))?;
            self.device.zero(flag.address, 32)?;
        }
        match words {
            [raised, index, size, _] if raised != 0 => Err(Error::Index { op, index, size: size as usize }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Key;
    use crate::fold::Folding;
    use crate::nvrtc;
    use numr_core::DType;
    use numr_core::prim::{ReduceOp, ScatterOp};
    use std::num::NonZero;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Every kernel of ours but the maps, which the tests crate compiles.
    fn keys() -> Vec<Key> {
        use ReduceOp as R;
        let mut keys = vec![Key::SortStart, Key::Compact];
        for d in DType::ALL {
            keys.extend([Key::Put(d), Key::Gather(d)]);
            let number = !d.is_bool();
            for op in [R::Sum, R::Prod, R::Max, R::Min, R::Any, R::All] {
                if d.is_complex() && matches!(op, R::Max | R::Min) {
                    continue;
                }
                let (acc, to) = crate::fold::dtypes(op, d);
                let strips = crate::fold::lanes(d);
                for folding in [Folding::Lines, Folding::Strips { lanes: strips }, Folding::Any] {
                    keys.push(Key::Fold { op, from: d, acc, to, folding });
                }
                if !matches!(op, R::Any | R::All) {
                    keys.extend([true, false].map(|lines| Key::Scan { op, from: d, acc, to, lines }));
                }
            }
            if !d.is_complex() {
                keys.extend([R::ArgMax, R::ArgMin].map(|op| Key::Arg { op, from: d }));
                keys.extend([Key::SortStep(d), Key::SortRead(d)]);
            }
            for op in [ScatterOp::Set, ScatterOp::Add, ScatterOp::Mul, ScatterOp::Min, ScatterOp::Max] {
                let order = matches!(op, ScatterOp::Min | ScatterOp::Max);
                if number && !(order && d.is_complex()) {
                    keys.extend([Key::Scatter { op, dtype: d }, Key::ScatterSorted { op, dtype: d }]);
                }
            }
            if d.is_float() {
                use crate::rows::Kind as W;
                let rows = [
                    W::Softmax,
                    W::SoftmaxBackward,
                    W::LogSoftmax,
                    W::LogSoftmaxBackward,
                    W::LayerNorm,
                    W::LayerNormBackward,
                    W::RmsNorm,
                    W::RmsNormBackward,
                ];
                let each = |threads, vectors| rows.map(|row| Key::Rows { row, dtype: d, threads, vectors });
                keys.extend([each(32, 8), each(256, 2), each(256, 0)].concat());
                keys.push(Key::Columns { dtype: d });
            }
            if number {
                let product = |inner| Key::Contract { from: d, right: d, acc: d.compute(), to: d, inner };
                keys.extend([product([true, false]), product([false, true])]);
            }
        }
        keys
    }

    /// Without a device, for the architectures that we compile for: f32 for all of them, other dtypes for one in turn.
    #[test]
    fn every_kernel_compiles_without_spills() {
        if std::env::var_os("NUMR_NVRTC").is_none() {
            let required = std::env::var("NUMR_REQUIRE").unwrap_or_default();
            assert!(!required.contains("nvrtc"), "NUMR_REQUIRE names nvrtc, but NUMR_NVRTC is not set");
            eprintln!("SKIPPED: no nvrtc: NUMR_NVRTC is not set; see `cargo xtask setup`");
            return;
        }
        const ARCHITECTURES: [&str; 5] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90a"];
        let keys = keys();
        let next = AtomicUsize::new(0);
        let work = || -> Vec<String> {
            let turns = std::iter::from_fn(|| {
                let k = next.fetch_add(1, Ordering::Relaxed);
                keys.get(k).map(|key| (k, key))
            });
            let jobs = turns.flat_map(|(k, key)| {
                let all = format!("{key:?}").contains("F32");
                let some = ARCHITECTURES.iter().enumerate().filter(move |&(i, _)| all || i == k % 5);
                some.map(move |(_, architecture)| (key, architecture))
            });
            let judged = |(key, architecture): (&Key, &&str)| {
                let text = key.text().map_err(|e| format!("{key:?}: {e}"))?;
                nvrtc::judge(&text.source, architecture).map_err(|e| format!("{key:?} for {architecture}: {e}"))
            };
            jobs.filter_map(|job| judged(job).err()).collect()
        };
        let workers = std::thread::available_parallelism().map_or(1, NonZero::get);
        let faults: Vec<String> = std::thread::scope(|s| {
            let threads: Vec<_> = (0..workers).map(|_| s.spawn(work)).collect();
            threads.into_iter().flat_map(|t| t.join().expect("no thread panics")).collect()
        });
        assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults[..faults.len().min(60)].join("\n"));
        println!("{} CUDA kernels compile", keys.len());
    }
}
