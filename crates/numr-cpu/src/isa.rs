//! Instruction sets: which there are, which one runs, and how a kernel is compiled for each.

use std::sync::OnceLock;

/// An instruction set that kernels are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Isa {
    /// What every processor of the target has.
    Portable,
    /// 128-bit vectors of aarch64, with fused multiply-add.
    Neon,
    /// 256-bit vectors of x86-64, with fused multiply-add.
    Avx2,
    /// 512-bit vectors of x86-64.
    Avx512,
}

impl Isa {
    /// Its name, as `NUMR_ISA` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Portable => "portable",
            Isa::Neon => "neon",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }

    /// Those that this machine has, best first.
    pub fn available() -> impl Iterator<Item = Isa> {
        [Isa::Avx512, Isa::Avx2, Isa::Neon, Isa::Portable].into_iter().filter(|i| i.is_available())
    }

    #[cfg(target_arch = "x86_64")]
    fn is_available(self) -> bool {
        let avx2 = || {
            is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt")
        };
        let avx512 = || {
            is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw")
        };
        match self {
            Isa::Portable => true,
            Isa::Neon => false,
            Isa::Avx2 => avx2(),
            Isa::Avx512 => avx2() && avx512(),
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn is_available(self) -> bool {
        match self {
            Isa::Portable => true,
            Isa::Neon => cfg!(target_arch = "aarch64"),
            Isa::Avx2 | Isa::Avx512 => false,
        }
    }
}

/// The instruction set in use: the best that this machine has, or, where the environment variable `NUMR_ISA` names one
/// (`avx512`, `avx2`, `neon`, `portable`), the best that is not above it. A name that is none of these is not looked at.
pub fn isa() -> Isa {
    static CHOSEN: OnceLock<Isa> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let named = std::env::var("NUMR_ISA").ok();
        let all = [Isa::Avx512, Isa::Avx2, Isa::Neon, Isa::Portable];
        let most = all.into_iter().find(|i| named.as_deref() == Some(i.name())).unwrap_or(Isa::Avx512);
        Isa::available().find(|&i| i <= most).unwrap_or(Isa::Portable)
    })
}

/// Compiles a generic function for every instruction set and makes one that calls the version of [`isa()`].
///
/// `versions! { fn name<K: Body>(x: &[u8], out: &mut [u8]) = body }` calls `body::<K, FMA>(x, out)`, which has to be
/// `#[inline(always)]`: the target features stand on the version that it is inlined into. Its last parameter says
/// whether that one has fused multiply-add.
macro_rules! versions {
    ($(#[$meta:meta])* $vis:vis fn $name:ident<$($G:ident : $B:path),*>($($x:ident : $t:ty),* $(,)?) $(-> $r:ty)? = $body:ident) => {
        $(#[$meta])*
        $vis fn $name<$($G: $B),*>($($x: $t),*) $(-> $r)? {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
            fn avx512<$($G: $B),*>($($x: $t),*) $(-> $r)? {
                $body::<$($G,)* true>($($x),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
            fn avx2<$($G: $B),*>($($x: $t),*) $(-> $r)? {
                $body::<$($G,)* true>($($x),*)
            }
            fn portable<$($G: $B),*>($($x: $t),*) $(-> $r)? {
                $body::<$($G,)* { cfg!(target_arch = "aarch64") }>($($x),*)
            }
            match $crate::isa::isa() {
                // SAFETY: `isa` answers only what was detected on this machine, with every feature listed above.
                #[cfg(target_arch = "x86_64")]
                $crate::isa::Isa::Avx512 => unsafe { avx512::<$($G),*>($($x),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::isa::Isa::Avx2 => unsafe { avx2::<$($G),*>($($x),*) },
                _ => portable::<$($G),*>($($x),*),
            }
        }
    };
}
pub(crate) use versions;

/// A computation to be compiled for every instruction set.
#[allow(dead_code, reason = "the families that need it are being written")]
pub(crate) trait Work {
    /// What it answers.
    type Out;
    /// Does it; `#[inline(always)]`. `FMA` says whether multiply-add is one instruction here.
    fn run<const FMA: bool>(self) -> Self::Out;
}

#[inline(always)]
fn work<W: Work, const FMA: bool>(w: W) -> W::Out {
    w.run::<FMA>()
}

versions! {
    /// Runs `w` under the instruction set of [`isa()`].
    #[allow(dead_code, reason = "the families that need it are being written")]
    pub(crate) fn run<W: Work>(w: W) -> W::Out = work
}
