"""The address maps of host devices, which C has: it looks up the addresses of copies in them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Generic, TypeVar

from gridlane.runtime.queues.native_queues import native

T = TypeVar("T")

OF_DEVICES, OF_HOST, BUFFERS = range(3)
"""What ranges are of: programs' allocations on devices and on the host, and all buffers."""
DEVICE, MANAGED, HOST, FOREIGN = 1, 2, 3, 4
"""The kinds of ranges."""


class HostMap(Generic[T]):
    """An ``AddressMap`` whose ranges are C's. Python has the objects, by the starts of ranges.

    A signal handler may interrupt a method and use the map: each method changes C's ranges once.

    Args:
        of: what the ranges are of.
        kind: of a range's object; by default, device memory.
    """

    def __init__(self, of: int, kind: Callable[[T], int] | None = None) -> None:
        self._of, self._kind = of, kind
        self._map = 0  # made at the first range: the queues of a program in C are adopted before
        self._release: Callable[[int], object] = native.release_map  # modules may end before
        self._pieces: dict[int, T] = {}
        self.changes = 0

    def __del__(self, finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if self._map and not finalizing():
            self._release(self._map)

    def add(self, start: int, size: int, piece: T) -> None:
        """Add a range; it replaces one with the same start. Hot."""
        if not self._map:
            self._begin()
        self._pieces[start] = piece
        kind = DEVICE if self._kind is None else self._kind(piece)
        native.add_range(self._map, start, size, kind)
        self.changes += 1

    def _begin(self) -> None:
        made = native.new_map(self._of)
        if self._map:  # another thread, or a signal handler, made one during that call
            self._release(made)
        else:
            self._map = made

    def discard(self, start: int, piece: T) -> None:
        """Remove a range, unless another one has replaced it. Hot."""
        if self._pieces.get(start) is piece:
            del self._pieces[start]
            native.remove_range(self._map, start)
            self.changes += 1

    def find(self, address: int, size: int) -> tuple[T, int] | None:
        """(range, offset) of bytes that lie in one range, or None."""
        start = native.find_range(self._map, address, size) if self._map else None
        piece = None if start is None else self._pieces.get(start)
        return None if start is None or piece is None else (piece, address - start)

    def meets(self, address: int, size: int) -> bool:
        """Whether a range has one of the bytes; the ranges are disjoint."""
        return bool(self._map) and native.range_meets(self._map, address, size)

    def size_at(self, start: int) -> int:
        """The size of the range with this start, or 0."""
        return native.range_size(self._map, start) if self._map else 0

    def ranges(self) -> list[tuple[int, int]]:
        """(start, size) of all ranges, in order of their addresses."""
        return native.ranges(self._map) if self._map else []

    def pieces(self) -> list[T]:
        """All ranges, in order of their addresses."""
        pieces = self._pieces
        return [pieces[start] for start, _ in self.ranges() if start in pieces]
