// What printed WGSL builds on: functions that are added where they are called, for the types that they are called on.
// A line `//# name types` heads each; $T is the type, $U the unsigned integer of its width, $V the type of a complex
// number's parts, $W its width, $M the mantissa bits of a float.
// NaN is told by its bits: a shader compiler may take a number to equal itself.

//# raw f32 f64
fn numr_raw_$T(bits: $U) -> $T { return bitcast<$T>(bits); }

// The number through its bits and a word that is 0, which the compiler does not know: the number of elements is below 2³¹.
//# keep f32 f64
fn numr_keep_$T(a: $T) -> $T { return bitcast<$T>(bitcast<$U>(a) ^ $U(numr_l.v[0].x >> 31u)); }

//# nan f32
fn numr_nan_f32(a: f32) -> bool { return (bitcast<u32>(a) & 0x7fffffffu) > 0x7f800000u; }

//# nan f64
fn numr_nan_f64(a: f64) -> bool { return (bitcast<u64>(a) & 0x7ffffffffffffffflu) > 0x7ff0000000000000lu; }

//# max f32 f64
fn numr_max_$T(a: $T, b: $T) -> $T { return select(b, a, a > b || numr_nan_$T(a)); }

//# min f32 f64
fn numr_min_$T(a: $T, b: $T) -> $T { return select(b, a, a < b || numr_nan_$T(a)); }

// The remainder is exact: long division of the significands, bit by bit.
//# rem f32 f64
fn numr_rem_$T(a: $T, b: $T) -> $T {
    let sign = bitcast<$U>(a) & ($U(1) << ($Wu - 1u));
    let x = bitcast<$U>(a) ^ sign;
    let y = bitcast<$U>(b) & ~($U(1) << ($Wu - 1u));
    let hidden = $U(1) << $Mu;
    let inf = (($U(1) << ($Wu - 1u - $Mu)) - $U(1)) << $Mu;
    if x >= inf || y > inf || y == $U(0) { return numr_raw_$T(inf | (hidden >> 1u)); }
    if x < y { return a; }
    var e = max(i32(x >> $Mu), 1);
    var f = max(i32(y >> $Mu), 1);
    var m = select(x, (x & (hidden - $U(1))) | hidden, x >= hidden);
    var n = select(y, (y & (hidden - $U(1))) | hidden, y >= hidden);
    while m < hidden { m = m << 1u; e = e - 1; }
    while n < hidden { n = n << 1u; f = f - 1; }
    while e > f { m = (m - select($U(0), n, m >= n)) << 1u; e = e - 1; }
    m = m - select($U(0), n, m >= n);
    if m == $U(0) { return bitcast<$T>(sign); }
    while m < hidden && e > 1 { m = m << 1u; e = e - 1; }
    m = m >> u32(max(1 - e, 0));
    return bitcast<$T>(sign | select(m, (m - hidden) | ($U(max(e, 1)) << $Mu), m >= hidden));
}

//# div i32 i64
fn numr_div_$T(a: $T, b: $T) -> $T {
    let safe = select(b, $T(1), b == $T(0) || b == $T(-1));
    return select(select(a / safe, $T(0) - a, b == $T(-1)), $T(0), b == $T(0));
}

//# rem i32 i64
fn numr_rem_$T(a: $T, b: $T) -> $T {
    let safe = select(b, $T(1), b == $T(0) || b == $T(-1));
    return a % safe;
}

//# div u32 u64
fn numr_div_$T(a: $T, b: $T) -> $T { return select(a / select(b, $T(1), b == $T(0)), $T(0), b == $T(0)); }

//# rem u32 u64
fn numr_rem_$T(a: $T, b: $T) -> $T { return a % select(b, $T(1), b == $T(0)); }

//# pow u32 u64
fn numr_pow_$T(a: $T, b: $T) -> $T {
    var base = a;
    var r = $T(1);
    var n = b;
    while n != $T(0) {
        r = select(r, r * base, (n & $T(1)) == $T(1));
        base = base * base;
        n = n >> 1u;
    }
    return r;
}

// A negative exponent gives 0, but 1 and -1 have a whole inverse.
//# pow i32 i64
fn numr_pow_$T(a: $T, b: $T) -> $T {
    let odd = (b & $T(1)) == $T(1);
    let inverse = select($T(0), select($T(1), a, odd), a == $T(1) || a == $T(-1));
    return select($T(numr_pow_$U($U(a), $U(max(b, $T(0))))), inverse, b < $T(0));
}

