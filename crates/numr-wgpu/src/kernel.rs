//! The text that our own kernels share: bindings, loads and stores of every dtype, and positions in any layout.
//!
//! Narrow elements share words. A kernel that does not write whole words in order stores them by two atomic operations on
//! bits that no other invocation touches.

use crate::launch::{GROUP, Indexed, Text};
use numr_core::layout::coalesce;
use numr_core::scalar::expr::Expr;
use numr_core::scalar::graph::{Class, Graph};
use numr_core::scalar::print::wgsl::{self, load, register, storage, store};
use numr_core::scalar::program::ArgType;
use numr_core::{DType, Error, Result, Strides};
use std::fmt::Write;

/// A kernel under construction.
pub(crate) struct Builder {
    bindings: String,
    functions: String,
    bodies: String,
    inputs: usize,
    outputs: usize,
}

impl Builder {
    /// With read-only operands `numr_get0(at)`, `numr_get1(at)`, .. and results `numr_put0(at, value)`, ...
    pub(crate) fn new(inputs: &[DType], outputs: &[DType]) -> Builder {
        let mut b = Builder {
            bindings: String::new(),
            functions: String::new(),
            bodies: String::new(),
            inputs: inputs.len(),
            outputs: outputs.len(),
        };
        for (k, &d) in inputs.iter().enumerate() {
            let (of, ty) = (storage(d), register(d));
            let _ = writeln!(b.bindings, "@group(0) @binding({k}) var<storage, read> numr_p{k}: array<{of}>;");
            let value = load(d, &format!("numr_p{k}"), "at");
            let _ = writeln!(b.functions, "fn numr_get{k}(at: u32) -> {ty} {{ return {value}; }}");
        }
        for (k, &d) in outputs.iter().enumerate() {
            let (binding, ty, value) = (inputs.len() + k, register(d), store(d, "value"));
            let narrow = 8 * d.size_in_bytes() as u32;
            let of = if narrow < 32 { "atomic<u32>" } else { storage(d) };
            let _ =
                writeln!(b.bindings, "@group(0) @binding({binding}) var<storage, read_write> numr_q{k}: array<{of}>;");
            if narrow >= 32 {
                let _ = writeln!(b.functions, "fn numr_put{k}(at: u32, value: {ty}) {{ numr_q{k}[at] = {value}; }}");
                continue;
            }
            let (per, mask) = (32 / narrow, (1u32 << narrow) - 1);
            let _ = writeln!(
                b.functions,
                "fn numr_put{k}(at: u32, value: {ty}) {{\n\
                 let place = at / {per}u;\nlet shift = (at % {per}u) * {narrow}u;\n\
                 atomicAnd(&numr_q{k}[place], ~({mask}u << shift));\n\
                 atomicOr(&numr_q{k}[place], {value} << shift);\n}}"
            );
        }
        b
    }

    /// The flag for indices out of range, as one more result, and `numr_place(low, high, size)`: where an index of these
    /// halves points, or -1 once it has raised the flag. The first to raise it says what was wrong.
    pub(crate) fn flag(mut self, by: Indexed) -> Builder {
        let binding = self.inputs + self.outputs;
        self.outputs += 1;
        let _ = writeln!(
            self.bindings,
            "@group(0) @binding({binding}) var<storage, read_write> numr_flag: array<atomic<u32>, 5>;"
        );
        let _ = writeln!(
            self.functions,
            "fn numr_place(low: i32, high: i32, size: u32) -> i32 {{\n\
             let at = select(low, low + i32(size), low < 0);\n\
             if high == low >> 31u && at >= 0 && u32(at) < size {{ return at; }}\n\
             if atomicExchange(&numr_flag[0], 1u) == 0u {{\n\
             atomicStore(&numr_flag[1], u32(low));\natomicStore(&numr_flag[2], u32(high));\n\
             atomicStore(&numr_flag[3], size);\natomicStore(&numr_flag[4], {}u);\n}}\nreturn -1;\n}}",
            by as u32
        );
        self
    }

