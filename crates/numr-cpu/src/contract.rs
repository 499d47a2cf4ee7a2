//! Batched matrix products.
//!
//! Large real and complex products go to faer, with their strides, tile by tile; the tiles follow from the sizes
//! alone, so that results do not depend on the number of threads. What faer is slow at has loops here: a few rows
//! against a large matrix, which is read once at the speed of memory, and tiny products. Integers, which wrap, and
//! bool (or of and) run through the loop for few rows.

use numr_core::element::Complex;
use numr_core::layout::coalesce;
use numr_core::prim::{Meta, Prim};
use numr_core::runtime::Support;
use numr_core::{DType, Error, Result, Tensor};

use crate::CpuRuntime;
use crate::convert::{Truth, first};
use crate::cursor::Cursor;
use crate::isa::{self, Work};
use crate::storage::Buffer;
use crate::threads::parallel;

/// Rows that share one pass over the matrix.
const ROWS: usize = 8;
/// Elements of a strip of the result: 8 rows of it are half of the first cache.
const STRIP: usize = 512;
/// Partial sums of a dot product.
const LANES: usize = 64;
/// Products of fewer multiplications are a plain loop.
const TINY: usize = 128;

/// Every product that `Prim::infer` accepts.
pub(crate) fn supports(_: DType, _: &[DType]) -> Support {
    Support::Native
}

/// `[.., m, k] · [.., k, n] -> [.., m, n]`.
pub(crate) fn contract(a: &Tensor<CpuRuntime>, b: &Tensor<CpuRuntime>, out: &Meta) -> Result<Tensor<CpuRuntime>> {
    let compute = out.dtype.compute();
    if a.dtype() != compute {
        // Exact but for an integer that a float cannot hold; narrow floats are so accumulated in f32 and rounded once.
        let wide = Meta { shape: out.shape.clone(), dtype: compute };
        return contract(&a.cast(compute)?, &b.cast(compute)?, &wide)?.cast(out.dtype);
    }
    match out.dtype {
        DType::F64 => product::<f64>(a, b, out),
        DType::F32 => product::<f32>(a, b, out),
        DType::Complex64 => product::<Complex<f32>>(a, b, out),
        DType::Complex128 => product::<Complex<f64>>(a, b, out),
        // Wrapping arithmetic is the same with and without sign.
        DType::I64 | DType::U64 => product::<i64>(a, b, out),
        DType::I32 | DType::U32 => product::<i32>(a, b, out),
        DType::I16 | DType::U16 => product::<i16>(a, b, out),
        DType::I8 | DType::U8 => product::<i8>(a, b, out),
        DType::Bool => product::<Truth>(a, b, out),
        narrow => Err(Error::dtype("matmul", &[narrow], "a dtype that is computed with")),
    }
}

/// What a product computes with.
trait Ring: Copy + Send + Sync + 'static {
    /// The sum of nothing.
    const ZERO: Self;
    /// Is it a real number, for which the loops here are worth it?
    const REAL: bool = false;
    /// Is there a way for large products?
    const LARGE: bool = false;
    /// The product of nothing.
    const ONE: Self;
    /// `self * b + c`.
    fn mul_add<const FMA: bool>(self, b: Self, c: Self) -> Self;
    /// A large product.
    fn large(mats: &Mats<Self>) {
        tiny(mats);
    }
}

macro_rules! float_ring {
    ($($t:ty, $real:literal, $zero:expr, $one:expr, |$a:ident, $b:ident, $c:ident| $plain:expr, $fused:expr;)*) => {$(
        impl Ring for $t {
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            const REAL: bool = $real;
            const LARGE: bool = true;
            #[inline(always)]
            fn mul_add<const FMA: bool>(self, b: Self, c: Self) -> Self {
                let ($a, $b, $c) = (self, b, c);
                if FMA { $fused } else { $plain }
            }
            fn large(m: &Mats<Self>) {
                // SAFETY: `Mats` says that all elements are there, and that those of the result are ours alone.
                unsafe {
                    faer::linalg::matmul::matmul(
                        faer::MatMut::from_raw_parts_mut(m.c, m.m, m.n, m.c_row, m.c_col),
                        faer::Accum::Replace,
                        faer::MatRef::from_raw_parts(m.a, m.m, m.k, m.a_row, m.a_col),
                        faer::MatRef::from_raw_parts(m.b, m.k, m.n, m.b_row, m.b_col),
                        $one,
                        faer::Par::Seq,
                    );
                }
                clean_vector_state();
            }
        }
    )*};
}
float_ring! {
    f32, true, 0.0, 1.0, |a, b, c| a * b + c, f32::mul_add(a, b, c);
    f64, true, 0.0, 1.0, |a, b, c| a * b + c, f64::mul_add(a, b, c);
    Complex<f32>, false, Complex { re: 0.0, im: 0.0 }, Complex { re: 1.0, im: 0.0 }, |a, b, c| a * b + c, a * b + c;
    Complex<f64>, false, Complex { re: 0.0, im: 0.0 }, Complex { re: 1.0, im: 0.0 }, |a, b, c| a * b + c, a * b + c;
}

