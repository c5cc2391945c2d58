"""Views of arrays: slices, new axes, and stores to whole views."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gridlane.core import argtypes
from gridlane.core.dtypes import i64
from gridlane.core.errors import TypingError
from gridlane.frontends.python.conversion import strides_of
from gridlane.frontends.python.operands import (
    ArrayView,
    Operand,
    Scalar,
    SliceOperand,
    TupleOperand,
)
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith, control
from gridlane.ir.values import Region, Value

if TYPE_CHECKING:
    from gridlane.frontends.python.translator import Translator

IndexPart = Scalar | SliceOperand | None
Check = Callable[["Translator", Scalar, Value, ArrayView | None], Value]


def make_view(t: Translator, array: ArrayView, parts: list[IndexPart], check: Check) -> ArrayView:
    """``array[parts]`` with at least one slice or new axis. An integer removes its axis."""
    from gridlane.frontends.python.indexing import byte_offset, strided_sum

    layout = _layout(array, parts)
    strides = strides_of(t, array)
    starts, shape, kept = [], [], []
    axis = 0
    for part in parts:
        if part is None:
            shape.append(t.b.const(1, i64))
            kept.append(t.b.const(0, i64))
            continue
        extent, stride = array.shape[axis], strides[axis]
        if isinstance(part, Scalar):
            starts.append((check(t, part, extent, array), stride))
        else:
            start, count, step = slice_extent(t, part, extent)
            if constant(start) != 0:
                starts.append((start, stride))
            shape.append(count)
            kept.append(t.b.mul(stride, step))
        axis += 1
    start_pointer = array.pointer
    if starts:
        values, steps = [s for s, _ in starts], tuple([s for _, s in starts])
        start_pointer = _moved(t, array, values, steps, byte_offset, strided_sum)
    kind = argtypes.ArrayType(array.type.element, len(shape), layout, array.type.readonly)
    return ArrayView(kind, start_pointer, tuple(shape), tuple(kept) if layout == "A" else ())


def _moved(t, array, values, steps, byte_offset, strided_sum):  # type: ignore[no-untyped-def]
    """The address of a view's first element. In elements where the strides come from a shape, so
    that the address stays a sum of index * extent."""
    offset = strided_sum(t, values, steps)
    if array.type.layout == "A":
        return byte_offset(t, array.pointer, offset)
    size = array.pointer.type.element.size
    plain = [_in_elements(t, step, size) for step in steps]
    if any(step is None for step in plain):
        return byte_offset(t, array.pointer, offset)
    return t.b.offset(array.pointer, strided_sum(t, values, tuple(plain)))


def _in_elements(t: Translator, stride: Value, size: int) -> Value | None:
    """A stride of ``strides_of`` in elements: its products start with the element's size."""
    known = constant(stride)
    if type(known) is int:
        return t.b.const(known // size, i64)
    op = stride.op
    if not isinstance(op, arith.Mul):
        return None
    inner = _in_elements(t, op.lhs, size)
    return None if inner is None else t.b.mul(inner, op.rhs)


def _layout(array: ArrayView, parts: list[IndexPart]) -> str:
    """The layout of a view: C where a C array is indexed by integers first, then at most one
    partial slice without a step, then whole axes; F likewise from the other end."""
    if array.type.layout == "A" or any(part is None for part in parts):
        return "A"
    ordered = parts if array.type.layout == "C" else parts[::-1]
    stage = 0
    for part in ordered:
        if isinstance(part, Scalar):
            if stage:
                return "A"
        elif _is_whole(part):
            stage = 1
        elif stage or not _has_unit_step(part):
            return "A"
        else:
            stage = 1
    return array.type.layout


def _is_whole(part: IndexPart) -> bool:
    return (
        isinstance(part, SliceOperand)
        and part.start is None
        and part.stop is None
        and _has_unit_step(part)
    )


def _has_unit_step(part: IndexPart) -> bool:
    assert isinstance(part, SliceOperand)
    return part.step is None or constant(part.step.value) == 1


def slice_extent(t: Translator, part: SliceOperand, extent: Value) -> tuple[Value, Value, Value]:
    """(first index, number of items, step) of a slice of an axis, clamped as Python does."""
    b = t.b
    zero, one = b.const(0, i64), b.const(1, i64)
    step = one if part.step is None else b.cast(part.step.value, i64)
    if _has_unit_step(part):
        if part.start is None and part.stop is None:
            return zero, extent, one
        start = _clamped(t, part.start, zero, zero, extent, extent)
        stop = _clamped(t, part.stop, extent, zero, extent, extent)
        return start, b.binary(arith.Max, b.sub(stop, start), zero), one
    down = b.lt(step, zero)
    last = b.sub(extent, one)
    low = b.select(down, b.const(-1, i64), zero)
    high = b.select(down, last, extent)
    start = _clamped(t, part.start, b.select(down, last, zero), low, high, extent)
    stop = _clamped(t, part.stop, b.select(down, b.const(-1, i64), extent), low, high, extent)
    span = b.select(down, b.sub(start, stop), b.sub(stop, start))
    size = b.unary(arith.Abs, step)
    count = b.div(b.add(span, b.sub(size, one)), size)
    return start, b.select(b.lt(zero, span), count, zero), step


def _clamped(
    t: Translator, bound: Scalar | None, default: Value, low: Value, high: Value, extent: Value
) -> Value:
    """A bound of a slice: counted from the end where negative, then clamped to [low, high]."""
    if bound is None:
        return default
    b = t.b
    value = b.cast(bound.value, i64)
    if not bound.not_negative:
        negative = b.lt(value, b.const(0, i64))
        value = b.select(negative, b.add(value, extent), value)
        value = b.binary(arith.Max, value, low)
    if constant(value) == 0:
        return value
    return b.binary(arith.Min, value, high)


def broadcast_store(
    t: Translator, view: ArrayView, value: Operand, store_element: Callable[..., None]
) -> None:
    """``view[...] = value``: a number for every element, or an array or tuple of as many axes or
    fewer, element by element."""
    from gridlane.frontends.python.indexing import address

    if isinstance(value, TupleOperand):
        _store_tuple(t, view, value, store_element)
        return
    if isinstance(value, ArrayView) and value.type.ndim > view.type.ndim:
        raise t.fail(
            TypingError, f"{value.type} does not fit in a view of {view.type.ndim} dimensions"
        )

    def element(indices: list[Value]) -> None:
        item = item_for(t, value, indices)
        store_element(t, address(t, view, indices), view.type.element, item)

    _each(t, view.shape, [], element)


def item_for(t: Translator, value: Operand, indices: list[Value]) -> Operand:
    """What an operand gives for an element of the array that it broadcasts to."""
    from gridlane.frontends.python.indexing import address, load

    if not isinstance(value, ArrayView):
        return value
    own = indices[len(indices) - value.type.ndim :]
    pairs = zip(own, value.shape, strict=True)
    inner = [_broadcast(t, index, extent) for index, extent in pairs]
    return load(t, address(t, value, inner), value.type.element)


def fill_view(t: Translator, view: ArrayView, item: Callable[[list[Value]], Operand]) -> None:
    """Store ``item(indices)`` to every element."""
    from gridlane.frontends.python.indexing import Place, address, store
    from gridlane.ir.types import Space

    readonly = view.type.readonly or view.space is Space.CONSTANT

    def element(indices: list[Value]) -> None:
        place = Place(view.type.element, address(t, view, indices), readonly=readonly)
        store(t, place, item(indices))

    _each(t, view.shape, [], element)


def _broadcast(t: Translator, index: Value, extent: Value) -> Value:
    """An axis of extent 1 gives its only item for every index."""
    known = constant(extent)
    if known is not None:
        return t.b.const(0, i64) if known == 1 else index
    one = t.b.eq(extent, t.b.const(1, i64))
    return t.b.select(one, t.b.const(0, i64), index)


def _each(
    t: Translator, shape: tuple[Value, ...], indices: list[Value], body: Callable[..., None]
) -> None:
    """Nested loops over all indices of a shape."""
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
        b.break_if(b.binary(arith.Ge, now, shape[len(indices)]))
        _each(t, shape, [*indices, now], body)
    with b.inside(op.step):
        b.write(counter, b.add(b.read(counter), b.const(1, i64)))


def _store_tuple(
    t: Translator, view: ArrayView, value: TupleOperand, store_element: Callable[..., None]
) -> None:
    from gridlane.frontends.python.indexing import address

    if view.type.ndim != 1:
        raise t.fail(TypingError, "a tuple is stored to a view of one dimension")
    for number, item in enumerate(value.items):
        place = address(t, view, [t.b.const(number, i64)])
        store_element(t, place, view.type.element, item)
