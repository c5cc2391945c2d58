"""Buffers, and the memory resources that allocate them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from gridlane.core.process_bound import ProcessBound

ALIGNMENT = 256
"""The alignment of buffers, in bytes."""

HostMemory = Literal["pinned", "mapped", "managed"]


@dataclass(slots=True, eq=False, weakref_slot=True)
class Buffer(ProcessBound):
    """Memory with the lifetime of this object.

    Attributes:
        address: of the first byte, as kernels use it.
        size: in bytes.
        owner: is kept alive by the buffer.
        device: the device of the memory, if known.
    """

    _instead = "copy the bytes to the host"
    address: int
    size: int
    owner: Any = field(repr=False, default=None)
    device: Any = field(repr=False, default=None)

    def part(self, size: int, owner: Any) -> Buffer:
        """Its first bytes, as a buffer with an owner that keeps them."""
        return Buffer(self.address, size, owner)

    @property
    def device_pointer(self) -> int:
        """The address, by numba's name for it: ``array.gpu_data.device_pointer``."""
        return self.address


B_co = TypeVar("B_co", bound=Buffer, covariant=True)


class MemoryResource(Protocol[B_co]):
    """Allocates memory, and frees it.

    A buffer has no method that ends it: its memory is freed at the end of its lifetime, so
    ``deallocate`` gets its address and size. ``memory.DeviceMemory`` calls both. A resource whose
    buffers have other addresses than multiples of ``ALIGNMENT`` has an attribute ``alignment``.
    """

    def allocate(self, size: int) -> B_co:
        """Allocate exactly ``size`` bytes, at least 0, aligned to ``ALIGNMENT``.

        Raises:
            DeviceError: OUT_OF_MEMORY.
        """
        ...

    def deallocate(self, address: int, size: int) -> None:
        """Free the memory of a dead buffer. Work that was appended before may still use it.

        It is called on any thread, at any moment, even inside ``allocate``: an implementation that
        cannot work then defers the free. It never raises.
        """
        ...


def goes_with_owner(address: int, size: int) -> None:
    """The ``deallocate`` of a resource whose buffers own their memory: does nothing."""


def counts_elsewhere(address: int, size: int) -> None:
    """The ``deallocate`` of buffers that own their memory and do not count: what they hold is given
    out in buffers that do."""


@runtime_checkable
class Pool(MemoryResource[B_co], Protocol[B_co]):
    """A resource that keeps freed memory for later allocations."""

    @property
    def reserved(self) -> int:
        """Bytes that it holds of the device."""
        ...

    def trim(self, keep: int = 0) -> None:
        """Return unused memory to the device, while the pool holds more than ``keep`` bytes."""
        ...
