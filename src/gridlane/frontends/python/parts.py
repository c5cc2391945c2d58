"""The operands that ranges, slices, expressions of arrays, f-strings, methods and their like are
made of. They have no
spec, and go through branches part by part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, cast

from gridlane.frontends.python.operands import (
    ArrayExpression,
    BoundMethod,
    EnumerateOperand,
    FormattedText,
    Operand,
    RangeOperand,
    ReversedOperand,
    SliceOperand,
    TupleOperand,
    ZipOperand,
)

_COMPOSED = (
    ArrayExpression, BoundMethod, EnumerateOperand, FormattedText, RangeOperand, ReversedOperand,
    SliceOperand, TupleOperand, ZipOperand,
)  # fmt: skip
PASSED = (
    ArrayExpression, EnumerateOperand, RangeOperand, ReversedOperand, SliceOperand, TupleOperand,
    ZipOperand,
)  # fmt: skip
"""Those that device functions take and return."""
_PART = object()

Shape = tuple[type[Operand], tuple[Any, ...]]
"""The class of an operand, and its attributes without the operands in them."""


def taken_apart(operand: Operand) -> tuple[Shape, list[Operand]] | None:
    """The shape of a composed operand and its parts; None for any other."""
    if not isinstance(operand, _COMPOSED):
        return None
    parts: list[Operand] = []
    values = [getattr(operand, field.name) for field in fields(operand)]
    return (type(operand), tuple([_without(value, parts) for value in values])), parts


def parts_of(operand: Operand) -> list[Operand]:
    """The parts of an operand that is known to be composed."""
    apart = taken_apart(operand)
    assert apart is not None
    return apart[1]


def put_together(shape: Shape, parts: list[Operand]) -> Operand:
    """The operand of a shape with other parts."""
    rest = iter(parts)
    return shape[0](*[_with(value, rest) for value in shape[1]])


def _without(value: Any, parts: list[Operand]) -> Any:
    if isinstance(value, Operand):
        parts.append(value)
        return _PART
    if type(value) is tuple:
        return tuple([_without(item, parts) for item in cast(tuple[Any, ...], value)])
    return value


def _with(value: Any, parts: Iterator[Operand]) -> Any:
    if value is _PART:
        return next(parts)
    if type(value) is tuple:
        return tuple([_with(item, parts) for item in cast(tuple[Any, ...], value)])
    return value
