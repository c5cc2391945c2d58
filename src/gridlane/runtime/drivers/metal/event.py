"""Events: points in streams, with the time at which the device came there.

The device tells when each command buffer ended, so an event that times ends the one that is open.
Its time is that end or, where the stream had nothing left to do, the time when it was recorded.
Both are of the clock that counts since the machine started, mach_absolute_time, which is Python's
``time.monotonic``.
"""

from __future__ import annotations

import itertools
import threading
import time
from typing import TYPE_CHECKING

from gridlane.runtime.errors import INVALID_HANDLE, NOT_CAPTURED, NOT_READY, fail

if TYPE_CHECKING:
    from gridlane.runtime.drivers.metal.device import MetalDevice
    from gridlane.runtime.drivers.metal.recorder import Batch
    from gridlane.runtime.drivers.metal.stream import MetalStream

_handles = itertools.count(0x1000)


class _Mark:
    """One recording of an event.

    Attributes:
        recorded: whether the stream has come so far that the rest is known.
        point: the batch after which it is passed.
        time: of the recording, in seconds.
        batch: the one before it that was not known to be done then.
    """

    __slots__ = ("batch", "point", "recorded", "time")

    def __init__(self) -> None:
        self.recorded = threading.Event()
        self.point = 0
        self.time = 0.0
        self.batch: Batch | None = None

    def passed_at(self) -> float:
        """When the device came here; call when it has."""
        return max(self.time, self.batch.end if self.batch is not None else 0.0)


class MetalEvent:
    """A point in a stream; timed by the device."""

    def __init__(self, device: MetalDevice, timing: bool = True) -> None:
        self.device = device
        self.timing = timing
        self.handle = next(_handles)
        self._mark: _Mark | None = None

    def record(self, stream: MetalStream) -> None:
        """Record behind the work that is in the stream now."""
        if stream.capturing:
            fail(NOT_CAPTURED, f"an event, on the device {self.device.name}")
        self._check_device(stream)
        mark = _Mark()
        recorder = self.device.recorder

        def set_mark() -> None:
            with recorder.lock:
                mark.point = recorder.mark(stream)
                if self.timing:
                    mark.batch = recorder.flush()
            mark.time = time.monotonic()
            mark.recorded.set()

        stream.do(set_mark)
        self._mark = mark

    def query(self) -> bool:
        """Whether the stream has passed it."""
        mark = self._mark
        self.device.context.enter()
        if mark is None:
            return True
        return mark.recorded.is_set() and self.device.recorder.passed(mark.point)

    def synchronize(self) -> None:
        """Wait until the stream has passed it."""
        mark = self._mark
        self.device.context.enter()
        if mark is not None:
            mark.recorded.wait()
            self.device.recorder.wait(mark.point)

    def wait(self, stream: MetalStream) -> None:
        """Make the later work of a stream wait for it. What is recorded already comes first in any
        case, as all streams' work is in one order."""
        mark = self._mark
        if mark is None:
            return
        if stream.capturing:
            fail(NOT_CAPTURED, f"waiting for an event, on the device {self.device.name}")
        self._check_device(stream)

        def follow() -> None:
            with stream.context.lock:
                stream.point = max(stream.point, mark.point)

        if mark.recorded.is_set():
            stream.do(follow)
        else:
            stream.put_behind(mark.recorded.wait, follow)

    def elapsed_ms(self, end: MetalEvent) -> float:
        """Milliseconds of the device's clock from this event to ``end``.

        Raises:
            DeviceError: INVALID_HANDLE when one was not recorded or does not time, NOT_READY when
                one has not been passed.
        """
        named = (("first", self), ("second", end))
        marks = [event._timed(name) for name, event in named]
        for name, event in named:
            if not event.query():
                fail(NOT_READY, f"the {name} event")
        # The batch before the mark may have been another stream's, and run on.
        for mark in marks:
            if mark.batch is not None:
                self.device.recorder.wait(mark.batch.value)
        return (marks[1].passed_at() - marks[0].passed_at()) * 1e3

    def _timed(self, name: str) -> _Mark:
        if self._mark is None:
            fail(INVALID_HANDLE, f"the {name} event was not recorded")
        if not self.timing:
            fail(INVALID_HANDLE, f"the {name} event was made with timing=False")
        return self._mark

    def _check_device(self, stream: MetalStream) -> None:
        if stream.device is not self.device:
            fail(INVALID_HANDLE, "the stream is another device's than the event")
