"""Events of devices whose work runs on host threads, with times of the host's clock."""

from __future__ import annotations

from time import perf_counter_ns

from gridlane.core.device_errors import INVALID_HANDLE, fail
from gridlane.runtime.queues.event import SoftwareEvent
from gridlane.runtime.queues.host_queue import Follow, Mark
from gridlane.runtime.queues.host_stream import HostStream


class HostEvent(SoftwareEvent[Mark, HostStream]):
    """A point in a stream of any host device, as these share one clock."""

    def _check_stream(self, stream: HostStream) -> None:
        if not isinstance(stream, HostStream):  # pyright: ignore[reportUnnecessaryIsInstance]
            fail(INVALID_HANDLE, "the stream is another device's than the event")

    def _set(self, stream: HostStream) -> Mark:
        mark = Mark(perf_counter_ns)
        stream.submit(mark, always=True)
        return mark

    @property
    def mark(self) -> Mark | None:
        """The mark of its last recording, with a time in ns of ``perf_counter_ns``."""
        return self._mark

    def set_mark(self, mark: Mark) -> None:
        """Note a recording by others."""
        self._mark = mark

    def _follow(self, mark: Mark, stream: HostStream) -> None:
        stream.submit(Follow(mark), always=True)

    def _passed(self, mark: Mark) -> bool:
        return mark.is_passed()

    def _wait(self, mark: Mark) -> None:
        mark.wait()

    def _between_ms(self, first: Mark, second: Mark) -> float:
        return (second.time - first.time) / 1e6
