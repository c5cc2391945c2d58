"""Graphs of software-queue streams: pieces of work, recorded once and then appended to a stream any
number of times."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from gridlane.core.device_errors import ILLEGAL_STATE, INVALID_HANDLE, NOT_CAPTURED, fail

P = TypeVar("P")
Piece = TypeVar("Piece", contravariant=True)


class Appends(Protocol[Piece]):
    """The stream interface that a graph uses."""

    @property
    def device(self) -> object:
        """The device of the stream."""
        ...

    def append_all(self, pieces: tuple[Piece, ...]) -> None:
        """Append pieces of work, uninterrupted by other threads; each owns its objects."""
        ...


class RecordedGraph(Generic[P]):
    """Recorded work."""

    def __init__(self, device: object, recorded: tuple[P, ...]) -> None:
        self._device, self._recorded = device, recorded

    @property
    def size(self) -> int:
        """The number of launches, copies, fills and host functions in it."""
        return len(self._recorded)

    def instantiate(self) -> RecordedExecutable[P]:
        """Instantiate the work for launches; the result outlives the graph."""
        return RecordedExecutable(self._device, self._recorded)


class RecordedExecutable(Generic[P]):
    """Recorded work that can be launched."""

    def __init__(self, device: object, recorded: tuple[P, ...]) -> None:
        self._device, self._recorded = device, recorded

    def launch(self, stream: Appends[P]) -> None:
        """Append the work to a stream of the same device."""
        if stream.device is not self._device:
            fail(INVALID_HANDLE, "the stream is another device's than the graph")
        stream.append_all(self._recorded)


def check_begin(is_default: bool, capturing: bool) -> None:
    """Refuse a capture of a default stream, and a second capture of any other stream."""
    if is_default:
        fail(NOT_CAPTURED, "the default stream", "capture a stream of cuda.stream()")
    if capturing:
        fail(ILLEGAL_STATE, "the stream is captured already", "end that capture first")


def check_end(capturing: bool) -> None:
    """Refuse to end a capture that did not begin."""
    if not capturing:
        fail(ILLEGAL_STATE, "no capture began on this stream")


def check_waiting(capturing: bool, what: str) -> None:
    """Refuse a wait for a stream's work while it is only recorded."""
    if capturing:
        fail(NOT_CAPTURED, what)
