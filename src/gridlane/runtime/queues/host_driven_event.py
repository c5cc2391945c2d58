"""Events of host-driven devices: points in their streams; see host_driven_stream.py."""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar

from gridlane.core.device_errors import INVALID_HANDLE, fail
from gridlane.runtime.queues.event import SoftwareEvent
from gridlane.runtime.queues.host_driven_stream import HostDrivenStream, Piece, StreamDevice
from gridlane.runtime.queues.latch import Latch


class Mark:
    """One recording of an event. A device's own subclass adds the time.

    Attributes:
        recorded: whether the stream has reached the recording, so that the other fields are known.
        point: the number of the work after which it is passed.
    """

    __slots__ = ("__weakref__", "point", "recorded")

    def __init__(self) -> None:
        self.recorded = Latch()
        self.point = 0


class Order(Protocol):
    """The order of the device's work."""

    def passed(self, number: int, /) -> bool:
        """Whether the work with a number is done."""
        ...

    def wait(self, number: int, /) -> None:
        """Wait for the work with a number."""
        ...


D = TypeVar("D", bound=StreamDevice)
M = TypeVar("M", bound=Mark)
S = TypeVar("S", bound=HostDrivenStream[Any])


class HostDrivenEvent(SoftwareEvent[M, S], Generic[D, M, S]):
    """A point in streams S of a device D."""

    def __init__(self, device: D, timing: bool = True) -> None:
        super().__init__(timing)
        self.device = device

    # --- implemented by each device ---

    @property
    def _order(self) -> Order:
        """The order of the device's work."""
        raise NotImplementedError

    def _new_mark(self) -> M:
        """Create a mark, with the resources of its timing."""
        raise NotImplementedError

    def _put(self, stream: S, mark: M) -> None:
        """Submit a mark, after all submitted work of the stream."""
        raise NotImplementedError

    def _put_behind(self, stream: S, mark: M) -> None:
        """Order the stream's later submissions after a mark that is set."""
        raise NotImplementedError

    # --- common to all devices ---

    def _enter(self) -> None:
        self.device.default_stream.context.enter()

    def _check_stream(self, stream: S) -> None:
        if stream.device is not self.device:
            fail(INVALID_HANDLE, "the stream is another device's than the event")

    def _check_end(self, end: SoftwareEvent[M, S]) -> None:
        super()._check_end(end)
        if getattr(end, "device", None) is not self.device:
            fail(INVALID_HANDLE, "the second event is another device's")

    def _set(self, stream: S) -> M:
        stream.context.enter()
        mark = self._new_mark()
        stream.append(Piece(self._put_and_tell, (mark,)))
        return mark

    def record_now(self, stream: S) -> None:
        """Record the event after the stream's submitted work, before what is deferred."""
        mark = self._new_mark()
        self._put_and_tell(stream, mark)
        self._mark = mark

    def _put_and_tell(self, stream: S, mark: M) -> None:
        self._put(stream, mark)
        mark.recorded.reach()

    def _follow(self, mark: M, stream: S) -> None:
        piece = Piece(self._put_behind, (mark,))
        if mark.recorded.is_reached():
            stream.append(piece)
        else:
            stream.append_behind(mark.recorded.wait, piece)

    def _passed(self, mark: M) -> bool:
        return mark.recorded.is_reached() and self._order.passed(mark.point)

    def _wait(self, mark: M) -> None:
        mark.recorded.wait()
        self._order.wait(mark.point)
