//! Softmax and normalisations, row by row.
//!
//! A warp takes a short row, a block a long one, and keeps it in registers if it fits there; if not, only the first pass over
//! it comes from memory, the others from the cache. A thread folds neighbours 16 bytes apart into as many sums as fit there, then the
//! threads fold in a butterfly: the order depends on the length of the row alone, and an error grows by n / (4·threads)
//! roundings. Gradients of weights are folds over rows: strips of rows first, then the strips.

use crate::context::{Context, Key, Text};
use crate::fold::lanes;
use crate::index::dense;
use crate::kernel::{Builder, Launch, WORDS, Words, launch};
use crate::memory::Buffer;
use crate::runtime::{CudaRuntime, tensor};
use numr_core::prim::{Fused, Meta, Prim, Reduce, ReduceOp};
use numr_core::runtime::Outputs;
use numr_core::scalar::expr::Expr;
use numr_core::scalar::print::cuda::{load, register, storage, store};
use numr_core::scalar::{Float, Scalar};
use numr_core::{DType, Result, Shape, Tensor};
use smallvec::{SmallVec, smallvec};
use std::fmt::Write;
use std::sync::Arc;

/// Elements of a row that a warp takes.
const SHORT: usize = 1024;
/// Threads of a block that takes one row.
const LONG: usize = 256;
/// Vectors of 16 bytes that a thread keeps at most.
const KEPT: usize = 8;
/// Threads of a block of warps, and of a block that folds columns.
const BLOCK: usize = 128;
/// Strips of rows that a gradient of weights is folded from, at most.
const STRIPS: usize = 256;

/// What a kernel computes; the parameters come with the launch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    Softmax,
    SoftmaxBackward,
    LogSoftmax,
    LogSoftmaxBackward,
    LayerNorm,
    LayerNormBackward,
    RmsNorm,
    RmsNormBackward,
}

/// What an operation is: its kernel, the axis, and what is added under the root.
fn parts(fused: &Fused, last: usize) -> (Kind, usize, f64) {
    match *fused {
        Fused::Softmax { axis } => (Kind::Softmax, axis, 0.0),
        Fused::SoftmaxBackward { axis } => (Kind::SoftmaxBackward, axis, 0.0),
        Fused::LogSoftmax { axis } => (Kind::LogSoftmax, axis, 0.0),
        Fused::LogSoftmaxBackward { axis } => (Kind::LogSoftmaxBackward, axis, 0.0),
        Fused::LayerNorm { eps } => (Kind::LayerNorm, last, eps),
        Fused::LayerNormBackward { eps } => (Kind::LayerNormBackward, last, eps),
        Fused::RmsNorm { eps } => (Kind::RmsNorm, last, eps),
        Fused::RmsNormBackward { eps } => (Kind::RmsNormBackward, last, eps),
    }
}

/// Runs a fused operation.
pub(crate) fn fused(
    context: &'static Context,
    fused: &Fused,
    inputs: &[&Tensor<CudaRuntime>],
    outs: &[Meta],
) -> Result<Outputs<CudaRuntime>> {
    let (op, last) = (fused.name(), inputs[0].ndim() - 1);
    let (row, axis, eps) = parts(fused, last);
    // Along another axis: with the two exchanged, in operands and result.
    let exchanged = |t: &Tensor<CudaRuntime>| -> Result<Tensor<CudaRuntime>> {
        if axis == last || t.ndim() <= last {
            return Ok(t.clone());
        }
        let layout = t.layout().transpose(op, axis, last)?;
        Ok(Tensor::from_storage(t.storage().clone(), layout, t.dtype(), *t.device()))
    };
    let operands: SmallVec<[Tensor<CudaRuntime>; 3]> =
        inputs.iter().map(|t| dense(context, &exchanged(t)?)).collect::<Result<_>>()?;
    let (x, dtype) = (&operands[0], inputs[0].dtype());
    let n = x.shape()[last];
    let rows = x.numel().checked_div(n).unwrap_or(0);
    let backward = matches!(row, Kind::LayerNormBackward | Kind::RmsNormBackward);
    let acc = dtype.compute();
    let result = Buffer::new(context, x.numel().saturating_mul(dtype.size_in_bytes()))?;
    let stats = Buffer::new(context, if backward { 2 * rows * acc.size_in_bytes() } else { 0 })?;
    let (threads, vectors) = shape(n, dtype);
    let (block, each) = if threads == 32 { (BLOCK, BLOCK / 32) } else { (threads, 1) };
    let grid = ([rows.div_ceil(each).clamp(1, 1 << 20) as u32, 1], block as u32);
    let words = Words::new(rows).number(n).finish(&[eps.to_bits() as i64]);
    let sources: SmallVec<[&Buffer; 3]> = operands.iter().map(|t| &**t.storage()).collect();
    let results: &[&Buffer] = if backward { &[&result, &stats] } else { &[&result] };
    let job = Launch { op, inputs: &sources, outputs: results, words, flag: false, grid: Some(grid) };
    launch(context, Key::Rows { row, dtype, threads, vectors }, &job)?;
    let y = tensor(context, result, &Meta { shape: x.layout().shape().clone(), dtype });
    let mut results: Outputs<CudaRuntime> = smallvec![exchanged(&y)?];
    if backward {
        let bias = row == Kind::LayerNormBackward;
        results.extend(weights(context, op, [x, &operands[2]], &stats, [rows, n], bias, &outs[1])?);
    }
    Ok(results)
}

