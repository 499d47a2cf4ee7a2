//! The rows of `docs/numpy.md`: each runs and answers what NumPy answers.

use numr_tests::numpy::{Names, SECTIONS};

#[test]
fn every_row_answers_as_numpy_does() {
    let names = Names::new().expect("the names");
    let mut faults = vec![];
    for row in SECTIONS.iter().flat_map(|(_, rows)| *rows) {
        match (row.run)(&names) {
            Ok(arrays) => {
                let got: Vec<f64> = arrays.into_iter().flat_map(|(_, values)| values).collect();
                if !close(&got, row.answer) {
                    faults.push(format!("{}\n    answered {got:?}\n    expected {:?}", row.numr, row.answer));
                }
            }
            Err(e) => faults.push(format!("{}\n    {e}", row.numr)),
        }
    }
    assert!(faults.is_empty(), "{} rows\n{}", faults.len(), faults.join("\n"));
    assert!(SECTIONS.iter().map(|(_, rows)| rows.len()).sum::<usize>() >= 200);
}

/// The answers are written with seven digits.
fn close(got: &[f64], expected: &[f64]) -> bool {
    let near = |(&g, &e): (&f64, &f64)| g == e || g.is_nan() && e.is_nan() || (g - e).abs() <= 2e-6 * e.abs().max(1.0);
    got.len() == expected.len() && got.iter().zip(expected).all(near)
}
