//! The support table: what a backend answers for each op and dtype. It is generated, so it cannot lie.

use std::fmt::Write;

use numr_core::dtype::DType;
use numr_core::layout::SliceRange;
use numr_core::ops::map::Row;
use numr_core::prim::{Bind, Fused, Map, MapOp, Prim, Reduce, ReduceOp, Scan, ScanOp, ScatterOp, View};
use numr_core::runtime::{Runtime, Support};
use numr_core::scalar::graph::Class;

/// An op: its family, the primitive, and its operands, whose dtype is that of the column where none is given.
struct Line {
    family: &'static str,
    prim: Prim,
    inputs: Vec<(&'static [usize], Option<DType>)>,
}

/// Whether an op takes a dtype, and how a device does it.
#[derive(Clone, Copy, PartialEq)]
enum Cell {
    Native,
    Via(DType),
    No,
    NotTaken,
}

/// The columns: dtypes that nearly always share an answer.
const COLUMNS: [(&str, &[DType]); 7] = [
    ("f64, f32", &[DType::F64, DType::F32]),
    ("f16, bf16", &[DType::F16, DType::BF16]),
    ("f8", &[DType::FP8E4M3, DType::FP8E5M2]),
    ("i64 .. i8", &[DType::I64, DType::I32, DType::I16, DType::I8]),
    ("u64 .. u8", &[DType::U64, DType::U32, DType::U16, DType::U8]),
    ("bool", &[DType::Bool]),
    ("c64, c128", &[DType::Complex64, DType::Complex128]),
];

impl Line {
    fn cell<R: Runtime>(&self, device: &R::Device, dtype: DType) -> Cell {
        let inputs: Vec<_> = self.inputs.iter().map(|&(shape, fixed)| (shape, fixed.unwrap_or(dtype))).collect();
        if self.prim.infer(&inputs).is_err() {
            return Cell::NotTaken;
        }
        let dtypes: Vec<DType> = inputs.iter().map(|(_, dtype)| *dtype).collect();
        match R::supports(device, &self.prim, &dtypes) {
            Support::Native => Cell::Native,
            Support::Via(through) => Cell::Via(through),
            Support::No { .. } => Cell::No,
        }
    }
}

/// Every row of the op table, and every primitive with every choice that has a name of its own. `dtype` is the
/// column's, for primitives that name one.
fn lines(dtype: DType) -> Vec<Line> {
    let (vector, matrix): (&[usize], &[usize]) = (&[2], &[2, 2]);
    let axes = || [0].into_iter().collect();
    let slice = || View::Slice([SliceRange { start: 1, len: 1, step: -1 }].into_iter().collect());
    let mut lines = vec![];
    let mut add = |family, prim, inputs: &[(&'static [usize], Option<DType>)]| {
        lines.push(Line { family, prim, inputs: inputs.to_vec() });
    };
    for &row in Row::ALL {
        let masks = if let Class::Common { masks, .. } = row.class() { masks } else { 0 };
        let all_masks = u32::from(masks).count_ones() as usize == row.arity();
        let fixed = |at| (masks >> at & 1 == 1 && !all_masks).then_some(DType::Bool);
        let inputs: Vec<_> = (0..row.arity()).map(|at| (vector, fixed(at))).collect();
        let binds = inputs.iter().map(|_| Bind::Input).collect();
        add("element-wise", Prim::Map(Map { op: MapOp::Row(row), binds, create: None }), &inputs);
    }
    let views = [
        View::Reshape([4].into()),
        View::Permute([1, 0].into_iter().collect()),
        View::Expand([2, 2].into()),
        View::Slice([SliceRange { start: 1, len: 1, step: -1 }; 2].into_iter().collect()),
        View::Diagonal { offset: 0, a: 0, b: 1 },
        View::Unfold { axis: 0, size: 1, step: 1 },
    ];
    for view in views {
        add("view", Prim::View(view), &[(matrix, None)]);
    }
    add("copy", Prim::Contiguous, &[(vector, None)]);
    add("copy", Prim::Concat { axis: 0 }, &[(vector, None); 2]);
    add("copy", Prim::Assign { view: slice() }, &[(vector, None), (&[1], None)]);
    use ReduceOp::*;
    for op in [Sum, Prod, Max, Min, Any, All, ArgMax, ArgMin] {
        add("reduce", Prim::Reduce(Reduce { op, axes: axes(), keepdim: false }), &[(vector, None)]);
    }
    for op in [ScanOp::Sum, ScanOp::Prod, ScanOp::Max, ScanOp::Min] {
        add("scan", Prim::Scan(Scan { op, axis: 0, reverse: false, exclusive: false }), &[(vector, None)]);
    }
    add("contract", Prim::Contract { dtype }, &[(matrix, None); 2]);
    let index = (vector, Some(DType::I64));
    add("index", Prim::Gather { axis: 0 }, &[(vector, None), index]);
    for op in [ScatterOp::Set, ScatterOp::Add, ScatterOp::Mul, ScatterOp::Min, ScatterOp::Max] {
        add("index", Prim::Scatter { axis: 0, op }, &[(vector, None), index, (vector, None)]);
    }
    add("index", Prim::Nonzero, &[(vector, None)]);
    add("sort", Prim::Sort { axis: 0, descending: false }, &[(vector, None)]);
    let (axis, eps) = (1, 1e-5);
    let (x, w) = ((matrix, None), (vector, None));
    let fused: [(Fused, &[_]); 8] = [
        (Fused::Softmax { axis }, &[x]),
        (Fused::SoftmaxBackward { axis }, &[x, x]),
        (Fused::LogSoftmax { axis }, &[x]),
        (Fused::LogSoftmaxBackward { axis }, &[x, x]),
        (Fused::LayerNorm { eps }, &[x, w, w]),
        (Fused::LayerNormBackward { eps }, &[x, w, x]),
        (Fused::RmsNorm { eps }, &[x, w]),
        (Fused::RmsNormBackward { eps }, &[x, w, x]),
    ];
    for (op, inputs) in fused {
        add("fused", Prim::Fused(op), inputs);
    }
    lines
}

/// The op's name; primitives of one name are told apart.
fn title(prim: &Prim) -> String {
    match prim {
        Prim::Scatter { op, .. } => format!("scatter {}", format!("{op:?}").to_lowercase()),
        prim => prim.name().to_owned(),
    }
}

/// The cells of all ops in the columns' dtypes: per op, per column, per dtype.
fn cells<R: Runtime>() -> Vec<(Line, Vec<Vec<(DType, Cell)>>)> {
    let device = R::default_device();
    let mut out: Vec<(Line, Vec<Vec<(DType, Cell)>>)> =
        lines(DType::F32).into_iter().map(|line| (line, vec![])).collect();
    for (_, dtypes) in COLUMNS {
        out.iter_mut().for_each(|(_, columns)| columns.push(vec![]));
        for &dtype in dtypes {
            for (line, (_, columns)) in lines(dtype).iter().zip(&mut out) {
                columns.last_mut().expect("one was just pushed").push((dtype, line.cell::<R>(&device, dtype)));
            }
        }
    }
    out
}

/// The head of a Markdown table with the dtype columns.
fn head(first: &[&str]) -> String {
    let names: Vec<&str> = first.iter().copied().chain(COLUMNS.map(|(name, _)| name)).collect();
    format!("| {} |\n|{}\n", names.join(" | "), "---|".repeat(names.len()))
}

/// A family a line; a cell counts the ops and dtypes that run of those that are taken.
pub fn summary<R: Runtime>() -> String {
    let mut families: Vec<(&str, usize, Vec<(usize, usize)>)> = vec![];
    for (line, columns) in cells::<R>() {
        if families.last().is_none_or(|(family, ..)| *family != line.family) {
            families.push((line.family, 0, vec![(0, 0); COLUMNS.len()]));
        }
        let (_, count, sums) = families.last_mut().expect("one was just pushed");
        *count += 1;
        for (sum, column) in sums.iter_mut().zip(&columns) {
            sum.0 += column.iter().filter(|(_, cell)| matches!(cell, Cell::Native | Cell::Via(_))).count();
            sum.1 += column.iter().filter(|(_, cell)| *cell != Cell::NotTaken).count();
        }
    }
    let mut text = head(&["family", "ops"]);
    for (family, count, sums) in families {
        let cells = sums.iter().map(|(runs, taken)| match (runs, taken) {
            (_, 0) => "-".to_owned(),
            (runs, taken) if runs == taken => "all".to_owned(),
            (runs, taken) => format!("{runs} of {taken}"),
        });
        let _ = writeln!(text, "| {family} | {count} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    text
}

/// An op a line.
pub fn full<R: Runtime>() -> String {
    let mut text = head(&["family", "op"]);
    for (line, columns) in cells::<R>() {
        let cells = columns.iter().map(|column| {
            let words: Vec<String> = column.iter().map(|(_, cell)| word(*cell)).collect();
            match &words[..] {
                [first, rest @ ..] if rest.iter().all(|word| word == first) => first.clone(),
                words => column
                    .iter()
                    .zip(words)
                    .map(|((dtype, _), word)| format!("{dtype} {word}"))
                    .collect::<Vec<_>>()
                    .join(", "),
            }
        });
        let _ =
            writeln!(text, "| {} | `{}` | {} |", line.family, title(&line.prim), cells.collect::<Vec<_>>().join(" | "));
    }
    text
}

fn word(cell: Cell) -> String {
    match cell {
        Cell::Native => "yes".to_owned(),
        Cell::Via(dtype) => format!("in {dtype}"),
        Cell::No => "no".to_owned(),
        Cell::NotTaken => "-".to_owned(),
    }
}
