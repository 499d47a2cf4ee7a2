//! Element-wise expressions.

use numr_core::{DType, Tensor};
use numr_cpu::{CpuDevice, CpuRuntime};

type T = Tensor<CpuRuntime>;
const CPU: CpuDevice = CpuDevice::new();

#[test]
fn add_and_views() {
    let x = T::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3], &CPU);
    let y = x.add(&x).expect("add");
    assert_eq!(y.to_vec::<f32>(), [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
    let t = x.t().expect("t");
    assert_eq!(t.to_vec::<f32>(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    assert_eq!(t.add(1.5).expect("add").to_vec::<f32>(), [2.5, 5.5, 3.5, 6.5, 4.5, 7.5]);
    let z = T::zeros(&[3], DType::F32, &CPU);
    assert_eq!(x.sub(&z).expect("sub").to_vec::<f32>(), x.to_vec::<f32>());
    assert_eq!(x.cast(DType::I64).expect("cast").to_vec::<i64>(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(x.gt(3).expect("gt").to_vec::<bool>(), [false, false, false, true, true, true]);
    assert_eq!(x.flip(1).expect("flip").neg().expect("neg").to_vec::<f32>(), [-3.0, -2.0, -1.0, -6.0, -5.0, -4.0]);
}
