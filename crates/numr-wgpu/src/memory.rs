//! Buffers, and a pool of those that nobody uses any more.
//!
//! A buffer goes back to the pool while launches that read it may still be waiting: they run before whatever the pool
//! gives it to next, because all work of a device is in one order.

use crate::context::{Context, locked, said};
use numr_core::{Error, Result};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Memory on a device, shared by the views of a tensor.
pub struct Buffer {
    pub(crate) raw: wgpu::Buffer,
    /// The bytes that are in use; the rest is there because sizes are rounded up.
    len: usize,
    context: Arc<Context>,
}

/// Free buffers by their size.
#[derive(Default)]
pub(crate) struct Pool(HashMap<u64, Vec<wgpu::Buffer>>);

/// Sizes from here on are rounded to an eighth of their power of two, below to that power.
const FINE: u64 = 1 << 20;

/// The size of the buffer for so many bytes.
fn class(len: usize) -> Option<u64> {
    let len = u64::try_from(len).ok()?.max(256);
    let power = len.checked_next_power_of_two()?;
    if power <= FINE { Some(power) } else { Some(len.next_multiple_of(power / 16)) }
}

impl Buffer {
    /// Memory of this many bytes, with whatever was in it.
    ///
    /// # Errors
    /// `Error::OutOfMemory` if the device has none, `Error::Unsupported` if it allows none so large.
    pub(crate) fn new(context: &Arc<Context>, len: usize) -> Result<Arc<Buffer>> {
        let refuse = || Error::OutOfMemory { bytes: len, device: context.name() };
        let most = context.limits.max_buffer_size.min(context.limits.max_storage_buffer_binding_size);
        if len as u64 > most {
            let reason =
                format!("a buffer of this adapter ends at {most} bytes, and {len} are asked for; split the tensor");
            return Err(Error::unsupported("allocate", None, context.name(), reason));
        }
        let size = class(len).ok_or_else(refuse)?.min(most / 4 * 4);
        let kept = locked(&context.pool).0.get_mut(&size).and_then(Vec::pop);
        let raw = match kept {
            Some(raw) => raw,
            None => match allocate(context, size) {
                Some(raw) => raw,
                None => {
                    locked(&context.pool).0.clear();
                    context.forget_groups();
                    context.wait()?;
                    allocate(context, size).ok_or_else(refuse)?
                }
            },
        };
        Ok(Arc::new(Buffer { raw, len, context: context.clone() }))
    }

    /// The bytes from the host.
    ///
    /// # Errors
    /// As [`Buffer::new`], and faults of work before.
    pub(crate) fn upload(context: &Arc<Context>, bytes: &[u8]) -> Result<Arc<Buffer>> {
        let buffer = Buffer::new(context, bytes.len())?;
        if !bytes.is_empty() {
            // What waits may still read the buffer's last content, and a write overtakes it.
            context.submit();
            let whole = bytes.len() / 4 * 4;
            context.queue.write_buffer(&buffer.raw, 0, &bytes[..whole]);
            if whole < bytes.len() {
                let mut last = [0; 4];
                last[..bytes.len() - whole].copy_from_slice(&bytes[whole..]);
                context.queue.write_buffer(&buffer.raw, whole as u64, &last);
            }
        }
        context.check()?;
        Ok(buffer)
    }

    /// The bytes from `at` on, a multiple of four, after all work before.
    ///
    /// # Errors
    /// Faults of the device and of work before.
    pub(crate) fn download(&self, at: u64, bytes: &mut [u8]) -> Result<()> {
        let context = &self.context;
        if bytes.is_empty() {
            return context.wait();
        }
        let size = (bytes.len() as u64).next_multiple_of(4);
        let staging = context.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size,
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        context.copy(&self.raw, at, &staging, size);
        let (send, receive) = std::sync::mpsc::channel();
        staging.map_async(wgpu::MapMode::Read, .., move |answer| {
            // Nobody listens only if this call has failed already.
            let _ = send.send(answer);
        });
        context.wait()?;
        match receive.recv() {
            Ok(Ok(())) => {
                let view = staging.get_mapped_range(..).map_err(|e| said("to_vec", e))?;
                bytes.copy_from_slice(&view[..bytes.len()]);
                Ok(())
            }
            Ok(Err(e)) => Err(said("to_vec", e)),
            Err(e) => Err(said("to_vec", e)),
        }
    }
}

fn allocate(context: &Context, size: u64) -> Option<wgpu::Buffer> {
    let scope = context.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let raw =
        context.device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
    pollster::block_on(scope.pop()).is_none().then_some(raw)
}

impl Drop for Buffer {
    fn drop(&mut self) {
        locked(&self.context.pool).0.entry(self.raw.size()).or_default().push(self.raw.clone());
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("len", &self.len).finish_non_exhaustive()
    }
}
