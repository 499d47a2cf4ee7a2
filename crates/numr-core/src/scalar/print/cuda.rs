//! CUDA C for NVRTC, without any header; compile with `--std=c++17 --fmad=false`, so that only a written `fma` is fused
//! and the bits are those of the CPU.

use super::{Access, Body, Functions, Language, MapKernel, body, join, typed};
use crate::dtype::DType;
use crate::element::Lit;
use crate::error::Result;
use crate::scalar::graph::{Bin, Un};
use crate::scalar::program::Program;
use std::fmt::Write;

/// What all printed text builds on.
const PRELUDE: &str = include_str!("prelude.cu");

/// A translation unit under construction: functions are printed once for all its kernels.
#[derive(Clone, Default, Debug)]
pub struct Module {
    functions: Functions,
    kernels: String,
    count: usize,
}

impl Module {
    /// The steps of a program, for a kernel of one's own: `numr_a{k}` are the arguments in [`register`] types, `numr_i`
    /// and `numr_c{axis}` the index and coordinates. The functions they call join the module.
    ///
    /// # Errors
    /// `Error::Unsupported` for an elementary function of complex numbers.
    pub fn body(&mut self, program: &Program) -> Result<Body> {
        let body = body::<Cuda>(program)?;
        self.functions.require::<Cuda>(&body.text)?;
        Ok(body)
    }

    /// Adds a map kernel and answers its name.
    ///
    /// With `I` a 32-bit integer (64-bit if `wide`), unsigned for contiguous and signed for strided access, its
    /// parameters are, in this order:
    ///
    /// 1. each argument of the program: of a tensor a pointer to the element at coordinate 0; of a scalar the element
    ///    itself, as it lies in memory;
    /// 2. a pointer for each result (it may be that of an argument that is read at the same element only);
    /// 3. strided access of at least one axis: a struct by value, `I shape[rank]` and then for each tensor
    ///    `I stride[rank]`, in elements, 0 where it is broadcast, negative where it runs backwards;
    /// 4. `I n`, the number of elements.
    ///
    /// Any one-dimensional grid will do: the kernel strides over it. A 32-bit index needs n plus the threads of the grid
    /// to stay below 2³¹. With contiguous access a thread takes 16 bytes at a time as far as all pointers are aligned so.
    ///
    /// # Errors
    /// As [`Module::body`]; `Error::Argument` if the program asks for a coordinate that the access does not know.
    pub fn map(&mut self, kernel: &MapKernel<'_>) -> Result<String> {
        kernel.check_axes()?;
        let body = self.body(kernel.program)?;
        let name = format!("numr_map_{}", self.count);
        let strided = kernel.access != Access::Contiguous;
        let index = match (strided, kernel.wide) {
            (false, false) => "unsigned int",
            (false, true) => "unsigned long long",
            (true, false) => "int",
            (true, true) => "long long",
        };
        let rank = kernel.rank();
        let lanes = if strided { 1 } else { self.lanes(kernel, &body) };
        let mut loads = String::new();
        let mut parameters = Vec::new();
        let mut vectors = Vectors::default();
        let mut tensors = 0;
        for (k, &d) in kernel.program.args.iter().enumerate() {
            let stored = storage(d);
            let element = if kernel.is_scalar(k) {
                parameters.push(format!("{stored} numr_p{k}"));
                format!("numr_p{k}")
            } else {
                parameters.push(format!("const {stored}* numr_p{k}"));
                let stride = |axis| format!("numr_c{axis} * numr_l.stride[{tensors}][{axis}]");
                let at = match kernel.access {
                    Access::Contiguous => "numr_i".to_owned(),
                    Access::Strided { rank: 0 } => "0".to_owned(),
                    Access::Strided { rank } => join((0..rank).map(stride), " + "),
                };
                tensors += 1;
                if lanes > 1 { vectors.load(stored, k) } else { format!("numr_p{k}[{at}]") }
            };
            loads.push_str(&Cuda::define(d, &format!("numr_a{k}"), &load(d, &element)));
        }
        let mut stores = String::new();
        for (k, out) in body.outs.iter().enumerate() {
            let d = kernel.program.out(k);
            parameters.push(format!("{}* numr_q{k}", storage(d)));
            let to = if lanes > 1 { vectors.store(storage(d), k) } else { format!("numr_q{k}[numr_i]") };
            let _ = writeln!(stores, "{to} = {};", store(d, out));
        }
        let text = &mut self.kernels;
        let mut coordinates = String::new();
        if rank > 0 {
            let strides = if tensors > 0 { format!(" {index} stride[{tensors}][{rank}];") } else { String::new() };
            let _ = writeln!(text, "struct {name}_layout {{ {index} shape[{rank}];{strides} }};");
            parameters.push(format!("const {name}_layout numr_l"));
            let _ = writeln!(coordinates, "{index} numr_r = numr_i;");
            for axis in (1..rank).rev() {
                let _ = writeln!(coordinates, "const {index} numr_c{axis} = numr_r % numr_l.shape[{axis}];");
                let _ = writeln!(coordinates, "numr_r /= numr_l.shape[{axis}];");
            }
            let _ = writeln!(coordinates, "const {index} numr_c0 = numr_r;");
        }
        parameters.push(format!("const {index} numr_n"));
        let element = format!("{coordinates}{loads}{}{stores}", body.text);
        let (before, element, done) = match lanes {
            1 => (String::new(), element, "0".to_owned()),
            _ => vectors.text(lanes, index, &element),
        };
        let _ = writeln!(
            text,
            "extern \"C\" __global__ void {name}({}) {{\n\
             const {index} numr_first = blockIdx.x * ({index})blockDim.x + threadIdx.x;\n\
             const {index} numr_step = gridDim.x * ({index})blockDim.x;\n{before}\
             for ({index} numr_i = {done} + numr_first; numr_i < numr_n; numr_i += numr_step) {{\n{element}}}\n}}",
            parameters.join(", ")
        );
        self.count += 1;
        Ok(name)
    }

