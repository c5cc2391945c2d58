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


def _fma_towards(op: floating.FmaTowards, a: Array, b: Array, c: Array) -> Array:
    """a * b + c, rounded once in a direction; with FTZ of and to numbers that are flushed."""
    ftz = floating.flushes(op)
    operands = [flushed(operand) if ftz else operand for operand in (a, b, c)]
    with np.errstate(all="ignore"):
        wide = [operand.astype(np.float64) for operand in operands]
        product = wide[0] * wide[1]  # exact
        total = _sum_towards(op.towards, product, wide[2])
        scale = np.float64(_SCALE)
        small = np.abs(_sum_towards(op.towards, product * scale, wide[2] * scale)) < _LEAST
    return np.where(small, np.copysign(np.float32(0), total), total) if ftz else total


def _sum_towards(towards: floating.Towards, a: Array, b: Array) -> Array:
    """The exact sum of two f64 as an f32: the nearest one, or its neighbour."""
    total: Array = a + b
    back = total - a
    error = (a - (total - back)) + (b - back)  # exact: Knuth's TwoSum
    if towards is floating.Towards.DOWN:
        total = np.where((total == 0) & (np.signbit(a) | np.signbit(b)), -0.0, total)
    near = total.astype(np.float32)
    wide = near.astype(np.float64)
    more = (total > wide) | ((total == wide) & (error > 0))
    less = (total < wide) | ((total == wide) & (error < 0))
    up, down = (np.nextafter(near, np.float32(end)) for end in (np.inf, -np.inf))
    match towards:
        case floating.Towards.UP:
            return np.where(more, up, near)
        case floating.Towards.DOWN:
            return np.where(less, down, near)
        case floating.Towards.ZERO:
            below = np.signbit(total)
            outside = (below & more) | (~below & less)
            return np.where(outside, np.nextafter(near, np.float32(0)), near)


def computed(op: type[Op], function: Callable[..., Any], operands: list[Array]) -> Array:
    """The result of an f32 op that flushes: on flushed operands, and flushed itself if it is
    subnormal when rounded to the 24 bits of a normal number."""
    operands = [flushed(operand) for operand in operands]
    array: Array = function(*operands)
    scaled = _SCALED.get(op)
    if scaled is None:
        return flushed(array)
    with np.errstate(all="ignore"):
        small = np.abs(scaled(*operands)) < _LEAST
    return np.where(small, np.copysign(np.float32(0), array), array)


def _product(a: Array, b: Array) -> Array:
    return a * _SCALE * b


def _quotient(a: Array, b: Array) -> Array:
    return a * _SCALE / b


def _fma(a: Array, b: Array, c: Array) -> Array:
    return fused(a * _SCALE, b, c * _SCALE)


WITH_OP: dict[type[Op], Callable[..., Lanes]] = {floating.FmaTowards: _fma_towards}
"""The function of each op that has attributes."""

_SCALED: dict[type[Op], Callable[..., Array]] = {
    arith.Mul: _product,
    arith.Div: _quotient,
    arith.Fma: _fma,
}
"""The result times 2^24, of ops with inexact subnormal results. A factor that overflows does so
where the result is normal."""
