"""Checks that arrays do not overlap in memory, where code relies on it.

A store to a whole view from other arrays has numpy's result if they do not overlap, or if they are
the same elements, each of which is read before it is written. Any other overlap ends the thread
with an error.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

from gridlane.core.dtypes import b1, i64
from gridlane.frontends.python.conversion import byte_strides
from gridlane.frontends.python.layout import memory_type
from gridlane.frontends.python.operands import ArrayView, RecordView
from gridlane.frontends.python.roots import Root, Sources
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.unit import Check, Unit
from gridlane.ir.builder import Builder, constant
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Region, Value

_STORED = (
    "what is stored to {} comes from an array that overlaps it in memory, and is not the same "
    "elements: numpy copies that first, which needs memory; pass a copy of one of them"
)


class _Span(NamedTuple):
    """Memory: the address of its first byte, and how many bytes there are. Both are i64."""

    low: Value
    size: Value


def require_apart(t: Translator, view: ArrayView, source: ArrayView, in_place: bool = True) -> None:
    """Raise where a view that is stored to overlaps the source of what is stored.

    Args:
        in_place: whether the source may be the same elements, which are stored one by one.
    """
    if not _may_meet(view.space, source.space):
        return
    b = t.b
    target, own = _span(b, view), _span(b, source)
    wrong = _overlap(b, target, own)
    if in_place:
        wrong = b.and_(wrong, b.not_(_are_same(b, view, source)))
    if constant(wrong) is False:
        return
    check = control.If(wrong, Region(), Region())
    b.emit(check)
    with b.inside(check.then):
        between = _are_between(b, (view, target), (source, own))
        fails = control.If(b.not_(between), Region(), Region())
        b.emit(fails)
    message = _STORED.format(view.type)
    t.unit.checks[check] = Check(view.pointer, source.pointer, fails.then, message, b.loc)


def settle_checks(unit: Unit) -> None:
    """Erase the checks of arrays that certainly do not overlap, and make the others raise."""
    if not unit.checks:
        return
    sources = Sources(unit.module, unit.arguments)
    for function in unit.module.functions.values():
        for region in _regions(function.body):
            kept = [
                op
                for op in region.ops
                if not isinstance(op, control.If)
                or op not in unit.checks
                or _fill(unit, sources, unit.checks[op])
            ]
            region.ops[:] = kept


def _fill(unit: Unit, sources: Sources, check: Check) -> bool:
    """Have a check raise; False where it is needless."""
    pairs = [(a, b) for a in sources.of(check.target) for b in sources.of(check.source)]
    if not any(may_overlap(unit, *pair) for pair in pairs):
        return False
    code = unit.error_code("ValueError", check.message, check.loc)
    check.fails.ops.append(control.Raise(code, (), loc=check.loc))
    return True


def may_overlap(unit: Unit, one: Root, other: Root) -> bool:
    """Whether two arrays are one, or arguments, which may be anywhere."""
    return one.may_be(other) or are_arguments(unit, one, other)


def are_arguments(unit: Unit, one: Root, other: Root) -> bool:
    """Whether two arrays are different arguments of the kernel, which a launch may have overlap."""
    sources = [unit.arguments.get(each.source) for each in (one, other)]  # type: ignore[arg-type]
    return one.source is not other.source and None not in sources


def raise_where_overlapping(
    b: Builder, one: ArrayView | RecordView, other: ArrayView | RecordView, code: int
) -> None:
    """End the thread with an error where two arguments overlap."""
    spans = _span(b, one), _span(b, other)
    with b.if_(_overlap(b, *spans)):
        between = b.const(False, b1)
        if isinstance(one, ArrayView) and isinstance(other, ArrayView):
            between = _are_between(b, (one, spans[0]), (other, spans[1]))
        with b.if_(b.not_(between)):
            b.emit(control.Raise(code))


def _regions(region: Region) -> list[Region]:
    """A region, and those inside."""
    return [region, *(each for op in region.walk() for each in op.regions())]


def _may_meet(one: Space, other: Space) -> bool:
    return one is other or Space.GENERIC in (one, other)


# ---- conditions


def _span(b: Builder, array: ArrayView | RecordView) -> _Span:
    low = b.cast(b.value(memory.Address(array.pointer)), i64)
    kind = array.pointer.type
    assert isinstance(kind, PointerType)
    if isinstance(array, RecordView):
        return _Span(low, b.const(kind.element.size, i64))
    item = b.const(memory_type(array.type.element).size, i64)
    if array.type.layout != "A":
        return _Span(low, reduce(b.mul, array.shape, item))
    zero, size, is_empty = b.const(0, i64), item, b.const(False, b1)
    for extent, stride in zip(array.shape, array.strides, strict=True):
        way = b.mul(b.sub(extent, b.const(1, i64)), stride)
        falls = b.lt(way, zero)
        low = b.add(low, b.select(falls, way, zero))
        size = b.add(size, b.select(falls, b.neg(way), way))
        is_empty = b.or_(is_empty, b.eq(extent, zero))
    return _Span(low, b.select(is_empty, zero, size))


def _overlap(b: Builder, one: _Span, other: _Span) -> Value:
    """Whether two spans have a byte in common."""
    zero = b.const(0, i64)
    ahead = b.sub(one.low, other.low)
    meet = b.and_(b.lt(ahead, other.size), b.lt(b.neg(ahead), one.size))
    return b.and_(meet, b.and_(b.lt(zero, one.size), b.lt(zero, other.size)))


def _are_same(b: Builder, one: ArrayView, other: ArrayView) -> Value:
    """Whether two arrays are the same elements at the same indices."""
    sizes = {memory_type(array.type.element).size for array in (one, other)}
    if one.type.ndim != other.type.ndim or len(sizes) > 1:
        return b.const(False, b1)
    pairs = [*zip(one.shape, other.shape, strict=True)]
    if one.type.layout != other.type.layout or one.type.layout == "A":
        pairs += zip(byte_strides(b, one), byte_strides(b, other), strict=True)
    addresses = [b.value(memory.Address(array.pointer)) for array in (one, other)]
    tests = [b.eq(x, y) for x, y in [(addresses[0], addresses[1]), *pairs] if x is not y]
    return reduce(b.and_, tests)


def _are_between(b: Builder, one: tuple[ArrayView, _Span], other: tuple[ArrayView, _Span]) -> Value:
    """Whether the items of one array lie between those of another: both have one stride along
    their first axis or their last, in whose steps they do not meet."""
    is_between, views = b.const(False, b1), (one[0], other[0])
    if any(view.type.layout != "A" or view.type.ndim == 0 for view in views):
        return is_between
    for axis in (0, -1) if max(view.type.ndim for view in views) > 1 else (0,):
        steps = [b.unary(arith.Abs, view.strides[axis]) for view in views]
        rests = [
            b.sub(span.size, b.mul(b.sub(view.shape[axis], b.const(1, i64)), step))
            for (view, span), step in zip((one, other), steps, strict=True)
        ]
        least = b.const(1, i64)
        step = b.select(b.lt(steps[0], least), least, steps[0])
        ahead = b.rem(b.sub(one[1].low, other[1].low), step)
        ahead = b.select(b.lt(ahead, b.const(0, i64)), b.add(ahead, step), ahead)
        apart = b.and_(
            b.binary(arith.Ge, ahead, rests[1]),
            b.binary(arith.Le, b.add(ahead, rests[0]), step),
        )
        is_between = b.or_(is_between, b.and_(b.eq(steps[0], steps[1]), apart))
    return is_between