/// Threads for a row of `n` elements, and vectors that each keeps.
fn shape(n: usize, dtype: DType) -> (usize, usize) {
    let threads = if n <= SHORT { 32 } else { LONG };
    let vectors = n.div_ceil(threads * lanes(dtype)).next_power_of_two();
    (threads, if vectors <= KEPT { vectors } else { 0 })
}

/// Gradients of weight and bias, Σ g·x̂ and Σ g over rows, from each row's mean and 1/√(var + eps).
fn weights(
    context: &'static Context,
    op: &'static str,
    [x, g]: [&Tensor<CudaRuntime>; 2],
    stats: &Buffer,
    [rows, n]: [usize; 2],
    bias: bool,
    out: &Meta,
) -> Result<SmallVec<[Tensor<CudaRuntime>; 2]>> {
    let (dtype, acc) = (x.dtype(), x.dtype().compute());
    let strips = rows.clamp(1, STRIPS);
    let (columns, size) = (n.div_ceil(BLOCK), strips.saturating_mul(n).saturating_mul(acc.size_in_bytes()));
    let partial = [Buffer::new(context, size)?, Buffer::new(context, size)?];
    let words = Words::new(n).number(rows).number(strips).finish(&[]);
    let job = Launch {
        op,
        inputs: &[x.storage(), g.storage(), stats],
        outputs: &[&partial[0], &partial[1]],
        words,
        flag: false,
        grid: Some(([u32::try_from(columns).unwrap_or(u32::MAX), strips as u32], BLOCK as u32)),
    };
    launch(context, Key::Columns { dtype }, &job)?;
    let meta = Meta { shape: Shape::from([strips, n]), dtype: acc };
    let fold = Prim::Reduce(Reduce { op: ReduceOp::Sum, axes: smallvec![0], keepdim: false });
    let sum = |b: Arc<Buffer>| Tensor::run_one(&fold, &[&tensor(context, b, &meta)])?.cast(out.dtype);
    let [weight, added] = partial;
    let mut sums = smallvec![sum(weight)?];
    if bias {
        sums.push(sum(added)?);
    }
    Ok(sums)
}

