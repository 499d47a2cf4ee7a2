//! Launches: a cache of pipelines, and the batch of dispatches that waits to be submitted.

use crate::context::{Context, locked, said};
use crate::kernel::Words;
use crate::memory::Buffer;
use crate::{contract, copy, fold, index, map, sort};
use numr_core::prim::{ReduceOp, ScatterOp};
use numr_core::scalar::print::{Access, MapKernel};
use numr_core::scalar::program::Program;
use numr_core::{DType, Error, Result};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Names a kernel; everything that its text depends on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Key {
    Map { program: ByAddress, scalars: u32, access: Access },
    Put(DType),
    Fold { op: ReduceOp, from: DType, acc: DType, to: DType },
    Arg { op: ReduceOp, from: DType, last: bool },
    Scan { op: ReduceOp, from: DType, acc: DType, to: DType, totals: bool },
    Gather(DType),
    Scatter { op: ScatterOp, dtype: DType, sorted: bool },
    Place,
    Nonzero,
    Contract { from: DType, right: DType, acc: DType, to: DType, tiled: bool },
    SortStart,
    SortStep(DType),
    SortRead(DType),
}

impl Key {
    /// The text of the kernel, for hardware or for a software driver, whose compiler takes its time for every line.
    ///
    /// # Errors
    /// None but those of printing.
    pub(crate) fn text(&self, hardware: bool) -> Result<Text> {
        match *self {
            Key::Map { ref program, scalars, access } => {
                let kernel = MapKernel { program: &program.0, scalars, access, wide: false };
                map::text(&kernel, if hardware { 4 } else { 1 })
            }
            Key::Put(dtype) => copy::put_text(dtype),
            Key::Fold { op, from, acc, to } => fold::reduce_text(op, from, acc, to),
            Key::Arg { op, from, last } => fold::arg_text(op, from, last),
            Key::Scan { op, from, acc, to, totals } => fold::scan_text(op, [from, acc, to], totals),
            Key::Gather(dtype) => index::gather_text(dtype),
            Key::Scatter { op, dtype, sorted } => index::scatter_text(op, dtype, sorted),
            Key::Place => index::place_text(),
            Key::Nonzero => index::nonzero_text(),
            Key::Contract { from, right, acc, to, tiled } => contract::text(from, right, acc, to, tiled),
            Key::SortStart => sort::start_text(),
            Key::SortStep(dtype) => sort::step_text(dtype),
            Key::SortRead(dtype) => sort::read_text(dtype),
        }
    }
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

/// The text of a kernel: bindings are read-only buffers, then results, then the uniform words.
pub(crate) struct Text {
    pub(crate) source: String,
    pub(crate) entry: &'static str,
    /// Elements of the launch that a workgroup does.
    pub(crate) per_group: u32,
}

/// A compiled kernel.
#[derive(Clone)]
pub(crate) struct Kernel {
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    per_group: u32,
}

/// Compiled kernels by key.
#[derive(Default)]
pub(crate) struct Pipelines(HashMap<Key, Kernel>);

/// Bytes of uniform words in a batch.
const RING: usize = 1 << 18;
/// Bytes of the flag: is it raised, the index (low, high), the size that it exceeds, who raised it.
const FLAG: u64 = 32;
/// Dispatches in a batch.
const BATCH: usize = 128;
/// Invocations in a workgroup of our own kernels.
pub(crate) const GROUP: u32 = 64;

/// What a bind group is made of: the layout, the buffers, the bytes of uniform words.
type Bound = (wgpu::BindGroupLayout, SmallVec<[wgpu::Buffer; 6]>, usize);

/// Bind groups that are kept, at most.
const GROUPS: usize = 1024;

/// Dispatches that wait.
pub(crate) struct Pending {
    /// The pass goes before the encoder that it writes to.
    pass: Option<wgpu::ComputePass<'static>>,
    encoder: Option<wgpu::CommandEncoder>,
    words: Vec<u8>,
    ring: wgpu::Buffer,
    dispatches: usize,
    /// Kept as long as the pool gives out the same buffers.
    groups: HashMap<Bound, wgpu::BindGroup>,
    /// An index that is out of range raises it.
    flag: wgpu::Buffer,
    flagged: bool,
}

impl Pending {
    pub(crate) fn new(device: &wgpu::Device) -> Pending {
        let buffer = |size, usage| {
            let usage = usage | wgpu::BufferUsages::COPY_DST;
            device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
        };
        let ring = buffer(RING as u64, wgpu::BufferUsages::UNIFORM);
        let flag = buffer(FLAG, wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC);
        Pending {
            pass: None,
            encoder: None,
            words: vec![],
            ring,
            dispatches: 0,
            groups: HashMap::new(),
            flag,
            flagged: false,
        }
    }
}

/// The ops whose kernels read indices, as they sign the flag.
#[derive(Clone, Copy)]
pub(crate) enum Indexed {
    Gather,
    Scatter,
}

/// One launch: so many elements, or none.
pub(crate) struct Launch<'a> {
    pub(crate) op: &'static str,
    pub(crate) inputs: &'a [&'a Buffer],
    pub(crate) outputs: &'a [&'a Buffer],
    /// The uniform words; the first is the number of elements.
    pub(crate) words: &'a [u32],
    /// Is the flag of the device one more result?
    pub(crate) flag: bool,
}

