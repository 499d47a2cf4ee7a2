//! Threads: how work is spread, and how many take part.
//!
//! Work is cut into chunks by its size alone and each chunk writes a place of its own, so no result depends on the
//! number of threads.

use std::cell::Cell;

thread_local! { static BUDGET: Cell<usize> = const { Cell::new(0) }; }

/// Runs `f` with at most `n` threads (0: as many as there are) for the operations that it starts itself.
///
/// ```
/// let n = numr_cpu::threads::with_threads(1, numr_cpu::threads::num_threads);
/// assert_eq!(n, 1);
/// ```
pub fn with_threads<T>(n: usize, f: impl FnOnce() -> T) -> T {
    /// Puts the old budget back, after a panic as well.
    struct Restore(usize);
    impl Drop for Restore {
        fn drop(&mut self) {
            BUDGET.set(self.0);
        }
    }
    let _restore = Restore(BUDGET.replace(n));
    f()
}

/// The number of threads that an operation may use.
pub fn num_threads() -> usize {
    #[cfg(feature = "threads")]
    let most = rayon::current_num_threads();
    #[cfg(not(feature = "threads"))]
    let most = 1;
    match BUDGET.get() {
        0 => most,
        n => n.min(most),
    }
}

/// Work below this many nanoseconds (roughly, or elements of a cheap op) stays on one thread: waking others costs more.
#[cfg(feature = "threads")]
const SERIAL: usize = 1 << 17;

/// Calls `f` with each of `0..chunks`, on several threads if `work`, the number of elements times their rough cost in
/// nanoseconds, is worth it. The order is open; the chunks must not depend on [`num_threads`].
pub(crate) fn parallel(chunks: usize, work: usize, f: impl Fn(usize) + Sync) {
    #[cfg(feature = "threads")]
    {
        let threads = num_threads().min(chunks);
        if threads > 1 && work >= SERIAL {
            use std::sync::atomic::{AtomicUsize, Ordering};
            let next = AtomicUsize::new(0);
            let turn = || {
                loop {
                    let k = next.fetch_add(1, Ordering::Relaxed);
                    if k >= chunks {
                        break;
                    }
                    f(k);
                }
            };
            rayon::scope(|s| {
                for _ in 1..threads {
                    s.spawn(|_| turn());
                }
                turn();
            });
            return;
        }
    }
    let _ = work;
    (0..chunks).for_each(f);
}

/// Calls `f(k, part)` with the k-th part of `chunk` elements of `out` (the last may be shorter), as [`parallel`] does.
pub(crate) fn parallel_chunks<T: Send>(out: &mut [T], chunk: usize, work: usize, f: impl Fn(usize, &mut [T]) + Sync) {
    let (chunk, len) = (chunk.max(1), out.len());
    let base = Base(out.as_mut_ptr());
    parallel(len.div_ceil(chunk), work, |k| {
        let start = k * chunk;
        // SAFETY: `k` is below the number of parts and given once, so the parts lie inside `out`, which is borrowed
        // for all of this, and do not overlap.
        f(k, unsafe { std::slice::from_raw_parts_mut(base.get().add(start), chunk.min(len - start)) });
    });
}

/// The start of a slice whose parts go to several threads.
struct Base<T>(*mut T);

impl<T> Base<T> {
    fn get(&self) -> *mut T {
        self.0
    }
}

// SAFETY: threads write disjoint parts, each through a reference of its own, of a type that may be sent.
unsafe impl<T: Send> Sync for Base<T> {}
