"""Reference values of the elementary functions in f64: crates/numr-core/src/scalar/math/reference/NAME.txt.

Run by hand, never by the build:  pip install gmpy2; python3 xtask/gen/reference.py
Each line is x (for pow also y) and the correctly rounded result as bit patterns, then the exact result's distance from
it in thousandths of the result's last place. Values come from MPFR, whose functions are correctly rounded.
"""
import math
import os
import random
import struct

import gmpy2 as g

OUT = os.path.join(os.path.dirname(__file__), "../../crates/numr-core/src/scalar/math/reference")
COUNT = 400
rnd = random.Random(20)


def rounded(v):
    """Nearest f64 of an MPFR number, subnormals included, and the rest in thousandths of its last place; None past the range."""
    exponent = max(g.get_exp(v) - 1, -1022) - 52
    unit = g.mpfr(2) ** exponent
    n = int(g.rint_round(v / unit))
    if n == 0:
        return None
    try:
        r = math.ldexp(n, exponent)
    except OverflowError:
        return None
    return r, round((v / unit - n) * 1000)


def hexbits(x):
    return struct.pack(">d", x).hex()


def spread(low, high):
    """Either sign, uniform in the exponent."""
    return rnd.choice((-1, 1)) * 2.0 ** rnd.uniform(low, high)


def any_bits():
    while True:
        x = struct.unpack("<d", rnd.randbytes(8))[0]
        if math.isfinite(x):
            return x


def one_of(*makers):
    return lambda: rnd.choice(makers)()


uniform = lambda a, b: lambda: rnd.uniform(a, b)
exponent = lambda a, b: lambda: spread(a, b)
near_one = lambda: 1 + spread(-52, -1)
multiple = lambda: rnd.randint(1, 600000) * (math.pi / 2)
near_unit = lambda: rnd.choice((-1, 1)) * (1 - 2.0 ** rnd.uniform(-53, -1))
angle = one_of(any_bits, uniform(-10, 10), exponent(-30, 30), multiple)
FUNCTIONS = {
    "exp": (g.exp, one_of(uniform(-745, 709.7), exponent(-60, 9), uniform(-1, 1)), [709.782712893384, -744.4400719213812]),
    "expm1": (g.expm1, one_of(uniform(-40, 709), exponent(-60, 9), uniform(-1, 1)), [709.782712893384, 5e-324]),
    "ln": (g.log, one_of(lambda: abs(any_bits()), uniform(0.5, 2), near_one), [5e-324, 1.7976931348623157e308]),
    "log1p": (g.log1p, one_of(lambda: abs(any_bits()), uniform(-1, 2), exponent(-60, 0)), [-0.9999999999999999, 5e-324]),
    # The second number is the f64 nearest to a multiple of pi/2.
    "sin": (g.sin, angle, [5319372648326541.0 * 2.0**255, 6381956970095103.0 * 2.0**797]),
    "cos": (g.cos, angle, [5319372648326541.0 * 2.0**255, 6381956970095103.0 * 2.0**797]),
    "tanh": (g.tanh, one_of(uniform(-20, 20), exponent(-60, 5), uniform(-1, 1)), [5e-324, 19.06]),
    "erf": (g.erf, one_of(uniform(-6, 6), exponent(-60, 3), uniform(-1, 1)), [5e-324, 5.92]),
    "exp2": (g.exp2, one_of(uniform(-1074, 1024), exponent(-60, 9), uniform(-1, 1)), [1023.9999999999999]),
    "log2": (g.log2, one_of(lambda: abs(any_bits()), uniform(0.5, 2), near_one), [5e-324, 1.7976931348623157e308]),
    "log10": (g.log10, one_of(lambda: abs(any_bits()), uniform(0.5, 2), near_one), [5e-324, 1.7976931348623157e308]),
    "tan": (g.tan, angle, [5319372648326541.0 * 2.0**255, 6381956970095103.0 * 2.0**797]),
    "asin": (g.asin, one_of(uniform(-1, 1), exponent(-60, 0), near_unit), [1.0, 5e-324]),
    "acos": (g.acos, one_of(uniform(-1, 1), exponent(-60, 0), near_unit), [-1.0, 5e-324]),
    "atan": (g.atan, one_of(uniform(-4, 4), exponent(-60, 60), uniform(-1, 1)), [1.7976931348623157e308, 5e-324]),
    "sinh": (g.sinh, one_of(uniform(-4, 4), exponent(-60, 9), uniform(-710, 710)), [710.4758600739439, 5e-324]),
    "cosh": (g.cosh, one_of(uniform(-4, 4), exponent(-60, 9), uniform(-710, 710)), [710.4758600739439, 5e-324]),
    "asinh": (g.asinh, one_of(uniform(-4, 4), exponent(-60, 60), any_bits), [1.7976931348623157e308, 5e-324]),
    "acosh": (g.acosh, one_of(uniform(1, 4), lambda: 1 + 2.0 ** rnd.uniform(-52, 1000)), [1.7976931348623157e308]),
    "atanh": (g.atanh, one_of(uniform(-1, 1), exponent(-60, 0), near_unit), [5e-324]),
    "cbrt": (g.cbrt, any_bits, [1.7976931348623157e308, 5e-324]),
    "erfc": (g.erfc, one_of(uniform(-6, 26.54), exponent(-60, 3), uniform(-1, 1)), [26.5, 5e-324]),
}


def powers():
    x = one_of(lambda: abs(any_bits()), uniform(0.5, 2), lambda: abs(near_one()), any_bits)()
    l = math.log2(abs(x)) if x else 0
    y = float(rnd.randint(-60, 60)) if x < 0 or l == 0 or rnd.random() < 0.2 else rnd.uniform(-1074, 1024) / l
    return x, y


def write(name, f, make, fixed, precision):
    g.get_context().precision = precision
    lines, fixed = [], list(fixed)
    while len(lines) < COUNT:
        args = fixed.pop() if fixed else make()
        args = args if isinstance(args, tuple) else (args,)
        v = f(*map(g.mpfr, args))
        r = rounded(v) if g.is_finite(v) and v != 0 else None
        if r:
            lines.append(" ".join([*map(hexbits, args), hexbits(r[0]), str(r[1])]))
    with open(os.path.join(OUT, name + ".txt"), "w") as out:
        out.write("\n".join(lines) + "\n")


os.makedirs(OUT, exist_ok=True)
for name, (f, make, fixed) in FUNCTIONS.items():
    write(name, f, make, fixed, 1400 if name in ("sin", "cos", "tan") else 250)
write("pow", lambda x, y: x**y, powers, [], 250)
