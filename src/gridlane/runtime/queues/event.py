"""The base of events of software-queue streams, and the rules of all events."""

from __future__ import annotations

import itertools
from typing import Generic, Protocol, TypeVar

from gridlane.core.device_errors import INVALID_HANDLE, NOT_CAPTURED, NOT_READY, fail


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

handles = itertools.count(0x1000)
"""Numbers for events."""


class SoftwareEvent(Generic[S]):
    """A point in streams S, which a device sets, follows and times in its own way.

    Args:
        timing: False for an event that only orders work; its time cannot be read.
    """

    def __init__(self, timing: bool = True) -> None:
        self.timing = timing
        self.handle = next(handles)

    # --- implemented by each device ---

    def _enter(self) -> None:
        """Raise if this thread may not use the device."""

    def _check_stream(self, stream: S) -> None:
        """Refuse a stream of another kind of device."""
        raise NotImplementedError

    def _check_end(self, end: SoftwareEvent[S]) -> None:
        """Refuse an end event that has no time relative to this one."""
        if type(end) is not type(self):
            fail(INVALID_HANDLE, "the second event is another device's")

    def _record(self, stream: S) -> None:
        """Record the event after the work that is in the stream now."""
        raise NotImplementedError

    @property
    def recorded(self) -> bool:
        """Whether it was ever recorded."""
        raise NotImplementedError

    def _follow(self, stream: S) -> None:
        """Order the stream's later work after the recording."""
        raise NotImplementedError

    def _is_passed(self) -> bool:
        """Whether the recorded work is done; True without a recording."""
        raise NotImplementedError

    def _wait(self) -> None:
        """Wait for the recorded work, if there is any."""
        raise NotImplementedError

    def _ms_to(self, end: SoftwareEvent[S]) -> float:
        """Milliseconds from this event to another, both passed."""
        raise NotImplementedError

    # --- the protocol ---

    def record(self, stream: S) -> None:
        """Record the event after the work that is in the stream now."""
        self._check_stream(stream)
        stream.check_default()
        if stream.capturing:
            fail(NOT_CAPTURED, f"an event, on the device {stream.device.name}")
        self._record(stream)

    def query(self) -> bool:
        """Whether the stream has passed it; True for an event that was never recorded."""
        self._enter()
        return self._is_passed()

    def synchronize(self) -> None:
        """Wait until the stream has passed it."""
        self._enter()
        self._wait()

    def wait(self, stream: S) -> None:
        """Make the later work of a stream wait for it."""
        self._check_stream(stream)
        if not self.recorded:
            return
        stream.check_default()
        if stream.capturing:
            fail(NOT_CAPTURED, f"waiting for an event, on the device {stream.device.name}")
        self._follow(stream)

    def elapsed_ms(self, end: SoftwareEvent[S]) -> float:
        """Milliseconds from this event to ``end``.

        Raises:
            DeviceError: INVALID_HANDLE if one was not recorded or has no timing, NOT_READY if one
                has not been passed.
        """
        self._check_end(end)
        check_timed(self, end)
        return self._ms_to(end)


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
