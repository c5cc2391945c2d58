"""A suballocator: splits a device's large buffers, its arenas, into suballocations for arrays."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

from gridlane.memory.addresses import AddressMap
from gridlane.memory.ranges import FreeRanges
from gridlane.memory.resource import ALIGNMENT, Buffer

SMALL = 1 << 20
"""Suballocations up to this many bytes share an arena."""
ARENA = 16 << 20
"""The size of a shared arena, in bytes."""


@dataclass(slots=True, eq=False)
class Arena:
    """A buffer of the device's driver.

    Attributes:
        address: on the device, of its first usable byte.
        pointer: on the host, of the same byte; 0 if it is not mapped.
        skip: bytes of the buffer before that byte.
        memory: of the buffer, if that is a separate object.
    """

    buffer: Any
    address: int
    pointer: int
    size: int
    skip: int
    memory: Any = None


@dataclass(slots=True, eq=False)
class Suballocation(Buffer):
    """Bytes of an arena."""

    arena: Arena = field(repr=False, kw_only=True)

    def part(self, size: int, owner: Any) -> Suballocation:
        """Its first bytes, as a buffer with an owner that keeps them."""
        return Suballocation(self.address, size, owner, arena=self.arena)

    @property
    def offset(self) -> int:
        """The offset of the first byte in the arena."""
        return self.address - self.arena.address

    @property
    def pointer(self) -> int:
        """The host's address, if the memory is mapped."""
        return self.arena.pointer + self.address - self.arena.address

    def host(self) -> ctypes.Array[ctypes.c_ubyte]:
        """The bytes, on the host."""
        return (ctypes.c_ubyte * self.size).from_address(self.pointer)

    def view(self) -> memoryview:
        """The bytes on the host, writable in part."""
        return memoryview(self.host()).cast("B")


def rounded(size: int) -> int:
    """The size of an allocation, rounded up. A suballocation with an arena of its own has at most
    an eighth more than requested, so that the arena serves others of about its size.

    >>> rounded(0), rounded(300), rounded(3 << 20), rounded((9 << 20) + 1)
    (256, 512, 3145728, 10485760)
    """
    if size <= SMALL:
        return -(-size // ALIGNMENT) * ALIGNMENT or ALIGNMENT
    step = 1 << (size - 1).bit_length() - 4
    return -(-size // step) * step


class Suballocator:
    """Memory of one kind, in arenas: a resource that keeps freed memory for later allocations.

    Small suballocations share arenas; a large one has an arena of its own, which is kept whole for
    others of its size.

    Args:
        context: of the device: its ``lock``, and ``retire``, which defers a call until the device
            has done all work so far.
    """

    def __init__(self, context: Any) -> None:
        self.context = context
        self.reserved = 0
        """Bytes that the arenas hold of the device."""
        self.addresses: AddressMap[Arena] = AddressMap()
        self.pointers: AddressMap[Arena] = AddressMap()
        self._arenas: list[Arena] = []
        # An arena is aligned, and its buffer has spare bytes for that after it, so arenas do not
        # touch.
        self._free: FreeRanges[Arena] = FreeRanges()
        self._whole: dict[int, list[Arena]] = {}
        """Unused arenas of large suballocations, by their size."""
        self._pieces: dict[int, Arena] = {}
        """The arena of each live suballocation, by its address."""

    # --- implemented by each device ---

    def _new_arena(self, size: int, asked: int) -> Arena:
        """Create an arena of ``size`` bytes, for an allocation of ``asked`` bytes.

        Raises:
            DeviceError: OUT_OF_MEMORY.
        """
        raise NotImplementedError

    def _end_arena(self, arena: Arena) -> None:
        """Release an arena to the device."""
        raise NotImplementedError

    # --- allocating ---

    def allocate(self, size: int) -> Suballocation:
        """Suballocate bytes of an arena; see MemoryResource."""
        with self.context.lock:
            start, arena = self._take(rounded(size), size)
            self._pieces[start] = arena
        return Suballocation(start, size, arena=arena)

    def deallocate(self, address: int, size: int) -> None:
        """Free memory after the work so far; see MemoryResource."""
        self.context.retire(lambda: self._give_back(address, size))

    def _give_back(self, address: int, size: int) -> None:
        """Free memory that no work uses any more; the caller holds the lock."""
        arena, room = self._pieces.pop(address), rounded(size)
        if room > SMALL:
            self._whole.setdefault(room, []).append(arena)
        else:
            self._free.give(address, room, arena)

    def _take(self, room: int, asked: int) -> tuple[int, Arena]:
        if room > SMALL:
            unused = self._whole.get(room)
            arena = unused.pop() if unused else self._added(room, asked)
            return arena.address, arena
        place = self._free.take(room)
        if place is None:
            arena = self._added(ARENA, asked)
            self._free.give(arena.address, ARENA, arena)
            place = self._free.take(room)
            assert place is not None
        return place

    def _added(self, size: int, asked: int) -> Arena:
        arena = self._new_arena(size, asked)
        self._arenas.append(arena)
        self.reserved += size
        self.addresses.add(arena.address, size, arena)
        if arena.pointer:
            self.pointers.add(arena.pointer, size, arena)
        return arena

    # --- maintenance ---

    def trim(self, keep: int = 0) -> None:
        """Release unused arenas, while they hold more than ``keep`` bytes."""
        with self.context.lock:
            for arena in tuple(self._arenas):
                if self.reserved > keep and self._is_unused(arena):
                    self._drop(arena)

    def _is_unused(self, arena: Arena) -> bool:
        whole = self._whole.get(arena.size, ())
        return arena in whole or self._free.size_at(arena.address) == arena.size

    def _drop(self, arena: Arena) -> None:
        self._arenas.remove(arena)
        self.reserved -= arena.size
        self.addresses.remove(arena.address)
        if arena.pointer:
            self.pointers.remove(arena.pointer)
        whole = self._whole.get(arena.size, [])
        if arena in whole:
            whole.remove(arena)
        elif self._free.size_at(arena.address) == arena.size:
            self._free.remove(arena.address)
        self._end_arena(arena)

    def end(self) -> None:
        """Release all arenas, used or not."""
        for arena in tuple(self._arenas):
            self._drop(arena)
