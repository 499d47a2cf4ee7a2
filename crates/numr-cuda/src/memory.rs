//! Device memory, and a pool of blocks that nobody uses any more.
//!
//! A block goes back while launches that read it may still be under way: they come before whatever the pool gives it to
//! next, because all work of a device is in one stream.

use crate::context::{Context, locked};
use crate::driver::Address;
use numr_core::{Error, Result};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Memory on a device, shared by the views of a tensor.
pub struct Buffer {
    pub(crate) address: Address,
    size: usize,
    context: &'static Context,
}

/// What a device's memory is used for, in bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct MemoryStats {
    /// Held by tensors.
    pub used: usize,
    /// Kept for reuse.
    pub cached: usize,
}

/// Free blocks by their size.
#[derive(Default)]
pub(crate) struct Pool {
    free: HashMap<usize, Vec<Address>>,
    pub(crate) stats: MemoryStats,
}

/// The size of the block for so many bytes: a power of two up to a MiB, above a sixteenth of one more.
fn class(len: usize) -> Option<usize> {
    let power = len.max(512).checked_next_power_of_two()?;
    if power <= 1 << 20 { Some(power) } else { Some(len.next_multiple_of(power / 16)) }
}

impl Buffer {
    /// Memory of this many bytes, with whatever was in it.
    ///
    /// # Errors
    /// `Error::OutOfMemory`; the device stays usable.
    pub(crate) fn new(context: &'static Context, len: usize) -> Result<Arc<Buffer>> {
        let refuse = || Error::OutOfMemory { bytes: len, device: context.name() };
        let size = class(len).ok_or_else(refuse)?;
        let mut pool = locked(&context.pool);
        let address = match pool.free.get_mut(&size).and_then(Vec::pop) {
            Some(address) => {
                pool.stats.cached -= size;
                address
            }
            None => match context.device.allocate(size)? {
                Some(address) => address,
                None => {
                    pool.clear(context);
                    context.device.wait()?;
                    context.device.allocate(size)?.ok_or_else(refuse)?
                }
            },
        };
        pool.stats.used += size;
        Ok(Arc::new(Buffer { address, size, context }))
    }
}

impl Pool {
    fn clear(&mut self, context: &Context) {
        for address in self.free.drain().flat_map(|(_, blocks)| blocks) {
            // SAFETY: it came from this device, and nobody holds it.
            unsafe { context.device.free(address) };
        }
        self.stats.cached = 0;
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut pool = locked(&self.context.pool);
        pool.stats.used -= self.size;
        pool.stats.cached += self.size;
        pool.free.entry(self.size).or_default().push(self.address);
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("size", &self.size).finish_non_exhaustive()
    }
}
