use super::*;

#[test]
fn small_and_shareable() {
    fn shareable<T: Send + Sync + Clone + 'static>() {}
    shareable::<Error>();
    assert!(size_of::<Error>() <= 128, "{}", size_of::<Error>());
}

#[test]
fn messages_name_operation_operands_and_expectation() {
    let text = |e: Error| e.to_string();
    assert_eq!(
        text(Error::shape("matmul", "inner sizes to be equal", &[&[2, 3], &[4, 5]])),
        "matmul: expected inner sizes to be equal, got [2, 3] and [4, 5]"
    );
    assert_eq!(
        text(Error::broadcast("add", &[&[2], &[3]])),
        "add: shapes [2] and [3] do not broadcast; aligned from the last axis, sizes must be equal or 1"
    );
    assert_eq!(
        text(Error::Axis { op: "sum", axis: -3, ndim: 2 }),
        "sum: axis -3 is out of range for a tensor of 2 axes (expected -2..2)"
    );
    assert_eq!(
        text(Error::dtype("sqrt", &[DType::I32], crate::DTypeSet::COMPLEX)),
        "sqrt: expected one of c64, c128, got i32"
    );
    assert_eq!(
        text(Error::unsupported("sort", Some(DType::F64), "wgpu:0", "no f64")),
        "sort of f64 is not supported on wgpu:0: no f64"
    );
}