impl Context {
    /// Records a launch of the kernel of this key, compiled when it is first wanted.
    ///
    /// # Errors
    /// A kernel that does not compile, and `Error::Argument` for more elements than an index reaches.
    pub(crate) fn launch(&self, key: Key, launch: &Launch<'_>) -> Result<()> {
        let count = launch.words.first().copied().unwrap_or(0);
        if count == 0 {
            return Ok(());
        }
        let results = launch.outputs.len() + usize::from(launch.flag);
        let kernel = self.kernel(key, launch.inputs.len(), results, launch.op)?;
        let mut pending = locked(&self.pending);
        let align = self.limits.min_uniform_buffer_offset_alignment as usize;
        let size = (launch.words.len() * 4).next_multiple_of(16);
        if pending.dispatches == BATCH || pending.words.len().next_multiple_of(align) + size > RING {
            self.submit_all(&mut pending);
        }
        let at = pending.words.len().next_multiple_of(align);
        pending.words.resize(at, 0);
        launch.words.iter().for_each(|w| pending.words.extend(w.to_le_bytes()));
        pending.words.resize(at + size, 0);
        pending.flagged |= launch.flag;

        let Pending { pass, encoder, ring, flag, dispatches, groups, .. } = &mut *pending;
        let buffers = launch.inputs.iter().chain(launch.outputs).map(|b| &b.raw).chain(launch.flag.then_some(&*flag));
        if groups.len() == GROUPS {
            groups.clear();
        }
        let group = match groups.entry((kernel.layout.clone(), buffers.cloned().collect(), size)) {
            Entry::Occupied(group) => group.into_mut(),
            Entry::Vacant(place) => {
                let (layout, buffers, _) = place.key();
                let size = std::num::NonZeroU64::new(size as u64);
                let words = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer: ring, offset: 0, size });
                let whole = buffers.iter().map(wgpu::Buffer::as_entire_binding).chain([words]);
                let entries: SmallVec<[wgpu::BindGroupEntry<'_>; 8]> =
                    (0..).zip(whole).map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource }).collect();
                let descriptor = wgpu::BindGroupDescriptor { label: None, layout, entries: &entries };
                let group = self.device.create_bind_group(&descriptor);
                drop(entries);
                place.insert(group)
            }
        };
        let encoder = encoder.get_or_insert_with(|| self.device.create_command_encoder(&Default::default()));
        let pass = pass.get_or_insert_with(|| encoder.begin_compute_pass(&Default::default()).forget_lifetime());
        pass.set_pipeline(&kernel.pipeline);
        pass.set_bind_group(0, &*group, &[at as u32]);
        // No more than 65,535 workgroups along an axis.
        let groups = count.div_ceil(kernel.per_group);
        let x = groups.min(65_535);
        pass.dispatch_workgroups(x, groups.div_ceil(x), 1);
        *dispatches += 1;
        Ok(())
    }

    fn kernel(&self, key: Key, inputs: usize, outputs: usize, op: &'static str) -> Result<Kernel> {
        let mut pipelines = locked(&self.pipelines);
        if let Some(kernel) = pipelines.0.get(&key) {
            return Ok(kernel.clone());
        }
        let text = key.text(crate::context::is_hardware(self.number))?;
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let descriptor =
            wgpu::ShaderModuleDescriptor { label: Some(op), source: wgpu::ShaderSource::Wgsl(text.source.into()) };
        // SAFETY: the text is ours: its loops end, and its indices stay within what the launch binds, because operands
        // lie inside their storages and results are allocated for their shapes.
        let module =
            unsafe { self.device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked()) };
        // The words of a launch lie where its offset says, so that launches on the same buffers share a bind group.
        let buffer = |ty| wgpu::BindingType::Buffer {
            ty,
            has_dynamic_offset: ty == wgpu::BufferBindingType::Uniform,
            min_binding_size: None,
        };
        let storage = |read_only| buffer(wgpu::BufferBindingType::Storage { read_only });
        let types = std::iter::repeat_n(storage(true), inputs).chain(std::iter::repeat_n(storage(false), outputs));
        let entries: Vec<_> = (0..)
            .zip(types.chain([buffer(wgpu::BufferBindingType::Uniform)]))
            .map(|(binding, ty)| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty,
                count: None,
            })
            .collect();
        let layout =
            self.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
        let pipeline_layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            ..Default::default()
        });
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(op),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some(text.entry),
            compilation_options: wgpu::PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false,
                ..Default::default()
            },
            cache: None,
        });
        if let Some(error) = pollster::block_on(scope.pop()) {
            return Err(said(op, error));
        }
        let kernel = Kernel { pipeline, layout, per_group: text.per_group };
        pipelines.0.insert(key, kernel.clone());
        Ok(kernel)
    }

    /// Runs a kernel to its end: a software driver's compiler sets up what it tears down when the process ends, so that
    /// whoever is told of that end later is told first.
    ///
    /// # Errors
    /// Faults of the device.
    pub(crate) fn warm_up(self: &Arc<Self>) -> Result<()> {
        let buffer = Buffer::new(self, 4)?;
        let words = Words::new("device", 1)?.number(0)?.number(0)?.number(1)?.finish();
        let launch = Launch { op: "device", inputs: &[], outputs: &[&buffer], words: &words, flag: false };
        self.launch(Key::SortStart, &launch)?;
        self.wait()
    }

    /// Forgets the bind groups, which keep their buffers.
    pub(crate) fn forget_groups(&self) {
        locked(&self.pending).groups.clear();
    }

    /// Submits what waits.
    pub(crate) fn submit(&self) {
        self.submit_all(&mut locked(&self.pending));
    }

    fn submit_all(&self, pending: &mut Pending) {
        pending.pass = None;
        if let Some(encoder) = pending.encoder.take() {
            self.queue.write_buffer(&pending.ring, 0, &pending.words);
            self.queue.submit([encoder.finish()]);
        }
        pending.words.clear();
        pending.dispatches = 0;
    }

    /// Records a copy from byte `at` on behind what waits, and submits.
    pub(crate) fn copy(&self, from: &wgpu::Buffer, at: u64, to: &wgpu::Buffer, size: u64) {
        let mut pending = locked(&self.pending);
        self.submit_all(&mut pending);
        let mut encoder = self.device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(from, at, to, 0, Some(size));
        self.queue.submit([encoder.finish()]);
    }

    /// Submits what waits and waits for it.
    ///
    /// # Errors
    /// What went wrong since someone asked last: faults of the device, and indices out of range.
    pub(crate) fn wait(&self) -> Result<()> {
        let staging = {
            let mut pending = locked(&self.pending);
            self.submit_all(&mut pending);
            std::mem::take(&mut pending.flagged).then(|| {
                let usage = wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ;
                let staging = self.device.create_buffer(&wgpu::BufferDescriptor {
                    label: None,
                    size: FLAG,
                    usage,
                    mapped_at_creation: false,
                });
                let mut encoder = self.device.create_command_encoder(&Default::default());
                encoder.copy_buffer_to_buffer(&pending.flag, 0, &staging, 0, Some(FLAG));
                encoder.clear_buffer(&pending.flag, 0, None);
                self.queue.submit([encoder.finish()]);
                staging.map_async(wgpu::MapMode::Read, .., |_| {});
                staging
            })
        };
        self.device.poll(wgpu::PollType::wait_indefinitely()).map_err(|e| said("synchronize", e))?;
        self.check()?;
        let Some(staging) = staging else { return Ok(()) };
        let view = staging.get_mapped_range(..).map_err(|e| said("synchronize", e))?;
        let words: SmallVec<[u32; 8]> =
            view.as_chunks::<4>().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect();
        let [1, low, high, size, by, ..] = words[..] else { return Ok(()) };
        let op = if by == Indexed::Gather as u32 { "gather" } else { "scatter" };
        let index = (u64::from(high) << 32 | u64::from(low)) as i64;
        Err(Error::Index { op, index, size: size as usize })
    }
}

