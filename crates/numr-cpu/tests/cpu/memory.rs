//! Blocks and the cache.

use super::sample::{CPU, T};
use numr_core::{DType, Error};
use numr_cpu::storage::Buffer;

#[test]
fn freed_blocks_come_back() {
    for bytes in [100usize, 5_000_000] {
        let first = Buffer::new(bytes).expect("memory");
        let at = first.slice::<u8>().as_ptr();
        assert_eq!(at as usize % 64, 0);
        assert!(first.slice::<u8>().len() == bytes);
        drop(first);
        if bytes < 1000 {
            // Nobody else takes from this thread's own blocks.
            assert_eq!(Buffer::new(bytes).expect("memory").slice::<u8>().as_ptr(), at);
        }
    }
    assert!(numr_cpu::memory_stats().reserved >= numr_cpu::memory_stats().cached);
}

#[test]
fn what_does_not_fit_is_an_error() {
    for shape in [vec![1usize << 62], vec![1 << 31, 1 << 31], vec![1 << 46]] {
        match T::try_zeros(&shape, DType::F64, &CPU) {
            Err(Error::OutOfMemory { .. } | Error::Argument { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    // The device works on.
    assert_eq!(T::ones(&[3], DType::F32, &CPU).to_vec::<f32>(), [1.0; 3]);
}

#[test]
fn storage_crosses_threads() {
    let x = T::from_slice(&[1.0f64; 1000], &[1000], &CPU);
    let handles: Vec<_> = (0..4)
        .map(|k| {
            let x = x.clone();
            std::thread::spawn(move || x.mul(f64::from(k)).expect("mul"))
        })
        .collect();
    for (k, h) in handles.into_iter().enumerate() {
        let y = h.join().expect("thread");
        assert_eq!(y.to_vec::<f64>(), [k as f64; 1000]);
    }
}
