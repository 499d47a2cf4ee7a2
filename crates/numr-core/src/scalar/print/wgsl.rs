//! WGSL, for naga and for browsers.
//!
//! `f64` and 64-bit integers are printed where a program has them and need features that not every adapter has; `f64`
//! elementary functions are ours, since the built-in ones are silently wrong. Infinity and NaN have no literal: their
//! bits pass through a function. Elements of less than 32 bits lie packed in words.

use super::{Access, Body, Functions, Language, MapKernel, body, join, typed};
use crate::dtype::DType;
use crate::element::Lit;
use crate::error::{Error, Result};
use crate::scalar::graph::{Bin, Un};
use crate::scalar::program::Program;
use std::fmt::Write;

/// Functions in WGSL, by name and type; see the head of the file.
const PRELUDE: &str = include_str!("prelude.wgsl");

/// Invocations in a workgroup.
pub const GROUP: u32 = 256;

/// The name of a kernel's entry point.
pub const ENTRY: &str = "numr_map";

/// A shader module of one kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shader {
    /// The text.
    pub source: String,
    /// Does it need `SHADER_F64`?
    pub f64: bool,
    /// Does it need `SHADER_INT64`?
    pub int64: bool,
    /// Elements that one invocation makes: those of a 32-bit word of the narrowest result.
    pub elements: u32,
}

impl Shader {
    /// The workgroups to dispatch for `n` elements: no more than 65,535 along an axis.
    pub fn groups(&self, n: u32) -> [u32; 3] {
        let groups = n.div_ceil(GROUP * self.elements);
        let x = groups.min(65_535);
        [x, groups.div_ceil(x.max(1)), 1]
    }
}

/// The steps of a program, for a kernel of one's own. `numr_a{k}` are the arguments in [`register`] types; `numr_i` and
/// `numr_c{axis}`, i32, the index and coordinates. They call what [`functions`] defines.
///
/// # Errors
/// None that a typed program can cause.
pub fn steps(program: &Program) -> Result<Body> {
    body::<Wgsl>(program)
}

/// The definitions of what a text calls by names of this module.
///
/// # Errors
/// As [`steps`].
pub fn functions(text: &str) -> Result<String> {
    let mut functions = Functions::default();
    functions.require::<Wgsl>(text)?;
    Ok(functions.text)
}

