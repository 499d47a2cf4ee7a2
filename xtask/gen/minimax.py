"""Minimax polynomials of crates/numr-core/src/scalar/math.

Run by hand, never by the build:  pip install gmpy2 numpy; python3 xtask/gen/minimax.py [NAME ...]
Method: Remez exchange on a Chebyshev grid in 300-bit arithmetic (MPFR); the coefficients are then rounded to the
working precision one by one, lowest power first, and the rest refitted each time, so that rounding costs nothing.
The printed error is the largest weighted error of the rounded polynomial; the weights make it relative to the function.
"""
import sys
import gmpy2 as g
import numpy as np

g.get_context().precision = 300
F = g.mpfr
LN2, PI = g.const_log2(), g.const_pi()


def solve(a, b):
    """Gaussian elimination with row pivoting."""
    n = len(b)
    m = [list(r) + [v] for r, v in zip(a, b)]
    for i in range(n):
        p = max(range(i, n), key=lambda r: abs(m[r][i]))
        m[i], m[p] = m[p], m[i]
        for r in range(i + 1, n):
            k = m[r][i] / m[i][i]
            if k:
                m[r] = [x - k * y for x, y in zip(m[r], m[i])]
    out = [F(0)] * n
    for i in reversed(range(n)):
        out[i] = (m[i][n] - sum((m[i][j] * out[j] for j in range(i + 1, n)), F(0))) / m[i][i]
    return out


def remez(basis, f, ref):
    """Best weighted approximation of f by the columns of basis, all tabulated on one grid."""
    n = basis.shape[1]
    if n == 0:
        return [], max(abs(f)), ref
    best = None
    for _ in range(60):
        rows = [list(basis[r]) + [F((-1) ** i)] for i, r in enumerate(ref)]
        *c, _ = solve(rows, [f[r] for r in ref])
        err = f - basis.dot(np.array(c, dtype=object))
        worst = max(abs(err))
        if best is None or worst < best[1]:
            best = c, worst, ref
        peaks = []  # the largest error of every run of one sign
        for i, e in enumerate(err):
            if peaks and (err[peaks[-1]] > 0) == (e > 0):
                if abs(e) > abs(err[peaks[-1]]):
                    peaks[-1] = i
            else:
                peaks.append(i)
        while len(peaks) > n + 1:
            peaks.pop(0 if abs(err[peaks[0]]) < abs(err[peaks[-1]]) else -1)
        if len(peaks) < n + 1:
            break  # fewer swings than unknowns: rounding of the earlier coefficients dominates
        done = peaks == ref
        ref = peaks
        if done:
            break
    return best


def fit(f, weight, lo, hi, degree, bits, first=0):
    """Coefficients of sum c_k t^(first+k), k = 0..degree, rounded to `bits`."""
    count = 60 * (degree + 2)
    lo, hi = F(lo), F(hi)
    grid = [(lo + hi) / 2 - (hi - lo) / 2 * g.cos(PI * (i + F(0.5)) / count) for i in range(count)]
    w = np.array([weight(t) for t in grid], dtype=object)
    rest = np.array([f(t) for t in grid], dtype=object) * w
    cols = np.array([[t ** (first + k) for k in range(degree + 1)] for t in grid], dtype=object) * w[:, None]
    out, free, ref = [], None, None
    for k in range(degree + 1):
        n = degree + 1 - k
        if ref is None or len(ref) != n + 1:
            ref = [round((1 - np.cos(np.pi * i / n)) / 2 * (count - 1)) for i in range(n + 1)]
        c, e, ref = remez(cols[:, k:], rest, ref)
        if free is None:
            free = e
        v = F(F(c[0], bits))
        out.append(v)
        rest = rest - cols[:, k] * v
        ref = ref[1:]
    return out, float(free), float(max(abs(rest)))


