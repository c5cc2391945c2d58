"""Recorded work of streams, on devices that run on the host's threads: a list of what to submit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.core.device_errors import INVALID_HANDLE, fail

Recorded = tuple[tuple[Callable[[], object], bool], ...]
"""What ``submit`` got, in order. Each piece of work holds its kernel and arguments."""


class RecordedGraph:
    """Recorded work."""

    def __init__(self, device: Any, recorded: Recorded) -> None:
        self._device, self._recorded = device, recorded

    @property
    def size(self) -> int:
        """Launches, copies, fills and host functions in it."""
        return len(self._recorded)

    def instantiate(self) -> RecordedExecutable:
        """The work ready to be launched; it does not need the graph any more."""
        return RecordedExecutable(self._device, self._recorded)


class RecordedExecutable:
    """Recorded work that can be launched."""

    def __init__(self, device: Any, recorded: Recorded) -> None:
        self._device, self._recorded = device, recorded

    def launch(self, stream: Any) -> None:
        """Append the work to a stream of the same device."""
        if stream.device is not self._device:
            fail(INVALID_HANDLE, "the stream is another device's than the graph")
        for work, always in self._recorded:
            stream.submit(work, always)
