"""What a ``range`` gives: how many items, which, and within which bounds."""

from __future__ import annotations

from gridlane.core.dtypes import i32, i64
from gridlane.frontends.python.conversion import cast_scalar
from gridlane.frontends.python.operands import RangeOperand, Scalar
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith
from gridlane.ir.values import Value


def range_length(t: Translator, operand: RangeOperand) -> Value:
    """ceil((stop - start) / step), not below 0."""
    b = t.b
    start, stop, step = (
        b.cast(part.value, i64) for part in (operand.start, operand.stop, operand.step)
    )
    one, zero = b.const(1, i64), b.const(0, i64)
    up = b.binary(arith.Gt, step, zero)
    toward = b.select(up, b.sub(step, one), b.add(step, one))
    count = b.sub(stop, start)
    if constant(step) not in (1, -1):
        count = b.div(b.add(count, toward), step)
    elif constant(step) == -1:
        count = b.neg(count)
    return b.binary(arith.Max, count, zero)


def range_item(t: Translator, operand: RangeOperand, index: Scalar) -> Scalar:
    """start + index * step."""
    dtype = operand.start.dtype
    narrow = cast_scalar(t, index, dtype)
    value = t.b.add(operand.start.value, t.b.mul(narrow.value, operand.step.value))
    return Scalar(value, *range_bounds(operand))


def range_bounds(operand: RangeOperand) -> tuple[int, int]:
    """The bounds of the values that a range gives."""
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
