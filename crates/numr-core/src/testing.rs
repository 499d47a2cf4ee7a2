//! What tests of every backend share: a reference evaluator of programs, sample values, and distances in ulp.

use crate::dispatch_dtype;
use crate::dtype::DType;
use crate::element::{Complex, Element, Lit};
use crate::scalar::graph::{Bin, Un};
use crate::scalar::lane::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
use crate::scalar::program::{Op, Program};
use crate::scalar::{Float, Function, Int, Scalar, math};
use smallvec::SmallVec;
use std::ops::Range;

/// The results of a program for one element, each in its dtype: every step by the lanes in its compute dtype, with
/// fused multiply-adds. A program that asks for coordinates sees those of the first element.
///
/// # Panics
/// Where the program has a step that no backend takes: an elementary function of complex numbers.
///
/// ```
/// use numr_core::{DType, Lit, ops::map::Row, scalar::program::ArgType, testing::eval};
/// let add = Row::Add.graph().program(&[ArgType::Tensor(DType::U8); 2])?;
/// assert_eq!(eval(&add, &[Lit::UInt(200), Lit::UInt(100)]), [Lit::UInt(44)]);
/// # Ok::<(), numr_core::Error>(())
/// ```
pub fn eval(program: &Program, args: &[Lit]) -> Vec<Lit> {
    let values = run(program, args, Steps::Lanes);
    program.outs.iter().map(|&o| in_dtype(program.insts[o as usize].dtype, values[o as usize])).collect()
}

/// The results with every float step in `f64` by the standard library's functions (but `erf`, which it lacks), never
/// rounded to a narrower float: what [`eval`] should be near to. `None` for programs that look at bit patterns.
///
/// # Panics
/// As [`eval`].
pub fn eval_wide(program: &Program, args: &[Lit]) -> Option<Vec<Lit>> {
    if program.insts.iter().any(|i| matches!(i.op, Op::Un(Un::ToBits | Un::FromBits))) {
        return None;
    }
    let values = run(program, args, Steps::Wide);
    Some(program.outs.iter().map(|&o| values[o as usize]).collect())
}

#[derive(Clone, Copy, PartialEq)]
enum Steps {
    Lanes,
    Wide,
}

impl Steps {
    /// The dtype in which a step of this dtype is computed.
    fn dtype(self, d: DType) -> DType {
        match self {
            Steps::Lanes => d.compute(),
            Steps::Wide if d.is_float() => DType::F64,
            Steps::Wide if d.is_complex() => DType::Complex128,
            Steps::Wide => d,
        }
    }
}

/// The value as one of a dtype, by the rules of a cast.
fn in_dtype(d: DType, v: Lit) -> Lit {
    dispatch_dtype!(d, T => <T as Element>::from_lit(v).to_lit())
}

fn run(program: &Program, args: &[Lit], steps: Steps) -> Vec<Lit> {
    let mut values: Vec<Lit> = Vec::with_capacity(program.insts.len());
    for inst in &program.insts {
        let d = steps.dtype(inst.dtype);
        let v: SmallVec<[Lit; 3]> = inst.inputs().iter().map(|&a| values[a as usize]).collect();
        let from = inst.inputs().last().map_or(d, |&a| steps.dtype(program.insts[a as usize].dtype));
        values.push(match inst.op {
            Op::Arg(k) => in_dtype(inst.dtype, args[k as usize]),
            Op::Lit(l) => in_dtype(d, l),
            Op::Coord(_) | Op::Index => Lit::Int(0),
            Op::Un(u) => un(u, from, v[0], steps),
            Op::Bin(b) => bin(b, from, v[0], v[1], steps),
            Op::Fma => fma(d, v[0], v[1], v[2], steps),
            Op::Select => {
                if v[0].is_zero() {
                    v[2]
                } else {
                    v[1]
                }
            }
            Op::Cast if steps == Steps::Wide => in_dtype(d, v[0]),
            Op::Cast => in_dtype(inst.dtype, v[0]),
        });
    }
    values
}

/// A lane that is one value.
trait Lane: Scalar<Mask = bool> {
    fn of(l: Lit) -> Self;
    fn lit(self) -> Lit;
}

macro_rules! lanes {
    ($($L:ty, $wrap:expr;)*) => { $(impl Lane for $L {
        fn of(l: Lit) -> Self {
            $wrap(Element::from_lit(l))
        }
        fn lit(self) -> Lit {
            self.0.to_lit()
        }
    })* };
}
lanes! {
    F32<true>, F32; F64<true>, F64;
    I8, I8; I16, I16; I32, I32; I64, I64; U8, U8; U16, U16; U32, U32; U64, U64;
}

