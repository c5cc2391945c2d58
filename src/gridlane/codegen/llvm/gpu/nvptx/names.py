"""LLVM's names of the IR's types, with address spaces."""

from __future__ import annotations

from gridlane.codegen.llvm.gpu.nvptx.registers import register_count, register_type
from gridlane.codegen.llvm.text import scalar_name
from gridlane.ir.types import FragmentType, PointerType, Space, StructType, Type, VectorType


def pointer_name(space: Space) -> str:
    """A pointer into an address space.

    >>> pointer_name(Space.SHARED), pointer_name(Space.GENERIC)
    ('ptr addrspace(3)', 'ptr')
    """
    return f"ptr addrspace({space.value})" if space else "ptr"


def register_name(type_: Type) -> str:
    """A type as a value has it in registers."""
    if isinstance(type_, PointerType):
        return pointer_name(type_.space)
    if isinstance(type_, VectorType):
        return f"<{type_.count} x {scalar_name(type_.element)}>"
    if isinstance(type_, StructType):
        return "{" + ", ".join(map(register_name, type_.types)) + "}"
    if isinstance(type_, FragmentType):
        return f"[{register_count(type_)} x {register_type(type_)}]"
    return scalar_name(type_)
