//! The ops of suite `layout`, whose names hold their arguments, each on a view of two axes.

use numr_core::{Runtime, Tensor};

use super::super::call::{Call, Stop};
use super::{Op, one};

/// The entry of `op` in this family.
pub(super) fn lookup<R: Runtime>(op: &str) -> Option<Op<R>> {
    Some(match op {
        "sum0" => |c| one(c.x()?.sum(0, false)),
        "sum1" => |c| one(c.x()?.sum(1, false)),
        "sum_all" => |c| one(c.x()?.sum(.., false)),
        "mean0" => |c| one(c.x()?.mean(0, false)),
        "max1" => |c| one(c.x()?.max(1, false)),
        "any1" => |c| one(c.x()?.gt(1)?.any(1, false)),
        "var1" => |c| one(c.x()?.var(1, false, 0)),
        "argmax0" => |c| one(c.x()?.argmax(0, false)),
        "argmax1" => |c| one(c.x()?.argmax(1, false)),
        "logsumexp1" => |c| one(c.x()?.logsumexp(1, false)),
        "softmax0" => |c| one(c.x()?.softmax(0)),
        "softmax1" => |c| one(c.x()?.softmax(1)),
        "cumsum0" => |c| one(c.x()?.cumsum(0)),
        "cumsum1" => |c| one(c.x()?.cumsum(1)),
        "cumprod1" => |c| one(c.x()?.cumprod(1)),
        "sort0" => |c| one(c.x()?.sort(0, false)),
        "sort1" => |c| one(c.x()?.sort(1, false)),
        "topk2" => |c| {
            let (values, order) = c.x()?.topk(2, 1, true, true)?;
            Ok(vec![values, order])
        },
        "gt0" => |c| one(c.x()?.gt(0)),
        "where" => |c| one(c.x()?.gt(0)?.where_cond(&c.x()?, -1)),
        "add_self_t" => |c| one(c.x()?.add(&count(c, 0.0)?)),
        "clone_add" => |c| one(c.x()?.add(&c.x()?)),
        "write_then_read" => |c| one(c.x()?.mul(2)?.add(1)),
        "matvec" => |c| one(c.x()?.matmul(&count(c, 1.0)?)),
        "gram" => |c| one(c.x()?.matmul(&c.x()?.t()?)),
        "gram2" => |c| one(c.x()?.t()?.matmul(&c.x()?)),
        "cat_self0" => |c| one(Tensor::cat(&[&c.x()?, &c.x()?], 0)),
        "cat_self1" => |c| one(Tensor::cat(&[&c.x()?, &c.x()?], 1)),
        "roll1" => |c| one(c.x()?.roll(2, 1)),
        "layout.pad" => |c| one(c.x()?.pad(&[(1, 1), (1, 1)], 0.0)),
        "layout.masked_select" => |c| one(c.x()?.masked_select(&c.x()?.gt(0)?)),
        "layout.nonzero" => |c| one(c.x()?.gt(0)?.nonzero()),
        "gather_row" => |c| {
            let last = c.x()?.shape()[0] as i64 - 1;
            one(c.x()?.index_select(0, &Tensor::try_from_slice(&[last, 0, 0], &[3], c.device)?))
        },
        "index_col" => |c| {
            let last = c.x()?.shape()[1] as i64 - 1;
            one(c.x()?.index_select(1, &Tensor::try_from_slice(&[last, 0], &[2], c.device)?))
        },
        _ => return None,
    })
}

/// `from`, `from` + 1, ... as long as the rows of the operand.
fn count<R: Runtime>(c: &Call<'_, R>, from: f64) -> Result<Tensor<R>, Stop> {
    let n = c.x()?.shape()[1];
    let numbers: Vec<f64> = (0..n).map(|i| i as f64 + from).collect();
    Ok(Tensor::try_from_slice(&numbers, &[n], c.device)?)
}