macro_rules! int_ring {
    ($($t:ty),*) => {$(
        impl Ring for $t {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            #[inline(always)]
            fn mul_add<const FMA: bool>(self, b: Self, c: Self) -> Self {
                self.wrapping_mul(b).wrapping_add(c)
            }
        }
    )*};
}
int_ring!(i8, i16, i32, i64);

impl Ring for Truth {
    const ZERO: Self = Truth(0);
    const ONE: Self = Truth(1);
    #[inline(always)]
    fn mul_add<const FMA: bool>(self, b: Self, c: Self) -> Self {
        Truth(self.0 & b.0 | c.0)
    }
}

/// Leaves the upper halves of the vector registers clean. faer's AVX-512 kernels return with them dirty, after which
/// code compiled for SSE (libm's, or a dependent crate's own) ran up to four times slower on the thread.
fn clean_vector_state() {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx")]
        fn zero_upper() {
            std::arch::x86_64::_mm256_zeroupper();
        }
        if isa::isa() >= isa::Isa::Avx2 || is_x86_feature_detected!("avx") {
            // SAFETY: the processor has AVX.
            unsafe { zero_upper() };
        }
    }
}

/// Two matrices and their product: first elements, sizes and strides. Whoever makes one answers for it that all
/// elements lie inside their storages, and that those of `c` are nobody else's.
#[derive(Clone, Copy)]
struct Mats<K> {
    a: *const K,
    a_row: isize,
    a_col: isize,
    b: *const K,
    b_row: isize,
    b_col: isize,
    c: *mut K,
    c_row: isize,
    c_col: isize,
    m: usize,
    k: usize,
    n: usize,
}

impl<K> Mats<K> {
    /// The transposed product, `cᵀ = bᵀ aᵀ`.
    fn transposed(self) -> Self {
        Mats {
            a: self.b,
            a_row: self.b_col,
            a_col: self.b_row,
            b: self.a,
            b_row: self.a_col,
            b_col: self.a_row,
            c_row: self.c_col,
            c_col: self.c_row,
            m: self.n,
            n: self.m,
            ..self
        }
    }

    /// A part of the result and what goes into it.
    fn tile(self, row: usize, rows: usize, col: usize, cols: usize) -> Self {
        let at = |i: usize, stride: isize| i as isize * stride;
        Mats {
            a: self.a.wrapping_offset(at(row, self.a_row)),
            b: self.b.wrapping_offset(at(col, self.b_col)),
            c: self.c.wrapping_offset(at(row, self.c_row) + at(col, self.c_col)),
            m: rows.min(self.m - row),
            n: cols.min(self.n - col),
            ..self
        }
    }
}

/// Which loop a product takes.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Tiny,
    /// Few rows, over the rows of b.
    Rows,
    /// Few rows, over the columns of b.
    Dots,
    Large,
}

