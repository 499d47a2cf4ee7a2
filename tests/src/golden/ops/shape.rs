//! Views, copies and new tensors.

use numr_core::tensor::index::Slice;
use numr_core::{DType, Lit, Runtime, Tensor};

use super::super::call::{Call, Done, Stop, Style};
use super::{Op, one};

/// The entry of `op` in this family.
pub(super) fn lookup<R: Runtime>(op: &str) -> Option<Op<R>> {
    Some(match op {
        "contiguous" => |c| one(c.x()?.try_contiguous()),
        "identity" | "conj" | "conj_physical" => |c| Ok(vec![real(c)?]),
        "reshape" | "view" => |c| one(c.x()?.reshape_infer(&c.ints(1, "shape")?)),
        "reshape_as" | "view_as" => |c| one(c.x()?.reshape(c.t(1, "other")?.shape())),
        "ravel" | "reshape_flat" => |c| one(c.x()?.flatten()),
        "flatten" => |c| {
            let x = c.x()?;
            let ndim = x.ndim().max(1);
            let (a, b) =
                (axis(c.f64(1, "start_dim", 0.0)? as isize, ndim)?, axis(c.f64(2, "end_dim", -1.0)? as isize, ndim)?);
            let shape = if x.ndim() == 0 { vec![1] } else { x.shape().to_vec() };
            let merged = shape[a..=b.max(a)].iter().product();
            one(x.reshape(&[&shape[..a], &[merged], &shape[b.max(a) + 1..]].concat()))
        },
        "unflatten" => |c| {
            let x = c.x()?;
            let (dim, sizes) = (axis(c.int(1, "dim")?, x.ndim())?, c.ints(2, "sizes")?);
            let signed = |s: &[usize]| s.iter().map(|&n| n as isize).collect::<Vec<_>>();
            one(x.reshape_infer(&[signed(&x.shape()[..dim]), sizes, signed(&x.shape()[dim + 1..])].concat()))
        },
        "expand" | "expand_copy" | "broadcast_to" => |c| one(c.x()?.expand(&c.ints(1, "size shape")?)),
        "expand_as" => |c| one(c.x()?.broadcast_to(c.t(1, "other")?.shape())),
        "permute" | "permute_copy" => |c| one(c.x()?.permute(c.ints(1, "dims")?)),
        "transpose" | "transpose_copy" | "swapaxes" => {
            |c| one(c.x()?.transpose(c.int(1, "d0 dim0")?, c.int(2, "d1 dim1")?))
        }
        "t" | "t_copy" | "T" => |c| {
            let x = c.x()?;
            one(if x.ndim() < 2 { Ok(x) } else { x.permute((0..x.ndim()).rev().collect::<Vec<_>>()) })
        },
        "mT" => |c| one(c.x()?.transpose(-2, -1)),
        "squeeze" | "squeeze_copy" | "squeeze.multiple" => |c| {
            let x = c.x()?;
            let ndim = x.ndim();
            let which = match c.value(1, "dim") {
                v if v.is_null() => (0..ndim).collect(),
                _ => c.ints(1, "dim")?.into_iter().map(|d| axis(d, ndim.max(1))).collect::<Result<Vec<_>, _>>()?,
            };
            let kept = |&(i, n): &(usize, usize)| n != 1 || !which.contains(&i);
            let shape: Vec<usize> = x.shape().iter().copied().enumerate().filter(kept).map(|(_, n)| n).collect();
            one(x.reshape(&shape))
        },
        "unsqueeze" | "unsqueeze_copy" => |c| one(c.x()?.unsqueeze(c.int(1, "dim")?)),
        "narrow" | "narrow_copy" => |c| {
            let x = c.x()?;
            let (dim, start) = (c.int(1, "dim")?, c.int(2, "start")?);
            let size = x.shape()[axis(dim, x.ndim())?] as isize;
            let start = if start < 0 { start + size } else { start };
            let start = usize::try_from(start).map_err(|_| c.strange(2, "start"))?;
            one(x.narrow(dim, start, c.size(3, "length")?))
        },
        "select" => |c| {
            let x = c.x()?;
            let (dim, i) = (axis(c.int(1, "dim")?, x.ndim())?, c.int(2, "index")?);
            let size = x.shape()[dim] as isize;
            let i = usize::try_from(if i < 0 { i + size } else { i }).map_err(|_| c.strange(2, "index"))?;
            let mut shape = x.shape().to_vec();
            shape.remove(dim);
            one(x.narrow(dim as isize, i, 1)?.reshape(&shape))
        },
        "unbind" => |c| {
            let x = c.x()?;
            let dim = axis(c.maybe_int(1, "dim")?.unwrap_or(0), x.ndim())?;
            let mut shape = x.shape().to_vec();
            let count = shape.remove(dim);
            (0..count).map(|i| Ok(x.narrow(dim as isize, i, 1)?.reshape(&shape)?)).collect()
        },
        "flip" => |c| one(c.x()?.flip(c.ints(1, "dim dims")?)),
        "fliplr" => |c| one(c.x()?.flip(1)),
        "flipud" => |c| match c.x()?.ndim() {
            0 => Err(Stop::NotMapped("no axis".into())),
            _ => one(c.x()?.flip(0)),
        },
        "roll" => |c| {
            let x = c.x()?;
            let (shifts, dims) = (c.ints(1, "shift shifts")?, c.value(2, "dim dims"));
            if dims.is_null() {
                let [shift] = shifts[..] else { return Err(c.strange(1, "shift shifts")) };
                return one(x.flatten()?.roll(shift, 0)?.reshape(x.shape()));
            }
            let pairs = shifts.into_iter().zip(c.ints(2, "dim dims")?);
            one(pairs.into_iter().try_fold(x, |x, (shift, dim)| x.roll(shift, dim)))
        },
        "unfold" | "unfold_copy" => {
            |c| one(c.x()?.unfold(c.int(1, "dim dimension")?, c.size(2, "size")?, c.size(3, "step")?))
        }
        "diagonal" | "diagonal_copy" => |c| {
            let (a, b) = (c.maybe_int(2, "dim1")?.unwrap_or(0), c.maybe_int(3, "dim2")?.unwrap_or(1));
            one(c.x()?.diagonal(c.maybe_int(1, "offset")?.unwrap_or(0), a, b))
        },
        "linalg.diagonal" => |c| {
            let (a, b) = (c.maybe_int(2, "dim1")?.unwrap_or(-2), c.maybe_int(3, "dim2")?.unwrap_or(-1));
            one(c.x()?.diagonal(c.maybe_int(1, "offset")?.unwrap_or(0), a, b))
        },
        // The columns of a convolution, not windows of an axis.
        "nn.functional.unfold" => |_| Err(Stop::NotMapped(String::new())),
        "tril" => |c| one(c.x()?.tril(c.maybe_int(1, "diagonal")?.unwrap_or(0) as i64)),
        "triu" => |c| one(c.x()?.triu(c.maybe_int(1, "diagonal")?.unwrap_or(0) as i64)),
        // Parts that together count the operand five times.
        "edge_grad.cat" => |c| one(Tensor::cat(&[&c.x()?, &c.x()?.mul(3.0)?, &c.x()?], 0)),
        "edge_grad.broadcast_to" => |c| one(c.x()?.broadcast_to(&[7])),
        "cat" => |c| joined(c, Tensor::cat),
        "stack" => |c| joined(c, Tensor::stack),
        "split" | "unsafe_split" => {
            |c| Ok(c.x()?.split(c.size(1, "split_size")?, c.maybe_int(2, "dim")?.unwrap_or(0))?)
        }
        "chunk" | "unsafe_chunk" => |c| Ok(c.x()?.chunk(c.size(1, "chunks")?, c.maybe_int(2, "dim")?.unwrap_or(0))?),
        "split_with_sizes" | "split_with_sizes_copy" | "split.list_args" => |c| {
            let (x, dim) = (c.x()?, c.maybe_int(2, "dim")?.unwrap_or(0));
            let mut start = 0;
            let part = |len| {
                start += len;
                Ok(x.narrow(dim, start - len, len)?)
            };
            c.lengths(1, "split_size split_sizes")?.into_iter().map(part).collect()
        },
        "repeat" => |c| one(c.x()?.repeat(&c.lengths(1, "repeats")?)),
        "tile" => |c| {
            let (x, counts) = (c.x()?, c.lengths(1, "dims")?);
            let missing = x.ndim().saturating_sub(counts.len());
            one(x.repeat(&[vec![1; missing], counts].concat()))
        },
        "broadcast_tensors" => |c| Ok(Tensor::broadcast_together(&c.all()?.iter().collect::<Vec<_>>())?),
        "meshgrid.list_of_tensors" | "meshgrid.variadic_tensors" => |c| match c.word(9, "indexing", "ij")? {
            "ij" => Ok(Tensor::meshgrid(&c.all()?.iter().collect::<Vec<_>>())?),
            _ => Err(c.strange(9, "indexing")),
        },
        "constant_pad_nd" => |c| padded(c, c.maybe_lit(2, "value")?),
        "pad" | "pad.constant" => |c| {
            if c.word(2, "mode", "constant")? != "constant" {
                return Err(c.strange(2, "mode"));
            }
            padded(c, c.maybe_lit(3, "value")?)
        },
        "slice" => |c| {
            let x = c.x()?;
            let dim = numr_core::shape::axis("slice", c.maybe_int(1, "dim")?.unwrap_or(0), x.ndim())?;
            let (start, stop) = (c.maybe_int(2, "start")?, c.maybe_int(3, "stop end")?);
            let step = c.maybe_int(4, "step")?.unwrap_or(1);
            let mut items = vec![Slice::from(..); x.ndim()];
            items[dim] = Slice::Range { start, stop, step };
            one(x.slice(items))
        },
        "arange" => |c| {
            let (start, stop) = (c.lit(0, "start")?, c.maybe_lit(1, "stop end")?);
            let (start, stop) = stop.map_or((Lit::Int(0), start), |stop| (start, stop));
            let step = c.maybe_lit(2, "step")?.unwrap_or(Lit::Int(1));
            let dtype = match c.maybe_dtype(9, "dtype")? {
                Some(dtype) => dtype,
                None if [start, stop, step].iter().all(|l| matches!(l, Lit::Int(_))) => DType::I64,
                None => DType::F32,
            };
            one(Tensor::try_arange(start.to_f64(), stop.to_f64(), step.to_f64(), dtype, c.device))
        },
        "linspace" => |c| {
            let dtype = c.maybe_dtype(9, "dtype")?.unwrap_or(DType::F32);
            let (start, stop) = (c.lit(0, "start")?.to_f64(), c.lit(1, "stop end")?.to_f64());
            one(Tensor::try_linspace(start, stop, c.size(2, "steps")?, dtype, c.device))
        },
        "eye" => |c| {
            let m = c.maybe_int(1, "m")?.map(|m| usize::try_from(m).map_err(|_| c.strange(1, "m"))).transpose()?;
            one(Tensor::try_eye(c.size(0, "n")?, m, c.maybe_dtype(9, "dtype")?.unwrap_or(DType::F32), c.device))
        },
        "zeros_like" => |c| one(c.x()?.cast(c.maybe_dtype(9, "dtype")?.unwrap_or(c.x()?.dtype()))?.zeros_like()),
        "ones_like" => |c| one(c.x()?.cast(c.maybe_dtype(9, "dtype")?.unwrap_or(c.x()?.dtype()))?.ones_like()),
        "full_like" => |c| {
            let x = c.x()?;
            let dtype = c.maybe_dtype(9, "dtype")?.unwrap_or(x.dtype());
            one(Tensor::try_full(x.shape(), c.lit(1, "fill_value")?, dtype, c.device))
        },
        "fill" => |c| one(Tensor::try_full(c.x()?.shape(), c.lit(1, "value")?, c.x()?.dtype(), c.device)),
        _ => return None,
    })
}

