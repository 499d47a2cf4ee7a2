//! Moves of elements: into row-major order, end to end, into a view; and to the host. What an element means does not
//! matter here, only its size.

use bytemuck::Pod;
use numr_core::prim::{Meta, View};
use numr_core::{Layout, Result, Tensor};

use crate::CpuRuntime;
use crate::storage::{Buffer, elements};
use crate::threads::parallel_chunks;
use crate::walk::Walk;

/// Elements that one chunk of a threaded copy moves.
const CHUNK: usize = 1 << 16;

/// Evaluates an expression with `T` bound to a type of as many bytes.
macro_rules! by_size {
    ($size:expr, $T:ident => $body:expr) => {
        match $size {
            1 => {
                type $T = u8;
                $body
            }
            2 => {
                type $T = u16;
                $body
            }
            4 => {
                type $T = u32;
                $body
            }
            8 => {
                type $T = u64;
                $body
            }
            _ => {
                type $T = u128;
                $body
            }
        }
    };
}
pub(crate) use by_size;

/// The elements in row-major order into `out`, which is just as long.
fn gather<T: Pod + Send + Sync>(x: &Tensor<CpuRuntime>, out: &mut [T]) -> Result<()> {
    let src = elements::<T>(x)?;
    let walk = Walk::new(x.layout());
    let (work, chunk) = (size_of_val(out) / 4, walk.chunk(CHUNK));
    parallel_chunks(out, chunk, work, |k, part| walk.load(src, k * chunk, part));
    Ok(())
}

/// The operand, in row-major order in memory of its own.
pub(crate) fn contiguous(x: &Tensor<CpuRuntime>, out: &Meta) -> Result<Tensor<CpuRuntime>> {
    let mut buffer = Buffer::for_meta(out)?;
    by_size!(out.dtype.size_in_bytes(), T => gather::<T>(x, buffer.slice_mut())?);
    Ok(buffer.into_tensor(out.shape.clone(), out.dtype))
}

/// The elements in row-major order as bytes.
pub(crate) fn download(x: &Tensor<CpuRuntime>, bytes: &mut [u8]) -> Result<()> {
    if x.is_contiguous() {
        let size = x.dtype().size_in_bytes();
        by_size!(size, T => { elements::<T>(x)?; });
        let start = x.layout().offset() * size;
        if !bytes.is_empty() {
            bytes.copy_from_slice(&x.storage().slice::<u8>()[start..start + bytes.len()]);
        }
        return Ok(());
    }
    let mut buffer = Buffer::new(bytes.len())?;
    by_size!(x.dtype().size_in_bytes(), T => gather::<T>(x, buffer.slice_mut())?);
    bytes.copy_from_slice(buffer.slice());
    Ok(())
}

/// The operands end to end along an axis.
pub(crate) fn concat(axis: usize, xs: &[&Tensor<CpuRuntime>], out: &Meta) -> Result<Tensor<CpuRuntime>> {
    let mut buffer = Buffer::for_meta(out)?;
    by_size!(out.dtype.size_in_bytes(), T => {
        // Each operand fills a range of every row of `total` elements.
        let total = out.shape[axis..].iter().product::<usize>();
        let mut at = 0;
        for x in xs.iter().filter(|x| !x.is_empty()) {
            let (src, walk) = (elements::<T>(x)?, Walk::new(x.layout()));
            let len = x.shape()[axis..].iter().product::<usize>();
            let work = x.numel() * size_of::<T>() / 4;
            parallel_chunks(buffer.slice_mut::<T>(), total, work, |k, row| {
                walk.load(src, k * len, &mut row[at..at + len]);
            });
            at += len;
        }
    });
    Ok(buffer.into_tensor(out.shape.clone(), out.dtype))
}

/// Base with the elements that the view shows replaced by src.
pub(crate) fn assign(
    view: &View,
    base: &Tensor<CpuRuntime>,
    src: &Tensor<CpuRuntime>,
    out: &Meta,
) -> Result<Tensor<CpuRuntime>> {
    let mut buffer = Buffer::for_meta(out)?;
    let target = view.apply(&Layout::contiguous(out.shape.clone()))?;
    by_size!(out.dtype.size_in_bytes(), T => {
        let dst = buffer.slice_mut::<T>();
        gather(base, dst)?;
        let (from, walk, target) = (elements::<T>(src)?, Walk::new(src.layout()), Walk::new(&target));
        let n = src.numel();
        let mut block = [T::default(); 512];
        for start in (0..n).step_by(block.len()) {
            let part = &mut block[..512.min(n - start)];
            walk.load(from, start, part);
            target.store(dst, start, part);
        }
    });
    Ok(buffer.into_tensor(out.shape.clone(), out.dtype))
}
