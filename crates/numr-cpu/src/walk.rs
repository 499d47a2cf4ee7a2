//! Strided elements in row-major order, by the run.

use numr_core::layout::coalesce;
use numr_core::{Layout, Shape, Strides};
use smallvec::SmallVec;
use std::array::from_fn;

/// How the elements of a layout follow each other in memory, with as few axes as possible.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    dims: Shape,
    strides: Strides,
    offset: usize,
}

/// Elements along a side of a tile: a cache line of the common types.
const TILE: usize = 16;

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

    /// The axis whose neighbours lie nearest, if it is not the innermost one: elements are then read by the tile, so
    /// that a cache line is fetched once and not once for each of its elements.
    pub(crate) fn across(&self) -> Option<usize> {
        let far = |k: usize| Some(self.strides[k].unsigned_abs()).filter(|&s| s > 0);
        let last = far(self.dims.len().checked_sub(1)?)?;
        let (near, k) = (0..self.dims.len() - 1).filter_map(|k| Some((far(k)?, k))).min()?;
        (near < last && self.dims[k] > 1).then_some(k)
    }

    /// How many elements one job of a copy takes: about `most`; more where it goes by the tile, because lines that lie
    /// side by side along the axis across are then read together.
    pub(crate) fn chunk(&self, most: usize) -> usize {
        let Some(axis) = self.across() else { return most };
        let step: usize = self.dims[axis + 1..].iter().product();
        // An eighth of the axis at most, so that there is work for several threads.
        step * (self.dims[axis] / 8).min(16 * TILE).max(most / step).next_multiple_of(TILE)
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
        let Some(axis) = self.across() else { return self.load_runs(src, start, out) };
        let step: usize = self.dims[axis + 1..].iter().product();
        let (mut start, mut out) = (start, out);
        while !out.is_empty() {
            let inside = start % step;
            let whole = (out.len() / step).min(self.dims[axis] - start / step % self.dims[axis]);
            let by_tile = inside == 0 && whole > 1;
            let count = if by_tile { whole * step } else { out.len().min(step - inside) };
            let (part, rest) = std::mem::take(&mut out).split_at_mut(count);
            if by_tile {
                self.load_tiles(src, start, self.strides[axis], step, part);
            } else {
                self.load_runs(src, start, part);
            }
            (start, out) = (start + count, rest);
        }
    }

    /// Reads whole steps along an axis, each of `step` elements: row r of `out` is the first one moved by `r * near`.
    fn load_tiles<T: Copy>(&self, src: &[T], start: usize, near: isize, step: usize, out: &mut [T]) {
        let rows = out.len() / step;
        let mut left = 0;
        self.runs(start, step, |run| {
            for c in (0..run.len).step_by(TILE) {
                let width = TILE.min(run.len - c);
                let column = |r: usize, c: usize| {
                    run.at.wrapping_add_signed(c as isize * run.stride).wrapping_add_signed(r as isize * near)
                };
                for r in (0..rows).step_by(TILE) {
                    let height = TILE.min(rows - r);
                    if (width, height, near) == (TILE, TILE, 1) {
                        // Whole lines are read, one after the other, and then whole lines written: however many of
                        // them meet in one set of the cache, none is needed twice.
                        let tile: [&[T]; TILE] = from_fn(|j| &src[column(r, c + j)..][..TILE]);
                        let tile: [[T; TILE]; TILE] = from_fn(|j| from_fn(|i| tile[j][i]));
                        for i in 0..TILE {
                            let line: [T; TILE] = from_fn(|j| tile[j][i]);
                            out[(r + i) * step + left + c..][..TILE].copy_from_slice(&line);
                        }
                        continue;
                    }
                    for i in r..r + height {
                        let line = &mut out[i * step + left + c..][..width];
                        for (j, o) in line.iter_mut().enumerate() {
                            *o = src[column(i, c + j)];
                        }
                    }
                }
            }
            left += run.len;
        });
    }

    /// Reads elements in their order.
    fn load_runs<T: Copy>(&self, src: &[T], start: usize, out: &mut [T]) {
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
