//! Elementary functions of 32-bit floats: the constants.

use super::double::Double;
use super::{Float, Int, Width, horner, width};

/// [`Width`] of `f32`.
struct Single;

/// Below this |x|, `sin_bounded` and `cos_bounded` are `sin` and `cos`.
pub const TRIG_LIMIT: f64 = 12000.0;

crate::elementary!(width Single sin_bounded cos_bounded;);

impl Width for Single {
    const MANTISSA: i64 = 23;
    const BITS: i64 = 32;
    const ONE: i64 = 0x3f80_0000;
    const SIGN: i64 = i32::MIN as i64;
    const MIN_POSITIVE: f64 = f32::MIN_POSITIVE as f64;
    const TAIL_BITS: i64 = 12;
    const LN2: [f64; 2] = [0.693145751953125, 1.428606765330187e-06];
    const EXP_RANGE: [f64; 2] = [-104.0, 89.0];
    const POW_RANGE: [f64; 2] = [-160.0, 130.0];
    // Error 2^-28.2 of e^r.
    const EXP: &[f64] = &[0.49999994, 0.16666517, 0.041668106, 0.008369132, 0.0013836466];
    // Error 2^-28.2 of e^r - 1.
    const EXPM1: &[f64] = &[0.5, 0.16666636, 0.04166651, 0.00834151, 0.0013930544, 0.00015046261];
    // Error 2^-26.2 of 2^r, that of rounding ln 2.
    const EXP2: &[f64] = &[0.6931472, 0.24022594, 0.055503663, 0.009625421, 0.0013387827, 0.00013348975];
    const EXPM1_LOW: f64 = -18.0;
    const TINY: f64 = 1.0 / (1u64 << 25) as f64;
    const TANH_HIGH: f64 = 10.0;
    // Error 2^-29.0 of tanh.
    const TANH: [&[f64]; 2] = [&[-0.3333332, -0.0015507665], &[1.0, 0.40464443]];
    // Error 2^-30.1 of erf.
    const ERF: &[f64] = &[0.12837917, -0.3761263, 0.11283624, -0.02685556, 0.005191753, -0.0008039753, 7.9431e-05];
    // Error 2^-30.1 of 1.
    const ERFC: &[f64] = &[1.1286354, 0.6352043, 0.1061495, -0.02368707, 0.003607137, -0.0003141504, 1.0370031e-05];
    // Error 2^-35.2 of tan.
    const TAN: [&[f64]; 2] = [&[0.33333334, -0.01489658], &[1.0, -0.44468978, 0.015971389]];
    // Error 2^-27.1 of asin.
    const ASIN: [&[f64]; 2] = [&[0.16666587, -0.042743362, -0.008656325], &[1.0, -0.7066293]];
    // Error 2^-28.8 of atan.
    const ATAN: [&[f64]; 2] = [&[-0.33333313, -0.2235846, -0.0071798842, 0.0004929122], &[1.0, 1.2707393, 0.35554177]];
    // Error 2^-27.4 of asinh.
    const ASINH: [&[f64]; 2] =
        [&[-0.1666663, -0.107998855, -0.0045154523, 0.0002247337], &[1.0, 1.0979506, 0.25359896]];
    // Error 2^-27.2 of atanh.
    const ATANH: [&[f64]; 2] = [&[0.33333263, -0.18528582], &[1.0, -1.1559289, 0.26572096]];
    // Error 2^-30.7 of acosh.
    const ACOSH: [&[f64]; 2] = [&[-0.083333306, -0.02528002, -0.0003683819], &[1.0, 0.5283541, 0.056370046]];
    // Error 2^-27.3 of cot.
    const COT: &[f64] = &[0.33333305, 0.022226537, 0.0020962802, 0.0002481935];
    // Error 2^-31.6 of sinh.
    const SINH: &[f64] = &[0.16666667, 0.0083333105, 0.00019842896, 2.7822132e-06];
    // Error 2^-29.7 of erfc.
    const ERFCX: [&[f64]; 2] = [
        &[-0.060810324, 0.11775483, 0.20326047, 0.7112593, 0.037063617, -1.2603087],
        &[1.0, 2.7023814, 6.877652, 8.085334, 6.3965135, 1.9832422],
    ];
    const ERFC_HIGH: f64 = 10.1;
    const LOG10_2: [f64; 2] = [0.301025390625, 4.605039066518657e-06];
    const CUBE_TAIL_BITS: i64 = 16;
    const ERF_HIGH: f64 = 3.93;
    const HALF_PI: [f64; 4] = [1.5703125, 0.0004837512969970703, 7.549533620476723e-08, 2.5633440682570896e-12];
    const HALF_PI_2: [f64; 2] = [1.5707963705062866, -4.371138828673793e-08];
    // Error 2^-27.9 of sin.
    const SIN: &[f64] = &[-0.16666655, 0.008332187, -0.00019517896];
    // Error 2^-33.0 of cos.
    const COS: &[f64] = &[0.041666646, -0.001388731, 2.4432327e-05];
    const TRIG_LIMIT: f64 = TRIG_LIMIT;
    const TWO_OVER_PI: &[i64] = &{
        // The half words of the 64-bit table, less its first.
        let (mut words, mut k) = ([0; 8], 0);
        while k < words.len() {
            words[k] = (Double::TWO_OVER_PI[k.div_ceil(2)] >> (32 * (k % 2))) as i32 as i64;
            k += 1;
        }
        words
    };
    const LOG2: [f64; 2] = [2.8857421875, -0.0003521057078614831];
    // Error 2^-32.9 of log2.
    const LOG2_S: &[f64] = &[0.961796, 0.57822484];
    const LOG2_C: [[f64; 2]; 3] = [
        [-0.2518310546875, 2.3904276960286753e-05],
        [0.2479248046875, 2.7087560854937936e-06],
        [0.4998779296875, -3.2042604294639463e-05],
    ];

    #[inline(always)]
    fn mul_hi<T: Float>(a: T::Bits, b: T::Bits) -> T::Bits {
        a.mul_hi(b)
    }

    /// ln(1+f) = f - f²/2 + f³P(f), P within 2^-29.7 of ln.
    #[inline(always)]
    fn log_sum<T: Float>(e: T, f: T) -> T {
        const P: &[f64] = &[
            -0.5,
            0.33333313,
            -0.2500001,
            0.20002055,
            -0.16667938,
            0.14220868,
            -0.12408084,
            0.118807174,
            -0.11654341,
            0.067356594,
        ];
        let small = (f * f).mul_add(horner(f, P), e * T::lit(Self::LN2[1]));
        e.mul_add(T::lit(Self::LN2[0]), f + small)
    }
}
