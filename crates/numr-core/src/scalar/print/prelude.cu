// What printed CUDA C builds on. No header is included; compile with --std=c++17 --fmad=false.
// Integers wrap, x / 0 = 0, MIN / -1 = MIN, and a shift past the width leaves zeros or signs.

// Arithmetic runs on unsigned words of at least 32 bits, where overflow is defined.
template <class T> struct numr_word { typedef unsigned int type; };
template <> struct numr_word<long long> { typedef unsigned long long type; };
template <> struct numr_word<unsigned long long> { typedef unsigned long long type; };
template <class T> struct alignas(2 * sizeof(T)) numr_complex { T re, im; };

template <class T> __device__ inline typename numr_word<T>::type numr_bits(T a) {
    typedef typename numr_word<T>::type W;
    return (W)a & (~(W)0 >> 8 * (sizeof(W) - sizeof(T)));
}
// A choice between a short and its negation compilers take for an instruction that has 32 bits, where the absolute value of
// the least is positive: the difference of shorts is hidden from them.
template <class T> __device__ inline typename numr_word<T>::type numr_less(T a, T b) { return numr_bits(a) - numr_bits(b); }
template <> __device__ inline unsigned int numr_less(short a, short b) {
    unsigned int less = numr_bits(a) - numr_bits(b);
    asm("" : "+r"(less));
    return less;
}
template <class T> __device__ inline T numr_neg(T a) { return (T)numr_less((T)0, a); }
template <class T> __device__ inline T numr_abs(T a) { return a < 0 ? numr_neg(a) : a; }
template <class T> __device__ inline T numr_not(T a) { return (T)~a; }
template <> __device__ inline bool numr_not(bool a) { return !a; }
template <class T> __device__ inline T numr_add(T a, T b) { return (T)(numr_bits(a) + numr_bits(b)); }
template <class T> __device__ inline T numr_sub(T a, T b) { return (T)numr_less(a, b); }
template <class T> __device__ inline T numr_mul(T a, T b) { return (T)(numr_bits(a) * numr_bits(b)); }
template <class T> __device__ inline T numr_div(T a, T b) {
    return b == 0 ? (T)0 : (T)-1 < 0 && b == (T)-1 ? numr_neg(a) : (T)(a / b);
}
template <class T> __device__ inline T numr_rem(T a, T b) {
    return b == 0 || ((T)-1 < 0 && b == (T)-1) ? (T)0 : (T)(a % b);
}
__device__ inline float numr_rem(float a, float b) { return fmodf(a, b); }
__device__ inline double numr_rem(double a, double b) { return fmod(a, b); }
// The larger and the smaller, NaN if either is.
template <class T> __device__ inline T numr_max(T a, T b) { return a > b || a != a ? a : b; }
template <class T> __device__ inline T numr_min(T a, T b) { return a < b || a != a ? a : b; }
// A negative exponent gives 0, but ±1 have a whole inverse.
template <class T> __device__ inline T numr_pow(T a, T b) {
    if (b < 0) {
        return a == 1 || (a == (T)-1 && (b & 1) == 0) ? (T)1 : a == (T)-1 ? a : (T)0;
    }
    T r = 1;
    for (auto n = numr_bits(b); n != 0; n >>= 1) {
        r = n & 1 ? numr_mul(r, a) : r;
        a = numr_mul(a, a);
    }
    return r;
}
template <class T> __device__ inline T numr_shl(T a, T b) {
    return numr_bits(b) < 8 * sizeof(T) ? (T)(numr_bits(a) << numr_bits(b)) : (T)0;
}
template <class T> __device__ inline T numr_shr_logical(T a, T b) {
    return numr_bits(b) < 8 * sizeof(T) ? (T)(numr_bits(a) >> numr_bits(b)) : (T)0;
}
template <class T> __device__ inline T numr_shr(T a, T b) {
    return numr_bits(b) < 8 * sizeof(T) ? (T)(a >> b) : (T)(a < 0 ? -1 : 0);
}
template <class T> __device__ inline T numr_mul_hi(T a, T b) { return (T)(numr_bits(a) * numr_bits(b) >> 8 * sizeof(T)); }
template <> __device__ inline int numr_mul_hi(int a, int b) { return (int)__umulhi(a, b); }
template <> __device__ inline unsigned int numr_mul_hi(unsigned int a, unsigned int b) { return __umulhi(a, b); }
template <> __device__ inline long long numr_mul_hi(long long a, long long b) { return (long long)__umul64hi(a, b); }
template <> __device__ inline unsigned long long numr_mul_hi(unsigned long long a, unsigned long long b) {
    return __umul64hi(a, b);
}
template <class T> __device__ inline T numr_fma(T a, T b, T c) { return numr_add(numr_mul(a, b), c); }
__device__ inline float numr_fma(float a, float b, float c) { return fmaf(a, b, c); }
__device__ inline double numr_fma(double a, double b, double c) { return fma(a, b, c); }
__device__ inline int numr_to_bits(float a) { return __float_as_int(a); }
__device__ inline long long numr_to_bits(double a) { return __double_as_longlong(a); }
__device__ inline float numr_from_bits(int a) { return __int_as_float(a); }
__device__ inline double numr_from_bits(long long a) { return __longlong_as_double(a); }
__device__ inline float numr_root(float a) { return sqrtf(a); }
__device__ inline double numr_root(double a) { return sqrt(a); }

