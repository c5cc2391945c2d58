"""Events: points in streams, with the device's time."""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import TYPE_CHECKING, Any

from gridlane.runtime.drivers.vulkan.api import constant, new, null, struct
from gridlane.runtime.drivers.vulkan.context import Context
from gridlane.runtime.errors import (
    INVALID_HANDLE,
    NOT_CAPTURED,
    NOT_READY,
    NOT_SUPPORTED,
    fail,
)

if TYPE_CHECKING:
    from gridlane.runtime.drivers.vulkan.device import VulkanDevice
    from gridlane.runtime.drivers.vulkan.stream import VulkanStream

_handles = itertools.count(0x1000)
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


class _Mark:
    """One recording of an event.

    Attributes:
        recorded: whether the stream has come so far that the rest is known.
        point: the submission after which it is passed.
        epoch: that of the work before it.
        slot: of its time stamp.
    """

    __slots__ = ("__weakref__", "epoch", "point", "recorded", "slot")

    def __init__(self) -> None:
        self.recorded = threading.Event()
        self.point = self.epoch = 0
        self.slot: Slot | None = None


class VulkanEvent:
    """A point in a stream; timed by the device."""

    def __init__(self, device: VulkanDevice, timing: bool = True) -> None:
        self.device = device
        self.timing = timing
        self.handle = next(_handles)
        self._mark: _Mark | None = None

    def record(self, stream: VulkanStream) -> None:
        """Record behind the work that is in the stream now."""
        if stream.capturing:
            fail(NOT_CAPTURED, f"an event, on the device {self.device.name}")
        self._check_device(stream)
        mark = _Mark()
        if self.timing:
            mark.slot = self.device.clock.take(mark)
        recorder = self.device.recorder

        def set_mark() -> None:
            if mark.slot is not None:
                recorder.stamp(stream, *mark.slot)
            mark.point, mark.epoch = recorder.mark(stream)
            mark.recorded.set()

        stream.do(set_mark)
        self._mark = mark

    def query(self) -> bool:
        """Whether the stream has passed it."""
        mark = self._mark
        self.device.context.enter()
        if mark is None:
            return True
        return mark.recorded.is_set() and self.device.recorder.passed(mark.point)

    def synchronize(self) -> None:
        """Wait until the stream has passed it."""
        mark = self._mark
        self.device.context.enter()
        if mark is not None:
            mark.recorded.wait()
            self.device.recorder.wait(mark.point)

    def wait(self, stream: VulkanStream) -> None:
        """Make the later work of a stream wait for it."""
        mark = self._mark
        if mark is None:
            return
        if stream.capturing:
            fail(NOT_CAPTURED, f"waiting for an event, on the device {self.device.name}")
        self._check_device(stream)

        def follow() -> None:
            with stream.context.lock:
                stream.epoch = max(stream.epoch, mark.epoch)
                stream.point = max(stream.point, mark.point)

        if mark.recorded.is_set():
            stream.do(follow)
        else:
            stream.put_behind(mark.recorded.wait, follow)

    def elapsed_ms(self, end: VulkanEvent) -> float:
        """Milliseconds of the device's clock from this event to ``end``.

        Raises:
            DeviceError: INVALID_HANDLE when one was not recorded or does not time, NOT_READY when
                one has not been passed.
        """
        named = (("first", self), ("second", end))
        slots = [event._slot(name) for name, event in named]
        for name, event in named:
            if not event.query():
                fail(NOT_READY, f"the {name} event")
        return self.device.clock.between_ms(*slots)

    def _slot(self, name: str) -> Slot:
        if self._mark is None:
            fail(INVALID_HANDLE, f"the {name} event was not recorded")
        if self._mark.slot is None:
            fail(INVALID_HANDLE, f"the {name} event was made with timing=False")
        return self._mark.slot

    def _check_device(self, stream: VulkanStream) -> None:
        if stream.device is not self.device:
            fail(INVALID_HANDLE, "the stream is another device's than the event")
