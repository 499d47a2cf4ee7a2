//! `Display`, as NumPy prints: nested brackets, aligned columns, the edges only of what exceeds 1000 elements. `{:.3}`
//! fixes the number of digits after the point.

use super::Tensor;
use crate::dispatch_dtype;
use crate::element::{Element, Lit};
use crate::error::Result;
use crate::runtime::Runtime;
use std::fmt;

/// More elements than this are summarised.
const THRESHOLD: usize = 1000;
/// How many elements are shown at each end of an axis that is cut.
const EDGE: usize = 3;
/// The width at which a row of elements is wrapped.
const WIDTH: usize = 75;
/// Digits after the point, at most, where the format does not say.
const DIGITS: usize = 8;

impl<R: Runtime> fmt::Display for Tensor<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cut = vec![false; self.ndim()];
        let shown = if self.numel() > THRESHOLD { self.edges(&mut cut) } else { Ok(self.clone()) };
        let cells = shown.and_then(|t| Ok((t.cells(f.precision())?, t)));
        match cells {
            Ok((cells, shown)) => f.write_str(&brackets(&cells, shown.shape(), &cut)),
            Err(e) => write!(f, "<{e}>"),
        }
    }
}

impl<R: Runtime> Tensor<R> {
    /// The tensor without the middle of its long axes; `cut` tells which.
    fn edges(&self, cut: &mut [bool]) -> Result<Tensor<R>> {
        let mut t = self.clone();
        for (k, &n) in self.shape().iter().enumerate().filter(|&(_, &n)| n > 2 * EDGE) {
            let k = k as isize;
            t = Tensor::cat(&[&t.narrow(k, 0, EDGE)?, &t.narrow(k, n - EDGE, EDGE)?], k)?;
            cut[k as usize] = true;
        }
        Ok(t)
    }

    /// The elements as text, row-major, all of one width.
    fn cells(&self, precision: Option<usize>) -> Result<Vec<String>> {
        let values: Vec<Lit> = dispatch_dtype!(self.dtype(), T => {
            self.try_to_vec::<T>()?.into_iter().map(shortest).collect()
        });
        let parts = |part: fn(&Lit) -> f64| -> Vec<f64> { values.iter().map(part).collect() };
        let mut cells: Vec<String> = if self.dtype().is_complex() {
            let re = floats(&parts(|l| l.to_f64()), precision);
            let im = floats(&parts(|l| imaginary(l).abs()), precision);
            let signs = values.iter().map(|l| if imaginary(l).is_sign_negative() { '-' } else { '+' });
            re.iter().zip(signs).zip(&im).map(|((re, sign), im)| format!("{re}{sign}{im}j")).collect()
        } else if self.dtype().is_float() {
            floats(&parts(|l| l.to_f64()), precision)
        } else {
            let text = |l: &Lit| match *l {
                Lit::Bool(v) => v.to_string(),
                Lit::UInt(v) => v.to_string(),
                l => l.to_i64().to_string(),
            };
            values.iter().map(text).collect()
        };
        let width = cells.iter().map(|c| c.chars().count()).max().unwrap_or(0);
        if self.ndim() > 0 {
            cells.iter_mut().for_each(|c| *c = format!("{c:>width$}"));
        } else {
            cells.iter_mut().for_each(|c| *c = c.trim().to_owned());
        }
        Ok(cells)
    }
}

fn imaginary(l: &Lit) -> f64 {
    if let Lit::Complex(_, im) = *l { im } else { 0.0 }
}

/// The value as the f64 with the fewest digits that the type does not tell from it: 0.1, not 0.0999755859375.
fn shortest<T: Element>(value: T) -> Lit {
    let part = |x: f64, same: &dyn Fn(f64) -> bool| {
        let close = (0..17).filter_map(|digits| format!("{x:.digits$e}").parse().ok()).find(|&y| same(y));
        if x.is_finite() { close.unwrap_or(x) } else { x }
    };
    match value.to_lit() {
        Lit::Float(x) => Lit::Float(part(x, &|y| T::from_lit(Lit::Float(y)) == value)),
        Lit::Complex(re, im) => Lit::Complex(
            part(re, &|y| T::from_lit(Lit::Complex(y, im)) == value),
            part(im, &|y| T::from_lit(Lit::Complex(re, y)) == value),
        ),
        other => other,
    }
}

/// Numbers with their points in one column, or all with exponents where their sizes differ much.
fn floats(values: &[f64], precision: Option<usize>) -> Vec<String> {
    let sizes = || values.iter().map(|v| v.abs()).filter(|v| v.is_finite() && *v != 0.0);
    let (low, high) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    let exponent = high >= 1e8 || (high > 0.0 && (low < 1e-4 || high / low > 1000.0));
    let text = |v: f64, digits: Option<usize>| match (exponent, digits) {
        (true, Some(d)) => format!("{v:.d$e}"),
        (true, None) => format!("{v:e}"),
        (false, Some(d)) => format!("{v:.d$}"),
        (false, None) => format!("{v}"),
    };
    let split = |v: f64| -> (String, String, String) {
        if !v.is_finite() {
            let name = if v.is_nan() {
                "nan"
            } else if v > 0.0 {
                "inf"
            } else {
                "-inf"
            };
            return (name.into(), String::new(), String::new());
        }
        let pieces = |s: String| -> (String, String, String) {
            let (number, exp) = s.split_once('e').unwrap_or((&s, ""));
            let (whole, part) = number.split_once('.').unwrap_or((number, ""));
            let (sign, size) = exp.strip_prefix('-').map_or(("+", exp), |e| ("-", e));
            let exp = if exp.is_empty() { String::new() } else { format!("e{sign}{size:0>2}") };
            (whole.into(), part.into(), exp)
        };
        let (whole, part, exp) = pieces(text(v, precision));
        if precision.is_some() || part.len() <= DIGITS {
            return (whole, part, exp);
        }
        let (whole, part, exp) = pieces(text(v, Some(DIGITS)));
        (whole, part.trim_end_matches('0').into(), exp)
    };
    let pieces: Vec<_> = values.iter().map(|&v| split(v)).collect();
    let digits = pieces.iter().map(|p| p.1.len()).max().unwrap_or(0);
    let point = if precision == Some(0) { "" } else { "." };
    let join = |(v, (whole, part, exp)): (&f64, &(String, String, String))| match (v.is_finite(), exponent) {
        // Zeros fill the fraction before an exponent, spaces do without one.
        (true, true) => format!("{whole}{point}{part:0<digits$}{exp}"),
        (true, false) => format!("{whole}{point}{part:<digits$}"),
        (false, _) => whole.clone(),
    };
    values.iter().zip(&pieces).map(join).collect()
}

