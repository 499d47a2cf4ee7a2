//! The judges of generated code accept what is right and refuse what is wrong.

use numr_tests::compilers::{Nvrtc, validate_wgsl};

#[test]
fn nvrtc_accepts_and_refuses() {
    let Some(nvrtc) = Nvrtc::find() else { return };
    let kernel = |body| format!("extern \"C\" __global__ void k(double* a) {{ a[threadIdx.x] = {body}; }}");
    for architecture in ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90a"] {
        assert_eq!(nvrtc.compile(&kernel("fma(a[0], a[1], 1.0)"), architecture), Ok(()));
    }
    let log = nvrtc.compile(&kernel("missing(1)"), "sm_90a").expect_err("an undefined name");
    assert!(log.contains("missing"), "{log}");
}

#[test]
fn naga_accepts_and_refuses() {
    let shader = |kind: &str, body: &str| {
        format!(
            "@group(0) @binding(0) var<storage, read_write> a: array<{kind}>;\n\
             @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) i: vec3<u32>) {{ a[i.x] = {body}; }}"
        )
    };
    for kind in ["f32", "f64", "i32", "u32", "i64", "u64"] {
        assert_eq!(validate_wgsl(&shader(kind, "a[i.x] * a[0]")), Ok(()));
    }
    assert!(validate_wgsl(&shader("f32", "a[i.x] + 1u")).is_err(), "mixed types");
    assert!(validate_wgsl(&shader("f32", "missing(1.0)")).is_err(), "an undefined name");
}
