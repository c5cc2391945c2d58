"""Memory: buffers of the device with addresses, cut into blocks for arrays."""

from __future__ import annotations

import weakref
from bisect import bisect_right, insort
from dataclasses import dataclass, field
from typing import Any

from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.vulkan.api import bindings, new, null, struct
from gridlane.runtime.drivers.vulkan.context import Context
from gridlane.runtime.errors import INVALID_VALUE, OUT_OF_MEMORY, fail
from gridlane.runtime.pool import PoolStatistics

ALIGNMENT = 256
SMALL = 1 << 20
"""Blocks up to this many bytes share a chunk."""
CHUNK = 16 << 20

# VkBufferUsageFlagBits: source and target of copies, storage, with an address.
_USAGE = 0x1 | 0x2 | 0x20 | 0x20000

# VkMemoryPropertyFlagBits.
LOCAL, VISIBLE, COHERENT, CACHED = 1, 2, 4, 8
_WHOLE_SIZE = 2**64 - 1  # Vulkan's word for up to the end
_WITH_ADDRESS = 0x2  # VkMemoryAllocateFlagBits
_SPECIAL = 0xF0  # protected, lazily allocated, AMD's own
_BY_POINTER = VISIBLE | COHERENT | CACHED


@dataclass(slots=True, eq=False)
class Chunk:
    """A VkBuffer with memory of its own.

    Attributes:
        address: on the device, of its first byte that is used.
        pointer: on the host, of the same byte; 0 where the host does not see it.
        skip: bytes of the VkBuffer before that byte.
        live: blocks of it that are in use.
        at: bytes that were ever cut off.
    """

    buffer: Any
    memory: Any
    address: int
    pointer: int
    size: int
    skip: int
    live: int = 0
    at: int = 0


@dataclass(slots=True, eq=False, weakref_slot=True)
class Block:
    """Bytes of a chunk. They go back to the pool with this object, behind the work so far."""

    chunk: Chunk = field(repr=False)
    offset: int
    size: int

    @property
    def address(self) -> int:
        """On the device."""
        return self.chunk.address + self.offset

    @property
    def pointer(self) -> int:
        """On the host, where it sees the memory."""
        return self.chunk.pointer + self.offset

    def view(self) -> memoryview:
        """The bytes, on the host."""
        return host_view(self.pointer, self.size)


def host_view(pointer: int, size: int) -> memoryview:
    """Bytes at an address of the host."""
    ffi = bindings().ffi
    return memoryview(ffi.buffer(ffi.cast("char *", pointer), size))