/// A map kernel with the entry point [`ENTRY`].
///
/// Bindings of group 0: a read-only storage buffer for each argument that is a tensor, in order; a storage buffer for
/// each result, of whole 32-bit words; a uniform buffer of `u32` words, padded to 16 bytes: the number of elements n;
/// strided access: the size of each axis; for each tensor its offset and, strided, its stride for each axis, in elements
/// with sign (0 where it is broadcast); each scalar argument as it lies in memory, padded to whole words. Results begin
/// at element 0 of their buffers. A workgroup takes `rounds` strips of elements, so that several loads are under way.
///
/// # Errors
/// `Error::Unsupported` for an elementary function of complex numbers and for 64-bit indices; `Error::Argument` if the
/// program asks for a coordinate that the access does not know.
pub fn map(kernel: &MapKernel<'_>, rounds: usize) -> Result<Shader> {
    kernel.check_axes()?;
    if kernel.wide {
        let reason = "a binding ends at 2 GiB, so indices have 32 bits; split the tensor";
        return Err(Error::unsupported("map", None, Wgsl::NAME, reason));
    }
    let body = body::<Wgsl>(kernel.program)?;
    let rank = kernel.rank();
    let (mut bindings, mut loads) = (String::new(), String::new());
    let mut binding = 0;
    let mut bind = |bindings: &mut String, access: &str, name: &str, ty: &str| {
        let _ = writeln!(bindings, "@group(0) @binding({binding}) var<{access}> {name}: {ty};");
        binding += 1;
    };

    // Words of the uniform buffer, in order.
    let mut word = 0;
    let mut next = || {
        word += 1;
        format!("numr_l.v[{}].{}", (word - 1) / 4, ["x", "y", "z", "w"][(word - 1) % 4])
    };
    let n = next();
    let shape: Vec<String> = (0..rank).map(|_| next()).collect();
    let mut coordinates = String::new();
    for (axis, size) in shape.iter().enumerate().rev() {
        let rest = if axis + 1 == rank { "numr_i".to_owned() } else { format!("numr_r{}", axis + 1) };
        let _ = writeln!(coordinates, "let numr_r{axis} = {rest} / i32({size});");
        let _ = writeln!(coordinates, "let numr_c{axis} = {rest} - numr_r{axis} * i32({size});");
    }
    let args = &kernel.program.args;
    for (k, &d) in args.iter().enumerate().filter(|&(k, _)| !kernel.is_scalar(k)) {
        let mut at = format!("i32({})", next());
        match kernel.access {
            Access::Contiguous => at.push_str(" + numr_i"),
            Access::Strided { rank } => {
                (0..rank).for_each(|axis| _ = write!(at, " + numr_c{axis} * i32({})", next()));
            }
        }
        bind(&mut bindings, "storage, read", &format!("numr_p{k}"), &format!("array<{}>", storage(d)));
        let _ = writeln!(loads, "let numr_at{k} = u32({at});");
        loads.push_str(&Wgsl::define(
            d,
            &format!("numr_a{k}"),
            &load(d, &format!("numr_p{k}"), &format!("numr_at{k}")),
        ));
    }
    for (k, &d) in args.iter().enumerate().filter(|&(k, _)| kernel.is_scalar(k)) {
        let words: Vec<String> = (0..d.size_in_bytes().div_ceil(4)).map(|_| next()).collect();
        loads.push_str(&Wgsl::define(d, &format!("numr_a{k}"), &from_words(d, &words)));
    }

    let program = kernel.program;
    let outs: Vec<DType> = (0..program.outs.len()).map(|k| program.out(k)).collect();
    let elements = outs.iter().map(|&d| per_word(d)).max().unwrap_or(1);
    let (mut fields, mut values, mut words, mut stores, mut finish) =
        (String::new(), Vec::new(), String::new(), vec![String::new(); elements], String::new());
    for (k, (&d, out)) in outs.iter().zip(&body.outs).enumerate() {
        bind(&mut bindings, "storage, read_write", &format!("numr_q{k}"), &format!("array<{}>", storage(d)));
        let _ = writeln!(fields, "r{k}: {},", storage(d));
        values.push(store(d, out));
        let per = per_word(d);
        for (e, stores) in stores.iter_mut().enumerate() {
            if per == 1 {
                let _ = writeln!(stores, "numr_q{k}[numr_first + {e}u] = numr_o.r{k};");
                continue;
            }
            let (w, shift) = (e / per, e % per * 32 / per);
            let _ = writeln!(stores, "numr_w{k}_{w} |= numr_o.r{k} << {shift}u;");
            if e % per == 0 {
                let _ = writeln!(words, "var numr_w{k}_{w} = 0u;");
                let _ = writeln!(
                    finish,
                    "if numr_first + {e}u < {n} {{ numr_q{k}[numr_first / {per}u + {w}u] = numr_w{k}_{w}; }}"
                );
            }
        }
    }
    let mut main = String::new();
    for (e, stores) in stores.iter().enumerate() {
        let _ = writeln!(
            main,
            "if numr_first + {e}u < {n} {{\nlet numr_o = numr_element(i32(numr_first + {e}u));\n{stores}}}"
        );
    }
    bind(&mut bindings, "uniform", "numr_l", "numr_layout");
    let length = word.div_ceil(4);

    let text = format!(
        "struct numr_layout {{ v: array<vec4<u32>, {length}> }}\n{bindings}\
         struct numr_out {{\n{fields}}}\n\
         fn numr_element(numr_i: i32) -> numr_out {{\n{coordinates}{loads}{}return numr_out({});\n}}\n\
         fn numr_some(numr_first: u32) {{\n{words}{main}{finish}}}\n\
         @compute @workgroup_size({GROUP})\n\
         fn {ENTRY}(@builtin(workgroup_id) numr_g: vec3<u32>, @builtin(num_workgroups) numr_s: vec3<u32>,\n\
         @builtin(local_invocation_index) numr_t: u32) {{\n\
         let numr_first = ((numr_g.y * numr_s.x + numr_g.x) * {group}u + numr_t) * {elements}u;\n\
{strips}}}\n",
        body.text,
        values.join(", "),
        group = GROUP as usize * rounds,
        strips = (0..rounds)
            .map(|r| format!("numr_some(numr_first + {}u);\n", r * GROUP as usize * elements))
            .collect::<String>(),
    );
    let source = format!("{}{text}", functions(&text)?);
    let has = |ty: &str| source.contains(ty);
    Ok(Shader { f64: has("f64"), int64: has("i64") || has("u64"), elements: (elements * rounds) as u32, source })
}

