"""What differs between GPUs: an overlay of tables, attributes and small functions of text.

The modules beside this one emit what a thread does on any GPU. They ask the overlay for what a
target spells in its own way. An overlay has emitters of its own, which go before the general ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from gridlane.codegen.emitters import Emitters
from gridlane.codegen.llvm.text import Body, scalar_name
from gridlane.core.options import KernelOptions
from gridlane.ir.ops.grid import Axis, GridQuery, MemoryScope
from gridlane.ir.types import FragmentType, PointerType, Space, StructType, Type, VectorType


class Overlay(ABC):
    """One target. It has no state of a kernel.

    Attributes:
        target: name of gridlane's target.
        device: what errors call its devices.
        triple: LLVM's name of the target.
        convention: LLVM's calling convention of kernels.
        emitters: what the target emits in its own way.
        spaces: LLVM's number of each address space.
        scopes: LLVM's text for the scope of a fence, with a blank behind it.
        atomic_scopes: the same of an atomic.
    """

    __slots__ = ()
    target: ClassVar[str]
    device: ClassVar[str]
    triple: ClassVar[str]
    convention: ClassVar[str]
    emitters: ClassVar[Emitters]
    spaces: ClassVar[dict[Space, int]]
    scopes: ClassVar[dict[MemoryScope, str]]
    atomic_scopes: ClassVar[dict[MemoryScope, str]]

    @abstractmethod
    def index(self, body: Body, query: type[GridQuery], axis: Axis) -> str:
        """An i32 of the launch: a thread's or block's index, or a count of these."""

    @abstractmethod
    def leave(self, body: Body) -> None:
        """End the thread, anywhere in the kernel."""

    @abstractmethod
    def fragment_name(self, type_: FragmentType) -> str:
        """LLVM's type of a lane's part of a fragment."""

    @abstractmethod
    def entry_name(self, name: str) -> str:
        """A kernel's name as the target allows it."""

    @abstractmethod
    def attributes(self, options: KernelOptions) -> list[str]:
        """Attributes of a kernel's function, beside those that every target has."""

    @abstractmethod
    def module_flags(self, options: KernelOptions) -> list[str]:
        """Metadata nodes of the module's flags."""

    # ---- LLVM's names of the IR's types

    def space_name(self, space: Space) -> str:
        """What a global says of its address space."""
        return f"addrspace({self.spaces[space]})"

    def pointer_name(self, space: Space) -> str:
        """A pointer into an address space."""
        return f"ptr {self.space_name(space)}" if self.spaces[space] else "ptr"

    def register_name(self, type_: Type) -> str:
        """A type as a value has it in registers."""
        if isinstance(type_, PointerType):
            return self.pointer_name(type_.space)
        if isinstance(type_, VectorType):
            return f"<{type_.count} x {scalar_name(type_.element)}>"
        if isinstance(type_, StructType):
            return "{" + ", ".join(map(self.register_name, type_.types)) + "}"
        if isinstance(type_, FragmentType):
            return self.fragment_name(type_)
        return scalar_name(type_)
