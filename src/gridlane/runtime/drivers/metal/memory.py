"""Memory: buffers that host and device see, each at an address of its own, cut into blocks."""

from __future__ import annotations

import ctypes
import weakref
from bisect import bisect_right, insort
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gridlane.runtime.drivers.metal.context import Context
from gridlane.runtime.errors import INVALID_VALUE, OUT_OF_MEMORY, fail
from gridlane.runtime.pool import PoolStatistics

ALIGNMENT = 256
SMALL = 1 << 20
"""Blocks up to this many bytes share a chunk."""
CHUNK = 16 << 20


@dataclass(slots=True, eq=False)
class Chunk:
    """An MTLBuffer.

    Attributes:
        address: on the device, of its first byte that is used.
        pointer: on the host, of the same byte.
        skip: bytes of the buffer before that byte.
        live: blocks of it that are in use.
        at: bytes that were ever cut off.
    """

    buffer: Any
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
        """On the host."""
        return self.chunk.pointer + self.offset

    def host(self) -> ctypes.Array[ctypes.c_ubyte]:
        """The bytes, on the host."""
        return (ctypes.c_ubyte * self.size).from_address(self.pointer)


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


class Residency:
    """Which buffers kernels may reach by pointer: all of them, always. By a residency set where
    the device has such; else each encoder is told of each buffer."""

    def __init__(self, context: Context) -> None:
        metal = context.metal
        self._both = metal.MTLResourceUsageRead | metal.MTLResourceUsageWrite
        with context.pool():
            described = metal.MTLResidencySetDescriptor.new()
            self.set, _ = context.device.newResidencySetWithDescriptor_error_(described, None)
        self.buffers: list[Any] = []
        self.version = 0
        """Changes when a buffer comes."""

    def add(self, buffer: Any) -> None:
        """Make a buffer reachable."""
        self.buffers.append(buffer)
        self.version += 1
        if self.set is not None:
            self.set.addAllocation_(buffer)
            self.set.commit()
            self.set.requestResidency()

    def remove(self, buffer: Any) -> None:
        """Give a buffer up."""
        self.buffers.remove(buffer)
        if self.set is not None:
            self.set.removeAllocation_(buffer)
            self.set.commit()

    def tell(self, encoder: Any) -> None:
        """Tell an encoder of every buffer."""
        for buffer in self.buffers:
            encoder.useResource_usage_(buffer, self._both)


class Pool:
    """The device's memory; what is given back is kept for later allocations of the same size."""

    def __init__(self, context: Context) -> None:
        self.context = context
        metal = context.metal
        self._options = (
            metal.MTLResourceStorageModeShared | metal.MTLResourceHazardTrackingModeUntracked
        )
        self.residency = Residency(context)
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
        room = rounded(size)
        with self.context.lock:
            if self.limit is not None and self._used + size > self.limit:
                told = f"{self._used} in use of the pool's limit of {self.limit}"
                fail(OUT_OF_MEMORY, f"{size} bytes, with {told}")
            free = self._free.get(room)
            chunk, offset = free.pop() if free else self._cut(room, size)
            chunk.live += 1
            self._used += size
            self._peak = max(self._peak, self._used)
            self._allocations += 1
        block = Block(chunk, offset, size)
        weakref.finalize(block, self._retire, chunk, offset, size).atexit = False
        return block

    def _retire(self, chunk: Chunk, offset: int, size: int) -> None:
        self.context.retire(lambda: self._give_back(chunk, offset, size))

    def _cut(self, room: int, size: int) -> tuple[Chunk, int]:
        if room > SMALL:
            chunk = self._new_chunk(room, size)
            chunk.at = room
            return chunk, 0
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
        adapter, what = self.context.adapter, f"{asked} bytes of device memory"
        length = size + ALIGNMENT
        if length > adapter.largest_buffer:
            fail(OUT_OF_MEMORY, f"{what}; the largest buffer has {adapter.largest_buffer}")
        if self.reserved + length > adapter.working_set:
            fail(OUT_OF_MEMORY, f"{what}, with {self.reserved} of {adapter.working_set} in use")
        with self.context.pool():
            buffer = self.context.device.newBufferWithLength_options_(length, self._options)
            if buffer is None:
                fail(OUT_OF_MEMORY, what)
            start = int(buffer.gpuAddress())
            bytes_ = np.frombuffer(buffer.contents().as_buffer(length), np.uint8)
        skip = -start % ALIGNMENT
        chunk = Chunk(buffer, start + skip, bytes_.ctypes.data + skip, size, skip)
        self._chunks.append(chunk)
        self.residency.add(buffer)
        self.addresses.add(chunk.address, chunk)
        self.pointers.add(chunk.pointer, chunk)
        return chunk

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
        self.addresses.remove(chunk.address)
        self.pointers.remove(chunk.pointer)
        if self._open is chunk:
            self._open = None
        for room, places in self._free.items():
            self._free[room] = [place for place in places if place[0] is not chunk]
        self.residency.remove(chunk.buffer)

    def statistics(self) -> PoolStatistics:
        """How much there is."""
        with self.context.lock:
            return PoolStatistics(
                self._used, self._peak, self.reserved, self._allocations, self._frees, self.limit
            )
