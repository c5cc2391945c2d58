"""The meaning of ``ir.ops.floating`` and of ``FastMath.FTZ``: subnormal numbers are 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.interp.arith import fused
from gridlane.interp.values import Array, Lanes
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, floating

_SCALE = np.float32(2.0**24)
_LEAST = np.float32(2.0**-126) * _SCALE


def flushed(values: Array) -> Array:
    """Numbers, with 0 of its sign for a subnormal one."""
    small = np.abs(values) < np.finfo(values.dtype).smallest_normal
    return np.where(small, np.copysign(values.dtype.type(0), values), values)


PLAIN: dict[type[Op], Callable[..., Lanes]] = {floating.Flush: flushed}
"""The function of each op."""


def computed(op: type[Op], function: Callable[..., Any], operands: list[Array]) -> Array:
    """What an f32 op that flushes gives: for operands that are flushed, a result that is flushed if
    it is subnormal when rounded to the 24 bits of a normal number."""
    operands = [flushed(operand) for operand in operands]
    made: Array = function(*operands)
    scaled = _SCALED.get(op)
    if scaled is None:
        return flushed(made)
    with np.errstate(all="ignore"):
        small = np.abs(scaled(*operands)) < _LEAST
    return np.where(small, np.copysign(np.float32(0), made), made)


def _product(a: Array, b: Array) -> Array:
    return a * _SCALE * b


def _quotient(a: Array, b: Array) -> Array:
    return a * _SCALE / b


def _fma(a: Array, b: Array, c: Array) -> Array:
    return fused(a * _SCALE, b, c * _SCALE)


_SCALED: dict[type[Op], Callable[..., Array]] = {
    arith.Mul: _product,
    arith.Div: _quotient,
    arith.Fma: _fma,
}
"""The result times 2^24, of ops with inexact subnormal results. A factor that overflows does so
where the result is normal."""
