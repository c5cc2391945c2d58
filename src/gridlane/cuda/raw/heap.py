"""The memory that ``malloc`` of kernels takes its blocks of: one on each device."""

from __future__ import annotations

import threading

import numpy as np

from gridlane.core.config import config
from gridlane.core.heap_layout import layout
from gridlane.cuda.arrays.creation import device_array
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.launch import current

_lock = threading.Lock()
_NAME = "malloc"


def heap() -> DeviceNDArray:
    """The bytes on the current device, made at the first call. All modules share them, and what a
    launch allocates stays until a launch frees it.

    Raises:
        MemoryError: the device has no room for them.
    """
    device = current.device()
    with _lock:
        found: DeviceNDArray | None = device.memory.kept.get(_NAME)
        if found is None:
            words, first = layout(config().heap)
            made = device_array(config().heap, "u1")
            start = np.zeros(first[1], np.uint8)  # the pieces need no values
            start.view(np.uint32)[: len(first)] = first
            assert words > 0
            made[: len(start)].copy_to_device(start)
            device.default_stream.synchronize()  # before launches on any other stream
            found = device.memory.kept[_NAME] = made
        return found
