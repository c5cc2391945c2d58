"""Buffers, and where their memory comes from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from gridlane.core.process_bound import ProcessBound

ALIGNMENT = 256
"""Buffers begin at a multiple of this."""

HostMemory = Literal["pinned", "mapped", "managed"]


@dataclass(slots=True, eq=False, weakref_slot=True)
class Buffer(ProcessBound):
    """Memory that lives as long as this object.

    Attributes:
        address: of the first byte, as kernels get it.
        size: in bytes.
        owner: is held as long as the buffer is.
        device: whose memory it is, where that is known.
    """

    _instead = "copy the bytes to the host"
    address: int
    size: int
    owner: Any = field(repr=False, default=None)
    device: Any = field(repr=False, default=None)


B_co = TypeVar("B_co", bound=Buffer, covariant=True)


class MemoryResource(Protocol[B_co]):
    """Where memory comes from, and where it goes back to.

    A buffer has no method that ends it: its memory goes back when nobody holds it any more, so
    ``deallocate`` gets what is left of it. ``memory.DeviceMemory`` calls both.
    """

    def allocate(self, size: int) -> B_co:
        """Memory of exactly ``size`` bytes, at least 0, aligned to ``ALIGNMENT``.

        Raises:
            DeviceError: OUT_OF_MEMORY.
        """
        ...

    def deallocate(self, address: int, size: int) -> None:
        """Take back the memory of a buffer that is gone. Work that was appended before may still
        use it.

        It is called from any thread, at any moment, in the middle of ``allocate`` even: an
        implementation that cannot work then notes the memory for later. It raises nothing.
        """
        ...


def goes_with_owner(address: int, size: int) -> None:
    """The ``deallocate`` of a resource whose buffers own their memory: nothing is left to do."""


@runtime_checkable
class Pool(MemoryResource[B_co], Protocol[B_co]):
    """A resource that keeps memory for later allocations."""

    @property
    def reserved(self) -> int:
        """Bytes that it holds of the device."""
        ...

    def trim(self, keep: int = 0) -> None:
        """Give the device what nothing uses, while the pool holds more than ``keep`` bytes."""
        ...
