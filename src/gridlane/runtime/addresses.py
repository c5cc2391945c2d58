"""Which of several pieces of memory an address lies in, by bisection over their starts."""

from __future__ import annotations

import threading
import weakref
from bisect import bisect_left, bisect_right, insort
from collections import deque
from typing import Any, Generic, TypeVar

from gridlane.core.forks import hold_at_forks

T = TypeVar("T")


class AddressMap(Generic[T]):
    """Pieces of memory that do not overlap, by the addresses that they cover.

    A signal handler may use the map in the middle of a method. Python handles signals, and goes on
    with another thread, behind calls: a place that was found is taken where nothing has changed
    behind the call that found it.
    """

    def __init__(self) -> None:
        self._changes = 0
        self._starts: list[int] = []
        self._pieces: dict[int, tuple[int, T]] = {}

    def add(self, start: int, size: int, piece: T) -> None:
        """Note a piece; it takes the place of one with the same start."""
        known = start in self._pieces
        self._pieces[start] = size, piece
        self._changes += 1
        if not known:
            insort(self._starts, start)
            self._changes += 1

    def remove(self, start: int) -> None:
        """Forget the piece that begins there."""
        while True:
            changes = self._changes
            n = bisect_left(self._starts, start)
            if changes == self._changes:
                break
        del self._starts[n], self._pieces[start]
        self._changes += 1

    def at(self, start: int) -> T | None:
        """The piece that begins there, or None."""
        found = self._pieces.get(start)
        return None if found is None else found[1]

    def find(self, address: int, size: int) -> tuple[T, int] | None:
        """(piece, offset) of bytes that lie in one piece, or None."""
        while True:
            changes = self._changes
            n = bisect_right(self._starts, address) - 1
            if changes == self._changes:
                break
        if n < 0:
            return None
        start = self._starts[n]
        room, piece = self._pieces[start]
        return (piece, address - start) if address + size <= start + room else None

    def pieces(self) -> list[T]:
        """All of them, in order of their addresses."""
        return [self._pieces[start][1] for start in self._starts]


_lock = hold_at_forks(threading.RLock())
"""Of all live maps: one, so that a fork can wait until none is in the middle of a change."""


class _Reference(weakref.ref[Any]):
    """A weak reference that knows where its object's memory begins."""

    __slots__ = ("start",)
    start: int


class LiveMap:
    """Buffers of one device for as long as somebody holds them, from any thread.

    A buffer may die at any moment, in the middle of this class's own work even, so its end is only
    queued and the map is put in order at the next use.
    """

    def __init__(self) -> None:
        self._map: AddressMap[_Reference] = AddressMap()
        self._ended: deque[_Reference] = deque()

    def add(self, buffer: Any) -> None:
        """Note a buffer, by its ``address`` and ``size``."""
        reference = _Reference(buffer, self._ended.append)
        reference.start = start = buffer.address
        with _lock:
            if self._ended:
                self._settle()
            self._map.add(start, buffer.size, reference)

    def find(self, address: int, size: int) -> Any:
        """The buffer that holds bytes, inside it or at its start; None where none does."""
        with _lock:
            self._settle()
            while (found := self._map.find(address, size)) is not None:
                buffer = found[0]()
                if buffer is not None:
                    return buffer
                self._map.remove(found[0].start)  # its end is not queued yet
        return None

    def buffers(self) -> list[Any]:
        """Those that are alive, in order of their addresses."""
        with _lock:
            self._settle()
            alive = [reference() for reference in self._map.pieces()]
        return [buffer for buffer in alive if buffer is not None]

    def _settle(self) -> None:
        """Drop what has ended. Memory that was given again meanwhile is another buffer's."""
        while True:
            try:  # a signal handler may settle the map in between
                reference = self._ended.popleft()
            except IndexError:
                return
            if self._map.at(reference.start) is reference:
                self._map.remove(reference.start)