/// The text of [`fused`] for rows that `threads` threads take, each of which keeps `vectors` times 16 bytes of an operand;
/// 0: rows of any length, read again in every pass.
pub(crate) fn text(row: Kind, dtype: DType, threads: usize, vectors: usize) -> Result<Text> {
    use Kind as R;
    let acc = dtype.compute();
    let (of, ty) = (storage(dtype), register(acc));
    let lanes = lanes(dtype);
    let operands = match row {
        R::Softmax | R::LogSoftmax => 1,
        R::SoftmaxBackward | R::LogSoftmaxBackward | R::RmsNorm => 2,
        R::LayerNorm | R::LayerNormBackward | R::RmsNormBackward => 3,
    };
    let backward = matches!(row, R::LayerNormBackward | R::RmsNormBackward);
    // Operand k lies in each row, or is a weight for all rows.
    let shared = |k: usize| match row {
        R::LayerNorm | R::RmsNorm => k > 0,
        R::LayerNormBackward | R::RmsNormBackward => k == 1,
        _ => false,
    };
    let over = |body: &str| match vectors {
        0 => format!("_Pragma(\"unroll 4\") for (long long j = lane; j * {lanes} < n; j += {threads}) {{\n{body}}}\n"),
        _ => format!(
            "_Pragma(\"unroll\") for (int i = 0; i < {vectors}; i++) {{\nconst long long j = lane + i * {threads};\n\
             if (j * {lanes} < n) {{\n{body}}}\n}}\n"
        ),
    };
    let fetch = |k: usize| {
        let start = if shared(k) { "0" } else { "start" };
        format!("const auto v{k} = numr_fetch<{lanes}>(numr_p{k} + {start}, j, n, whole);\n")
    };
    let each = format!("_Pragma(\"unroll\") for (int e = 0; e < {lanes}; e++)");
    // A pass over the row: `body` sees element e of the vector as x0, x1, .. and adds to s[e] or sets y.
    let pass = |read: &[usize], writes: bool, body: &str| {
        let (mut before, mut values) = (String::new(), String::new());
        for &k in read {
            if vectors > 0 && !shared(k) {
                values += &format!("{ty}& x{k} = c{k}[i][e];\n");
            } else {
                before += &fetch(k);
                values += &format!("const {ty} x{k} = {};\n", load(dtype, &format!("v{k}.v[e]")));
            }
        }
        match writes {
            true => over(&format!(
                "{before}numr_vector<{of}, {lanes}> w;\n{each} {{\n{values}{ty} y;\n{body}\nw.v[e] = {};\n}}\n\
                 numr_write<{lanes}>(numr_q0 + start, w, j, n, whole);\n",
                store(dtype, "y")
            )),
            // What lies beyond the row takes no part.
            false => over(&format!("{before}{each} if (whole || j * {lanes} + e < n) {{\n{values}{body}\n}}\n")),
        }
    };
    let sum = |name: &str, read: &[usize], term: &str| {
        format!(
            "{ty} {name};\n{{\n{ty} s[{lanes}] = {{}};\n{}{name} = numr_sum(numr_lanes_sum<{lanes}>(s));\n}}\n",
            pass(read, false, &format!("s[e] = s[e] + ({term});"))
        )
    };
    let greatest = format!(
        "{ty} m;\n{{\n{ty} s[{lanes}];\n{each} s[e] = numr_low;\n{}\
         _Pragma(\"unroll\") for (int e = 1; e < {lanes}; e++) s[0] = numr_join(s[0], s[e]);\nm = numr_greatest(s[0]);\n}}\n",
        pass(&[0], false, "s[e] = numr_join(s[e], x0);")
    );
    let mean =
        |name: &str, read: &[usize], term: &str| sum(name, read, term) + &format!("{name} = {name} / ({ty})n;\n");
    let centred = || mean("mean", &[0], "x0") + &mean("power", &[0], "(x0 - mean) * (x0 - mean)");
    let uncentred = || format!("const {ty} mean = 0;\n") + &mean("power", &[0], "x0 * x0");
    let root = format!("const {ty} r = numr_rsqrt_of(power + ({ty})numr_eps);\n");
    let kept = "if (lane == 0) { numr_q1[2 * row] = mean; numr_q1[2 * row + 1] = r; }\n";
    // One division a row.
    let inverse = format!("const {ty} part = {ty}(1) / total;\n");
    let body = match row {
        // What is kept need not be computed twice.
        R::Softmax if vectors > 0 => {
            greatest + &sum("total", &[0], "x0 = numr_exp_of(x0 - m)") + &inverse + &pass(&[0], true, "y = x0 * part;")
        }
        R::Softmax => {
            let power = "numr_exp_of(x0 - m)";
            greatest + &sum("total", &[0], power) + &inverse + &pass(&[0], true, &format!("y = {power} * part;"))
        }
        R::LogSoftmax => {
            let total = sum("total", &[0], "numr_exp_of(x0 - m)");
            greatest + &total + &format!("const {ty} l = numr_ln_of(total);\n") + &pass(&[0], true, "y = x0 - m - l;")
        }
        R::SoftmaxBackward => sum("total", &[0, 1], "x0 * x1") + &pass(&[0, 1], true, "y = x0 * (x1 - total);"),
        R::LogSoftmaxBackward => sum("total", &[1], "x1") + &pass(&[0, 1], true, "y = x1 - numr_exp_of(x0) * total;"),
        R::LayerNorm => centred() + &root + &pass(&[0, 1, 2], true, "y = (x0 - mean) * r * x1 + x2;"),
        R::RmsNorm => uncentred() + &root + &pass(&[0, 1], true, "y = x0 * r * x1;"),
        R::LayerNormBackward => {
            let cross = mean("h", &[1, 2], "x2 * x1") + &mean("c", &[0, 1, 2], "x2 * x1 * ((x0 - mean) * r)");
            let last = pass(&[0, 1, 2], true, "y = r * (x2 * x1 - h - (x0 - mean) * r * c);");
            centred() + &root + kept + &cross + &last
        }
        R::RmsNormBackward => {
            let cross = mean("c", &[0, 1, 2], "x2 * x1 * (x0 * r)");
            uncentred() + &root + kept + &cross + &pass(&[0, 1, 2], true, "y = r * (x2 * x1 - x0 * r * c);")
        }
    };
    let mut keep = String::new();
    for k in (0..operands).filter(|&k| vectors > 0 && !shared(k)) {
        let value = load(dtype, &format!("v{k}.v[e]"));
        let _ = write!(
            keep,
            "{ty} c{k}[{vectors}][{lanes}];\n{}",
            over(&format!("{}{each} c{k}[i][e] = {value};\n", fetch(k)))
        );
    }
    let (warps, eps) = (threads / 32, WORDS - 1);
    let across = |name: &str, join: &str| {
        let tree = format!(
            "for (int d = 16; d > 0; d /= 2) {{ const {ty} other = __shfl_xor_sync(0xffffffffu, a, d); a = {join}; }}\n"
        );
        let warps = match warps {
            1 => String::new(),
            _ => format!(
                "__syncthreads();\nif (threadIdx.x % 32 == 0) numr_part[threadIdx.x / 32] = a;\n__syncthreads();\n\
                 a = numr_part[0];\nfor (int k = 1; k < {warps}; k++) {{ const {ty} other = numr_part[k]; a = {join}; }}\n"
            ),
        };
        format!("auto {name} = [&]({ty} a) -> {ty} {{\n{tree}{warps}return a;\n}};\n")
    };
    let pointers = (0..operands).map(|k| format!("numr_aligned<{lanes}>(numr_p{k})")).collect::<Vec<_>>().join(" && ");
    let whole = format!(
        "__shared__ {ty} numr_part[{warps}];\nconst {ty} numr_low = -({ty})(1.0 / 0.0);\n\
         const long long n = numr_l.v[1];\nconst double numr_eps = __longlong_as_double(numr_l.v[{eps}]);\n\
         const bool numr_whole = n % {lanes} == 0 && {pointers};\nconst int lane = threadIdx.x % {threads};\n{}{}\
         auto numr_row = [&](const bool whole, const long long row) {{\nconst long long start = row * n;\n{keep}{body}}};\n\
         for (long long row = blockIdx.x * (long long)(blockDim.x / {threads}) + threadIdx.x / {threads}; row < numr_l.v[0];\n\
         row += gridDim.x * (long long)(blockDim.x / {threads})) {{\n\
         // Each its own code: all loads of a pass are under way together where nothing has to be asked.\n\
         if (numr_whole) numr_row(true, row); else numr_row(false, row);\n}}\n",
        across("numr_sum", "a + other"),
        across("numr_greatest", "numr_join(a, other)"),
    );
    let inputs = vec![dtype; operands];
    let outputs = if backward { vec![dtype, acc] } else { vec![dtype] };
    functions(Builder::new(&inputs, &outputs), acc).map(|b| b.whole(&whole))
}

