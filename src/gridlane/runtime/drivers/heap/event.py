"""Events: points in streams, with a time."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any

from gridlane.runtime.drivers.heap.engine import Stamp
from gridlane.runtime.errors import INVALID_HANDLE, NOT_CAPTURED, NOT_READY, fail

if TYPE_CHECKING:
    from gridlane.runtime.drivers.heap.device import HeapDevice
    from gridlane.runtime.drivers.heap.stream import HeapStream

_handles = itertools.count(0x1000)


class _Mark:
    """One recording of an event.

    Attributes:
        recorded: whether the stream has come so far that ``point`` is known.
        point: the number in the queue after which it is passed.
        stamp: the engine's, of its time.
    """

    __slots__ = ("point", "recorded", "stamp")

    def __init__(self) -> None:
        self.recorded = threading.Event()
        self.point = 0
        self.stamp: Any = None


class HeapEvent:
    """A point in a stream; timed by the device's clock where it has one."""

    def __init__(self, device: HeapDevice, timing: bool = True) -> None:
        self.device = device
        self.timing = timing
        self.handle = next(_handles)
        self._mark: _Mark | None = None

    def record(self, stream: HeapStream) -> None:
        """Record behind the work that is in the stream now."""
        if stream.capturing:
            fail(NOT_CAPTURED, f"an event, on the device {self.device.name}")
        self._check_device(stream)
        queue, mark = self.device.queue, _Mark()
        queue.enter()
        if self.timing:
            with queue.lock:
                mark.stamp = self.device.engine.new_stamp()

        def set_mark() -> None:
            if mark.stamp is not None:
                queue.put(Stamp(mark.stamp))
            mark.point = stream.point = queue.mark()
            mark.recorded.set()

        stream.do(set_mark)
        self._mark = mark

    def query(self) -> bool:
        """Whether the stream has passed it."""
        mark = self._mark
        self.device.queue.enter()
        if mark is None:
            return True
        return mark.recorded.is_set() and self.device.queue.passed(mark.point)

    def synchronize(self) -> None:
        """Wait until the stream has passed it."""
        mark = self._mark
        self.device.queue.enter()
        if mark is not None:
            mark.recorded.wait()
            self.device.queue.wait(mark.point)

    def wait(self, stream: HeapStream) -> None:
        """Make the later work of a stream wait for it. What is in the queue comes before all that
        is put there later, so only work that is not there yet is waited for."""
        mark = self._mark
        if mark is None:
            return
        if stream.capturing:
            fail(NOT_CAPTURED, f"waiting for an event, on the device {self.device.name}")
        self._check_device(stream)

        def follow() -> None:
            stream.point = max(stream.point, mark.point)

        if mark.recorded.is_set():
            stream.do(follow)
        else:
            stream.put_behind(mark.recorded.wait, follow)

    def elapsed_ms(self, end: HeapEvent) -> float:
        """Milliseconds from this event to ``end``.

        Raises:
            DeviceError: INVALID_HANDLE when one was not recorded or does not time, NOT_READY when
                one has not been passed.
        """
        named = (("first", self), ("second", end))
        stamps = [event._stamp(name) for name, event in named]
        for name, event in named:
            if not event.query():
                fail(NOT_READY, f"the {name} event")
        with self.device.queue.lock:
            first, second = map(self.device.engine.nanoseconds, stamps)
        return (second - first) / 1e6

    def _stamp(self, name: str) -> Any:
        if self._mark is None:
            fail(INVALID_HANDLE, f"the {name} event was not recorded")
        if not self.timing:
            fail(INVALID_HANDLE, f"the {name} event was made with timing=False")
        return self._mark.stamp

    def _check_device(self, stream: HeapStream) -> None:
        if stream.device is not self.device:
            fail(INVALID_HANDLE, "the stream is another device's than the event")