    /// How many elements a thread takes at a time, so that its loads are under way together: 16 bytes of the widest
    /// operand, fewer of a long body, which keeps a processor busy as it is and would be compiled so many times.
    fn lanes(&self, kernel: &MapKernel<'_>, body: &Body) -> usize {
        let program = kernel.program;
        let tensors = program.args.iter().enumerate().filter(|&(k, _)| !kernel.is_scalar(k)).map(|(_, &d)| d);
        let outs = (0..program.outs.len()).map(|k| program.out(k));
        let widest = tensors.chain(outs).map(DType::size_in_bytes).max().unwrap_or(16);
        let steps = body.text.lines().count() + self.functions.text.lines().count();
        (16 / widest).min(if steps > 250 {
            1
        } else if steps > 40 {
            4
        } else {
            8
        })
    }

    /// The whole text.
    pub fn source(&self) -> String {
        format!("{PRELUDE}\n{}\n{}", self.functions.text, self.kernels)
    }
}

/// The part of a contiguous map that works on vectors of elements.
#[derive(Default)]
struct Vectors {
    /// Operands and results as parameters of the body, and what they are called with in a vector and beyond.
    parameters: String,
    lanes: String,
    single: String,
    loads: String,
    stores: String,
    /// Pointers, and the size of their elements.
    pointers: Vec<String>,
}

impl Vectors {
    /// Operand `k`; answers its name in the body.
    fn load(&mut self, of: &str, k: usize) -> String {
        let _ = write!(self.parameters, ", const {of} numr_s{k}");
        let _ = write!(self.lanes, ", numr_x{k}.v[numr_k]");
        let _ = write!(self.single, ", numr_p{k}[numr_i]");
        let _ = writeln!(self.loads, "const auto numr_x{k} = numr_vector_at<numr_lanes>(numr_p{k}, numr_j);");
        self.pointers.push(format!("numr_p{k}"));
        format!("numr_s{k}")
    }

    /// Result `k`; answers its name in the body.
    fn store(&mut self, of: &str, k: usize) -> String {
        let _ = write!(self.parameters, ", {of}& numr_d{k}");
        let _ = write!(self.lanes, ", numr_y{k}.v[numr_k]");
        let _ = write!(self.single, ", numr_q{k}[numr_i]");
        let _ = writeln!(self.loads, "numr_vector<{of}, numr_lanes> numr_y{k};");
        let _ = writeln!(self.stores, "numr_vector_at<numr_lanes>(numr_q{k}, numr_j) = numr_y{k};");
        self.pointers.push(format!("numr_q{k}"));
        format!("numr_d{k}")
    }

