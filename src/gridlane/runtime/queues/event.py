"""The base of events of software-queue streams, and the rules of all events."""

from __future__ import annotations

import itertools
from typing import Generic, Protocol, TypeVar

from gridlane.core.device_errors import INVALID_HANDLE, NOT_CAPTURED, NOT_READY, fail

M = TypeVar("M")


class _Named(Protocol):
    name: str


class Captures(Protocol):
    """The interface of a stream whose kind the event does not know yet."""

    @property
    def device(self) -> _Named:
        """The device of the stream."""
        ...

    @property
    def capturing(self) -> bool:
        """Whether work is recorded, not executed."""
        ...

    def check_default(self) -> None:
        """Refuse work of the default stream on a thread that captures another one."""
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

    # --- implemented by each device ---

    def _enter(self) -> None:
        """Raise if this thread may not use the device."""

    def _check_stream(self, stream: S) -> None:
        """Refuse a stream of another kind of device."""
        raise NotImplementedError

    def _check_end(self, end: SoftwareEvent[M, S]) -> None:
        """Refuse an end event that has no time relative to this one."""
        if type(end) is not type(self):
            fail(INVALID_HANDLE, "the second event is another device's")

    def _set(self, stream: S) -> M:
        """Set a mark after the work that is in the stream now."""
        raise NotImplementedError

    def _follow(self, mark: M, stream: S) -> None:
        """Order the stream's later work after a mark."""
        raise NotImplementedError

    def _passed(self, mark: M) -> bool:
        """Whether the work before a mark is done."""
        raise NotImplementedError

    def _wait(self, mark: M) -> None:
        """Wait for the work before a mark."""
        raise NotImplementedError

    def _between_ms(self, first: M, second: M) -> float:
        """Milliseconds from one mark to another, both passed."""
        raise NotImplementedError

    # --- the protocol ---

    def record(self, stream: S) -> None:
        """Record the event after the work that is in the stream now."""
        self._check_stream(stream)
        stream.check_default()
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
        stream.check_default()
        if stream.capturing:
            fail(NOT_CAPTURED, f"waiting for an event, on the device {stream.device.name}")
        self._follow(mark, stream)

    def elapsed_ms(self, end: SoftwareEvent[M, S]) -> float:
        """Milliseconds from this event to ``end``.

        Raises:
            DeviceError: INVALID_HANDLE if one was not recorded or has no timing, NOT_READY if one
                has not been passed.
        """
        self._check_end(end)
        check_timed(self, end)
        assert self._mark is not None and end._mark is not None  # checked above
        return self._between_ms(self._mark, end._mark)

    @property
    def recorded(self) -> bool:
        """Whether it was ever recorded."""
        return self._mark is not None


class Timed(Protocol):
    """The interface of an event for ``check_timed``."""

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
        DeviceError: INVALID_HANDLE if one was not recorded or has no timing, NOT_READY if one has
            not been passed.
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
