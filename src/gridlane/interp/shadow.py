"""Memory beside memory: at each address the bits there that are poison."""

from __future__ import annotations

from collections.abc import Iterator

from gridlane.interp import access
from gridlane.interp.bits import Bits, raw
from gridlane.interp.memory import Allocation, Memory
from gridlane.interp.values import Array
from gridlane.ir.op import Op
from gridlane.ir.types import Type


class ShadowMemory(Memory):
    """The poison of the bytes of a memory.

    Attributes:
        source: the op that made the poison stored last; None while there is none.
    """

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self.memory = memory
        self.source: Op | None = None

    def groups(
        self, addresses: Array, size: int, align: int
    ) -> Iterator[tuple[Allocation, Array | slice]]:
        """The accessed allocations' poison, each with its lanes."""
        for item, lanes in self.memory.groups(addresses, size, align):
            yield item.shadow(), lanes

    def read(self, addresses: Array, type_: Type) -> Bits:
        """The poison of values in memory.

        Raises:
            Fault: as for an access to the memory.
        """
        return raw(access.gather(self, addresses, type_, type_.align))

    def write(self, addresses: Array, bits: Bits, type_: Type) -> None:
        """Set it.

        Raises:
            Fault: as for an access to the memory.
        """
        access.scatter(self, addresses, bits, type_, type_.align)
