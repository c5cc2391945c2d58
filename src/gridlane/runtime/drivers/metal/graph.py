"""Work of streams that is recorded once, and then launched as often as one likes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gridlane.runtime.errors import INVALID_HANDLE, fail

if TYPE_CHECKING:
    from gridlane.runtime.drivers.metal.device import MetalDevice

Recorded = tuple[tuple[str, tuple[Any, ...]], ...]
"""The stream's methods to call, with their arguments, which hold what the work uses."""


class MetalGraph:
    """Recorded work."""

    def __init__(self, device: MetalDevice, recorded: Recorded) -> None:
        self._device, self._recorded = device, recorded

    @property
    def size(self) -> int:
        """Launches, copies, fills and host functions in it."""
        return len(self._recorded)

    def instantiate(self) -> MetalExecutable:
        """The work ready to be launched; it does not need the graph any more."""
        return MetalExecutable(self._device, self._recorded)


class MetalExecutable:
    """Recorded work that can be launched."""

    def __init__(self, device: MetalDevice, recorded: Recorded) -> None:
        self._device, self._recorded = device, recorded

    def launch(self, stream: Any) -> None:
        """Append the work to a stream of the same device."""
        if stream.device is not self._device:
            fail(INVALID_HANDLE, "the stream is another device's than the graph")
        for name, args in self._recorded:
            stream.replay(name, args)
