"""The free ranges of a suballocator's arenas."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Generic, TypeVar

T = TypeVar("T")


class FreeRanges(Generic[T]):
    """Free ranges of bytes. Adjacent ranges are merged.

    A range has an owner, such as its arena. The ranges of two arenas must not touch.
    """

    def __init__(self) -> None:
        self.total = 0
        """The total size of all ranges."""
        self._by_size: list[tuple[int, int]] = []
        """(size, start), sorted."""
        self._at: dict[int, tuple[int, T]] = {}
        """(size, owner) by start."""
        self._ends: dict[int, int] = {}
        """The start of a range, by its end."""

    def take(self, size: int) -> tuple[int, T] | None:
        """(start, owner) of so many bytes, from the smallest range that holds them; None if none
        does."""
        n = bisect_left(self._by_size, (size, 0))
        if n == len(self._by_size):
            return None
        have, start = self._by_size.pop(n)
        whole = self._at.pop(start)[1]
        self.total -= size
        if have > size:
            self._at[start + size] = have - size, whole
            self._ends[start + have] = start + size
            insort(self._by_size, (have - size, start + size))
        else:
            del self._ends[start + have]
        return start, whole

    def give(self, start: int, size: int, whole: T) -> None:
        """Free bytes."""
        self.total += size
        if start + size in self._at:
            size += self._remove(start + size)
        before = self._ends.get(start)
        if before is not None:
            size += self._remove(before)
            start = before
        self._at[start] = size, whole
        self._ends[start + size] = start
        insort(self._by_size, (size, start))

    def remove(self, start: int) -> None:
        """Remove the range with this start."""
        self.total -= self._remove(start)

    def _remove(self, start: int) -> int:
        size, _ = self._at.pop(start)
        del self._ends[start + size], self._by_size[bisect_left(self._by_size, (size, start))]
        return size

    def size_at(self, start: int) -> int:
        """The size of the range with this start; 0 without one."""
        entry = self._at.get(start)
        return 0 if entry is None else entry[0]

    def size_before(self, end: int) -> int:
        """The size of the range with this end; 0 without one."""
        start = self._ends.get(end)
        return 0 if start is None else end - start
