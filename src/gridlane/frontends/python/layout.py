"""The IR type of users' types in memory."""

from __future__ import annotations

from functools import cache
from math import prod

import numpy as np

from gridlane.core import argtypes, numpy_types
from gridlane.core.dtypes import DType, i64, u8
from gridlane.frontends.python.extensions import EXTENSIONS, is_users
from gridlane.ir import types
from gridlane.ir.types import StructType, Type


@cache
def memory_type(kind: argtypes.ArgType, packed: bool = False) -> Type:
    """The element that a pointer to a user's type points to.

    ``packed``: it may be at any address. A packed number is a struct of one field without
    alignment, so that the pointer's type determines how its memory may be accessed.
    """
    if isinstance(kind, argtypes.ScalarType):
        return _unaligned(kind.dtype) if packed else kind.dtype
    if isinstance(kind, argtypes.TimeType):
        return _unaligned(i64) if packed else i64
    if isinstance(kind, argtypes.CharsType):
        return types.ArrayType(_unaligned(kind.unit) if packed else kind.unit, kind.count)
    if isinstance(kind, argtypes.ComplexType):
        part = _unaligned(kind.part) if packed else kind.part
        return types.struct(kind.name, {"real": part, "imag": part})
    if isinstance(kind, argtypes.VectorType):
        return _vector(kind, packed)
    if isinstance(kind, argtypes.NestedArrayType):
        return types.ArrayType(memory_type(kind.element, packed), prod(kind.shape))
    if isinstance(kind, argtypes.RecordType):
        return _record(kind, packed)
    if is_users(kind):
        return _record(record_of(kind), packed)
    raise TypeError(f"{kind} is not an element of an array")


@cache
def record_of(kind: argtypes.ArgType) -> argtypes.RecordType:
    """The record in memory of a user's type: its members in order, each naturally aligned.

    Raises:
        TypeError: a member has no place in memory, such as an array.
    """
    fields = [(name, _plain(member)) for name, member in EXTENSIONS.structure(kind)]
    formats = {name: numpy_dtype(member) for name, member in fields}
    dtype = np.dtype(list(formats.items()), align=True)
    record_type = numpy_types.from_numpy(dtype)
    assert isinstance(record_type, argtypes.RecordType)
    return record_type


def _plain(kind: argtypes.ArgType) -> argtypes.ArgType:
    return record_of(kind) if is_users(kind) else kind


def numpy_dtype(kind: argtypes.ArgType) -> np.dtype:
    """The numpy dtype of a type in memory."""
    dtype = getattr(kind, "numpy", None)
    if dtype is None:
        raise TypeError(f"{kind} has no place in memory")
    return dtype


def _vector(kind: argtypes.VectorType, packed: bool) -> Type:
    """Two and four components are one vector, which one access reads; others are a struct."""
    if not packed and kind.count in (2, 4):
        return types.vector(kind.element.dtype, kind.count)
    return _components(kind, _unaligned(kind.element.dtype) if packed else kind.element.dtype)


def _components(kind: argtypes.VectorType, part: Type) -> StructType:
    return types.struct(kind.name, dict.fromkeys(kind.fields, part))


def loose_type(kind: argtypes.VectorType) -> StructType:
    """A vector in memory that is known to be aligned as its components only."""
    return _components(kind, kind.element.dtype)


def element_type(kind: argtypes.ArrayType) -> Type:
    """The element that a kernel's pointer to an array points to. A vector is aligned where vectors
    follow each other, as a launch passes other arrays with strides."""
    if kind.layout == "A" and isinstance(kind.element, argtypes.VectorType):
        return loose_type(kind.element)
    return memory_type(kind.element)


def pointee(kind: argtypes.CPointerType) -> Type:
    """What a pointer points to: bytes where that has no type."""
    return u8 if kind.element is None else memory_type(kind.element)


def _unaligned(dtype: DType) -> Type:
    if dtype.size == 1:
        return dtype
    return StructType(f"unaligned_{dtype}", ("value",), (dtype,), (0,), dtype.size, 1)


def _record(kind: argtypes.RecordType, packed: bool) -> StructType:
    """A struct with numpy's offsets; numpy packs a record unless it was made with align=True.
    Memory starts aligned, so a field is aligned if it is in every record of an array."""
    names = tuple(name for name, _, _ in kind.fields)
    offsets = tuple(offset for _, _, offset in kind.fields)
    members = []
    for _, item, offset in kind.fields:
        align = _needed(item)
        apart = packed or bool(offset % align or kind.size % align)
        members.append(_field(item, apart))
    name = "packed" if packed else "record"
    return StructType(name, names, tuple(members), offsets, kind.size, kind.numpy.alignment)


def _field(kind: argtypes.ArgType, packed: bool) -> Type:
    """A field of a record, whose alignment is numpy's: that of numbers, not of vectors."""
    if isinstance(kind, argtypes.VectorType) and not packed:
        return loose_type(kind)
    holds_vectors = isinstance(kind, argtypes.NestedArrayType) and isinstance(
        kind.element, argtypes.VectorType
    )
    return memory_type(kind, packed or holds_vectors)


def _needed(kind: argtypes.ArgType) -> int:
    """The alignment that the numbers in a type require of its start."""
    if isinstance(kind, argtypes.RecordType):
        return max((_needed(item) for _, item, _ in kind.fields), default=1)
    if isinstance(kind, argtypes.NestedArrayType):
        return _needed(kind.element)
    if isinstance(kind, argtypes.VectorType):
        return _needed(kind.element)
    return memory_type(kind).align
