"""Inline functions of f32: exp and log for fast-math kernels on machines without a vector library
or a fused multiply-add, and where the library lacks functions; exp2 and log2 where they may be
rough (``FastMath.ROUGH``), on each machine.

Argument reduction by powers of two, then a polynomial through the Chebyshev nodes of the reduced
range (fitted for this file in 50-digit arithmetic). Where the result is normal it is within 2 ulp,
that of log2 within 2^-23 for arguments from 1/2 to 2, else within as much of the result. The limits
(0, infinity, overflow, underflow) are exact; NaN and negative arguments of log give NaN.

All may run in the processor's mode that flushes subnormal numbers (``flushing.py``): arguments and
results are then 0 for them, and nothing between is one whose loss shows.
"""

from __future__ import annotations

from collections.abc import Sequence

from gridlane.codegen.llvm.text import Body, literal, splat, widen
from gridlane.core.dtypes import f32
from gridlane.ir.builder import rounded

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 0.693359375
"""ln 2 to 9 bits, so that its product with an exponent is exact."""
_LN2_LOW = -2.12194440054690583e-4

_EXP = (0.5, 0.16666576266288757, 0.041666463017463684, 0.008363235741853714, 0.001393373357132)
"""(exp(r) - 1 - r) / r**2 for |r| <= ln(2) / 2, lowest power first."""

_LOG = (
    0.3333333134651184,
    -0.24999989569187164,
    0.20000708103179932,
    -0.1666848063468933,
    0.14249937236309052,
    -0.12411050498485565,
    0.11661510914564133,
    -0.115712009370327,
    0.07149753719568253,
)
"""(log(1 + f) - f + f**2 / 2) / f**3 for sqrt(1/2) <= 1 + f <= sqrt(2), lowest power first."""

_EXP2 = (
    0.6931471824645996,
    0.24022650718688965,
    0.055503569543361664,
    0.009618083015084267,
    0.0013390863314270973,
    0.00015453163359779865,
)
"""(2**r - 1) / r for |r| <= 1/2, lowest power first."""

_LOG2 = (
    1.4426950216293335,
    -0.721347451210022,
    0.4809107482433319,
    -0.3606932759284973,
    0.2879032492637634,
    -0.2391698807477951,
    0.21607822179794312,
    -0.2058618813753128,
    0.12310968339443207,
)
"""log2(1 + f) / f for sqrt(1/2) <= 1 + f <= sqrt(2), lowest power first."""


