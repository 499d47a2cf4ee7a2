//! Bad input: each case is an error of the right variant that names the op and what it was given. None panics.

use numr::autograd::{constant, grad, gradients, hessian, jvp, leaf, strict, vjp};
use numr::io::{load_safetensors, save_safetensors};
use numr::layout::SliceRange;
use numr::ops::arrange::PadMode;
use numr::ops::distance::DistanceMetric;
use numr::ops::einsum::Semiring;
use numr::ops::index::ScatterReduceOp::Mean;
use numr::ops::loss::{Classes, Reduction};
use numr::ops::order::Quantile;
use numr::prelude::*;
use numr::rng::Key;
use numr::{DType as D, Layout, Result, Shape, Strides};
use std::panic::{AssertUnwindSafe, catch_unwind};

type T = Tensor<CpuRuntime>;

/// What is tried, the variant of the error, and what its text must mention.
type Case = (&'static str, fn() -> Result<()>, &'static str, &'static [&'static str]);

fn cpu() -> CpuDevice {
    CpuDevice::new()
}

fn of(shape: &[usize]) -> T {
    T::ones(shape, D::F32, &cpu())
}

fn ints(values: &[i64]) -> T {
    T::from_slice(values, &[values.len()], &cpu())
}

/// A result that does not matter.
fn no<V>(r: Result<V>) -> Result<()> {
    r.map(drop)
}

fn path(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("numr-refusals-{}-{name}", std::process::id()))
}

/// A file of these bytes, read as safetensors.
fn read_bytes(name: &str, bytes: &[u8]) -> Result<()> {
    let path = path(name);
    std::fs::write(&path, bytes).map_err(|e| numr::Error::io(name, e))?;
    let read = load_safetensors::<CpuRuntime>(&path, &cpu());
    std::fs::remove_file(&path).ok();
    no(read)
}

