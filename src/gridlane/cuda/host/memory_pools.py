"""Pools of device memory for arrays: ``cuda.memory.pool``."""

from __future__ import annotations

import operator
import os
import threading
import weakref
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Any

from gridlane.core.device_errors import (
    CAPTURE_IMPLICIT,
    INVALID_VALUE,
    NOT_CAPTURED,
    NOT_PERMITTED,
    fail,
    handled,
)
from gridlane.core.errors import DeviceError
from gridlane.core.frozen import frozen
from gridlane.core.process_bound import ProcessBound
from gridlane.core.weak import live
from gridlane.launch import current
from gridlane.memory.device_memory import THREAD, DeviceMemory
from gridlane.memory.resource import Buffer, goes_with_owner
from gridlane.runtime.memory_pools import MemoryPool, Piece
from gridlane.runtime.protocol import Device

_ALL = 2**63


@frozen
class MemoryPoolStatistics:
    """Bytes of a pool.

    Attributes:
        used, peak: of live arrays, rounded up to their size classes, now and at most.
        reserved, reserved_peak: that the pool holds of the device, now and at most.
        limit: the most that it may hold; None for the device's memory.
        threshold: what it keeps of freed memory; None for all.
    """

    used: int
    peak: int
    reserved: int
    reserved_peak: int
    limit: int | None
    threshold: int | None


class _Loan:
    """The owner of an array's memory: returns it to its pool at its end, at any moment."""

    __slots__ = ("_ended", "_piece", "_retire")

    def __init__(self, piece: Piece, ended: deque[Piece], retire: Any) -> None:
        self._piece, self._ended, self._retire = piece, ended, retire

    def __del__(self) -> None:
        piece, ended = self._piece, self._ended
        if self._retire is None:
            ended.append(piece)
        else:  # work that was appended may still use it
            self._retire(lambda: ended.append(piece))


class _Pieces(MemoryPool):
    """A pool whose memory does not count as used on the device: its arrays do."""

    def __init__(self, device: Device, most: int) -> None:
        super().__init__(device, most)
        self._of: DeviceMemory[Any] | None = None
        self._memory: DeviceMemory[Any] | None = None

    def _buffer(self, size: int) -> Buffer:
        now = self.device.memory
        if self._memory is None or self._of is not now or self._memory.resource is not now.resource:
            self._of, self._memory = now, DeviceMemory(now.resource)
        return self._memory.allocate(size)

    def renew_lock(self) -> None:
        """In the child of a fork: another thread may have held the lock."""
        self._lock = threading.RLock()


