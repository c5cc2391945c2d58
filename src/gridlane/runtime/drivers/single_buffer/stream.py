"""Streams of a single-buffer device: each orders its own work in the device's queue; see
queue.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from gridlane.runtime.drivers.single_buffer import transfers
from gridlane.runtime.queues.host_driven_stream import HostDrivenStream, StreamDevice


class Device(transfers.Memory, StreamDevice, Protocol):
    """The device interface that a stream uses."""

    @property
    def default_stream(self) -> SingleBufferStream:
        """The stream that is ordered with all others."""
        ...


class SingleBufferStream(HostDrivenStream[Device]):
    """A stream. The default stream's work is ordered after the earlier work of all others, and
    their later work after it.

    Attributes:
        point: the number of its last work in the queue.
    """

    def __init__(self, device: Device, default: bool = False) -> None:
        super().__init__(device, device.queue, default)
        self.queue = device.queue
        self.point = 0

    # --- work: submitted now, deferred, or recorded for a graph ---

    def _upload(self, target: int, source: memoryview, keep: object) -> None:
        self._transfer(transfers.upload, target, source, keep)

    def _download(self, target: memoryview, source: int, keep: object) -> None:
        self._transfer(transfers.download, target, source, keep)

    def _copy(self, target: int, source: int, size: int, keep: object) -> None:
        self._transfer(transfers.copy, target, source, size)

    def _fill(self, target: int, byte: int, size: int, keep: object) -> None:
        self._transfer(transfers.fill, target, byte, size)

    def _write(self, target: int, source: memoryview) -> None:
        self._transfer(transfers.write, target, source)

    def _read(self, target: memoryview, source: int) -> None:
        self._transfer(transfers.download, target, source)
        self.queue.flush()

    def _transfer(self, function: Callable[..., None], *args: Any) -> None:
        function(self.device, *args)
        self.point = self.queue.mark()

    # --- waiting ---

    def _last(self) -> int:
        """The number of the last work that this stream waits for."""
        if self.is_default:
            return self.queue.mark()
        return max(self.point, self.device.default_stream.point)

    def finish(self) -> None:
        """Wait for the work that a callback of this stream must follow."""
        self.queue.wait(self._last())

    def _wait_submitted(self) -> None:
        self.queue.wait(self._last())

    def _passed(self) -> bool:
        return self.queue.passed(self.queue.newest() if self.is_default else self._last())
