"""The device's clock: time stamps, in reusable slots."""

from __future__ import annotations

import weakref
from typing import Any

from gridlane.core.device_errors import NOT_SUPPORTED, fail
from gridlane.runtime.drivers.vulkan.api import constant, new, null, struct
from gridlane.runtime.drivers.vulkan.context import Context

SLOTS = 256
"""Time stamps of a query pool."""

Slot = tuple[Any, int]
"""A VkQueryPool and a number in it."""


class Clock:
    """The device's time stamps, in reusable slots."""

    def __init__(self, context: Context) -> None:
        self.context = context
        limits = context.adapter.properties.properties.limits
        self.bits = context.adapter.timestamp_bits
        self._tick_ns = limits.timestampPeriod
        self._pools: list[Any] = []
        self._free: list[Slot] = []

    def take(self, owner: Any) -> Slot:
        """Take a slot, until ``owner`` dies and the work so far is done."""
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
        """A recorded time stamp, in ticks."""
        pool, index = slot
        value = new("uint64_t *")
        flags = constant("VK_QUERY_RESULT_64_BIT") | constant("VK_QUERY_RESULT_WAIT_BIT")
        self.context.call("vkGetQueryPoolResults", pool, index, 1, 8, value, 8, flags)
        return value[0]

    def between_ms(self, first: Slot, second: Slot) -> float:
        """Milliseconds from one stamp to another; negative if the second is the earlier one."""
        span = 1 << self.bits
        difference = (self.ticks(second) - self.ticks(first)) % span
        if difference >= span // 2:  # the clock wraps
            difference -= span
        return difference * self._tick_ns / 1e6

    def end(self) -> None:
        """Destroy the slots."""
        for pool in self._pools:
            self.context.vk.vkDestroyQueryPool(self.context.handle, pool, null())
