"""Metal's memory: buffers that host and device share, at a different address for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.core.device_errors import OUT_OF_MEMORY, fail
from gridlane.memory.resource import ALIGNMENT
from gridlane.memory.suballocator import Arena, Suballocator
from gridlane.runtime.drivers.metal.context import Context


class Residency:
    """Keep every buffer resident, so that kernels may reach it by pointer: by a residency set if
    the device has them, else by declaring each buffer to each encoder."""

    def __init__(self, context: Context) -> None:
        metal = context.metal
        self._both = metal.MTLResourceUsageRead | metal.MTLResourceUsageWrite
        with context.pool():
            described = metal.MTLResidencySetDescriptor.new()
            self.set, _ = context.device.newResidencySetWithDescriptor_error_(described, None)
        self.buffers: list[Any] = []
        self.version = 0
        """Changes when a buffer is added."""

    def add(self, buffer: Any) -> None:
        """Make a buffer reachable."""
        self.buffers.append(buffer)
        self.version += 1
        if self.set is not None:
            self.set.addAllocation_(buffer)
            self.set.commit()
            self.set.requestResidency()

    def remove(self, buffer: Any) -> None:
        """Remove a buffer."""
        self.buffers.remove(buffer)
        if self.set is not None:
            self.set.removeAllocation_(buffer)
            self.set.commit()

    def tell(self, encoder: Any) -> None:
        """Declare every buffer to an encoder."""
        for buffer in self.buffers:
            encoder.useResource_usage_(buffer, self._both)


class Pool(Suballocator):
    """The device's memory."""

    by_pointer = True  # for the host

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        metal = context.metal
        self._options = (
            metal.MTLResourceStorageModeShared | metal.MTLResourceHazardTrackingModeUntracked
        )
        self.residency = Residency(context)

    def _new_arena(self, size: int, asked: int) -> Arena:
        adapter, what = self.context.adapter, f"{asked} bytes of device memory"
        length = size + ALIGNMENT
        if length > adapter.largest_buffer:
            fail(OUT_OF_MEMORY, f"{what}; the largest buffer has {adapter.largest_buffer}")
        if self.reserved + length > adapter.working_set:
            fail(OUT_OF_MEMORY, f"{what}, with {self.reserved} of {adapter.working_set} in use")
        with self.context.pool():
            buffer = self.context.device.newBufferWithLength_options_(length, self._options)
            if buffer is None:
                fail(OUT_OF_MEMORY, what)
            start = int(buffer.gpuAddress())
            bytes_ = np.frombuffer(buffer.contents().as_buffer(length), np.uint8)
        self.residency.add(buffer)
        skip = -start % ALIGNMENT
        return Arena(buffer, start + skip, bytes_.ctypes.data + skip, size, skip)

    def _end_arena(self, arena: Arena) -> None:
        self.residency.remove(arena.buffer)
