"""The base of events of streams that are software queues, and what holds for all events."""

from __future__ import annotations

import itertools
from typing import Generic, Protocol, TypeVar

from gridlane.core.device_errors import INVALID_HANDLE, NOT_CAPTURED, NOT_READY, fail

M = TypeVar("M")


class _Named(Protocol):
    name: str


class Captures(Protocol):
    """A stream, as an event sees it before it knows whose it is."""

    @property
    def device(self) -> _Named:
        """The device that it is a stream of."""
        ...

    @property
    def capturing(self) -> bool:
        """Whether work is recorded, not run."""
        ...


S = TypeVar("S", bound=Captures)

_handles = itertools.count(0x1000)


class SoftwareEvent(Generic[M, S]):
    """A point in streams S. Each recording is a mark M, which a device sets, follows and times in
    its own way.

    Args:
        timing: False for an event that only orders work; its time cannot be read.
    """

    def __init__(self, timing: bool = True) -> None:
        self.timing = timing
        self.handle = next(_handles)
        self._mark: M | None = None

    # --- what a device does in its own way ---

    def _enter(self) -> None:
        """Raise what keeps this thread from using the device."""

    def _check_stream(self, stream: S) -> None:
        """Refuse a stream that the event cannot be a point of."""
        raise NotImplementedError

    def _check_end(self, end: SoftwareEvent[M, S]) -> None:
        """Refuse an event that the time from this one to it does not exist of."""
        if type(end) is not type(self):
            fail(INVALID_HANDLE, "the second event is another device's")

    def _set(self, stream: S) -> M:
        """A mark behind the work that is in the stream now."""
        raise NotImplementedError

    def _follow(self, mark: M, stream: S) -> None:
        """Put what is appended to the stream later behind a mark."""
        raise NotImplementedError

    def _passed(self, mark: M) -> bool:
        """Whether the work before a mark is done."""
        raise NotImplementedError

    def _wait(self, mark: M) -> None:
        """Wait for that."""
        raise NotImplementedError

    def _between_ms(self, first: M, second: M) -> float:
        """Milliseconds from one mark to another, both passed."""
        raise NotImplementedError

    # --- the protocol ---

    def record(self, stream: S) -> None:
        """Record behind the work that is in the stream now."""
        self._check_stream(stream)
        if stream.capturing:
            fail(NOT_CAPTURED, f"an event, on the device {stream.device.name}")
        self._mark = self._set(stream)

    def query(self) -> bool:
        """Whether the stream has passed it; True for an event that was never recorded."""
        mark = self._mark
        self._enter()
        return mark is None or self._passed(mark)

    def synchronize(self) -> None:
        """Wait until the stream has passed it."""
        mark = self._mark
        self._enter()
        if mark is not None:
            self._wait(mark)

    def wait(self, stream: S) -> None:
        """Make the later work of a stream wait for it."""
        self._check_stream(stream)
        mark = self._mark
        if mark is None:
            return
        if stream.capturing:
            fail(NOT_CAPTURED, f"waiting for an event, on the device {stream.device.name}")
        self._follow(mark, stream)

    def elapsed_ms(self, end: SoftwareEvent[M, S]) -> float:
        """Milliseconds from this event to ``end``.

        Raises:
            DeviceError: INVALID_HANDLE when one was not recorded or does not time, NOT_READY when
                one has not been passed.
        """
        self._check_end(end)
        check_timed(self, end)
        assert self._mark is not None and end._mark is not None  # as both are recorded
        return self._between_ms(self._mark, end._mark)

    @property
    def recorded(self) -> bool:
        """Whether it was ever recorded."""
        return self._mark is not None


class Timed(Protocol):
    """An event whose time is asked for."""

    timing: bool

    @property
    def recorded(self) -> bool:
        """Whether it was ever recorded."""
        ...

    def query(self) -> bool:
        """Whether its stream has passed it."""
        ...


def check_timed(first: Timed, second: Timed) -> None:
    """Refuse events without a time.

    Raises:
        DeviceError: INVALID_HANDLE when one was not recorded or does not time, NOT_READY when one
            has not been passed.
    """
    named = (("first", first), ("second", second))
    for name, event in named:
        if not event.recorded:
            fail(INVALID_HANDLE, f"the {name} event was not recorded")
        if not event.timing:
            fail(INVALID_HANDLE, f"the {name} event was made with timing=False")
    for name, event in named:
        if not event.query():
            fail(NOT_READY, f"the {name} event")
