//! Runs the golden cases and prints what they came to: `golden [part of a name]`.
//!
//! The cases are the project's own, or those of the directory that `NUMR_GOLDEN` names.

use std::process::ExitCode;

use numr_tests::golden::{data, run};

fn main() -> ExitCode {
    let filter = std::env::args().nth(1).unwrap_or_default();
    match run::on_cpu(&data::directory(), &filter) {
        Ok(report) => {
            print!("{report}");
            if report.is_fine() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("{}: {error}", data::directory().display());
            ExitCode::FAILURE
        }
    }
}
