//! Element-wise expressions: the printed kernel, over operands of any layout.

use crate::context::Context;
use crate::kernel::word;
use crate::launch::{ByAddress, Key, Launch, Text};
use crate::memory::Buffer;
use crate::runtime::{WgpuRuntime, tensor};
use numr_core::layout::coalesce;
use numr_core::prim::{Bind, Map, Meta};
use numr_core::runtime::{Outputs, Support};
use numr_core::scalar::Scalar;
use numr_core::scalar::expr::Expr;
use numr_core::scalar::graph::{Class, Graph};
use numr_core::scalar::print::{Access, MapKernel, wgsl};
use numr_core::scalar::program::{ArgType, Op, Program};
use numr_core::{DType, Element, Lit, Result, Shape, Strides, Tensor, dispatch_dtype};
use smallvec::SmallVec;
use std::sync::Arc;

pub(crate) fn supports(context: &Context, map: &Map, dtypes: &[DType]) -> Support {
    match map.program(dtypes.iter().copied()) {
        Ok(program) => supported(context, &program),
        Err(e) => Support::No { reason: e.to_string().into() },
    }
}

/// Has the device the arithmetic of every step? An index that is cast at once needs no 64 bits.
fn supported(context: &Context, program: &Program) -> Support {
    let index = |op: &Op| matches!(op, Op::Coord(_) | Op::Index);
    let dtypes = program.insts.iter().filter(|i| !index(&i.op)).map(|i| i.dtype);
    match dtypes.filter_map(|d| context.lacks(d)).next() {
        Some(reason) => Support::No { reason: reason.into() },
        None => Support::Native,
    }
}

pub(crate) fn map(
    device: &Arc<Context>,
    map: &Map,
    inputs: &[&Tensor<WgpuRuntime>],
    outs: &[Meta],
) -> Result<Outputs<WgpuRuntime>> {
    let program = map.program(inputs.iter().map(|t| t.dtype()))?;
    let shape = outs.first().map(|m| m.shape.clone()).unwrap_or_default();
    run(device, "map", &program, &map.binds, inputs, &shape, outs)
}

/// The tensor in row-major order in memory of its own.
pub(crate) fn contiguous(device: &Arc<Context>, x: &Tensor<WgpuRuntime>, out: &Meta) -> Result<Tensor<WgpuRuntime>> {
    let graph = Graph::build(1, Class::Free, |_, a| vec![a[0]]);
    // As what can be moved, whatever it is called.
    let program = graph.program(&[ArgType::Tensor(device.moved(x.dtype()))])?;
    let mut outputs = run(device, "contiguous", &program, &[Bind::Input], &[x], &out.shape, std::slice::from_ref(out))?;
    Ok(outputs.swap_remove(0))
}

/// 1 (u32) for each element that is not 0, dense.
pub(crate) fn truth(device: &Arc<Context>, x: &Tensor<WgpuRuntime>) -> Result<Tensor<WgpuRuntime>> {
    let graph = Graph::build(1, Class::Free, |_, a| vec![a[0].ne(Expr::lit(0.0)).cast(DType::U32)]);
    let program = graph.program(&[ArgType::Tensor(x.dtype())])?;
    let out = Meta { shape: x.layout().shape().clone(), dtype: DType::U32 };
    let mut outputs = run(device, "nonzero", &program, &[Bind::Input], &[x], &out.shape, std::slice::from_ref(&out))?;
    Ok(outputs.swap_remove(0))
}

fn run(
    device: &Arc<Context>,
    op: &'static str,
    program: &Arc<Program>,
    binds: &[Bind],
    inputs: &[&Tensor<WgpuRuntime>],
    shape: &Shape,
    outs: &[Meta],
) -> Result<Outputs<WgpuRuntime>> {
    let n = shape.numel().unwrap_or(usize::MAX);
    let buffers: SmallVec<[Arc<Buffer>; 2]> =
        outs.iter().map(|m| Buffer::new(device, n.saturating_mul(m.dtype.size_in_bytes()))).collect::<Result<_>>()?;
    let layouts = inputs.iter().map(|t| t.layout().broadcast_to(op, shape)).collect::<Result<SmallVec<[_; 4]>>>()?;
    let strides: SmallVec<[&[isize]; 4]> = layouts.iter().map(|l| &l.strides()[..]).collect();
    let coordinates = program.insts.iter().any(|i| matches!(i.op, Op::Coord(_)));
    let (dims, strides): (Shape, Vec<Strides>) = match coordinates {
        true => (shape.clone(), layouts.iter().map(|l| l.strides().clone()).collect()),
        false => coalesce(shape, &strides),
    };
    let dense = !coordinates && dims.len() <= 1 && strides.iter().all(|s| s.iter().all(|&s| s == 1));
    let access = if dense { Access::Contiguous } else { Access::Strided { rank: dims.len() } };

    let mut words: Vec<u32> = vec![word(op, n)?];
    if !dense {
        for &d in &*dims {
            words.push(word(op, d)?);
        }
    }
    for (layout, strides) in layouts.iter().zip(&strides) {
        words.push(word(op, layout.offset())?);
        if !dense {
            words.extend(strides.iter().map(|&s| s as i32 as u32));
        }
    }
    let mut scalars = 0;
    for (k, bind) in binds.iter().enumerate() {
        if let Bind::Scalar(lit) = bind {
            scalars |= 1 << k;
            push_scalar(&mut words, *lit, program.args[k]);
        }
    }
    let operands: SmallVec<[&Buffer; 4]> = inputs.iter().map(|t| &**t.storage()).collect();
    let results: SmallVec<[&Buffer; 2]> = buffers.iter().map(|b| &**b).collect();
    let launch = Launch { op, inputs: &operands, outputs: &results, words: &words, flag: false };
    let key = Key::Map { program: ByAddress(program.clone()), scalars, access };
    device.launch(key, &launch)?;
    Ok(buffers.iter().zip(outs).map(|(b, m)| tensor(device, b.clone(), m)).collect())
}

pub(crate) fn text(kernel: &MapKernel<'_>, rounds: usize) -> Result<Text> {
    let shader = wgsl::map(kernel, rounds)?;
    Ok(Text { source: shader.source, entry: wgsl::ENTRY, per_group: wgsl::GROUP * shader.elements })
}

/// A scalar as it lies in memory, padded to whole words.
fn push_scalar(words: &mut Vec<u32>, lit: Lit, dtype: DType) {
    dispatch_dtype!(dtype, T => {
        let pod = <T as Element>::from_lit(lit).to_pod();
        let mut bytes = bytemuck::bytes_of(&pod).to_vec();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        words.extend(bytes.as_chunks::<4>().0.iter().map(|&b| u32::from_le_bytes(b)));
    });
}
