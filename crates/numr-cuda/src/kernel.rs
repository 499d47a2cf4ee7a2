//! The text that our own kernels share, and how they are launched: operands and results by pointer, numbers by value.

use crate::context::{Context, Key, Text};
use crate::memory::Buffer;
use numr_core::layout::coalesce;
use numr_core::scalar::expr::Expr;
use numr_core::scalar::graph::{Class, Graph};
use numr_core::scalar::print::cuda::{Module, load, register, storage, store};
use numr_core::scalar::program::ArgType;
use numr_core::{DType, Result, Strides};
use std::ffi::c_void;
use std::fmt::Write;

/// Numbers that come with a launch.
pub(crate) const WORDS: usize = 96;

/// A kernel under construction.
#[derive(Default)]
pub(crate) struct Builder {
    module: Module,
    functions: String,
    parameters: Vec<String>,
    access: String,
    bounds: String,
}

impl Builder {
    /// With operands `numr_get0(at)`, .. and results `numr_put0(at, value)`, .. of these dtypes; results may be read as
    /// `numr_q0[at]`.
    pub(crate) fn new(inputs: &[DType], outputs: &[DType]) -> Builder {
        let mut b = Builder::default();
        for (k, &d) in inputs.iter().enumerate() {
            let (of, ty, value) = (storage(d), register(d), load(d, &format!("numr_p{k}[at]")));
            b.parameters.push(format!("const {of}* __restrict__ numr_p{k}"));
            let _ = writeln!(b.access, "auto numr_get{k} = [&](long long at) -> {ty} {{ return {value}; }};");
        }
        for (k, &d) in outputs.iter().enumerate() {
            let (of, ty, value) = (storage(d), register(d), store(d, "value"));
            b.parameters.push(format!("{of}* numr_q{k}"));
            let _ =
                writeln!(b.access, "auto numr_put{k} = [&](long long at, {ty} value) {{ numr_q{k}[at] = {value}; }};");
        }
        b
    }

    /// The flag for indices out of range, one more result, and `numr_place(index, size)`, which raises it.
    pub(crate) fn flag(mut self) -> Builder {
        self.parameters.push("long long* numr_flag".to_owned());
        self.access.push_str(
            "auto numr_place = [&](long long index, long long size) -> long long {\n\
             const long long at = index < 0 ? index + size : index;\n\
             if (at >= 0 && at < size) return at;\n\
             numr_flag[1] = index; numr_flag[2] = size; numr_flag[0] = 1;\nreturn 0;\n};\n",
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
        let steps = self.module.body(&*graph.program(&types)?)?;
        let parameters: Vec<String> =
            args.iter().enumerate().map(|(k, &d)| format!("const {} numr_a{k}", register(d))).collect();
        let (parameters, ty) = (parameters.join(", "), register(to));
        let (text, out) = (&steps.text, &steps.outs[0]);
        let _ = writeln!(self.functions, "__device__ inline {ty} {name}({parameters}) {{\n{text}return {out};\n}}");
        Ok(self)
    }

    /// For blocks of so many threads; `twice`: of which a processor holds two, where its compiler can do with the registers.
    pub(crate) fn blocks_of(mut self, threads: usize, twice: bool) -> Builder {
        let blocks = if twice { "__CUDA_ARCH__ >= 900 ? 2 : 1" } else { "1" };
        self.bounds = format!("__launch_bounds__({threads}, {blocks}) ");
        self
    }

    /// The whole text: `body` runs for each `i` below the first word.
    pub(crate) fn finish(self, body: &str) -> Text {
        self.whole(&format!(
            "for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numr_l.v[0];\n\
             i += gridDim.x * (long long)blockDim.x) {{\n{body}}}\n"
        ))
    }

    /// The whole text of a kernel that finds its own elements.
    pub(crate) fn whole(mut self, body: &str) -> Text {
        self.parameters.push("const numr_words numr_l".to_owned());
        let source = format!(
            "{}\nstruct numr_words {{ long long v[{WORDS}]; }};\n\
             // 64-bit division is slow.\n\
             __device__ inline long long numr_quotient(long long a, long long b) {{\n\
             return ((a | b) >> 32) ? a / b : (long long)((unsigned int)a / (unsigned int)b);\n}}\n\
             // Where element i lies: rank, offset, sizes, strides from word `k` on.\n\
             __device__ inline long long numr_at(const numr_words& numr_l, long long i, int k) {{\n\
             const int rank = (int)numr_l.v[k];\nlong long at = numr_l.v[k + 1];\n\
             _Pragma(\"unroll 1\") for (int axis = rank; axis > 0; axis--) {{\n\
             const long long size = numr_l.v[k + 1 + axis];\n\
             const long long next = numr_quotient(i, size);\n\
             at += (i - next * size) * numr_l.v[k + 1 + rank + axis];\ni = next;\n}}\nreturn at;\n}}\n\
             {}extern \"C\" __global__ void {}numr_main({}) {{\n{}{body}}}\n",
            self.module.source(),
            self.functions,
            self.bounds,
            self.parameters.join(",\n"),
            self.access,
        );
        Text { source, entry: "numr_main".to_owned() }
    }
}

/// Words under construction.
pub(crate) struct Words {
    pub(crate) v: Vec<i64>,
}

impl Words {
    /// Beginning with the number of elements.
    pub(crate) fn new(count: usize) -> Words {
        Words { v: vec![count as i64] }
    }

