//! The CPU backend against plain loops.

mod cpu {
    mod copy;
    mod isa;
    mod map;
    mod memory;
    mod sample;
}
