"""Memory that graphs allocate and free. Its address is known when the node is made, and stays."""

from __future__ import annotations

import weakref
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from gridlane.abi.failure import INVALID_VALUE, Failure, fail
from gridlane.abi.state import memory, pools
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.memory import Allocation
from gridlane.abi.state.streams import Stream
from gridlane.abi.state.work import TYPES

MEM_ALLOC, MEM_FREE = (TYPES[f"CU_GRAPH_NODE_TYPE_{name}"] for name in ("MEM_ALLOC", "MEM_FREE"))


@dataclass(slots=True)
class _Noted:
    """What is known of a block: the allocation by which programs find it, and whether a node of a
    graph frees it."""

    allocation: Allocation
    is_freed: bool = False


class Block:
    """Memory of a graph. It lives as long as a graph or an executable has nodes of it, and for as
    long as the program has not freed what no node frees.

    Raises:
        Failure: INVALID_VALUE for no bytes.
        DeviceError: OUT_OF_MEMORY.
    """

    def __init__(self, context: Context, size: int) -> None:
        if size <= 0:
            fail(INVALID_VALUE, f"an allocation of {size} bytes")
        memory.check_size(size)
        self.buffer, self.context, self.size = context.device.allocate(size), context, size
        memory.hidden.add(self.buffer)
        self.noted = _Noted(self._added())
        _blocks[self.buffer.address] = self
        weakref.finalize(self, _drop, self.noted)

    def _added(self) -> Allocation:
        address = self.buffer.address
        return memory.add(Allocation(address, self.size, "device", self.context, self.buffer))

    def allocate(self) -> None:
        """Let programs find it by its address, which they may have freed since."""
        found = memory.find(self.buffer.address, 0, self.context.ordinal)
        if found is not self.noted.allocation:
            self.noted.allocation = self._added()


def _drop(noted: _Noted) -> None:
    """Forget memory of which no node is left and that a node frees."""
    if noted.is_freed:
        with suppress(Failure):  # the program freed it, or its context ended
            memory.remove(noted.allocation)


_blocks: weakref.WeakValueDictionary[int, Block] = weakref.WeakValueDictionary()


@dataclass(frozen=True, slots=True)
class Allocate:
    """The allocation of a block."""

    block: Block
    kind: ClassVar[int] = MEM_ALLOC

    @property
    def address(self) -> int:
        """Its address."""
        return self.block.buffer.address

    def run(self, stream: Stream) -> None:
        """Let programs find the block."""
        self.block.allocate()


@dataclass(frozen=True, slots=True)
class Free:
    """The end of an allocation: of a block, or of memory that no graph allocated."""

    address: int
    block: Block | None
    kind: ClassVar[int] = MEM_FREE

    def run(self, stream: Stream) -> None:
        """Free memory in a stream; a block stays the graph's own."""
        if self.block is None:
            pools.free(self.address, stream)


def freeing(address: int, context: Context) -> Free:
    """The work that frees memory at an address.

    Raises:
        Failure: INVALID_VALUE, no allocation begins there.
    """
    memory.starting_at(address, context.ordinal, "device", "managed")
    block = _blocks.get(address)
    if block is not None:
        block.noted.is_freed = True
    return Free(address, block)