class _Vector:
    """Short names for the instructions of these functions. ``lanes`` may be 0, for a scalar."""

    def __init__(self, body: Body, lanes: int) -> None:
        self.body, self.lanes = body, lanes
        self.real, self.whole = widen("float", lanes), widen("i32", lanes)
        self.mask = widen("i1", lanes)

    def const(self, value: float) -> str:
        return splat(literal(rounded(value, f32), f32), "float", self.lanes)

    def int(self, value: int) -> str:
        return splat(str(value), "i32", self.lanes)

    def fma(self, a: str, b: str, c: str) -> str:
        """a * b + c, with one rounding where the machine has the instruction, else two."""
        return self.body.intrinsic("fmuladd", "float", self.lanes, [a, b, c])

    def real_op(self, word: str, a: str, b: str) -> str:
        return self.body.op(f"{word} {self.real} {a}, {b}")

    def int_op(self, word: str, a: str, b: str) -> str:
        return self.body.op(f"{word} {self.whole} {a}, {b}")

    def choose(self, condition: str, a: str, b: str) -> str:
        test = self.body.op(condition)
        return self.body.op(f"select {self.mask} {test}, {self.real} {a}, {self.real} {b}")

    def polynomial(self, x: str, coefficients: Sequence[float]) -> str:
        """Evaluate by Horner's rule."""
        total = self.const(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = self.fma(total, x, self.const(coefficient))
        return total

    def power_of_two(self, exponent: str) -> str:
        """2 to the power of an integer from -126 to 127."""
        biased = self.int_op("add", exponent, self.int(127))
        bits = self.int_op("shl", biased, self.int(23))
        return self.body.op(f"bitcast {self.whole} {bits} to {self.real}")

    def scaled(self, value: str, n: str) -> str:
        """A number about 1 times 2 to an integral number, which is at most 256 in size, in two
        factors, as it may exceed the exponents. A NaN stays one."""
        whole = self.body.op(f"fptosi {self.real} {n} to {self.whole}")
        whole = self.body.op(f"freeze {self.whole} {whole}")  # of a NaN any number
        half = self.int_op("ashr", whole, self.int(1))
        rest = self.int_op("sub", whole, half)
        value = self.real_op("fmul", value, self.power_of_two(half))
        return self.real_op("fmul", value, self.power_of_two(rest))

    def clamped(self, x: str, low: float, high: float) -> str:
        """A number within limits; a NaN stays one."""
        least, most = self.const(low), self.const(high)
        x = self.choose(f"fcmp olt {self.real} {x}, {least}", least, x)
        return self.choose(f"fcmp ogt {self.real} {x}, {most}", most, x)

    def parts(self, x: str) -> tuple[str, str]:
        """(e as a float, f) with x = 2**e (1 + f) and sqrt(1/2) <= 1 + f <= sqrt(2), for positive
        finite x."""
        tiny = self.body.op(f"fcmp olt {self.real} {x}, {self.const(2.0**-126)}")
        up = self.real_op("fmul", x, self.const(2.0**23))
        normal = self.body.op(f"select {self.mask} {tiny}, {self.real} {up}, {self.real} {x}")
        bits = self.body.op(f"bitcast {self.real} {normal} to {self.whole}")
        # Relative to sqrt(1/2), the exponent field is e and the mantissa that of 1 + f.
        shifted = self.int_op("sub", bits, self.int(0x3F3504F3))
        e = self.int_op("ashr", shifted, self.int(23))
        mantissa = self.int_op("sub", bits, self.int_op("shl", e, self.int(23)))
        m = self.body.op(f"bitcast {self.whole} {mantissa} to {self.real}")
        lowered = self.int_op("sub", e, self.int(23))
        whole = self.whole
        exponent = self.body.op(f"select {self.mask} {tiny}, {whole} {lowered}, {whole} {e}")
        n = self.body.op(f"sitofp {whole} {exponent} to {self.real}")
        return n, self.real_op("fsub", m, self.const(1.0))

    def logarithm(self, x: str, value: str) -> str:
        """The logarithm of x: ``value`` where x is positive and finite."""
        infinity = self.const(float("inf"))
        value = self.choose(f"fcmp ueq {self.real} {x}, {infinity}", x, value)
        zero, minus = self.const(0.0), self.const(float("-inf"))
        value = self.choose(f"fcmp oeq {self.real} {x}, {zero}", minus, value)
        return self.choose(f"fcmp olt {self.real} {x}, {zero}", self.const(float("nan")), value)


def exp(body: Body, x: str, lanes: int) -> str:
    """e to the x: x = n ln 2 + r."""
    v = _Vector(body, lanes)
    clamped = v.clamped(x, -104.0, 90.0)
    scaled = v.real_op("fmul", clamped, v.const(_LOG2_E))
    n = body.intrinsic("rint", "float", lanes, [scaled])
    r = v.fma(n, v.const(-_LN2_HIGH), clamped)
    r = v.fma(n, v.const(-_LN2_LOW), r)
    tail = v.polynomial(r, _EXP)
    square = v.real_op("fmul", r, r)
    value = v.real_op("fadd", v.fma(tail, square, r), v.const(1.0))
    return v.scaled(value, n)


def exp2(body: Body, x: str, lanes: int) -> str:
    """2 to the x: x = n + r; exact for integers."""
    v = _Vector(body, lanes)
    clamped = v.clamped(x, -152.0, 130.0)
    n = body.intrinsic("rint", "float", lanes, [clamped])
    r = v.real_op("fsub", clamped, n)
    return v.scaled(v.fma(v.polynomial(r, _EXP2), r, v.const(1.0)), n)


def log(body: Body, x: str, lanes: int) -> str:
    """The natural logarithm."""
    v = _Vector(body, lanes)
    n, f = v.parts(x)
    square = v.real_op("fmul", f, f)
    cube = v.real_op("fmul", square, f)
    tail = v.real_op("fmul", v.polynomial(f, _LOG), cube)
    tail = v.fma(n, v.const(_LN2_LOW), tail)
    tail = v.fma(square, v.const(-0.5), tail)
    return v.logarithm(x, v.fma(n, v.const(_LN2_HIGH), v.real_op("fadd", f, tail)))


def log2(body: Body, x: str, lanes: int) -> str:
    """The logarithm to base 2; exact for powers of 2."""
    v = _Vector(body, lanes)
    n, f = v.parts(x)
    return v.logarithm(x, v.fma(v.polynomial(f, _LOG2), f, n))


FUNCTIONS = {"exp": exp, "log": log}
ROUGH = {"exp2": exp2, "log2": log2}
