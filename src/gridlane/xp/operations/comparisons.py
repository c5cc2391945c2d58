"""Comparisons, tests and logic: results are bools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.core.dtypes import b1, u8
from gridlane.ir.expressions import FORMATS, NARROW, Expression, Writer
from gridlane.ir.op import Op
from gridlane.ir.ops import arith
from gridlane.xp.operations.loops import BOOL, loops_of, promoted
from gridlane.xp.operations.record import Complex, Loop, Operation
from gridlane.xp.operations.writing import (
    binary,
    chosen,
    is_finite,
    is_infinite,
    is_nan,
    real,
    split,
    truth,
)

COMPARISONS, TESTS, LOGIC = "Comparisons", "Tests", "Logic and selection"

_OPS: dict[str, type[Op]] = {
    "equal": arith.Eq,
    "not_equal": arith.Ne,
    "less": arith.Lt,
    "less_equal": arith.Le,
    "greater": arith.Gt,
    "greater_equal": arith.Ge,
}
_SIGNS = {
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}


def _comparison(name: str) -> Callable[..., Expression]:
    op = _OPS[name]

    def on_real(w: Writer, a: Expression, b: Expression) -> Expression:
        if a.dtype is b1:
            a, b = a.cast(u8), b.cast(u8)
        if a.dtype is b.dtype:
            return binary(op, a, b)
        return _mixed(w, op, a, b)

    def on_complex(w: Writer, a: Complex, b: Complex) -> Expression:
        if name in ("equal", "not_equal"):
            parts = binary(op, a.real, b.real), binary(op, a.imag, b.imag)
            return parts[0] & parts[1] if name == "equal" else parts[0] | parts[1]
        strict = arith.Lt if name.startswith("less") else arith.Gt
        ordered = ~(is_nan(w, a) | is_nan(w, b))
        tie = a.real.equals(b.real) & binary(op, a.imag, b.imag)
        return ordered & (binary(strict, a.real, b.real) | tie)

    return split(on_real, on_complex)


def _mixed(w: Writer, op: type[Op], a: Expression, b: Expression) -> Expression:
    """A comparison of int64 and uint64: one with the sign bit is below, or above, all others."""
    signed, other = (a, b) if a.dtype.is_signed else (b, a)
    below = signed < 0
    kind = other.dtype
    plain = binary(op, a.cast(kind), b.cast(kind))
    zero, one = w.const(0, kind), w.const(1, kind)
    apart = binary(op, zero, one) if signed is a else binary(op, one, zero)
    return w.select(below, apart, plain)


def _in_range(name: str) -> Callable[..., tuple[str, tuple[Any, ...]] | None]:
    """Comparisons with a Python integer that an integer dtype does not hold."""

    def rewrite(a: Any, b: Any) -> tuple[str, tuple[Any, ...]] | None:
        flipped = type(a) is int
        array, value = (b, a) if flipped else (a, b)
        dtype = getattr(array, "dtype", None)
        if dtype is None or dtype.kind not in "iu" or type(value) is not int:
            return None
        limits = np.iinfo(promoted((dtype, int)))
        if limits.min <= value <= limits.max:
            return None
        above = (value > limits.max) is not flipped
        is_true = name == "not_equal" or (name.startswith("less") == above and name != "equal")
        # Always true, or always false: the array beside a limit of its dtype.
        return "greater_equal" if is_true else "less", (array, int(limits.min))

    return rewrite


def _signbit(w: Writer, a: Expression) -> Expression:
    form = {**FORMATS, **NARROW}[a.dtype]
    return a.reread(form.whole) < 0


def _logical(op: type[Op]) -> Callable[..., Expression]:
    return lambda w, a, b: binary(op, truth(w, a), truth(w, b))


def _where(operands: tuple[Any, ...]) -> Loop:
    dtype = promoted(operands[1:])
    return Loop((BOOL, dtype, dtype), (dtype,))


ROWS = (
    *[
        Operation(
            name,
            2,
            _comparison(name),
            loops_of(getattr(np, name)),
            f"a {_SIGNS[name]} b",
            COMPARISONS,
            special="true for NaN" if name == "not_equal" else "false for NaN",
            rewrite=_in_range(name),
        )
        for name in _OPS
    ],
    Operation("isnan", 1, is_nan, loops_of(np.isnan), "whether a, or a part of it, is NaN", TESTS),
    Operation(
        "isinf",
        1,
        is_infinite,
        loops_of(np.isinf),
        "whether a, or a part of it, is infinite",
        TESTS,
    ),
    Operation("isfinite", 1, is_finite, loops_of(np.isfinite), "neither isnan nor isinf", TESTS),
    Operation(
        "signbit",
        1,
        lambda w, a: _signbit(w, real(a)),
        loops_of(np.signbit),
        "whether the sign bit is set",
        TESTS,
        special="true for -0",
    ),
    *[
        Operation(
            f"logical_{name}",
            2,
            _logical(op),
            loops_of(getattr(np, f"logical_{name}")),
            f"the logical {word}; numbers but 0 are true",
            LOGIC,
        )
        for name, op, word in (
            ("and", arith.And, "and"),
            ("or", arith.Or, "or"),
            ("xor", arith.Xor, "exclusive or"),
        )
    ],
    Operation(
        "logical_not", 1, lambda w, a: ~truth(w, a), loops_of(np.logical_not), "a == 0", LOGIC
    ),
    Operation(
        "where",
        3,
        lambda w, a, b, c: chosen(w, real(a), b, c),
        _where,
        "b where a holds, else c",
        LOGIC,
        gradient=("", "where(a, g, 0)", "where(a, 0, g)"),
    ),
)
