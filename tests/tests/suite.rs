//! Every test that runs on a device, in one binary: linking dominates the build time of many small ones.

mod suite {
    mod compilers;
    mod golden;
    mod gradients;
    mod grid;
    mod numpy;
    mod primitives;
    mod printers;
    mod properties;
    mod python;
    mod refusals;
}
