"""Vulkan's events: points in streams, with the device's time."""

from __future__ import annotations

from typing import Protocol

from gridlane.runtime.drivers.vulkan.clock import Clock, Slot
from gridlane.runtime.drivers.vulkan.recorder import Recorder
from gridlane.runtime.drivers.vulkan.stream import VulkanStream
from gridlane.runtime.queues.host_driven_event import HostDrivenEvent, Mark
from gridlane.runtime.queues.host_driven_stream import StreamDevice


class _Mark(Mark):
    """A mark with a time stamp.

    Attributes:
        epoch: the epoch of the work before it.
        slot: of its time stamp.
    """

    __slots__ = ("epoch", "slot")

    def __init__(self) -> None:
        super().__init__()
        self.epoch = 0
        self.slot: Slot | None = None


class Device(StreamDevice, Protocol):
    """The device interface that an event uses."""

    clock: Clock
    recorder: Recorder


class VulkanEvent(HostDrivenEvent[Device, _Mark, VulkanStream]):
    """A point in a stream; timed by the device."""

    @property
    def _order(self) -> Recorder:
        return self.device.recorder

    def _new_mark(self) -> _Mark:
        mark = _Mark()
        if self.timing:
            mark.slot = self.device.clock.take(mark)
        return mark

    def _put(self, stream: VulkanStream, mark: _Mark) -> None:
        if mark.slot is not None:
            stream.recorder.stamp(stream, *mark.slot)
        mark.point, mark.epoch = stream.recorder.mark(stream)

    def _put_behind(self, stream: VulkanStream, mark: _Mark) -> None:
        with stream.context.lock:
            stream.epoch = max(stream.epoch, mark.epoch)
            stream.point = max(stream.point, mark.point)

    def _between_ms(self, first: _Mark, second: _Mark) -> float:
        assert first.slot is not None and second.slot is not None  # as both events time
        return self.device.clock.between_ms(first.slot, second.slot)
