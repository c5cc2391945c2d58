"""Accounting of a device's memory: the live buffers, and their bytes."""

from __future__ import annotations

import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from gridlane.core.config import config
from gridlane.core.device_errors import OUT_OF_MEMORY, fail
from gridlane.core.forks import hold_at_forks
from gridlane.core.frozen import frozen
from gridlane.core.weak import live
from gridlane.memory.addresses import Addresses, AddressMap
from gridlane.memory.deferral import DEFERRAL, Deferral
from gridlane.memory.resource import Buffer, counts_elsewhere, goes_with_owner

Deallocate = Callable[[int, int], object]
"""Frees memory, given its address and size."""
Site = tuple[str, int, str]
"""Where a program allocates: the file, the line, and the function."""

_lock = hold_at_forks(threading.RLock())
"""The lock of all accountings: one, so that a fork can wait until none is being changed."""


class _Reference(weakref.ref[Buffer]):
    """A weak reference with the facts needed after the buffer's end."""

    __slots__ = ("deallocate", "size", "start")
    start: int
    size: int
    """Bytes that count; -1 for a buffer that does not."""
    deallocate: Deallocate | None

    __hash__ = object.__hash__
    __eq__ = object.__eq__


_alive: set[_Reference] = set()
"""References of all buffers whose resource must be told of their end: a device and its buffers may
end in one garbage collection, which drops the callbacks of references that are garbage as well."""


_REMEMBERED = 256
"""The freed buffers that a checked process knows of."""

_accountings: weakref.WeakSet[Accounting] = weakref.WeakSet()


class _Tracing:
    """Whether allocations note their sites; None where the setting of the process says so."""

    is_on: bool | None = None


_tracing = _Tracing()


def is_traced() -> bool:
    """Whether allocations note where the program makes them."""
    return config().memory_trace if _tracing.is_on is None else _tracing.is_on


def trace(is_on: bool) -> bool:
    """Note the sites of allocations from now on, or no longer; return whether that was so."""
    with _lock:
        before, _tracing.is_on = is_traced(), is_on
        for each in live(_accountings):
            each.review()
    return before


@frozen
class PoolStatistics:
    """Bytes and counts of a device's memory.

    Attributes:
        used, peak: bytes of live buffers, now and at most.
        reserved: bytes held of the device, including those kept for later allocations and those
            whose frees wait.
        allocations, frees: their numbers so far.
        limit: the most bytes that may be used; None for the device's memory.
    """

    used: int
    peak: int
    reserved: int
    allocations: int
    frees: int
    limit: int | None


