"""Views of arrays: slices and new axes."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core import argtypes
from gridlane.core.dtypes import i64, u64
from gridlane.frontends.python.conversion import strides_of
from gridlane.frontends.python.element_addresses import byte_offset, strided_sum
from gridlane.frontends.python.operands import (
    ArrayView,
    Scalar,
    SliceOperand,
)
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith
from gridlane.ir.types import PointerType
from gridlane.ir.values import Value

IndexPart = Scalar | SliceOperand | None
Check = Callable[[Translator, Scalar, Value, ArrayView | None, int], Value]


def make_view(t: Translator, array: ArrayView, parts: list[IndexPart], check: Check) -> ArrayView:
    """``array[parts]`` with at least one slice or new axis. An integer removes its axis."""
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
            starts.append((check(t, part, extent, array, axis), stride))
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
        start_pointer = _moved(t, array, values, steps)
    kind = argtypes.ArrayType(array.type.element, len(shape), layout, array.type.readonly)
    return ArrayView(kind, start_pointer, tuple(shape), tuple(kept) if layout == "A" else ())


def _moved(t: Translator, array: ArrayView, values: list[Value], steps: tuple[Value, ...]) -> Value:
    """The address of a view's first element. Counted in elements if the strides are those of a
    shape, so that the address stays a sum of index * extent."""
    offset = strided_sum(t, values, steps)
    if array.type.layout == "A":
        return byte_offset(t, array.pointer, offset)
    kind = array.pointer.type
    assert isinstance(kind, PointerType)
    plain = [_in_elements(t, step, kind.element.size) for step in steps]
    whole = tuple([step for step in plain if step is not None])
    if len(whole) != len(plain):
        return byte_offset(t, array.pointer, offset)
    return t.b.offset(array.pointer, strided_sum(t, values, whole))


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
    """The layout of a view: C where the parts of a C array are integers, then at most one partial
    slice without a step, then whole axes; F likewise in reverse order."""
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
    known = _static_extent(part, extent)
    if known is not None:
        start, count, step = [b.const(each, i64) for each in known]
        return start, count, step
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
    # Unsigned, as the size of the smallest i64 is; and without span + size, which may not fit.
    size = b.cast(b.select(down, b.sub(zero, step), step), u64)
    count = b.add(b.cast(b.div(b.cast(b.sub(span, one), u64), size), i64), one)
    return start, b.select(b.lt(zero, span), count, zero), step


def _static_extent(part: SliceOperand, extent: Value) -> tuple[int, int, int] | None:
    """The same, of constants; None where one is known at run time alone, or the step is 0."""
    bounds = part.start, part.stop, part.step
    known = [None if each is None else constant(each.value) for each in bounds]
    size = constant(extent)
    missing = any(
        have is None and each is not None for have, each in zip(known, bounds, strict=True)
    )
    if not isinstance(size, int) or missing or known[2] == 0:
        return None
    items = range(*slice(*known).indices(size))
    return items.start, len(items), items.step


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
