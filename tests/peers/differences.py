"""The differences from numba-cuda that are meant: the rows of docs/dialect.md, as predicates.

What no row covers is a failure, and so is a row that the data do not show, unless it says why.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tests.peers.facts import ERROR, Kinds

MOST = 20
"""Rows that docs/dialect.md may have."""

TypeTest = Callable[[Kinds, str, str], bool]
"""Whether a row covers another result type: of the operands' types, numba's result, gridlane's."""


@dataclass(frozen=True)
class Point:
    """The points of a fact at which numba and gridlane differ.

    Attributes:
        kinds: the types of the operands.
        operands: their values, an array each.
        numba: numba's answers; ``ours`` are gridlane's.
    """

    kinds: Kinds
    operands: list[np.ndarray]
    numba: np.ndarray
    ours: np.ndarray

    @property
    def real(self) -> bool:
        """Whether the results are floats."""
        return self.numba.dtype.kind == "f"

    @property
    def whole(self) -> bool:
        """Whether the results are integers."""
        return self.numba.dtype.kind in "iu"


PointTest = Callable[[Point], np.ndarray | bool]
"""At which of the points a row covers another value."""


@dataclass(frozen=True)
class Row:
    """A difference.

    Attributes:
        name: as in the first column of docs/dialect.md.
        expressions: the whole of an expression that may differ, as a regular expression.
        of_type: which other result types it covers.
        of_value: which other values.
        unseen: why the recorded facts do not show it.
    """

    name: str
    expressions: str
    of_type: TypeTest | None = None
    of_value: PointTest | None = None
    unseen: str = ""

    def __str__(self) -> str:
        return self.name

    def covers_type(self, expression: str, kinds: Kinds, numba: str, ours: str) -> bool:
        """Whether a result type is this difference."""
        fits = self.of_type is not None and re.fullmatch(self.expressions, expression)
        return bool(fits) and self.of_type(kinds, numba, ours)

    def covered(self, expression: str, point: Point) -> np.ndarray:
        """At which points a value is this difference."""
        found = False
        if self.of_value is not None and re.fullmatch(self.expressions, expression):
            found = self.of_value(point)
        return np.broadcast_to(found, point.numba.shape)


def _nan_operand(point: Point) -> np.ndarray | bool:
    floats = [values for values in point.operands if values.dtype.kind == "f"]
    return np.any([np.isnan(values) for values in floats], axis=0) if floats else False


def _wide_amount(point: Point) -> np.ndarray | bool:
    """Where the amount of a shift, the last operand, has more than 32 bits."""
    amount = point.operands[-1]
    return amount.view(np.uint64) >> np.uint64(32) != 0 if amount.dtype.itemsize == 8 else False


def _not_finite(point: Point) -> np.ndarray:
    parts = [*point.operands, point.numba, point.ours]
    with np.errstate(all="ignore"):
        return ~np.all([np.isfinite(part) for part in parts], axis=0)


def _beyond(point: Point, operand: int, bits: int) -> np.ndarray:
    """Where an integer operand takes more than ``bits`` bits with its sign."""
    limit = 1 << (bits - 1)
    return np.array([not -limit <= int(x) < limit for x in point.operands[operand]])


def _multiplied(point: Point) -> np.ndarray | bool:
    """Where floats are some ulp apart; numba's errors grow with each of its products."""
    if not point.real:
        return False
    with np.errstate(all="ignore"):
        near = np.abs(point.numba - point.ours)
        return near <= 128 * np.finfo(point.numba.dtype).eps * np.abs(point.ours)


def _beyond_byte(point: Point) -> np.ndarray | bool:
    if point.kinds[0] not in ("float32", "float64"):
        return False
    info = np.iinfo(point.numba.dtype)
    value = np.trunc(point.operands[0])
    return ~((value >= info.min) & (value <= info.max))


def _minimum(kind: str) -> PointTest:
    def test(point: Point) -> np.ndarray | bool:
        return point.kinds[0] == kind and point.operands[0] == np.iinfo(kind).min

    return test


_POWER = r"[^;]*\*\* .*|pow\(.*|x = a; x \*\*= b; x"

ROWS = [
    Row(
        "integers are required",
        r"(round|math\.ldexp)\(a, b\)|cuda\.(brev|clz|popc)\(a\)|.*in range\((a|1, a, 2)\).*",
        of_type=lambda kinds, numba, ours: "float" in kinds[-1] and ours == ERROR,
    ),
    Row(
        "text of floats",
        r"str\(a\)",
        of_type=lambda kinds, numba, ours: kinds[0][0] in "fc" and ours == ERROR,
    ),
    Row(
        "complex64 in cmath",
        r"cmath\.(acosh|log10|tanh)\(a\)",
        of_type=lambda kinds, numba, ours: (numba, ours) == ("complex128", "complex64"),
    ),
    Row("remainders of floats", r".*(%|//).*", of_value=lambda point: point.real),
    Row(
        "quotient of the smallest integer",
        r".*//.*",
        of_value=lambda point: point.whole & _minimum("int64")(point),
    ),
    Row("powers of integers", _POWER, of_value=lambda point: point.whole),
    Row(
        "contracted sums",
        r"a \* b \+ a|a \+ b \* 0\.5",
        of_value=_multiplied,
        unseen="the interpreter, which is asked, contracts nothing",
    ),
    Row("floats to the power of integers", _POWER + r"|math\.pow\(.*", of_value=_multiplied),
    Row("wide amounts of shifts", r".*(<<|>>|_shift).*", of_value=_wide_amount),
    Row(
        "rounded integers",
        r"round\(a\)",
        of_value=lambda point: point.kinds[0].strip("u")[:3] == "int" and _beyond(point, 0, 54),
    ),
    Row("digits of large numbers", r"round\(a, .*\)", of_value=lambda point: point.real),
    Row("nan as an integer", r"int\(a\)|round\(a\)|np\.u?int.*\(a\)", of_value=_nan_operand),
    Row("floats as bytes", r"np\.u?int8\(a\)", of_value=_beyond_byte),
    Row("complex edges", r"cmath\..*|2j \*\* a|a \*\* 2j", of_value=_not_finite),
    Row(
        "wide exponents of ldexp",
        r"math\.ldexp\(a, b\)",
        of_value=lambda point: _beyond(point, 1, 32),
    ),
    Row("the smallest int16 negated", r"-a", of_value=_minimum("int16")),
    Row(
        "int64 beside uint64",
        r"a (<|<=|>|>=|==|!=) b",
        unseen="no point has a uint64 from 2^63 on that rounds to an int64's float",
    ),
    Row(
        "identity of members",
        "a is b",
        unseen="no operand is a member of an enum",
    ),
    Row(
        "float16 as an integer",
        r"(int|np\.u?int.*)\(a\)",
        unseen="no value of float16 is recorded",
    ),
]

EXTENSIONS = {
    "scalar ufuncs": r"np\..*",
    "bools in min and max": r".*(min|max)\(.*",
    "float16 where paths meet": r".*\b(and|or|if)\b.*|bool\(a\)",
    "bools and float16 as numbers": r"(float|complex)\(.*|a\.real|a\.imag|a\.conjugate\(\)",
    "narrow types in cuda functions": r"cuda\..*",
    "functions of math": r"math\.(cbrt|gcd|isfinite|isinf|isnan)\(.*",
    "functions of cmath": r"cmath\..*",
    "division in place": r".*x /= b; x",
}
"""What gridlane takes and numba refuses: the list of docs/dialect.md, by expression."""