const CASES: &[Case] = &[
    // operands that do not meet
    ("add", || no(of(&[2, 3]).add(&of(&[4]))), "Broadcast", &["add", "[2, 3]", "[4]"]),
    ("mul of three", || no(of(&[2]).fused_mul_add(&of(&[3]), 1.0)), "Broadcast", &["fused_mul_add", "[2]", "[3]"]),
    ("where", || no(of(&[2]).where_cond(&of(&[3]), 0.0)), "Broadcast", &["where_cond", "[2]", "[3]"]),
    ("clamp", || no(of(&[2]).clamp(&of(&[5]), 1.0)), "Broadcast", &["clamp", "[5]"]),
    ("sub of bools", || no(of(&[2]).gt(0.0)?.sub(&of(&[2]).gt(0.0)?)), "DType", &["sub", "bool"]),
    ("neg of a bool", || no(of(&[2]).gt(0.0)?.neg()), "DType", &["neg", "bool"]),
    ("relu of complex", || no(of(&[2]).cast(D::Complex64)?.relu()), "DType", &["relu", "c64"]),
    ("order of complex", || no(of(&[2]).cast(D::Complex64)?.lt(1.0)), "DType", &["lt", "c64"]),
    ("largest of complex", || no(of(&[2]).cast(D::Complex64)?.max(.., false)), "DType", &["max", "c64"]),
    ("sort of complex", || no(of(&[2]).cast(D::Complex64)?.sort(0, false)), "DType", &["sort", "c64"]),
    // products
    ("matmul", || no(of(&[2, 3]).matmul(&of(&[2, 3]))), "Shape", &["matmul", "[2, 3]"]),
    ("matmul of a scalar", || no(of(&[]).matmul(&of(&[2]))), "Shape", &["matmul", "[]"]),
    ("matmul of batches", || no(of(&[2, 3, 4]).matmul(&of(&[3, 4, 5]))), "Broadcast", &["matmul", "[2]", "[3]"]),
    ("dot", || no(of(&[3]).dot(&of(&[4]))), "Shape", &["dot", "[3]", "[4]"]),
    ("einsum letters", || no(T::einsum("ij,jk->il", &[&of(&[2, 3]), &of(&[3, 4])])), "Argument", &["einsum", "`l`"]),
    ("einsum operands", || no(T::einsum("ij", &[&of(&[2, 3]), &of(&[3, 4])])), "Argument", &["einsum", "1", "2"]),
    ("einsum rank", || no(T::einsum("ij->", &[&of(&[2])])), "Argument", &["einsum", "[2]"]),
    ("einsum sizes", || no(T::einsum("i,i", &[&of(&[2]), &of(&[3])])), "Broadcast", &["einsum", "[2]", "[3]"]),
    ("einsum diagonal", || no(T::einsum("ii", &[&of(&[2, 3])])), "Shape", &["einsum", "[2, 3]"]),
    ("einsum text", || no(T::einsum("i1->", &[&of(&[2, 3])])), "Argument", &["einsum", "`1`"]),
    ("tensordot", || no(of(&[2, 3]).tensordot(&of(&[2, 3]), &[1], &[0])), "Shape", &["tensordot", "[2, 3]"]),
    ("tensordot lists", || no(of(&[2, 3]).tensordot(&of(&[2, 3]), &[1, 0], &[0])), "Argument", &["tensordot"]),
    ("tensordot axis", || no(of(&[2]).tensordot(&of(&[2]), &[1], &[0])), "Axis", &["tensordot", "1"]),
    ("vdot", || no(of(&[2]).vdot(&of(&[3]))), "Shape", &["dot", "[2]", "[3]"]),
    ("khatri_rao", || no(of(&[2, 3]).khatri_rao(&of(&[2, 4]))), "Shape", &["khatri_rao", "[2, 3]", "[2, 4]"]),
    ("cross", || no(of(&[2, 4]).cross(&of(&[2, 4]), 1)), "Shape", &["cross", "[2, 4]"]),
    ("multi_dot", || no(T::multi_dot(&[])), "Argument", &["multi_dot"]),
    ("matrix_power", || no(of(&[2, 3]).matrix_power(2)), "Shape", &["matrix_power", "[2, 3]"]),
    ("semiring", || no(of(&[2]).semiring_matmul(&of(&[2]), Semiring::MinPlus)), "Shape", &["semiring_matmul", "[2]"]),
    ("cdist", || no(of(&[2, 3]).cdist(&of(&[2, 4]), DistanceMetric::Euclidean)), "Shape", &["cdist", "[2, 4]"]),
    ("pdist", || no(of(&[2]).pdist(DistanceMetric::Cosine)), "Shape", &["pdist", "[2]"]),
    ("squareform", || no(of(&[2]).squareform(3)), "Shape", &["squareform", "[2]"]),
    ("squareform_inverse", || no(of(&[2, 3]).squareform_inverse()), "Shape", &["squareform_inverse", "[2, 3]"]),
    // indices and order
    ("index", || no(of(&[2, 3]).i((0, &ints(&[0, -4])))), "Index", &["-4", "size 3"]),
    ("index shapes", || no(of(&[2, 3]).i((&ints(&[0, 1]), &ints(&[0, 1, 2])))), "Broadcast", &["index", "[2]", "[3]"]),
    ("index mask", || no(of(&[2, 3]).i(&of(&[3, 2]).gt(0)?)), "Shape", &["index", "[2, 3]", "[3, 2]"]),
    ("index items", || no(of(&[2]).i((&ints(&[0]), 0))), "Argument", &["2", "1"]),
    ("index dtype", || no(of(&[2]).i(&of(&[1]))), "DType", &["index", "f32"]),
    ("i_put", || no(of(&[3]).i_put(&ints(&[0, 1]), &of(&[3]), false)), "Broadcast", &["[3]", "[2]"]),
    (
        "index_reduce",
        || no(of(&[2, 3]).index_reduce(0, &ints(&[0]), &of(&[2, 3]), Mean, true)),
        "Shape",
        &["index_reduce"],
    ),
    ("masked_scatter", || no(of(&[3]).masked_scatter(&of(&[3]).gt(0)?, &of(&[2]))), "Index", &["masked_scatter", "3"]),
    ("searchsorted", || no(of(&[2, 3]).searchsorted(&of(&[3, 3]), true)), "Shape", &["searchsorted", "[3, 3]"]),
    ("bucketize", || no(of(&[2]).bucketize(&of(&[2, 2]), true)), "Shape", &["bucketize", "[2, 2]"]),
    ("kthvalue", || no(of(&[2]).kthvalue(3, 0, false)), "Argument", &["kthvalue", "3", "2"]),
    ("quantile", || no(of(&[2]).quantile(1.5, None, false, Quantile::Linear)), "Argument", &["quantile", "1.5"]),
    (
        "quantile of nothing",
        || no(of(&[0]).quantile(0.5, None, false, Quantile::Linear)),
        "Shape",
        &["quantile", "[0]"],
    ),
    ("quantile name", || no(Quantile::parse("best")), "Argument", &["quantile", "`best`"]),
    ("mode of nothing", || no(of(&[0]).mode(0, false)), "Shape", &["mode", "[0]"]),
    ("histogram", || no(of(&[2]).histogram(0, None)), "Argument", &["histogram", "bins"]),
    ("histogram range", || no(of(&[2]).histogram(2, Some((1.0, 0.0)))), "Argument", &["histogram", "(1, 0)"]),
    ("histogram edges", || no(of(&[2]).histogram_in(&of(&[1]), None)), "Shape", &["histogram", "[1]"]),
    // arrangements
    ("reflect", || no(of(&[2]).pad_with(&[(2, 0)], PadMode::Reflect)), "Shape", &["pad", "[2]"]),
    ("replicate nothing", || no(of(&[0]).pad_with(&[(1, 0)], PadMode::Replicate)), "Shape", &["pad", "[0]"]),
    ("pad pairs", || no(of(&[2]).pad_with(&[], PadMode::Circular)), "Argument", &["pad", "0 pairs"]),
    ("array_split", || no(of(&[2]).array_split(0, 0)), "Argument", &["array_split"]),
    ("select", || no(of(&[2]).select(0, -3)), "Index", &["select", "-3", "2"]),
    ("select_scatter", || no(of(&[2, 3]).select_scatter(&of(&[2]), 0, 0)), "Shape", &["select_scatter", "[2]"]),
    (
        "diagonal_scatter",
        || no(of(&[2, 3]).diagonal_scatter(&of(&[3]), 0, 0, 1)),
        "Shape",
        &["diagonal_scatter", "[3]"],
    ),
    ("diag", || no(of(&[1, 1, 1]).diag(0)), "Shape", &["diag", "[1, 1, 1]"]),
    ("block_diag", || no(T::block_diag(&[])), "Argument", &["block_diag"]),
    ("rot90", || no(of(&[2, 2]).rot90(1, [0, -2])), "Argument", &["rot90"]),
    ("moveaxis", || no(of(&[2, 2]).moveaxis(&[0, 1], &[1])), "Argument", &["moveaxis"]),
    ("flatten_axes", || no(of(&[2, 2]).flatten_axes(1, 0)), "Argument", &["flatten"]),
    ("unflatten", || no(of(&[6]).unflatten(0, &[4, -1])), "Shape", &["unflatten", "6"]),
    ("repeat_each", || no(of(&[2]).repeat_each(&ints(&[1]), 0)), "Shape", &["repeat_each", "[1]"]),
    ("repeat_each less", || no(of(&[2]).repeat_each(&ints(&[1, -1]), 0)), "Argument", &["repeat_each", "-1"]),
    ("pixel_shuffle", || no(of(&[3, 2, 2]).pixel_shuffle(2)), "Shape", &["pixel_shuffle", "[3, 2, 2]"]),
    ("glu", || no(of(&[3]).glu(0)), "Shape", &["glu", "[3]"]),
    ("isclose", || no(of(&[2]).isclose(&of(&[2]), -1.0, 0.0, false)), "Argument", &["isclose", "-1"]),
    ("geomspace", || no(T::try_geomspace(-1.0, 1.0, 3, D::F32, &cpu())), "Argument", &["geomspace", "-1"]),
    ("logspace", || no(T::try_logspace(0.0, 1.0, 3, 10.0, D::Bool, &cpu())), "DType", &["logspace", "bool"]),
    // losses and norms
    ("huber_loss", || no(of(&[2]).huber_loss(&of(&[2]), 0.0, Reduction::Mean)), "Argument", &["huber_loss", "delta"]),
    ("l1_loss", || no(of(&[2]).l1_loss(&of(&[3]), Reduction::Mean)), "Broadcast", &["[2]", "[3]"]),
    (
        "weights",
        || {
            let classes = Classes { weight: Some(&of(&[2])), ignore: None };
            no(of(&[2, 3]).cross_entropy_with(&ints(&[0, 1]), classes, 0.0, Reduction::Mean))
        },
        "Shape",
        &["cross_entropy", "3 weights", "[2]"],
    ),
    (
        "distributions",
        || no(of(&[2, 3]).cross_entropy_of(&of(&[2, 4]), 0.0, Reduction::Mean)),
        "Shape",
        &["cross_entropy", "[2, 4]"],
    ),
    (
        "margin",
        || no(of(&[2, 3]).multi_margin_loss(&ints(&[0, 1]), 3, 1.0, None, Reduction::Mean)),
        "Argument",
        &["multi_margin_loss", "3"],
    ),
    ("layer_norm axes", || no(of(&[2, 3]).layer_norm_over(3, None, None, 1e-5)), "Argument", &["layer_norm", "3"]),
    ("layer_norm weight", || no(of(&[2, 3]).layer_norm_over(1, Some(&of(&[2])), None, 0.0)), "Shape", &["[2]"]),
    (
        "batch_norm",
        || no(of(&[2, 3]).batch_norm(&of(&[2]), &of(&[3]), None, None, 0.0)),
        "Shape",
        &["batch_norm", "[2]"],
    ),
    ("batch_norm of a vector", || no(of(&[3]).batch_norm_train(None, None, 0.0)), "Shape", &["batch_norm", "[3]"]),
    ("local_response_norm", || no(of(&[2, 3]).local_response_norm(0, 1.0, 1.0, 1.0)), "Argument", &["size"]),
    // running and neighbouring
    ("scan", || no(of(&[2]).scan(numr::prim::ScanOp::Max, 1, true, true)), "Axis", &["cummax", "1"]),
    ("diff", || no(of(&[2]).diff(1, 1)), "Axis", &["diff", "1"]),
    ("gradient", || no(of(&[1]).gradient(1.0, 0)), "Shape", &["gradient", "[1]"]),
    ("trapezoid", || no(of(&[3]).trapezoid(&of(&[2]), 0)), "Shape", &["trapezoid", "[2]"]),
    ("cov", || no(of(&[2, 2, 2]).cov(1.0)), "Shape", &["cov", "[2, 2, 2]"]),
    // axes
    ("sum", || no(of(&[2, 3]).sum(2, false)), "Axis", &["sum", "2"]),
    ("sum twice", || no(of(&[2, 3]).sum([0, -2], false)), "Argument", &["sum"]),
    ("mean", || no(of(&[2, 3]).mean(-3, false)), "Axis", &["mean", "-3"]),
    ("max of nothing", || no(of(&[0, 3]).max(0, false)), "Shape", &["max", "[0, 3]"]),
    ("argmax of nothing", || no(of(&[2, 0]).argmax(1, false)), "Shape", &["argmax", "[2, 0]"]),
    ("softmax", || no(of(&[2]).softmax(1)), "Axis", &["softmax", "1"]),
    ("cumsum", || no(of(&[2]).cumsum(3)), "Axis", &["cumsum", "3"]),
    ("sort", || no(of(&[2]).sort(1, false)), "Axis", &["sort", "1"]),
    ("topk", || no(of(&[3]).topk(4, 0, true, true)), "Argument", &["topk"]),
    ("transpose", || no(of(&[2]).transpose(0, 1)), "Axis", &["transpose", "1"]),
    ("t of a vector", || no(of(&[2]).t()), "Axis", &["transpose"]),
    ("permute", || no(of(&[2, 3]).permute([0, 0])), "Argument", &["permute"]),
    ("permute of too few", || no(of(&[2, 3]).permute([0])), "Argument", &["permute"]),
    ("unsqueeze", || no(of(&[2]).unsqueeze(3)), "Axis", &["unsqueeze", "3"]),
    ("flip", || no(of(&[2]).flip(1)), "Axis", &["flip", "1"]),
    // shapes
    ("reshape", || no(of(&[2, 3]).reshape(&[4, 2])), "Shape", &["reshape", "[2, 3]", "[4, 2]"]),
    ("reshape past memory", || no(of(&[2]).reshape(&[usize::MAX, 3])), "Shape", &["reshape"]),
    ("reshape_infer", || no(of(&[6]).reshape_infer(&[4, -1])), "Shape", &["reshape"]),
    ("reshape_infer twice", || no(of(&[6]).reshape_infer(&[-1, -1])), "Argument", &["reshape"]),
    ("broadcast_to", || no(of(&[2, 3]).broadcast_to(&[3, 3])), "Broadcast", &["broadcast_to", "[2, 3]", "[3, 3]"]),
    ("narrow", || no(of(&[5]).narrow(0, 3, 4)), "Index", &["narrow", "5"]),
    ("narrow past usize", || no(of(&[5]).narrow(0, usize::MAX, 2)), "Index", &["narrow"]),
    ("slice", || no(of(&[5]).slice(s![7])), "Index", &["7", "5"]),
    ("slice of too many", || no(of(&[5]).slice(s![0, 0])), "Argument", &["slice"]),
    ("split by 0", || no(of(&[5]).split(0, 0)), "Argument", &["split"]),
    ("chunk in 0", || no(of(&[5]).chunk(0, 0)), "Argument", &["chunk"]),
    ("cat of nothing", || no(T::cat(&[], 0)), "Argument", &["cat"]),
    ("cat", || no(T::cat(&[&of(&[2, 3]), &of(&[2, 4])], 0)), "Shape", &["cat", "[2, 3]", "[2, 4]"]),
    ("stack", || no(T::stack(&[&of(&[2]), &of(&[3])], 0)), "Shape", &["[2]", "[3]"]),
    ("roll", || no(of(&[2]).roll(1, 1)), "Axis", &["roll", "1"]),
    ("unfold", || no(of(&[3]).unfold(0, 4, 1)), "Argument", &["unfold"]),
    ("unfold by 0", || no(of(&[3]).unfold(0, 2, 0)), "Argument", &["unfold"]),
    ("diagonal", || no(of(&[3]).diagonal(0, 0, 1)), "Axis", &["diagonal", "1"]),
    ("slice_assign", || no(of(&[3]).slice_assign(&of(&[2]), 0, 2)), "Index", &["slice_assign"]),
    ("strides out of memory", || no(Layout::try_new([2, 2], [3, 1], 0, 4)), "Argument", &[]),
    (
        "a range past its axis",
        || {
            let far = SliceRange { start: 1, len: 3, step: 1 };
            no(Layout::contiguous([3]).slice("slice", &[far]))
        },
        "Index",
        &["slice", "3"],
    ),
    // indices
    ("gather", || no(ints(&[1, 2, 3]).gather(0, &ints(&[3]))), "Index", &["gather", "3"]),
    ("gather from the end", || no(ints(&[1, 2, 3]).gather(0, &ints(&[-4]))), "Index", &["gather", "-4", "3"]),
    ("gather by floats", || no(of(&[3]).gather(0, &of(&[1]))), "DType", &["gather", "f32"]),
    ("gather of another rank", || no(of(&[3, 2]).gather(0, &ints(&[0]))), "Shape", &["gather", "[3, 2]", "[1]"]),
    ("scatter", || no(of(&[3]).scatter(0, &ints(&[5]), &of(&[1]))), "Index", &["scatter", "5", "3"]),
    ("scatter of another shape", || no(of(&[3]).scatter(0, &ints(&[0, 1]), &of(&[3]))), "Shape", &["[2]", "[3]"]),
    ("index_select", || no(of(&[3]).index_select(0, &ints(&[9]))), "Index", &["9", "3"]),
    ("masked_select", || no(of(&[3]).masked_select(&of(&[2]))), "Broadcast", &["[3]", "[2]"]),
    // norms and losses
    (
        "layer_norm",
        || no(of(&[2, 3]).layer_norm(&of(&[2]), &of(&[2]), 1e-5)),
        "Shape",
        &["layer_norm", "[2, 3]", "[2]"],
    ),
    ("cross_entropy", || no(of(&[2, 3]).cross_entropy(&ints(&[0, 3]), 0.0, Reduction::Mean)), "Index", &["3"]),
    ("dropout", || no(of(&[2]).dropout(1.5, true)), "Argument", &["dropout", "1.5"]),
    // creation and reading
    ("from_slice", || no(T::try_from_slice(&[1f32, 2.0], &[3], &cpu())), "Shape", &["from_slice", "[3]"]),
    ("zeros past memory", || no(T::try_zeros(&[usize::MAX, 2], D::F32, &cpu())), "Argument", &["shape"]),
    ("zeros past this memory", || no(T::try_zeros(&[1 << 55], D::F32, &cpu())), "OutOfMemory", &["cpu"]),
    ("bytes of a bool", || no(T::try_from_bytes(&[2], &[1], D::Bool, &cpu())), "Argument", &["from_bytes", "bool"]),
    ("bytes of another length", || no(T::try_from_bytes(&[0; 5], &[1], D::F32, &cpu())), "Shape", &["from_bytes"]),
    ("to_vec of another type", || no(of(&[1]).try_to_vec::<i32>()), "DType", &["to_vec", "f32", "i32"]),
    ("item of two", || no(of(&[2]).item::<f32>()), "Shape", &["item", "[2]"]),
    ("arange without end", || no(T::try_arange(0.0, f64::NAN, 1.0, D::F32, &cpu())), "Argument", &["arange"]),
    ("arange by 0", || no(T::try_arange(0.0, 1.0, 0.0, D::F32, &cpu())), "Argument", &["arange"]),
    (
        "randint of nothing",
        || no(Key::new(0).randint::<CpuRuntime>(3, 3, &[2], D::I64, &cpu())),
        "Argument",
        &["randint"],
    ),
    ("uniform of ints", || no(Key::new(0).uniform::<CpuRuntime>(&[2], D::I64, &cpu())), "DType", &["i64"]),
    // gradients
    ("gradient of a vector", || no(grad(|x| x.exp(), &of(&[2]))), "Grad", &[]),
    ("gradient by an integer", || no(grad(|x| x.sum(.., false), &ints(&[1]))), "DType", &["i64"]),
    ("backward of a constant", || no(gradients(&constant(&of(&[])))), "Grad", &[]),
    ("backward of a vector", || no(gradients(&leaf(&of(&[2])).exp()?)), "Grad", &[]),
    (
        "a gradient lost",
        || no(strict(|| grad(|x| x.gt(0.0)?.cast(D::F32)?.sum(.., false), &of(&[2])))),
        "Grad",
        &["gt"],
    ),
    ("vjp of another shape", || no(vjp(|x| x.exp(), &of(&[2]), &of(&[3]))), "Grad", &["vjp"]),
    ("jvp of another shape", || no(jvp(|x| x.exp(), &of(&[2]), &of(&[3]))), "Grad", &["[2]", "[3]"]),
    ("hessian of a vector", || no(hessian(|x| x.exp(), &of(&[2]))), "Grad", &[]),
    // devices and files
    ("a device nobody has", || no(Device::parse("abacus")), "Argument", &["abacus", "cpu"]),
    ("a device by a word", || no(Device::parse("cuda:x")), "Argument", &["cuda:x"]),
    ("a second CPU", || no(Device::parse("cpu:1")), "Argument", &["cpu:1"]),
    ("a GPU that is not there", || no(Device::parse("cuda:0")), "Unsupported", &["cuda"]),
    ("no file", || no(load_safetensors::<CpuRuntime>(path("none"), &cpu())), "Io", &["none"]),
    ("an empty file", || read_bytes("empty", &[]), "Io", &["empty"]),
    ("a header past the end", || read_bytes("long", &u64::MAX.to_le_bytes()), "Io", &["long"]),
    ("a header that is no JSON", || read_bytes("json", &[2, 0, 0, 0, 0, 0, 0, 0, b'{', b'x']), "Io", &["json"]),
    (
        "a dtype without a name",
        || {
            let x = of(&[1]).cast(D::Complex128)?;
            save_safetensors(path("c128"), [("x", &x)])
        },
        "Unsupported",
        &["save_safetensors", "c128"],
    ),
];