// Shifts of numbers of `width` bits.
//# shl i32 u32 i64 u64
fn numr_shl_$T(a: $T, b: $T, width: u32) -> $T {
    return select($T(0), a << (u32(b) & ($Wu - 1u)), $U(b) < $U(width));
}

//# shr i32 i64
fn numr_shr_$T(a: $T, b: $T, width: u32) -> $T {
    return a >> select(width - 1u, u32(b), $U(b) < $U(width));
}

//# shr_logical i32 u32 i64 u64
fn numr_shr_logical_$T(a: $T, b: $T, width: u32) -> $T {
    let low = ($U(a) << ($Wu - width)) >> ($Wu - width);
    return $T(select($U(0), low >> (u32(b) & ($Wu - 1u)), $U(b) < $U(width)));
}

// The high half of a product, from products of half words.
//# mul_hi u32 u64
fn numr_mul_hi_$T(a: $T, b: $T) -> $T {
    let half = $Wu / 2u;
    let mask = ($T(1) << half) - $T(1);
    let m = (a >> half) * (b & mask) + (((a & mask) * (b & mask)) >> half);
    let n = (a & mask) * (b >> half) + (m & mask);
    return (a >> half) * (b >> half) + (m >> half) + (n >> half);
}

//# mul_hi i32 i64
fn numr_mul_hi_$T(a: $T, b: $T) -> $T { return $T(numr_mul_hi_$U($U(a), $U(b))); }

//# wrap i8
fn numr_wrap_i8(a: i32) -> i32 { return (a << 24u) >> 24u; }

//# wrap i16
fn numr_wrap_i16(a: i32) -> i32 { return (a << 16u) >> 16u; }

//# wrap u8
fn numr_wrap_u8(a: u32) -> u32 { return a & 0xffu; }

//# wrap u16
fn numr_wrap_u16(a: u32) -> u32 { return a & 0xffffu; }