/// The functions that rows are made of.
fn functions(b: Builder, acc: DType) -> Result<Builder> {
    b.function("numr_join", &[acc, acc], acc, |a| a[0].max(a[1]))?
        .function("numr_exp_of", &[acc], acc, |a| a[0].exp())?
        .function("numr_ln_of", &[acc], acc, |a| a[0].ln())?
        .function("numr_rsqrt_of", &[acc], acc, |a| Expr::lit(1.0) / a[0].sqrt())
}

/// The text of [`weights`]: a thread folds one column of a strip of rows.
pub(crate) fn columns_text(dtype: DType) -> Result<Text> {
    let acc = dtype.compute();
    let ty = register(acc);
    let body = format!(
        "const long long n = numr_l.v[0], rows = numr_l.v[1], strips = numr_l.v[2];\n\
         const long long column = blockIdx.x * (long long)blockDim.x + threadIdx.x, strip = blockIdx.y;\n\
         if (column >= n) return;\n{ty} weight = 0, bias = 0;\n\
         _Pragma(\"unroll 4\") for (long long row = strip; row < rows; row += strips) {{\n\
         const {ty} g = numr_get1(row * n + column), x = numr_get0(row * n + column);\n\
         weight = weight + g * ((x - numr_get2(2 * row)) * numr_get2(2 * row + 1));\nbias = bias + g;\n}}\n\
         numr_put0(strip * n + column, weight);\nnumr_put1(strip * n + column, bias);\n"
    );
    Ok(Builder::new(&[dtype, dtype, acc], &[acc, acc]).whole(&body))
}
