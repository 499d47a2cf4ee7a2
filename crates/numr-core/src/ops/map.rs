//! The op table: an element-wise op is one row here and nothing else anywhere.
//!
//! A row gives the op's meaning (its docs), its body over [`Scalar`], its derivative, the dtypes it accepts and the
//! domain and tolerance of its tests. From it come the CPU kernel, the CUDA and WGSL text, gradients of every order,
//! the [`Tensor`] method, the call in a fused expression, the generated tests and the line in the support table.
//!
//! ```text
//! /// meaning, formula, edge values
//! Variant name(x: T, p: T) -> T where T: Float, in FLOATS { body }
//!     d { |x, p, out| [slope for x, slope for p] };   or d { auto }, or d { none }
//!     test low..high, ulp n, native|program;
//! ```
//! A body with a kink (`abs`, `max`, `min`, `select`) must state `d`: the derivative of the *formula* is wrong there.
//! `native` rows are compiled for every instruction set; the others run as register programs. `ulp` is the bound on
//! the body against exact arithmetic over the test domain.

use super::operands::Operand;
use crate::dtype::DTypeSet;
use crate::error::Result;
use crate::runtime::Runtime;
use crate::scalar::expr::Expr;
use crate::scalar::graph::{Class, Graph};
use crate::scalar::{Float, Int, Scalar, math};
use crate::tensor::Tensor;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// What the table says of a row besides its body.
#[derive(Debug)]
pub struct Info {
    /// The op's name.
    pub name: &'static str,
    /// The first line of its docs.
    pub doc: &'static str,
    /// Number of arguments.
    pub arity: usize,
    /// Accepted dtypes and which arguments are masks.
    pub class: Class,
    /// Does it answer a truth value?
    pub answers_mask: bool,
    /// Has it a derivative?
    pub differentiable: bool,
    /// Is the derivative that of the body's formula, rather than a stated one?
    pub derived: bool,
    /// The interval that tests sample.
    pub test: Range<f64>,
    /// Bound on the error of the body, in units in the last place.
    pub ulp: f64,
    /// Is it compiled for every instruction set?
    pub native: bool,
}

/// A computation that wants a row's body as a type, to be compiled for it.
pub trait NativeVisitor {
    /// What it answers.
    type Out;
    /// Is called with the row.
    fn visit<F: NativeRow>(self) -> Self::Out;
}

/// A row marked `native`.
pub trait NativeRow: 'static {
    /// Number of arguments.
    const ARITY: usize;
    /// The body; `args` is [`NativeRow::ARITY`] long.
    fn call<T: Float>(args: &[T]) -> T;
}

const fn is_mask(ty: &str) -> bool {
    // A value is `T`; a mask is `T::Mask`, however the compiler spaces it.
    ty.len() > 1
}

