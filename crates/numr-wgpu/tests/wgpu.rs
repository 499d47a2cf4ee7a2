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

/// Long enough to be sorted, and for several rounds of those that go to one place; the CPU's order is the index's.
#[test]
fn scatter_takes_many_to_one_place_in_order() {
    let Some(device) = device() else { return };
    for (n, size) in [(33, 5), (1000, 7), (40_000, 2), (100, 1000)] {
        let at = |i: usize| (i * i + 3 * i) % size;
        let index: Vec<i64> = (0..n).map(|i| at(i) as i64 - if i % 3 == 0 { size as i64 } else { 0 }).collect();
        let values: Vec<f32> = (0..n).map(|i| (i as f32 * 0.37).sin()).collect();
        let (mut last, mut sum) = (vec![0.5f32; size], vec![0.5f32; size]);
        for i in 0..n {
            last[at(i)] = values[i];
            sum[at(i)] += values[i];
        }
        let base = T::full(&[size], 0.5, DType::F32, &device);
        let (index, values) = (T::from_slice(&index, &[n], &device), T::from_slice(&values, &[n], &device));
        assert_eq!(base.scatter(0, &index, &values).expect("scatter").to_vec::<f32>(), last, "{n} to {size}");
        assert_eq!(base.scatter_add(0, &index, &values).expect("scatter_add").to_vec::<f32>(), sum, "{n} to {size}");
        // Along the first axis of a matrix, one index for all columns, or one for each.
        let columns = |t: &T| t.reshape(&[n, 1]).and_then(|t| t.broadcast_to(&[n, 3])).expect("columns");
        let base = T::full(&[size, 3], 0.5, DType::F32, &device);
        let want: Vec<f32> = sum.iter().flat_map(|&v| [v; 3]).collect();
        for index in [columns(&index), columns(&index).contiguous()] {
            let got = base.scatter_add(0, &index, &columns(&values)).expect("scatter_add");
            assert_eq!(got.to_vec::<f32>(), want, "{n} to {size}, columns");
        }
        let index = T::full(&[n], size as f64, DType::I64, &device);
        let wrong = base.narrow(1, 0, 1).and_then(|b| b.reshape(&[size])).expect("a column");
        let wrong = wrong.scatter(0, &index, &values).expect("it is not seen yet").try_to_vec::<f32>();
        assert!(matches!(wrong, Err(Error::Index { op: "scatter", .. })), "{wrong:?}");
    }
}

/// The primitive: row-major places.
fn flat(x: &T) -> numr_core::Result<T> {
    T::run_one(&numr_core::Prim::Nonzero, &[x])
}

#[test]
fn nonzero_finds_the_places() {
    let Some(device) = device() else { return };
    for n in [0, 1, 63, 1000, 70_000] {
        let values: Vec<f32> = (0..n).map(|i| if i % 7 < 3 { 0.0 } else { i as f32 - 500.0 }).collect();
        let want: Vec<i64> = (0..n).filter(|&i| values[i] != 0.0).map(|i| i as i64).collect();
        let x = T::from_slice(&values, &[n], &device);
        assert_eq!(flat(&x).expect("nonzero").to_vec::<i64>(), want, "{n}");
    }
    let x = T::from_slice(&[f32::NAN, -0.0, 0.0, f32::INFINITY], &[2, 2], &device);
    let places = x.t().and_then(|x| flat(&x)).expect("nonzero");
    assert_eq!(places.to_vec::<i64>(), [0, 3]);
}

/// What indices are for needs no 64-bit arithmetic, and what does says so.
#[test]
fn an_adapter_without_64_bits() {
    const KNOB: &str = "NUMR_WGPU_WITHOUT";
    if std::env::var_os(KNOB).is_none() {
        // Adapters are opened once in a process.
        let run = std::process::Command::new(std::env::current_exe().expect("this test"))
            .args(["an_adapter_without_64_bits", "--exact", "--nocapture"])
            .env(KNOB, "int64,f64")
            .output()
            .expect("a process");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        return;
    }
    let Some(device) = device() else { return };
    let (least, far) = (i64::MIN, 0x7ff0_0000_0000_0001);
    let i = T::from_slice(&[2i64, least, far, -1], &[2, 2], &device);
    assert_eq!(i.t().expect("t").contiguous().to_vec::<i64>(), [2, far, least, -1]);
    let stacked = T::cat(&[&i, &i.flip([0]).expect("flip")], 1).expect("concat");
    assert_eq!(stacked.to_vec::<i64>(), [2, least, far, -1, far, -1, 2, least]);
    let index = T::from_slice(&[1i64, -2], &[2], &device);
    let tables = T::from_slice(&[1.5f64, -0.0], &[2], &device);
    assert_eq!(tables.gather(0, &index).expect("gather").to_vec::<f64>(), [-0.0, 1.5]);
    let x = T::from_slice(&[3.0f32, f32::NAN, -1.0, 7.0], &[4], &device);
    let (sorted, order) = x.sort_with_indices(0, false).expect("sort");
    assert_eq!((sorted.to_vec::<f32>()[..3].to_vec(), order.to_vec::<i64>()), (vec![-1.0, 3.0, 7.0], vec![2, 0, 3, 1]));
    assert_eq!(x.gather(0, &order).expect("gather").to_vec::<f32>()[..3], [-1.0, 3.0, 7.0]);
    assert_eq!(x.argmax(0, false).expect("argmax").to_vec::<i64>(), [1]);
    assert_eq!(flat(&x).expect("nonzero").to_vec::<i64>(), [0, 1, 2, 3]);
    let many = T::from_slice(&(0..100).map(|k| k % 3).collect::<Vec<i64>>(), &[100], &device);
    let ones = T::ones(&[100], DType::F32, &device);
    let counts = T::zeros(&[3], DType::F32, &device).scatter_add(0, &many, &ones).expect("scatter_add");
    assert_eq!(counts.to_vec::<f32>(), [34.0, 33.0, 33.0]);
    for (t, word) in [(i.add(&i), "SHADER_INT64"), (tables.exp(), "SHADER_F64")] {
        assert!(matches!(&t, Err(Error::Unsupported { reason, .. }) if reason.contains(word)), "{t:?}");
    }
}

/// A process that ends while its work is compiled or run: it must end well, not by a signal.
#[test]
fn a_process_may_end_while_the_device_works() {
    const KNOB: &str = "NUMR_TEST_ENDS";
    if let Ok(k) = std::env::var(KNOB) {
        let (Some(device), Ok(k)) = (device(), k.parse::<u32>()) else { return };
        let x = T::ones(&[1 << (8 + k % 8)], DType::F64, &device);
        let y = x.sin().and_then(|y| y.exp()).and_then(|y| y.tanh()).expect("maps");
        // An upload submits what waits; nobody waits for it.
        let _more = T::from_slice(&[f64::from(k)], &[1], &device).add(&y);
        return;
    }
    if device().is_none() {
        return;
    }
    for k in 0..20 {
        let run = std::process::Command::new(std::env::current_exe().expect("this test"))
            .args(["a_process_may_end_while_the_device_works", "--exact"])
            .env(KNOB, k.to_string())
            .output()
            .expect("a process");
        assert!(run.status.success(), "run {k}: {}", run.status);
    }
}
