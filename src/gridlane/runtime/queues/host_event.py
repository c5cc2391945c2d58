"""Events of devices whose work runs on host threads, with times of the host's clock."""

from __future__ import annotations

from time import perf_counter_ns

from gridlane.core.device_errors import INVALID_HANDLE, fail
from gridlane.runtime.queues.event import SoftwareEvent
from gridlane.runtime.queues.host_queue import Mark
from gridlane.runtime.queues.host_stream import HostStream


class HostEvent(SoftwareEvent[Mark, HostStream]):
    """A point in a stream of any host device, as these share one clock."""

    def _check_stream(self, stream: HostStream) -> None:
        if not isinstance(stream, HostStream):  # pyright: ignore[reportUnnecessaryIsInstance]
            fail(INVALID_HANDLE, "the stream is another device's than the event")

    def _set(self, stream: HostStream) -> Mark:
        mark = Mark(perf_counter_ns, stream.queue)
        stream.submit(mark, always=True)
        return mark

    def done_at(self, wanted: bool) -> tuple[int, bool] | None:
        """The time of its recording, in ns of ``perf_counter_ns``, and whether there is one that is
        wanted; None until that is passed."""
        mark = self._mark
        if mark is None or not wanted:
            return 0, False
        return (mark.time, True) if mark.passed.is_reached() else None

    def set_passed(self, time: int) -> None:
        """Note a recording by others, of work that is done."""
        mark = Mark(perf_counter_ns, None)
        mark.time = time
        mark.passed.reach()
        self._mark = mark

    def _follow(self, mark: Mark, stream: HostStream) -> None:
        stream.submit(mark.wait, always=True)

    def _passed(self, mark: Mark) -> bool:
        return mark.passed.is_reached()

    def _wait(self, mark: Mark) -> None:
        mark.wait()

    def _between_ms(self, first: Mark, second: Mark) -> float:
        return (second.time - first.time) / 1e6
