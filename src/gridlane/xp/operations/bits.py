"""Bits of integers, and the representation of floats."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gridlane.core.dtypes import i32, i64, u8
from gridlane.ir.expressions import Expression, Writer
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, math
from gridlane.xp.operations.loops import BFLOAT16, INT32, loops_of
from gridlane.xp.operations.record import Loop, Operation
from gridlane.xp.operations.writing import (
    binary,
    by_op2,
    is_infinite,
    number,
    of_numpy,
    quiet_nan,
    signed,
    unary,
    widened,
)

BITS, FLOATS = "Bits", "Representation of floats"


def _bitwise(op: type[Op]) -> Callable[..., Expression]:
    return lambda w, a, b: binary(op, a, b)


def _left_shift(w: Writer, a: Expression, b: Expression) -> Expression:
    return a << b


def _right_shift(w: Writer, a: Expression, b: Expression) -> Expression:
    return a >> b


def _count(w: Writer, a: Expression) -> Expression:
    size = abs(a) if a.dtype.is_signed else a
    return unary(arith.Popcount, size).cast(u8)


def _ldexp_types(operands: tuple[Any, ...]) -> Loop:
    if operands[0] == BFLOAT16 and operands[1] != BFLOAT16:
        other = loops_of(np.ldexp)((np.dtype(np.float32), operands[1]))
        return Loop((BFLOAT16, other.inputs[1]), (BFLOAT16,))
    return loops_of(np.ldexp)(operands)


def _ldexp(w: Writer, a: Expression, b: Expression) -> Expression:
    exponent = b
    if b.dtype is i64:
        # Far beyond the exponents of all floats.
        exponent = b.least(1 << 20).most(-(1 << 20)).cast(i32)
    return w.wrap(w.builder.value(math.Ldexp(a.value, exponent.value)))


def _frexp(w: Writer, a: Expression) -> tuple[Expression, Expression]:
    fraction, exponent = w.builder.emit(math.Frexp(a.value)).results
    return w.wrap(fraction), w.wrap(exponent)


def _modf(w: Writer, a: Expression) -> tuple[Expression, Expression]:
    whole = unary(math.Trunc, a)
    fraction = w.select(is_infinite(w, a), number(a, 0.0), a - whole)
    return signed(fraction, a), whole


def _spacing(w: Writer, a: Expression) -> Expression:
    """The distance to the neighbour away from zero."""
    infinite = number(a, float("inf"))
    step = binary(math.Nextafter, a, signed(infinite, a)) - a
    step = w.select(a.equals(0.0), abs(step), step)
    return w.select(is_infinite(w, a), quiet_nan(a), step)


def _frexp_types(operands: tuple[Any, ...]) -> Loop:
    loop = loops_of(np.frexp)(operands)
    return Loop(loop.inputs, (loop.inputs[0], INT32))


def _invert(w: Writer, a: Expression) -> Expression:
    return ~a


_bits = partial(of_numpy, BITS)
_floats = partial(of_numpy, FLOATS)

ROWS = (
    *[
        _bits(f"bitwise_{name}", _bitwise(op), f"the bitwise {word}; the logical one of bools")
        for name, op, word in (
            ("and", arith.And, "and"),
            ("or", arith.Or, "or"),
            ("xor", arith.Xor, "exclusive or"),
        )
    ],
    _bits(
        "bitwise_invert",
        _invert,
        "the bitwise complement; the logical one of bools",
        like="invert",
        aliases=("invert", "bitwise_not"),
    ),
    _bits(
        "bitwise_left_shift",
        _left_shift,
        "a * 2**b, modulo the width",
        like="left_shift",
        aliases=("left_shift",),
        special="0 for a negative b, and one of the width or more",
    ),
    _bits(
        "bitwise_right_shift",
        _right_shift,
        "a / 2**b, rounded down",
        like="right_shift",
        aliases=("right_shift",),
        special="the sign (0 or -1) for a negative b, and one of the width or more",
    ),
    _bits("bitwise_count", _count, "the one bits of the magnitude"),
    _floats(
        "copysign",
        by_op2(math.Copysign),
        "the magnitude of a with the sign of b",
        gradient=("g * copysign(1.0, a) * copysign(1.0, b)", ""),
    ),
    _floats(
        "nextafter",
        by_op2(math.Nextafter),
        "the next float after a towards b",
        special="b where a == b",
    ),
    Operation(
        "ldexp",
        2,
        _ldexp,
        _ldexp_types,
        "a * 2**b, rounded once",
        FLOATS,
        gradient=("ldexp(g, b)", ""),
    ),
    Operation(
        "frexp",
        1,
        _frexp,
        _frexp_types,
        "the fraction in [0.5, 1) and the exponent of 2",
        FLOATS,
        special="(a, 0) of 0, infinities and NaN",
    ),
    _floats(
        "modf",
        widened(_modf),
        "the fractional and the integral part, both with the sign of a",
        special="(0, a) of infinities",
    ),
    _floats(
        "spacing",
        _spacing,
        "the distance to the next float away from 0, with the sign of a",
        special="NaN of infinities; the least number of 0 and -0",
    ),
)
