"""Vulkan's streams: ordered queues of work, recorded concurrently; see recorder.py."""

from __future__ import annotations

from typing import Protocol

from gridlane.runtime.drivers.vulkan import transfers
from gridlane.runtime.drivers.vulkan.context import Context
from gridlane.runtime.drivers.vulkan.recorder import Recorder
from gridlane.runtime.queues.host_driven_stream import HostDrivenStream, StreamDevice


class Device(transfers.Memory, StreamDevice, Protocol):
    """The device interface that a stream uses."""

    context: Context
    recorder: Recorder


class VulkanStream(HostDrivenStream[Device]):
    """A stream. The default stream's work is ordered after the earlier work of all others, and
    their later work after it.

    Attributes:
        epoch, point: see recorder.Queue.
    """

    def __init__(self, device: Device, default: bool = False) -> None:
        super().__init__(device, device.context, default)
        self.recorder = device.recorder
        self.epoch = self.point = 0

    # --- work: submitted now, deferred, or recorded for a graph ---

    def _upload(self, target: int, source: memoryview, keep: object) -> None:
        transfers.upload(self, target, source, keep)

    def _download(self, target: memoryview, source: int, keep: object) -> None:
        transfers.download(self, target, source, keep)

    def _download_needs_host(self, target: memoryview) -> bool:
        return not transfers.is_ours(self.device, target)

    def _copy(self, target: int, source: int, size: int, keep: object) -> None:
        transfers.copy(self, target, source, size)

    def _fill(self, target: int, byte: int, size: int, keep: object) -> None:
        transfers.fill(self, target, byte, size)

    def _write(self, target: int, source: memoryview) -> None:
        transfers.write(self, target, source)

    def _read(self, target: memoryview, source: int) -> None:
        transfers.read(self, target, source)

    # --- waiting ---

    def finish(self) -> None:
        """Wait for the work that a callback of this stream must follow."""
        self.recorder.wait(self.recorder.mark(self)[0])

    def _wait_submitted(self) -> None:
        self.recorder.wait(self.recorder.last if self.is_default else self.point)

    def _passed(self) -> bool:
        return self.recorder.passed(self.recorder.last if self.is_default else self.point)
