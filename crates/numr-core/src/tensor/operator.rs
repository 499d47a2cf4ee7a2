//! Operators on tensors and numbers: `+ - * / %`, `-x`, and `& | ^ !` on integers and truth values, each also as an
//! assignment. They panic, at the caller, with the text of the error that the method of the same name returns.
//!
//! On the left a number is an f64 or an i64 (or a bool, a half or a complex number): were there two float types to choose
//! from, the literal in `(2.0 * &x).sqrt()` would not know its own. Whatever its type, a scalar adapts to the tensor.
//!
//! ```
//! # use numr_core::Tensor;
//! # use numr_cpu::{CpuDevice, CpuRuntime};
//! let x = Tensor::<CpuRuntime>::from_slice(&[1.0f32, 2.0], &[2], &CpuDevice::new());
//! assert_eq!((2.0 * &x + &x / 4.0).to_vec::<f32>(), [2.25, 4.5]);
//! assert_eq!((1 - &x).abs()?.to_vec::<f32>(), [0.0, 1.0]);
//! # Ok::<(), numr_core::Error>(())
//! ```
//!
//! `%` has the sign of its left operand, as in Rust. An assignment keeps the shape and the dtype of its left side.

use super::{Tensor, or_panic};
use crate::element::{Complex, Element, bf16, f16};
use crate::error::{Error, Result};
use crate::ops::map::Row;
use crate::ops::operands::Operand;
use crate::prim::MapOp;
use crate::runtime::Runtime;
use crate::scalar::graph::{Class, Graph};
use std::ops::{
    Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div, DivAssign, Mul, MulAssign,
    Neg, Not, Rem, RemAssign, Sub, SubAssign,
};
use std::sync::{Arc, LazyLock};

fn row<R: Runtime>(row: Row, a: Operand<'_, R>, b: Operand<'_, R>) -> Result<Tensor<R>> {
    Tensor::map_row(row, &[a, b])
}

/// A primitive of two operands as an op.
macro_rules! primitive {
    ($($name:ident $o:tt;)*) => {$(
        fn $name<R: Runtime>(a: Operand<'_, R>, b: Operand<'_, R>) -> Result<Tensor<R>> {
            static GRAPH: LazyLock<Arc<Graph>> =
                LazyLock::new(|| Graph::build(2, Class::Free, |_, args| vec![args[0] $o args[1]]));
            Tensor::map(MapOp::Graph(GRAPH.clone()), &[a, b])
        }
    )*};
}
primitive!(and &; or |; xor ^;);

/// The result of an assignment, if the left side can hold it.
fn fitted<R: Runtime>(op: &'static str, left: &Tensor<R>, result: Result<Tensor<R>>) -> Result<Tensor<R>> {
    let result = result?;
    if result.shape() != left.shape() {
        return Err(Error::shape(op, "a right side that broadcasts to the left", &[left.shape(), result.shape()]));
    }
    if result.dtype() != left.dtype() {
        return Err(Error::dtype(op, &[left.dtype(), result.dtype()], "a right side that the left dtype holds"));
    }
    Ok(result)
}

