//! Indexing, scattering, sorting.

use numr_core::ops::index::ScatterReduceOp;
use numr_core::{Runtime, Tensor};

use super::super::call::{Call, Stop, Style};
use super::{Op, one};

/// The entry of `op` in this family.
pub(super) fn lookup<R: Runtime>(op: &str) -> Option<Op<R>> {
    Some(match op {
        "gather" => |c| {
            c.skip("sparse_grad");
            let (dim, index) = along(c)?;
            if c.style == Style::Torch && index.is_empty() {
                return Err(Stop::NotMapped("an empty index, which torch takes in any shape".into()));
            }
            one(c.x()?.gather(dim, &index))
        },
        "take_along_dim" => |c| {
            let (x, index) = (c.x()?, c.t(1, "indices")?);
            match c.maybe_int(2, "dim")? {
                Some(dim) => one(x.take_along(&index, dim)),
                None => one(x.flatten()?.gather(0, &index.flatten()?)),
            }
        },
        "take" => |c| one(c.x()?.take(&c.t(1, "index")?)),
        "index_copy" => |c| one(c.x()?.index_put(c.int(1, "dim")?, &c.t(2, "index")?, &c.t(3, "source")?)),
        "index_add" => |c| {
            let source = c.t(3, "source")?.mul(c.maybe_number(4, "alpha", 1)?.operand())?;
            one(c.x()?.index_add(c.int(1, "dim")?, &c.t(2, "index")?, &source))
        },
        "index_select" => |c| match c.value(1, "dim index").get("$t") {
            _ if !c.value(9, "index").is_null() => {
                let list: Vec<i64> = c.ints(9, "index")?.into_iter().map(|i| i as i64).collect();
                let index = Tensor::try_from_slice(&list, &[list.len()], c.device)?;
                one(c.x()?.index_select(c.int(1, "dim")?, &index))
            }
            _ => {
                let (dim, index) = along(c)?;
                one(c.x()?.index_select(dim, &index))
            }
        },
        "embedding_lookup" => |c| one(c.x()?.embedding_lookup(&c.t(1, "")?)),
        "embedding" => |c| {
            c.skip("sparse");
            let (a, b) = (c.x()?, c.t(1, "weight")?);
            one(if a.dtype().is_int() { b.embedding_lookup(&a) } else { a.embedding_lookup(&b) })
        },
        "scatter" => |c| {
            let (dim, index, src) = scatter_operands(c)?;
            one(c.x()?.scatter(dim, &index, &src))
        },
        "scatter_add" => |c| {
            let (dim, index, src) = scatter_operands(c)?;
            one(c.x()?.scatter_add(dim, &index, &src))
        },
        "scatter_reduce"
        | "scatter_reduce.amax"
        | "scatter_reduce.amin"
        | "scatter_reduce.mean"
        | "scatter_reduce.prod"
        | "scatter_reduce.sum" => |c| {
            let how = match c.word(4, "op reduce", "")? {
                "sum" => ScatterReduceOp::Sum,
                "mean" => ScatterReduceOp::Mean,
                "prod" => ScatterReduceOp::Prod,
                "amax" | "max" => ScatterReduceOp::Max,
                "amin" | "min" => ScatterReduceOp::Min,
                _ => return Err(c.strange(4, "op reduce")),
            };
            let (dim, index, src) = scatter_operands(c)?;
            one(c.x()?.scatter_reduce(dim, &index, &src, how, c.flag(5, "include_self", true)?))
        },
        "bincount" => |c| {
            let least = c.maybe_int(2, "minlength")?.unwrap_or(0);
            let least = usize::try_from(least).map_err(|_| c.strange(2, "minlength"))?;
            one(c.x()?.bincount(c.maybe(1, "weights")?.as_ref(), least))
        },
        "layout.unique" => |c| one(c.x()?.mul(10.0)?.round()?.div(10.0)?.unique()),
        "plain.unique" => |c| {
            c.skip("sorted");
            one(c.x()?.unique())
        },
        "unique_with_counts" => |c| {
            let (values, inverse, counts) = c.x()?.unique_with_counts()?;
            Ok(vec![values, inverse, counts])
        },
        "masked_select" => |c| one(c.x()?.masked_select(&c.t(1, "mask")?)),
        "nonzero" | "argwhere" => |c| {
            if c.flag(1, "as_tuple", false)? {
                return Err(c.strange(1, "as_tuple"));
            }
            one(c.x()?.nonzero())
        },
        "one_hot" => |c| one(c.x()?.one_hot(c.size(1, "num_classes")?)),
        "sort" => |c| {
            c.skip("stable");
            let (values, order) = c.x()?.sort_with_indices(dim_or_last(c, 1)?, c.flag(2, "descending", false)?)?;
            Ok(vec![values, order])
        },
        "msort" => |c| one(c.x()?.sort(0, false)),
        "argsort" => |c| {
            c.skip("stable");
            one(c.x()?.argsort(dim_or_last(c, 1)?, c.flag(2, "descending", false)?))
        },
        "topk" => |c| {
            let (k, dim) = (c.size(1, "k")?, dim_or_last(c, 2)?);
            let (values, order) = c.x()?.topk(k, dim, c.flag(3, "largest", true)?, c.flag(4, "sorted", true)?)?;
            Ok(vec![values, order])
        },
        _ => return None,
    })
}

fn dim_or_last<R: Runtime>(c: &Call<'_, R>, at: usize) -> Result<isize, Stop> {
    Ok(c.maybe_int(at, "dim")?.unwrap_or(-1))
}

/// Axis and index, which torch puts in this order and the plain spelling names and lists.
fn along<R: Runtime>(c: &Call<'_, R>) -> Result<(isize, Tensor<R>), Stop> {
    Ok((c.int(1, "dim")?, c.nth(1, 2, "index")?))
}

/// Axis, index and source of a scatter.
fn scatter_operands<R: Runtime>(c: &Call<'_, R>) -> Result<(isize, Tensor<R>, Tensor<R>), Stop> {
    let (dim, index) = along(c)?;
    let mut src = c.nth(2, 3, "src value")?;
    if src.ndim() == 0 {
        // A number, which takes the operand's dtype.
        src = src.cast(c.x()?.dtype())?.broadcast_to(index.shape())?;
    }
    // Torch lets the source be larger than the index; the part beyond is not used.
    for (axis, &len) in index.shape().iter().enumerate() {
        src = src.narrow(axis as isize, 0, len)?;
    }
    Ok((dim, index, src))
}
