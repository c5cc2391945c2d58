"""The domains of ops that are marked ``inside``: outside them the result is undefined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.interp.integer import unsigned
from gridlane.interp.values import Array, widened
from gridlane.ir.op import Op
from gridlane.ir.ops import arith


def outside(op: Op, *operands: Any) -> Array:
    """The lanes whose operands are outside the domain of a marked op."""
    return _OUTSIDE[type(op)](op, *operands)


def _division(op: Op, lhs: Array, rhs: Array) -> Array:
    zero = rhs == 0
    if lhs.dtype.kind != "i":
        return zero
    return zero | ((lhs == np.iinfo(lhs.dtype).min) & (rhs == -1))


def _shift(op: Op, value: Array, amount: Array) -> Array:
    return unsigned(amount) >= value.dtype.itemsize * 8


def _cast(op: arith.Cast, value: Array) -> Array:
    whole = np.trunc(widened(value).astype(np.float64))
    low, high = float(op.type.min), float(op.type.max + 1)
    return ~((whole >= low) & (whole < high))


_OUTSIDE: dict[type[Op], Callable[..., Array]] = {
    arith.Div: _division,
    arith.Rem: _division,
    arith.Shl: _shift,
    arith.Shr: _shift,
    arith.Cast: _cast,
}
