"""Conversion of f16's bits in i16 from and to f32, by integers, for machines without instructions.

Scalars (lanes = 0) and vectors of lanes. The payload of a NaN survives both conversions.
"""

from __future__ import annotations

from gridlane.codegen.llvm.text import Body, literal, splat, widen
from gridlane.core.dtypes import f32

_STEP = 13
"""Bits by which f32's significand is longer than f16's."""


class _Words:
    """Short names for instructions on vectors of i32."""

    def __init__(self, body: Body, lanes: int) -> None:
        self.body, self.lanes = body, lanes
        self.word, self.mask = widen("i32", lanes), widen("i1", lanes)
        self.half, self.real = widen("i16", lanes), widen("float", lanes)

    def const(self, value: int) -> str:
        return splat(str(value), "i32", self.lanes)

    def op(self, word: str, a: str, b: str | int) -> str:
        by = b if isinstance(b, str) else self.const(b)
        return self.body.op(f"{word} {self.word} {a}, {by}")

    def less(self, a: str, b: int) -> str:
        return self.body.op(f"icmp ult {self.word} {a}, {self.const(b)}")

    def select(self, test: str, a: str, b: str) -> str:
        return self.body.op(f"select {self.mask} {test}, {self.word} {a}, {self.word} {b}")

    def cast(self, word: str, value: str, source: str, target: str) -> str:
        return self.body.op(f"{word} {source} {value} to {target}")


def extended(body: Body, value: str, lanes: int) -> str:
    """The f32 of f16's bits."""
    w = _Words(body, lanes)
    bits = w.cast("zext", value, w.half, w.word)
    size = w.op("and", bits, 0x7FFF)
    # A subnormal number counts steps of 2**-24.
    steps = w.cast("sitofp", size, w.word, w.real)
    least = splat(literal(2.0**-24, f32), "float", lanes)
    scaled = body.op(f"fmul {w.real} {steps}, {least}")
    small = w.cast("bitcast", scaled, w.real, w.word)
    finite = w.less(size, 0x7C00)
    bias = w.select(finite, w.const(112 << 23), w.const(224 << 23))
    large = w.op("add", w.op("shl", size, _STEP), bias)
    magnitude = w.select(w.less(size, 0x400), small, large)
    sign = w.op("shl", w.op("and", bits, 0x8000), 16)
    return w.cast("bitcast", w.op("or", magnitude, sign), w.word, w.real)


def rounded(body: Body, value: str, lanes: int) -> str:
    """An f32 rounded to f16's bits, ties to even."""
    w = _Words(body, lanes)
    bits = w.cast("bitcast", value, w.real, w.word)
    size = w.op("and", bits, 0x7FFFFFFF)
    magnitude = w.select(w.less(size, 0x38800000), _subnormal(w, size), _normal(w, size))
    # A NaN stays a NaN, and becomes quiet.
    nan = w.op("or", w.op("lshr", w.op("and", size, 0x7FFFFF), _STEP), 0x7E00)
    magnitude = w.select(w.less(size, 0x7F800001), magnitude, nan)
    sign = w.op("and", w.op("lshr", bits, 16), 0x8000)
    return w.cast("trunc", w.op("or", magnitude, sign), w.word, w.half)


def _normal(w: _Words, size: str) -> str:
    """The bits of a magnitude from 2**-14 on; one that is too large becomes infinite."""
    odd = w.op("and", w.op("lshr", size, _STEP), 1)
    moved = w.op("add", w.op("add", size, 0xFFF), odd)
    rounded_bits = w.op("sub", w.op("lshr", moved, _STEP), 112 << 10)
    return w.select(w.less(rounded_bits, 0x7C00), rounded_bits, w.const(0x7C00))


def _subnormal(w: _Words, size: str) -> str:
    """The bits of a magnitude below 2**-14: added to 1/2, whose last place is 2**-24, it is rounded
    there by f32's own addition."""
    real = w.cast("bitcast", size, w.word, w.real)
    half = splat(literal(0.5, f32), "float", w.lanes)
    total = w.body.op(f"fadd {w.real} {real}, {half}")
    return w.op("sub", w.cast("bitcast", total, w.real, w.word), 0x3F000000)