fn product<K: Ring>(a: &Tensor<CpuRuntime>, b: &Tensor<CpuRuntime>, out: &Meta) -> Result<Tensor<CpuRuntime>> {
    let (da, db) = (a.ndim() - 2, b.ndim() - 2);
    let (m, k, n) = (a.shape()[da], a.shape()[da + 1], b.shape()[db + 1]);
    let mut buffer = Buffer::for_meta(out)?;
    let done = |buffer: Buffer| Ok(buffer.into_tensor(out.shape.clone(), out.dtype));
    if buffer.is_empty() {
        return done(buffer);
    }
    if k == 0 {
        buffer.slice_mut::<u8>().fill(0);
        return done(buffer);
    }
    // One matrix on the right, and rows on the left that are evenly spaced: one product.
    let (rows, row_strides) = coalesce(&a.shape()[..=da], &[&a.strides()[..=da]]);
    let one_right = b.shape()[..db].iter().all(|&d| d == 1);
    let merged = one_right && rows.len() <= 1;
    let batch = if merged { &[][..] } else { &out.shape[..out.shape.len() - 2] };
    let stride = |s: Option<&isize>| s.copied().unwrap_or(0);
    let mut mats = Mats::<K> {
        a: first(a)?.cast(),
        a_row: if merged { stride(row_strides[0].last()) } else { a.strides()[da] },
        a_col: a.strides()[da + 1],
        b: first(b)?.cast(),
        b_row: b.strides()[db],
        b_col: b.strides()[db + 1],
        c: buffer.slice_mut::<u8>().as_mut_ptr().cast(),
        c_row: n as isize,
        c_col: 1,
        m: if merged { rows.iter().product() } else { m },
        k,
        n,
    };
    let apart = mats.m * mats.n;
    let transposed = K::REAL && mats.n <= ROWS && mats.m > mats.n;
    if transposed {
        mats = mats.transposed();
    }
    let side = if mats.m.max(mats.n) > 2048 { 512 } else { 256 };
    let (way, tile_m, tile_n) = match mats {
        Mats { m, n, .. } if m * n * k <= TINY => (Way::Tiny, m, n),
        Mats { m, n, b_row: 1, .. } if m <= ROWS && n < ROWS && K::REAL => (Way::Dots, m, n),
        Mats { m, n, b_col: 1, .. } if m <= ROWS && K::REAL => (Way::Rows, m, STRIP.min(n)),
        Mats { m, n, b_row: 1, .. } if m <= ROWS && K::REAL => (Way::Dots, m, n.min(1 + (1 << 16) / k)),
        Mats { m, n, .. } if K::LARGE => (Way::Large, side.min(m), side.min(n)),
        Mats { m, n, b_col: 1, .. } => (Way::Rows, m.min(64), STRIP.min(n)),
        _ => return product::<K>(a, &Tensor::run_one(&Prim::Contiguous, &[b])?, out),
    };
    let zeros = vec![0; batch.len()];
    let spread = |t: &Tensor<CpuRuntime>, d: usize| -> Vec<isize> {
        let mut strides = zeros.clone();
        let lead = batch.len().saturating_sub(d);
        for (s, (&size, &stride)) in strides[lead..].iter_mut().zip(t.shape().iter().zip(t.strides())) {
            *s = if size == 1 { 0 } else { stride };
        }
        strides
    };
    let (mut a_steps, mut b_steps) = (spread(a, da), spread(b, db));
    if transposed {
        std::mem::swap(&mut a_steps, &mut b_steps);
    }
    let per_row = mats.n.div_ceil(tile_n);
    let tiles = mats.m.div_ceil(tile_m) * per_row;
    let batches: usize = batch.iter().product();
    let shared = Shared(mats);
    let work = batches.saturating_mul(apart).saturating_mul(k) / 16;
    // Tiny products share a job, so that its start is not what takes the time.
    let group = (1024 / (apart * k)).max(1).min(batches);
    let jobs = batches.div_ceil(group) * tiles;
    parallel(jobs, work, |job| {
        let mats = shared.get();
        let (first, tile) = (job / tiles * group, job % tiles);
        let mut cursor = Cursor::new(batch, [&a_steps, &b_steps], first);
        for at in first..batches.min(first + group) {
            let one = Mats {
                a: mats.a.wrapping_offset(cursor.at[0]),
                b: mats.b.wrapping_offset(cursor.at[1]),
                c: mats.c.wrapping_add(at * apart),
                ..mats
            };
            cursor.advance();
            let mats = one.tile(tile / per_row * tile_m, tile_m, tile % per_row * tile_n, tile_n);
            match way {
                Way::Large => K::large(&mats),
                Way::Tiny => tiny(&mats),
                Way::Rows => isa::run(Rows(mats)),
                Way::Dots => isa::run(Dots(mats)),
            }
        }
    });
    done(buffer)
}

/// Matrices that threads share.
struct Shared<K>(Mats<K>);

impl<K> Shared<K> {
    fn get(&self) -> Mats<K>
    where
        K: Copy,
    {
        self.0
    }
}

// SAFETY: the operands are only read, and each thread writes tiles of its own.
unsafe impl<K: Sync + Send> Sync for Shared<K> {}

/// The plain loop.
fn tiny<K: Ring>(mats: &Mats<K>) {
    for i in 0..mats.m as isize {
        for j in 0..mats.n as isize {
            let mut sum = K::ZERO;
            for l in 0..mats.k as isize {
                // SAFETY: indices below the sizes of `mats`.
                let (x, y) = unsafe {
                    (*mats.a.offset(i * mats.a_row + l * mats.a_col), *mats.b.offset(l * mats.b_row + j * mats.b_col))
                };
                sum = x.mul_add::<false>(y, sum);
            }
            // SAFETY: as above.
            unsafe { mats.c.offset(i * mats.c_row + j * mats.c_col).write(sum) };
        }
    }
}

