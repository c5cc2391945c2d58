"""The items of a ``range``: their number, values and bounds."""

from __future__ import annotations

import ast

from gridlane.core.dtypes import b1, i32, i64, u64
from gridlane.core.errors import TypingError
from gridlane.frontends.python.compare import compare
from gridlane.frontends.python.conversion import cast_scalar
from gridlane.frontends.python.operands import Operand, RangeOperand, Scalar
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith
from gridlane.ir.values import Value


def range_length(t: Translator, operand: RangeOperand) -> Value:
    """ceil((stop - start) / step), not below 0, as an i64: at most its largest, where Python's
    ``len`` raises and no loop ends.

    The distance of two i64 may not fit in one, so it is a u64. A step of 0 yields no items.
    """
    b = t.b
    start, stop, step = operand.start.value, operand.stop.value, operand.step.value
    one, zero = b.const(1, u64), b.const(0, operand.step.dtype)
    if constant(step) == 1:
        return _distance(t, operand.start, operand.stop)
    if constant(step) == -1:
        return _distance(t, operand.stop, operand.start)
    up = b.binary(arith.Gt, step, zero)
    first, last = b.select(up, start, stop), b.select(up, stop, start)
    wide = b.cast(step, i64)  # where the smallest int32 has an opposite
    stride = b.cast(b.select(up, wide, b.sub(b.const(0, i64), wide)), u64)
    distance = b.sub(b.cast(last, u64), b.cast(first, u64))
    count = b.add(b.div(b.sub(distance, one), stride), one)
    some = b.and_(b.lt(first, last), b.not_(b.eq(step, zero)))
    return b.select(some, _capped(t, count), b.const(0, i64))


def _capped(t: Translator, count: Value) -> Value:
    """A u64 as an i64, at most its largest."""
    return t.b.cast(t.b.binary(arith.Min, count, t.b.const(i64.max, u64)), i64)


def _distance(t: Translator, first: Scalar, last: Scalar) -> Value:
    """last - first, not below 0, as an i64."""
    b, none = t.b, t.b.const(0, i64)
    (low, high), (least, most) = first.sure, last.sure
    if least - high >= i64.min and most - low <= i64.max:
        return b.binary(arith.Max, b.sub(b.cast(last.value, i64), b.cast(first.value, i64)), none)
    distance = b.sub(b.cast(last.value, u64), b.cast(first.value, u64))
    return b.select(b.lt(first.value, last.value), _capped(t, distance), none)


def range_item(t: Translator, operand: RangeOperand, index: Scalar) -> Scalar:
    """start + index * step."""
    dtype = operand.start.dtype
    narrow = cast_scalar(t, index, dtype)
    value = t.b.add(operand.start.value, t.b.mul(narrow.value, operand.step.value))
    return Scalar(value, *range_bounds(operand))


def range_contains(t: Translator, item: Operand, operand: RangeOperand) -> Value:
    """``item in range(...)``; a step of 0 yields no items.

    Raises:
        TypingError: the item is no integer.
    """
    if not (isinstance(item, Scalar) and (item.dtype.is_integer or item.dtype is b1)):
        raise t.fail(
            TypingError,
            f"{item.type_name} in range: an integer is required; compare it with the bounds",
        )
    b = t.b
    start, stop, step = operand.start, operand.stop, operand.step
    zero = t.number(0, step.dtype)
    up, down = compare(t, ast.Gt, step, zero), compare(t, ast.Lt, step, zero)
    above = b.and_(compare(t, ast.LtE, start, item), compare(t, ast.Lt, item, stop))
    below = b.and_(compare(t, ast.GtE, start, item), compare(t, ast.Gt, item, stop))
    # Within the bounds both differences fit in a u64; elsewhere the remainder does not count.
    first, here = b.cast(start.value, u64), b.cast(item.value, u64)
    wide = b.cast(b.cast(step.value, i64), u64)
    rest_up = b.binary(arith.Rem, b.sub(here, first), wide)
    rest_down = b.binary(arith.Rem, b.sub(first, here), b.sub(b.const(0, u64), wide))
    none = b.const(0, u64)
    rising = b.and_(b.and_(up, above), b.eq(rest_up, none))
    return b.or_(rising, b.and_(b.and_(down, below), b.eq(rest_down, none)))


def range_bounds(operand: RangeOperand) -> tuple[int, int]:
    """The bounds of the values of a range."""
    (first, last), (low, high) = operand.start.sure, operand.stop.sure
    up, down = operand.step.sure
    if up > 0:
        return first, max(first, high - 1)
    if down < 0:
        return min(last, low + 1), last
    return min(first, low + 1), max(last, high - 1)


def needs_wide_counter(operand: RangeOperand) -> bool:
    """Whether stepping past the end may overflow 32 bits."""
    step = constant(operand.step.value)
    return operand.start.dtype is i32 and step not in (1, -1)


def may_wrap(operand: RangeOperand) -> bool:
    """Whether the sum of the last item and the step may not fit in the type."""
    (down, up), (low, high) = operand.step.sure, range_bounds(operand)
    dtype = operand.start.dtype
    return (up > 0 and high + up > dtype.max) or (down < 0 and low + down < dtype.min)


def is_last(t: Translator, operand: RangeOperand, now: Value) -> Value:
    """Whether the item behind ``now`` does not fit in the type, so that ``now`` is the last."""
    b, dtype = t.b, operand.start.dtype
    step, zero = operand.step.value, b.const(0, dtype)
    down, up = operand.step.sure
    ahead = b.binary(arith.Max, step, zero) if down < 0 else step
    back = b.binary(arith.Min, step, zero) if up > 0 else step
    above = b.binary(arith.Gt, now, b.sub(b.const(dtype.max, dtype), ahead))
    below = b.lt(now, b.sub(b.const(dtype.min, dtype), back))
    if down >= 0:
        return above
    return b.or_(above, below) if up > 0 else below
