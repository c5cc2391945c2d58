"""Host memory, aligned as devices require."""

from __future__ import annotations

import numpy as np

from gridlane.core.device_errors import OUT_OF_MEMORY, fail
from gridlane.memory.resource import ALIGNMENT, Buffer, goes_with_owner

HUGE = 2 << 20
"""The alignment of large buffers, so that the system can back them with huge pages."""
_MOST = 1 << 62
"""More bytes than any address space has; numpy's sizes have 63 bits."""


def address_of(array: np.ndarray) -> int:
    """The address of an array's first element. ``array.ctypes`` imports, which Python cannot do
    while it exits."""
    return array.__array_interface__["data"][0]


class HostResource:
    """The memory of the process: that of devices whose kernels run on the host, and pinned memory
    where no driver pins pages."""

    def allocate(self, size: int) -> Buffer:
        """Allocate ``size`` bytes; their contents are undefined."""
        align = HUGE if size >= 2 * HUGE else ALIGNMENT
        try:
            memory = np.empty(size + align if size < _MOST else _MOST, np.uint8)
        except MemoryError:
            fail(OUT_OF_MEMORY, f"{size} bytes")
        return Buffer(-(-address_of(memory) // align) * align, size, memory)

    deallocate = staticmethod(goes_with_owner)
