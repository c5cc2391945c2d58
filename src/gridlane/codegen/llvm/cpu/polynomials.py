"""Inline exp and log of f32 vectors, for fast-math kernels on machines without a vector library or
a fused multiply-add, and where the library lacks functions.

Argument reduction by powers of two, then a polynomial through the Chebyshev nodes of the reduced
range (fitted for this file in 50-digit arithmetic). Within 2 ulp where the result is normal. The
limits (0, infinity, overflow, underflow) are exact; NaN and negative arguments of log give NaN.
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
    *(0.3333333134651184, -0.24999989569187164, 0.20000708103179932, -0.1666848063468933),
    *(0.14249937236309052, -0.12411050498485565, 0.11661510914564133, -0.115712009370327),
    0.07149753719568253,
)
"""(log(1 + f) - f + f**2 / 2) / f**3 for sqrt(1/2) <= 1 + f <= sqrt(2), lowest power first."""


class _Vector:
    """Short names for the instructions of these functions."""

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


def exp(body: Body, x: str, lanes: int) -> str:
    """e to the x: x = n ln 2 + r, and 2 to the n in two factors, as n may exceed the exponents."""
    v = _Vector(body, lanes)
    low = v.choose(f"fcmp olt {v.real} {x}, {v.const(-104.0)}", v.const(-104.0), x)
    clamped = v.choose(f"fcmp ogt {v.real} {low}, {v.const(90.0)}", v.const(90.0), low)
    scaled = v.real_op("fmul", clamped, v.const(_LOG2_E))
    n = body.intrinsic("rint", "float", lanes, [scaled])
    r = v.fma(n, v.const(-_LN2_HIGH), clamped)
    r = v.fma(n, v.const(-_LN2_LOW), r)
    tail = v.polynomial(r, _EXP)
    square = v.real_op("fmul", r, r)
    value = v.real_op("fadd", v.fma(tail, square, r), v.const(1.0))
    # A NaN converts to an arbitrary number; the value is NaN already.
    whole = body.op(f"freeze {v.whole} {body.op(f'fptosi {v.real} {n} to {v.whole}')}")
    half = v.int_op("ashr", whole, v.int(1))
    rest = v.int_op("sub", whole, half)
    value = v.real_op("fmul", value, v.power_of_two(half))
    return v.real_op("fmul", value, v.power_of_two(rest))


def log(body: Body, x: str, lanes: int) -> str:
    """The natural logarithm: x = 2**e (1 + f) with 1 + f between sqrt(1/2) and sqrt(2)."""
    v = _Vector(body, lanes)
    tiny = body.op(f"fcmp olt {v.real} {x}, {v.const(2.0**-126)}")
    up = v.real_op("fmul", x, v.const(2.0**23))
    normal = body.op(f"select {v.mask} {tiny}, {v.real} {up}, {v.real} {x}")
    bits = body.op(f"bitcast {v.real} {normal} to {v.whole}")
    # Relative to sqrt(1/2), the exponent field is e and the mantissa that of 1 + f.
    shifted = v.int_op("sub", bits, v.int(0x3F3504F3))
    e = v.int_op("ashr", shifted, v.int(23))
    mantissa = v.int_op("sub", bits, v.int_op("shl", e, v.int(23)))
    m = body.op(f"bitcast {v.whole} {mantissa} to {v.real}")
    f = v.real_op("fsub", m, v.const(1.0))
    lowered = v.int_op("sub", e, v.int(23))
    exponent = body.op(f"select {v.mask} {tiny}, {v.whole} {lowered}, {v.whole} {e}")
    n = body.op(f"sitofp {v.whole} {exponent} to {v.real}")
    square = v.real_op("fmul", f, f)
    cube = v.real_op("fmul", square, f)
    tail = v.real_op("fmul", v.polynomial(f, _LOG), cube)
    tail = v.fma(n, v.const(_LN2_LOW), tail)
    tail = v.fma(square, v.const(-0.5), tail)
    value = v.fma(n, v.const(_LN2_HIGH), v.real_op("fadd", f, tail))
    infinity = v.const(float("inf"))
    value = v.choose(f"fcmp ueq {v.real} {x}, {infinity}", x, value)
    value = v.choose(f"fcmp oeq {v.real} {x}, {v.const(0.0)}", v.const(float("-inf")), value)
    return v.choose(f"fcmp olt {v.real} {x}, {v.const(0.0)}", v.const(float("nan")), value)


FUNCTIONS = {"exp": exp, "log": log}
