"""Which of several pieces of memory an address lies in, by bisection over their starts."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import Generic, TypeVar

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

    def discard(self, start: int, piece: T) -> None:
        """Forget a piece, where no other one has taken its place."""
        while True:
            changes = self._changes
            known = self._pieces.get(start)
            n = bisect_left(self._starts, start)
            if changes == self._changes:
                break
        if known is None or known[1] is not piece:
            return
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
