//! Strided elements in row-major order, by the run.

use numr_core::layout::coalesce;
use numr_core::{Layout, Shape, Strides};
use smallvec::SmallVec;

/// How the elements of a layout follow each other in memory, with as few axes as possible.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    dims: Shape,
    strides: Strides,
    offset: usize,
}

/// A part of the innermost axis: `len` elements from offset `at` on, `stride` apart.
struct Run {
    at: usize,
    stride: isize,
    len: usize,
}

impl Walk {
    pub(crate) fn new(layout: &Layout) -> Walk {
        let (dims, mut strides) = coalesce(layout.shape(), &[layout.strides()]);
        Walk { dims, strides: strides.pop().unwrap_or_default(), offset: layout.offset() }
    }

    /// Do the elements of `start..start + len` lie one after the other, whatever `start` is? Then the first is here.
    pub(crate) fn dense(&self) -> Option<usize> {
        let dense = self.dims.is_empty() || (self.dims.len() == 1 && self.strides[0] == 1);
        dense.then_some(self.offset)
    }

    /// Are all elements one and the same?
    pub(crate) fn single(&self) -> bool {
        self.strides.iter().all(|&s| s == 0)
    }

    /// Calls `f` with the runs of elements `start..start + len` of the row-major order, which must exist.
    fn runs(&self, start: usize, len: usize, mut f: impl FnMut(Run)) {
        let (Some((&inner, outer)), Some((&stride, steps))) = (self.dims.split_last(), self.strides.split_last())
        else {
            return f(Run { at: self.offset, stride: 0, len });
        };
        let mut left = len;
        let mut pos = start % inner;
        let mut counter: SmallVec<[usize; 8]> = SmallVec::from_elem(0, outer.len());
        let mut row = self.offset as isize;
        let mut rest = start / inner;
        for k in (0..outer.len()).rev() {
            counter[k] = rest % outer[k];
            rest /= outer[k];
            row += counter[k] as isize * steps[k];
        }
        loop {
            let run = left.min(inner - pos);
            f(Run { at: (row + pos as isize * stride) as usize, stride, len: run });
            left -= run;
            if left == 0 {
                return;
            }
            pos = 0;
            for k in (0..outer.len()).rev() {
                counter[k] += 1;
                if counter[k] < outer[k] {
                    row += steps[k];
                    break;
                }
                row -= (outer[k] - 1) as isize * steps[k];
                counter[k] = 0;
            }
        }
    }

    /// Reads `out.len()` elements from number `start` on. `src` must pass [`crate::storage::elements`] for the layout.
    pub(crate) fn load<T: Copy>(&self, src: &[T], start: usize, out: &mut [T]) {
        let mut out = out;
        self.runs(start, out.len(), |run| {
            let (part, rest) = std::mem::take(&mut out).split_at_mut(run.len);
            out = rest;
            match run.stride {
                1 => part.copy_from_slice(&src[run.at..][..run.len]),
                0 => part.fill(src[run.at]),
                s => {
                    let mut at = run.at;
                    for o in part {
                        *o = src[at];
                        at = at.wrapping_add_signed(s);
                    }
                }
            }
        });
    }

    /// Writes `src` to the elements from number `start` on.
    pub(crate) fn store<T: Copy>(&self, dst: &mut [T], start: usize, src: &[T]) {
        let mut src = src;
        self.runs(start, src.len(), |run| {
            let (part, rest) = src.split_at(run.len);
            src = rest;
            if run.stride == 1 {
                dst[run.at..][..run.len].copy_from_slice(part);
            } else {
                let mut at = run.at;
                for &v in part {
                    dst[at] = v;
                    at = at.wrapping_add_signed(run.stride);
                }
            }
        });
    }
}
