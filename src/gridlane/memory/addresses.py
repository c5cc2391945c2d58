"""An address map: find the range of memory that holds an address, by bisection."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")


class Addresses(Protocol[T]):
    """Ranges of memory by the addresses that they cover: an ``AddressMap``, or C's."""

    @property
    def changes(self) -> int:
        """A number that each change raises."""
        ...

    def add(self, start: int, size: int, piece: T) -> None:
        """Add a range; it replaces one with the same start."""
        ...

    def discard(self, start: int, piece: T) -> None:
        """Remove a range, unless another one has replaced it."""
        ...

    def find(self, address: int, size: int) -> tuple[T, int] | None:
        """(range, offset) of bytes that lie in one range, or None."""
        ...

    def size_at(self, start: int) -> int:
        """The size of the range with this start, or 0."""
        ...

    def ranges(self) -> list[tuple[int, int]]:
        """(start, size) of all ranges, in order of their addresses."""
        ...

    def pieces(self) -> list[T]:
        """All ranges, in order of their addresses."""
        ...


class AddressMap(Generic[T]):
    """Disjoint ranges of memory, by the addresses that they cover.

    A signal handler may interrupt a method and use the map. Python handles signals, and switches
    threads, after calls: a found position is valid if nothing changed after the call that found it.
    """

    def __init__(self) -> None:
        self._changes = 0
        self._starts: list[int] = []
        self._pieces: dict[int, tuple[int, T]] = {}

    @property
    def changes(self) -> int:
        """A number that each change raises."""
        return self._changes

    def add(self, start: int, size: int, piece: T) -> None:
        """Add a range; it replaces one with the same start."""
        known = start in self._pieces
        self._pieces[start] = size, piece
        self._changes += 1
        if not known:
            insort(self._starts, start)
            self._changes += 1

    def remove(self, start: int) -> None:
        """Remove the range with this start."""
        while True:
            changes = self._changes
            n = bisect_left(self._starts, start)
            if changes == self._changes:
                break
        del self._starts[n], self._pieces[start]
        self._changes += 1

    def discard(self, start: int, piece: T) -> None:
        """Remove a range, unless another one has replaced it."""
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
        """The range with this start, or None."""
        piece = self._pieces.get(start)
        return None if piece is None else piece[1]

    def size_at(self, start: int) -> int:
        """The size of the range with this start, or 0."""
        return self._pieces.get(start, (0,))[0]

    def find(self, address: int, size: int) -> tuple[T, int] | None:
        """(range, offset) of bytes that lie in one range, or None."""
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

    def ranges(self) -> list[tuple[int, int]]:
        """(start, size) of all ranges, in order of their addresses."""
        return [(start, self._pieces[start][0]) for start in self._starts]

    def pieces(self) -> list[T]:
        """All ranges, in order of their addresses."""
        return [self._pieces[start][1] for start in self._starts]
