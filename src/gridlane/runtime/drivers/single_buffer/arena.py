"""The device's one buffer: an arena that grows by copying, suballocated for arrays.

All work of a device is in one order, and so are the uses of a range: its next user runs after its
previous one. So a freed range is reusable at once.
"""

from __future__ import annotations

from collections import deque

from gridlane.core.device_errors import OUT_OF_MEMORY, fail
from gridlane.core.errors import DeviceError
from gridlane.memory.ranges import FreeRanges
from gridlane.memory.resource import ALIGNMENT, Buffer
from gridlane.runtime.drivers.single_buffer.queue import Queue

FIRST = 256
"""The first address of a suballocation: 0 is the null pointer."""
SPARE = 256
"""Reserved bytes at the end: copies read the word after their last one."""
SMALLEST = 1 << 20
"""The initial size of the arena, in bytes."""


def rounded(size: int) -> int:
    """The size of an allocation, rounded to the granularity."""
    return -(-size // ALIGNMENT) * ALIGNMENT or ALIGNMENT


class GrowingArena:
    """The memory resource of a single-buffer device."""

    def __init__(self, queue: Queue) -> None:
        self.queue, self.engine, self.lock = queue, queue.engine, queue.lock
        self.reserved = 0
        """The size of the arena, in bytes."""
        self._free: FreeRanges[None] = FreeRanges()
        self._returned: deque[tuple[int, int]] = deque()
        """Deferred frees, as a finalizer may run at any moment."""
        self._grow(ALIGNMENT, 0)  # a kernel without arrays is bound to the arena as well

    def allocate(self, size: int) -> Buffer:
        """Suballocate bytes of the arena; see MemoryResource."""
        with self.lock:
            self._collect()
            room = rounded(size)
            found = self._free.take(room)
            if found is None:
                self._grow(room, size)
                found = self._free.take(room)
                assert found is not None
            return Buffer(found[0], size)

    def deallocate(self, address: int, size: int) -> None:
        """Free memory; see MemoryResource."""
        self._returned.append((address, size))

    def _collect(self) -> None:
        while self._returned:
            start, size = self._returned.popleft()
            self._free.give(start, rounded(size), None)

    def _end(self) -> int:
        """The end of the usable range."""
        return self.reserved - SPARE if self.reserved else FIRST

    def _grow(self, room: int, asked: int) -> None:
        """Grow the arena until ``room`` contiguous bytes are free."""
        facts, end = self.engine.facts, self._end()
        needed = end - self._free.size_before(end) + room + SPARE
        most = facts.largest // ALIGNMENT * ALIGNMENT
        if needed > most:
            used = end - FIRST - self._free.total
            fail(
                OUT_OF_MEMORY,
                f"{asked} bytes, with {used} in use: all arrays of the device {facts.name} "
                f"share one buffer, which has {most} bytes at most ({facts.why})",
            )
        wanted = min(most, max(needed, 2 * self.reserved, SMALLEST))
        try:
            self._resize(wanted)
        except DeviceError as error:
            if error.number != OUT_OF_MEMORY or wanted == needed:
                raise
            self._resize(needed)
        self._free.give(end, self._end() - end, None)

    def _resize(self, size: int) -> None:
        self.queue.flush()
        self.engine.resize(size)
        self.reserved = size

    def available(self) -> int:
        """Free bytes, out of the largest size of the arena."""
        with self.lock:
            self._collect()
            used = self._end() - FIRST - self._free.total
            return max(0, self.engine.facts.largest - FIRST - SPARE - used)

    def trim(self, keep: int = 0) -> None:
        """Release nothing: the arena does not shrink."""