    /// One number.
    pub(crate) fn number(mut self, n: usize) -> Words {
        self.v.push(n as i64);
        self
    }

    /// A layout for `numr_at`, axes that lie together merged.
    pub(crate) fn layout(mut self, offset: usize, shape: &[usize], strides: &[isize]) -> Words {
        let (shape, mut merged) = coalesce(shape, &[strides]);
        let strides: Strides = merged.pop().unwrap_or_default();
        self.v.push(shape.len() as i64);
        self.v.push(offset as i64);
        self.v.extend(shape.iter().map(|&d| d as i64));
        self.v.extend(strides.iter().map(|&s| s as i64));
        self
    }

    /// With numbers at the end: the last, the last but one, ...
    pub(crate) fn finish(mut self, last: &[i64]) -> [i64; WORDS] {
        self.v.resize(WORDS - last.len(), 0);
        self.v.extend(last.iter().rev());
        let mut words = [0; WORDS];
        // Tensors of more axes than fit are refused before: see `fits`.
        words.copy_from_slice(&self.v[..WORDS]);
        words
    }
}

/// One launch of a kernel of ours.
pub(crate) struct Launch<'a> {
    pub(crate) op: &'static str,
    pub(crate) inputs: &'a [&'a Buffer],
    pub(crate) outputs: &'a [&'a Buffer],
    pub(crate) words: [i64; WORDS],
    /// Is the flag of the device one more result?
    pub(crate) flag: bool,
    /// Blocks and threads, where they do not follow from the count.
    pub(crate) grid: Option<([u32; 2], u32)>,
}

/// Launches a kernel unless it has nothing to do.
///
/// # Errors
/// A kernel that does not compile; faults of the device.
pub(crate) fn launch(context: &'static Context, key: Key, launch: &Launch<'_>) -> Result<()> {
    let count = launch.words[0] as usize;
    if count == 0 {
        return Ok(());
    }
    let function = context.kernel(launch.op, key)?;
    let mut pointers: Vec<u64> = launch.inputs.iter().chain(launch.outputs).map(|b| b.address).collect();
    if launch.flag {
        pointers.push(context.flag(launch.op)?);
    }
    let mut words = launch.words;
    let mut arguments: Vec<*mut c_void> = pointers.iter_mut().map(|p| (&raw mut *p).cast()).collect();
    arguments.push(words.as_mut_ptr().cast());
    let grid = launch.grid.unwrap_or_else(|| context.grid(count));
    // SAFETY: the kernel was built for as many operands and results; operands lie inside their storages and results are
    // allocated for their shapes.
    unsafe { context.launch(launch.op, function, grid, &mut arguments) }
}