def rational(f, weight, lo, hi, top, bottom):
    """P/Q of the given degrees, the lowest coefficient of Q being 1: the linear problem P - f Q, weighted by the last Q."""
    count = 60 * (top + bottom + 2)
    lo, hi = F(lo), F(hi)
    grid = [(lo + hi) / 2 - (hi - lo) / 2 * g.cos(PI * (i + F(0.5)) / count) for i in range(count)]
    w = np.array([weight(t) for t in grid], dtype=object)
    y = np.array([f(t) for t in grid], dtype=object)
    n = top + bottom + 1
    ref = [round((1 - np.cos(np.pi * i / n)) / 2 * (count - 1)) for i in range(n + 1)]
    q = np.array([F(1)] * count, dtype=object)
    for _ in range(8):
        cols = [[t**k for k in range(top + 1)] + [-v * t**k for k in range(1, bottom + 1)] for t, v in zip(grid, y)]
        c, e, ref = remez(np.array(cols, dtype=object) * (w / q)[:, None], y * w / q, ref)
        q = np.array([1 + sum(v * t ** (k + 1) for k, v in enumerate(c[top + 1 :])) for t in grid], dtype=object)
    return c[: top + 1], [F(1)] + c[top + 1 :], float(e)


HALF_LN2 = LN2 / 2 * F("1.001")
def table():
    """name: (function, weight, lo, hi, {bits: degree})"""
    one = F(1)
    q = g.sqrt(F(2))
    sq = g.sqrt
    tiny = F(2) ** -80
    quarter = (PI / 4 * F("1.001")) ** 2
    atanh3 = lambda z: (2 * g.atanh(sq(z)) / sq(z) - 2) / z / LN2
    s_pow = F("0.0446") ** 2
    s_ln = (3 - 2 * q) * F("1.001")
    return {
        # e^r = 1 + r + r^2 P(r), the error relative to e^r or to e^r - 1
        "EXP": (lambda r: (g.expm1(r) - r) / r**2, lambda r: r**2 / g.exp(r), -HALF_LN2, HALF_LN2, {24: 4, 53: 9}),
        "EXPM1": (lambda r: (g.expm1(r) - r) / r**2, lambda r: abs(r**2 / g.expm1(r)), -HALF_LN2, HALF_LN2, {24: 5, 53: 10}),
        # ln(1+f) = f - f^2/2 + f^3 P(f)
        "LN": (lambda f: (g.log1p(f) - f + f * f / 2) / f**3, lambda f: abs(f**3 / g.log1p(f)), F("-0.2933"), F("0.4147"), {24: 8}),
        # ln((1+s)/(1-s)) = 2s + s z P(z), z = s^2
        "LN_S": (lambda z: (2 * g.atanh(sq(z)) / sq(z) - 2) / z, lambda z: z, tiny, s_ln**2, {53: 6}),
        # log2((1+s)/(1-s)) = s (2/ln2 + z P(z)), |s| <= 0.0446
        "LOG2_S": (atanh3, lambda z: z, tiny, s_pow, {24: 1, 53: 4}),
        # 2^r = 1 + r P(r)
        "EXP2": (lambda r: (2**r - 1) / r, lambda r: abs(r) / 2**r, F("-0.501"), F("0.501"), {24: 5, 53: 10}),
        # sin r = r + r z P(z), cos r = 1 - z/2 + z^2 P(z)
        "SIN": (lambda z: (g.sin(sq(z)) / sq(z) - 1) / z, lambda z: z * sq(z) / g.sin(sq(z)), tiny, quarter, {24: 2, 53: 5}),
        "COS": (lambda z: (g.cos(sq(z)) - 1 + z / 2) / z**2, lambda z: z**2 / g.cos(sq(z)), tiny, quarter, {24: 2, 53: 5}),
        # cot r = 1/r - r P(z), sinh x = x + x z P(z)
        "COT": (lambda z: (1 - sq(z) / g.tan(sq(z))) / z, lambda z: sq(z) * g.tan(sq(z)), tiny, quarter, {24: 3, 53: 8}),
        "SINH": (lambda z: (g.sinh(sq(z)) / sq(z) - 1) / z, lambda z: z * sq(z) / g.sinh(sq(z)), tiny, one, {24: 3, 53: 6}),
        # The start of cbrt.
        "CBRT": (lambda m: g.cbrt(m), lambda m: 1 / g.cbrt(m), one, F(8), {24: 4}),
        # erf x = x + x P(z), |x| <= 0.9
        "ERF": (lambda z: g.erf(sq(z)) / sq(z) - 1, lambda z: sq(z) / g.erf(sq(z)), tiny, F("0.9") ** 2, {24: 6, 53: 11}),
        # ln erfc t = -t P(t)
        "ERFC_LOG_24": (lambda t: -g.log(g.erfc(t)) / t, lambda t: t * g.erfc(t), F("0.89"), F("3.93"), {24: 6}),
        "ERFC_LOG_53": (lambda t: -g.log(g.erfc(t)) / t, lambda t: t * g.erfc(t), F("0.89"), F("5.95"), {53: 17}),
    }


