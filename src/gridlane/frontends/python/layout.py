"""The IR type of what users' types look like in memory."""

from __future__ import annotations

from functools import cache
from math import prod

from gridlane.core import argtypes
from gridlane.ir import types
from gridlane.ir.types import StructType, Type


@cache
def memory_type(kind: argtypes.ArgType) -> Type:
    """The element that a pointer to a user's type points to."""
    if isinstance(kind, argtypes.ScalarType):
        return kind.dtype
    if isinstance(kind, argtypes.ComplexType):
        return types.struct(kind.name, {"real": kind.part, "imag": kind.part})
    if isinstance(kind, argtypes.NestedArrayType):
        return types.ArrayType(memory_type(kind.element), prod(kind.shape))
    if isinstance(kind, argtypes.RecordType):
        return _record(kind)
    raise TypeError(f"{kind} is not an element of an array")


def _record(kind: argtypes.RecordType) -> StructType:
    """A struct with numpy's offsets; numpy packs a record unless it was made with align=True."""
    names = tuple(name for name, _, _ in kind.fields)
    members = tuple(memory_type(item) for _, item, _ in kind.fields)
    offsets = tuple(offset for _, _, offset in kind.fields)
    return StructType("record", names, members, offsets, kind.size, kind.numpy.alignment)
