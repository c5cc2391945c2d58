"""The parts of kernels that are split at their grid barriers, as sources.

Each part compiles on its own, as a kernel of the same options; ``launch/grid_parts.py`` drives
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gridlane.core.encoding import encode
from gridlane.core.options import KernelOptions

if TYPE_CHECKING:
    from gridlane.ir.source import KernelSource
    from gridlane.ir.values import Module
    from gridlane.passes.structure.grid_parts import GridParts


class Whole:
    """A kernel and its parts, which are made once.

    Args:
        pairs: whether the target has float64 as pairs of float32; see Backend.pairs_float64.
    """

    def __init__(self, source: KernelSource, pairs: bool) -> None:
        self.source, self.pairs = source, pairs
        self._made: dict[tuple[Any, ...], GridParts] = {}

    def parts(self, types: tuple[Any, ...], options: KernelOptions) -> GridParts:
        """The parts for types of arguments.

        Raises:
            CompileError: as the source; or what lives across a barrier cannot be kept.
        """
        key = types, options
        if key not in self._made:
            from gridlane.compiler.generation import split

            self._made[key] = split(self.source.translate(types, options), self.pairs)
        return self._made[key]


class PartSource:
    """One part of a kernel; see KernelSource."""

    def __init__(self, whole: Whole, number: int) -> None:
        self.whole, self.number = whole, number

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.whole.source.name

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the kernel's parameters, then those of a part."""
        return *self.whole.source.parameters, "grid.memory", "grid.step"

    def key(self) -> bytes:
        """The kernel's key and the part's number."""
        return encode(("grid part", self.number, self.whole.pairs, self.whole.source.key()))

    def translate(self, types: tuple[Any, ...], options: KernelOptions) -> Module:
        """The IR of the part."""
        return self.whole.parts(types, options).modules[self.number]
