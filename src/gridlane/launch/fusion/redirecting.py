"""A thread's launches on another stream than the one that they name.

Functions of libraries launch on the default stream, or on torch's current one. Here their launches
go to a stream of the caller's, through the seams of delayed launches.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from gridlane.core.device_errors import NOT_CAPTURED, fail
from gridlane.launch import current, launcher
from gridlane.launch.fusion import seams
from gridlane.runtime.protocol import Device, Stream


class Redirected:
    """What sends launches to a stream; see ``current.Delays``.

    Args:
        stream: gets the launches.
        outer: what delays this thread's launches; it gets them first.
        what: names what is launched, for errors.

    Attributes:
        is_native: whether launchers call the driver, which gets the stream.
        stream: that gets the launches.
    """

    lists = None
    """Launchers append nothing: each launch is one of the slow path."""

    def __init__(self, stream: Stream, outer: current.Delays | None, what: str) -> None:
        self.device: Device = current.device()
        is_alone = outer is None and not stream.capturing and not current.captures()
        self.is_native = is_native = is_alone and self.device.route == "native"
        number = current.own_number if is_native else current.delaying_number
        self.number = number(self.device)
        self.stream, self._outer, self._what = stream, outer, what

    def append(self, stream: Any, kernel: Any, launch: tuple[Any, ...], /) -> bool:
        """Launch on the stream; False for a launch that is on it, or on another device."""
        if stream.device is not self.device:
            return False
        own: Any = self.stream
        if self._outer is not None:
            with self._as_outer(self._outer) as outer:
                if outer.append(own, kernel, launch):
                    return True
        if stream is own:
            return False
        params, grid, shared, keep = launch
        own.launch(kernel, params, *grid, shared, keep)
        return True

    def flush(self) -> None:
        """Submit what is delayed: a copy, a fill, a wait or an export follows.

        Raises:
            DeviceError: NOT_CAPTURED, the stream is captured: a graph would not have it.
        """
        if self._outer is not None:
            with self._as_outer(self._outer) as outer:
                outer.flush()
        if self.stream.capturing:
            fail(
                NOT_CAPTURED,
                f"{self._what} copies, fills or waits between its launches",
                "call it outside of the capture",
            )

    @contextmanager
    def _as_outer(self, outer: current.Delays) -> Generator[current.Delays]:
        """Let what it submits go to the streams that were named."""
        current.delay(outer)
        try:
            yield outer
        finally:
            current.delay(self)


@contextmanager
def redirected(stream: Stream, what: str) -> Generator[None]:
    """Send this thread's launches in a with block to a stream of the current device.

    Args:
        what: names what is launched, for errors.
    """
    outer = current.delays()
    by = Redirected(stream, outer, what)
    seams.open_for(by.device)
    handle: Any = getattr(stream, "handle", None) if by.is_native else None
    before = launcher.redirect(handle)
    try:
        current.delay(by)
        yield
    finally:
        current.delay(outer)
        launcher.redirect(before)
        seams.close()


def native_stream() -> Stream | None:
    """The stream that gets this thread's launches, by launchers that call the driver; None if it
    names none, or launches are delayed or recorded."""
    by = current.delays()
    return by.stream if isinstance(by, Redirected) and by.is_native else None


def redirecting() -> bool:
    """Whether this thread's launches go to a stream of the caller's."""
    return isinstance(current.delays(), Redirected)
