//! Bridges to other crates: what goes over is what was there, in any layout, and without a copy where none is promised.
#![cfg(all(feature = "ndarray", feature = "serde"))]
#![allow(clippy::unwrap_used, reason = "a test")]

use ndarray::{Array, Array2, ArrayD, Axis, Slice};
use numr::interop::ndarray::{from_array, to_array, view};
use numr::prelude::*;
use numr::tensor::index::NewAxis;

type T = Tensor<CpuRuntime>;

fn cpu() -> CpuDevice {
    CpuDevice::new()
}

/// Views of one tensor: no axes, no elements, turned around, a step, a broadcast.
fn views(x: &T) -> Vec<T> {
    vec![
        x.slice(s![1, 1, 1]).unwrap(),
        x.slice(s![.., 3.., ..]).unwrap(),
        x.permute([2, 0, 1]).unwrap(),
        x.slice(s![..;-1, NewAxis, ..;-2, 1..3]).unwrap(),
        x.slice(s![1]).unwrap().broadcast_to(&[2, 3, 4]).unwrap(),
        x.clone(),
    ]
}

fn counted(dtype: DType) -> T {
    T::try_arange(-3, 21, 1, DType::F32, &cpu()).unwrap().reshape(&[2, 3, 4]).unwrap().cast(dtype).unwrap()
}

#[test]
fn arrays_become_tensors_in_place() {
    let a = Array::from_iter((0..24).map(f64::from)).into_shape_with_order((2, 3, 4)).unwrap();
    let mut turned = a.clone().permuted_axes([2, 0, 1]);
    turned.invert_axis(Axis(1));
    let mut cut = a.clone();
    cut.slice_axis_inplace(Axis(2), Slice::new(1, None, 2));
    for array in [a, turned, cut] {
        let (at, values, shape) = (array.as_ptr(), array.iter().copied().collect::<Vec<_>>(), array.shape().to_vec());
        let x = from_array(array).unwrap();
        assert_eq!((x.shape(), x.to_vec::<f64>()), (&shape[..], values));
        assert_eq!(view::<f64>(&x).unwrap().as_ptr(), at);
        // What shares the memory keeps it.
        let y = x.slice(s![0]).unwrap();
        drop(x);
        assert_eq!(y.to_vec::<f64>().len(), shape[1] * shape[2]);
    }
    let none = from_array(Array2::<i32>::zeros((0, 3))).unwrap();
    assert_eq!((none.shape(), none.dtype()), (&[0, 3][..], DType::I32));
    let truths = from_array(ndarray::array![true, false, true]).unwrap();
    assert_eq!(truths.logical_not().unwrap().to_vec::<bool>(), [false, true, false]);
    let scalar = from_array(ndarray::arr0(Complex::new(1.0f32, 2.0))).unwrap();
    assert_eq!((scalar.ndim(), scalar.item::<Complex<f32>>().unwrap()), (0, Complex::new(1.0, 2.0)));
}

#[test]
fn tensors_of_any_layout_are_viewed() {
    for x in views(&counted(DType::I16)) {
        let (seen, copied) = (view::<i16>(&x).unwrap(), to_array::<i16, _>(&x).unwrap());
        assert_eq!(seen.shape(), x.shape());
        assert_eq!(seen, copied);
        assert_eq!(copied.into_iter().collect::<Vec<_>>(), x.to_vec::<i16>());
    }
    let x = counted(DType::F32);
    assert!(matches!(view::<f64>(&x), Err(numr::Error::DType { .. })));
    assert!(matches!(to_array::<f64, _>(&x), Err(numr::Error::DType { .. })));
    let truths = to_array::<bool, _>(&x.gt(0.0).unwrap()).unwrap();
    assert_eq!(truths.iter().filter(|&&v| v).count(), 20);
    let any: ArrayD<f32> = to_array(&x.to::<AnyRuntime>(&Device::parse("cpu").unwrap()).unwrap()).unwrap();
    assert_eq!(any, view::<f32>(&x).unwrap());
}

#[test]
fn json_returns_what_it_was_given() {
    for dtype in DType::ALL {
        for x in views(&counted(dtype)) {
            let text = serde_json::to_string(&x).unwrap();
            let y: T = serde_json::from_str(&text).unwrap();
            assert_eq!(
                (y.shape(), y.dtype(), y.to_bytes().unwrap()),
                (x.shape(), dtype, x.to_bytes().unwrap()),
                "{text}"
            );
        }
    }
    let x = T::from_slice(&[0.1f32, f32::NAN, f32::INFINITY, -0.0], &[2, 2], &cpu());
    let text = serde_json::to_string(&x).unwrap();
    assert_eq!(text, r#"{"dtype":"f32","shape":[2,2],"values":[0.1,"NaN","inf",-0.0]}"#);
    let back = serde_json::from_str::<T>(&text).unwrap().to_vec::<f32>();
    assert!(back[0] == 0.1 && back[1].is_nan() && back[2] == f32::INFINITY && back[3].is_sign_negative());
    let x = T::from_slice(&[u64::MAX, 1], &[2], &cpu());
    assert_eq!(serde_json::from_str::<T>(&serde_json::to_string(&x).unwrap()).unwrap().to_vec::<u64>(), [u64::MAX, 1]);
    let z = T::from_slice(&[Complex::new(1.5, f64::NEG_INFINITY)], &[], &cpu());
    assert_eq!(serde_json::to_string(&z).unwrap(), r#"{"dtype":"c128","shape":[],"values":[[1.5,"-inf"]]}"#);
}

#[test]
fn json_that_is_no_tensor_is_refused() {
    for (text, part) in [
        (r#"{"dtype":"f31","shape":[0],"values":[]}"#, "f31"),
        (r#"{"dtype":"f32","shape":[3],"values":[1,2]}"#, "[3]"),
        (r#"{"dtype":"f32","shape":[9223372036854775807,4],"values":[]}"#, "9223372036854775807"),
        (r#"{"dtype":"u8","shape":[1],"values":[256]}"#, "u8"),
        (r#"{"dtype":"u8","shape":[1],"values":[-1]}"#, "u8"),
        (r#"{"dtype":"i32","shape":[1],"values":[1.5]}"#, "i32"),
        (r#"{"dtype":"bool","shape":[1],"values":[1]}"#, "bool"),
        (r#"{"dtype":"f32","shape":[1],"values":["word"]}"#, "f32"),
        (r#"{"dtype":"c64","shape":[1],"values":[1.0]}"#, "c64"),
        (r#"{"dtype":"f32","shape":[1]}"#, "values"),
        (r#"{"dtype":"f32","shape":[-1],"values":[]}"#, "-1"),
    ] {
        let error = serde_json::from_str::<T>(text).expect_err(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}
