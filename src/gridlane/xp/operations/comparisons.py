"""Comparisons, tests and logic: results are bools."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gridlane.core.dtypes import b1, u8
from gridlane.ir.expressions import FORMATS, NARROW, Expression, Writer
from gridlane.ir.op import Op
from gridlane.ir.ops import arith
from gridlane.xp.operations.loops import BOOL, promoted
from gridlane.xp.operations.record import Complex, Loop, Operation
from gridlane.xp.operations.writing import (
    binary,
    chosen,
    is_finite,
    is_infinite,
    is_nan,
    of_numpy,
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


_tests = partial(of_numpy, TESTS)
_logic = partial(of_numpy, LOGIC)

ROWS = (
    *[
        of_numpy(
            COMPARISONS,
            name,
            _comparison(name),
            f"a {_SIGNS[name]} b",
            special="true for NaN" if name == "not_equal" else "false for NaN",
            rewrite=_in_range(name),
        )
        for name in _OPS
    ],
    _tests("isnan", is_nan, "whether a, or a part of it, is NaN"),
    _tests("isinf", is_infinite, "whether a, or a part of it, is infinite"),
    _tests("isfinite", is_finite, "neither isnan nor isinf"),
    _tests(
        "signbit",
        lambda w, a: _signbit(w, real(a)),
        "whether the sign bit is set",
        special="true for -0",
    ),
    *[
        _logic(f"logical_{name}", _logical(op), f"the logical {word}; numbers but 0 are true")
        for name, op, word in (
            ("and", arith.And, "and"),
            ("or", arith.Or, "or"),
            ("xor", arith.Xor, "exclusive or"),
        )
    ],
    _logic("logical_not", lambda w, a: ~truth(w, a), "a == 0"),
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