macro_rules! on_int {
    ($d:expr, $L:ident => $e:expr) => {
        match $d {
            DType::I8 => {
                type $L = I8;
                $e
            }
            DType::I16 => {
                type $L = I16;
                $e
            }
            DType::I32 => {
                type $L = I32;
                $e
            }
            DType::I64 => {
                type $L = I64;
                $e
            }
            DType::U8 => {
                type $L = U8;
                $e
            }
            DType::U16 => {
                type $L = U16;
                $e
            }
            DType::U32 => {
                type $L = U32;
                $e
            }
            DType::U64 => {
                type $L = U64;
                $e
            }
            other => panic!("{other} is no integer"),
        }
    };
}

fn un(u: Un, d: DType, v: Lit, steps: Steps) -> Lit {
    match d {
        DType::Bool => Lit::Bool(v.is_zero()),
        DType::F32 => float_un::<F32<true>>(u, v),
        DType::F64 => match (u, v) {
            (Un::Math(f), Lit::Float(x)) if steps == Steps::Wide => Lit::Float(std(f, x)),
            _ => float_un::<F64<true>>(u, v),
        },
        DType::I32 if u == Un::FromBits => F32::<true>::from_bits(I32::of(v)).lit(),
        DType::I32 if u == Un::FromInt => F32::<true>::from_int(I32::of(v)).lit(),
        DType::I64 if u == Un::FromBits => F64::<true>::from_bits(I64::of(v)).lit(),
        DType::I64 if u == Un::FromInt => F64::<true>::from_int(I64::of(v)).lit(),
        DType::Complex64 if u == Un::Abs => modulus::<F32<true>>(v),
        DType::Complex128 if u == Un::Abs => modulus::<F64<true>>(v),
        DType::Complex64 => complex_un::<f32>(u, v),
        DType::Complex128 => complex_un::<f64>(u, v),
        d => on_int!(d, L => match u {
            Un::Neg => (-L::of(v)).lit(),
            Un::Abs => L::of(v).abs().lit(),
            Un::Not => (!L::of(v)).lit(),
            other => panic!("{} of an integer", other.name()),
        }),
    }
}

fn float_un<F: Lane + Float<Bits: Lane>>(u: Un, v: Lit) -> Lit {
    let x = F::of(v);
    let y = match u {
        Un::Neg => -x,
        Un::Abs => x.abs(),
        Un::Keep => x,
        Un::Sqrt => x.sqrt(),
        Un::Floor => x.floor(),
        Un::Ceil => x.ceil(),
        Un::Round => x.round(),
        Un::Trunc => x.trunc(),
        Un::Math(f) => f.of(x),
        Un::ToBits => return x.to_bits().lit(),
        Un::ToInt => return x.to_int().lit(),
        other => panic!("{} of a float", other.name()),
    };
    y.lit()
}

/// By the standard library, or by the body where it has none.
fn std(f: Function, x: f64) -> f64 {
    match f {
        Function::Exp => x.exp(),
        Function::Expm1 => x.exp_m1(),
        Function::Exp2 => x.exp2(),
        Function::Ln => x.ln(),
        Function::Log1p => x.ln_1p(),
        Function::Log2 => x.log2(),
        Function::Log10 => x.log10(),
        Function::Sin => x.sin(),
        Function::Cos => x.cos(),
        Function::Tan => x.tan(),
        Function::Asin => x.asin(),
        Function::Acos => x.acos(),
        Function::Atan => x.atan(),
        Function::Sinh => x.sinh(),
        Function::Cosh => x.cosh(),
        Function::Tanh => x.tanh(),
        Function::Cbrt => x.cbrt(),
        // std's inverse hyperbolic functions are formulas that lose digits.
        Function::Asinh | Function::Acosh | Function::Atanh | Function::Erf | Function::Erfc => f.of(F64::<true>(x)).0,
    }
}