    /// What comes before the loop over single elements, the call of the body there, and where that loop starts.
    fn text(&self, lanes: usize, index: &str, body: &str) -> (String, String, String) {
        let Vectors { parameters, lanes: each, single, loads, stores, pointers } = self;
        let aligned = join(pointers.iter().map(|p| format!("numr_aligned<numr_lanes>({p})")), " && ");
        let before = format!(
            "const int numr_lanes = {lanes};\n\
             auto numr_body = [&](const {index} numr_i{parameters}) {{\n{body}}};\n\
             const {index} numr_m = {aligned} ? numr_n / numr_lanes : 0;\n\
             for ({index} numr_j = numr_first; numr_j < numr_m; numr_j += numr_step) {{\n{loads}\
             _Pragma(\"unroll\") for (int numr_k = 0; numr_k < numr_lanes; numr_k++)\n\
             numr_body(numr_j * numr_lanes + numr_k{each});\n{stores}}}\n"
        );
        (before, format!("numr_body(numr_i{single});\n"), "numr_m * numr_lanes".to_owned())
    }
}

/// The type of a dtype's values between load and store: `float` for the narrow floats.
pub fn register(d: DType) -> &'static str {
    Cuda::ty(Cuda::register(d))
}

/// The type of a dtype's elements in memory.
pub fn storage(d: DType) -> &'static str {
    match d {
        DType::F16 | DType::BF16 => "unsigned short",
        DType::FP8E4M3 | DType::FP8E5M2 | DType::Bool => "unsigned char",
        _ => register(d),
    }
}

/// The expression of an element in memory as a register.
pub fn load(d: DType, element: &str) -> String {
    match d {
        DType::F16 | DType::BF16 | DType::FP8E4M3 | DType::FP8E5M2 => format!("numr_decode_{d}({element})"),
        DType::Bool => format!("{element} != 0"),
        _ => element.to_owned(),
    }
}

/// The expression of a register as an element in memory; narrow floats round to nearest even.
pub fn store(d: DType, value: &str) -> String {
    match d {
        DType::F16 | DType::BF16 | DType::FP8E4M3 | DType::FP8E5M2 => format!("numr_encode_{d}({value})"),
        _ => value.to_owned(),
    }
}

struct Cuda;

impl Language for Cuda {
    const NAME: &'static str = "cuda";

    fn register(d: DType) -> DType {
        d.compute()
    }