template <class T> using numr_c = numr_complex<T>;
template <class T> __device__ inline numr_c<T> numr_neg(numr_c<T> a) { return {-a.re, -a.im}; }
template <class T> __device__ inline numr_c<T> numr_conj(numr_c<T> a) { return {a.re, -a.im}; }
template <class T> __device__ inline numr_c<T> numr_add(numr_c<T> a, numr_c<T> b) { return {a.re + b.re, a.im + b.im}; }
template <class T> __device__ inline numr_c<T> numr_sub(numr_c<T> a, numr_c<T> b) { return {a.re - b.re, a.im - b.im}; }
template <class T> __device__ inline numr_c<T> numr_mul(numr_c<T> a, numr_c<T> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
// Divides by the larger part of b first (Smith, 1962), so that |b|² cannot overflow; by 0 it gives
// infinities, as by a real number.
template <class T> __device__ inline numr_c<T> numr_div(numr_c<T> a, numr_c<T> b) {
    bool swap = (b.re < 0 ? -b.re : b.re) < (b.im < 0 ? -b.im : b.im);
    T large = swap ? b.im : b.re, small = swap ? b.re : b.im;
    T x = swap ? a.im : a.re, y = swap ? a.re : a.im;
    T ratio = small == 0 ? small : small / large, scale = large + small * ratio;
    return {(x + y * ratio) / scale, (swap ? x * ratio - y : y - x * ratio) / scale};
}
template <class T> __device__ inline bool numr_eq(numr_c<T> a, numr_c<T> b) { return a.re == b.re && a.im == b.im; }
template <class T> __device__ inline T numr_abs(numr_c<T> a) {
    T x = a.re < 0 ? -a.re : a.re, y = a.im < 0 ? -a.im : a.im;
    T high = x < y ? y : x, low = x < y ? x : y, ratio = low / high;
    // An infinite part wins over a NaN.
    T inf = (T)__int_as_float(0x7f800000);
    return x == inf || y == inf ? inf : high == 0 ? high + low : high * numr_root(numr_fma(ratio, ratio, (T)1));
}

// The integer nearest toward zero, within the type's range; 0 for NaN.
template <class F> __device__ inline int numr_sat_i32(F x) {
    return x != x ? 0 : x <= (F)-2147483648.0 ? (int)0x80000000u : x >= (F)2147483648.0 ? 0x7fffffff : (int)x;
}
template <class F> __device__ inline unsigned int numr_sat_u32(F x) {
    return x != x || x <= 0 ? 0u : x >= (F)4294967296.0 ? 0xffffffffu : (unsigned int)x;
}
template <class F> __device__ inline long long numr_sat_i64(F x) {
    return x != x ? 0 : x <= (F)-9223372036854775808.0 ? (long long)0x8000000000000000ull
        : x >= (F)9223372036854775808.0 ? 0x7fffffffffffffffll : (long long)x;
}
template <class F> __device__ inline unsigned long long numr_sat_u64(F x) {
    return x != x || x <= 0 ? 0ull : x >= (F)18446744073709551616.0 ? ~0ull : (unsigned long long)x;
}

// To float with an odd last bit where the value lies between two floats: rounding again, to fewer bits, is then as
// rounding once.
__device__ inline float numr_odd_u64(unsigned long long m) {
    float scale = 1;
    for (; m >> 24 != 0; scale *= 256) {
        m = m >> 8 | ((m & 255) != 0);
    }
    return (float)(unsigned int)m * scale;
}
__device__ inline float numr_odd_i64(long long v) {
    float f = numr_odd_u64(numr_bits(numr_abs(v)));
    return v < 0 ? -f : f;
}
__device__ inline float numr_odd_u32(unsigned int v) { return numr_odd_u64(v); }
__device__ inline float numr_odd_i32(int v) { return numr_odd_i64(v); }
__device__ inline float numr_odd_f64(double v) {
    float f = (float)v;
    int bits = __float_as_int(f);
    bool exact = (double)f == v || v != v || (bits & 1) != 0;
    return exact ? f : __int_as_float(fabs(v) > (double)fabsf(f) ? bits + 1 : bits - 1);
}

// A float as the code of a narrower one, to nearest even: `m` mantissa bits, exponent `bias`, the `sign` bit, the code
// `overflow` for what rounds past the greatest value and the code of `nan`. In units of its last place |x| is exact.
__device__ inline unsigned int numr_encode(
    float x, int m, int bias, unsigned int sign, unsigned int overflow, unsigned int nan) {
    unsigned int bits = (unsigned int)__float_as_int(x);
    sign = bits >> 31 != 0 ? sign : 0;
    int e = (int)(bits >> 23 & 255) - 127;
    e = e < 1 - bias ? 1 - bias : e;
    bool high = e > bias + 1;
    unsigned int units = (unsigned int)rintf(fabsf(high ? 0 : x) * __int_as_float((127 + m - e) << 23));
    unsigned int code = ((unsigned int)(e + bias - 1) << m) + units;
    return sign | (x != x ? nan : high || code > overflow ? overflow : code);
}
// The float of a code; codes from `special` on stand for infinity and NaN.
__device__ inline float numr_decode(unsigned int code, int m, int bias, unsigned int sign, unsigned int special) {
    unsigned int magnitude = code & (sign - 1), bits = magnitude << (23 - m);
    float small = (float)magnitude * __int_as_float((128 - bias - m) << 23);
    float f = magnitude >= special ? __int_as_float((int)(bits | 0x7f800000u))
        : magnitude >> m == 0 ? small : __int_as_float((int)(bits + ((unsigned int)(127 - bias) << 23)));
    return (code & sign) != 0 ? -f : f;
}
__device__ inline unsigned short numr_encode_f16(float x) { return numr_encode(x, 10, 15, 0x8000, 0x7c00, 0x7e00); }
__device__ inline float numr_decode_f16(unsigned short c) { return numr_decode(c, 10, 15, 0x8000, 0x7c00); }
__device__ inline unsigned char numr_encode_f8e5m2(float x) { return numr_encode(x, 2, 15, 0x80, 0x7c, 0x7e); }
__device__ inline float numr_decode_f8e5m2(unsigned char c) { return numr_decode(c, 2, 15, 0x80, 0x7c); }
__device__ inline unsigned char numr_encode_f8e4m3(float x) { return numr_encode(x, 3, 7, 0x80, 0x7f, 0x7f); }
__device__ inline float numr_decode_f8e4m3(unsigned char c) { return numr_decode(c, 3, 7, 0x80, 0x7f); }
__device__ inline unsigned short numr_encode_bf16(float x) {
    unsigned int bits = (unsigned int)__float_as_int(x);
    return x != x ? (bits >> 16 & 0x8000) | 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
__device__ inline float numr_decode_bf16(unsigned short c) { return __int_as_float((int)((unsigned int)c << 16)); }
__device__ inline float numr_round_f16(float x) { return numr_decode_f16(numr_encode_f16(x)); }
__device__ inline float numr_round_bf16(float x) { return numr_decode_bf16(numr_encode_bf16(x)); }
__device__ inline float numr_round_f8e4m3(float x) { return numr_decode_f8e4m3(numr_encode_f8e4m3(x)); }
__device__ inline float numr_round_f8e5m2(float x) { return numr_decode_f8e5m2(numr_encode_f8e5m2(x)); }

// Neighbours in memory that are loaded and stored at once.
template <class T, int N> struct alignas(sizeof(T) * N) numr_vector { T v[N]; };
template <int N, class T> __device__ inline numr_vector<T, N>& numr_vector_at(T* p, long long i) { return ((numr_vector<T, N>*)p)[i]; }
template <int N, class T> __device__ inline const numr_vector<T, N>& numr_vector_at(const T* p, long long i) { return ((const numr_vector<T, N>*)p)[i]; }
template <int N, class T> __device__ inline bool numr_aligned(const T* p) { return (unsigned long long)p % (sizeof(T) * N) == 0; }

// Vector j of a row of n elements that begins at p; what lies beyond the row is 0.
template <int N, class T> __device__ inline numr_vector<T, N> numr_fetch(const T* p, long long j, long long n, bool whole) {
    if (whole) return numr_vector_at<N>(p, j);
    numr_vector<T, N> v = {};
    for (int e = 0; e < N; e++) if (j * N + e < n) v.v[e] = p[j * N + e];
    return v;
}
template <int N, class T> __device__ inline void numr_write(T* p, const numr_vector<T, N>& v, long long j, long long n, bool whole) {
    if (whole) { numr_vector_at<N>(p, j) = v; return; }
    for (int e = 0; e < N; e++) if (j * N + e < n) p[j * N + e] = v.v[e];
}
template <int N, class T> __device__ inline T numr_lanes_sum(const T (&s)[N]) {
    T sum = s[0];
    for (int e = 1; e < N; e++) sum = sum + s[e];
    return sum;
}