fn bin(b: Bin, d: DType, x: Lit, y: Lit, steps: Steps) -> Lit {
    match (d, x, y) {
        (_, Lit::Bool(x), Lit::Bool(y)) => Lit::Bool(match b {
            Bin::And => x & y,
            Bin::Or => x | y,
            Bin::Xor | Bin::Ne => x ^ y,
            Bin::Eq => x == y,
            Bin::Lt => !x & y,
            Bin::Le => !x | y,
            other => panic!("{} of truth values", other.name()),
        }),
        (DType::F32 | DType::F64, Lit::Float(re), Lit::Float(im)) if b == Bin::Complex => Lit::Complex(re, im),
        (DType::F64, Lit::Float(x), Lit::Float(y)) if steps == Steps::Wide && b == Bin::Pow => Lit::Float(x.powf(y)),
        (DType::F32, ..) => arithmetic::<F32<true>>(b, x, y),
        (DType::F64, ..) => arithmetic::<F64<true>>(b, x, y),
        (DType::Complex64, ..) => complex_bin::<f32>(b, x, y),
        (DType::Complex128, ..) => complex_bin::<f64>(b, x, y),
        (d, ..) => on_int!(d, L => {
            let (p, q) = (L::of(x), L::of(y));
            match b {
                Bin::And => (p & q).lit(),
                Bin::Or => (p | q).lit(),
                Bin::Xor => (p ^ q).lit(),
                Bin::Shl => p.shl(q).lit(),
                Bin::Shr => p.shr(q).lit(),
                Bin::ShrLogical => p.shr_logical(q).lit(),
                Bin::MulHi => p.mul_hi(q).lit(),
                other => arithmetic::<L>(other, x, y),
            }
        }),
    }
}

fn arithmetic<T: Lane>(b: Bin, x: Lit, y: Lit) -> Lit {
    let (x, y) = (T::of(x), T::of(y));
    let r = match b {
        Bin::Add => x + y,
        Bin::Sub => x - y,
        Bin::Mul => x * y,
        Bin::Div => x / y,
        Bin::Rem => x % y,
        Bin::Max => x.max(y),
        Bin::Min => x.min(y),
        Bin::Pow => x.pow(y),
        Bin::Eq => return Lit::Bool(x.eq(y)),
        Bin::Ne => return Lit::Bool(x.ne(y)),
        Bin::Lt => return Lit::Bool(x.lt(y)),
        Bin::Le => return Lit::Bool(x.le(y)),
        other => panic!("{} of numbers", other.name()),
    };
    r.lit()
}

fn fma(d: DType, x: Lit, y: Lit, z: Lit, steps: Steps) -> Lit {
    match d {
        DType::F32 => F32::<true>::of(x).mul_add(F32::of(y), F32::of(z)).lit(),
        DType::F64 => F64::<true>::of(x).mul_add(F64::of(y), F64::of(z)).lit(),
        d => bin(Bin::Add, d, bin(Bin::Mul, d, x, y, steps), z, steps),
    }
}

/// |z|.
fn modulus<L: Lane + Float>(z: Lit) -> Lit {
    let (re, im) = match z {
        Lit::Complex(re, im) => (re, im),
        real => (real.to_f64(), 0.0),
    };
    math::hypot(L::of(Lit::Float(re)), L::of(Lit::Float(im))).lit()
}

fn complex_un<T: num_traits::Float + Element>(u: Un, v: Lit) -> Lit
where
    Complex<T>: Element,
{
    let z = Complex::<T>::from_lit(v);
    match u {
        Un::Neg => (-z).to_lit(),
        Un::Conj => z.conj().to_lit(),
        Un::Real => z.re.to_lit(),
        Un::Imag => z.im.to_lit(),
        other => panic!("{} of a complex number", other.name()),
    }
}

fn complex_bin<T: num_traits::Float>(b: Bin, x: Lit, y: Lit) -> Lit
where
    Complex<T>: Element,
{
    let (x, y) = (Complex::<T>::from_lit(x), Complex::<T>::from_lit(y));
    match b {
        Bin::Add => (x + y).to_lit(),
        Bin::Sub => (x - y).to_lit(),
        Bin::Mul => (x * y).to_lit(),
        // By the larger part of the divisor first, so that its square cannot overflow.
        Bin::Div => {
            let swap = y.re.abs() < y.im.abs();
            let ((large, small), (p, q)) =
                if swap { ((y.im, y.re), (x.im, x.re)) } else { ((y.re, y.im), (x.re, x.im)) };
            let ratio = if small.is_zero() { small } else { small / large };
            let scale = large + small * ratio;
            let im = if swap { p * ratio - q } else { q - p * ratio };
            Complex::new((p + q * ratio) / scale, im / scale).to_lit()
        }
        Bin::Eq => Lit::Bool(x == y),
        Bin::Ne => Lit::Bool(x != y),
        other => panic!("{} of complex numbers", other.name()),
    }
}

