//! Instruction sets. Which one runs is settled once in a process, so others run in a child.

use super::sample::{CPU, T, bits};
use numr_core::DType;
use numr_core::ops::map::Row;
use numr_core::prim::{Bind, Map, MapOp, Prim};
use numr_cpu::isa::{Isa, isa};
use std::process::Command;

/// A digest of every row on every dtype.
fn digest() -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for &row in Row::ALL {
        for dtype in DType::ALL {
            let x = T::try_from_expr(&[701], &[], &CPU, |a, _| (a.index().cast(DType::F64) * 0.037 - 3.0).cast(dtype));
            let x = x.expect("index");
            let binds = (0..row.arity()).map(|_| Bind::Input).collect();
            let map = Prim::Map(Map { op: MapOp::Row(row), binds, create: None });
            let Ok(y) = T::run_one(&map, &[&x, &x, &x][..row.arity()]) else { continue };
            for b in bits(&y) {
                hash = (hash ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
    }
    hash
}

/// Not a test of its own: what [`instruction_sets_agree`] runs in a child.
#[test]
fn child() {
    println!("isa {} digest {:x}", isa().name(), digest());
}

#[test]
fn instruction_sets_agree() {
    let run = |name: &str| -> (String, String) {
        let exe = std::env::current_exe().expect("this test");
        let out = Command::new(exe)
            .args(["--exact", "cpu::isa::child", "--nocapture"])
            .env("NUMR_ISA", name)
            .output()
            .expect("the child runs");
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let words: Vec<&str> = text.split_whitespace().collect();
        let after =
            |w: &str| words.iter().position(|x| *x == w).and_then(|k| words.get(k + 1)).expect("a word").to_string();
        (after("isa"), after("digest"))
    };
    let mut with_fma = Vec::new();
    for isa in Isa::available() {
        let (name, digest) = run(isa.name());
        assert_eq!(name, isa.name(), "NUMR_ISA is obeyed");
        if isa != Isa::Portable {
            with_fma.push(digest);
        }
    }
    assert!(with_fma.windows(2).all(|d| d[0] == d[1]), "{with_fma:?}");
    // What is not there falls back to the best below, and what is no name is not looked at.
    let best = Isa::available().next().expect("one at least");
    assert_eq!(run("avx512").0, Isa::available().find(|i| *i <= Isa::Avx512).expect("one").name());
    assert_eq!(run("nonsense").0, best.name());
}