class Accounting:
    """The live buffers of one device, from any thread.

    A buffer may end at any moment, even inside this class's own methods, so its end is only queued,
    and recorded at the next use of the accounting. A signal handler may also interrupt a method:
    Python handles signals after calls, so lines that change counters contain no call.

    Args:
        addresses: finds them; by default a map of Python's.

    Attributes:
        limit: the most bytes that may be used; None for the device's memory.
        is_plain: whether an allocation needs no limit, site or pool. Hot.
        sites: where the program allocated buffers, as far as that was traced.
        freed: where accesses are checked, (start, size) of the latest buffers that ended.
    """

    def __init__(self, limit: int | None = None, addresses: Addresses[Any] | None = None) -> None:
        self._limit = limit
        self.pools = 0
        """The with blocks of pools, of any thread, that take a part of the allocations."""
        self.sites = weakref.WeakKeyDictionary[Buffer, Site]()
        self._map: Addresses[_Reference] = AddressMap() if addresses is None else addresses
        self._ended: deque[_Reference] = deque()
        self._note_end = self._ended.append
        self.freed = deque[tuple[int, int]](maxlen=_REMEMBERED)
        self._used = self._peak = self._allocations = self._frees = 0
        with _lock:
            _accountings.add(self)
            self.review()

    @property
    def limit(self) -> int | None:
        """The most bytes that may be used; None for the device's memory."""
        return self._limit

    @limit.setter
    def limit(self, limit: int | None) -> None:
        self._limit = limit
        self.review()

    def review(self) -> None:
        """Note what an allocation needs."""
        self.is_plain = self._limit is None and not self.pools and not is_traced()

    def use_pool(self, step: int) -> None:
        """Note the beginning (1) or the end (-1) of the with block of a pool."""
        with _lock:
            self.pools += step
            self.review()

    # --- allocations and frees ---

    def add(
        self, buffer: Buffer, deallocate: Deallocate = goes_with_owner, reserved: bool = False
    ) -> None:
        """Note a buffer, and count it. Hot.

        Args:
            deallocate: is called at the end of the buffer's lifetime.
            reserved: whether ``reserve`` has counted its bytes.
        """
        if deallocate is goes_with_owner:
            reference = _Reference(buffer, self._note_end)
        elif deallocate is counts_elsewhere:
            self.note(buffer)
            return
        else:
            reference = _Reference(buffer, self._end)
            reference.deallocate = deallocate
            _alive.add(reference)
        reference.start = start = buffer.address
        reference.size = size = buffer.size
        with _lock:
            if self._ended:
                self._settle()
            self._map.add(start, size, reference)
            self._allocations += 1
            if not reserved:
                self._used += size
            if self._used > self._peak:
                self._peak = self._used
            if DEFERRAL.depth and deallocate is goes_with_owner:
                DEFERRAL.hold(reference, buffer.owner, size, self)

    def note(self, buffer: Buffer) -> None:
        """Make a buffer findable that counts elsewhere: host memory that kernels may use."""
        reference = _Reference(buffer, self._note_end)
        reference.start, reference.size = buffer.address, -1
        with _lock:
            self._settle()
            self._map.add(buffer.address, buffer.size, reference)

    def _end(
        self,
        reference: _Reference,
        forget: Callable[[_Reference], object] = _alive.discard,
        finalizing: Callable[[], bool] = sys.is_finalizing,
        deferral: Deferral = DEFERRAL,
    ) -> None:
        """Called at the end of a buffer's lifetime, at any moment. The defaults still exist while
        Python exits and clears modules; resources may not."""
        self._ended.append(reference)
        forget(reference)
        deallocate, reference.deallocate = reference.deallocate, None  # a resource may end now
        if deallocate is not None and not finalizing():
            if deferral.depth:
                deferral.queue(deallocate, reference.start, reference.size)
            else:
                deallocate(reference.start, reference.size)

    def _hold_all(self) -> None:
        """Hold the memory of live buffers that is freed with its owner; the caller has the lock."""
        self._settle()
        for reference in self._map.pieces():
            buffer = reference()
            if buffer is not None and reference.size >= 0 and reference not in _alive:
                DEFERRAL.hold(reference, buffer.owner, reference.size, self)

    def _settle(self) -> None:
        """Record the ends in the queue. Memory that was reallocated meanwhile is another
        buffer's."""
        while True:
            try:  # a signal handler may settle in between
                reference = self._ended.popleft()
            except IndexError:
                return
            if reference.size >= 0:
                self._used -= reference.size
                self._frees += 1
            if config().check and (size := self._map.size_at(reference.start)):
                self.freed.appendleft((reference.start, size))
            self._map.discard(reference.start, reference)

    def reserve(self, size: int) -> None:
        """Count bytes before their allocation.

        Raises:
            DeviceError: OUT_OF_MEMORY, the limit does not allow them.
        """
        with _lock:
            self._settle()
            if self.limit is not None and self._used + size > self.limit:
                message = f"{self._used} in use of the pool's limit of {self.limit}"
                fail(OUT_OF_MEMORY, f"{size} bytes, with {message}")
            self._used += size

    def cancel(self, size: int) -> None:
        """Undo ``reserve``."""
        with _lock:
            self._used -= size

    # --- questions ---

    def find(self, address: int, size: int) -> Buffer | None:
        """The buffer that holds bytes, inside it or at its start; None if none does."""
        with _lock:
            self._settle()
            while (entry := self._map.find(address, size)) is not None:
                buffer = entry[0]()
                if buffer is not None:
                    return buffer
                self._map.discard(entry[0].start, entry[0])  # its end is not queued yet
        return None

    @property
    def changes(self) -> int:
        """A number that differs where ``ranges`` does. Hot."""
        if not self._ended:
            return self._map.changes
        with _lock:
            self._settle()
            return self._map.changes

    def ranges(self) -> list[tuple[int, int]]:
        """(start, size) of the live buffers, in order of their addresses."""
        with _lock:
            self._settle()
            return self._map.ranges()

    def buffers(self) -> list[Buffer]:
        """The live buffers, in order of their addresses."""
        with _lock:
            self._settle()
            alive = [reference() for reference in self._map.pieces()]
        return [buffer for buffer in alive if buffer is not None]

    def counted(self) -> list[Buffer]:
        """The live buffers that count as used, in order of their addresses."""
        with _lock:
            self._settle()
            alive = [each() for each in self._map.pieces() if each.size >= 0]
        return [buffer for buffer in alive if buffer is not None]

    def reset_peak(self) -> None:
        """Begin the most bytes anew, with those in use."""
        with _lock:
            self._settle()
            self._peak = self._used

    @property
    def used(self) -> int:
        """Bytes of live buffers."""
        with _lock:
            self._settle()
            return self._used

    def statistics(self, reserved: int = 0) -> PoolStatistics:
        """The statistics; ``reserved`` is the resource's figure, if it has one."""
        with _lock:
            self._settle()
            held = max(reserved, self._used + DEFERRAL.waiting(self)[1])
            counts = self._allocations, self._frees
            return PoolStatistics(self._used, self._peak, held, *counts, self.limit)


@contextmanager
def deferred_frees() -> Generator[None]:
    """Free no memory of the process in the with block, but at the end of the outermost one.

    Buffers end as ever, and the memory of those that end does not count as used.
    """
    with _lock:
        if not DEFERRAL.depth:
            for each in live(_accountings):
                each._hold_all()  # pyright: ignore[reportPrivateUsage]  # of this file
        DEFERRAL.depth += 1
    try:
        yield
    finally:
        with _lock:
            DEFERRAL.depth -= 1
            ended = [] if DEFERRAL.depth else DEFERRAL.release()
        if not DEFERRAL.depth:
            DEFERRAL.flush()
        del ended
