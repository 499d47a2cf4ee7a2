//! What a test needs and a machine may lack: its absence is a printed skip, or a failure where it is required.

/// Notes that a test is skipped because `what` is absent; panics if `NUMR_REQUIRE` (a list like `nvrtc,cuda`) names it.
pub fn skip(what: &str, why: &str) {
    let required = std::env::var("NUMR_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|word| word.trim() == what), "NUMR_REQUIRE names {what}, but {why}");
    eprintln!("SKIPPED: no {what}: {why}");
}
