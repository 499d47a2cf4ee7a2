//! The first things: every dtype goes there and back, and an index out of range comes to light when someone waits.

use numr_core::{DType, Error, Tensor};
use numr_wgpu::{WgpuDevice, WgpuRuntime};

type T = Tensor<WgpuRuntime>;

/// The first adapter; a printed skip, or a failure where `NUMR_REQUIRE` names `wgpu`.
fn device() -> Option<WgpuDevice> {
    match WgpuDevice::new(0) {
        Ok(device) => Some(device),
        Err(error) => {
            let required = std::env::var("NUMR_REQUIRE").unwrap_or_default();
            assert!(!required.split(',').any(|w| w.trim() == "wgpu"), "{error}");
            eprintln!("SKIPPED: no wgpu: {error}");
            None
        }
    }
}

#[test]
fn there_and_back() {
    let Some(device) = device() else { return };
    let x = T::from_slice(&[1.0f32, -2.0, f32::INFINITY], &[3], &device);
    assert_eq!(x.to_vec::<f32>(), [1.0, -2.0, f32::INFINITY]);
    assert_eq!(x.add(&x).expect("add").to_vec::<f32>(), [2.0, -4.0, f32::INFINITY]);
    let bytes = T::from_slice(&[1u8, 2, 255], &[3], &device);
    assert_eq!(bytes.add(&bytes).expect("add").to_vec::<u8>(), [2, 4, 254]);
    let m = T::from_slice(&[1i64, 2, 3, 4, 5, 6], &[2, 3], &device);
    assert_eq!(m.t().expect("t").to_vec::<i64>(), [1, 4, 2, 5, 3, 6]);
    let nothing = T::from_slice::<f32>(&[], &[0, 3], &device);
    assert_eq!(nothing.exp().expect("exp").shape(), [0, 3]);
}

#[test]
fn many_launches_and_many_threads() {
    let Some(device) = device() else { return };
    let work = |start: f32| {
        let mut x = T::full(&[100], f64::from(start), DType::F32, &device);
        for _ in 0..300 {
            x = x.add(1.0).expect("add");
        }
        assert_eq!(x.to_vec::<f32>(), [start + 300.0; 100]);
    };
    std::thread::scope(|s| {
        (0..3).for_each(|k| drop(s.spawn(move || work(k as f32 * 10.0))));
    });
}

#[test]
fn an_index_out_of_range() {
    let Some(device) = device() else { return };
    let x = T::from_slice(&[1.0f32, 2.0, 3.0], &[3], &device);
    let index = T::from_slice(&[0i64, 3], &[2], &device);
    let y = x.gather(0, &index).expect("it is not seen yet");
    match y.try_to_vec::<f32>() {
        Err(Error::Index { op: "gather", index: 3, size: 3 }) => {}
        other => panic!("{other:?}"),
    }
    // The device goes on.
    assert_eq!(x.mul(2.0).expect("mul").to_vec::<f32>(), [2.0, 4.0, 6.0]);
}

#[test]
fn an_index_beyond_32_bits() {
    let Some(device) = device() else { return };
    let x = T::from_slice(&[1.0f32, 2.0, 3.0], &[3], &device);
    // Their low halves are 0, 2 and -1, which are in range.
    for wide in [1i64 << 32, (1 << 40) + 2, i64::MIN, (1 << 32) - 1] {
        let index = T::from_slice(&[1i64, wide], &[2], &device);
        match x.gather(0, &index).expect("it is not seen yet").try_to_vec::<f32>() {
            Err(Error::Index { op: "gather", index, size: 3 }) => assert_eq!(index, wide),
            other => panic!("{wide}: {other:?}"),
        }
    }
    let last = T::from_slice(&[-1i64, -3], &[2], &device);
    assert_eq!(x.gather(0, &last).expect("gather").to_vec::<f32>(), [3.0, 1.0]);
}

#[test]
fn the_error_names_the_op_that_read_the_index() {
    let Some(device) = device() else { return };
    let x = T::from_slice(&[1.0f32, 2.0, 3.0], &[3], &device);
    let good = T::from_slice(&[0i64, 2], &[2], &device);
    let bad = T::from_slice(&[0i64, -4], &[2], &device);
    // Both wait in one batch.
    let read = x.gather(0, &good).expect("gather");
    let written = x.scatter(0, &bad, &read).expect("it is not seen yet");
    match written.try_to_vec::<f32>() {
        Err(Error::Index { op: "scatter", index: -4, size: 3 }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(x.scatter(0, &good, &read).expect("scatter").to_vec::<f32>(), [1.0, 2.0, 3.0]);
}

#[test]
fn products_of_any_size_and_layout() {
    let Some(device) = device() else { return };
    // Small whole numbers: sums are exact in any order.
    let value = |i: usize, j: usize| ((i * 7 + j * 3) % 11) as f32 - 5.0;
    for [m, k, n] in [[1, 1, 1], [16, 16, 16], [17, 33, 5], [64, 64, 64], [65, 7, 130], [3, 100, 1]] {
        let left: Vec<f32> = (0..m * k).map(|at| value(at / k, at % k)).collect();
        let right: Vec<f32> = (0..k * n).map(|at| value(at % n, at / n)).collect();
        let want: Vec<f32> =
            (0..m * n).map(|at| (0..k).map(|p| left[at / n * k + p] * right[p * n + at % n]).sum()).collect();
        let a = T::from_slice(&left, &[m, k], &device);
        let b = T::from_slice(&right, &[k, n], &device);
        assert_eq!(a.matmul(&b).expect("matmul").to_vec::<f32>(), want, "{m} {k} {n}");
        // Transposed in memory, and a batch that shares its right side.
        let stored = |t: &T| t.t().and_then(|t| t.contiguous().t()).expect("transpose");
        assert_eq!(stored(&a).matmul(&stored(&b)).expect("matmul").to_vec::<f32>(), want, "{m} {k} {n} transposed");
        let batch = T::stack(&[&a, &a.neg().expect("neg")], 0).expect("stack");
        let got = batch.matmul(&b).expect("matmul").to_vec::<f32>();
        let negated: Vec<f32> = want.iter().map(|v| -v).collect();
        assert_eq!((&got[..m * n], &got[m * n..]), (&want[..], &negated[..]), "{m} {k} {n} batch");
    }
}

#[test]
fn a_thin_product_has_the_bits_of_a_tiled_one() {
    let Some(device) = device() else { return };
    let (m, k, n) = (40, 77, 40);
    let values = |count: usize, step: f32| (0..count).map(|i| (i as f32 * step).sin()).collect::<Vec<f32>>();
    let (left, right) = (values(m * k, 0.37), values(k * n, 0.73));
    let b = T::from_slice(&right, &[k, n], &device);
    let product = |rows: usize| {
        let a = T::from_slice(&left[..rows * k], &[rows, k], &device);
        a.matmul(&b).expect("matmul").to_vec::<f32>()
    };
    // Eight rows are too few for a tile.
    let bits = |v: &[f32]| v.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
    assert_eq!(bits(&product(8)), bits(&product(m)[..8 * n]));
}

#[test]
fn too_large() {
    let Some(device) = device() else { return };
    match T::try_zeros(&[1 << 40], DType::F32, &device) {
        Err(Error::OutOfMemory { .. } | Error::Unsupported { .. }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(T::ones(&[2], DType::F32, &device).to_vec::<f32>(), [1.0, 1.0]);
}