/// At most a strip of columns, eight rows at a time: b, whose rows are contiguous, streams by, four of its rows at a
/// time, and the sums stay in the first cache.
struct Rows<K>(Mats<K>);

impl<K: Ring> Work for Rows<K> {
    type Out = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let mats = self.0;
        let (k, n) = (mats.k, mats.n.min(STRIP));
        let mut sums = [[K::ZERO; STRIP]; ROWS];
        for top in (0..mats.m).step_by(ROWS) {
            let rows = ROWS.min(mats.m - top);
            for sum in &mut sums[..rows] {
                sum[..n].fill(K::ZERO);
            }
            // SAFETY: row l of b, inside of it, and contiguous.
            let b = |l: usize| unsafe { std::slice::from_raw_parts(mats.b.offset(l as isize * mats.b_row), n) };
            for l in (0..k).step_by(4) {
                for (i, sum) in sums[..rows].iter_mut().enumerate() {
                    // SAFETY: indices below the sizes of `mats`.
                    let a =
                        |l: usize| unsafe { *mats.a.offset((top + i) as isize * mats.a_row + l as isize * mats.a_col) };
                    if l + 4 <= k {
                        let (x, y) = ([a(l), a(l + 1), a(l + 2), a(l + 3)], [b(l), b(l + 1), b(l + 2), b(l + 3)]);
                        for (j, s) in sum[..n].iter_mut().enumerate() {
                            let part = x[1].mul_add::<FMA>(y[1][j], x[0].mul_add::<FMA>(y[0][j], *s));
                            *s = x[3].mul_add::<FMA>(y[3][j], x[2].mul_add::<FMA>(y[2][j], part));
                        }
                    } else {
                        for l in l..k {
                            for (s, &y) in sum[..n].iter_mut().zip(b(l)) {
                                *s = a(l).mul_add::<FMA>(y, *s);
                            }
                        }
                    }
                }
            }
            for (i, sum) in sums[..rows].iter().enumerate() {
                for (j, &s) in sum[..n].iter().enumerate() {
                    // SAFETY: indices below the sizes of `mats`.
                    unsafe {
                        mats.c.offset((top + i) as isize * mats.c_row + j as isize * mats.c_col).write(s);
                    }
                }
            }
        }
    }
}

/// Few rows against the contiguous columns of b: dot products.
struct Dots<K>(Mats<K>);

impl<K: Ring> Work for Dots<K> {
    type Out = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let mats = self.0;
        let (m, k) = (mats.m, mats.k);
        // SAFETY: indices below the sizes of `mats`.
        let a = |i: usize, l: usize| unsafe { *mats.a.offset(i as isize * mats.a_row + l as isize * mats.a_col) };
        let packed: Vec<K> = match mats.a_col {
            1 => Vec::new(),
            _ => (0..m).flat_map(|i| (0..k).map(move |l| a(i, l))).collect(),
        };
        for j in 0..mats.n {
            // SAFETY: column j of b, inside of it, and contiguous.
            let column = unsafe { std::slice::from_raw_parts(mats.b.offset(j as isize * mats.b_col), k) };
            for i in 0..m {
                let row = match mats.a_col {
                    // SAFETY: row i of a, inside of it, and contiguous.
                    1 => unsafe { std::slice::from_raw_parts(mats.a.offset(i as isize * mats.a_row), k) },
                    _ => &packed[i * k..][..k],
                };
                // SAFETY: as above.
                unsafe {
                    mats.c.offset(i as isize * mats.c_row + j as isize * mats.c_col).write(dot::<K, FMA>(row, column));
                }
            }
        }
    }
}

/// Σ aᵢ bᵢ: element i in lane i mod 64, the lanes folded by halves.
#[inline(always)]
fn dot<K: Ring, const FMA: bool>(a: &[K], b: &[K]) -> K {
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut lanes = [K::ZERO; LANES];
    for (x, y) in a.iter().zip(b) {
        for ((lane, &x), &y) in lanes.iter_mut().zip(x).zip(y) {
            *lane = x.mul_add::<FMA>(y, *lane);
        }
    }
    let mut tree = lanes;
    for ((lane, &x), &y) in tree.iter_mut().zip(a_tail).zip(b_tail) {
        *lane = x.mul_add::<FMA>(y, *lane);
    }
    let mut half = LANES / 2;
    while half > 0 {
        for j in 0..half {
            tree[j] = K::ONE.mul_add::<FMA>(tree[j + half], tree[j]);
        }
        half /= 2;
    }
    tree[0]
}
