//! Order statistics, arrangements, and what is new with them.

use numr_core::ops::arrange::PadMode;
use numr_core::ops::index::ScatterReduceOp;
use numr_core::ops::order::Quantile;
use numr_core::tensor::advanced::Item;
use numr_core::{DType, Runtime, Tensor};
use serde_json::Value;

use super::super::call::{Arg, Call, Done, Stop, Style};
use super::super::case::integer;
use super::{Op, one};

/// The entry of `op` in this family.
pub(super) fn lookup<R: Runtime>(op: &str) -> Option<Op<R>> {
    Some(match op {
        "plain.searchsorted" => |c| one(c.x()?.searchsorted(&c.t(1, "")?, c.flag(9, "right", false)?)),
        "searchsorted" => |c| {
            let right = c.flag(9, "right", false)? || c.word(9, "side", "left")? == "right";
            if c.maybe(9, "sorter")?.is_some() {
                return Err(c.strange(9, "sorter"));
            }
            index_dtype(c, c.x()?.searchsorted(&c.t(1, "values")?, right)?)
        },
        "bucketize" => |c| index_dtype(c, c.x()?.bucketize(&c.t(1, "boundaries")?, c.flag(9, "right", false)?)?),
        "isin" => |c| {
            c.skip("assume_unique");
            let found = c.x()?.isin(&c.t(1, "test_elements")?)?;
            one(if c.flag(9, "invert", false)? { found.logical_not() } else { Ok(found) })
        },
        "kthvalue" => |c| {
            let (dim, keep) = (c.maybe_int(2, "dim")?.unwrap_or(-1), c.flag(3, "keepdim", false)?);
            let (value, place) = c.x()?.kthvalue(c.size(1, "k")?, dim, keep)?;
            Ok(vec![value, place])
        },
        "plain.median" => |c| {
            c.skip("even");
            one(c.x()?.median(None, false))
        },
        "median" => |c| match c.maybe_int(1, "dim")? {
            None => Ok(vec![c.x()?.flatten()?.median_with_index(0, false)?.0]),
            Some(dim) => {
                let (value, place) = c.x()?.median_with_index(dim, c.flag(2, "keepdim", false)?)?;
                Ok(vec![value, place])
            }
        },
        "plain.mode" => |c| Ok(vec![c.x()?.flatten()?.mode(0, false)?.values]),
        "mode" => |c| {
            let mode = c.x()?.mode(c.maybe_int(1, "dim")?.unwrap_or(-1), c.flag(2, "keepdim", false)?)?;
            Ok(vec![mode.values, mode.indices])
        },
        "plain.quantile" => |c| {
            let method = Quantile::parse(c.word(9, "interpolation", "linear")?)?;
            one(c.x()?.quantile(c.f64(9, "q", 0.5)?, None, false, method))
        },
        "quantile" => |c| {
            let (x, dim, keep) = (c.x()?, c.maybe_int(2, "dim")?, c.flag(3, "keepdim", false)?);
            let method = Quantile::parse(c.word(9, "interpolation", "linear")?)?;
            match c.arg(1, "q")? {
                Arg::Number(q) => one(x.quantile(q.to_f64(), dim, keep, method)),
                Arg::Tensor(q) => {
                    let list = q.cast(DType::F64)?.to_vec::<f64>();
                    let each = list.iter().map(|&q| x.quantile(q, dim, keep, method)).collect::<Result<Vec<_>, _>>()?;
                    one(if q.ndim() == 0 {
                        Ok(each[0].clone())
                    } else {
                        Tensor::stack(&each.iter().collect::<Vec<_>>(), 0)
                    })
                }
            }
        },
        "plain.histogram" => |c| {
            let range =
                match c.value(9, "range").as_array().map(|l| l.iter().filter_map(Value::as_f64).collect::<Vec<_>>()) {
                    Some(ends) if ends.len() == 2 => Some((ends[0], ends[1])),
                    _ => None,
                };
            Ok(vec![c.x()?.histogram(c.size(9, "bins")?, range)?.0])
        },
        "histc" => |c| {
            let (x, bins) = (c.x()?, c.value(1, "bins").as_u64().unwrap_or(100) as usize);
            let (low, high) = (c.f64(2, "min", 0.0)?, c.f64(3, "max", 0.0)?);
            if bins == 0 || !x.dtype().is_float() {
                return Err(c.strange(1, "bins"));
            }
            let range = if low == high { None } else { Some((low, high)) };
            one(x.histogram(bins, range)?.0.cast(x.dtype()))
        },
        "unique_consecutive" => |c| {
            if !c.value(9, "dim").is_null() {
                return Err(c.strange(9, "dim"));
            }
            let (values, inverse, counts) = c.x()?.unique_consecutive()?;
            let mut found = vec![values];
            if c.flag(9, "return_inverse", false)? {
                found.push(inverse);
            }
            if c.flag(9, "return_counts", false)? {
                found.push(counts);
            }
            Ok(found)
        },
        "index_put" | "_unsafe_masked_index_put_accumulate" => |c| {
            let Value::Array(list) = c.value(1, "indices") else { return Err(c.strange(1, "indices")) };
            let indices = list.iter().map(|v| c.arg_of(v)).collect::<Option<Vec<_>>>();
            let indices = indices.ok_or_else(|| c.strange(1, "indices"))?;
            let items: Option<Vec<Item<'_, R>>> =
                indices.iter().map(|a| if let Arg::Tensor(t) = a { Some(Item::from(t)) } else { None }).collect();
            let items = items.ok_or_else(|| c.strange(1, "indices"))?;
            one(c.x()?.i_put(items, &c.t(2, "values")?, c.flag(3, "accumulate", false)?))
        },
        "put" => |c| {
            let (x, index, source) = (c.x()?, c.t(1, "index")?, c.t(2, "source")?);
            one(match c.flag(3, "accumulate", false)? {
                false => x.put(&index, &source),
                true => x.flatten()?.scatter_add(0, &index.flatten()?, &source.flatten()?)?.reshape(x.shape()),
            })
        },
        "index_fill" => |c| {
            let (x, dim, index) = (scalar_axis(c)?, c.int(1, "dim")?, c.t(2, "index")?);
            match c.arg(3, "value")? {
                Arg::Number(value) => one(x.index_fill(dim, &index, value)),
                Arg::Tensor(value) => {
                    let mut shape = x.shape().to_vec();
                    shape[numr_core::shape::axis("index_fill", dim, x.ndim())?] = index.numel();
                    one(x.index_put(dim, &index, &value.cast(x.dtype())?.broadcast_to(&shape)?))
                }
            }
        },
        "index_reduce.amax" | "index_reduce.amin" | "index_reduce.mean" | "index_reduce.prod" => |c| {
            let how = match c.word(4, "reduce", "")? {
                "amax" => ScatterReduceOp::Max,
                "amin" => ScatterReduceOp::Min,
                "mean" => ScatterReduceOp::Mean,
                "prod" => ScatterReduceOp::Prod,
                _ => return Err(c.strange(4, "reduce")),
            };
            let (x, own) = (scalar_axis(c)?, c.flag(9, "include_self", true)?);
            one(x.index_reduce(c.int(1, "dim")?, &c.t(2, "index")?, &c.t(3, "source")?, how, own))
        },
        "masked_scatter" => |c| one(c.x()?.masked_scatter(&c.t(1, "mask")?, &c.t(2, "source")?)),

        "nn.functional.pad.reflect" => |c| bordered(c, PadMode::Reflect),
        "nn.functional.pad.replicate" | "nn.functional.pad.replicate_negative" => |c| bordered(c, PadMode::Replicate),
        "nn.functional.pad.circular" => |c| bordered(c, PadMode::Circular),
        "tensor_split" => |c| match c.maybe(1, "indices_or_sections") {
            Ok(Some(t)) => {
                let dim = c.maybe_int(2, "dim")?.unwrap_or(0);
                let list = t.cast(DType::I64)?.to_vec::<i64>();
                if t.ndim() == 0 && c.value(1, "indices_or_sections").is_number() || t.ndim() == 0 {
                    return Ok(c.x()?.array_split(list[0] as usize, dim)?);
                }
                cut(c, &list.iter().map(|&i| i as isize).collect::<Vec<_>>(), dim)
            }
            _ => cut(c, &c.ints(1, "indices_or_sections")?, c.maybe_int(2, "dim")?.unwrap_or(0)),
        },
        "hsplit" => |c| split_along(c, if c.x()?.ndim() == 1 { 0 } else { 1 }),
        "vsplit" => |c| split_along(c, 0),
        "dsplit" => |c| split_along(c, 2),
        "select_scatter" => |c| one(c.x()?.select_scatter(&c.t(1, "src")?, c.int(2, "dim")?, c.int(3, "index")?)),
        "diagonal_scatter" => |c| {
            let (a, b) = (c.maybe_int(3, "dim1")?.unwrap_or(0), c.maybe_int(4, "dim2")?.unwrap_or(1));
            one(c.x()?.diagonal_scatter(&c.t(1, "src")?, c.maybe_int(2, "offset")?.unwrap_or(0), a, b))
        },
        "diag" => |c| one(c.x()?.diag(c.maybe_int(1, "diagonal")?.unwrap_or(0))),
        "diagflat" => |c| one(c.x()?.flatten()?.diag_embed(c.maybe_int(1, "offset")?.unwrap_or(0))),
        "diag_embed" => |c| {
            let matrices = c.x()?.diag_embed(c.maybe_int(1, "offset")?.unwrap_or(0))?;
            let (a, b) = (c.maybe_int(2, "dim1")?.unwrap_or(-2), c.maybe_int(3, "dim2")?.unwrap_or(-1));
            one(matrices.moveaxis(&[-2, -1], &[a, b]))
        },
        "block_diag" => |c| one(Tensor::block_diag(&c.all()?.iter().collect::<Vec<_>>())),
        "rot90" => |c| {
            let axes = match c.value(2, "dims") {
                v if v.is_null() => vec![0, 1],
                _ => c.ints(2, "dims")?,
            };
            let &[a, b] = &axes[..] else { return Err(c.strange(2, "dims")) };
            one(c.x()?.rot90(c.maybe_int(1, "k")?.unwrap_or(1), [a, b]))
        },
        "movedim" => |c| {
            let list = |at, name| match c.value(at, name) {
                Value::Array(list) => list.iter().map(integer).collect::<Option<Vec<_>>>(),
                v => integer(v).map(|i| vec![i]),
            };
            let (from, to) = (list(1, "source"), list(2, "destination"));
            let (from, to) =
                (from.ok_or_else(|| c.strange(1, "source"))?, to.ok_or_else(|| c.strange(2, "destination"))?);
            one(c.x()?.moveaxis(&from, &to))
        },
        "atleast_1d" => |c| c.all()?.iter().map(|t| Ok(t.atleast(1)?)).collect(),
        "atleast_2d" => |c| c.all()?.iter().map(|t| Ok(t.atleast(2)?)).collect(),
        "hstack" => |c| one(Tensor::hstack(&c.all()?.iter().collect::<Vec<_>>())),
        "vstack" => |c| one(Tensor::vstack(&c.all()?.iter().collect::<Vec<_>>())),
        "dstack" => |c| one(Tensor::dstack(&c.all()?.iter().collect::<Vec<_>>())),
        "column_stack" => |c| one(Tensor::column_stack(&c.all()?.iter().collect::<Vec<_>>())),
        "repeat_interleave" => |c| {
            c.skip("output_size");
            match c.arg(1, "repeats")? {
                Arg::Number(n) => one(c.x()?.repeat_interleave(n.to_f64() as usize, c.maybe_int(2, "dim")?)),
                Arg::Tensor(n) => match c.maybe_int(2, "dim")? {
                    Some(dim) => one(c.x()?.repeat_each(&n, dim)),
                    None => one(c.x()?.flatten()?.repeat_each(&n, 0)),
                },
            }
        },
        "linalg.vander" => |c| {
            let x = c.x()?;
            let n = c.value(9, "N").as_u64().map_or(x.shape().last().copied().unwrap_or(0), |n| n as usize);
            one(x.vander(n, false))
        },
        "H" | "mH" => |c| {
            let x = c.x()?;
            one(if x.ndim() < 2 { x.conj() } else { x.t()?.conj() })
        },
        "nn.functional.glu" => |c| one(c.x()?.glu(c.maybe_int(1, "dim")?.unwrap_or(-1))),
        "nn.functional.prelu" => |c| {
            let (x, weight) = (c.x()?, c.t(1, "weight")?);
            let mut shape = vec![1; x.ndim().max(1)];
            if weight.numel() != 1 {
                shape[1.min(x.ndim().saturating_sub(1))] = weight.numel();
            }
            let slope = if x.ndim() == 0 { weight.reshape(&[])? } else { weight.reshape(&shape)? };
            one(x.leaky_relu(&slope))
        },
        "nn.functional.channel_shuffle" => |c| one(c.x()?.channel_shuffle(c.size(1, "groups")?)),
        "nn.functional.pixel_shuffle" => |c| one(c.x()?.pixel_shuffle(c.size(1, "upscale_factor")?)),
        "nn.functional.pixel_unshuffle" => |c| one(c.x()?.pixel_unshuffle(c.size(1, "downscale_factor")?)),
        "angle" => |c| one(c.x()?.angle()),
        "sgn" => |c| one(c.x()?.sgn()),
        "sinc" => |c| one(c.x()?.sinc()),
        "complex" => |c| one(c.x()?.complex(&c.t(1, "imag")?)),
        "torch.polar" => |c| one(c.x()?.polar(&c.t(1, "angle")?)),
        "nan_to_num" => |c| {
            let limit = |at, name| c.maybe_lit(at, name).map(|l| l.map(|l| l.to_f64()));
            one(c.x()?.nan_to_num(c.f64(1, "nan", 0.0)?, limit(2, "posinf")?, limit(3, "neginf")?))
        },
        "isclose" => |c| Ok(vec![close(c)?]),
        "allclose" => |c| one(close(c)?.all(.., false)),
        "equal" => |c| {
            let equal = c.x()?.array_equal(&c.t(1, "other")?)?;
            one(Tensor::try_full(&[], equal, DType::Bool, c.device))
        },
        "float_power" => |c| {
            let wide = |t: Tensor<R>| t.cast(if t.dtype().is_complex() { DType::Complex128 } else { DType::F64 });
            one(wide(c.x()?)?.pow(&wide(c.t(1, "exponent")?)?))
        },
        "isreal" => |c| {
            let x = c.x()?;
            one(if x.dtype().is_complex() { x.imag()?.eq(0) } else { x.ones_like()?.cast(DType::Bool) })
        },
        "__rand__" => |c| one(c.x()?.bitwise_and(&c.t(1, "other")?)),
        "__ror__" => |c| one(c.x()?.bitwise_or(&c.t(1, "other")?)),
        "__rxor__" => |c| one(c.x()?.bitwise_xor(&c.t(1, "other")?)),
        "full" | "zeros" => |c| {
            if c.style != Style::Torch {
                return Err(Stop::NotMapped(String::new()));
            }
            let shape = match c.value(0, "size") {
                Value::Array(list) => list.iter().map(|v| v.as_u64().map(|n| n as usize)).collect::<Option<Vec<_>>>(),
                v => v.as_u64().map(|n| vec![n as usize]),
            };
            let shape = shape.ok_or_else(|| c.strange(0, "size"))?;
            let value = c.maybe_lit(1, "fill_value")?;
            let dtype = c.maybe_dtype(9, "dtype")?.ok_or_else(|| c.strange(9, "dtype"))?;
            one(Tensor::try_full(&shape, value.unwrap_or(numr_core::Lit::Int(0)), dtype, c.device))
        },
        "logspace" => |c| {
            let dtype = c.maybe_dtype(9, "dtype")?.unwrap_or(DType::F32);
            if !dtype.is_float() {
                return Err(c.strange(9, "dtype"));
            }
            let (start, stop) = (c.lit(0, "start")?.to_f64(), c.lit(1, "end")?.to_f64());
            let base = c.f64(3, "base", 10.0)?;
            one(Tensor::try_logspace(start, stop, c.size(2, "steps")?, base, dtype, c.device))
        },
        _ => return None,
    })
}

