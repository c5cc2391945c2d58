"""The types that operands of an op are converted to."""

from __future__ import annotations

from typing import Any

from gridlane.frontends.triton.casting import converted
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.numbers import constant, to_tensor
from gridlane.frontends.triton.shapes import matched
from gridlane.frontends.triton.types import bfloat16, dtype, float16, float32, float64
from gridlane.frontends.triton.values import tensor


class IncompatibleTypeError(TypeError):
    """Two operands that no op takes together."""

    def __init__(self, first: dtype, second: dtype) -> None:
        super().__init__(f"invalid operands of type {first!r} and {second!r}")


def promoted_integers(first: dtype, second: dtype) -> dtype:
    """The type of two integers, as C's usual arithmetic conversions have it."""
    wide, other = first.int_bitwidth, second.int_bitwidth
    if first.int_signedness == second.int_signedness:
        return first if wide > other else second
    if first.is_int_unsigned():
        return first if wide >= other else second
    return second if other >= wide else first


def promoted(
    first: dtype, second: dtype, divides: bool, numbers: tuple[bool, bool] = (False, False)
) -> dtype:
    """The type in which two scalars are computed. ``numbers``: which of them is a plain number of
    Python, which counts only if it is of a higher kind than the other operand."""
    if numbers[0] != numbers[1]:
        number, other = (first, second) if numbers[0] else (second, first)
        if number.kind().value <= other.kind().value:
            return float32 if divides and other in (float16, bfloat16) else other
    for kind in (float64, float32):
        if kind in (first, second):
            return kind
    if float16 in (first, second):
        return float32 if divides else float16
    if bfloat16 in (first, second):
        return bfloat16 if first == second and not divides else float32
    if first.is_fp8() and second.is_fp8():
        return first if first == second else float16
    if not first.is_int() or not second.is_int():
        raise TypeError(f"unexpected type {first} and {second}")
    if divides and first.int_signedness != second.int_signedness:
        raise TypeError(
            f"Cannot use /, #, or % with {first!r} and {second!r} because they have different "
            "signedness;this is unlikely to result in a useful answer. Cast them to the same "
            "signedness."
        )
    return promoted_integers(first, second)


def _check_pointer(kind: dtype, other: dtype, allowed: bool) -> None:
    if kind.is_ptr() and (not allowed or (other.is_ptr() and kind != other) or other.is_floating()):
        raise IncompatibleTypeError(kind, other)


def _check_number(value: Any, kind: dtype) -> None:
    """A number beside an integer tensor fits in its type."""
    if not kind.is_int() or isinstance(value, float):
        return
    if value < 0 and kind.is_int_unsigned():
        raise ValueError(
            "Cannot perform a binary operation between an unsigned tensor and a negative scalar. "
            "Perform a explicit cast on one of them."
        )
    if not kind.get_int_min_value() <= value <= kind.get_int_max_value():
        raise ValueError(f"Scalar {value} is out of range for type {kind}")


def operands(
    lhs: Any,
    rhs: Any,
    pointers: tuple[bool, bool] = (False, False),
    divides: bool = False,
    converts: bool = True,
) -> tuple[tensor, tensor]:
    """Two operands of one type and shape; a scalar beside a tile stays one. ``pointers``: which of
    them may be one, and keeps its type; ``converts``: whether types are made equal at all."""
    given = [unwrapped(lhs), unwrapped(rhs)]
    numbers = [isinstance(each, (int, float)) for each in given]
    values = [to_tensor(each) for each in given]
    first, second = [value.dtype for value in values]
    _check_pointer(first, second, pointers[0])
    _check_pointer(second, first, pointers[1])
    if converts and not first.is_ptr() and not second.is_ptr():
        kind = promoted(first, second, divides, (numbers[0], numbers[1]))
        for place, each in enumerate(given):
            if numbers[place]:
                _check_number(each, kind)
                values[place] = constant(each, kind)
            else:
                values[place] = converted(values[place], kind)
    one, two = matched(*values)
    return one, two