class Pool(ProcessBound):
    """A pool of device memory; see ``cuda.memory.pool``. It is a resource of ``device.memory``.

    Attributes:
        device: whose memory it has.
    """

    _instead = "make one where it is used"
    deallocate = staticmethod(goes_with_owner)

    def __init__(self, limit: int | None, threshold: int | None) -> None:
        self.device = current.device()
        most = 0 if limit is None else operator.index(limit)
        if most < (limit is not None):
            fail(INVALID_VALUE, f"a limit of {limit} bytes", "give 1 or more, or None for none")
        self._limit = None if limit is None else most
        self._pieces = _Pieces(self.device, most)
        self._ended = deque[Piece]()
        self.threshold = threshold
        _pools.add(self)

    @property
    def limit(self) -> int | None:
        """The most bytes that the pool may hold; None for the device's memory."""
        return self._limit

    @property
    def threshold(self) -> int | None:
        """The bytes that the pool keeps when arrays end; None for all."""
        return self._threshold

    @threshold.setter
    def threshold(self, threshold: int | None) -> None:
        if threshold is not None and operator.index(threshold) < 0:
            fail(INVALID_VALUE, f"a threshold of {threshold} bytes", "give 0 or more, or None")
        self._threshold = None if threshold is None else operator.index(threshold)
        self._pieces.threshold = _ALL if self._threshold is None else self._threshold

    # --- a resource ---

    def allocate(self, size: int) -> Buffer:
        """Memory of the pool; see MemoryResource."""
        self._settle()
        pieces, resource = self._pieces, self.device.memory.resource
        held = pieces.reserved
        piece = pieces.take(size, self.device.default_stream)
        reused = getattr(resource, "reused", None)
        if reused is not None and pieces.reserved == held:
            reused()
        retire = getattr(getattr(self.device, "context", None), "retire", None)
        return piece.buffer.part(size, _Loan(piece, self._ended, retire))

    def _settle(self) -> None:
        """Take back the memory of arrays that ended, and return what is over the threshold."""
        stream, ended = self.device.default_stream, self._ended
        in_order = stream.inline or hasattr(getattr(self.device, "context", None), "retire")
        if in_order and not stream.inline:  # what was retired and is done comes back
            self.device.recorder.collect()  # type: ignore[attr-defined]  # of host-driven devices
        while ended:
            try:
                piece = ended.popleft()
            except IndexError:  # another thread took the last one
                break
            if in_order or piece.memory is not self.device.memory:
                self._pieces.give_back(piece, None, None)
                continue
            done = self.device.new_event(False)
            try:
                done.record(stream)
            except DeviceError as error:
                ended.append(piece)
                if error.number not in (CAPTURE_IMPLICIT, NOT_CAPTURED):
                    raise
                handled(error)
                break  # a later use of the pool takes it back
            self._pieces.give_back(piece, stream, done)
        self._pieces.settle()

    # --- for programs ---

    def trim(self, keep: int = 0) -> None:
        """Return memory that no array and no work uses to the device, down to ``keep`` bytes."""
        self._settle()
        self._pieces.trim(keep)

    def statistics(self) -> MemoryPoolStatistics:
        """Bytes in use and held, now and at most."""
        self._settle()
        pieces = self._pieces
        return MemoryPoolStatistics(
            pieces.used,
            pieces.used_high,
            pieces.reserved,
            pieces.reserved_high,
            self.limit,
            self.threshold,
        )

    def reset_peak(self) -> None:
        """Begin the most bytes anew, with those of now."""
        self._settle()
        self._pieces.used_high = self._pieces.used
        self._pieces.reserved_high = self._pieces.reserved

    def __enter__(self) -> Pool:
        """Take this thread's memory of the device from the pool.

        Raises:
            DeviceError: INVALID_VALUE, the thread has another device.
        """
        here = current.device()
        if here is not self.device:
            fail(INVALID_VALUE, f"the pool is of {self.device.name}, this thread's is {here.name}")
        _entered().append((THREAD.pool, self, self.device.memory.accounting))
        self.device.memory.accounting.use_pool(1)
        THREAD.pool = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        stack = _entered()
        if not stack or stack[-1][1] is not self:
            fail(NOT_PERMITTED, "the with blocks of pools end in another order or thread")
        THREAD.pool, _pool, accounting = stack.pop()
        # A device that was lost has another accounting, which began with the count of this one.
        for each in {id(one): one for one in (accounting, self.device.memory.accounting)}.values():
            each.use_pool(-1)

    def __repr__(self) -> str:
        return f"<memory pool on {self.device.name}>"


class _Stack(threading.local):
    def __init__(self) -> None:
        self.entered: list[tuple[Any, Pool, Any]] = []


_stack = _Stack()


def _entered() -> list[tuple[Any, Pool, Any]]:
    """This thread's with blocks of pools: the pool before, the pool, what was noted."""
    return _stack.entered


_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


def _renew_locks() -> None:
    for each in live(_pools):
        with suppress(AttributeError):  # it was being created
            each._pieces.renew_lock()  # pyright: ignore[reportPrivateUsage]  # of this file


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def pool(limit: int | None = None, threshold: int | None = None) -> Pool:
    """Create a pool of memory of this thread's device.

    >>> from gridlane import cuda
    >>> with cuda.memory.pool(limit=1 << 20) as pool:
    ...     x = cuda.device_array(1000)
    >>> pool.statistics().used, pool.statistics().reserved
    (8192, 8192)

    In a with block, what the thread allocates on the device comes from the pool: arrays, and copies
    of arguments. It stays in the pool's memory after the block, as long as it lives. Freed memory
    serves later allocations of at least half its size.

    Args:
        limit: the most bytes that the pool may hold; None for what the device has.
        threshold: the bytes that it keeps when arrays end; None for all. Those over it are returned
            to the device at the next use of the pool.

    Raises:
        TypeError: they are neither integers nor None.
        DeviceError: INVALID_VALUE, the limit is less than 1 or the threshold less than 0.
    """
    return Pool(limit, threshold)