#[test]
fn every_bad_input_is_an_error_that_says_what_was_wrong() {
    let mut faults = vec![];
    for (name, run, variant, mentions) in CASES {
        let fault = match catch_unwind(run) {
            Err(_) => "panicked".to_owned(),
            Ok(Ok(())) => "was accepted".to_owned(),
            Ok(Err(e)) => {
                let text = e.to_string();
                let missing: Vec<_> = mentions.iter().filter(|m| !text.contains(**m)).collect();
                if !format!("{e:?}").starts_with(variant) {
                    format!("is {e:?}, not {variant}")
                } else if !missing.is_empty() {
                    format!("`{text}` does not mention {missing:?}")
                } else {
                    continue;
                }
            }
        };
        faults.push(format!("{name}: {fault}"));
    }
    assert!(CASES.len() >= 150, "{}", CASES.len());
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), CASES.len(), faults.join("\n"));
}

/// Operators are the methods with the error's text as a panic.
#[test]
fn operators_panic_with_the_text_of_the_error() {
    let (a, b) = (of(&[2]), of(&[3]));
    let want = a.add(&b).expect_err("they do not meet").to_string();
    let payload = catch_unwind(AssertUnwindSafe(|| &a + &b)).expect_err("a panic");
    assert_eq!(payload.downcast_ref::<String>(), Some(&want));
}

/// What strides reach must be there.
#[test]
fn a_layout_can_only_be_built_valid() {
    let shapes: [(Shape, Strides, usize, usize); 4] = [
        ([2].into(), [1].into(), 3, 4),
        ([2].into(), [-1].into(), 0, 4),
        ([2, 2].into(), [1].into(), 0, 4),
        ([usize::MAX].into(), [isize::MAX].into(), 0, 4),
    ];
    for (shape, strides, offset, len) in shapes {
        assert!(Layout::try_new(shape, strides, offset, len).is_err());
    }
}