fn index_dtype<R: Runtime>(c: &Call<'_, R>, index: Tensor<R>) -> Done<R> {
    one(if c.flag(9, "out_int32", false)? { index.cast(DType::I32) } else { Ok(index) })
}

/// The operand, unless torch lets an axis of a tensor without axes be named.
fn scalar_axis<R: Runtime>(c: &Call<'_, R>) -> Result<Tensor<R>, Stop> {
    match c.x()? {
        x if x.ndim() == 0 => Err(Stop::NotMapped("an axis of a tensor without axes".into())),
        x => Ok(x),
    }
}

/// A border given from the last axis on; negative widths cut.
fn bordered<R: Runtime>(c: &Call<'_, R>, mode: PadMode) -> Done<R> {
    c.skip("2");
    let (mut x, widths) = (c.x()?, c.ints(1, "pad")?);
    let mut around = vec![(0, 0); x.ndim()];
    for (k, pair) in widths.chunks(2).enumerate() {
        let axis = x.ndim().checked_sub(k + 1).ok_or_else(|| c.strange(1, "pad"))?;
        let (before, after) = (pair[0], *pair.get(1).unwrap_or(&0));
        let cut = |w: isize| w.min(0).unsigned_abs();
        let size = x.shape()[axis];
        let left = size.checked_sub(cut(before) + cut(after)).ok_or_else(|| c.strange(1, "pad"))?;
        // Torch mirrors and repeats before it cuts.
        if before < 0 && after > 0 || before > 0 && after < 0 {
            return Err(c.strange(1, "pad"));
        }
        x = x.narrow(axis as isize, cut(before), left)?;
        around[axis] = (before.max(0) as usize, after.max(0) as usize);
    }
    one(x.pad_with(&around, mode))
}