def quotients():
    """name: (function, weight, lo, hi, {bits: degrees})"""
    sq, tiny = g.sqrt, F(2) ** -80
    # f x = x + x z P(z)/Q(z), z = x^2
    odd = lambda f: (lambda z: (f(sq(z)) / sq(z) - 1) / z, lambda z: z * sq(z) / f(sq(z)), tiny)
    return {
        "TANH": (*odd(g.tanh), F("0.31"), {24: (1, 1), 53: (2, 3)}),
        "TAN": (*odd(g.tan), F("0.62"), {24: (1, 2), 53: (3, 3)}),
        "ASIN": (*odd(g.asin), F("0.25"), {24: (2, 1), 53: (4, 4)}),
        "ATAN": (*odd(g.atan), F(1), {24: (3, 2), 53: (6, 5)}),
        "ASINH": (*odd(g.asinh), F("1.44"), {24: (3, 2), 53: (6, 6)}),
        "ATANH": (*odd(g.atanh), F("0.25"), {24: (1, 2), 53: (5, 4)}),
        # acosh(1 + t) = sqrt(2t) (1 + t P(t)/Q(t))
        "ACOSH": (lambda t: (acosh1(t) / sq(2 * t) - 1) / t, lambda t: t * sq(2 * t) / acosh1(t), tiny, F(1), {24: (2, 2), 53: (5, 4)}),
        # erfc x = e^(-x^2) t (5/8 + P(t)/Q(t)) with t = 1/(x + 1/2), x >= 1/2
        "ERFCX": (lambda t: erfcx(1 / t - 0.5) / t - F("0.625"), lambda t: t / erfcx(1 / t - 0.5), F("0.0355"), F(1), {24: (5, 5), 53: (10, 10)}),
    }


def erfcx(x):
    return g.exp(x * x) * g.erfc(x)


def acosh1(t):
    return g.log1p(t + g.sqrt(t * (t + 2)))


def show(c, bits):
    return "[" + ", ".join(str(np.float32(float(v))) if bits == 24 else repr(float(v)) for v in c) + "]"


if __name__ == "__main__":
    for name, (f, w, lo, hi, degrees) in quotients().items():
        for bits, (top, bottom) in degrees.items():
            if len(sys.argv) > 1 and name not in sys.argv[1:]:
                continue
            p, q, e = rational(f, w, lo, hi, top, bottom)
            print(f"// {name} f{32 if bits == 24 else 64}: degrees {top}/{bottom} on [{float(lo):.6g}, {float(hi):.6g}], error 2^{np.log2(e):.2f}")
            print(show(p, bits), show(q, bits), flush=True)
    for name, (f, w, lo, hi, degrees) in table().items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        for bits, degree in degrees.items():
            c, free, err = fit(f, w, lo, hi, degree, bits)
            print(f"// {name} f{32 if bits == 24 else 64}: degree {degree} on [{float(lo):.6g}, {float(hi):.6g}], error 2^{np.log2(err):.2f} (unrounded 2^{np.log2(free):.2f})")
            print(show(c, bits), flush=True)
