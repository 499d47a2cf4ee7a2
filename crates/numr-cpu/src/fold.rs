//! Associative folds over the compute types, for reductions and scans.

use numr_core::element::Complex;
use std::marker::PhantomData;

use crate::convert::Truth;

/// What sums and products are taken of. Integers wrap.
pub(crate) trait Number: Copy + Send + Sync + PartialEq + 'static {
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Does the order of operations not matter?
    const FREE: bool;
    /// Sum.
    fn plus(self, o: Self) -> Self;
    /// Product.
    fn times(self, o: Self) -> Self;
}

/// What has an order.
pub(crate) trait Ordered: Copy + Send + Sync + PartialOrd + 'static {
    /// No number is below.
    const LOWEST: Self;
    /// No number is above.
    const HIGHEST: Self;
    /// Does the order of comparisons not matter?
    const FREE: bool;
}

macro_rules! float {
    ($($f:ty),*) => {$(
        impl Number for $f {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const FREE: bool = false;
            #[inline(always)]
            fn plus(self, o: Self) -> Self {
                self + o
            }
            #[inline(always)]
            fn times(self, o: Self) -> Self {
                self * o
            }
        }
        impl Number for Complex<$f> {
            const ZERO: Self = Complex { re: 0.0, im: 0.0 };
            const ONE: Self = Complex { re: 1.0, im: 0.0 };
            const FREE: bool = false;
            #[inline(always)]
            fn plus(self, o: Self) -> Self {
                Complex { re: self.re + o.re, im: self.im + o.im }
            }
            #[inline(always)]
            fn times(self, o: Self) -> Self {
                Complex { re: self.re * o.re - self.im * o.im, im: self.re * o.im + self.im * o.re }
            }
        }
        impl Ordered for $f {
            const LOWEST: Self = <$f>::NEG_INFINITY;
            const HIGHEST: Self = <$f>::INFINITY;
            const FREE: bool = false;
        }
    )*};
}
float!(f32, f64);

impl Number for i64 {
    const ZERO: Self = 0;
    const ONE: Self = 1;
    const FREE: bool = true;
    #[inline(always)]
    fn plus(self, o: Self) -> Self {
        self.wrapping_add(o)
    }
    #[inline(always)]
    fn times(self, o: Self) -> Self {
        self.wrapping_mul(o)
    }
}

macro_rules! ordered_int {
    ($($i:ty),*) => {$(
        impl Ordered for $i {
            const LOWEST: Self = <$i>::MIN;
            const HIGHEST: Self = <$i>::MAX;
            const FREE: bool = true;
        }
    )*};
}
ordered_int!(i64, u64);

impl Ordered for Truth {
    const LOWEST: Self = Truth(0);
    const HIGHEST: Self = Truth(1);
    const FREE: bool = true;
}

/// A fold.
pub(crate) trait Fold: Send + Sync + 'static {
    /// What is folded.
    type C: Copy + Send + Sync + 'static;
    /// The fold of nothing.
    const EMPTY: Self::C;
    /// Does every order give the same?
    const FREE: bool;
    /// Two as one.
    fn join(a: Self::C, b: Self::C) -> Self::C;
}

/// a + b.
pub(crate) struct Sum<C>(PhantomData<C>);
/// a b.
pub(crate) struct Prod<C>(PhantomData<C>);
/// The larger, or a NaN.
pub(crate) struct Max<C>(PhantomData<C>);
/// The smaller, or a NaN.
pub(crate) struct Min<C>(PhantomData<C>);

macro_rules! folds {
    ($($F:ident $bound:ident: $empty:ident, |$a:ident, $b:ident| $e:expr;)*) => {$(
        impl<C: $bound> Fold for $F<C> {
            type C = C;
            const EMPTY: C = C::$empty;
            const FREE: bool = C::FREE;
            #[inline(always)]
            fn join($a: C, $b: C) -> C {
                $e
            }
        }
    )*};
}
folds! {
    Sum Number: ZERO, |a, b| a.plus(b);
    Prod Number: ONE, |a, b| a.times(b);
    Max Ordered: LOWEST, |a, b| if stays(a >= b, a) { a } else { b };
    Min Ordered: HIGHEST, |a, b| if stays(a <= b, a) { a } else { b };
}

/// Does `a`, which comes first, stay? If it is `as_good` as what it meets, or a NaN.
#[inline(always)]
#[allow(clippy::eq_op, reason = "only a NaN differs from itself")]
pub(crate) fn stays<C: PartialOrd>(as_good: bool, a: C) -> bool {
    as_good | (a != a)
}

/// The lanes as one, by halves. Written out, so that they stay in registers.
#[inline(always)]
pub(crate) fn halves<C: Copy>(lanes: [C; 32], join: impl Fn(C, C) -> C) -> C {
    use std::array::from_fn;
    let lanes: [C; 16] = from_fn(|j| join(lanes[j], lanes[j + 16]));
    let lanes: [C; 8] = from_fn(|j| join(lanes[j], lanes[j + 8]));
    let lanes: [C; 4] = from_fn(|j| join(lanes[j], lanes[j + 4]));
    join(join(lanes[0], lanes[2]), join(lanes[1], lanes[3]))
}
