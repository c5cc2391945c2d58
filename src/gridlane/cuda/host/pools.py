"""Pools of streams and of events."""

from __future__ import annotations

import weakref
from typing import Any

from gridlane.core.device_errors import INVALID_HANDLE, fail
from gridlane.cuda.host.leases import Lease, LeasePool, Places
from gridlane.cuda.host.native_streams import native_stream
from gridlane.cuda.host.streams import Event, Stream
from gridlane.runtime import protocol


class StreamLease(Lease["protocol.Stream"]):
    """A stream of a pool. The end of the lease waits for the stream's work."""

    def __init__(
        self, pool: StreamPool, places: Places[protocol.Stream], native: protocol.Stream
    ) -> None:
        super().__init__(pool, places, native)
        self._item = Stream(native)

    @property
    def stream(self) -> Stream:
        """The stream; DeviceError INVALID_HANDLE when the lease has ended."""
        return self._get()

    def _wait(self) -> None:
        if self._native is not None:
            self._native.synchronize()


class StreamPool(LeasePool["protocol.Stream"]):
    """A pool of streams, which are idle when they are leased; see ``cuda.stream_pool``."""

    def _new(self) -> protocol.Stream:
        return self.device.new_stream()

    def acquire(self, timeout: float | None = None) -> StreamLease:
        """Lease a stream without work; wait for the end of another lease if all are leased.

        Args:
            timeout: the most seconds to wait; None for any.

        Raises:
            TimeoutError: no lease ended in time.
        """
        return StreamLease(self, *self.taken(timeout))


def stream_pool(count: int, growing: bool = False) -> StreamPool:
    """Create a pool of streams of this thread's device, for any number of threads.

    >>> from gridlane import cuda
    >>> pool = cuda.stream_pool(4)
    >>> with pool.acquire() as stream:
    ...     x = cuda.to_device([1.0, 2.0], stream=stream)
    >>> pool.statistics().created
    1

    A stream is idle when it is leased: the end of a lease waits for its work, and raises the first
    error of it. A stream whose work failed is not leased again.

    Args:
        count: the leases at one time: one more waits. A growing pool keeps as many.
        growing: create a stream for a lease beyond ``count``.

    Raises:
        TypeError: ``count`` is not an integer.
        ValueError: it is less than 1.
    """
    return StreamPool(count, growing)


# --- events ---


class LeasedEvent(Event):
    """An event of a lease, in the state of a new one: its earlier recordings do not count."""

    def __init__(self, lease: EventLease, native: protocol.Event, on: str) -> None:
        # The lease has this object, and ends with it or before it.
        self._lease, self._native, self._on = weakref.ref(lease), native, on
        self._is_recorded = False

    @property
    def native(self) -> protocol.Event:  # type: ignore[override]  # of the lease
        """The device's event; DeviceError INVALID_HANDLE when the lease has ended."""
        lease = self._lease()
        if lease is None or not lease.is_live:
            fail(INVALID_HANDLE, "the event's lease has ended", "take another one of the pool")
        return self._native

    def __repr__(self) -> str:
        return f"<leased CUDA event {self._native.handle} on {self._on}>"

    def record(self, stream: Any = 0) -> None:
        """Record the event after the work that is in ``stream`` now."""
        self.native.record(native_stream(stream))
        self._is_recorded = True

    def query(self) -> bool:
        """Whether the recorded work is done; True for an event that was never recorded."""
        native = self.native
        return not self._is_recorded or native.query()

    def synchronize(self) -> None:
        """Wait until the stream has passed the event."""
        native = self.native
        if self._is_recorded:
            native.synchronize()

    def wait(self, stream: Any = 0) -> None:
        """Make the later work of ``stream`` wait for this event."""
        native = self.native
        if self._is_recorded:
            native.wait(native_stream(stream))

    def _timed(self) -> protocol.Event:
        native = self.native
        if not self._is_recorded:
            fail(INVALID_HANDLE, "the event was not recorded in its lease", "record it first")
        return native


class EventLease(Lease["protocol.Event"]):
    """An event of a pool. The end of the lease does not wait for what it recorded."""

    def __init__(
        self, pool: EventPool, places: Places[protocol.Event], native: protocol.Event
    ) -> None:
        super().__init__(pool, places, native)
        self._item = LeasedEvent(self, native, pool.device.name)

    @property
    def is_live(self) -> bool:
        """Whether the lease has not ended."""
        return self._key in self._places.held

    @property
    def event(self) -> LeasedEvent:
        """The event; DeviceError INVALID_HANDLE when the lease has ended."""
        return self._get()


class EventPool(LeasePool["protocol.Event"]):
    """A pool of events; see ``cuda.event_pool``."""

    def __init__(self, count: int, growing: bool, timing: bool) -> None:
        self.timing = bool(timing)
        super().__init__(count, growing)

    def _new(self) -> protocol.Event:
        return self.device.new_event(self.timing)

    def acquire(self, timeout: float | None = None) -> EventLease:
        """Lease an event; wait for the end of another lease if all are leased.

        Args:
            timeout: the most seconds to wait; None for any.

        Raises:
            TimeoutError: no lease ended in time.
        """
        return EventLease(self, *self.taken(timeout))


def event_pool(count: int, growing: bool = False, timing: bool = True) -> EventPool:
    """Create a pool of events of this thread's device, for any number of threads.

    >>> from gridlane import cuda
    >>> pool = cuda.event_pool(2)
    >>> with pool.acquire() as event:
    ...     event.record()
    ...     event.synchronize()

    A leased event is as a new one. The end of its lease does not wait: streams that wait for the
    event still wait for the work that it had recorded.

    Args:
        count: the leases at one time: one more waits. A growing pool keeps as many.
        growing: create an event for a lease beyond ``count``.
        timing: False for events that only order work.

    Raises:
        TypeError: ``count`` is not an integer.
        ValueError: it is less than 1.
    """
    return EventPool(count, growing, timing)
