//! The CPU backend against plain loops.

mod cpu {
    mod map;
}
