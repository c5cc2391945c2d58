"""The heap's bytes, cut into blocks for arrays.

All work of a device is in one order, and so are a block's uses: what uses it next comes behind what
used it before. So a block can be given again at once.
"""

from __future__ import annotations

import weakref
from bisect import bisect_left, bisect_right, insort
from collections import deque
from dataclasses import dataclass

from gridlane.core.device_errors import INVALID_VALUE, OUT_OF_MEMORY, fail
from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.single_buffer.queue import Queue
from gridlane.runtime.pool import PoolStatistics

ALIGNMENT = 256
FIRST = 256
"""The first byte that is given: 0 is the null pointer."""
SPARE = 256
"""Bytes at the end that are never given: copies read the word behind their last one."""
SMALLEST = 1 << 20
"""Bytes of the heap at first."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class Block:
    """Bytes of the heap. They go back to the pool with this object."""

    address: int
    size: int


class Extents:
    """Pieces of the heap by where they start."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self.sizes: dict[int, int] = {}

    def add(self, start: int, size: int) -> None:
        """Note a piece."""
        insort(self._starts, start)
        self.sizes[start] = size

    def remove(self, start: int) -> int:
        """Forget a piece; its size."""
        del self._starts[bisect_left(self._starts, start)]
        return self.sizes.pop(start)

    def before(self, address: int) -> int | None:
        """The start of the last piece that starts at or before an address."""
        n = bisect_right(self._starts, address)
        return self._starts[n - 1] if n else None

    def best(self, size: int) -> int | None:
        """The start of the smallest piece of at least so many bytes."""
        fitting = [(have, start) for start, have in self.sizes.items() if have >= size]
        return min(fitting)[1] if fitting else None


class Pool:
    """The blocks of a heap."""

    def __init__(self, queue: Queue) -> None:
        self.queue, self.engine, self.lock = queue, queue.engine, queue.lock
        self.limit: int | None = None
        self.size = 0
        """Bytes of the heap."""
        self._free, self._live = Extents(), Extents()
        self._returned: deque[tuple[int, int]] = deque()
        """What finalizers gave back; they may run in the middle of anything."""
        self._used = self._peak = self._allocations = self._frees = 0
        self._grow(ALIGNMENT, 0)  # a kernel without arrays is given the heap as well

    def allocate(self, size: int) -> Block:
        """A block of ``size`` bytes.

        Raises:
            DeviceError: OUT_OF_MEMORY.
        """
        if size < 0:
            fail(INVALID_VALUE, f"{size} bytes")
        with self.lock:
            self.collect()
            if self.limit is not None and self._used + size > self.limit:
                fail(
                    OUT_OF_MEMORY,
                    f"{size} bytes, with {self._used} in use of the pool's limit of {self.limit}",
                )
            start = self._take(max(1, -(-size // ALIGNMENT)) * ALIGNMENT, size)
            self._used += size
            self._peak = max(self._peak, self._used)
            self._allocations += 1
            block = Block(start, size)
            weakref.finalize(block, self._returned.append, (start, size)).atexit = False
            return block

    def _take(self, room: int, size: int) -> int:
        start = self._free.best(room)
        if start is None:
            self._grow(room, size)
            start = self._free.best(room)
            assert start is not None
        have = self._free.remove(start)
        if have > room:
            self._free.add(start + room, have - room)
        self._live.add(start, room)
        return start

    def collect(self) -> None:
        """Take back what finalizers gave."""
        with self.lock:
            while self._returned:
                start, size = self._returned.popleft()
                self._used -= size
                self._frees += 1
                self._give(start, self._live.remove(start))

    def _give(self, start: int, size: int) -> None:
        """Make a piece free, as one with those beside it."""
        behind = self._free.sizes.get(start + size)
        if behind is not None:
            self._free.remove(start + size)
            size += behind
        before = self._free.before(start)
        if before is not None and before + self._free.sizes[before] == start:
            size += self._free.remove(before)
            start = before
        self._free.add(start, size)

    # --- the heap ---

    def _end(self) -> int:
        """Behind the last byte that can be given."""
        return self.size - SPARE if self.size else FIRST

    def _grow(self, room: int, asked: int) -> None:
        """Make the heap so large that a piece of ``room`` bytes is free."""
        facts, end = self.engine.facts, self._end()
        last = self._free.before(end)
        tail = self._free.sizes[last] if last is not None else 0
        if last is None or last + tail != end:
            tail = 0
        needed = end - tail + room + SPARE
        most = facts.largest // ALIGNMENT * ALIGNMENT
        if needed > most:
            fail(
                OUT_OF_MEMORY,
                f"{asked} bytes, with {self._used} in use: all arrays of the device {facts.name} "
                f"share one buffer, which has {most} bytes at most ({facts.why})",
            )
        wanted = min(most, max(needed, 2 * self.size, SMALLEST))
        try:
            self._resize(wanted)
        except DeviceError as error:
            if error.number != OUT_OF_MEMORY or wanted == needed:
                raise
            self._resize(needed)
        self._give(end, self._end() - end)

    def _resize(self, size: int) -> None:
        self.queue.flush()
        self.engine.resize(size)
        self.size = size

    # --- facts ---

    def holds(self, address: int, size: int) -> bool:
        """Whether bytes lie in one block."""
        with self.lock:
            start = self._live.before(address)
            return start is not None and address + size <= start + self._live.sizes[start]

    def available(self) -> int:
        """Bytes that are not in use, of what the heap may grow to."""
        with self.lock:
            self.collect()
            live = sum(self._live.sizes.values())
            return max(0, self.engine.facts.largest - FIRST - SPARE - live)

    def trim(self, keep: int = 0) -> None:
        """Nothing is given back to the device: the heap does not shrink."""

    def statistics(self) -> PoolStatistics:
        """How much there is."""
        with self.lock:
            self.collect()
            return PoolStatistics(
                self._used, self._peak, self.size, self._allocations, self._frees, self.limit
            )
