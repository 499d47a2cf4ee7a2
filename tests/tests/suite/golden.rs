//! The golden cases.

use numr_tests::devices::devices;
use numr_tests::golden::case::{self, Case, Kind, Role};
use numr_tests::golden::rules::{Outcome, judge};
use numr_tests::golden::{data, run};

/// A rule that rejects the expected value itself would be wrong, and so would a file that does not read.
#[test]
fn every_expected_result_agrees_with_itself() {
    let dir = data::directory();
    let mut count = 0;
    for suite in data::suites(&dir).expect("the directory of cases") {
        for case in case::read(&dir, &suite).expect("a suite that reads") {
            if matches!(case.kind, Kind::Error | Kind::Property | Kind::Formula) || !is_value_rule(case.rule()) {
                continue;
            }
            let want = Case::hosts(&case.outputs, Role::Plain).into_iter().cloned().collect();
            if let Err(why) = judge(&case, &Outcome::Value(want)) {
                panic!("{}: {why}", case.id);
            }
            count += 1;
        }
    }
    assert!(count > 0, "no case in {}", dir.display());
}

/// The rules that compare with stored results; `solver` and `valid_argsort` look at operands instead.
fn is_value_rule(rule: &str) -> bool {
    !matches!(rule, "solver" | "valid_argsort" | "classes" | "")
}

/// Every case of an op that exists passes on every device, but for the gaps that are listed and what the device says that
/// it cannot.
#[test]
fn the_cases_of_the_ops_that_exist_pass() {
    let mut faults = String::new();
    for device in devices() {
        let report = run::directory(&data::directory(), "", &device).expect("the directory of cases");
        println!("{report}");
        if !report.is_fine() {
            faults += &report.to_string();
        }
    }
    assert!(faults.is_empty(), "{faults}");
}
