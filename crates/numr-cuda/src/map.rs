//! Element-wise expressions: the printed kernel, over operands of any layout.

use crate::context::{ByAddress, Context, Key, Text};
use crate::memory::Buffer;
use crate::runtime::{CudaRuntime, tensor};
use numr_core::layout::coalesce;
use numr_core::prim::{Bind, Map, Meta};
use numr_core::runtime::{Outputs, Support};
use numr_core::scalar::graph::{Class, Graph};
use numr_core::scalar::print::{Access, MapKernel, cuda::Module};
use numr_core::scalar::program::{ArgType, Op, Program};
use numr_core::{DType, Element, Lit, Result, Shape, Strides, Tensor, dispatch_dtype};
use smallvec::SmallVec;
use std::ffi::c_void;
use std::sync::Arc;

pub(crate) fn supports(map: &Map, dtypes: &[DType]) -> Support {
    match map.program(dtypes.iter().copied()) {
        Ok(_) => Support::Native,
        Err(e) => Support::No { reason: e.to_string().into() },
    }
}

pub(crate) fn map(
    context: &'static Context,
    map: &Map,
    inputs: &[&Tensor<CudaRuntime>],
    outs: &[Meta],
) -> Result<Outputs<CudaRuntime>> {
    let program = map.program(inputs.iter().map(|t| t.dtype()))?;
    let shape = outs.first().map(|m| m.shape.clone()).unwrap_or_default();
    run(context, "map", &program, &map.binds, inputs, &shape, outs)
}

/// The tensor in row-major order in memory of its own.
pub(crate) fn contiguous(
    context: &'static Context,
    x: &Tensor<CudaRuntime>,
    out: &Meta,
) -> Result<Tensor<CudaRuntime>> {
    let graph = Graph::build(1, Class::Free, |_, a| vec![a[0]]);
    let program = graph.program(&[ArgType::Tensor(x.dtype())])?;
    let outs = std::slice::from_ref(out);
    let mut outputs = run(context, "contiguous", &program, &[Bind::Input], &[x], &out.shape, outs)?;
    Ok(outputs.swap_remove(0))
}

/// Arguments of a launch, each at a place of its own that keeps its alignment.
#[derive(Default)]
struct Arguments {
    bytes: SmallVec<[u128; 16]>,
    at: SmallVec<[usize; 12]>,
}

impl Arguments {
    fn push(&mut self, bytes: &[u8]) {
        let start = self.bytes.len();
        self.at.push(start);
        self.bytes.resize(start + bytes.len().div_ceil(16), 0);
        bytemuck::cast_slice_mut(&mut self.bytes[start..])[..bytes.len()].copy_from_slice(bytes);
    }
}

fn run(
    context: &'static Context,
    op: &'static str,
    program: &Arc<Program>,
    binds: &[Bind],
    inputs: &[&Tensor<CudaRuntime>],
    shape: &Shape,
    outs: &[Meta],
) -> Result<Outputs<CudaRuntime>> {
    let n = shape.numel().unwrap_or(usize::MAX);
    let buffers: SmallVec<[Arc<Buffer>; 2]> =
        outs.iter().map(|m| Buffer::new(context, n.saturating_mul(m.dtype.size_in_bytes()))).collect::<Result<_>>()?;
    if n > 0 {
        let coordinates = program.insts.iter().any(|i| matches!(i.op, Op::Coord(_)));
        let plain = |t: &&Tensor<CudaRuntime>| t.layout().shape() == shape && t.is_contiguous();
        let dense = !coordinates && inputs.iter().all(plain);
        let (dims, strides) = if dense { Default::default() } else { steps(op, inputs, shape, coordinates)? };
        let dense = dense || !coordinates && dims.len() <= 1 && strides.iter().all(|s| s.iter().all(|&s| s == 1));
        let access = if dense { Access::Contiguous } else { Access::Strided { rank: dims.len() } };
        // The grid's threads are added to an index before it is compared.
        let most = i32::MAX as usize - (1 << 22);
        let reaches = |t: &&Tensor<CudaRuntime>| t.layout().span().is_none_or(|(_, last)| last < most);
        let wide = n >= most || !inputs.iter().all(reaches);

        let mut arguments = Arguments::default();
        let (mut scalars, mut tensors) = (0, inputs.iter());
        for (k, bind) in binds.iter().enumerate() {
            match bind {
                Bind::Scalar(lit) => {
                    scalars |= 1 << k;
                    push_scalar(&mut arguments, *lit, program.args[k]);
                }
                Bind::Input => {
                    let Some(t) = tensors.next() else { continue };
                    let offset = t.layout().offset() * t.dtype().size_in_bytes();
                    arguments.push(&(t.storage().address + offset as u64).to_ne_bytes());
                }
            }
        }
        buffers.iter().for_each(|b| arguments.push(&b.address.to_ne_bytes()));
        if !dims.is_empty() && !dense {
            let numbers =
                dims.iter().map(|&d| d as i64).chain(strides.iter().flat_map(|s| s.iter().map(|&s| s as i64)));
            let bytes: Vec<u8> = match wide {
                true => numbers.flat_map(i64::to_ne_bytes).collect(),
                false => numbers.flat_map(|v| (v as i32).to_ne_bytes()).collect(),
            };
            arguments.push(&bytes);
        }
        match wide {
            true => arguments.push(&n.to_ne_bytes()),
            false => arguments.push(&(n as u32).to_ne_bytes()),
        }
        let key = Key::Map { program: ByAddress(program.clone()), scalars, access, wide };
        let function = context.kernel(op, key)?;
        let base = arguments.bytes.as_mut_ptr();
        let mut list: SmallVec<[*mut c_void; 12]> =
            arguments.at.iter().map(|&at| base.wrapping_add(at).cast()).collect();
        // SAFETY: the arguments are those that `Module::map` lists, in its order and sizes; operands lie inside their
        // storages and results are allocated for the shape.
        unsafe { context.launch(op, function, context.grid(n), &mut list)? };
    }
    Ok(buffers.iter().zip(outs).map(|(b, m)| tensor(context, b.clone(), m)).collect())
}

/// The sizes to walk over, and each operand's strides: axes that lie together merged, unless coordinates are asked for.
fn steps(
    op: &'static str,
    inputs: &[&Tensor<CudaRuntime>],
    shape: &Shape,
    coordinates: bool,
) -> Result<(Shape, Vec<Strides>)> {
    let layouts = inputs.iter().map(|t| t.layout().broadcast_to(op, shape)).collect::<Result<SmallVec<[_; 4]>>>()?;
    let strides: SmallVec<[&[isize]; 4]> = layouts.iter().map(|l| &l.strides()[..]).collect();
    Ok(match coordinates {
        true => (shape.clone(), layouts.iter().map(|l| l.strides().clone()).collect()),
        false => coalesce(shape, &strides),
    })
}

/// A scalar as it lies in memory.
fn push_scalar(arguments: &mut Arguments, lit: Lit, dtype: DType) {
    dispatch_dtype!(dtype, T => arguments.push(bytemuck::bytes_of(&<T as Element>::from_lit(lit).to_pod())));
}

/// The text of a map.
pub(crate) fn text(kernel: &MapKernel<'_>) -> Result<Text> {
    let mut module = Module::default();
    let entry = module.map(kernel)?;
    Ok(Text { source: module.source(), entry })
}
