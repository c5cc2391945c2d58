"""Graphs of software-queue streams: pieces of work, recorded once and then appended to a stream any
number of times."""

from __future__ import annotations

import threading
import weakref
from typing import Generic, NoReturn, Protocol, TypeVar

from gridlane.core.device_errors import (
    CAPTURE_IMPLICIT,
    ILLEGAL_STATE,
    INVALID_HANDLE,
    NOT_CAPTURED,
    fail,
)

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


class Capturing(Protocol):
    """The stream interface that the captures of a thread use."""

    @property
    def device(self) -> object:
        """The device of the stream."""
        ...

    @property
    def capturing(self) -> bool:
        """Whether work is recorded, not executed."""
        ...


class _Here(threading.local):
    """The streams whose capture this thread began, and that may be captured still."""

    captured: tuple[weakref.ref[Capturing], ...] = ()


here = _Here()
"""Of this thread."""


def note_capture(stream: Capturing) -> None:
    """Note that this thread began the capture of a stream."""
    captures_here()
    here.captured = (*here.captured, weakref.ref(stream))


def captures_here(device: object = None) -> bool:
    """Whether a stream is captured whose capture this thread began. Hot.

    Args:
        device: of the stream; None for any.
    """
    if not here.captured:
        return False
    live = [(each, stream) for each in here.captured if (stream := each()) and stream.capturing]
    here.captured = tuple([each for each, _ in live])
    return any(device is None or stream.device is device for _, stream in live)


def check_default(device: object) -> None:
    """Refuse work of a device's default stream on a thread that captures another one of it: it
    would run at once, and no graph would have it. Hot.

    Raises:
        DeviceError: STREAM_CAPTURE_IMPLICIT.
    """
    if here.captured and captures_here(device):
        refuse_default()


def refuse_default() -> NoReturn:
    """Refuse work of the default stream while a stream is captured."""
    fail(
        CAPTURE_IMPLICIT,
        "work of the default stream, which no graph would have",
        "give the captured stream, as kernel[grid, block, stream](...), nest.on(stream)(...) and "
        "x.copy_to_device(y, stream) do, or do it outside of the capture",
    )


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
