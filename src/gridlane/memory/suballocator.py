"""A suballocator: splits a device's large buffers, its arenas, into pieces for arrays."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

from gridlane.memory.addresses import AddressMap
from gridlane.memory.ranges import FreeRanges
from gridlane.memory.resource import ALIGNMENT, Buffer

SMALL = 1 << 20
"""Pieces up to this many bytes share an arena."""
ARENA = 16 << 20
"""Bytes of such an arena."""


@dataclass(slots=True, eq=False)
class Arena:
    """A buffer of the device's driver.

    Attributes:
        address: on the device, of its first byte that is used.
        pointer: on the host, of the same byte; 0 where the host does not see it.
        skip: bytes of the buffer before that byte.
        memory: of the buffer, where that is an object apart.
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

    @property
    def offset(self) -> int:
        """Of the first byte, in the arena."""
        return self.address - self.arena.address

    @property
    def pointer(self) -> int:
        """On the host, where it sees the memory."""
        return self.arena.pointer + self.address - self.arena.address

    def host(self) -> ctypes.Array[ctypes.c_ubyte]:
        """The bytes, on the host."""
        return (ctypes.c_ubyte * self.size).from_address(self.pointer)

    def view(self) -> memoryview:
        """The same, to be written in part."""
        return memoryview(self.host()).cast("B")


def rounded(size: int) -> int:
    """The bytes that are taken for an allocation. A piece with an arena of its own has at most an
    eighth more than was asked for, so that the arena serves others of about its size.

    >>> rounded(0), rounded(300), rounded(3 << 20), rounded((9 << 20) + 1)
    (256, 512, 3145728, 10485760)
    """
    if size <= SMALL:
        return -(-size // ALIGNMENT) * ALIGNMENT or ALIGNMENT
    step = 1 << (size - 1).bit_length() - 4
    return -(-size // step) * step


class Suballocator:
    """Memory of one kind, in arenas: a resource that keeps what is given back for later.

    Small pieces are cut from shared arenas; a large one has an arena of its own, which is kept
    whole for others of its size.

    Args:
        context: of the device: its ``lock``, and ``retire``, which puts a call off until the
            device has done all work so far.
    """

    def __init__(self, context: Any) -> None:
        self.context = context
        self.reserved = 0
        """Bytes that the arenas hold of the device."""
        self.addresses: AddressMap[Arena] = AddressMap()
        self.pointers: AddressMap[Arena] = AddressMap()
        self._arenas: list[Arena] = []
        # An arena is aligned and its buffer has bytes for that behind it, so arenas do not touch.
        self._free: FreeRanges[Arena] = FreeRanges()
        self._whole: dict[int, list[Arena]] = {}
        """Arenas of large pieces that nothing uses, by their size."""
        self._pieces: dict[int, Arena] = {}
        """The arena of each piece that is in use, by its address."""

    # --- what a device does in its own way ---

    def _new_arena(self, size: int, asked: int) -> Arena:
        """An arena of ``size`` bytes, for an allocation of ``asked``.

        Raises:
            DeviceError: OUT_OF_MEMORY.
        """
        raise NotImplementedError

    def _end_arena(self, arena: Arena) -> None:
        """Give an arena back to the device."""
        raise NotImplementedError

    # --- allocating ---

    def allocate(self, size: int) -> Suballocation:
        """Bytes of an arena; see MemoryResource."""
        with self.context.lock:
            start, arena = self._take(rounded(size), size)
            self._pieces[start] = arena
        return Suballocation(start, size, arena=arena)

    def deallocate(self, address: int, size: int) -> None:
        """Take memory back, behind the work so far; see MemoryResource."""
        self.context.retire(lambda: self._give_back(address, size))

    def _give_back(self, address: int, size: int) -> None:
        """Called with the lock held, when nothing uses the memory any more."""
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
        found = self._free.take(room)
        if found is None:
            arena = self._added(ARENA, asked)
            self._free.give(arena.address, ARENA, arena)
            found = self._free.take(room)
            assert found is not None
        return found

    def _added(self, size: int, asked: int) -> Arena:
        arena = self._new_arena(size, asked)
        self._arenas.append(arena)
        self.reserved += size
        self.addresses.add(arena.address, size, arena)
        if arena.pointer:
            self.pointers.add(arena.pointer, size, arena)
        return arena

    # --- keeping house ---

    def trim(self, keep: int = 0) -> None:
        """Give back arenas that nothing uses, while they hold more than ``keep`` bytes."""
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
        """Give everything back, used or not."""
        for arena in tuple(self._arenas):
            self._drop(arena)
