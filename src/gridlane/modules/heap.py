"""The memory that ``malloc`` of kernels takes its blocks of: one on each device."""

from __future__ import annotations

import threading

import numpy as np

from gridlane.core.config import config
from gridlane.core.errors import ArgumentError
from gridlane.core.heap_layout import layout
from gridlane.memory.resource import Buffer
from gridlane.runtime.protocol import Device

_lock = threading.Lock()
_NAME, _SIZE = "malloc", "bytes of malloc"


def size_of(device: Device) -> int:
    """The bytes that it has, or will have."""
    size: int = device.memory.kept.get(_SIZE, config().heap)
    return size


def resize(device: Device, size: int) -> None:
    """Set its least number of bytes.

    Raises:
        ArgumentError: they are more than 1 GiB, or a kernel that allocates was launched, and there
            are fewer.
    """
    if size > 1 << 30:
        raise ArgumentError(f"{size} bytes for malloc of kernels: 1 GiB at most")
    with _lock:
        if size > size_of(device) and _NAME in device.memory.kept:
            raise ArgumentError("a kernel that calls malloc was launched: set its size before")
        device.memory.kept[_SIZE] = max(size, config().heap)


def heap(device: Device) -> Buffer:
    """The bytes on a device, made at the first call. All modules share them, and what a launch
    allocates stays until a launch frees it.

    Raises:
        DeviceError: OUT_OF_MEMORY, the device has no room for them.
    """
    with _lock:
        buffer: Buffer | None = device.memory.kept.get(_NAME)
        if buffer is None:
            word_count, first = layout(size_of(device))
            memory = device.allocate(size_of(device))
            start = np.zeros(first[1], np.uint8)  # the pieces need no values
            start.view(np.uint32)[: len(first)] = first
            assert word_count > 0
            device.upload(memory.address, start.data)
            device.default_stream.synchronize()  # before launches on any other stream
            buffer = device.memory.kept[_NAME] = memory
        return buffer
