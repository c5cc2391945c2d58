"""The memory that ``malloc`` of kernels takes its blocks of: one on each device."""

from __future__ import annotations

import threading

import numpy as np

from gridlane.core.config import config
from gridlane.core.heap_layout import layout
from gridlane.memory.resource import Buffer
from gridlane.runtime.protocol import Device

_lock = threading.Lock()
_NAME = "malloc"


def heap(device: Device) -> Buffer:
    """The bytes on a device, made at the first call. All modules share them, and what a launch
    allocates stays until a launch frees it.

    Raises:
        DeviceError: OUT_OF_MEMORY, the device has no room for them.
    """
    with _lock:
        found: Buffer | None = device.memory.kept.get(_NAME)
        if found is None:
            words, first = layout(config().heap)
            made = device.allocate(config().heap)
            start = np.zeros(first[1], np.uint8)  # the pieces need no values
            start.view(np.uint32)[: len(first)] = first
            assert words > 0
            device.upload(made.address, start.data)
            device.default_stream.synchronize()  # before launches on any other stream
            found = device.memory.kept[_NAME] = made
        return found