/// How many values of the dtype lie from `a` to `b`: 0 for equal values, for two NaN and for 0 and -0; of complex
/// numbers the larger of the parts'. A NaN is infinitely far from a number.
///
/// ```
/// use numr_core::{DType, Lit, testing::ulp_distance};
/// assert_eq!(ulp_distance(DType::F32, Lit::Float(1.0), Lit::Float(1.0 + f32::EPSILON as f64)), 1);
/// assert_eq!(ulp_distance(DType::F16, Lit::Float(0.0), Lit::Float(-0.0)), 0);
/// ```
pub fn ulp_distance(dtype: DType, a: Lit, b: Lit) -> u64 {
    if let Some(part) = dtype.complex_component_dtype() {
        let parts = |l: Lit| match l {
            Lit::Complex(re, im) => (Lit::Float(re), Lit::Float(im)),
            real => (real, Lit::Float(0.0)),
        };
        let ((a, c), (b, d)) = (parts(a), parts(b));
        return ulp_distance(part, a, b).max(ulp_distance(part, c, d));
    }
    let place = |l: Lit| -> Option<i128> {
        let (bits, sign): (u64, u64) = match (dtype, in_dtype(dtype, l)) {
            (_, Lit::Float(x)) if x.is_nan() => return None,
            (_, Lit::Bool(x)) => return Some(x.into()),
            (_, Lit::Int(x)) => return Some(x.into()),
            (_, Lit::UInt(x)) => return Some(x.into()),
            (DType::F64, Lit::Float(x)) => (x.to_bits(), 1 << 63),
            (DType::F16, Lit::Float(x)) => (crate::f16::from_f64(x).to_bits().into(), 1 << 15),
            (DType::BF16, Lit::Float(x)) => (crate::bf16::from_f64(x).to_bits().into(), 1 << 15),
            (DType::FP8E4M3, Lit::Float(x)) => (crate::FP8E4M3::from_f64(x).to_bits().into(), 1 << 7),
            (DType::FP8E5M2, Lit::Float(x)) => (crate::FP8E5M2::from_f64(x).to_bits().into(), 1 << 7),
            (_, Lit::Float(x) | Lit::Complex(x, _)) => ((x as f32).to_bits().into(), 1 << 31),
        };
        let magnitude = i128::from(bits & (sign - 1));
        Some(if bits & sign == 0 { magnitude } else { -magnitude })
    };
    match (place(a), place(b)) {
        (None, None) => 0,
        (Some(a), Some(b)) => u64::try_from((a - b).unsigned_abs()).unwrap_or(u64::MAX),
        _ => u64::MAX,
    }
}

/// Values of the dtype within a range: its ends, the round numbers near 0, where kinks are, and an even spread with
/// small ones among them. Of complex types, pairs of such.
///
/// ```
/// use numr_core::{DType, Lit, testing::samples};
/// assert!(samples(DType::F32, -3.0..3.0).contains(&Lit::Float(0.0)));
/// ```
pub fn samples(dtype: DType, range: Range<f64>) -> Vec<Lit> {
    let (low, high) = (range.start, range.end);
    let spread = (0..64).map(|i| low + (high - low) * (f64::from(i) * 0.618_033_988_749_895).fract());
    let small = (1..12).flat_map(|i| [1.0, -1.0].map(|s| s * 0.8 * 4f64.powi(-i)));
    let whole = (-8..9).map(|i| f64::from(i) * 0.5);
    let all = [low, high].into_iter().chain(whole).chain(small).chain(spread);
    let real: Vec<f64> = all.filter(|v| (low..=high).contains(v)).collect();
    let mut values: Vec<Lit> = Vec::new();
    for (i, &re) in real.iter().enumerate() {
        let v = if dtype.is_complex() { Lit::Complex(re, real[(i * 7 + 3) % real.len()]) } else { Lit::Float(re) };
        let v = in_dtype(dtype, v);
        // Rounding may have left the range.
        if !values.contains(&v) && (low..=high).contains(&v.to_f64()) {
            values.push(v);
        }
    }
    values
}

/// The values at which a dtype ends or turns: zeros of either sign, ±1, the least and greatest, the smallest normal and
/// subnormal numbers, infinities and NaN, as far as it has them.
pub fn edges(dtype: DType) -> Vec<Lit> {
    let mut real = vec![0.0, -0.0, 1.0, -1.0, 2.0, dtype.min_value(), dtype.max_value()];
    if dtype.is_float() || dtype.is_complex() {
        let tiny =
            [1e-320, f64::MIN_POSITIVE, 1e-40, f32::MIN_POSITIVE.into(), 2f64.powi(-14), 2f64.powi(-24), 2f64.powi(-9)];
        real.extend(tiny.iter().flat_map(|&v| [v, -v]));
        real.extend([f64::INFINITY, f64::NEG_INFINITY, f64::NAN]);
    }
    let mut values: Vec<Lit> = Vec::new();
    for (i, &re) in real.iter().enumerate() {
        let v = if dtype.is_complex() { Lit::Complex(re, real[(i * 5 + 2) % real.len()]) } else { Lit::Float(re) };
        let v = in_dtype(dtype, v);
        if !values.contains(&v) {
            values.push(v);
        }
    }
    values
}
