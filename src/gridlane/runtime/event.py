"""Points in a stream, with the time when the stream passed them."""

from __future__ import annotations

import itertools
from time import perf_counter_ns

from gridlane.core.device_errors import INVALID_HANDLE, NOT_CAPTURED, NOT_READY, fail
from gridlane.runtime.stream import AnyStream
from gridlane.runtime.stream_queue import Mark

_handles = itertools.count(0x1000)


class Event:
    """A point that streams record and wait for. Times are of the host's clock, in ns.

    Args:
        timing: False for an event that only orders work; its time cannot be read.
    """

    def __init__(self, timing: bool = True) -> None:
        self.timing = timing
        self.handle = next(_handles)
        self._mark: Mark | None = None

    def record(self, stream: AnyStream) -> None:
        """Record the event after the work that is in ``stream`` now."""
        _check_host(stream)
        if stream.capturing:
            fail(NOT_CAPTURED, f"an event, on the device {stream.device.name}")
        mark = Mark(perf_counter_ns, stream.queue)
        stream.submit(mark, always=True)
        self._mark = mark

    def query(self) -> bool:
        """Whether the recorded work is done; True for an event that was never recorded."""
        return self._mark is None or self._mark.passed.is_reached()

    def synchronize(self) -> None:
        """Wait until the stream has passed the event."""
        if self._mark is not None:
            self._mark.wait()

    def wait(self, stream: AnyStream) -> None:
        """Make the later work of ``stream`` wait for this event."""
        _check_host(stream)
        mark = self._mark
        if mark is not None and stream.capturing:
            fail(NOT_CAPTURED, f"waiting for an event, on the device {stream.device.name}")
        if mark is not None:
            stream.submit(mark.wait, always=True)

    def elapsed_ms(self, end: Event) -> float:
        """Milliseconds from this event to ``end``.

        Raises:
            DeviceError: INVALID_HANDLE when one was not recorded or does not time, NOT_READY
                when one has not been passed.
        """
        if not isinstance(end, Event):  # pyright: ignore[reportUnnecessaryIsInstance]
            fail(INVALID_HANDLE, "the second event is another device's")
        for name, event in (("first", self), ("second", end)):
            if event._mark is None:
                fail(INVALID_HANDLE, f"the {name} event was not recorded")
            if not event.timing:
                fail(INVALID_HANDLE, f"the {name} event was made with timing=False")
            if not event._mark.passed.is_reached():
                fail(NOT_READY, f"the {name} event")
        return (end._mark.time - self._mark.time) / 1e6  # type: ignore[union-attr]


def _check_host(stream: AnyStream) -> None:
    """Raise for a stream of a device that has events of its own kind."""
    if not isinstance(stream, AnyStream):  # pyright: ignore[reportUnnecessaryIsInstance]
        fail(INVALID_HANDLE, "the stream is another device's than the event")
