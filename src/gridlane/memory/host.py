"""Memory of the host, aligned as devices want it."""

from __future__ import annotations

import numpy as np

from gridlane.core.device_errors import OUT_OF_MEMORY, fail
from gridlane.memory.resource import ALIGNMENT, Buffer, goes_with_owner

HUGE = 2 << 20
"""Large buffers begin at a multiple of this, so that the system can back them with huge pages."""
_MOST = 1 << 62
"""More bytes than any address space has; numpy counts bytes by 63 bits."""


def address_of(array: np.ndarray) -> int:
    """The address of an array's first element. ``array.ctypes`` imports, which Python does not do
    while it ends."""
    return array.__array_interface__["data"][0]


class HostResource:
    """The memory of the process. It is what devices have whose kernels run on the host, and pinned
    memory where no driver knows pages that are."""

    def allocate(self, size: int) -> Buffer:
        """Memory of ``size`` bytes; its contents are undefined."""
        align = HUGE if size >= 2 * HUGE else ALIGNMENT
        try:
            memory = np.empty(size + align if size < _MOST else _MOST, np.uint8)
        except MemoryError:
            fail(OUT_OF_MEMORY, f"{size} bytes")
        return Buffer(-(-address_of(memory) // align) * align, size, memory)

    deallocate = staticmethod(goes_with_owner)