/// Sections, or places to cut at.
fn cut<R: Runtime>(c: &Call<'_, R>, list: &[isize], dim: isize) -> Done<R> {
    let x = c.x()?;
    if c.value(1, "indices_or_sections").is_number() {
        let n = usize::try_from(list[0]).map_err(|_| c.strange(1, "indices_or_sections"))?;
        return Ok(x.array_split(n, dim)?);
    }
    let n = x.shape()[numr_core::shape::axis("split", dim, x.ndim())?] as isize;
    let places: Vec<usize> = list.iter().map(|&i| (if i < 0 { i + n } else { i }).clamp(0, n) as usize).collect();
    Ok(x.split_at(&places, dim)?)
}

/// Equal sections, or places to cut at, of one axis.
fn split_along<R: Runtime>(c: &Call<'_, R>, dim: isize) -> Done<R> {
    let x = c.x()?;
    let list = c.ints(1, "sections indices")?;
    if !c.value(1, "sections indices").is_array() {
        let size = x.shape()[numr_core::shape::axis("split", dim, x.ndim())?];
        let sections = usize::try_from(list[0]).ok().filter(|&n| n > 0 && size % n == 0);
        return Ok(x.split(size / sections.ok_or_else(|| c.strange(1, "sections"))?, dim)?);
    }
    let n = x.shape()[numr_core::shape::axis("split", dim, x.ndim())?] as isize;
    let places: Vec<usize> = list.iter().map(|&i| (if i < 0 { i + n } else { i }).clamp(0, n) as usize).collect();
    Ok(x.split_at(&places, dim)?)
}

fn close<R: Runtime>(c: &Call<'_, R>) -> Result<Tensor<R>, Stop> {
    let (rtol, atol, nan) = (c.f64(2, "rtol", 1e-5)?, c.f64(3, "atol", 1e-8)?, c.flag(4, "equal_nan", false)?);
    Ok(c.x()?.isclose(&c.t(1, "other")?, rtol, atol, nan)?)
}
