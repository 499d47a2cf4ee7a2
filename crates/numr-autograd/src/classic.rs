//! The call surface of numr 0.5 for gradients: each function is one line that calls the op. No arithmetic, no rule, and
//! new work never starts here.
//!
//! [`var::Var`] is a tensor on the tape, so a program may mix both surfaces: everything that a tensor has, a `Var` has. What is
//! different from 0.5 is what was wrong there: gradients of gradients see the inputs, not constants.

pub mod backward;
pub mod dual;
pub mod dual_ops;
pub mod forward;
pub mod grad_fn;
pub mod grad_store;
pub mod ops;
pub mod var;
pub mod var_ops;

/// Gradients that are variables themselves.
pub mod var_grad_store {
    pub use super::grad_store::VarGradStore;
}

/// Functions of a wrapper `W<R>` over tensors of a decorated runtime. `name = op` calls the method of that name, with one
/// operand or two; the others say what they call.
macro_rules! functions {
    ($W:ident:
        unary { $($u:ident = $uop:ident;)* }
        binary { $($b:ident = $bop:ident;)* }
        of { $($f:ident($x:ident $(, $p:ident: $t:ty)*) = $e:expr;)* }
        shape { $($s:ident($sx:ident $(, $sp:ident: $st:ty)*) = $se:expr;)* }
    ) => {
        $(#[doc = concat!("`a.", stringify!($uop), "()`")]
        ///
        /// # Errors
        /// As the op.
        pub fn $u<R: Runtime, C: RuntimeClient<R>>(a: &$W<R>, _client: &C) -> Result<$W<R>> {
            a.on().$uop().map($W::wrap)
        })*
        $(#[doc = concat!("`a.", stringify!($bop), "(b)`")]
        ///
        /// # Errors
        /// As the op.
        pub fn $b<R: Runtime, C: RuntimeClient<R>>(a: &$W<R>, b: &$W<R>, _client: &C) -> Result<$W<R>> {
            a.on().$bop(b.on()).map($W::wrap)
        })*
        $(#[doc = concat!("`", stringify!($e), "`")]
        ///
        /// # Errors
        /// As the op.
        pub fn $f<R: Runtime, C: RuntimeClient<R>>($x: &$W<R> $(, $p: $t)*, _client: &C) -> Result<$W<R>> {
            let $x = $x.on();
            $e.map($W::wrap)
        })*
        $(#[doc = concat!("`", stringify!($se), "`")]
        ///
        /// # Errors
        /// As the op.
        pub fn $s<R: Runtime>($sx: &$W<R> $(, $sp: $st)*) -> Result<$W<R>> {
            let $sx = $sx.on();
            $se.map($W::wrap)
        })*
    };
}
use functions;