macro_rules! map_rows {
    ($(
        $(#[doc = $doc:literal])*
        $V:ident $name:ident ($x:ident : $xt:ty $(, $p:ident : $pt:ty)*) -> $out:ty where T: $bound:ident, in $set:ident $body:block
            d { $($d:tt)* }
            test $test:expr, ulp $ulp:literal, $kind:ident;
    )*) => {
        /// A row of the op table.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Row { $($(#[doc = $doc])* $V,)* }

        $($(#[doc = $doc])* struct $V;
        impl $V {
            #[inline(always)]
            fn body<T: $bound>($x: $xt $(, $p: $pt)*) -> $out $body
        })*

        impl Row {
            /// Every row.
            pub const ALL: &'static [Row] = &[$(Row::$V),*];

            /// What the table says of the row.
            pub const fn info(self) -> &'static Info {
                const INFO: &[Info] = &[$(Info {
                    name: stringify!($name),
                    doc: [$($doc),*][0],
                    arity: [stringify!($x) $(, stringify!($p))*].len(),
                    class: Class::Common { dtypes: DTypeSet::$set, masks: masks(&[stringify!($xt) $(, stringify!($pt))*]) },
                    answers_mask: is_mask(stringify!($out)),
                    differentiable: !begins(stringify!($($d)*), b"no"),
                    derived: begins(stringify!($($d)*), b"au"),
                    test: $test,
                    ulp: $ulp as f64,
                    native: is_native(stringify!($kind)),
                }),*];
                &INFO[self as usize]
            }

            /// The body on symbols.
            pub fn expand<'a>(self, args: &[Expr<'a>]) -> Expr<'a> {
                let mut next = args.iter().copied();
                let mut arg = || next.next().unwrap_or(Expr::lit(f64::NAN));
                match self { $(Row::$V => {
                    let $x = arg();
                    $(let $p = arg();)*
                    $V::body::<Expr<'a>>($x $(, $p)*)
                })* }
            }

            /// The slope for each argument at `args`, where the op's value is `out`; `None` is zero everywhere.
            pub fn slopes<'a>(self, args: &[Expr<'a>], out: Expr<'a>) -> Vec<Option<Expr<'a>>> {
                match self { $(Row::$V => slopes!(self, args, out, $($d)*),)* }
            }

            /// Hands the row's body to `visitor` if the row is `native`.
            pub fn visit_native<V: NativeVisitor>(self, visitor: V) -> Option<V::Out> {
                match self { $(Row::$V => native!($kind $V visitor),)* }
            }
        }

        $(native_row!($kind $V $x $($p)*);)*

        impl<R: Runtime> Tensor<R> {
            $($(#[doc = $doc])*
            ///
            /// Operands broadcast and promote; a scalar adapts to the tensors.
            ///
            /// # Errors
            /// `Error::Broadcast`, `Error::DType` or `Error::DeviceMismatch` where the operands do not fit together.
            #[allow(clippy::needless_lifetimes, reason = "rows with one argument do not need it, the others do")]
            pub fn $name<'a>(&'a self $(, $p: impl Into<Operand<'a, R>>)*) -> Result<Tensor<R>> {
                Tensor::map_row(Row::$V, &[Operand::Tensor(self) $(, $p.into())*])
            })*
        }

        /// The rows as functions of expressions. In a module of their own: they share names with [`Scalar`]'s.
        pub mod symbolic {
            use super::{Expr, Row};

            /// The rows as methods of expressions, for fused ops.
            pub trait Symbolic<'a>: Sized {
                $($(#[doc = $doc])*
                fn $name(self $(, $p: impl Into<Expr<'a>>)*) -> Expr<'a>;)*
            }

            impl<'a> Symbolic<'a> for Expr<'a> {
                $(fn $name(self $(, $p: impl Into<Expr<'a>>)*) -> Expr<'a> {
                    Expr::call(Row::$V, &[self $(, $p.into())*])
                })*
            }
        }
    };
}

macro_rules! slopes {
    ($row:ident, $args:ident, $out:ident, none) => {
        vec![None; $row.arity()]
    };
    ($row:ident, $args:ident, $out:ident, auto) => {{
        let arena = $args.iter().find_map(|a| match *a {
            Expr::Node(arena, _) => Some(arena),
            Expr::Lit(_) => None,
        });
        let all: Vec<Expr<'a>> = $args.iter().copied().chain([$out]).collect();
        let body = $row.body();
        body.partials().iter().map(|p| p.as_ref().zip(arena).map(|(p, arena)| p.inline(arena, &all)[0])).collect()
    }};
    ($row:ident, $args:ident, $out:ident, |$($x:ident),*| [$($s:expr),* $(,)?]) => {{
        let mut next = $args.iter().copied().chain([$out]);
        $(let $x = next.next().unwrap_or($out);)*
        vec![$(Into::<Option<Expr<'a>>>::into($s)),*]
    }};
}

macro_rules! native {
    (native $V:ident $v:ident) => {
        Some($v.visit::<$V>())
    };
    (program $V:ident $v:ident) => {{
        let _ = $v;
        None
    }};
}

macro_rules! native_row {
    (native $V:ident $($x:ident)*) => {
        impl NativeRow for $V {
            const ARITY: usize = [$(stringify!($x)),*].len();
            #[inline(always)]
            fn call<T: Float>(args: &[T]) -> T {
                let &[$($x),*] = args else { unreachable!("called with ARITY arguments") };
                $V::body::<T>($($x),*)
            }
        }
    };
    (program $V:ident $($x:ident)*) => {};
}

const fn masks(types: &[&str]) -> u8 {
    let (mut m, mut k) = (0, 0);
    while k < types.len() {
        if is_mask(types[k]) {
            m |= 1 << k;
        }
        k += 1;
    }
    m
}

/// `none` or `auto`, told by their first two letters: a stated derivative begins with `|`.
const fn begins(d: &str, word: &[u8; 2]) -> bool {
    let d = d.as_bytes();
    d[0] == word[0] && d[1] == word[1]
}

const fn is_native(kind: &str) -> bool {
    kind.as_bytes()[0] == b'n'
}

impl Row {
    /// The op's name.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// Number of arguments.
    pub const fn arity(self) -> usize {
        self.info().arity
    }

    /// Accepted dtypes and masks.
    pub const fn class(self) -> Class {
        self.info().class
    }

    /// The body as a graph.
    pub fn body(self) -> Arc<Graph> {
        static BODIES: [OnceLock<Arc<Graph>>; Row::ALL.len()] = [const { OnceLock::new() }; Row::ALL.len()];
        let make = || Graph::build(self.arity() as u8, self.class(), |_, args| vec![self.expand(args)]);
        BODIES[self as usize].get_or_init(make).clone()
    }

    /// The op as a graph of one call: what is lowered and differentiated.
    pub fn graph(self) -> &'static Arc<Graph> {
        static GRAPHS: [OnceLock<Arc<Graph>>; Row::ALL.len()] = [const { OnceLock::new() }; Row::ALL.len()];
        let make = || Graph::build(self.arity() as u8, self.class(), |_, args| vec![Expr::call(self, args)]);
        GRAPHS[self as usize].get_or_init(make)
    }
}

impl<'a> From<f64> for Expr<'a> {
    fn from(v: f64) -> Self {
        Expr::lit(v)
    }
}

/// 1 where the mask holds, else 0.
fn one_if<'a>(m: Expr<'a>) -> Expr<'a> {
    Expr::select(m, Expr::lit(1.0), Expr::lit(0.0))
}

/// 1 strictly between the bounds, else 0.
fn within<'a>(x: Expr<'a>, low: f64, high: f64) -> Expr<'a> {
    one_if(x.gt(Expr::lit(low)) & x.lt(Expr::lit(high)))
}

/// v / length; 0 where there is no length.
fn unit<'a>(v: Expr<'a>, length: Expr<'a>) -> Expr<'a> {
    Expr::select(length.eq(Expr::lit(0.0)), Expr::lit(0.0), v / length)
}

/// x/6 + 1/2 within 0..=1.
#[inline(always)]
fn hard<T: Scalar>(x: T) -> T {
    ((x + T::lit(3.0)).max(T::lit(0.0)).min(T::lit(6.0))) / T::lit(6.0)
}

/// Has it a minus sign? That of -0 counts; NaN has none.
#[inline(always)]
fn negative<T: Scalar>(x: T) -> T::Mask {
    let zero = T::lit(0.0);
    x.lt(zero) | (x.eq(zero) & (T::lit(1.0) / x).lt(zero))
}

/// 1 where `low < high`, ½ on a tie, else 0: equal operands share the slope.
fn share<'a>(low: Expr<'a>, high: Expr<'a>) -> Expr<'a> {
    Expr::select(low.lt(high), Expr::lit(1.0), Expr::select(low.eq(high), Expr::lit(0.5), Expr::lit(0.0)))
}

const SQRT_2_OVER_PI: f64 = 0.797_884_560_802_865_4;

