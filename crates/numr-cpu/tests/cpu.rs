//! The CPU backend against plain loops.

mod cpu {
    mod copy;
    mod fold;
    mod isa;
    mod map;
    mod memory;
    mod operands;
    mod place;
    mod product;
    mod rows;
    mod sample;

    use operands::{CPU, T, layouts, numbers, stored, values};
}
