"""The buffers of a device's memory: arenas that grow by copying, suballocated for arrays.

The first buffer holds as much as it can; a further one begins when an array fits in none. An array
lies in one buffer. ``core.shader_abi`` defines addresses.

All work of a device is in one order, and so are the uses of a range: its next user runs after its
previous one. So a freed range is reusable at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from gridlane.core.device_errors import OUT_OF_MEMORY, fail, handled
from gridlane.core.errors import DeviceError
from gridlane.core.shader_abi import OFFSET_BITS, located
from gridlane.memory.ranges import FreeRanges
from gridlane.memory.resource import ALIGNMENT, Buffer
from gridlane.runtime.drivers.single_buffer.recorder import WordRecorder

FIRST = 256
"""The first offset of a suballocation: 0 is the null pointer."""
SPARE = 256
"""Reserved bytes at the end: copies read the word after their last one."""
SMALLEST = 1 << 20
"""The initial size of a buffer, in bytes."""
KEPT = 1 << 16
"""Bytes of the first buffer that arrays of less than half a buffer leave to reports."""


def rounded(size: int) -> int:
    """The size of an allocation, rounded to the granularity."""
    return -(-size // ALIGNMENT) * ALIGNMENT or ALIGNMENT


class Segment:
    """One buffer.

    Attributes:
        number: the upper half of its addresses.
        size: in bytes; 0 before the first allocation, and after ``GrowingArena.trim``.
        free: offsets.
    """

    __slots__ = ("free", "number", "size")

    def __init__(self, number: int) -> None:
        self.number, self.size = number, 0
        self.free: FreeRanges[None] = FreeRanges()

    @property
    def end(self) -> int:
        """The end of the usable range."""
        return self.size - SPARE if self.size else FIRST

    @property
    def used(self) -> int:
        """Bytes of arrays."""
        return self.end - FIRST - self.free.total

    def needed(self, room: int) -> int:
        """The size with ``room`` contiguous free bytes at the end."""
        return self.end - self.free.size_before(self.end) + room + SPARE


class GrowingArena:
    """The memory resource of a device whose shaders have no pointers.

    Args:
        on_several: is called when a second buffer begins, before an address in it is known.
    """

    def __init__(
        self, recorder: WordRecorder, on_several: Callable[[], object] = lambda: None
    ) -> None:
        self.recorder, self.engine, self.lock = recorder, recorder.engine, recorder.lock
        self.segments = [Segment(0)]
        self._on_several = on_several
        self._returned: deque[tuple[int, int]] = deque()
        """Deferred frees, as a finalizer may run at any moment."""
        # A kernel without arrays is bound to the first buffer as well.
        self._enlarge(self.segments[0], ALIGNMENT)

    @property
    def reserved(self) -> int:
        """The size of all buffers, in bytes."""
        return sum([segment.size for segment in self.segments])

    def allocate(self, size: int) -> Buffer:
        """Suballocate bytes of a buffer; see MemoryResource."""
        with self.lock:
            self._collect()
            room = rounded(size)
            address = self._take(room)
            if address is None:
                self._grow(room, size)
                address = self._take(room)
                assert address is not None
            return Buffer(address, size)

    def allocate_first(self, size: int) -> Buffer:
        """Suballocate bytes of the first buffer."""
        with self.lock:
            self._collect()
            room, first = rounded(size), self.segments[0]
            span = first.free.take(room)
            if span is None:
                if first.needed(room) > self._most:
                    message = f"{size} bytes in the first buffer, of which {first.used} are in use"
                    advice = (
                        "free arrays, or launch kernels that print or raise before they fill it"
                    )
                    fail(OUT_OF_MEMORY, message, advice)
                self._enlarge(first, room)
                span = first.free.take(room)
                assert span is not None
            return Buffer(span[0], size)

    def deallocate(self, address: int, size: int) -> None:
        """Free memory; see MemoryResource."""
        self._returned.append((address, size))

    def _collect(self) -> None:
        while self._returned:
            address, size = self._returned.popleft()
            number, start = located(address)
            self.segments[number].free.give(start, rounded(size), None)

    def _in_order(self) -> Sequence[Segment]:
        """The buffers, the preferred one first: code for the first one alone is the fastest."""
        return self.segments

    def _take(self, room: int) -> int | None:
        """The address of so many free bytes; None if no buffer has them."""
        for segment in self._in_order():
            span = None if self._is_kept(segment, room) else segment.free.take(room)
            if span is not None:
                return segment.number << OFFSET_BITS | span[0]
        return None

    def _is_kept(self, segment: Segment, room: int) -> bool:
        """Whether an array must leave a buffer's bytes to reports, which are in the first one."""
        if segment.number or 2 * room > self._most:
            return False
        return segment.used + room > self._most - FIRST - SPARE - KEPT

    @property
    def _most(self) -> int:
        """The largest size of a buffer."""
        return self.engine.facts.largest // ALIGNMENT * ALIGNMENT

    def _grow(self, room: int, asked: int) -> None:
        """Grow a buffer until ``room`` contiguous bytes are free, or begin another one."""
        facts, most = self.engine.facts, self._most
        if FIRST + room + SPARE > most:
            fail(
                OUT_OF_MEMORY,
                f"{asked} bytes: an array of the device {facts.name} is in one buffer, which holds "
                f"{most - FIRST - SPARE} bytes at most ({facts.why})",
            )
        for segment in self._in_order():
            if segment.needed(room) > most or self._is_kept(segment, room):
                continue
            try:
                self._enlarge(segment, room)
                return
            except DeviceError as error:  # a copy needs both buffers; a further one does not
                if error.number != OUT_OF_MEMORY:
                    raise
                handled(error)
        segment = Segment(len(self.segments))
        self._enlarge(segment, room)
        self.segments.append(segment)

    def _enlarge(self, segment: Segment, room: int) -> None:
        """Grow one buffer until ``room`` bytes at its end are free."""
        needed, end = segment.needed(room), segment.end
        wanted = min(self._most, max(needed, 2 * segment.size, SMALLEST))
        try:
            self._resize(segment, wanted)
        except DeviceError as error:
            if error.number != OUT_OF_MEMORY or wanted == needed:
                raise
            handled(error)
            self._resize(segment, needed)
        segment.free.give(end, segment.end - end, None)

    def _resize(self, segment: Segment, size: int) -> None:
        self.recorder.flush()
        if segment.number:
            self._on_several()
        self.engine.resize(segment.number, size)
        segment.size = size

    def available(self) -> int:
        """Free bytes, out of the largest size of the buffers so far."""
        with self.lock:
            self._collect()
            most = self.engine.facts.largest - FIRST - SPARE
            return sum([max(0, most - segment.used) for segment in self.segments])

    def total(self) -> int:
        """The largest size of the buffers so far."""
        return self.engine.facts.largest * len(self.segments)

    def trim(self, keep: int = 0) -> None:
        """Release the further buffers that hold no array, the last one first, while there are more
        than ``keep`` bytes. The first buffer does not shrink."""
        with self.lock:
            self._collect()
            for segment in reversed(self.segments[1:]):
                if segment.size and not segment.used and self.reserved > keep:
                    self._resize(segment, 0)
                    segment.free = FreeRanges()


class FirstBuffer:
    """The first buffer of an arena as a memory resource, for blocks that kernels find there."""

    def __init__(self, arena: GrowingArena) -> None:
        self.allocate, self.deallocate = arena.allocate_first, arena.deallocate
