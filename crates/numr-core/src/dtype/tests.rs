use super::*;
use DType::*;

#[test]
fn promotion_is_a_join_but_for_the_corners_its_doc_names() {
    for a in DType::ALL {
        assert_eq!(promote(a, a), a);
        for b in DType::ALL {
            let join = promote(a, b);
            assert_eq!(join, promote(b, a), "{a} {b}");
            // Absorbing: what was promoted stays.
            assert_eq!(promote(join, a), join, "{a} {b}");
            for c in DType::ALL {
                let three = [a, b, c];
                let among = |set: &[DType]| three.iter().any(|d| set.contains(d));
                let narrow = among(&[FP8E4M3]) && among(&[FP8E5M2]) && among(&[BF16]);
                let wide = among(&[U64])
                    && three.iter().any(|d| d.is_signed_int())
                    && three.iter().any(|d| (d.is_float() && *d != F64) || *d == Complex64);
                if !narrow && !wide {
                    assert_eq!(promote(join, c), promote(a, promote(b, c)), "{a} {b} {c}");
                }
            }
        }
    }
    assert_ne!(promote(promote(FP8E4M3, FP8E5M2), BF16), promote(FP8E4M3, promote(FP8E5M2, BF16)));
    assert_ne!(promote(promote(U64, I8), F32), promote(U64, promote(I8, F32)));
}

#[test]
fn integers_promote_to_the_narrowest_type_that_holds_both() {
    let holds = |t: DType, x: DType| t.min_value() <= x.min_value() && t.max_value() >= x.max_value();
    for a in DTypeSet::INTS.iter() {
        for b in DTypeSet::INTS.iter() {
            let narrowest =
                DTypeSet::INTS.iter().filter(|&t| holds(t, a) && holds(t, b)).min_by_key(|t| t.size_in_bytes());
            assert_eq!(promote(a, b), narrowest.unwrap_or(F64), "{a} {b}");
        }
    }
}

#[test]
fn promotion_across_kinds() {
    for (a, b, want) in [
        (Bool, U8, U8),
        (Bool, FP8E5M2, FP8E5M2),
        (I64, F16, F16),
        (U64, BF16, BF16),
        (F16, BF16, F32),
        (FP8E4M3, FP8E5M2, F16),
        (FP8E4M3, F16, F16),
        (FP8E5M2, BF16, BF16),
        (FP8E4M3, F32, F32),
        (F32, F64, F64),
        (Complex64, F64, Complex128),
        (Complex64, F32, Complex64),
        (Complex64, I64, Complex64),
        (Complex128, F16, Complex128),
        (Complex64, Complex128, Complex128),
    ] {
        assert_eq!(promote(a, b), want, "{a} {b}");
    }
}

#[test]
fn a_scalar_raises_the_kind_only() {
    for (tensor, scalar, want) in [
        (Bool, Weak::Bool, Bool),
        (U8, Weak::Bool, U8),
        (Bool, Weak::Int, I64),
        (I8, Weak::Int, I8),
        (BF16, Weak::Int, BF16),
        (Bool, Weak::Float, F32),
        (I64, Weak::Float, F32),
        (FP8E4M3, Weak::Float, FP8E4M3),
        (Complex64, Weak::Float, Complex64),
        (I64, Weak::Complex, Complex64),
        (F16, Weak::Complex, Complex64),
        (F64, Weak::Complex, Complex128),
        (Complex128, Weak::Complex, Complex128),
    ] {
        assert_eq!(promote_weak(tensor, scalar), want, "{tensor} {scalar:?}");
    }
}

#[test]
fn names_and_sizes() {
    for d in DType::ALL {
        assert_eq!(d.to_string().parse::<DType>().ok(), Some(d));
        assert_eq!(d.names().1.parse::<DType>().ok(), Some(d));
        assert_eq!(dispatch_dtype!(d, T => T::DTYPE), d);
        assert_eq!(dispatch_storage!(d, T => size_of::<T>()), d.size_in_bytes());
        assert_eq!(DataType::storage_bytes(d, 3), 3 * d.size_in_bytes());
        assert_eq!(d.fill_bytes_impl(1.0, 3).len(), 3 * d.size_in_bytes());
        assert_eq!(promote(d.compute(), d), d.compute());
        assert_eq!(promote(d.to_complex(), d), d.to_complex());
        assert_eq!(d.to_complex().complex_component_dtype(), Some(d.to_complex().to_real()));
    }
    let error = "float33".parse::<DType>().expect_err("no such dtype").to_string();
    assert!(error.contains("float33") && error.contains("bf16"), "{error}");
    // Stable: files and kernels carry these numbers.
    assert_eq!(DType::ALL.map(|d| d as u8), [0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 20, 21, 22, 23, 30, 40, 41]);
}

#[test]
fn limits_are_values_and_the_next_is_not() {
    for d in DType::ALL {
        dispatch_dtype!(d, T => {
            for limit in [d.min_value(), d.max_value()] {
                assert_eq!(limit.cast::<T>().cast::<f64>(), limit, "{d}");
                if d.is_float() && d != F64 {
                    assert!(!(limit * 1.1).cast::<T>().cast::<f64>().is_finite(), "{d}");
                }
            }
        });
    }
}

#[test]
fn kinds_partition_the_dtypes() {
    for d in DType::ALL {
        let kinds = [d.is_float(), d.is_complex(), d.is_signed_int(), d.is_unsigned_int(), d.is_bool()];
        assert_eq!(kinds.iter().filter(|&&k| k).count(), 1, "{d}");
        assert_eq!(d.is_int(), d.is_signed_int() || d.is_unsigned_int());
        assert_eq!(d.is_signed(), d.min_value() < 0.0, "{d}");
    }
}

#[test]
fn sets() {
    let set = DTypeSet::of(&[F32, Bool]);
    assert_eq!(set.iter().collect::<Vec<_>>(), [F32, Bool]);
    assert_eq!(set.iter().collect::<DTypeSet>(), set);
    assert_eq!(set.union(DTypeSet::single(I8)).without(set), DTypeSet::single(I8));
    assert_eq!(set.intersection(DTypeSet::FLOATS), DTypeSet::single(F32));
    assert!(set.without(set).is_empty() && !set.is_empty());
    assert_eq!(DTypeSet::ALL.iter().count(), 17);
    assert_eq!(DTypeSet::NUMERIC.iter().count(), 16);
    assert_eq!(format!("{set} {set:?}"), "f32, bool {f32, bool}");
}
