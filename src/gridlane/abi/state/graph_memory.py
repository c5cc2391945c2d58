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
from gridlane.core.weak import live

MEM_ALLOC, MEM_FREE = (TYPES[f"CU_GRAPH_NODE_TYPE_{name}"] for name in ("MEM_ALLOC", "MEM_FREE"))


@dataclass(slots=True)
class _Noted:
    """What is known of a block.

    Attributes:
        allocation: that by which programs find it.
        is_freed: whether a node of a graph frees it.
        is_used: whether a launch allocated it, since the device was trimmed.
    """

    allocation: Allocation
    is_freed: bool = False
    is_used: bool = False


@dataclass(slots=True)
class Highest:
    """The most bytes that graphs of a device used and reserved, since they were set to 0."""

    used: int = 0
    reserved: int = 0


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
        _note(context.ordinal)
        weakref.finalize(self, _drop, self.noted)

    def _added(self) -> Allocation:
        address = self.buffer.address
        allocation = Allocation(
            address, self.size, "device", self.context, self.buffer, is_live=False
        )
        return memory.add(allocation)

    def allocate(self) -> None:
        """Register it by its address, which programs may have freed since."""
        allocation = memory.find(self.buffer.address, 0, self.context.ordinal)
        if allocation is not self.noted.allocation:
            self.noted.allocation = self._added()
        self.noted.allocation.is_live = self.noted.is_used = True
        _note(self.context.ordinal)

    @property
    def is_live(self) -> bool:
        """Whether it is allocated now: the program may have freed it."""
        allocation = memory.find(self.buffer.address, 0, self.context.ordinal)
        return allocation is self.noted.allocation and self.noted.allocation.is_live


def _drop(noted: _Noted) -> None:
    """Forget memory of which no node is left and that a node frees."""
    if noted.is_freed:
        with suppress(Failure):  # the program freed it, or its context ended
            memory.remove(noted.allocation)


_blocks: weakref.WeakValueDictionary[int, Block] = weakref.WeakValueDictionary()
_highest: dict[int, Highest] = {}


def highest(ordinal: int) -> Highest:
    """The highest figures of a device."""
    return _highest.setdefault(ordinal, Highest())


def used(ordinal: int) -> int:
    """The bytes of a device that launches of graphs allocated, until they are free and trimmed."""
    return sum(each.size for each in _of(ordinal) if each.noted.is_used)


def reserved(ordinal: int) -> int:
    """The bytes of a device that graphs have for their allocations."""
    return sum(each.size for each in _of(ordinal))


def trim(ordinal: int) -> None:
    """Count the memory that is free as unused. It ends with its graphs."""
    for each in _of(ordinal):
        each.noted.is_used = each.is_live


def _of(ordinal: int) -> list[Block]:
    return [each for each in live(_blocks) if each.context.ordinal == ordinal]


def _note(ordinal: int) -> None:
    most = highest(ordinal)
    most.used = max(most.used, used(ordinal))
    most.reserved = max(most.reserved, reserved(ordinal))


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
        """Register the block by its address."""
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
        else:
            self.block.noted.allocation.is_live = False


def freeing(address: int, context: Context) -> Free:
    """The work that frees memory at an address. A block may be free now, and allocated again by the
    time that the work runs.

    Raises:
        Failure: INVALID_VALUE, no allocation begins there.
    """
    block = _blocks.get(address)
    if block is None:
        memory.starting_at(address, context.ordinal, "device", "managed")
    else:
        block.noted.is_freed = True
    return Free(address, block)