/// The axis that `dim` means; torch's wrap of a tensor without axes is not ours.
fn axis(dim: isize, ndim: usize) -> Result<usize, Stop> {
    Ok(numr_core::shape::axis("axis", dim, ndim)?)
}

/// The operand, if complex conjugation leaves it as it is.
fn real<R: Runtime>(c: &Call<'_, R>) -> Result<Tensor<R>, Stop> {
    let x = c.x()?;
    if x.dtype().is_complex() { Err(Stop::NotMapped("complex".into())) } else { Ok(x) }
}

/// The operands joined along an axis. A case that joins one operand to itself says so by its name.
fn joined<R: Runtime>(c: &Call<'_, R>, join: fn(&[&Tensor<R>], isize) -> numr_core::Result<Tensor<R>>) -> Done<R> {
    let parts = c.all()?;
    if c.style == Style::Torch && parts.iter().any(|p| p.shape() == [0]) {
        return Err(Stop::NotMapped("an empty vector, which torch joins to anything".into()));
    }
    let dim = c.maybe_int(if c.style == Style::Torch { 1 } else { 9 }, "dim")?.unwrap_or(0);
    one(join(&parts.iter().collect::<Vec<_>>(), dim))
}

/// The operand with a constant around it. Torch lists (before, after) of the last axis first; what it takes away
/// (negative widths) ours does not.
fn padded<R: Runtime>(c: &Call<'_, R>, value: Option<Lit>) -> Done<R> {
    c.skip("order");
    let (x, list) = (c.x()?, c.lengths(1, "padding pad")?);
    let mut widths: Vec<(usize, usize)> = list.chunks(2).map(|p| (p[0], p[p.len() - 1])).collect();
    if widths.len() > x.ndim() {
        return Err(c.strange(1, "padding pad"));
    }
    widths.resize(x.ndim(), (0, 0));
    widths.reverse();
    one(x.pad(&widths, value.unwrap_or(Lit::Int(0))))
}
