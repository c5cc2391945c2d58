"""Places in memory: the addresses of elements, and loads."""

from __future__ import annotations

from dataclasses import dataclass

from gridlane.core import argtypes
from gridlane.core.dtypes import i64, u8
from gridlane.frontends.python import cells
from gridlane.frontends.python.chars_memory import load_chars
from gridlane.frontends.python.extensions import EXTENSIONS, is_users
from gridlane.frontends.python.operands import (
    ArrayView,
    ComplexNumber,
    Operand,
    RecordView,
    Scalar,
    Time,
    UserValue,
)
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.vector_memory import load_vector
from gridlane.ir.builder import constant
from gridlane.ir.types import pointer
from gridlane.ir.values import Value


@dataclass(slots=True, eq=False)
class Place:
    """The target of a subscript: an element in memory, or a view of several."""

    element: argtypes.ArgType
    pointer: Value
    view: ArrayView | None = None
    readonly: bool = False


# ---- addresses


def address(t: Translator, array: ArrayView, indices: list[Value]) -> Value:
    """The address of an element, from one index for each axis."""
    b = t.b
    if not indices:
        return array.pointer
    if array.type.layout == "A":
        return byte_offset(t, array.pointer, strided_sum(t, indices, array.strides))
    shape = array.shape
    if array.type.layout == "F":
        indices, shape = indices[::-1], shape[::-1]
    flat = indices[0]
    for extent, index in zip(shape[1:], indices[1:], strict=True):
        flat = b.add(b.mul(flat, extent), index)
    return b.offset(array.pointer, flat, t.unit.options.bounds)


def strided_sum(t: Translator, indices: list[Value], strides: tuple[Value, ...]) -> Value:
    """The sum of index * stride."""
    total: Value | None = None
    for index, stride in zip(indices, strides, strict=True):
        term = t.b.mul(index, stride)
        total = term if total is None else t.b.add(total, term)
    assert total is not None
    return total


def byte_offset(t: Translator, start: Value, offset: Value) -> Value:
    """An address some bytes further, of an element in the same array."""
    b = t.b
    kind = start.type
    if constant(offset) == 0:
        return start
    raw = b.recast(start, pointer(u8, kind.space))  # type: ignore[union-attr]  # a pointer
    moved = b.offset(raw, offset, t.unit.options.bounds)
    return b.recast(moved, kind)  # type: ignore[arg-type]  # a pointer


# ---- loads


def item_of(t: Translator, place: Place) -> Operand:
    """The value at a place."""
    if place.view is not None:
        return place.view
    return load(t, place.pointer, place.element, place.readonly)


def load(t: Translator, address: Value, kind: argtypes.ArgType, readonly: bool = False) -> Operand:
    """The operand of an element in memory: numbers are loaded, records and arrays stay there."""
    b = t.b
    if isinstance(kind, argtypes.ScalarType):
        return Scalar(cells.read(t, address))
    if isinstance(kind, argtypes.TimeType):
        return Time(kind, cells.read(t, address))
    if isinstance(kind, argtypes.ComplexType):
        real = cells.read(t, b.field_pointer(address, 0))
        return ComplexNumber(real, cells.read(t, b.field_pointer(address, 1)))
    if isinstance(kind, argtypes.VectorType):
        return load_vector(t, address, kind)
    if isinstance(kind, argtypes.CharsType):
        return load_chars(t, address, kind)
    if isinstance(kind, argtypes.RecordType):
        return RecordView(kind, address, readonly)
    if is_users(kind):
        members = enumerate(EXTENSIONS.structure(kind))
        items = [load(t, b.field_pointer(address, n), member) for n, (_, member) in members]
        return UserValue(kind, tuple(items))
    assert isinstance(kind, argtypes.NestedArrayType)
    array = argtypes.ArrayType(kind.element, len(kind.shape), "C", readonly)
    shape = tuple([b.const(extent, i64) for extent in kind.shape])
    return ArrayView(array, b.field_pointer(address, 0), shape)
