"""Events: points in streams, with the time at which the device passed them.

The device reports when each command buffer ended, so an event with timing ends the open one. Its
time is that end or, for an idle stream, the time of the recording. Both are on the clock that
counts since boot, mach_absolute_time, which is Python's ``time.monotonic``.
"""

from __future__ import annotations

import time
from typing import Protocol

from gridlane.runtime.drivers.metal.recorder import Batch, Recorder
from gridlane.runtime.drivers.metal.stream import MetalStream
from gridlane.runtime.queues.host_driven_event import HostDrivenEvent, Mark
from gridlane.runtime.queues.host_driven_stream import StreamDevice


class _Mark(Mark):
    """A mark with a time.

    Attributes:
        time: of the recording, in seconds.
        batch: the last one before it that was not known to be done then.
    """

    __slots__ = ("batch", "time")

    def __init__(self) -> None:
        super().__init__()
        self.time = 0.0
        self.batch: Batch | None = None

    def passed_at(self) -> float:
        """The time at which the device passed this mark; call it when it has."""
        return max(self.time, self.batch.end if self.batch is not None else 0.0)


class Device(StreamDevice, Protocol):
    """The device interface that an event uses."""

    recorder: Recorder


class MetalEvent(HostDrivenEvent[Device, _Mark, MetalStream]):
    """A point in a stream; timed by the device."""

    @property
    def _order(self) -> Recorder:
        return self.device.recorder

    def _new_mark(self) -> _Mark:
        return _Mark()

    def _put(self, stream: MetalStream, mark: _Mark) -> None:
        recorder = stream.recorder
        with recorder.lock:
            mark.point = recorder.mark(stream)
            if self.timing:
                mark.batch = recorder.flush()
        mark.time = time.monotonic()

    def _put_behind(self, stream: MetalStream, mark: _Mark) -> None:
        # Recorded work comes first in any case, as the work of all streams is in one order.
        with stream.context.lock:
            stream.point = max(stream.point, mark.point)

    def _between_ms(self, first: _Mark, second: _Mark) -> float:
        # The batch before the mark may have been another stream's, and continued.
        for mark in (first, second):
            if mark.batch is not None:
                self.device.recorder.wait(mark.batch.value)
        return (second.passed_at() - first.passed_at()) * 1e3
