//! Blocks from the system, and freed ones kept by size class.
//!
//! A class holds blocks of one size, four classes to a doubling. Small blocks are kept by the thread that frees them,
//! without a lock; large ones by all threads together, up to an eighth of the machine's memory. Blocks of several
//! megabytes ask the system for huge pages.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::ALIGN;

/// Blocks of this many bytes and more are kept by all threads together.
const LARGE: usize = 1 << 16;
/// Blocks of this many bytes and more lie on huge pages, if the system has them.
const HUGE: usize = 4 << 20;
/// The size of a huge page.
const PAGE: usize = 2 << 20;
/// The classes of small blocks, and of all.
const SMALL_CLASSES: usize = class_of(LARGE / ALIGN).0 + 1;
const CLASSES: usize = class_of(usize::MAX / ALIGN / 2).0 + 1;
/// Most small blocks of a class that a thread keeps.
const KEPT: usize = 32;

/// Bytes taken from the system and not given back.
static RESERVED: AtomicUsize = AtomicUsize::new(0);
static SHARED: Mutex<Shared> = Mutex::new(Shared { kept: [const { Vec::new() }; CLASSES], bytes: 0 });

thread_local! {
    static LOCAL: RefCell<Local> = const { RefCell::new(Local { kept: [const { Vec::new() }; SMALL_CLASSES], bytes: 0 }) };
}

/// What the allocator holds, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryStats {
    /// Taken from the system.
    pub reserved: usize,
    /// Of these, freed and kept for the next tensor: by all threads together, and by the one that asks.
    pub cached: usize,
}

/// What the allocator holds.
pub fn memory_stats() -> MemoryStats {
    let local = LOCAL.try_with(|l| l.borrow().bytes).unwrap_or(0);
    let shared = shared(|s| s.bytes);
    MemoryStats { reserved: RESERVED.load(Ordering::Relaxed), cached: local + shared }
}

/// Gives freed blocks back to the system: those kept by all threads together, and by the one that asks.
pub fn empty_cache() {
    let _ = LOCAL.try_with(|l| l.borrow_mut().clear());
    let freed = shared(|s| s.clear());
    drop(freed);
}

/// A block of a size class.
pub(super) struct Block {
    data: NonNull<u8>,
    /// How far the data lies from where the system's block starts.
    skipped: u32,
    class: u16,
}

// SAFETY: a block is memory that nothing else refers to.
unsafe impl Send for Block {}
// SAFETY: a shared block only tells its address.
unsafe impl Sync for Block {}

/// The number of a class and its blocks' size, from a size, both in cache lines.
const fn class_of(lines: usize) -> (usize, usize) {
    let lines = if lines == 0 { 1 } else { lines };
    if lines < 8 {
        return (lines, lines);
    }
    // The two bits after the leading one count the quarters of a doubling.
    let exponent = lines.ilog2() as usize;
    let quarters = lines.div_ceil(1 << (exponent - 2));
    (8 + (exponent - 3) * 4 + quarters - 4, quarters << (exponent - 2))
}

impl Block {
    pub(super) fn data(&self) -> NonNull<u8> {
        self.data
    }

    /// A block of at least `len` bytes; `None` if there is no memory.
    pub(super) fn take(len: usize) -> Option<Block> {
        // Twice the size has to be countable as well, for the classes' sake.
        if len > isize::MAX as usize / 2 {
            return None;
        }
        let (class, lines) = class_of(len.div_ceil(ALIGN));
        let kept = if class < SMALL_CLASSES {
            LOCAL.try_with(|l| l.borrow_mut().take(class, lines * ALIGN)).ok().flatten()
        } else {
            shared(|s| s.take(class, lines * ALIGN))
        };
        kept.or_else(|| Block::from_system(class, lines * ALIGN)).or_else(|| {
            empty_cache();
            Block::from_system(class, lines * ALIGN)
        })
    }

    /// A zeroed block.
    fn from_system(class: usize, size: usize) -> Option<Block> {
        let huge = size >= HUGE;
        let layout = Block::layout(size)?;
        // SAFETY: the layout's size is not 0.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let skipped = if huge { start.align_offset(PAGE).min(PAGE) } else { 0 };
        // SAFETY: a huge block is one page larger than its size, so that the skipped part is there.
        let data = unsafe { start.add(skipped) };
        if huge {
            ask_for_huge_pages(data, size);
        }
        RESERVED.fetch_add(size, Ordering::Relaxed);
        Some(Block { data, skipped: skipped as u32, class: class as u16 })
    }

    /// What the system is asked for. The large blocks are not asked for with an alignment, because then the allocator
    /// zeroes by writing where fresh pages are zero already.
    fn layout(size: usize) -> Option<Layout> {
        if size >= HUGE {
            return Layout::from_size_align(size.checked_add(PAGE)?, ALIGN_OF_FRESH).ok();
        }
        Layout::from_size_align(size, ALIGN).ok()
    }

    fn size(&self) -> usize {
        let class = usize::from(self.class);
        if class < 8 { class * ALIGN } else { ((4 + (class - 8) % 4) * ALIGN) << ((class - 8) / 4 + 1) }
    }

