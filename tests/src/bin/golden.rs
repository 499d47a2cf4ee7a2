//! Runs the golden cases and prints what they came to: `golden [part of a name]`.
//!
//! On the devices that `NUMR_DEVICES` names, or else on each that is there. The cases are the project's own, or those of the directory that `NUMR_GOLDEN` names.

use std::process::ExitCode;

use numr_tests::devices::devices;
use numr_tests::golden::{data, run};

fn main() -> ExitCode {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let mut fine = true;
    for device in devices() {
        match run::directory(&data::directory(), &filter, &device) {
            Ok(report) => {
                print!("{report}");
                fine &= report.is_fine();
            }
            Err(error) => {
                eprintln!("{}: {error}", data::directory().display());
                fine = false;
            }
        }
    }
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
