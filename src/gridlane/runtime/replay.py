"""Work of streams that is recorded once, and then given to a stream again as often as one likes:
graphs of devices that have none of their own."""

from __future__ import annotations

from typing import Any

from gridlane.core.device_errors import INVALID_HANDLE, fail

Recorded = tuple[tuple[str, tuple[Any, ...]], ...]
"""What ``replay`` of a stream takes: its methods' names, with arguments, which hold what the work
uses."""


class ReplayedGraph:
    """Recorded work."""

    def __init__(self, device: Any, recorded: Recorded) -> None:
        self._device, self._recorded = device, recorded

    @property
    def size(self) -> int:
        """Launches, copies, fills and host functions in it."""
        return len(self._recorded)

    def instantiate(self) -> ReplayedExecutable:
        """The work ready to be launched; it does not need the graph any more."""
        return ReplayedExecutable(self._device, self._recorded)


class ReplayedExecutable:
    """Recorded work that can be launched."""

    def __init__(self, device: Any, recorded: Recorded) -> None:
        self._device, self._recorded = device, recorded

    def launch(self, stream: Any) -> None:
        """Append the work to a stream of the same device."""
        if stream.device is not self._device:
            fail(INVALID_HANDLE, "the stream is another device's than the graph")
        for name, args in self._recorded:
            stream.replay(name, args)