/// The type of a dtype's values between load and store: `f32` for the narrow floats, `i32` or `u32` for narrow integers.
pub fn register(d: DType) -> &'static str {
    Wgsl::ty(Wgsl::register(d))
}

/// The element type of a buffer: `u32`, a packed word, for elements of less than 32 bits.
pub fn storage(d: DType) -> &'static str {
    if per_word(d) > 1 { "u32" } else { register(d) }
}

/// Elements that share a 32-bit word.
fn per_word(d: DType) -> usize {
    4usize.div_ceil(d.size_in_bytes())
}

/// The expression of element `at`, the name of a u32, of a buffer as a register.
pub fn load(d: DType, buffer: &str, at: &str) -> String {
    match per_word(d) {
        4 => from_code(d, &format!("(({buffer}[{at} >> 2u] >> (({at} & 3u) << 3u)) & 0xffu)")),
        2 => from_code(d, &format!("(({buffer}[{at} >> 1u] >> (({at} & 1u) << 4u)) & 0xffffu)")),
        _ => format!("{buffer}[{at}]"),
    }
}

/// The expression of a register as it lies in memory; elements of less than 32 bits in the low bits of a u32.
pub fn store(d: DType, value: &str) -> String {
    match d {
        DType::F16 | DType::BF16 | DType::FP8E4M3 | DType::FP8E5M2 => format!("numr_encode_{d}({value})"),
        DType::I8 => format!("(u32({value}) & 0xffu)"),
        DType::I16 => format!("(u32({value}) & 0xffffu)"),
        DType::Bool => format!("select(0u, 1u, {value})"),
        _ => value.to_owned(),
    }
}

/// The register of an element of less than 32 bits, from a u32 of just those.
fn from_code(d: DType, code: &str) -> String {
    match d {
        DType::F16 | DType::BF16 | DType::FP8E4M3 | DType::FP8E5M2 => format!("numr_decode_{d}({code})"),
        DType::I8 | DType::I16 => format!("numr_wrap_{d}(i32({code}))"),
        DType::Bool => format!("{code} != 0u"),
        _ => code.to_owned(),
    }
}

/// The register of a scalar argument from the words it lies in.
fn from_words(d: DType, words: &[String]) -> String {
    let single = |w: &String| format!("bitcast<f32>({w})");
    let long = |w: &[String]| format!("(u64({}) | (u64({}) << 32u))", w[0], w[1]);
    let double = |w: &[String]| format!("bitcast<f64>({})", long(w));
    match d {
        DType::F32 => single(&words[0]),
        DType::F64 => double(words),
        DType::I32 => format!("i32({})", words[0]),
        DType::U32 => words[0].clone(),
        DType::I64 => format!("i64({})", long(words)),
        DType::U64 => long(words),
        DType::Complex64 => format!("vec2<f32>({}, {})", single(&words[0]), single(&words[1])),
        DType::Complex128 => format!("vec2<f64>({}, {})", double(words), double(&words[2..])),
        narrow => from_code(narrow, &format!("({} & {:#x}u)", words[0], (1u64 << (8 * narrow.size_in_bytes())) - 1)),
    }
}

struct Wgsl;

impl Wgsl {
    /// Brings the result of arithmetic in a register back into a narrow integer's range.
    fn narrow(d: DType, value: String) -> String {
        if d.is_int() && d.size_in_bytes() < 4 { format!("numr_wrap_{d}({value})") } else { value }
    }
}

impl Language for Wgsl {
    const NAME: &'static str = "wgpu";

    fn register(d: DType) -> DType {
        match d {
            DType::I8 | DType::I16 => DType::I32,
            DType::U8 | DType::U16 => DType::U32,
            other => other.compute(),
        }
    }

