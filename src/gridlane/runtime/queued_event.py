"""Events of host-driven devices: points in their streams; see queued_stream.py."""

from __future__ import annotations

import itertools
from typing import Any, Generic, TypeVar

from gridlane.core.device_errors import INVALID_HANDLE, NOT_CAPTURED, NOT_READY, fail
from gridlane.runtime.latch import Latch

_handles = itertools.count(0x1000)


class Mark:
    """One recording of an event. A device's own kind has the time in it.

    Attributes:
        recorded: whether the stream has come so far that the rest is known.
        point: the number of the work after which it is passed.
    """

    __slots__ = ("__weakref__", "point", "recorded")

    def __init__(self) -> None:
        self.recorded = Latch()
        self.point = 0


M = TypeVar("M", bound=Mark)


class QueuedEvent(Generic[M]):
    """A point in a stream."""

    def __init__(self, device: Any, timing: bool = True) -> None:
        self.device = device
        self.timing = timing
        self.handle = next(_handles)
        self._mark: M | None = None

    # --- what a device does in its own way ---

    @property
    def _order(self) -> Any:
        """What has the device's work in order: ``passed(point)`` and ``wait(point)``."""
        raise NotImplementedError

    def _new_mark(self) -> M:
        """A mark, with what its time needs."""
        raise NotImplementedError

    def _set(self, mark: M, stream: Any) -> None:
        """Give the device a mark, behind all that it was given for the stream."""
        raise NotImplementedError

    def _follow(self, mark: M, stream: Any) -> None:
        """Put what the stream is given later behind a mark that is set."""
        raise NotImplementedError

    def _between_ms(self, first: M, second: M) -> float:
        """Milliseconds from one mark to another, both passed."""
        raise NotImplementedError

    # --- the protocol ---

    def record(self, stream: Any) -> None:
        """Record behind the work that is in the stream now."""
        if stream.capturing:
            fail(NOT_CAPTURED, f"an event, on the device {self.device.name}")
        self._check_device(stream)
        stream.context.enter()
        mark = self._new_mark()

        def set_mark() -> None:
            self._set(mark, stream)
            mark.recorded.reach()

        stream.do(set_mark)
        self._mark = mark

    def query(self) -> bool:
        """Whether the stream has passed it."""
        mark = self._mark
        self._enter()
        if mark is None:
            return True
        return mark.recorded.is_reached() and self._order.passed(mark.point)

    def synchronize(self) -> None:
        """Wait until the stream has passed it."""
        mark = self._mark
        self._enter()
        if mark is not None:
            mark.recorded.wait()
            self._order.wait(mark.point)

    def wait(self, stream: Any) -> None:
        """Make the later work of a stream wait for it."""
        mark = self._mark
        if mark is None:
            return
        if stream.capturing:
            fail(NOT_CAPTURED, f"waiting for an event, on the device {self.device.name}")
        self._check_device(stream)

        def follow() -> None:
            self._follow(mark, stream)

        if mark.recorded.is_reached():
            stream.do(follow)
        else:
            stream.put_behind(mark.recorded.wait, follow)

    def elapsed_ms(self, end: QueuedEvent[M]) -> float:
        """Milliseconds from this event to ``end``.

        Raises:
            DeviceError: INVALID_HANDLE when one was not recorded or does not time, NOT_READY when
                one has not been passed.
        """
        if not isinstance(end, QueuedEvent):  # pyright: ignore[reportUnnecessaryIsInstance]
            fail(INVALID_HANDLE, "the second event is another device's")
        named = (("first", self), ("second", end))
        first, second = (event._timed(name) for name, event in named)
        for name, event in named:
            if not event.query():
                fail(NOT_READY, f"the {name} event")
        return self._between_ms(first, second)

    # --- details ---

    def _timed(self, name: str) -> M:
        if self._mark is None:
            fail(INVALID_HANDLE, f"the {name} event was not recorded")
        if not self.timing:
            fail(INVALID_HANDLE, f"the {name} event was made with timing=False")
        return self._mark

    def _enter(self) -> None:
        self.device.default_stream.context.enter()

    def _check_device(self, stream: Any) -> None:
        if stream.device is not self.device:
            fail(INVALID_HANDLE, "the stream is another device's than the event")
