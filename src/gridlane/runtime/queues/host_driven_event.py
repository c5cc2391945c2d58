"""Events of host-driven devices: points in their streams; see host_driven_stream.py."""

from __future__ import annotations

from typing import Any

from gridlane.core.device_errors import INVALID_HANDLE, fail
from gridlane.runtime.queues.event import SoftwareEvent
from gridlane.runtime.queues.host_driven_recorder import Mark
from gridlane.runtime.queues.host_driven_stream import HostDrivenStream, Piece, StreamDevice

Stream = HostDrivenStream[Any]


class HostDrivenEvent(SoftwareEvent[Stream]):
    """A point in streams; timed by the device's recorder."""

    def __init__(self, device: StreamDevice, timing: bool = True) -> None:
        super().__init__(timing)
        self.device = device
        self._mark: Mark | None = None

    @property
    def recorded(self) -> bool:
        """Whether it was ever recorded."""
        return self._mark is not None

    @property
    def _last(self) -> Mark:
        assert self._mark is not None  # checked
        return self._mark

    def _enter(self) -> None:
        self.device.default_stream.context.enter()

    def _check_stream(self, stream: Stream) -> None:
        if stream.device is not self.device:
            fail(INVALID_HANDLE, "the stream is another device's than the event")

    def _check_end(self, end: SoftwareEvent[Stream]) -> None:
        super()._check_end(end)
        if getattr(end, "device", None) is not self.device:
            fail(INVALID_HANDLE, "the second event is another device's")

    def _record(self, stream: Stream) -> None:
        stream.context.enter()
        mark = self._new_mark()
        stream.append(Piece(self._put_and_tell, (mark,)))
        self._mark = mark

    def _new_mark(self) -> Mark:
        mark = Mark()
        if self.timing:
            mark.stamp = self.device.recorder.new_stamp(mark)
        return mark

    def record_now(self, stream: Stream) -> None:
        """Record the event after the stream's submitted work, before what is deferred."""
        mark = self._new_mark()
        self._put_and_tell(stream, mark)
        self._mark = mark

    def _put_and_tell(self, stream: Stream, mark: Mark) -> None:
        stream.recorder.put(stream, mark)
        mark.recorded.reach()

    def _follow(self, stream: Stream) -> None:
        mark = self._last
        piece = Piece(_follow, (mark,))
        if mark.recorded.is_reached():
            stream.append(piece)
        else:
            stream.append_behind(mark.recorded.wait, piece)

    def _is_passed(self) -> bool:
        mark = self._mark
        return mark is None or (
            mark.recorded.is_reached() and self.device.recorder.passed(mark.point)
        )

    def _wait(self) -> None:
        mark = self._mark
        if mark is not None:
            mark.recorded.wait()
            self.device.recorder.wait(mark.point)

    def _ms_to(self, end: SoftwareEvent[Stream]) -> float:
        assert isinstance(end, HostDrivenEvent)  # checked
        return self.device.recorder.between_ms(self._last.stamp, end._last.stamp)


def _follow(stream: Stream, mark: Mark) -> None:
    stream.recorder.follow(stream, mark)
