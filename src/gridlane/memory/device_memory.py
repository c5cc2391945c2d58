"""The memory of a device: its resource, and the accounting."""

from __future__ import annotations

import operator
import sys
import threading
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any, Generic, NoReturn, TypeVar

from gridlane.core import epochs
from gridlane.core.device_errors import INVALID_VALUE, fail
from gridlane.core.source import is_own_file
from gridlane.core.weak import live
from gridlane.memory.accounting import Accounting, PoolStatistics, Site, is_traced
from gridlane.memory.addresses import Addresses
from gridlane.memory.resource import ALIGNMENT, Buffer, MemoryResource, Pool, counts_elsewhere

B = TypeVar("B", bound=Buffer)


_memories: weakref.WeakSet[DeviceMemory[Any]] = weakref.WeakSet()


def memories_of(device: object) -> list[DeviceMemory[Any]]:
    """The memories whose owner is a device: its own first, then the host's for it by kind."""
    found = [memory for memory in live(_memories) if memory.of is device]
    return sorted(found, key=lambda memory: (memory.kind != "device", memory.kind))


def user_site() -> Site:
    """The line of the program that called gridlane: the innermost one in no file of gridlane's."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    site: Site = "", 0, ""
    while frame is not None:
        code = frame.f_code
        site = code.co_filename, frame.f_lineno, code.co_name
        if not is_own_file(code.co_filename):
            break
        frame = frame.f_back
    return site


def _low_bits(resource: Any) -> int:
    """The bits that are 0 in the addresses of a resource's buffers."""
    return getattr(resource, "alignment", ALIGNMENT) - 1


class _Thread(threading.local):
    """What a thread has chosen: the resource of its arrays on ``pool.device``."""

    pool: Any = None


THREAD = _Thread()


class DeviceMemory(Generic[B]):
    """Memory of one kind.

    Args:
        resource: allocates it. It may be replaced at any time: a buffer's memory is freed by the
            resource that allocated it.
        device: the owner's device, which buffers name. None for a driver's internal memory.
        addresses: finds buffers; by default a map of Python's.
        kind: ``device`` memory, or that of the host for it: ``pinned``, ``mapped``, ``managed``,
            ``staging``; ``reports`` of kernels.
        of: the owner's device, where buffers name none.
    """

    def __init__(
        self,
        resource: MemoryResource[B],
        device: Any = None,
        addresses: Addresses[Any] | None = None,
        kind: str = "device",
        of: Any = None,
    ) -> None:
        self._resource, self.device, self.kind = resource, device, kind
        self.of = device if of is None else of
        self._low_bits = _low_bits(resource)
        self.accounting = Accounting(addresses=addresses)
        self.outside: Callable[[int], object] | None = None
        """Is called with an address before it is looked for: it adds what others allocated."""
        self.kept: dict[str, Any] = {}
        """What lives as long as this memory, by its name."""
        _memories.add(self)

    def allocate(self, size: int) -> B:
        """Allocate a buffer of ``size`` bytes. Its memory is freed at the end of its lifetime. Hot.

        Raises:
            DeviceError: OUT_OF_MEMORY; INVALID_VALUE for a negative size, and if the resource's
                buffer has another size or is not aligned.
        """
        accounting, resource = self.accounting, self._resource
        if size < 0:
            fail(INVALID_VALUE, f"{size} bytes")
        if not accounting.is_plain:
            return self._allocate_noted(size)
        buffer, deallocate = resource.allocate(size), resource.deallocate
        if buffer.size != size or buffer.address & self._low_bits:
            _refuse(buffer, size, deallocate)
        buffer.device = self.device
        accounting.add(buffer, deallocate)
        return buffer

    def _allocate_noted(self, size: int) -> B:
        """Allocate under a limit, of a thread's pool, or with a note of the site."""
        accounting, pool = self.accounting, THREAD.pool
        is_pooled = pool is not None and pool.device is self.device
        resource: Any = pool if is_pooled else self._resource
        site = user_site() if is_traced() else None
        counts = resource.deallocate is not counts_elsewhere
        if counts:
            accounting.reserve(size)
        try:
            buffer, deallocate = resource.allocate(size), resource.deallocate
            if buffer.size != size or buffer.address & self._low_bits:
                _refuse(buffer, size, deallocate)
            buffer.device = self.device
        except BaseException:
            if counts:
                accounting.cancel(size)
            raise
        accounting.add(buffer, deallocate, reserved=counts)
        if site is not None:
            accounting.sites[buffer] = site
        return buffer

    def note(self, buffer: Buffer) -> Buffer:
        """Make host memory findable by the address that kernels may use; return its buffer."""
        buffer.device = self.device
        self.accounting.note(buffer)
        return buffer

    def renewed(self, resource: MemoryResource[B]) -> DeviceMemory[B]:
        """The memory of a lost device after it is reopened: no buffer, the same limit."""
        memory = DeviceMemory(resource, self.device, kind=self.kind)
        memory.limit = self.limit
        memory.accounting.use_pool(self.accounting.pools)
        return memory

    # --- facts ---

    @property
    def resource(self) -> MemoryResource[B]:
        """What allocates the memory."""
        return self._resource

    @resource.setter
    def resource(self, resource: MemoryResource[B]) -> None:
        self._resource, self._low_bits = resource, _low_bits(resource)
        epochs.state.changed()

    @property
    def limit(self) -> int | None:
        """The most bytes that may be used; None for the device's memory."""
        return self.accounting.limit

    @limit.setter
    def limit(self, limit: int | None) -> None:
        """Set the limit.

        Raises:
            TypeError: it is neither an integer nor None.
            DeviceError: INVALID_VALUE, it is negative.
        """
        if limit is not None and operator.index(limit) < 0:
            fail(INVALID_VALUE, f"a limit of {limit} bytes", "give 0 or more, or None for none")
        self.accounting.limit = None if limit is None else operator.index(limit)
        epochs.state.changed()

    def find(self, address: int, size: int) -> Buffer | None:
        """The live buffer that holds bytes, inside it or at its start; None if none does."""
        if self.outside is not None:
            self.outside(address)
        return self.accounting.find(address, size)

    def trim(self, keep: int = 0) -> None:
        """Return unused memory to the device, if the resource keeps any."""
        if isinstance(self.resource, Pool):
            self.resource.trim(keep)

    def statistics(self) -> PoolStatistics:
        """The statistics of the memory."""
        reserved = self.resource.reserved if isinstance(self.resource, Pool) else 0
        return self.accounting.statistics(reserved)


def _refuse(buffer: Buffer, size: int, deallocate: Callable[[int, int], object]) -> NoReturn:
    """Refuse a resource's buffer, beyond whose end kernels would read or write, and free it.

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