#[cfg(test)]
mod tests {
    use super::Key;
    use naga::back::{hlsl, msl, spv};
    use naga::valid::{Capabilities, ValidationFlags, Validator};
    use numr_core::DType;
    use numr_core::prim::{ReduceOp, ScatterOp};

    /// Every kernel of ours but the maps, which the tests crate validates.
    fn keys() -> Vec<Key> {
        use ReduceOp as R;
        let mut keys = vec![Key::SortStart, Key::Place, Key::Nonzero];
        for d in DType::ALL {
            keys.extend([Key::Put(d), Key::Gather(d)]);
            for op in [R::Sum, R::Prod, R::Max, R::Min, R::Any, R::All] {
                if d.is_complex() && matches!(op, R::Max | R::Min) {
                    continue;
                }
                let (acc, to) = crate::fold::dtypes(op, d);
                keys.push(Key::Fold { op, from: d, acc, to });
                if !matches!(op, R::Any | R::All) {
                    keys.extend([false, true].map(|totals| Key::Scan { op, from: d, acc, to, totals }));
                }
            }
            if !d.is_complex() {
                let ops = [(R::ArgMax, true), (R::ArgMax, false), (R::ArgMin, true), (R::ArgMin, false)];
                keys.extend(ops.map(|(op, last)| Key::Arg { op, from: d, last }));
                keys.extend([Key::SortStep(d), Key::SortRead(d)]);
            }
            for op in [ScatterOp::Set, ScatterOp::Add, ScatterOp::Mul, ScatterOp::Min, ScatterOp::Max] {
                let unordered = d.is_complex() && matches!(op, ScatterOp::Min | ScatterOp::Max);
                if !(unordered || d.is_bool() && op != ScatterOp::Set) {
                    keys.extend([false, true].map(|sorted| Key::Scatter { op, dtype: d, sorted }));
                }
            }
            if !d.is_bool() {
                let product = |tiled| Key::Contract { from: d, right: d, acc: d.compute(), to: d, tiled };
                keys.extend([false, true].map(product));
            }
        }
        keys
    }