    /// A function of values of these dtypes from an expression; the result is cast to `to`.
    ///
    /// # Errors
    /// `Error::DType` if the expression does not take them.
    pub(crate) fn function(
        mut self,
        name: &str,
        args: &[DType],
        to: DType,
        body: impl for<'a> Fn(&[Expr<'a>]) -> Expr<'a>,
    ) -> Result<Builder> {
        let graph = Graph::build(args.len() as u8, Class::Free, |_, a| vec![body(a).cast(to)]);
        let types: Vec<ArgType> = args.iter().map(|&d| ArgType::Tensor(d)).collect();
        let steps = wgsl::steps(&*graph.program(&types)?)?;
        let parameters: Vec<String> =
            args.iter().enumerate().map(|(k, &d)| format!("numr_a{k}: {}", register(d))).collect();
        let (parameters, ty) = (parameters.join(", "), register(to));
        let _ =
            writeln!(self.bodies, "fn {name}({parameters}) -> {ty} {{\n{}return {};\n}}", steps.text, steps.outs[0]);
        Ok(self)
    }

    /// Memory of a workgroup: so many values in registers' types, with whatever was in it.
    pub(crate) fn shared(mut self, name: &str, dtype: DType, count: usize) -> Builder {
        let _ = writeln!(self.bindings, "var<workgroup> {name}: array<{}, {count}>;", register(dtype));
        self
    }

    /// The whole text, with what stores and loads call. `body` runs for each `i` below the first word.
    ///
    /// # Errors
    /// None but those of printing.
    pub(crate) fn finish(self, words: usize, body: &str) -> Result<Text> {
        self.close(words, GROUP, &format!("let i = numr_group * {GROUP}u + numr_t;"), body)
    }

    /// As [`Builder::finish`], but a workgroup of [`GROUP`] invocations does each `i`; they know themselves by `numr_t`.
    ///
    /// # Errors
    /// None but those of printing.
    pub(crate) fn finish_by_group(self, words: usize, body: &str) -> Result<Text> {
        self.close(words, 1, "let i = numr_group;", body)
    }

    fn close(self, words: usize, per_group: u32, which: &str, body: &str) -> Result<Text> {
        let binding = self.inputs + self.outputs;
        let length = words.div_ceil(4);
        let text = format!(
            "struct numr_layout {{ v: array<vec4<u32>, {length}> }}\n{}\
             @group(0) @binding({binding}) var<uniform> numr_l: numr_layout;\n\
             fn numr_word(k: u32) -> u32 {{ return numr_l.v[k >> 2u][k & 3u]; }}\n\
             // Where element i lies: rank, offset, sizes, strides from word `k` on.\n\
             fn numr_at(i: u32, k: u32) -> u32 {{\n\
             let rank = numr_word(k);\nvar at = i32(numr_word(k + 1u));\nvar rest = i;\n\
             for (var axis = rank; axis > 0u; axis--) {{\n\
             let size = numr_word(k + 1u + axis);\nlet c = rest % size;\nrest = rest / size;\n\
             at += i32(c) * i32(numr_word(k + 1u + rank + axis));\n}}\nreturn u32(at);\n}}\n\
             {}{}\
             @compute @workgroup_size({GROUP})\n\
             fn numr_main(@builtin(workgroup_id) numr_g: vec3<u32>, @builtin(num_workgroups) numr_s: vec3<u32>,\n\
             @builtin(local_invocation_index) numr_t: u32) {{\n\
             let numr_group = numr_g.y * numr_s.x + numr_g.x;\n{which}\n\
             if i >= numr_word(0u) {{ return; }}\n{body}}}\n",
            self.bindings, self.functions, self.bodies,
        );
        let source = format!("{}{text}", wgsl::functions(&text)?);
        Ok(Text { source, entry: "numr_main", per_group })
    }
}

/// Room in the uniform words of our own kernels: a count and a few numbers, and four layouts of any rank we meet.
pub(crate) const WORDS: usize = 256;

/// An index or a size as a word.
///
/// # Errors
/// `Error::Unsupported` for more elements than 32-bit indices reach.
pub(crate) fn word(op: &'static str, n: usize) -> Result<u32> {
    u32::try_from(n).ok().filter(|&n| n <= i32::MAX as u32).ok_or_else(|| {
        Error::unsupported(op, None, "wgpu", "a binding ends at 2 GiB, so indices have 32 bits; split the tensor")
    })
}

/// Uniform words under construction.
pub(crate) struct Words {
    op: &'static str,
    pub(crate) v: Vec<u32>,
}

impl Words {
    /// Beginning with the number of elements.
    ///
    /// # Errors
    /// As [`word`].
    pub(crate) fn new(op: &'static str, count: usize) -> Result<Words> {
        Ok(Words { op, v: vec![word(op, count)?] })
    }

    /// One number.
    ///
    /// # Errors
    /// As [`word`].
    pub(crate) fn number(mut self, n: usize) -> Result<Words> {
        self.v.push(word(self.op, n)?);
        Ok(self)
    }

    /// A layout for `numr_at`, axes that lie together merged.
    ///
    /// # Errors
    /// As [`word`].
    pub(crate) fn layout(mut self, offset: usize, shape: &[usize], strides: &[isize]) -> Result<Words> {
        let (shape, mut merged) = coalesce(shape, &[strides]);
        let strides: Strides = merged.pop().unwrap_or_default();
        self.v.push(shape.len() as u32);
        self.v.push(word(self.op, offset)?);
        for &d in &*shape {
            self.v.push(word(self.op, d)?);
        }
        self.v.extend(strides.iter().map(|&s| s as i32 as u32));
        Ok(self)
    }

    /// Padded to what the kernels' uniform holds.
    pub(crate) fn finish(mut self) -> Vec<u32> {
        self.v.resize(self.v.len().max(WORDS), 0);
        self.v
    }
}
