"""The iterables of ``for``: their number of items, and each item."""

from __future__ import annotations

from gridlane.core.dtypes import i64
from gridlane.core.errors import TypingError
from gridlane.frontends.python import bounds
from gridlane.frontends.python.indexing import element_at, tuple_item
from gridlane.frontends.python.operands import (
    Elements,
    EnumerateOperand,
    Operand,
    RangeOperand,
    ReversedOperand,
    Scalar,
    TupleOperand,
    ZipOperand,
)
from gridlane.frontends.python.ranges import range_item, range_length
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith
from gridlane.ir.values import Value


def static_items(t: Translator, operand: Operand) -> list[Operand] | None:
    """The items of an iterable whose number of items is constant, else None."""
    if isinstance(operand, TupleOperand):
        return list(operand.items)
    if isinstance(operand, EnumerateOperand):
        inner = static_items(t, operand.inner)
        start = constant(operand.start.value)
        if inner is None or start is None:
            return None
        return [
            TupleOperand((t.integer(int(start) + number), item))
            for number, item in enumerate(inner)
        ]
    if isinstance(operand, ReversedOperand):
        inner = static_items(t, operand.inner)
        return None if inner is None else inner[::-1]
    if isinstance(operand, ZipOperand):
        sides = [static_items(t, item) for item in operand.items]
        if any(side is None for side in sides):
            return None
        return [TupleOperand(pair) for pair in zip(*sides)]  # type: ignore[arg-type]  # no None
    return None


def length(t: Translator, operand: Operand) -> Value:
    """The number of items, as i64.

    Raises:
        TypingError: the operand cannot be iterated over.
    """
    b = t.b
    if isinstance(operand, Elements):
        if not operand.shape:
            raise t.fail(TypingError, "a 0-d array cannot be iterated over; read it with a[()]")
        return operand.shape[0]
    if isinstance(operand, TupleOperand):
        return b.const(len(operand.items), i64)
    if isinstance(operand, EnumerateOperand | ReversedOperand):
        return length(t, operand.inner)
    if isinstance(operand, ZipOperand):
        lengths = [length(t, item) for item in operand.items]
        shortest = lengths[0]
        for other in lengths[1:]:
            shortest = b.binary(arith.Min, shortest, other)
        return shortest
    if isinstance(operand, RangeOperand):
        return range_length(t, operand)
    raise t.fail(
        TypingError,
        f"{operand.type_name} cannot be iterated over; range, arrays, tuples, enumerate, zip can",
    )


def item_at(t: Translator, operand: Operand, index: Scalar) -> Operand:
    """Item ``index`` of something that ``length`` accepts; the index is in range."""
    if isinstance(operand, Elements):
        return element_at(t, operand, index)
    if isinstance(operand, TupleOperand):
        return tuple_item(t, operand, index, checked=False)
    if isinstance(operand, EnumerateOperand):
        number = t.b.add(index.value, operand.start.value)
        start = operand.start
        counted = Scalar(number, *bounds.add(index.dtype, index, start))
        return TupleOperand((counted, item_at(t, operand.inner, index)))
    if isinstance(operand, ReversedOperand):
        last = t.b.sub(length(t, operand.inner), t.b.const(1, i64))
        return item_at(t, operand.inner, Scalar(t.b.sub(last, index.value), 0, i64.max))
    if isinstance(operand, ZipOperand):
        return TupleOperand(tuple([item_at(t, item, index) for item in operand.items]))
    assert isinstance(operand, RangeOperand)
    return range_item(t, operand, index)