    fn ty(d: DType) -> &'static str {
        match d {
            DType::Complex64 => "vec2<f32>",
            DType::Complex128 => "vec2<f64>",
            other => other.short_name(),
        }
    }

    fn lit(d: DType, lit: Lit) -> String {
        let single = |v: f64| {
            let bits = (v as f32).to_bits();
            if v.is_finite() { format!("bitcast<f32>({bits:#x}u)") } else { format!("numr_raw_f32({bits:#x}u)") }
        };
        let double = |v: f64| {
            if v.is_finite() { format!("f64({v:e}lf)") } else { format!("numr_raw_f64({:#x}lu)", v.to_bits()) }
        };
        let long = matches!(d, DType::I64 | DType::U64);
        match typed(d, lit) {
            Lit::Bool(v) => v.to_string(),
            // The least integers have no literal.
            Lit::Int(i64::MIN) => "i64(0x8000000000000000lu)".to_owned(),
            Lit::Int(v) if v == i32::MIN as i64 && !long => "i32(0x80000000u)".to_owned(),
            Lit::Int(v) => {
                if long {
                    format!("i64({v}li)")
                } else {
                    format!("({v}i)")
                }
            }
            Lit::UInt(v) => {
                if long {
                    format!("u64({v}lu)")
                } else {
                    format!("{v}u")
                }
            }
            Lit::Float(v) => {
                if d == DType::F64 {
                    double(v)
                } else {
                    single(v)
                }
            }
            Lit::Complex(re, im) if d == DType::Complex64 => format!("vec2<f32>({}, {})", single(re), single(im)),
            Lit::Complex(re, im) => format!("vec2<f64>({}, {})", double(re), double(im)),
        }
    }

    fn un(u: Un, d: DType, a: &str) -> String {
        let held = Self::register(d);
        match u {
            Un::Neg if d.is_int() => Self::narrow(d, format!("{held}(0) - {a}")),
            Un::Neg => format!("-{a}"),
            Un::Keep => format!("numr_keep_{held}({a})"),
            Un::Abs if d.is_complex() => format!("numr_abs_{d}({a})"),
            Un::Not if d.is_bool() => format!("!{a}"),
            Un::Not => Self::narrow(d, format!("~{a}")),
            Un::ToBits => format!("bitcast<{}>({a})", if held == DType::F32 { "i32" } else { "i64" }),
            Un::FromBits => format!("bitcast<{}>({a})", if held == DType::I32 { "f32" } else { "f64" }),
            Un::ToInt => format!("{}({a})", if held == DType::F32 { "i32" } else { "i64" }),
            Un::FromInt => format!("{}({a})", if held == DType::I32 { "f32" } else { "f64" }),
            Un::Conj => format!("{}({a}.x, -{a}.y)", Self::ty(d)),
            Un::Real => format!("{a}.x"),
            Un::Imag => format!("{a}.y"),
            _ => Self::narrow(d, format!("{}({a})", u.name())),
        }
    }

    fn bin(b: Bin, d: DType, a: &str, o: &str) -> String {
        let held = Self::register(d);
        let infix = |operator: &str| format!("{a} {operator} {o}");
        let call = || format!("numr_{}_{held}({a}, {o})", b.name());
        let bits = 8 * d.size_in_bytes();
        let nan = |x: &str, t| format!("numr_nan_{t}({x})");
        match b {
            Bin::Add => Self::narrow(d, infix("+")),
            Bin::Sub => Self::narrow(d, infix("-")),
            Bin::Mul if !d.is_complex() => Self::narrow(d, infix("*")),
            Bin::Div if held.is_float() => infix("/"),
            Bin::Max | Bin::Min if d.is_int() => format!("{}({a}, {o})", b.name()),
            Bin::And if d.is_bool() => infix("&&"),
            Bin::Or if d.is_bool() => infix("||"),
            Bin::Xor if d.is_bool() => infix("!="),
            Bin::And => infix("&"),
            Bin::Or => infix("|"),
            Bin::Xor => infix("^"),
            Bin::Shr if d.is_unsigned_int() => format!("numr_shr_logical_{held}({a}, {o}, {bits}u)"),
            Bin::Shl | Bin::Shr | Bin::ShrLogical => {
                Self::narrow(d, format!("numr_{}_{held}({a}, {o}, {bits}u)", b.name()))
            }
            Bin::MulHi if bits < 32 => {
                let mask = (1u32 << bits) - 1;
                Self::narrow(d, format!("{held}(((u32({a}) & {mask}u) * (u32({o}) & {mask}u)) >> {bits}u)"))
            }
            // A number that differs from itself is NaN; the compiler may think that there is none.
            Bin::Ne if a == o && d.is_complex() => {
                let part = d.to_real();
                format!("{} || {}", nan(&format!("{a}.x"), part), nan(&format!("{a}.y"), part))
            }
            Bin::Ne if a == o && held.is_float() => nan(a, held),
            Bin::Eq if a == o && held.is_float() => format!("!{}", nan(a, held)),
            Bin::Eq if d.is_complex() => format!("all({})", infix("==")),
            Bin::Ne if d.is_complex() => format!("!all({})", infix("==")),
            Bin::Eq => infix("=="),
            // As the contrary of ==: `!=` may be false for NaN.
            Bin::Ne if held.is_float() => format!("!({})", infix("==")),
            Bin::Ne => infix("!="),
            Bin::Lt if d.is_bool() => format!("!{a} && {o}"),
            Bin::Le if d.is_bool() => format!("!{a} || {o}"),
            Bin::Lt => infix("<"),
            Bin::Le => infix("<="),
            Bin::Complex => format!("{}({a}, {o})", Self::ty(d.to_complex())),
            Bin::Div | Bin::Pow => Self::narrow(d, call()),
            Bin::Mul | Bin::Rem | Bin::Max | Bin::Min | Bin::MulHi => call(),
        }
    }

    fn fma(d: DType, a: &str, b: &str, c: &str) -> String {
        if d.is_complex() {
            format!("numr_mul_{d}({a}, {b}) + {c}")
        } else if d.is_int() {
            Self::narrow(d, format!("{a} * {b} + {c}"))
        } else {
            format!("fma({a}, {b}, {c})")
        }
    }

    fn select(m: &str, a: &str, b: &str) -> String {
        format!("select({b}, {a}, {m})")
    }

    fn convert(from: DType, to: DType, a: &str) -> String {
        match to {
            // naga widens by the sign of the target.
            DType::U64 if from.is_signed_int() => format!("u64(i64({a}))"),
            _ => format!("{}({a})", Self::ty(to)),
        }
    }

    fn wrap(from: DType, to: DType, a: &str) -> String {
        let target = Self::register(to);
        let value = if Self::register(from) == target { a.to_owned() } else { Self::convert(from, target, a) };
        Self::narrow(to, value)
    }

    fn saturate(from: DType, to: DType, a: &str) -> String {
        let target = Self::register(to);
        let whole = format!("numr_sat_{target}_{from}({a})");
        if target == to {
            return whole;
        }
        let limit = |v: f64| Self::lit(to, Lit::Float(v));
        format!("clamp({whole}, {}, {})", limit(to.min_value()), limit(to.max_value()))
    }

    fn index(name: &str) -> (DType, String) {
        (DType::I32, name.to_owned())
    }

    fn define(_: DType, name: &str, value: &str) -> String {
        format!("let {name} = {value};\n")
    }

    fn hide(name: &str, value: &str) -> Option<String> {
        Some(format!("var {name} = {value};\n"))
    }

    fn function(name: &str, d: DType, arity: usize, body: &Body) -> String {
        let ty = register(d);
        let parameters = join((0..arity).map(|k| format!("numr_a{k}: {ty}")), ", ");
        format!("fn {name}({parameters}) -> {ty} {{\n{}return {};\n}}", body.text, body.outs[0])
    }

    fn helper(name: &str, ty: &str) -> Option<String> {
        let text = PRELUDE.split("//# ").skip(1).find_map(|section| {
            let (head, text) = section.split_once('\n')?;
            let mut words = head.split(' ');
            (words.next() == Some(name) && words.any(|t| t == ty)).then_some(text)
        })?;
        // A comment after the function belongs to the next section.
        let text = text.split("\n\n").next().unwrap_or(text).trim_end();
        let (unsigned, width, mantissa) = match ty {
            "f64" | "c128" => ("u64", "64", "52"),
            "i64" | "u64" => ("u64", "64", "0"),
            "f32" | "c64" => ("u32", "32", "23"),
            _ => ("u32", "32", "0"),
        };
        let part = if ty == "c128" { "f64" } else { "f32" };
        let marks = [("$T", ty), ("$U", unsigned), ("$V", part), ("$W", width), ("$M", mantissa)];
        Some(marks.iter().fold(text.to_owned(), |text, (mark, with)| text.replace(mark, with)))
    }
}
