//! Random numbers: the one definition that every backend matches.
//!
//! Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011) is a bijection of
//! 128-bit counters under a 64-bit key. Element i of a draw takes the block of counter (i, stream): it depends on the key
//! and its own index alone, whatever device or thread makes it. The function is written over [`Int`], so that the
//! host's lanes and the kernels of every device run this text.

use crate::scalar::Int;
use crate::scalar::lane::U32;
use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// The Philox4x32 block function with this many rounds (10 is the usual number) on 32-bit words.
pub fn philox4x32<T: Int>(rounds: usize, counter: [T; 4], key: [T; 2]) -> [T; 4] {
    const MULTIPLIERS: [i64; 2] = [0xD251_1F53, 0xCD9E_8D57];
    // The golden ratio and √3 - 1, as 32-bit fractions.
    const WEYL: [i64; 2] = [0x9E37_79B9, 0xBB67_AE85];
    let [m0, m1] = MULTIPLIERS.map(T::int);
    let ([mut c0, mut c1, mut c2, mut c3], [mut k0, mut k1]) = (counter, key);
    for round in 0..rounds {
        if round > 0 {
            (k0, k1) = (k0 + T::int(WEYL[0]), k1 + T::int(WEYL[1]));
        }
        (c0, c1, c2, c3) = (c2.mul_hi(m1) ^ c1 ^ k0, c2 * m1, c0.mul_hi(m0) ^ c3 ^ k1, c0 * m0);
    }
    [c0, c1, c2, c3]
}

/// Where a random draw comes from: the same key gives the same numbers, on every device. Use a key once, and
/// [`Key::split`] it for more.
///
/// ```
/// use numr_core::rng::Key;
/// let [a, b] = Key::new(7).split();
/// assert_ne!(a, b);
/// assert_eq!(Key::new(7).split(), [a, b]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    seed: u64,
    stream: u64,
}

fn halves(v: u64) -> [u32; 2] {
    [v as u32, (v >> 32) as u32]
}

fn joined(low: U32, high: U32) -> u64 {
    u64::from(low.0) | u64::from(high.0) << 32
}

impl Key {
    /// The key of a seed.
    pub const fn new(seed: u64) -> Key {
        Key { seed, stream: 0 }
    }

    /// The key of a stream of its own under a seed.
    pub const fn with_stream(seed: u64, stream: u64) -> Key {
        Key { seed, stream }
    }

    /// `N` keys, independent of each other and of this one's numbers.
    pub fn split<const N: usize>(self) -> [Key; N] {
        std::array::from_fn(|k| self.child(k as u64))
    }

    /// The k-th key under this one: for loops.
    pub fn child(self, k: u64) -> Key {
        // Another key than the draws have, so that no child is made of numbers that a draw shows.
        const APART: u64 = 0x6b65_7973_2061_7061;
        let ([k0, k1], [c0, c1], [s0, s1]) = (halves(self.seed ^ APART), halves(k), halves(self.stream));
        let [a, b, c, d] = philox4x32(10, [c0, c1, s0, s1].map(U32), [k0, k1].map(U32));
        Key { seed: joined(a, b), stream: joined(c, d) }
    }

    /// The key of the next draw of this thread's generator, which ops without a key use.
    pub fn next() -> Key {
        GENERATOR.with(|g| {
            let key = g.get();
            g.set(Key { stream: key.stream.wrapping_add(1), ..key });
            key
        })
    }

    /// The words that a kernel takes as arguments: key, then stream.
    pub(crate) fn words(self) -> [u32; 4] {
        let ([k0, k1], [s0, s1]) = (halves(self.seed), halves(self.stream));
        [k0, k1, s0, s1]
    }
}

thread_local! {
    /// One for each thread, so that a thread's numbers do not depend on what others draw.
    static GENERATOR: Cell<Key> = Cell::new(Key::new(RandomState::new().build_hasher().finish()));
}

/// Sets this thread's generator, which ops without a key use. Unset, it starts anywhere.
pub fn seed(seed: u64) {
    GENERATOR.with(|g| g.set(Key::new(seed)));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers of the Random123 library.
    #[test]
    fn philox_known_answers() {
        let run = |rounds, c: [u32; 4], k: [u32; 2]| philox4x32(rounds, c.map(U32), k.map(U32)).map(|w| w.0);
        let ones = u32::MAX;
        assert_eq!(run(10, [0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        let pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        let out = [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1];
        assert_eq!(run(10, pi, [0xa409_3822, 0x299f_31d0]), out);
        assert_eq!(run(7, [0; 4], [0; 2]), [0x5f6f_b709, 0x0d89_3f64, 0x4f12_1f81, 0x4f73_0a48]);
        assert_eq!(run(7, [ones; 4], [ones; 2]), [0x5207_ddc2, 0x4516_5e59, 0x4d8e_e751, 0x8c52_f662]);
    }

    #[test]
    fn a_seeded_thread_repeats_itself() {
        seed(3);
        let first = [Key::next(), Key::next()];
        seed(3);
        assert_eq!([Key::next(), Key::next()], first);
        assert_ne!(first[0], first[1]);
    }

    #[test]
    fn children_differ() {
        let mut seen: Vec<Key> = (0..1000).map(|k| Key::new(1).child(k)).collect();
        seen.push(Key::new(1));
        seen.sort_by_key(|k| (k.seed, k.stream));
        seen.dedup();
        assert_eq!(seen.len(), 1001);
    }
}
