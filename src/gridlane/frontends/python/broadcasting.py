"""Loops over the elements of a view, and the operands that broadcast to it: numbers, arrays, and
expressions of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gridlane.core.dtypes import b1, i64
from gridlane.core.errors import TypingError
from gridlane.frontends.python.calls.registry import HANDLERS
from gridlane.frontends.python.conversion import cast_to
from gridlane.frontends.python.element_addresses import address, load
from gridlane.frontends.python.operands import ArrayView, Elements, Operand
from gridlane.frontends.python.overlaps import Order
from gridlane.frontends.python.raising import stop
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith, control
from gridlane.ir.values import Region, Value


def require_broadcast(t: Translator, value: Operand, shape: Sequence[Value]) -> None:
    """End the thread with a ValueError where an array does not broadcast to a shape.

    Raises:
        TypingError: it never does.
    """
    if not isinstance(value, Elements):
        return
    if value.type.ndim > len(shape):
        raise t.fail(TypingError, f"{value.type} does not fit in a view of {len(shape)} dimensions")
    b, wrong = t.b, t.b.const(False, b1)
    for have, want in zip(value.shape, shape[len(shape) - value.type.ndim :], strict=True):
        known, wanted = constant(have), constant(want)
        if have is want or known == 1 or (known is not None and known == wanted):
            continue
        if known is not None and wanted is not None:
            raise t.fail(TypingError, f"{known} elements are stored to {wanted}")
        other = b.binary(arith.Ne, have, want)
        if known is None:
            other = b.and_(other, b.binary(arith.Ne, have, b.const(1, i64)))
        wrong = other if constant(wrong) is False else b.or_(wrong, other)
    stop_where(t, wrong, "an array is stored to a view that it does not broadcast to")


def stop_where(t: Translator, wrong: Value, message: str) -> None:
    if constant(wrong) is False:
        return
    with t.b.if_(wrong):
        stop(t, "ValueError", message)
    t.dead = False


def item_for(t: Translator, value: Operand, indices: list[Value]) -> Operand:
    """The operand's value for an element of the array that it broadcasts to."""
    if not isinstance(value, Elements):
        return value
    own = indices[len(indices) - value.type.ndim :]
    pairs = zip(own, value.shape, strict=True)
    return element(t, value, [_broadcast(t, index, extent) for index, extent in pairs])


def element(t: Translator, value: Elements, indices: list[Value]) -> Operand:
    """The element of an array or of an expression, by one index in range for each axis."""
    if isinstance(value, ArrayView):
        return load(t, address(t, value, indices), value.type.element, value.type.readonly)
    result = applied(t, value.function, value.operands, value.shape, indices)
    return cast_to(t, result, value.element)


def applied(
    t: Translator,
    function: Any,
    operands: Sequence[Operand],
    shape: Sequence[Value],
    indices: list[Value],
) -> Operand:
    """A function of numpy's on an element of each operand: that at the indices in the shape to
    which they broadcast."""
    items = [_operand_item(t, each, shape, indices) for each in operands]
    return HANDLERS[function].emit(t, *items)


def _operand_item(
    t: Translator, value: Operand, shape: Sequence[Value], indices: list[Value]
) -> Operand:
    if not isinstance(value, Elements):
        return value
    missing = len(shape) - value.type.ndim
    rows = zip(indices[missing:], value.shape, shape[missing:], strict=True)
    inner = [index if own is whole else _broadcast(t, index, own) for index, own, whole in rows]
    return element(t, value, inner)


def loop_in(
    t: Translator,
    order: Order | None,
    shape: tuple[Value, ...],
    outer: tuple[Value, ...],
    body: Callable[[list[Value]], None],
    is_checked: bool = False,
) -> None:
    """Loops over all indices of a shape below the first ones, or over all in some order.

    Args:
        is_checked: whether no array that they read is one that they write before.
    """
    first = len(t.b.region.ops)
    if order is None:
        loop_over(t, shape, list(outer), body)
    else:
        inner = order.indices
        loop_over(t, order.shape, [], lambda counted: body(inner(t, counted)), order.backwards)
    if is_checked:
        t.unit.checked_loops |= {
            op for op in t.b.region.ops[first:] if isinstance(op, control.Loop)
        }


def _broadcast(t: Translator, index: Value, extent: Value) -> Value:
    """An axis of extent 1 maps every index to its only item."""
    known = constant(extent)
    if known is not None:
        return t.b.const(0, i64) if known == 1 else index
    if constant(index) == 0:
        return index
    one = t.b.eq(extent, t.b.const(1, i64))
    return t.b.select(one, t.b.const(0, i64), index)


def loop_over(
    t: Translator,
    shape: tuple[Value, ...],
    indices: list[Value],
    body: Callable[[list[Value]], None],
    backwards: Sequence[Value] = (),
) -> None:
    """Nested loops over all indices of a shape, of an axis from its end where ``backwards``."""
    if len(indices) == len(shape):
        body(indices)
        return
    b = t.b
    counter = b.variable("element", i64)
    b.write(counter, b.const(0, i64))
    op = control.Loop(Region(), Region())
    b.emit(op)
    with b.inside(op.body):
        now = b.read(counter)
        extent = shape[len(indices)]
        b.break_if(b.binary(arith.Ge, now, extent))
        if backwards and constant(backwards[len(indices)]) is not False:
            last = b.sub(extent, b.const(1, i64))
            now = b.select(backwards[len(indices)], b.sub(last, now), now)
        loop_over(t, shape, [*indices, now], body, backwards)
    with b.inside(op.step):
        b.write(counter, b.add(b.read(counter), b.const(1, i64)))
