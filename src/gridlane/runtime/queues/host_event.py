"""Events of devices whose work runs on host threads, with times of the host's clock."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.device_errors import INVALID_HANDLE, fail
from gridlane.runtime.queues.event import SoftwareEvent, handles
from gridlane.runtime.queues.host_queue import Follow, Mark, NativeWork
from gridlane.runtime.queues.host_stream import HostStream
from gridlane.runtime.queues.native_queues import native


class HostEvent(SoftwareEvent[HostStream]):
    """A point in a stream of any host device, as these share one clock.

    Args:
        address: of a native event, of which this object gets the caller's use.
    """

    def __init__(self, timing: bool = True, address: int = 0) -> None:
        self.timing, self.handle = timing, next(handles)  # not by the base: hot
        self.address = address or native.new_event()

    def __del__(self, release: Callable[[int], object] = native.release_event) -> None:
        release(self.address)

    def _check_stream(self, stream: HostStream) -> None:
        if not isinstance(stream, HostStream):  # pyright: ignore[reportUnnecessaryIsInstance]
            fail(INVALID_HANDLE, "the stream is another device's than the event")

    def _record(self, stream: HostStream) -> None:
        stream.submit(_Recording(self), always=True)

    def _last(self) -> Mark | None:
        """The mark of its last recording, unless that is passed."""
        address = native.mark_of(self.address)
        return Mark(address) if address else None

    def _follow(self, stream: HostStream) -> None:
        mark = self._last()
        if mark is not None:
            stream.submit(Follow(mark), always=True)

    def _is_passed(self) -> bool:
        if native.time_of(self.address):
            return True
        mark = self._last()
        queue = None if mark is None else mark.queue
        if queue is not None:
            queue.is_idle()  # which starts a missing thread
        return native.time_of(self.address) != 0

    def _wait(self) -> None:
        mark = self._last()
        if mark is not None:
            mark.wait()

    def _ms_to(self, end: SoftwareEvent[HostStream]) -> float:
        assert isinstance(end, HostEvent)  # checked
        return (native.time_of(end.address) - native.time_of(self.address)) / 1e6

    @property
    def recorded(self) -> bool:
        """Whether it was ever recorded."""
        return native.time_of(self.address) >= 0


class _Recording(NativeWork):
    """The recording of an event, for always."""

    __slots__ = ("event",)

    def __init__(self, event: HostEvent) -> None:
        self.event = event

    def put(self, queue: int, flags: int) -> bool:
        """Record it behind the work of a queue."""
        return native.record(self.event.address, queue)

    def __call__(self) -> None:
        native.record(self.event.address, 0)