    /// Validates a text and translates it for Vulkan, Metal (which has no f64) and DirectX 12.
    fn judge(text: &str) -> Result<(), String> {
        let module = naga::front::wgsl::parse_str(text).map_err(|e| e.emit_to_string(text))?;
        let capabilities = Capabilities::FLOAT64 | Capabilities::SHADER_INT64;
        let mut validator = Validator::new(ValidationFlags::all(), capabilities);
        let info = validator.validate(&module).map_err(|e| e.emit_to_string(text))?;
        let options = spv::Options { fake_missing_bindings: true, ..Default::default() };
        spv::write_vec(&module, &info, &options, None).map_err(|e| format!("SPIR-V: {e}"))?;
        if !text.contains("f64") {
            let options = msl::Options { lang_version: (2, 4), ..Default::default() };
            msl::write_string(&module, &info, &options, &Default::default()).map_err(|e| format!("MSL: {e}"))?;
        }
        let options = hlsl::Options { shader_model: hlsl::ShaderModel::V6_0, ..Default::default() };
        let mut out = String::new();
        let pipeline = hlsl::PipelineOptions::default();
        hlsl::Writer::new(&mut out, &options, &pipeline)
            .write(&module, &info, None)
            .map_err(|e| format!("HLSL: {e}"))?;
        Ok(())
    }

    /// Without a device.
    #[test]
    fn every_kernel_is_valid_and_translates() {
        let judged = |key: &Key| {
            let text = key.text(true).map_err(|e| format!("{key:?}: {e}"))?;
            judge(&text.source).map_err(|e| format!("{key:?}: {e}"))
        };
        let keys = keys();
        let faults: Vec<String> = keys.iter().filter_map(|key| judged(key).err()).collect();
        assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults[..faults.len().min(20)].join("\n"));
        println!("{} WGSL kernels", keys.len());
    }

    #[test]
    fn what_is_wrong_is_refused() {
        let text = Key::Nonzero.text(true).expect("a text").source;
        assert!(judge(&text.replace("end != before", "end != 1.5")).is_err(), "mixed types");
    }
}
