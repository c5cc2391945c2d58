"""The differences between GPUs: an overlay of tables, attributes and small functions of text.

The modules beside this one emit a thread's program for any GPU, and call the overlay for the parts
that differ between targets. An overlay's own emitters take precedence over the general ones.
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
    """A target. It has no state of a kernel.

    Attributes:
        target: name of gridlane's target.
        device: the name of its devices in errors.
        triple: LLVM's name of the target.
        convention: LLVM's calling convention of kernels.
        emitters: the target's own emitters.
        spaces: LLVM's number of each address space.
        scopes: LLVM's text for the scope of a fence, with a trailing blank.
        atomic_scopes: the same for an atomic.
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
        """An i32 of the launch: a thread's or block's index, or their number."""

    @abstractmethod
    def leave(self, body: Body) -> None:
        """End the thread, anywhere in the kernel."""

    @abstractmethod
    def fragment_name(self, type_: FragmentType) -> str:
        """LLVM's type of a lane's part of a fragment."""

    @abstractmethod
    def entry_name(self, name: str) -> str:
        """A kernel's name in a form that the target allows."""

    @abstractmethod
    def attributes(self, options: KernelOptions, cluster: tuple[int, int, int]) -> list[str]:
        """Attributes of a kernel's function, in addition to those for every target.

        Args:
            cluster: the blocks along x, y and z that run at once.
        """

    @abstractmethod
    def module_flags(self, options: KernelOptions) -> list[str]:
        """Metadata nodes of the module's flags."""

    @abstractmethod
    def by_value(self, size: int) -> str:
        """The attributes of a pointer to bytes that a launch passes by value."""

    # ---- LLVM's names of the IR's types

    def space_name(self, space: Space) -> str:
        """The address space in a global's definition."""
        return f"addrspace({self.spaces[space]})"

    def pointer_name(self, space: Space) -> str:
        """A pointer into an address space."""
        return f"ptr {self.space_name(space)}" if self.spaces[space] else "ptr"

    def register_name(self, type_: Type) -> str:
        """The name of a type in registers."""
        if isinstance(type_, PointerType):
            return self.pointer_name(type_.space)
        if isinstance(type_, VectorType):
            return f"<{type_.count} x {scalar_name(type_.element)}>"
        if isinstance(type_, StructType):
            return "{" + ", ".join(map(self.register_name, type_.types)) + "}"
        if isinstance(type_, FragmentType):
            return self.fragment_name(type_)
        return scalar_name(type_)
