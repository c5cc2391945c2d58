"""Host memory, aligned as devices require."""

from __future__ import annotations

import mmap
import sys
from collections import deque

import numpy as np

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
    """The memory of a larger buffer.

    Attributes:
        start, end: its addresses.
    """

    __slots__ = ("_address", "_behind", "_memory", "end", "start")

    def __init__(self, memory: np.ndarray, address: int, size: int) -> None:
        self._memory, self._address, self._behind = memory, address, address + size
        self.start = address_of(memory)
        self.end = self.start + memory.nbytes
        set_guards(address, self._behind, self.end - self._behind)

    def __del__(self) -> None:
        try:
            check_guards(self._address, self._behind, self.end - self._behind)
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
    (``shared_pages``); of small buffers the first so many.
    """

    def __init__(self) -> None:
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
        try:
            memory = np.empty(room if size < _MOST else _MOST, np.uint8)
        except MemoryError:
            fail(OUT_OF_MEMORY, f"{size} bytes")
        address = -(-(address_of(memory) + guards.BYTES) // align) * align
        return HostBuffer(address, size, OwnMemory(memory, address, size))

    deallocate = staticmethod(goes_with_owner)