def rounded(size: int) -> int:
    """The bytes of the block for an allocation: a power of two where it is small, else at most an
    eighth more than was asked for.

    >>> rounded(1), rounded(300), rounded(3 << 20), rounded((9 << 20) + 1)
    (256, 512, 3145728, 10485760)
    """
    if size <= SMALL:
        return max(ALIGNMENT, 1 << (size - 1).bit_length())
    step = 1 << (size - 1).bit_length() - 4
    return -(-size // step) * step


class AddressMap:
    """Chunks by the addresses that they cover."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._chunks: dict[int, Chunk] = {}

    def add(self, start: int, chunk: Chunk) -> None:
        """Note a chunk that begins at ``start``."""
        insort(self._starts, start)
        self._chunks[start] = chunk

    def remove(self, start: int) -> None:
        """Forget the chunk that begins there."""
        self._starts.remove(start)
        del self._chunks[start]

    def find(self, address: int, size: int) -> tuple[Chunk, int] | None:
        """(chunk, offset) of bytes that lie in one chunk, or None."""
        n = bisect_right(self._starts, address) - 1
        if n < 0:
            return None
        start = self._starts[n]
        chunk = self._chunks[start]
        return (chunk, address - start) if address + size <= start + chunk.size else None


class Pool:
    """Memory of one type; what is given back is kept for later allocations of the same size.

    Args:
        wanted: sets of property flags, the best first.
    """

    def __init__(self, context: Context, wanted: tuple[int, ...]) -> None:
        self.context = context
        self.type, self.flags, self.heap = _choose(context, wanted)
        self.by_pointer = self.flags & _BY_POINTER == _BY_POINTER
        """Whether the host reads and writes the memory as its own."""
        self.limit: int | None = None
        self.addresses, self.pointers = AddressMap(), AddressMap()
        self._free: dict[int, list[tuple[Chunk, int]]] = {}
        self._chunks: list[Chunk] = []
        self._open: Chunk | None = None
        """The chunk that small blocks are cut from."""
        self._used = self._peak = self._allocations = self._frees = 0

    # --- allocating ---

    def allocate(self, size: int) -> Block:
        """A block of ``size`` bytes.

        Raises:
            DeviceError: OUT_OF_MEMORY.
        """
        if size < 0:
            fail(INVALID_VALUE, f"{size} bytes")
        with self.context.lock:
            if self.limit is not None and self._used + size > self.limit:
                fail(
                    OUT_OF_MEMORY,
                    f"{size} bytes, with {self._used} in use of the pool's limit of {self.limit}",
                )
            chunk, offset = self._take(rounded(size), size)
            chunk.live += 1
            self._used += size
            self._peak = max(self._peak, self._used)
            self._allocations += 1
            block = Block(chunk, offset, size)
            context, give = self.context, (self._give_back, chunk, offset, size)
            weakref.finalize(block, _retire, context, give).atexit = False
            return block

    def _take(self, room: int, size: int) -> tuple[Chunk, int]:
        found = self._free.get(room)
        if found:
            return found.pop()
        if room > SMALL:
            return self._new_chunk(room, size), 0
        chunk = self._open
        if chunk is None or chunk.at + room > chunk.size:
            chunk = self._open = self._new_chunk(CHUNK, size)
        chunk.at += room
        return chunk, chunk.at - room

    def _give_back(self, chunk: Chunk, offset: int, size: int) -> None:
        """Called with the lock held, when nothing uses the block any more."""
        chunk.live -= 1
        self._used -= size
        self._frees += 1
        self._free.setdefault(rounded(size), []).append((chunk, offset))

    # --- chunks ---

    def _new_chunk(self, size: int, asked: int) -> Chunk:
        what = f"{asked} bytes of {'device' if self.flags & LOCAL else 'host'} memory"
        total, _ = self.context.heap(self.heap)
        reserved, largest = self.context.reserved[self.heap], self.context.adapter.largest_buffer
        if size + ALIGNMENT > largest:
            fail(OUT_OF_MEMORY, f"{what}; the largest buffer has {largest}")
        if reserved + size + ALIGNMENT > total:
            fail(OUT_OF_MEMORY, f"{what}, with {reserved} of {total} in use")
        buffer = self._buffer(size + ALIGNMENT)
        try:
            memory = self._memory(buffer, what)
        except DeviceError:
            self.context.vk.vkDestroyBuffer(self.context.handle, buffer, null())
            raise
        try:
            chunk = self._placed(buffer, memory, size)
        except DeviceError:
            self._destroy(buffer, memory)
            raise
        self._chunks.append(chunk)
        self.context.reserved[self.heap] += size
        self.addresses.add(chunk.address, chunk)
        if chunk.pointer:
            self.pointers.add(chunk.pointer, chunk)
        return chunk

    def _buffer(self, size: int) -> Any:
        info = struct("VkBufferCreateInfo", size=size, usage=_USAGE)
        return self.context.create("vkCreateBuffer", "VkBuffer", info, f"{size} bytes")

    def _memory(self, buffer: Any, what: str) -> Any:
        needs = new("VkMemoryRequirements *")
        self.context.call("vkGetBufferMemoryRequirements", buffer, needs)
        if not needs.memoryTypeBits >> self.type & 1:
            fail(OUT_OF_MEMORY, f"{what}: buffers cannot be of memory type {self.type}")
        flags = struct("VkMemoryAllocateFlagsInfo", flags=_WITH_ADDRESS)
        info = struct(
            "VkMemoryAllocateInfo",
            pNext=flags,
            allocationSize=needs.size,
            memoryTypeIndex=self.type,
        )
        return self.context.create("vkAllocateMemory", "VkDeviceMemory", info, what)

    def _placed(self, buffer: Any, memory: Any, size: int) -> Chunk:
        """Bind a buffer to its memory and find out where that is."""
        context = self.context
        context.call("vkBindBufferMemory", buffer, memory, 0)
        info = struct("VkBufferDeviceAddressInfo", buffer=buffer)
        address = int(context.vk.vkGetBufferDeviceAddress(context.handle, info))
        skip, pointer = -address % ALIGNMENT, 0
        if self.flags & VISIBLE:
            mapped = new("void **")
            context.call("vkMapMemory", memory, 0, _WHOLE_SIZE, 0, mapped)
            pointer = int(bindings().ffi.cast("uintptr_t", mapped[0])) + skip
        return Chunk(buffer, memory, address + skip, pointer, size, skip)

    def _destroy(self, buffer: Any, memory: Any) -> None:
        vk, handle = self.context.vk, self.context.handle
        vk.vkDestroyBuffer(handle, buffer, null())
        vk.vkFreeMemory(handle, memory, null())

    # --- keeping house ---

    @property
    def reserved(self) -> int:
        """Bytes that the pool holds of the device."""
        return sum(chunk.size for chunk in self._chunks)

    def trim(self, keep: int = 0) -> None:
        """Give back chunks that nothing uses, while the pool holds more than ``keep`` bytes."""
        with self.context.lock:
            for chunk in [each for each in self._chunks if not each.live]:
                if self.reserved > keep:
                    self._drop(chunk)

    def _drop(self, chunk: Chunk) -> None:
        self._chunks.remove(chunk)
        self.context.reserved[self.heap] -= chunk.size
        self.addresses.remove(chunk.address)
        if chunk.pointer:
            self.pointers.remove(chunk.pointer)
        if self._open is chunk:
            self._open = None
        for room, places in self._free.items():
            self._free[room] = [place for place in places if place[0] is not chunk]
        self._destroy(chunk.buffer, chunk.memory)

    def end(self) -> None:
        """Give everything back, used or not."""
        for chunk in tuple(self._chunks):
            self._drop(chunk)

    def statistics(self) -> PoolStatistics:
        """How much there is."""
        with self.context.lock:
            return PoolStatistics(
                self._used, self._peak, self.reserved, self._allocations, self._frees, self.limit
            )


def _retire(context: Context, give: tuple[Any, ...]) -> None:
    function, *args = give
    context.retire(lambda: function(*args))


def _choose(context: Context, wanted: tuple[int, ...]) -> tuple[int, int, int]:
    """(number, property flags, heap) of the type of memory that has what is wanted; of several, of
    the first in the largest heap, as some devices show a small window of theirs as another heap."""
    types = context.memory_types()
    for flags in wanted:
        fitting = [
            (number, have, heap)
            for number, (have, heap) in enumerate(types)
            if have & flags == flags and not have & _SPECIAL
        ]
        if fitting:
            return max(fitting, key=lambda each: context.heap(each[2])[0])
    fail(OUT_OF_MEMORY, f"no memory with one of the properties {wanted} among {types}")
