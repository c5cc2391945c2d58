"""The known alignment of addresses."""

from __future__ import annotations

from gridlane.ir.ops import memory
from gridlane.ir.types import PointerType, StructType, Type
from gridlane.ir.values import Value


def alignment(pointer: Value) -> int:
    """The known alignment of an address: that of its element, or less for a field of a packed
    record."""
    assert isinstance(pointer.type, PointerType)
    own = pointer.type.element.align
    op = pointer.op
    if isinstance(op, memory.FieldPointer):
        whole = _pointed(op.pointer)
        if isinstance(whole, StructType):
            return min(own, shared_factor(alignment(op.pointer), whole.offsets[op.index]))
        return min(own, alignment(op.pointer))
    if isinstance(op, memory.Offset):
        return min(own, shared_factor(alignment(op.pointer), pointer.type.element.size))
    return own


def _pointed(pointer: Value) -> Type:
    assert isinstance(pointer.type, PointerType)
    return pointer.type.element


def shared_factor(align: int, distance: int) -> int:
    """The largest power of two that divides both an alignment and an offset from there."""
    return min(align, distance & -distance) if distance else align