    fn ty(d: DType) -> &'static str {
        match d {
            DType::F64 => "double",
            DType::F32 | DType::F16 | DType::BF16 | DType::FP8E4M3 | DType::FP8E5M2 => "float",
            DType::I64 => "long long",
            DType::I32 => "int",
            DType::I16 => "short",
            DType::I8 => "signed char",
            DType::U64 => "unsigned long long",
            DType::U32 => "unsigned int",
            DType::U16 => "unsigned short",
            DType::U8 => "unsigned char",
            DType::Bool => "bool",
            DType::Complex64 => "numr_complex<float>",
            DType::Complex128 => "numr_complex<double>",
        }
    }

    fn lit(d: DType, lit: Lit) -> String {
        let single = |v: f64| format!("__int_as_float({:#x})", (v as f32).to_bits());
        let double = |v: f64| format!("__longlong_as_double({:#x}ll)", v.to_bits());
        match typed(d, lit) {
            Lit::Bool(v) => v.to_string(),
            // Hexadecimal, since the least integers have no decimal literal.
            Lit::Int(v) => format!("({}){:#x}{}", Self::ty(d), v, if d == DType::I64 { "ll" } else { "" }),
            Lit::UInt(v) => format!("({}){v:#x}{}", Self::ty(d), if d == DType::U64 { "ull" } else { "u" }),
            Lit::Float(v) => {
                if d == DType::F64 {
                    double(v)
                } else {
                    single(v)
                }
            }
            Lit::Complex(re, im) if d == DType::Complex64 => {
                format!("{}{{{}, {}}}", Self::ty(d), single(re), single(im))
            }
            Lit::Complex(re, im) => format!("{}{{{}, {}}}", Self::ty(d), double(re), double(im)),
        }
    }

    fn un(u: Un, d: DType, a: &str) -> String {
        let held = Self::register(d);
        let float = held.is_float();
        let suffix = if held == DType::F32 { "f" } else { "" };
        match u {
            // Nothing is re-associated here.
            Un::Keep => a.to_owned(),
            Un::Neg if float => format!("-{a}"),
            Un::Abs if float => format!("fabs{suffix}({a})"),
            Un::Round => format!("rint{suffix}({a})"),
            Un::Sqrt | Un::Floor | Un::Ceil | Un::Trunc => format!("{}{suffix}({a})", u.name()),
            Un::ToInt if held == DType::F32 => Self::convert(held, DType::I32, a),
            Un::ToInt => Self::convert(held, DType::I64, a),
            Un::FromInt if held == DType::I32 => Self::convert(held, DType::F32, a),
            Un::FromInt => Self::convert(held, DType::F64, a),
            Un::Real => format!("{a}.re"),
            Un::Imag => format!("{a}.im"),
            _ => format!("numr_{}({a})", u.name()),
        }
    }

    fn bin(b: Bin, d: DType, a: &str, o: &str) -> String {
        let infix = |operator: &str| format!("{a} {operator} {o}");
        let float = Self::register(d).is_float();
        match b {
            Bin::Add if float => infix("+"),
            Bin::Sub if float => infix("-"),
            Bin::Mul if float => infix("*"),
            Bin::Div if float => infix("/"),
            Bin::And | Bin::Or | Bin::Xor => {
                let operator = if b == Bin::And {
                    "&"
                } else if b == Bin::Or {
                    "|"
                } else {
                    "^"
                };
                format!("({})({})", Self::ty(d), infix(operator))
            }
            Bin::Eq if d.is_complex() => format!("numr_eq({a}, {o})"),
            Bin::Ne if d.is_complex() => format!("!numr_eq({a}, {o})"),
            Bin::Eq => infix("=="),
            Bin::Ne => infix("!="),
            Bin::Lt => infix("<"),
            Bin::Le => infix("<="),
            Bin::Complex => format!("{}{{{a}, {o}}}", Self::ty(d.to_complex())),
            _ => format!("numr_{}({a}, {o})", b.name()),
        }
    }

    fn fma(_: DType, a: &str, b: &str, c: &str) -> String {
        format!("numr_fma({a}, {b}, {c})")
    }

    fn select(m: &str, a: &str, b: &str) -> String {
        format!("{m} ? {a} : {b}")
    }

    fn convert(_: DType, to: DType, a: &str) -> String {
        format!("({}){a}", Self::ty(to))
    }

    fn wrap(from: DType, to: DType, a: &str) -> String {
        Self::convert(from, to, a)
    }

    fn saturate(_: DType, to: DType, a: &str) -> String {
        match to {
            DType::I32 | DType::U32 | DType::I64 | DType::U64 => format!("numr_sat_{to}({a})"),
            _ => {
                let (low, high) = (to.min_value() as i32, to.max_value() as i32);
                let wide = format!("numr_max(numr_min(numr_sat_i32({a}), {high}), {low})");
                Self::convert(DType::I32, to, &wide)
            }
        }
    }

    fn index(name: &str) -> (DType, String) {
        (DType::I64, format!("(long long){name}"))
    }

    fn define(d: DType, name: &str, value: &str) -> String {
        format!("const {} {name} = {value};\n", register(d))
    }

    fn hide(_: &str, _: &str) -> Option<String> {
        None
    }

    fn function(name: &str, d: DType, arity: usize, body: &Body) -> String {
        let ty = register(d);
        let parameters = join((0..arity).map(|k| format!("const {ty} numr_a{k}")), ", ");
        format!("__device__ inline {ty} {name}({parameters}) {{\n{}return {};\n}}", body.text, body.outs[0])
    }

    fn helper(_: &str, _: &str) -> Option<String> {
        None
    }
}