/// Nested brackets around cells of one width.
fn brackets(cells: &[String], shape: &[usize], cut: &[bool]) -> String {
    if shape.is_empty() {
        return cells.concat();
    }
    if cells.is_empty() {
        return "[]".into();
    }
    let mut out = String::new();
    nest(cells, shape, cut, 0, &mut out);
    out
}

fn nest(cells: &[String], shape: &[usize], cut: &[bool], depth: usize, out: &mut String) {
    let n = shape[depth];
    let gap = |i: usize| cut[depth] && i == n / 2;
    let indent = " ".repeat(depth + 1);
    out.push('[');
    if depth + 1 == shape.len() {
        let mut column = depth + 1;
        for (i, cell) in cells.iter().enumerate() {
            for word in gap(i).then_some("...").into_iter().chain([cell.as_str()]) {
                let width = word.chars().count();
                if column > depth + 1 {
                    if column + 1 + width > WIDTH {
                        out.push('\n');
                        out.push_str(&indent);
                        column = depth + 1;
                    } else {
                        out.push(' ');
                        column += 1;
                    }
                }
                out.push_str(word);
                column += width;
            }
        }
    } else {
        // A blank line for every axis below but the last.
        let newline = "\n".repeat(shape.len() - depth - 1);
        for (i, part) in cells.chunks(cells.len() / n).enumerate() {
            if i > 0 {
                out.push_str(&newline);
                out.push_str(&indent);
            }
            if gap(i) {
                out.push_str("...");
                out.push_str(&newline);
                out.push_str(&indent);
            }
            nest(part, shape, cut, depth + 1, out);
        }
    }
    out.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::f16;

    fn row(values: &[f64]) -> String {
        let cells = floats(values, None);
        let width = cells.iter().map(String::len).max().unwrap_or(0);
        let cells: Vec<String> = cells.iter().map(|c| format!("{c:>width$}")).collect();
        brackets(&cells, &[values.len()], &[false])
    }

    /// The expected text is what NumPy 2 prints.
    #[test]
    fn numbers_align_as_numpy_prints_them() {
        assert_eq!(row(&[1.0, 2.0, 3.0]), "[1. 2. 3.]");
        assert_eq!(row(&[1.0, -2.5, 3.25]), "[ 1.   -2.5   3.25]");
        assert_eq!(row(&[1.0, f64::NAN, f64::INFINITY]), "[ 1. nan inf]");
        assert_eq!(row(&[f64::NAN, f64::NEG_INFINITY]), "[ nan -inf]");
        assert_eq!(row(&[1e10, 1.5]), "[1.0e+10 1.5e+00]");
        assert_eq!(row(&[1e-5]), "[1.e-05]");
        assert_eq!(row(&[1.0 / 3.0]), "[0.33333333]");
        assert_eq!(row(&[0.0, -0.0]), "[ 0. -0.]");
    }

    #[test]
    fn precision_fixes_the_digits() {
        assert_eq!(floats(&[1.0, 2.3456], Some(3)), ["1.000", "2.346"]);
        assert_eq!(floats(&[2.0], Some(0)), ["2"]);
    }

    #[test]
    fn narrow_floats_print_short() {
        assert_eq!(shortest(f16::from_f32(0.1)), Lit::Float(0.1));
        assert_eq!(shortest(0.1f32), Lit::Float(0.1));
        assert_eq!(shortest(f32::MAX), Lit::Float(3.4028235e38));
    }

    #[test]
    fn axes_nest() {
        let cells: Vec<String> = (0..8).map(|i| i.to_string()).collect();
        assert_eq!(brackets(&cells, &[2, 4], &[false; 2]), "[[0 1 2 3]\n [4 5 6 7]]");
        assert_eq!(brackets(&cells, &[2, 2, 2], &[false; 3]), "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]");
        assert_eq!(brackets(&cells[..6], &[6], &[true]), "[0 1 2 ... 3 4 5]");
        assert_eq!(brackets(&cells[..6], &[6, 1], &[true, false]), "[[0]\n [1]\n [2]\n ...\n [3]\n [4]\n [5]]");
        assert_eq!(brackets(&[], &[0, 3], &[false; 2]), "[]");
        assert_eq!(brackets(&cells[..1], &[], &[]), "0");
        let long: Vec<String> = (0..40).map(|i| format!("{i:2}")).collect();
        let text = brackets(&long, &[40], &[false]);
        assert!(text.lines().all(|l| l.chars().count() <= WIDTH) && text.lines().count() == 2, "{text}");
    }
}
