"""A suballocator: cuts a device's large buffers into blocks for arrays."""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass, field
from typing import Any

from gridlane.core.device_errors import INVALID_VALUE, OUT_OF_MEMORY, fail
from gridlane.runtime.addresses import AddressMap
from gridlane.runtime.pool import PoolStatistics

ALIGNMENT = 256
SMALL = 1 << 20
"""Blocks up to this many bytes share a chunk."""
CHUNK = 16 << 20


@dataclass(slots=True, eq=False)
class Chunk:
    """A buffer of the device.

    Attributes:
        address: on the device, of its first byte that is used.
        pointer: on the host, of the same byte; 0 where the host does not see it.
        skip: bytes of the buffer before that byte.
        memory: of the buffer, where that is an object apart.
        live: blocks of it that are in use.
        at: bytes that were ever cut off.
    """

    buffer: Any
    address: int
    pointer: int
    size: int
    skip: int
    memory: Any = None
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

    def host(self) -> ctypes.Array[ctypes.c_ubyte]:
        """The bytes, on the host."""
        return (ctypes.c_ubyte * self.size).from_address(self.pointer)

    def view(self) -> memoryview:
        """The same, to be written in part."""
        return memoryview(self.host()).cast("B")


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


class Suballocator:
    """Memory of one kind; what is given back is kept for later allocations of the same size.

    Args:
        context: of the device: its ``lock``, and ``retire``, which puts a call off until the
            device has done all work so far.
    """

    def __init__(self, context: Any) -> None:
        self.context = context
        self.limit: int | None = None
        self.addresses: AddressMap[Chunk] = AddressMap()
        self.pointers: AddressMap[Chunk] = AddressMap()
        self._free: dict[int, list[tuple[Chunk, int]]] = {}
        self._chunks: list[Chunk] = []
        self._open: Chunk | None = None
        """The chunk that small blocks are cut from."""
        self._used = self._peak = self._allocations = self._frees = 0

    # --- what a device does in its own way ---

    def _new_chunk(self, size: int, asked: int) -> Chunk:
        """A chunk of ``size`` bytes, for an allocation of ``asked``.

        Raises:
            DeviceError: OUT_OF_MEMORY.
        """
        raise NotImplementedError

    def _end_chunk(self, chunk: Chunk) -> None:
        """Give a chunk back to the device."""
        raise NotImplementedError

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
                told = f"{self._used} in use of the pool's limit of {self.limit}"
                fail(OUT_OF_MEMORY, f"{size} bytes, with {told}")
            chunk, offset = self._take(rounded(size), size)
            chunk.live += 1
            self._used += size
            self._peak = max(self._peak, self._used)
            self._allocations += 1
        block = Block(chunk, offset, size)
        weakref.finalize(block, self._retire, chunk, offset, size).atexit = False
        return block

    def _retire(self, chunk: Chunk, offset: int, size: int) -> None:
        self.context.retire(lambda: self._give_back(chunk, offset, size))

    def _give_back(self, chunk: Chunk, offset: int, size: int) -> None:
        """Called with the lock held, when nothing uses the block any more."""
        chunk.live -= 1
        self._used -= size
        self._frees += 1
        self._free.setdefault(rounded(size), []).append((chunk, offset))

    def _take(self, room: int, size: int) -> tuple[Chunk, int]:
        found = self._free.get(room)
        if found:
            return found.pop()
        if room > SMALL:
            return self._added(room, size), 0
        chunk = self._open
        if chunk is None or chunk.at + room > chunk.size:
            chunk = self._open = self._added(CHUNK, size)
        chunk.at += room
        return chunk, chunk.at - room

    def _added(self, size: int, asked: int) -> Chunk:
        chunk = self._new_chunk(size, asked)
        self._chunks.append(chunk)
        self.addresses.add(chunk.address, chunk.size, chunk)
        if chunk.pointer:
            self.pointers.add(chunk.pointer, chunk.size, chunk)
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
        if chunk.pointer:
            self.pointers.remove(chunk.pointer)
        if self._open is chunk:
            self._open = None
        for room, places in self._free.items():
            self._free[room] = [place for place in places if place[0] is not chunk]
        self._end_chunk(chunk)

    def statistics(self) -> PoolStatistics:
        """How much there is."""
        with self.context.lock:
            return PoolStatistics(
                self._used, self._peak, self.reserved, self._allocations, self._frees, self.limit
            )
