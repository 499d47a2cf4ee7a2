//! Prints `docs/numpy.md`. `cargo xtask gen` runs it.

fn main() {
    print!("{}", numr_tests::numpy::page());
}
