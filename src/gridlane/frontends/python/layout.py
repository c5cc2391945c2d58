"""The IR type of users' types in memory."""

from __future__ import annotations

from functools import cache
from math import prod

from gridlane.core import argtypes
from gridlane.core.dtypes import DType
from gridlane.ir import types
from gridlane.ir.types import StructType, Type


@cache
def memory_type(kind: argtypes.ArgType, packed: bool = False) -> Type:
    """The element that a pointer to a user's type points to.

    ``packed``: it may stand at any address. A packed number is a struct of one field without
    alignment, so that the pointer's type tells how its memory may be accessed.
    """
    if isinstance(kind, argtypes.ScalarType):
        return _unaligned(kind.dtype) if packed else kind.dtype
    if isinstance(kind, argtypes.ComplexType):
        part = _unaligned(kind.part) if packed else kind.part
        return types.struct(kind.name, {"real": part, "imag": part})
    if isinstance(kind, argtypes.NestedArrayType):
        return types.ArrayType(memory_type(kind.element, packed), prod(kind.shape))
    if isinstance(kind, argtypes.RecordType):
        return _record(kind, packed)
    raise TypeError(f"{kind} is not an element of an array")


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
        members.append(memory_type(item, packed or bool(offset % align or kind.size % align)))
    name = "packed" if packed else "record"
    return StructType(name, names, tuple(members), offsets, kind.size, kind.numpy.alignment)


def _needed(kind: argtypes.ArgType) -> int:
    """The alignment that the numbers in a type require of its start."""
    if isinstance(kind, argtypes.RecordType):
        return max((_needed(item) for _, item, _ in kind.fields), default=1)
    if isinstance(kind, argtypes.NestedArrayType):
        return _needed(kind.element)
    return memory_type(kind).align
