"""The order in which a view is stored to another view of the same array, as memmove has it."""

from __future__ import annotations

from gridlane.core.dtypes import b1, i64
from gridlane.frontends.python.conversion import strides_of
from gridlane.frontends.python.operands import ArrayView
from gridlane.frontends.python.translator import Translator
from gridlane.ir.ops import arith, memory
from gridlane.ir.types import PointerType
from gridlane.ir.values import Value

Terms = list[tuple[Value, int]]
"""Offsets from an address, with the bytes of what each counts."""


def backwards(t: Translator, target: ArrayView, source: ArrayView) -> list[Value]:
    """Whether each axis is stored from its end, so that no element is written before it is read.

    That is so where the target begins behind the source: then elements go by falling addresses,
    else by rising ones. It holds for views of one array with the same strides; views of different
    arrays, as far as can be seen, go from the front.
    """
    b = t.b
    behind = _is_behind(t, target.pointer, source.pointer)
    zero = b.const(0, i64)
    if behind is None or target.type.ndim != source.type.ndim:
        return [b.const(False, b1)] * target.type.ndim
    if target.type.layout != "A":
        return [behind] * target.type.ndim
    falling = [b.lt(stride, zero) for stride in strides_of(t, target)]
    return [b.binary(arith.Ne, behind, each) for each in falling]


def _is_behind(t: Translator, target: Value, source: Value) -> Value | None:
    """Whether one address is behind another; None where they come from different pointers."""
    (start, ahead), (other, back) = _from_start(target), _from_start(source)
    if start is not other:
        return None
    return t.b.lt(_bytes(t, back), _bytes(t, ahead))


def _from_start(address: Value) -> tuple[Value, Terms]:
    """The pointer that an address comes from, and the way from there."""
    terms: Terms = []
    while isinstance(address.op, memory.Offset | memory.Recast):
        kind = address.op.pointer.type
        if isinstance(address.op, memory.Offset):
            assert isinstance(kind, PointerType)
            terms.append((address.op.index, kind.element.size))
        address = address.op.pointer
    return address, terms


def _bytes(t: Translator, terms: Terms) -> Value:
    b = t.b
    total = b.const(0, i64)
    for index, size in terms:
        total = b.add(total, b.mul(b.cast(index, i64), b.const(size, i64)))
    return total
