"""Events: points in streams, with the device's time."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from gridlane.core.device_errors import NOT_SUPPORTED, fail
from gridlane.runtime.drivers.vulkan.api import constant, new, null, struct
from gridlane.runtime.drivers.vulkan.context import Context
from gridlane.runtime.queued_event import Mark, QueuedEvent

if TYPE_CHECKING:
    from gridlane.runtime.drivers.vulkan.recorder import Recorder
    from gridlane.runtime.drivers.vulkan.stream import VulkanStream

SLOTS = 256
"""Time stamps of a query pool."""

Slot = tuple[Any, int]
"""A VkQueryPool and a number in it."""


class Clock:
    """The device's time stamps, in slots that are used again."""

    def __init__(self, context: Context) -> None:
        self.context = context
        limits = context.adapter.properties.properties.limits
        self.bits = context.adapter.timestamp_bits
        self._tick_ns = limits.timestampPeriod
        self._pools: list[Any] = []
        self._free: list[Slot] = []

    def take(self, owner: Any) -> Slot:
        """A slot, until ``owner`` dies and the work so far is done."""
        if not self.bits:
            fail(NOT_SUPPORTED, "the device has no time stamps", "use an event with timing=False")
        with self.context.lock:
            if not self._free:
                self._grow()
            slot = pool, index = self._free.pop()
            self.context.call("vkResetQueryPool", pool, index, 1)
        weakref.finalize(owner, self._retire, slot).atexit = False
        return slot

    def _grow(self) -> None:
        kind = constant("VK_QUERY_TYPE_TIMESTAMP")
        info = struct("VkQueryPoolCreateInfo", queryType=kind, queryCount=SLOTS)
        pool = self.context.create("vkCreateQueryPool", "VkQueryPool", info)
        self._pools.append(pool)
        self._free += [(pool, index) for index in range(SLOTS)]

    def _retire(self, slot: Slot) -> None:
        self.context.retire(lambda: self._free.append(slot))

    def ticks(self, slot: Slot) -> int:
        """A stamp that was written."""
        pool, index = slot
        value = new("uint64_t *")
        flags = constant("VK_QUERY_RESULT_64_BIT") | constant("VK_QUERY_RESULT_WAIT_BIT")
        self.context.call("vkGetQueryPoolResults", pool, index, 1, 8, value, 8, flags)
        return value[0]

    def between_ms(self, first: Slot, second: Slot) -> float:
        """Milliseconds from one stamp to another; negative when that is the earlier one."""
        span = 1 << self.bits
        difference = (self.ticks(second) - self.ticks(first)) % span
        if difference >= span // 2:  # of a clock that begins again at its end
            difference -= span
        return difference * self._tick_ns / 1e6

    def end(self) -> None:
        """Destroy the slots."""
        for pool in self._pools:
            self.context.vk.vkDestroyQueryPool(self.context.handle, pool, null())


class _Mark(Mark):
    """A mark with a time stamp.

    Attributes:
        epoch: that of the work before it.
        slot: of its time stamp.
    """

    __slots__ = ("epoch", "slot")

    def __init__(self) -> None:
        super().__init__()
        self.epoch = 0
        self.slot: Slot | None = None


class VulkanEvent(QueuedEvent[_Mark]):
    """A point in a stream; timed by the device."""

    @property
    def _order(self) -> Recorder:
        return self.device.recorder

    def _new_mark(self) -> _Mark:
        mark = _Mark()
        if self.timing:
            mark.slot = self.device.clock.take(mark)
        return mark

    def _set(self, mark: _Mark, stream: VulkanStream) -> None:
        if mark.slot is not None:
            stream.recorder.stamp(stream, *mark.slot)
        mark.point, mark.epoch = stream.recorder.mark(stream)

    def _follow(self, mark: _Mark, stream: VulkanStream) -> None:
        with stream.context.lock:
            stream.epoch = max(stream.epoch, mark.epoch)
            stream.point = max(stream.point, mark.point)

    def _between_ms(self, first: _Mark, second: _Mark) -> float:
        assert first.slot is not None and second.slot is not None  # as both events time
        return self.device.clock.between_ms(first.slot, second.slot)