//# mul c64 c128
fn numr_mul_$T(a: vec2<$V>, b: vec2<$V>) -> vec2<$V> {
    return vec2<$V>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// Divides by the larger part of b first (Smith, 1962), so that |b|² cannot overflow; by 0 it gives
// infinities, as by a real number.
//# div c64 c128
fn numr_div_$T(a: vec2<$V>, b: vec2<$V>) -> vec2<$V> {
    let swap = abs(b.x) < abs(b.y);
    let d = select(b, b.yx, swap);
    let n = select(a, a.yx, swap);
    let ratio = select(d.y / d.x, d.y, d.y == $V(0.0));
    let scale = d.x + d.y * ratio;
    let im = select(n.y - n.x * ratio, n.x * ratio - n.y, swap);
    return vec2<$V>((n.x + n.y * ratio) / scale, im / scale);
}

// An infinite part wins over a NaN.
//# abs c64 c128
fn numr_abs_$T(a: vec2<$V>) -> $V {
    let x = abs(a.x);
    let y = abs(a.y);
    let inf = $V(numr_raw_f32(0x7f800000u));
    let high = numr_max_$V(x, y);
    let ratio = numr_min_$V(x, y) / high;
    let modulus = select(high * sqrt(fma(ratio, ratio, $V(1.0))), high, high == $V(0.0));
    return select(modulus, inf, x == inf || y == inf);
}

// The integer nearest toward zero, within the type's range; 0 for NaN.
//# sat_i32 f32 f64
fn numr_sat_i32_$T(x: $T) -> i32 {
    let high = x >= $T(2147483648.0);
    let low = x <= $T(-2147483648.0);
    let inside = i32(select(x, $T(0.0), high || low || numr_nan_$T(x)));
    return select(select(inside, 0x7fffffffi, high), i32(0x80000000u), low);
}

//# sat_u32 f32 f64
fn numr_sat_u32_$T(x: $T) -> u32 {
    let high = x >= $T(4294967296.0);
    let inside = u32(select(x, $T(0.0), high || x <= $T(0.0) || numr_nan_$T(x)));
    return select(inside, 0xffffffffu, high);
}

//# sat_i64 f32 f64
fn numr_sat_i64_$T(x: $T) -> i64 {
    let high = x >= $T(9223372036854775808.0);
    let low = x <= $T(-9223372036854775808.0);
    let inside = i64(select(x, $T(0.0), high || low || numr_nan_$T(x)));
    return select(select(inside, 0x7fffffffffffffffli, high), i64(0x8000000000000000lu), low);
}

//# sat_u64 f32 f64
fn numr_sat_u64_$T(x: $T) -> u64 {
    let high = x >= $T(18446744073709551616.0);
    let inside = u64(select(x, $T(0.0), high || x <= $T(0.0) || numr_nan_$T(x)));
    return select(inside, 0xfffffffffffffffflu, high);
}

// To f32 with an odd last bit where the value lies between two f32: rounding again, to fewer bits, is then as rounding
// once.
//# odd u32 u64
fn numr_odd_$T(v: $T) -> f32 {
    var m = v;
    var scale = 1.0f;
    while (m >> 24u) != $T(0) {
        m = (m >> 8u) | select($T(0), $T(1), (m & $T(255)) != $T(0));
        scale = scale * 256.0f;
    }
    return f32(u32(m)) * scale;
}

//# odd i32 i64
fn numr_odd_$T(v: $T) -> f32 {
    let f = numr_odd_$U($U(abs(v)));
    return select(f, -f, v < $T(0));
}

//# odd f64
fn numr_odd_f64(v: f64) -> f32 {
    let f = f32(v);
    let bits = bitcast<u32>(f);
    let near = select(bits - 1u, bits + 1u, abs(v) > f64(abs(f)));
    return select(bitcast<f32>(near), f, f64(f) == v || numr_nan_f64(v) || (bits & 1u) != 0u);
}

// A float as the code of a narrower one, to nearest even: `m` mantissa bits, exponent `bias`, the `sign` bit, the code
// `overflow` for what rounds past the greatest value and the code of `nan`. In units of its last place |x| is exact.
//# encode any
fn numr_encode_any(x: f32, m: i32, bias: i32, sign: u32, overflow: u32, nan: u32) -> u32 {
    let bits = bitcast<u32>(x);
    let e = max(i32((bits >> 23u) & 255u) - 127, 1 - bias);
    let high = e > bias + 1;
    let units = u32(round(select(abs(x), 0.0f, high) * bitcast<f32>(u32(127 + m - e) << 23u)));
    let code = (u32(e + bias - 1) << u32(m)) + units;
    return select(0u, sign, (bits >> 31u) != 0u) | select(select(code, overflow, high || code > overflow), nan, numr_nan_f32(x));
}

// The float of a code; codes from `special` on stand for infinity and NaN.
//# decode any
fn numr_decode_any(code: u32, m: i32, bias: i32, sign: u32, special: u32) -> f32 {
    let magnitude = code & (sign - 1u);
    let bits = magnitude << u32(23 - m);
    let small = f32(magnitude) * bitcast<f32>(u32(128 - bias - m) << 23u);
    let normal = select(bits + (u32(127 - bias) << 23u), bits | 0x7f800000u, magnitude >= special);
    let f = select(normal, bitcast<u32>(small), (magnitude >> u32(m)) == 0u);
    return bitcast<f32>(f | select(0u, 0x80000000u, (code & sign) != 0u));
}

//# encode f16
fn numr_encode_f16(x: f32) -> u32 { return numr_encode_any(x, 10, 15, 0x8000u, 0x7c00u, 0x7e00u); }

//# decode f16
fn numr_decode_f16(code: u32) -> f32 { return numr_decode_any(code, 10, 15, 0x8000u, 0x7c00u); }

//# encode f8e5m2
fn numr_encode_f8e5m2(x: f32) -> u32 { return numr_encode_any(x, 2, 15, 0x80u, 0x7cu, 0x7eu); }

//# decode f8e5m2
fn numr_decode_f8e5m2(code: u32) -> f32 { return numr_decode_any(code, 2, 15, 0x80u, 0x7cu); }

//# encode f8e4m3
fn numr_encode_f8e4m3(x: f32) -> u32 { return numr_encode_any(x, 3, 7, 0x80u, 0x7fu, 0x7fu); }

//# decode f8e4m3
fn numr_decode_f8e4m3(code: u32) -> f32 { return numr_decode_any(code, 3, 7, 0x80u, 0x7fu); }

//# encode bf16
fn numr_encode_bf16(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let rounded = (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
    return select(rounded, ((bits >> 16u) & 0x8000u) | 0x7fc0u, numr_nan_f32(x));
}

//# decode bf16
fn numr_decode_bf16(code: u32) -> f32 { return bitcast<f32>(code << 16u); }

//# round f16 bf16 f8e4m3 f8e5m2
fn numr_round_$T(x: f32) -> f32 { return numr_decode_$T(numr_encode_$T(x)); }
