//! Positions of strided operands that share dims, visited in row-major order from anywhere.

use numr_core::layout::coalesce;
use smallvec::SmallVec;

use crate::convert::{Compute, Source};

/// An odometer over the offsets of `N` operands, in elements.
pub(crate) struct Cursor<const N: usize> {
    dims: SmallVec<[usize; 8]>,
    strides: SmallVec<[[isize; N]; 8]>,
    counter: SmallVec<[usize; 8]>,
    /// Where the operands are now, relative to their first element.
    pub(crate) at: [isize; N],
}

impl<const N: usize> Clone for Cursor<N> {
    // By bytes; the derived one goes through iterators, which a fold of short rows would feel.
    #[inline]
    fn clone(&self) -> Self {
        Cursor {
            dims: SmallVec::from_slice(&self.dims),
            strides: SmallVec::from_slice(&self.strides),
            counter: SmallVec::from_slice(&self.counter),
            at: self.at,
        }
    }
}

impl<const N: usize> Cursor<N> {
    /// At position `start` of `dims`.
    pub(crate) fn new(dims: &[usize], strides: [&[isize]; N], start: usize) -> Self {
        let (dims, merged) = coalesce(dims, &strides);
        let strides: SmallVec<[[isize; N]; 8]> =
            (0..dims.len()).map(|k| std::array::from_fn(|n| merged[n][k])).collect();
        let mut c =
            Cursor { counter: SmallVec::from_elem(0, dims.len()), dims: dims.as_slice().into(), strides, at: [0; N] };
        let mut left = start;
        for k in (0..c.dims.len()).rev() {
            if left == 0 || c.dims[k] == 0 {
                break;
            }
            c.counter[k] = left % c.dims[k];
            left /= c.dims[k];
            c.shift(k, c.counter[k] as isize);
        }
        c
    }

    /// To the next position; past the last one, back to the first.
    #[inline]
    pub(crate) fn advance(&mut self) {
        for k in (0..self.dims.len()).rev() {
            self.counter[k] += 1;
            if self.counter[k] < self.dims[k] {
                return self.shift(k, 1);
            }
            self.counter[k] = 0;
            self.shift(k, 1 - self.dims[k] as isize);
        }
    }

    #[inline]
    fn shift(&mut self, k: usize, steps: isize) {
        for (at, s) in self.at.iter_mut().zip(&self.strides[k]) {
            // Between elements of a valid layout the true offset fits; on the way there it may wrap.
            *at = at.wrapping_add(s.wrapping_mul(steps));
        }
    }
}

/// A position among strided elements, in their row-major order, by the run.
#[derive(Clone)]
pub(crate) struct Steps {
    cursor: Cursor<1>,
    pos: usize,
    len: usize,
    stride: isize,
}

impl Steps {
    /// At position `start` of coalesced dims.
    pub(crate) fn new(dims: &[usize], strides: &[isize], start: usize) -> Steps {
        let (Some((&len, dims)), Some((&stride, strides))) = (dims.split_last(), strides.split_last()) else {
            return Steps { cursor: Cursor::new(&[], [&[]], 0), pos: 0, len: 1, stride: 0 };
        };
        Steps { cursor: Cursor::new(dims, [strides], start / len), pos: start % len, len, stride }
    }

    /// The offset here, and on to the next.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> isize {
        let at = self.cursor.at[0] + self.pos as isize * self.stride;
        self.forward(1);
        at
    }

    #[inline(always)]
    fn forward(&mut self, n: usize) {
        self.pos += n;
        if self.pos == self.len {
            self.pos = 0;
            self.cursor.advance();
        }
    }

    /// The next `n` elements of the elements, whose first is at `base`; `buffer` has room for them.
    ///
    /// # Safety
    /// They are elements of the source's tensor.
    #[inline(always)]
    pub(crate) unsafe fn block<'a, C: Compute>(
        &mut self,
        source: &Source<C>,
        base: isize,
        n: usize,
        buffer: &'a mut [C],
    ) -> &'a [C] {
        let mut done = 0;
        while done < n {
            let run = (self.len - self.pos).min(n - done);
            let at = base + self.cursor.at[0] + self.pos as isize * self.stride;
            self.forward(run);
            if run == n {
                // SAFETY: as the caller promises.
                return unsafe { source.fetch(at, self.stride, n, buffer) };
            }
            // SAFETY: as above.
            unsafe { source.read(at, self.stride, &mut buffer[done..done + run]) };
            done += run;
        }
        &buffer[..n]
    }
}
