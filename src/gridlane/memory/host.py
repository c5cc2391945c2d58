"""Host memory, aligned as devices require."""

from __future__ import annotations

import mmap
import os
import sys
from collections import deque

import numpy as np

from gridlane.core.config import config
from gridlane.core.device_errors import OUT_OF_MEMORY, fail
from gridlane.memory import guards
from gridlane.memory.guards import check_guards, set_guards
from gridlane.memory.resource import ALIGNMENT, Buffer, goes_with_owner

HUGE = 2 << 20
"""The alignment of large buffers, so that the system can back them with huge pages."""
PAGE = mmap.PAGESIZE
_MOST = 1 << 62
"""More bytes than any address space has; numpy's sizes have 63 bits."""
_PLACES = PAGE // ALIGNMENT - 1
"""Where a small buffer may begin in its page."""
_PAGES = 1024
"""The pages for small buffers; further ones share pages."""


def address_of(array: np.ndarray) -> int:
    """The address of an array's first element. ``array.ctypes`` imports, which Python cannot do
    while it exits."""
    return array.__array_interface__["data"][0]


LEAST_KEPT = 1 << 16
"""The least bytes that are kept: the system's own allocator is quick below."""
_PHYSICAL = (
    os.sysconf("SC_PHYS_PAGES") * PAGE
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {})
    else 1 << 34
)
MOST_KEPT = min(1 << 30, _PHYSICAL // 16)
"""The most bytes that a resource keeps of freed memory."""


def _class_of(room: int) -> int:
    """The size of memory for some bytes: at most an eighth more, so that later buffers can have it.

    >>> _class_of(65536), _class_of(65537), _class_of(1_000_000)
    (65536, 73728, 1048576)
    """
    step = 1 << (room.bit_length() - 4)
    return -(-room // step) * step


class _Pages:
    """Pages for small buffers; the system backs those that are used.

    Attributes:
        free: the addresses of those that no buffer has.
    """

    __slots__ = ("_memory", "free")

    def __init__(self) -> None:
        self._memory = np.frombuffer(mmap.mmap(-1, _PAGES * PAGE, mmap.MAP_PRIVATE), np.uint8)
        start = address_of(self._memory)
        self.free = deque(range(start, start + _PAGES * PAGE, PAGE))

    def take(self) -> int:
        """The address of a free page; 0 if there is none."""
        try:
            return self.free.pop() if self.free else 0
        except IndexError:  # another thread took the last one
            return 0


class OwnPage:
    """A page of one small buffer, which is returned at the end of this object.

    Attributes:
        start: its address.
    """

    __slots__ = ("_address", "_end", "_pages", "start")

    def __init__(self, start: int, pages: _Pages, address: int, size: int) -> None:
        self.start, self._pages = start, pages
        self._address, self._end = address, address + size
        set_guards(address, self._end, start + PAGE - self._end)

    def __del__(self) -> None:
        try:
            check_guards(self._address, self._end, self.start + PAGE - self._end)
        except TypeError:  # the interpreter ends, and has set the globals to None
            return
        self._pages.free.append(self.start)


class OwnMemory:
    """The memory of a larger buffer, which its resource may keep at the end of this object.

    Attributes:
        start, end: its addresses.
    """

    __slots__ = ("_address", "_behind", "_memory", "_resource", "end", "start")

    def __init__(self, resource: HostResource, memory: np.ndarray, address: int, size: int) -> None:
        self._resource, self._memory = resource, memory
        self._address, self._behind = address, address + size
        self.start = address_of(memory)
        self.end = self.start + memory.nbytes
        set_guards(address, self._behind, self.end - self._behind)

    def __del__(self) -> None:
        try:
            check_guards(self._address, self._behind, self.end - self._behind)
            self._resource.returned(self._memory)
        except TypeError:  # the interpreter ends, and has set the globals to None
            return


class HostBuffer(Buffer):
    """A buffer of ``HostResource``."""

    __slots__ = ()

    def extent(self) -> tuple[int, int]:
        """(start, end) of the memory that this buffer's owner alone uses."""
        owner = self.owner
        if isinstance(owner, OwnPage):
            return owner.start, owner.start + PAGE
        assert isinstance(owner, OwnMemory)
        return owner.start, owner.end


class HostResource:
    """The memory of the process: that of devices whose kernels run on the host, and pinned memory
    where no driver pins pages.

    A buffer is alone in its pages, so that it can be shared with another process
    (``shared_pages``); of small buffers the first so many. Freed memory of larger ones is kept for
    later ones of nearly its size, whose pages the system then need not clear.
    """

    def __init__(self) -> None:
        self._kept: dict[int, deque[np.ndarray]] = {}
        self._held = self._kept_bytes = 0
        self._pages: _Pages | None = None
        self._small = PAGE - ALIGNMENT if sys.platform == "linux" else 0

    def allocate(self, size: int) -> HostBuffer:
        """Allocate ``size`` bytes; their contents are undefined. Hot."""
        align = ALIGNMENT
        if size < self._small:
            pages = self._pages
            if pages is None:
                pages = self._pages = _Pages()
            start = pages.take()
            if start:
                # Not all at the same place in their pages, which share a few lines of the cache.
                # A guard is in front, and a byte is free before the next page.
                place = start // PAGE % _PLACES * ALIGNMENT + ALIGNMENT
                address = start + (place if place + size < PAGE else ALIGNMENT)
                return HostBuffer(address, size, OwnPage(start, pages, address, size))
        elif self._small:
            align = PAGE
        if size >= 2 * HUGE:
            align = HUGE
        room = size + 2 * guards.BYTES + align + (PAGE if align > ALIGNMENT else 0)
        memory = self._new(room if size < _MOST else _MOST, size)
        address = -(-(address_of(memory) + guards.BYTES) // align) * align
        return HostBuffer(address, size, OwnMemory(self, memory, address, size))

    def _new(self, room: int, size: int) -> np.ndarray:
        """Kept memory, or new one.

        Raises:
            DeviceError: OUT_OF_MEMORY.
        """
        if room >= LEAST_KEPT:
            room = _class_of(room)
            kept = self._kept.get(room)
            if kept:
                try:
                    memory = kept.pop()
                except IndexError:  # another thread took the last one
                    pass
                else:
                    self._kept_bytes -= room
                    return memory
        try:
            memory = np.empty(room, np.uint8)
        except MemoryError:
            self.trim()
            try:
                memory = np.empty(room, np.uint8)
            except MemoryError:
                fail(OUT_OF_MEMORY, f"{size} bytes")
        self._held += room
        return memory

    def returned(self, memory: np.ndarray) -> None:
        """Keep the memory of a dead buffer, if it is neither small nor too much. Finalizers call
        this at any moment."""
        room = memory.nbytes
        # Accesses to freed memory are faults where they are checked.
        if LEAST_KEPT <= room <= MOST_KEPT - self._kept_bytes and not config().check:
            self._kept.setdefault(room, deque()).append(memory)
            self._kept_bytes += room
        else:
            self._held -= room

    @property
    def reserved(self) -> int:
        """Bytes that it holds of the system for larger buffers."""
        return self._held

    def trim(self, keep: int = 0) -> None:
        """Return kept memory to the system, the largest first, while there are more than ``keep``
        bytes of it."""
        for room in sorted(self._kept, reverse=True):
            while self._kept_bytes > keep:
                try:
                    self._kept[room].pop()
                except IndexError:
                    break
                self._kept_bytes -= room
                self._held -= room

    deallocate = staticmethod(goes_with_owner)
