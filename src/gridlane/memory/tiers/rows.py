"""The row of blocks that an array and its views share."""

from __future__ import annotations

import weakref

from gridlane.core.errors import BlockInUse
from gridlane.memory.tiers.block import ZERO, Block
from gridlane.memory.tiers.tiers import Tiers


class Row:
    """Blocks one after another. Those that were never written are zeros and take no memory.

    The end of this object, or ``close``, frees them.

    Args:
        nbytes: of all blocks.
        itemsize: bytes of an element, of which no block has a part.
        block_bytes: of each block but the last, at most, and at least those of an element.
    """

    def __init__(self, tiers: Tiers, nbytes: int, itemsize: int, block_bytes: int) -> None:
        self.tiers, self.nbytes, self.itemsize = tiers, nbytes, itemsize
        self.block_bytes = max(1, block_bytes // itemsize) * itemsize
        self.count = -(-nbytes // self.block_bytes)
        self._table, self._prefix = tiers.new_table(self.count)
        self._end = weakref.finalize(self, tiers.manager.finish, self._table)
        self._end.atexit = False

    def size_of(self, index: int) -> int:
        """Bytes of a block."""
        return min(self.block_bytes, self.nbytes - index * self.block_bytes)

    def block(self, index: int) -> Block:
        """A block by its number."""
        block = self._table[index]
        if block is not None:
            return block
        key = f"{self._prefix}{index}"
        return self.tiers.block(self._table, index, key, self.size_of(index), self.itemsize)

    def is_zero(self, index: int) -> bool:
        """Whether a block was never written."""
        block = self._table[index]
        zero = block is None or block.ready == ZERO
        return zero and self._end.alive and not self.tiers.manager.closed

    def used(self) -> list[Block]:
        """The blocks that were ever used."""
        return [each for each in self._table if each is not None]

    def close(self) -> None:
        """Free all blocks now.

        Raises:
            BlockInUse: a block is pinned.
        """
        with self.tiers.manager.locked():
            if any(each.pins or each.device_pins for each in self.used()):
                raise BlockInUse("a block of the array is pinned while it is closed")
        self._end()
        self.tiers.manager.delete_keys()
