"""The memory of a device: a resource that it comes from, and the accounting."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Generic, NoReturn, TypeVar

from gridlane.core.device_errors import INVALID_VALUE, fail
from gridlane.memory.accounting import Accounting, PoolStatistics
from gridlane.memory.resource import ALIGNMENT, Buffer, MemoryResource, Pool

B = TypeVar("B", bound=Buffer)

_LOW_BITS = ALIGNMENT - 1


class DeviceMemory(Generic[B]):
    """Memory of one kind.

    Args:
        resource: where it comes from. It may be replaced at any time: a buffer's memory goes back
            to where it came from.
        device: whose memory it is; what the buffers say. None for what a driver needs itself.
    """

    def __init__(self, resource: MemoryResource[B], device: Any = None) -> None:
        self.resource, self.device = resource, device
        self.accounting = Accounting()

    def allocate(self, size: int) -> B:
        """A buffer of ``size`` bytes. Its memory goes back when nobody holds it. Hot.

        Raises:
            DeviceError: OUT_OF_MEMORY; INVALID_VALUE for a negative size, and for a buffer of the
                resource that has another size or is not aligned.
        """
        accounting, resource = self.accounting, self.resource
        if size < 0:
            fail(INVALID_VALUE, f"{size} bytes")
        if accounting.limit is not None:
            return self._allocate_within(size)
        buffer, deallocate = resource.allocate(size), resource.deallocate
        if buffer.size != size or buffer.address & _LOW_BITS:
            _refuse(buffer, size, deallocate)
        buffer.device = self.device
        accounting.add(buffer, deallocate)
        return buffer

    def _allocate_within(self, size: int) -> B:
        """The same, under a limit."""
        accounting, resource = self.accounting, self.resource
        accounting.reserve(size)
        try:
            buffer, deallocate = resource.allocate(size), resource.deallocate
            if buffer.size != size or buffer.address & _LOW_BITS:
                _refuse(buffer, size, deallocate)
            buffer.device = self.device
        except BaseException:
            accounting.cancel(size)
            raise
        accounting.add(buffer, deallocate, reserved=True)
        return buffer

    def note(self, buffer: Buffer) -> Buffer:
        """Have memory of the host found by the address that kernels may use; the buffer."""
        buffer.device = self.device
        self.accounting.note(buffer)
        return buffer

    def renewed(self, resource: MemoryResource[B]) -> DeviceMemory[B]:
        """The memory of a device that was lost and is open again: no buffer, the same limit."""
        memory = DeviceMemory(resource, self.device)
        memory.limit = self.limit
        return memory

    # --- facts ---

    @property
    def limit(self) -> int | None:
        """The most bytes that may be used; None for the device's memory."""
        return self.accounting.limit

    @limit.setter
    def limit(self, limit: int | None) -> None:
        """Set it.

        Raises:
            TypeError: it is neither an integer nor None.
            DeviceError: INVALID_VALUE, it is negative.
        """
        if limit is not None and operator.index(limit) < 0:
            fail(INVALID_VALUE, f"a limit of {limit} bytes", "give 0 or more, or None for none")
        self.accounting.limit = None if limit is None else operator.index(limit)

    def find(self, address: int, size: int) -> Buffer | None:
        """The live buffer that holds bytes, inside it or at its start; None where none does."""
        return self.accounting.find(address, size)

    def trim(self, keep: int = 0) -> None:
        """Give the device what nothing uses, where the resource keeps such."""
        if isinstance(self.resource, Pool):
            self.resource.trim(keep)

    def statistics(self) -> PoolStatistics:
        """How much there is."""
        reserved = self.resource.reserved if isinstance(self.resource, Pool) else 0
        return self.accounting.statistics(reserved)


def _refuse(buffer: Buffer, size: int, deallocate: Callable[[int, int], object]) -> NoReturn:
    """Refuse a resource's buffer, which kernels would read or write beyond, and give it back.

    Raises:
        DeviceError: INVALID_VALUE.
    """
    deallocate(buffer.address, buffer.size)
    fail(
        INVALID_VALUE,
        f"the memory resource gave {buffer.size} bytes at {buffer.address:#x}, where {size} bytes "
        f"at a multiple of {ALIGNMENT} are required",
        "correct its method allocate",
    )