    /// Keeps the block for the next taker. Call it once, at the end of its use.
    pub(super) fn give_back(&mut self) {
        let block = Block { ..*self };
        let surplus = if usize::from(block.class) < SMALL_CLASSES {
            let mut block = Some(block);
            let _ = LOCAL.try_with(|l| l.borrow_mut().keep(&mut block));
            block.into_iter().collect()
        } else {
            shared(|s| s.keep(block))
        };
        drop(surplus);
    }
}

/// The alignment that the system gives without being asked.
const ALIGN_OF_FRESH: usize = 16;

/// Blocks on their way back to the system.
#[derive(Default)]
struct Freed(Vec<Block>);

impl FromIterator<Block> for Freed {
    fn from_iter<I: IntoIterator<Item = Block>>(blocks: I) -> Freed {
        Freed(blocks.into_iter().collect())
    }
}

impl Drop for Freed {
    fn drop(&mut self) {
        for block in self.0.drain(..) {
            let size = block.size();
            let Some(layout) = Block::layout(size) else { continue };
            RESERVED.fetch_sub(size, Ordering::Relaxed);
            // SAFETY: `from_system` took the block with this layout, that many bytes before its data, and it is
            // dropped here for good.
            unsafe { dealloc(block.data.sub(block.skipped as usize).as_ptr(), layout) };
        }
    }
}

/// What one thread keeps.
struct Local {
    kept: [Vec<Block>; SMALL_CLASSES],
    bytes: usize,
}

impl Local {
    fn take(&mut self, class: usize, size: usize) -> Option<Block> {
        let block = self.kept[class].pop()?;
        self.bytes -= size;
        Some(block)
    }

    /// Takes the block if there is room.
    fn keep(&mut self, block: &mut Option<Block>) {
        if let Some(b) = block
            && self.kept[usize::from(b.class)].len() < KEPT
        {
            self.bytes += b.size();
            let class = usize::from(b.class);
            self.kept[class].extend(block.take());
        }
    }

    fn clear(&mut self) {
        self.bytes = 0;
        drop(self.kept.iter_mut().flat_map(std::mem::take).collect::<Freed>());
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.clear();
    }
}

/// What all threads keep.
struct Shared {
    kept: [Vec<Block>; CLASSES],
    bytes: usize,
}

impl Shared {
    fn take(&mut self, class: usize, size: usize) -> Option<Block> {
        let block = self.kept[class].pop()?;
        self.bytes -= size;
        Some(block)
    }

    /// Takes the block; what was there goes if it would be too much, because it was of no use lately.
    fn keep(&mut self, block: Block) -> Freed {
        let size = block.size();
        if size > limit() {
            return Freed(vec![block]);
        }
        let freed = if self.bytes + size > limit() { self.clear() } else { Freed::default() };
        self.bytes += size;
        self.kept[usize::from(block.class)].push(block);
        freed
    }

    fn clear(&mut self) -> Freed {
        self.bytes = 0;
        self.kept.iter_mut().flat_map(std::mem::take).collect()
    }
}

/// Calls `f` with what all threads keep. Blocks go back to the system outside of the lock.
fn shared<T>(f: impl FnOnce(&mut Shared) -> T) -> T {
    f(&mut SHARED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The most that all threads keep together: an eighth of the memory, or 1 GiB where its size is not known.
fn limit() -> usize {
    static LIMIT: OnceLock<usize> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let total =
            text.lines().find_map(|l| l.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?.trim().parse().ok());
        total.map_or(1 << 30, |kib: usize| kib.saturating_mul(1024) / 8)
    })
}

#[cfg(target_os = "linux")]
fn ask_for_huge_pages(data: NonNull<u8>, size: usize) {
    unsafe extern "C" {
        fn madvise(start: *mut std::ffi::c_void, len: usize, advice: std::ffi::c_int) -> std::ffi::c_int;
    }
    const MADV_HUGEPAGE: std::ffi::c_int = 14;
    // SAFETY: the range lies in a block of ours, and the advice changes nothing that can be seen but speed; where the
    // kernel does not know it, it says so and nothing happens.
    let _ = unsafe { madvise(data.as_ptr().cast(), size, MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages(_: NonNull<u8>, _: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_their_sizes() {
        let mut last = 0;
        for lines in (1..5000).chain([1 << 20, (1 << 20) + 1, (7 << 40) + 3, usize::MAX / ALIGN / 2]) {
            let (class, size) = class_of(lines);
            assert!(size >= lines && size * 4 <= lines * 5 + 3, "{lines} lines in {size}");
            assert!(class >= last && class < CLASSES);
            last = class;
            let block = Block { data: NonNull::dangling(), skipped: 0, class: class as u16 };
            assert_eq!(block.size(), size * ALIGN, "class {class}");
        }
    }

    #[test]
    fn blocks_from_the_system_are_zero_and_aligned() {
        for bytes in [64, 100 * ALIGN, HUGE, 3 * HUGE] {
            let (class, lines) = class_of(bytes / ALIGN);
            let block = Block::from_system(class, lines * ALIGN).expect("memory");
            assert_eq!(block.data.as_ptr() as usize % if bytes >= HUGE { PAGE } else { ALIGN }, 0);
            // SAFETY: the block is that long, and nobody else has it.
            let all = unsafe { std::slice::from_raw_parts(block.data.as_ptr(), lines * ALIGN) };
            assert!(all.iter().all(|&b| b == 0));
            drop(Freed(vec![block]));
        }
    }
}
