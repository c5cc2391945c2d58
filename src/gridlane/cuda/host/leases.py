"""Leases: one has a stream or event of a pool until it ends; the pool keeps it for later ones."""

from __future__ import annotations

import operator
import os
import queue
import threading
import weakref
from collections import deque
from types import TracebackType
from typing import Any, Generic, TypeVar

from gridlane.core.device_errors import INVALID_HANDLE, fail
from gridlane.core.forks import hold_at_forks
from gridlane.core.frozen import frozen
from gridlane.core.process_bound import ProcessBound
from gridlane.core.weak import live
from gridlane.launch import current
from gridlane.runtime import protocol

T = TypeVar("T", bound="protocol.Stream | protocol.Event")

_lock = hold_at_forks(threading.RLock())
"""Of the counts of all pools: one, so that a fork can wait until none is being changed."""


@frozen
class LeaseStatistics:
    """The counts of a pool of streams or events.

    Attributes:
        in_use, most: leases now, and at most at one time.
        waits: leases that had to wait for the end of another one.
        leases: all of them so far.
        created: streams or events that the pool created for them.
    """

    in_use: int
    most: int
    waits: int
    leases: int
    created: int


class Places(Generic[T]):
    """The places of a pool in one process, and what is idle there.

    A lease that is garbage collected returns its place at any moment, even inside these methods, so
    ``lose`` calls functions alone that are safe then.

    Attributes:
        free: an item for each lease that may begin; None where leases never wait.
    """

    def __init__(self, count: int, growing: bool, idle: deque[tuple[T, object]]) -> None:
        self.idle = idle
        self.held = set[object]()
        """A key of each lease that has not ended."""
        self.taken = set[object]()
        """A key of each lease whose place is not free: it has not ended, or waits for its work."""
        self.free: queue.SimpleQueue[None] | None = None if growing else queue.SimpleQueue()
        self.most = self.waits = self.leases = self.created = 0
        for _ in range(0 if self.free is None else count):
            self.give_back()

    def take(self, timeout: float | None) -> None:
        """Take a place; wait for one."""
        if self.free is None:
            return
        try:
            self.free.get_nowait()
        except queue.Empty:
            with _lock:
                self.waits += 1
            try:
                self.free.get(timeout=timeout)
            except queue.Empty:
                raise TimeoutError(f"no lease ended within {timeout} seconds") from None

    def give_back(self, key: object = None) -> None:
        """Return a place, and that of a lease."""
        self.taken.discard(key)
        if self.free is not None:
            self.free.put(None)

    def note(self, key: object) -> None:
        """Count a lease."""
        with _lock:
            self.held.add(key)
            self.taken.add(key)
            self.leases += 1
            count = len(self.taken)
            if count > self.most:
                self.most = count

    def end(self, key: object) -> bool:
        """End a lease; False if it has ended."""
        try:
            self.held.remove(key)
        except KeyError:
            return False
        return True

    def lose(self, key: object) -> None:
        """End a lease that is garbage collected, unless it has ended."""
        if self.end(key):
            self.give_back(key)


class Lease(ProcessBound, Generic[T]):
    """One stream or event of a pool, until the end of a with block or ``release``.

    A lease that is garbage collected ends as well. Its stream or event is not leased again then, as
    the program may still hold it: it ends as any other that nobody holds.
    """

    _instead = "take one of a pool where it is used"

    def __init__(self, pool: LeasePool[T], places: Places[T], native: T) -> None:
        self._pool, self._places, self._key = pool, places, object()
        self._native, self._memory = native, pool.device.memory
        self._item: Any = None
        places.note(self._key)

    def __del__(self) -> None:
        places = getattr(self, "_places", None)
        if places is not None:
            places.lose(self._key)

    def _get(self) -> Any:
        """The leased object.

        Raises:
            DeviceError: INVALID_HANDLE, the lease has ended.
        """
        if self._key not in self._places.held:
            fail(INVALID_HANDLE, "the lease has ended", "take another one of the pool")
        return self._item

    def _wait(self) -> None:
        """Wait until the object can be leased again."""

    def release(self) -> None:
        """End the lease.

        Raises:
            DeviceError: INVALID_HANDLE, it has ended. That of a stream raises the first error of
                the stream's work.
        """
        if not self._places.end(self._key):
            fail(INVALID_HANDLE, "the lease has ended", "release it once")
        self._end()

    def _end(self) -> None:
        try:
            self._wait()
        except BaseException:  # there may still be work: it is not leased again
            self._places.give_back(self._key)
            raise
        finally:
            native, self._native = self._native, None
        if native is not None:
            self._pool.keep(self._places, native, self._memory)
        self._places.give_back(self._key)

    def __enter__(self) -> Any:
        return self._get()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        """End the lease, unless it has ended in the block. An error of the work is a note of the
        exception that left the block."""
        if not self._places.end(self._key):
            return
        if error is None:
            self._end()
            return
        try:
            self._end()
        except Exception as own:  # the block's exception goes on
            error.add_note(f"the lease's work failed as well: {type(own).__name__}: {own}")


class LeasePool(ProcessBound, Generic[T]):
    """What pools of streams and of events share.

    Args:
        count: the leases at one time; if the pool grows, what it keeps.
        growing: whether a lease beyond that creates another one, and does not wait.

    Attributes:
        device: of the streams or events: this thread's, when the pool was created.

    Raises:
        TypeError: ``count`` is not an integer.
        ValueError: it is less than 1.
    """

    _instead = "make one where it is used"

    def __init__(self, count: int, growing: bool) -> None:
        self.count, self.growing = operator.index(count), bool(growing)
        if self.count < 1:
            raise ValueError(f"a pool has 1 place or more, not {count}")
        self.device = current.device()
        self._places = Places[T](self.count, self.growing, deque())
        with _lock:
            _pools.add(self)

    def _new(self) -> T:
        raise NotImplementedError

    def taken(self, timeout: float | None) -> tuple[Places[T], T]:
        """A place, and what is leased there: idle or new."""
        places = self._places
        places.take(timeout)
        try:
            return places, self._idle(places) or self._created(places)
        except BaseException:
            places.give_back()
            raise

    def _idle(self, places: Places[T]) -> T | None:
        while True:
            try:
                native, memory = places.idle.pop()
            except IndexError:
                return None
            if memory is self.device.memory:  # else the device was lost, and this with it
                return native

    def _created(self, places: Places[T]) -> T:
        native = self._new()
        with _lock:
            places.created += 1
        return native

    def keep(self, places: Places[T], native: T, memory: object) -> None:
        """Take back what a lease had."""
        if not self.growing or len(places.idle) < self.count:
            places.idle.append((native, memory))

    def statistics(self) -> LeaseStatistics:
        """The counts, which begin anew in the child of a fork."""
        places = self._places
        with _lock:
            return LeaseStatistics(
                len(places.taken), places.most, places.waits, places.leases, places.created
            )

    def begin_anew(self) -> None:
        """In the child of a fork: all places are free. Leases of other threads do not exist here,
        and what the forking one holds belongs to no place."""
        self._places = Places[T](self.count, self.growing, deque(self._places.idle))

    def __repr__(self) -> str:
        grows = ", growing" if self.growing else ""
        return f"<{type(self).__name__} of {self.count} on {self.device.name}{grows}>"


_pools: weakref.WeakSet[LeasePool[Any]] = weakref.WeakSet()


def _begin_anew() -> None:
    for each in live(_pools):
        each.begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
