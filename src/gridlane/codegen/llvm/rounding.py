"""Rounds floats to integers by sums and comparisons, for machines without instructions for it:
LLVM would call libm for each lane.

Scalars (lanes = 0) and vectors of lanes, of ``float`` and ``double``.
"""

from __future__ import annotations

from collections.abc import Callable

from gridlane.codegen.llvm.text import Body, literal, splat, widen
from gridlane.core.dtypes import f32, f64


class _Size:
    """A number, its magnitude, and the magnitude rounded to nearest even."""

    def __init__(self, body: Body, value: str, name: str, lanes: int) -> None:
        self.body, self.value, self.name, self.lanes = body, value, name, lanes
        self.type_, self.mask = widen(name, lanes), widen("i1", lanes)
        self.size = body.intrinsic("fabs", name, lanes, [value])
        # From this number on, all numbers are integers, and sums with it round to integers.
        limit = 2.0**23 if name == "float" else 2.0**52
        up = self.op("fadd", self.size, limit)
        small = self.compare("olt", self.size, limit)
        self.nearest = self.select(small, self.op("fsub", up, limit), self.size)

    def const(self, value: float) -> str:
        return splat(literal(value, f32 if self.name == "float" else f64), self.name, self.lanes)

    def op(self, word: str, a: str, b: str | float) -> str:
        by = b if isinstance(b, str) else self.const(b)
        return self.body.op(f"{word} {self.type_} {a}, {by}")

    def compare(self, word: str, a: str, b: str | float) -> str:
        return self.op(f"fcmp {word}", a, b)

    def select(self, test: str, a: str, b: str) -> str:
        return self.body.op(f"select {self.mask} {test}, {self.type_} {a}, {self.type_} {b}")

    def signed(self, magnitude: str) -> str:
        return self.body.intrinsic("copysign", self.name, self.lanes, [magnitude, self.value])

    def truncated(self) -> str:
        """The magnitude without its fraction."""
        beyond = self.compare("ogt", self.nearest, self.size)
        return self.select(beyond, self.op("fsub", self.nearest, 1.0), self.nearest)

    def stepped(self, beyond: str, word: str) -> str:
        """The nearest integer, or the next one where the nearest is on the wrong side."""
        nearest = self.signed(self.nearest)
        test = self.compare(beyond, nearest, self.value)
        return self.signed(self.select(test, self.op(word, nearest, 1.0), nearest))


def _rint(x: _Size) -> str:
    return x.signed(x.nearest)


def _trunc(x: _Size) -> str:
    return x.signed(x.truncated())


def _floor(x: _Size) -> str:
    return x.stepped("ogt", "fsub")


def _ceil(x: _Size) -> str:
    return x.stepped("olt", "fadd")


def _round(x: _Size) -> str:
    """Round to the nearest integer, ties away from zero."""
    whole = x.truncated()
    up = x.compare("oge", x.op("fsub", x.size, whole), 0.5)
    return x.signed(x.select(up, x.op("fadd", whole, 1.0), whole))


_FUNCTIONS: dict[str, Callable[[_Size], str]] = {
    "rint": _rint,
    "trunc": _trunc,
    "floor": _floor,
    "ceil": _ceil,
    "round": _round,
}


def rounded(body: Body, stem: str, value: str, name: str, lanes: int) -> str:
    """The result of the LLVM intrinsic named ``stem``."""
    return _FUNCTIONS[stem](_Size(body, value, name, lanes))