/// alpha and scale of Klambauer et al. (2017).
const SELU: [f64; 2] = [1.673_263_242_354_377_2, 1.050_700_987_355_480_5];

map_rows! {
    /// Sum, x + y; logical or on bool.
    Add add(x: T, y: T) -> T where T: Scalar, in ALL { x + y }
        d { |_x, _y| [Expr::lit(1.0), Expr::lit(1.0)] }
        test -100.0..100.0, ulp 0.5, native;
    /// Difference, x - y.
    Sub sub(x: T, y: T) -> T where T: Scalar, in NUMERIC { x - y }
        d { |_x, _y| [Expr::lit(1.0), Expr::lit(-1.0)] }
        test -100.0..100.0, ulp 0.5, native;
    /// Product, x · y; logical and on bool.
    Mul mul(x: T, y: T) -> T where T: Scalar, in ALL { x * y }
        d { |x, y| [y, x] }
        test -100.0..100.0, ulp 0.5, native;
    /// Quotient, x / y, of floating-point numbers (integers are converted first).
    Div div(x: T, y: T) -> T where T: Scalar, in INEXACT { x / y }
        d { |_x, y, out| [1.0 / y, -(out / y)] }
        test -100.0..100.0, ulp 0.5, native;
    /// Remainder of truncated division: the sign of x (C's fmod); integer x % 0 = 0.
    Fmod fmod(x: T, y: T) -> T where T: Scalar, in REAL { x % y }
        d { |x, y| [Expr::lit(1.0), -(x / y).trunc()] }
        test -100.0..100.0, ulp 0.5, program;
    /// Quotient rounded down, ⌊x / y⌋; integer x / 0 = 0.
    FloorDivide floor_divide(x: T, y: T) -> T where T: Float, in REAL {
        let (zero, r) = (T::lit(0.0), x % y);
        let q = ((x - r) / y).round();
        let q = T::select(r.ne(zero) & (r.lt(zero) ^ y.lt(zero)), q - T::lit(1.0), q);
        // The sign of a zero, and infinity for y = 0, are those of x / y.
        T::select(y.eq(zero), x / y, T::select(q.eq(zero), zero * (x / y), q))
    }
        d { |_x, _y| [None, None] }
        test -100.0..100.0, ulp 0, program;
    /// Remainder of division rounded down, x - y · ⌊x / y⌋: the sign of y (Python's %); integer x % 0 = 0.
    Remainder remainder(x: T, y: T) -> T where T: Scalar, in REAL {
        let (zero, r) = (T::lit(0.0), x % y);
        let r = T::select(r.ne(zero) & (r.lt(zero) ^ y.lt(zero)), r + y, r);
        T::select(r.eq(zero), zero * y.max(T::lit(-1.0)).min(T::lit(1.0)), r)
    }
        d { |x, y| [Expr::lit(1.0), -Expr::call(Row::FloorDivide, &[x, y])] }
        test -100.0..100.0, ulp 1, program;
    /// x to the power y. Integers: wrapping, and a negative exponent gives 0 unless |x| = 1.
    Pow pow(x: T, y: T) -> T where T: Scalar, in NUMERIC { x.pow(y) }
        d { auto }
        test 0.1..10.0, ulp 2, program;
    /// The larger of x and y; NaN if either is NaN.
    Maximum maximum(x: T, y: T) -> T where T: Scalar, in ORDERED { x.max(y) }
        d { |x, y| [share(y, x), share(x, y)] }
        test -100.0..100.0, ulp 0, native;
    /// The smaller of x and y; NaN if either is NaN.
    Minimum minimum(x: T, y: T) -> T where T: Scalar, in ORDERED { x.min(y) }
        d { |x, y| [share(x, y), share(y, x)] }
        test -100.0..100.0, ulp 0, native;
    /// The larger of x and y; the other where one is NaN.
    Fmax fmax(x: T, y: T) -> T where T: Scalar, in ORDERED { T::select(y.ne(y), x, T::select(x.ne(x), y, x.max(y))) }
        d { |x, y| [share(y, x) + one_if(y.ne(y)), share(x, y) + one_if(x.ne(x) & y.eq(y))] }
        test -100.0..100.0, ulp 0, program;
    /// The smaller of x and y; the other where one is NaN.
    Fmin fmin(x: T, y: T) -> T where T: Scalar, in ORDERED { T::select(y.ne(y), x, T::select(x.ne(x), y, x.min(y))) }
        d { |x, y| [share(x, y) + one_if(y.ne(y)), share(y, x) + one_if(x.ne(x) & y.eq(y))] }
        test -100.0..100.0, ulp 0, program;
    /// √(x² + y²), without overflow or underflow on the way; infinite if one is, even beside NaN.
    Hypot hypot(x: T, y: T) -> T where T: Float, in FLOATS { math::hypot(x, y) }
        d { |x, y, out| [unit(x, out), unit(y, out)] }
        test -100.0..100.0, ulp 2, program;
    /// The angle of the point (y, x), in -π..=π: the inverse tangent of x/y in the right quadrant. Called on the ordinate.
    Atan2 atan2(x: T, y: T) -> T where T: Float, in FLOATS {
        let (a, b, one) = (x.abs(), y.abs(), T::lit(1.0));
        let (large, small) = (a.max(b), a.min(b));
        // 0/0 counts as 0 and ∞/∞ as 1.
        let v = T::select(large.eq(small), T::select(large.eq(T::lit(0.0)), large, one), small / large);
        let v = v.atan();
        let v = T::select(b.lt(a), T::lit(std::f64::consts::FRAC_PI_2) - v, v);
        let v = T::select(negative(y), T::lit(std::f64::consts::PI) - v, v);
        T::select(negative(x), -v, v)
    }
        d { |x, y| [y / (x * x + y * y), -(x / (x * x + y * y))] }
        test -100.0..100.0, ulp 3, program;
    /// |x| with the sign of y, that of a zero too.
    Copysign copysign(x: T, y: T) -> T where T: Float, in FLOATS { T::select(negative(x) ^ negative(y), -x, x) }
        d { |x, y| [Expr::call(Row::Sign, &[x]) * Expr::call(Row::Copysign, &[Expr::lit(1.0), y]), None] }
        test -100.0..100.0, ulp 0, program;
    /// The next number after x in the direction of y.
    Nextafter nextafter(x: T, y: T) -> T where T: Float, in FULL_FLOATS {
        let (zero, one, bits) = (T::lit(0.0), T::Bits::int(1), x.to_bits());
        let away = T::from_bits(T::Bits::select(x.lt(y) ^ x.lt(zero), bits + one, bits - one));
        let least = T::from_bits(one);
        let step = T::select(x.eq(zero), T::select(y.lt(zero), -least, least), away);
        T::select(x.eq(y), y, T::select(x.ne(x), x, T::select(y.ne(y), y, step)))
    }
        d { |_x, _y| [Expr::lit(1.0), None] }
        test -100.0..100.0, ulp 0, program;
    /// x · 2ⁿ.
    Ldexp ldexp(x: T, n: T) -> T where T: Float, in FLOATS {
        // In two steps, so that a large power meets a small x without overflow.
        let half = (n * T::lit(0.5)).trunc();
        x * half.exp2() * (n - half).exp2()
    }
        d { |_x, n, out| [Float::exp2(n), std::f64::consts::LN_2 * out] }
        test -20.0..20.0, ulp 6, program;
    /// ln(eˣ + eʸ), without overflow.
    Logaddexp logaddexp(x: T, y: T) -> T where T: Float, in FLOATS {
        // Equal operands, infinite ones too, are not subtracted.
        let d = T::select(x.eq(y), T::lit(0.0), -(x - y).abs());
        x.max(y) + d.exp().log1p()
    }
        d { |x, y| [Expr::call(Row::Sigmoid, &[x - y]), Expr::call(Row::Sigmoid, &[y - x])] }
        test 0.0..50.0, ulp 3, program;
    /// log₂(2ˣ + 2ʸ), without overflow.
    Logaddexp2 logaddexp2(x: T, y: T) -> T where T: Float, in FLOATS {
        let d = T::select(x.eq(y), T::lit(0.0), -(x - y).abs());
        x.max(y) + d.exp2().log1p() * T::lit(std::f64::consts::LOG2_E)
    }
        d { |x, y| [
            Expr::call(Row::Sigmoid, &[std::f64::consts::LN_2 * (x - y)]),
            Expr::call(Row::Sigmoid, &[std::f64::consts::LN_2 * (y - x)]),
        ] }
        test 0.0..50.0, ulp 4, program;
    /// x · ln y; 0 where x = 0, unless y is NaN.
    Xlogy xlogy(x: T, y: T) -> T where T: Float, in FLOATS {
        T::select(x.eq(T::lit(0.0)) & y.eq(y), T::lit(0.0), x * y.ln())
    }
        d { |x, y| [Expr::select(x.eq(Expr::lit(0.0)) & y.le(Expr::lit(0.0)), Expr::lit(0.0), y.ln()), x / y] }
        test 0.0..100.0, ulp 3, program;
    /// x · ln(1 + y); 0 where x = 0, unless y is NaN.
    Xlog1py xlog1py(x: T, y: T) -> T where T: Float, in FLOATS {
        T::select(x.eq(T::lit(0.0)) & y.eq(y), T::lit(0.0), x * y.log1p())
    }
        d { |x, y| [
            Expr::select(x.eq(Expr::lit(0.0)) & y.le(Expr::lit(-1.0)), Expr::lit(0.0), y.log1p()),
            x / (y + 1.0),
        ] }
        test 0.0..100.0, ulp 3, program;
    /// 0 for x < 0, v for x = 0, 1 for x > 0; NaN for NaN.
    Heaviside heaviside(x: T, v: T) -> T where T: Scalar, in ORDERED {
        let (zero, one) = (T::lit(0.0), T::lit(1.0));
        T::select(x.lt(zero), zero, T::select(x.gt(zero), one, T::select(x.eq(zero), v, x)))
    }
        d { |x, _v| [None, one_if(x.eq(Expr::lit(0.0)))] }
        test -2.0..2.0, ulp 0, program;
    /// x + w · (y - x): x for w = 0 and y for w = 1, exactly.
    Lerp lerp(x: T, y: T, w: T) -> T where T: Float, in FLOATS {
        let d = y - x;
        T::select(w.abs().lt(T::lit(0.5)), w.mul_add(d, x), (w - T::lit(1.0)).mul_add(d, y))
    }
        d { |x, y, w| [1.0 - w, w, y - x] }
        test 0.0..1.0, ulp 2, program;
    /// x · y + z, in one rounding where the device has the instruction.
    FusedMulAdd fused_mul_add(x: T, y: T, z: T) -> T where T: Scalar, in NUMERIC { x.mul_add(y, z) }
        d { |x, y, _z| [y, x, Expr::lit(1.0)] }
        test -100.0..100.0, ulp 1, native;
    /// (x + y) · z.
    FusedAddMul fused_add_mul(x: T, y: T, z: T) -> T where T: Scalar, in NUMERIC { (x + y) * z }
        d { |x, y, z| [z, z, x + y] }
        test -100.0..100.0, ulp 1, program;

    /// Negation, -x.
    Neg neg(x: T) -> T where T: Scalar, in NUMERIC { -x }
        d { |_x| [Expr::lit(-1.0)] }
        test -100.0..100.0, ulp 0, native;
    /// Absolute value |x|; the modulus of a complex number.
    Abs abs(x: T) -> T where T: Scalar, in ALL { x.abs() }
        d { |x| [Expr::call(Row::Sign, &[x])] }
        test -100.0..100.0, ulp 0, native;
    /// The sign of x: -1, 0 or 1; NaN for NaN.
    Sign sign(x: T) -> T where T: Scalar, in REAL {
        let zero = T::lit(0.0);
        T::select(x.gt(zero), T::lit(1.0), T::select(x.lt(zero), T::lit(-1.0), x))
    }
        d { |_x| [None] }
        test -100.0..100.0, ulp 0, program;
    /// x².
    Square square(x: T) -> T where T: Scalar, in NUMERIC { x * x }
        d { |x| [2.0 * x] }
        test -100.0..100.0, ulp 0.5, native;
    /// Reciprocal, 1/x.
    Recip recip(x: T) -> T where T: Scalar, in INEXACT { T::lit(1.0) / x }
        d { |_x, out| [-(out * out)] }
        test -100.0..100.0, ulp 0.5, native;
    /// Square root.
    Sqrt sqrt(x: T) -> T where T: Float, in INEXACT { x.sqrt() }
        d { |_x, out| [0.5 / out] }
        test 0.0..1e6, ulp 0.5, native;
    /// Reciprocal square root, 1/√x.
    Rsqrt rsqrt(x: T) -> T where T: Float, in INEXACT { T::lit(1.0) / x.sqrt() }
        d { |x, out| [-0.5 * (out / x)] }
        test 0.0..1e6, ulp 1.5, native;
    /// Exponential, eˣ.
    Exp exp(x: T) -> T where T: Float, in INEXACT { x.exp() }
        d { |_x, out| [out] }
        test -90.0..88.0, ulp 2, native;
    /// eˣ - 1, accurate near 0.
    Expm1 expm1(x: T) -> T where T: Float, in INEXACT { x.expm1() }
        d { |x| [Float::exp(x)] }
        test -90.0..88.0, ulp 2, program;
    /// 2ˣ.
    Exp2 exp2(x: T) -> T where T: Float, in INEXACT { x.exp2() }
        d { |_x, out| [std::f64::consts::LN_2 * out] }
        test -127.0..127.0, ulp 2, program;
    /// Natural logarithm.
    Log log(x: T) -> T where T: Float, in INEXACT { x.ln() }
        d { |x| [1.0 / x] }
        test 0.0..1e6, ulp 2, native;
    /// ln(1 + x), accurate near 0.
    Log1p log1p(x: T) -> T where T: Float, in INEXACT { x.log1p() }
        d { |x| [1.0 / (x + 1.0)] }
        test -1.0..1e6, ulp 2, program;
    /// Logarithm to base 2.
    Log2 log2(x: T) -> T where T: Float, in INEXACT { x.log2() }
        d { |x| [1.0 / (std::f64::consts::LN_2 * x)] }
        test 0.0..1e6, ulp 2, program;
    /// Logarithm to base 10.
    Log10 log10(x: T) -> T where T: Float, in INEXACT { x.log10() }
        d { |x| [1.0 / (std::f64::consts::LN_10 * x)] }
        test 0.0..1e6, ulp 2, program;
    /// Sine, x in radians.
    Sin sin(x: T) -> T where T: Float, in INEXACT { x.sin() }
        d { |x| [Float::cos(x)] }
        test -1e5..1e5, ulp 2, native;
    /// Cosine, x in radians.
    Cos cos(x: T) -> T where T: Float, in INEXACT { x.cos() }
        d { |x| [-Float::sin(x)] }
        test -1e5..1e5, ulp 2, native;
    /// Tangent, x in radians.
    Tan tan(x: T) -> T where T: Float, in INEXACT { x.tan() }
        d { |_x, out| [out * out + 1.0] }
        test -1e5..1e5, ulp 2, program;
    /// Inverse sine, in -π/2..=π/2; NaN for |x| > 1.
    Asin asin(x: T) -> T where T: Float, in INEXACT { x.asin() }
        d { auto }
        test -1.0..1.0, ulp 2, program;
    /// Inverse cosine, in 0..=π; NaN for |x| > 1.
    Acos acos(x: T) -> T where T: Float, in INEXACT { x.acos() }
        d { auto }
        test -1.0..1.0, ulp 2, program;
    /// Inverse tangent, in -π/2..=π/2.
    Atan atan(x: T) -> T where T: Float, in INEXACT { x.atan() }
        d { auto }
        test -1e3..1e3, ulp 2, program;
    /// Hyperbolic sine.
    Sinh sinh(x: T) -> T where T: Float, in INEXACT { x.sinh() }
        d { auto }
        test -88.0..88.0, ulp 2, program;
    /// Hyperbolic cosine.
    Cosh cosh(x: T) -> T where T: Float, in INEXACT { x.cosh() }
        d { auto }
        test -88.0..88.0, ulp 2, program;
    /// Hyperbolic tangent.
    Tanh tanh(x: T) -> T where T: Float, in INEXACT { x.tanh() }
        d { |_x, out| [1.0 - out * out] }
        test -20.0..20.0, ulp 2, native;
    /// Inverse hyperbolic sine.
    Asinh asinh(x: T) -> T where T: Float, in INEXACT { x.asinh() }
        d { auto }
        test -1e3..1e3, ulp 2, program;
    /// Inverse hyperbolic cosine, not negative; NaN for x < 1.
    Acosh acosh(x: T) -> T where T: Float, in INEXACT { x.acosh() }
        d { auto }
        test 1.0..1e3, ulp 2, program;
    /// Inverse hyperbolic tangent; NaN for |x| > 1.
    Atanh atanh(x: T) -> T where T: Float, in INEXACT { x.atanh() }
        d { auto }
        test -1.0..1.0, ulp 2, program;
    /// The real cube root.
    Cbrt cbrt(x: T) -> T where T: Float, in FLOATS { x.cbrt() }
        d { |_x, out| [1.0 / (3.0 * (out * out))] }
        test -1e6..1e6, ulp 2, program;
    /// The error function, 2/√π ∫₀ˣ e^(-t²) dt.
    Erf erf(x: T) -> T where T: Float, in FLOATS { x.erf() }
        d { auto }
        test -6.0..6.0, ulp 2, native;
    /// The complementary error function, 1 - erf x, accurate where that is small.
    Erfc erfc(x: T) -> T where T: Float, in FLOATS { x.erfc() }
        d { auto }
        test -6.0..9.0, ulp 2, program;
    /// The largest integer not above x.
    Floor floor(x: T) -> T where T: Float, in REAL { x.floor() }
        d { |_x| [None] }
        test -100.0..100.0, ulp 0, native;
    /// The smallest integer not below x.
    Ceil ceil(x: T) -> T where T: Float, in REAL { x.ceil() }
        d { |_x| [None] }
        test -100.0..100.0, ulp 0, program;
    /// The nearest integer, halves to even.
    Round round(x: T) -> T where T: Float, in REAL { x.round() }
        d { |_x| [None] }
        test -100.0..100.0, ulp 0, program;
    /// The integer part, toward zero.
    Trunc trunc(x: T) -> T where T: Float, in REAL { x.trunc() }
        d { |_x| [None] }
        test -100.0..100.0, ulp 0, program;
    /// The fraction, x - trunc x: the sign of x.
    Frac frac(x: T) -> T where T: Float, in FLOATS { x - x.trunc() }
        d { |_x| [Expr::lit(1.0)] }
        test -100.0..100.0, ulp 0, program;
    /// Degrees to radians, x · π/180.
    Deg2rad deg2rad(x: T) -> T where T: Float, in FLOATS { x * T::lit(std::f64::consts::PI / 180.0) }
        d { |_x| [Expr::lit(std::f64::consts::PI / 180.0)] }
        test -1e3..1e3, ulp 1.5, program;
    /// Radians to degrees, x · 180/π.
    Rad2deg rad2deg(x: T) -> T where T: Float, in FLOATS { x * T::lit(180.0 / std::f64::consts::PI) }
        d { |_x| [Expr::lit(180.0 / std::f64::consts::PI)] }
        test -1e3..1e3, ulp 1.5, program;
    /// ln(x / (1 - x)), the inverse of the logistic function.
    Logit logit(x: T) -> T where T: Float, in FLOATS { (x / (T::lit(1.0) - x)).ln() }
        d { |x| [1.0 / (x * (1.0 - x))] }
        test 0.0..0.4, ulp 4, program;

    /// Bitwise and; logical on bool.
    BitwiseAnd bitwise_and(x: T, y: T) -> T where T: Int, in INTEGRAL { x & y }
        d { none } test -100.0..100.0, ulp 0, program;
    /// Bitwise or; logical on bool.
    BitwiseOr bitwise_or(x: T, y: T) -> T where T: Int, in INTEGRAL { x | y }
        d { none } test -100.0..100.0, ulp 0, program;
    /// Bitwise exclusive or; logical on bool.
    BitwiseXor bitwise_xor(x: T, y: T) -> T where T: Int, in INTEGRAL { x ^ y }
        d { none } test -100.0..100.0, ulp 0, program;
    /// Every bit turned; logical on bool.
    BitwiseNot bitwise_not(x: T) -> T where T: Int, in INTEGRAL { !x }
        d { none } test -100.0..100.0, ulp 0, program;
    /// x · 2ⁿ without the bits that leave at the top; 0 for n at least the width, or negative.
    BitwiseLeftShift bitwise_left_shift(x: T, n: T) -> T where T: Int, in INTS { x.shl(n) }
        d { none } test 0.0..10.0, ulp 0, program;
    /// ⌊x / 2ⁿ⌋; the sign alone remains for n at least the width, or negative.
    BitwiseRightShift bitwise_right_shift(x: T, n: T) -> T where T: Int, in INTS { x.shr(n) }
        d { none } test 0.0..10.0, ulp 0, program;

    /// x == y; false if either is NaN.
    Eq eq(x: T, y: T) -> T::Mask where T: Scalar, in ALL { x.eq(y) }
        d { none } test -3.0..3.0, ulp 0, program;
    /// x != y; true if either is NaN.
    Ne ne(x: T, y: T) -> T::Mask where T: Scalar, in ALL { x.ne(y) }
        d { none } test -3.0..3.0, ulp 0, program;
    /// x < y.
    Lt lt(x: T, y: T) -> T::Mask where T: Scalar, in ORDERED { x.lt(y) }
        d { none } test -3.0..3.0, ulp 0, program;
    /// x <= y.
    Le le(x: T, y: T) -> T::Mask where T: Scalar, in ORDERED { x.le(y) }
        d { none } test -3.0..3.0, ulp 0, program;
    /// x > y.
    Gt gt(x: T, y: T) -> T::Mask where T: Scalar, in ORDERED { x.gt(y) }
        d { none } test -3.0..3.0, ulp 0, program;
    /// x >= y.
    Ge ge(x: T, y: T) -> T::Mask where T: Scalar, in ORDERED { x.ge(y) }
        d { none } test -3.0..3.0, ulp 0, program;
    /// Both are true (not zero).
    LogicalAnd logical_and(x: T::Mask, y: T::Mask) -> T::Mask where T: Scalar, in ALL { x & y }
        d { none } test -1.0..1.0, ulp 0, program;
    /// One of them is true (not zero).
    LogicalOr logical_or(x: T::Mask, y: T::Mask) -> T::Mask where T: Scalar, in ALL { x | y }
        d { none } test -1.0..1.0, ulp 0, program;
    /// Just one of them is true (not zero).
    LogicalXor logical_xor(x: T::Mask, y: T::Mask) -> T::Mask where T: Scalar, in ALL { x ^ y }
        d { none } test -1.0..1.0, ulp 0, program;
    /// Is false (zero).
    LogicalNot logical_not(x: T::Mask) -> T::Mask where T: Scalar, in ALL { !x }
        d { none } test -1.0..1.0, ulp 0, program;
    /// Is it NaN?
    Isnan isnan(x: T) -> T::Mask where T: Scalar, in ALL { x.ne(x) }
        d { none } test -1.0..1.0, ulp 0, program;
    /// Is it +∞ or -∞?
    Isinf isinf(x: T) -> T::Mask where T: Scalar, in FLOATS { x.abs().eq(T::lit(f64::INFINITY)) }
        d { none } test -1.0..1.0, ulp 0, program;
    /// Is it neither infinite nor NaN?
    Isfinite isfinite(x: T) -> T::Mask where T: Scalar, in FLOATS { x.abs().lt(T::lit(f64::INFINITY)) }
        d { none } test -1.0..1.0, ulp 0, program;
    /// Is it +∞?
    Isposinf isposinf(x: T) -> T::Mask where T: Scalar, in FLOATS { x.eq(T::lit(f64::INFINITY)) }
        d { none } test -1.0..1.0, ulp 0, program;
    /// Is it -∞?
    Isneginf isneginf(x: T) -> T::Mask where T: Scalar, in FLOATS { x.eq(T::lit(f64::NEG_INFINITY)) }
        d { none } test -1.0..1.0, ulp 0, program;
    /// Has it a minus sign? That of -0 counts; NaN has none.
    Signbit signbit(x: T) -> T::Mask where T: Scalar, in FLOATS { negative(x) }
        d { none } test -1.0..1.0, ulp 0, program;

    /// x where the mask holds, else y. The tensor that it is called on is the mask.
    WhereCond where_cond(mask: T::Mask, x: T, y: T) -> T where T: Scalar, in ALL { T::select(mask, x, y) }
        d { |mask, _x, _y| [None, one_if(mask), one_if(!mask)] }
        test -1.0..1.0, ulp 0, program;
    /// x limited to low..=high; high wins where low > high; NaN stays.
    Clamp clamp(x: T, low: T, high: T) -> T where T: Scalar, in REAL { x.max(low).min(high) }
        d { |x, low, high| [
            one_if(low.le(x) & x.le(high)),
            one_if(x.lt(low) & low.lt(high)),
            one_if(x.gt(high) | high.lt(low)),
        ] }
        test -3.0..3.0, ulp 0, native;

    /// Rectified linear unit, max(x, 0); the slope at 0 is 0.
    Relu relu(x: T) -> T where T: Scalar, in REAL { x.max(T::lit(0.0)) }
        d { |x| [one_if(x.gt(Expr::lit(0.0)))] }
        test -3.0..3.0, ulp 0, native;
    /// x for x > 0, else slope · x; the slope at 0 is `slope`.
    LeakyRelu leaky_relu(x: T, slope: T) -> T where T: Float, in FLOATS { T::select(x.gt(T::lit(0.0)), x, x * slope) }
        d { |x, slope| [
            Expr::select(x.gt(Expr::lit(0.0)), Expr::lit(1.0), slope),
            Expr::select(x.gt(Expr::lit(0.0)), Expr::lit(0.0), x),
        ] }
        test -3.0..3.0, ulp 0.5, program;
    /// x for x > 0, else alpha · (eˣ - 1).
    Elu elu(x: T, alpha: T) -> T where T: Float, in FLOATS { T::select(x.gt(T::lit(0.0)), x, alpha * x.expm1()) }
        d { |x, alpha| [
            Expr::select(x.gt(Expr::lit(0.0)), Expr::lit(1.0), alpha * Float::exp(x)),
            Expr::select(x.gt(Expr::lit(0.0)), Expr::lit(0.0), Float::expm1(x)),
        ] }
        test -3.0..3.0, ulp 3, program;
    /// Logistic function, 1 / (1 + e⁻ˣ); no overflow for large |x|.
    Sigmoid sigmoid(x: T) -> T where T: Float, in FLOATS {
        let (one, z) = (T::lit(1.0), (-x.abs()).exp());
        T::select(x.lt(T::lit(0.0)), z, one) / (one + z)
    }
        d { |_x, out| [out * (1.0 - out)] }
        test -90.0..90.0, ulp 4, native;
    /// x · sigmoid(x), also called swish.
    Silu silu(x: T) -> T where T: Float, in FLOATS { x * Sigmoid::body(x) }
        d { |x| [{ let s = Expr::call(Row::Sigmoid, &[x]); s * (1.0 + x * (1.0 - s)) }] }
        test -80.0..90.0, ulp 5, native;
    /// ln(1 + eˣ); no overflow for large x.
    Softplus softplus(x: T) -> T where T: Float, in FLOATS { x.max(T::lit(0.0)) + (-x.abs()).exp().log1p() }
        d { |x| [Expr::call(Row::Sigmoid, &[x])] }
        test -80.0..90.0, ulp 4, program;
    /// Gaussian error linear unit, x/2 · (1 + erf(x/√2)).
    Gelu gelu(x: T) -> T where T: Float, in FLOATS {
        T::lit(0.5) * x * (T::lit(1.0) + (x * T::lit(std::f64::consts::FRAC_1_SQRT_2)).erf())
    }
        d { auto }
        test -1.0..10.0, ulp 6, native;
    /// The tanh form of gelu, x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))).
    GeluTanh gelu_tanh(x: T) -> T where T: Float, in FLOATS {
        // (1 + tanh u)/2 is the logistic function of 2u, which does not cancel for x < 0.
        let twice = T::lit(2.0 * SQRT_2_OVER_PI) * x * (T::lit(0.044715) * x * x + T::lit(1.0));
        x * Sigmoid::body(twice)
    }
        d { |x| [{
            let (square, scale) = (x * x, 2.0 * SQRT_2_OVER_PI);
            let s = Expr::call(Row::Sigmoid, &[scale * (x * (0.044715 * square + 1.0))]);
            s + (x * s) * ((1.0 - s) * (scale * (3.0 * 0.044715 * square + 1.0)))
        }] }
        test -1.0..10.0, ulp 6, native;
    /// Softsign, x / (1 + |x|).
    Softsign softsign(x: T) -> T where T: Float, in FLOATS { x / (T::lit(1.0) + x.abs()) }
        d { |x| [{ let r = 1.0 / (1.0 + x.abs()); r * r }] }
        test -100.0..100.0, ulp 1.5, program;
    /// Relu limited to 6, min(max(x, 0), 6); the slope is 1 strictly between.
    Relu6 relu6(x: T) -> T where T: Scalar, in REAL { x.max(T::lit(0.0)).min(T::lit(6.0)) }
        d { |x| [within(x, 0.0, 6.0)] }
        test -3.0..9.0, ulp 0, program;
    /// x limited to 0..=1 after x/6 + 1/2.
    Hardsigmoid hardsigmoid(x: T) -> T where T: Float, in FLOATS { hard(x) }
        d { |x| [within(x, -3.0, 3.0) / 6.0] }
        test -4.0..4.0, ulp 1.5, program;
    /// x · hardsigmoid(x).
    Hardswish hardswish(x: T) -> T where T: Float, in FLOATS { x * hard(x) }
        d { |x| [{
            let slope = Expr::select(x.lt(Expr::lit(3.0)), x / 3.0 + 0.5, Expr::lit(1.0));
            Expr::select(x.gt(Expr::lit(-3.0)), slope, Expr::lit(0.0))
        }] }
        test -4.0..4.0, ulp 2, program;
    /// x limited to -1..=1; the slope is 1 strictly between.
    Hardtanh hardtanh(x: T) -> T where T: Scalar, in REAL { x.max(T::lit(-1.0)).min(T::lit(1.0)) }
        d { |x| [within(x, -1.0, 1.0)] }
        test -3.0..3.0, ulp 0, program;
    /// x · tanh(ln(1 + eˣ)).
    Mish mish(x: T) -> T where T: Float, in FLOATS {
        // tanh ln(1 + e) = n/(n + 2) with n = e·(e + 2); 1 long before e² overflows.
        let e = x.min(T::lit(20.0)).exp();
        let n = e * (e + T::lit(2.0));
        x * (n / (n + T::lit(2.0)))
    }
        d { |x| [{
            let t = Expr::call(Row::Tanh, &[Expr::call(Row::Softplus, &[x])]);
            t + x * Expr::call(Row::Sigmoid, &[x]) * (1.0 - t * t)
        }] }
        test -80.0..80.0, ulp 5, program;
    /// Scaled elu, 1.0507… · (x for x > 0, else 1.6733… · (eˣ - 1)).
    Selu selu(x: T) -> T where T: Float, in FLOATS {
        T::select(x.gt(T::lit(0.0)), T::lit(SELU[1]) * x, T::lit(SELU[0] * SELU[1]) * x.expm1())
    }
        d { |x| [Expr::select(
            x.gt(Expr::lit(0.0)),
            Expr::lit(SELU[1]),
            SELU[0] * SELU[1] * Float::exp(x),
        )] }
        test -20.0..20.0, ulp 3, program;
    /// x for x > 0, else alpha · (e^(x/alpha) - 1).
    Celu celu(x: T, alpha: T) -> T where T: Float, in FLOATS {
        T::select(x.gt(T::lit(0.0)), x, alpha * (x / alpha).expm1())
    }
        d { |x, alpha| [
            Expr::select(x.gt(Expr::lit(0.0)), Expr::lit(1.0), Float::exp(x / alpha)),
            Expr::select(x.gt(Expr::lit(0.0)), Expr::lit(0.0), Float::expm1(x / alpha) - x / alpha * Float::exp(x / alpha)),
        ] }
        test 0.1..3.0, ulp 4, program;
    /// ln(1 / (1 + e⁻ˣ)); no overflow for large |x|.
    LogSigmoid log_sigmoid(x: T) -> T where T: Float, in FLOATS { x.min(T::lit(0.0)) - (-x.abs()).exp().log1p() }
        d { |x| [Expr::call(Row::Sigmoid, &[-x])] }
        test -80.0..80.0, ulp 4, program;
    /// x where x > threshold, else value.
    Threshold threshold(x: T, threshold: T, value: T) -> T where T: Scalar, in REAL { T::select(x.le(threshold), value, x) }
        d { |x, threshold, _value| [one_if(x.gt(threshold)), None, one_if(x.le(threshold))] }
        test -3.0..3.0, ulp 0, program;
    /// x where |x| > lambda, else 0.
    Hardshrink hardshrink(x: T, lambda: T) -> T where T: Scalar, in REAL { T::select(x.abs().le(lambda), T::lit(0.0), x) }
        d { |x, lambda| [one_if(!x.abs().le(lambda)), None] }
        test -3.0..3.0, ulp 0, program;
    /// x moved toward 0 by lambda; 0 where |x| <= lambda.
    Softshrink softshrink(x: T, lambda: T) -> T where T: Scalar, in REAL {
        // NaN stays.
        let rest = T::select(x.ne(x), x, T::lit(0.0));
        T::select(x.gt(lambda), x - lambda, T::select(x.lt(-lambda), x + lambda, rest))
    }
        d { |x, lambda| [
            one_if(x.gt(lambda) | x.lt(-lambda)),
            Expr::select(x.gt(lambda), Expr::lit(-1.0), one_if(x.lt(-lambda))),
        ] }
        test -3.0..3.0, ulp 0.5, program;
    /// x - tanh x.
    Tanhshrink tanhshrink(x: T) -> T where T: Float, in FLOATS { x - x.tanh() }
        d { |x| [{ let t = Float::tanh(x); t * t }] }
        test 0.7..20.0, ulp 4, program;
}