/// All forms of one operator.
macro_rules! operators {
    ($($T:ident $t:ident $A:ident $a:ident $name:literal $f:expr;)*) => {$(
        impl<'a, R: Runtime, B: Into<Operand<'a, R>>> $T<B> for &'a Tensor<R> {
            type Output = Tensor<R>;
            #[track_caller]
            fn $t(self, b: B) -> Tensor<R> {
                or_panic($f(Operand::Tensor(self), b.into()))
            }
        }
        impl<R: Runtime> $T<Tensor<R>> for &Tensor<R> {
            type Output = Tensor<R>;
            #[track_caller]
            fn $t(self, b: Tensor<R>) -> Tensor<R> {
                or_panic($f(Operand::Tensor(self), Operand::Tensor(&b)))
            }
        }
        impl<R: Runtime> $T<Tensor<R>> for Tensor<R> {
            type Output = Tensor<R>;
            #[track_caller]
            fn $t(self, b: Tensor<R>) -> Tensor<R> {
                or_panic($f(Operand::Tensor(&self), Operand::Tensor(&b)))
            }
        }
        impl<R: Runtime> $T<&Tensor<R>> for Tensor<R> {
            type Output = Tensor<R>;
            #[track_caller]
            fn $t(self, b: &Tensor<R>) -> Tensor<R> {
                or_panic($f(Operand::Tensor(&self), Operand::Tensor(b)))
            }
        }
        impl<R: Runtime, B: Element> $T<B> for Tensor<R> {
            type Output = Tensor<R>;
            #[track_caller]
            fn $t(self, b: B) -> Tensor<R> {
                or_panic($f(Operand::Tensor(&self), b.into()))
            }
        }
        impl<R: Runtime> $A<&Tensor<R>> for Tensor<R> {
            #[track_caller]
            fn $a(&mut self, b: &Tensor<R>) {
                *self = or_panic(fitted($name, self, $f(Operand::Tensor(self), Operand::Tensor(b))));
            }
        }
        impl<R: Runtime> $A<Tensor<R>> for Tensor<R> {
            #[track_caller]
            fn $a(&mut self, b: Tensor<R>) {
                *self = or_panic(fitted($name, self, $f(Operand::Tensor(self), Operand::Tensor(&b))));
            }
        }
        impl<R: Runtime, B: Element> $A<B> for Tensor<R> {
            #[track_caller]
            fn $a(&mut self, b: B) {
                *self = or_panic(fitted($name, self, $f(Operand::Tensor(self), b.into())));
            }
        }
        on_numbers!($T $t $f; f64 i64 bool f16 bf16 Complex<f32> Complex<f64>);
    )*};
}

/// A number on the left: one impl a type, as the orphan rule asks; see above why not all types.
macro_rules! on_numbers {
    ($T:ident $t:ident $f:expr; $($n:ty)+) => {$(
        impl<R: Runtime> $T<&Tensor<R>> for $n {
            type Output = Tensor<R>;
            #[track_caller]
            fn $t(self, b: &Tensor<R>) -> Tensor<R> {
                or_panic($f(self.into(), Operand::Tensor(b)))
            }
        }
        impl<R: Runtime> $T<Tensor<R>> for $n {
            type Output = Tensor<R>;
            #[track_caller]
            fn $t(self, b: Tensor<R>) -> Tensor<R> {
                or_panic($f(self.into(), Operand::Tensor(&b)))
            }
        }
    )+};
}

operators! {
    Add add AddAssign add_assign "add_assign" |a, b| row(Row::Add, a, b);
    Sub sub SubAssign sub_assign "sub_assign" |a, b| row(Row::Sub, a, b);
    Mul mul MulAssign mul_assign "mul_assign" |a, b| row(Row::Mul, a, b);
    Div div DivAssign div_assign "div_assign" |a, b| row(Row::Div, a, b);
    Rem rem RemAssign rem_assign "rem_assign" |a, b| row(Row::Fmod, a, b);
    BitAnd bitand BitAndAssign bitand_assign "bitand_assign" and;
    BitOr bitor BitOrAssign bitor_assign "bitor_assign" or;
    BitXor bitxor BitXorAssign bitxor_assign "bitxor_assign" xor;
}

impl<R: Runtime> Neg for &Tensor<R> {
    type Output = Tensor<R>;
    #[track_caller]
    fn neg(self) -> Tensor<R> {
        or_panic(Tensor::map_row(Row::Neg, &[Operand::Tensor(self)]))
    }
}

impl<R: Runtime> Neg for Tensor<R> {
    type Output = Tensor<R>;
    #[track_caller]
    fn neg(self) -> Tensor<R> {
        Neg::neg(&self)
    }
}

impl<R: Runtime> Not for &Tensor<R> {
    type Output = Tensor<R>;
    #[track_caller]
    fn not(self) -> Tensor<R> {
        static GRAPH: LazyLock<Arc<Graph>> = LazyLock::new(|| Graph::build(1, Class::Free, |_, args| vec![!args[0]]));
        or_panic(Tensor::map(MapOp::Graph(GRAPH.clone()), &[Operand::Tensor(self)]))
    }
}

impl<R: Runtime> Not for Tensor<R> {
    type Output = Tensor<R>;
    #[track_caller]
    fn not(self) -> Tensor<R> {
        Not::not(&self)
    }
}
