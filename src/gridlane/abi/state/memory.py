"""What programs allocate, by address: memory of devices, and of the host for devices."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from gridlane.abi import raw
from gridlane.abi.failure import INVALID_VALUE, OUT_OF_MEMORY, Failure, fail
from gridlane.abi.state.contexts import Context
from gridlane.core.errors import GridlaneError
from gridlane.memory.resource import Buffer
from gridlane.runtime import host_map, protocol
from gridlane.runtime.host_device import HostDevice
from gridlane.runtime.host_map import HostMap

Kind = Literal["device", "managed", "host", "registered"]


@dataclass(slots=True, eq=False)
class Allocation:
    """A piece of memory.

    Attributes:
        address, size: as programs use it, in bytes.
        kind: ``device`` memory; ``managed``, which host and device use; the ``host``'s own, for
            copies; or the program's own, ``registered`` for copies.
        context: that it was made in.
        owner: keeps the memory alive.
        flags: as it was made with.
        number: no two have the same.
        mapped: whether kernels may use the ``host``'s by the same address.
        pool: that it is of.
        synchronous: whether copies and fills of it that the caller may wait for are waited for.
        advice: the program's advice about its pages.
        is_opened: whether it is another process's.
        is_live: whether programs may free it: a graph's memory exists before it is allocated.
    """

    address: int
    size: int
    kind: Kind
    context: Context
    owner: Any = field(repr=False)
    flags: int = 0
    number: int = 0
    pool: Any = field(default=None, repr=False)
    mapped: bool = False
    synchronous: bool = False
    advice: Any = field(default=None, repr=False)
    is_opened: bool = False
    is_live: bool = True


_KINDS = {
    "device": host_map.DEVICE,
    "managed": host_map.MANAGED,
    "host": host_map.HOST,
    "registered": host_map.HOST,
}


def _kind(allocation: Allocation) -> int:
    device = allocation.context.device
    is_plain = isinstance(device, HostDevice) and device.is_plain
    return _KINDS[allocation.kind] if is_plain else host_map.FOREIGN


lock = threading.RLock()
_host = HostMap[Allocation](host_map.OF_HOST, _kind)
_of_devices: dict[int, HostMap[Allocation]] = {}
_count = 0

outside: list[Callable[[int], object]] = []
"""What is called with an address, and the lock, before it is looked for: it adds what others
allocated there."""


def _map(kind: Kind, ordinal: int) -> HostMap[Allocation]:
    if kind in ("host", "registered"):
        return _host
    if ordinal not in _of_devices:
        _of_devices[ordinal] = HostMap(host_map.OF_DEVICES, _kind)
    return _of_devices[ordinal]


def add(allocation: Allocation) -> Allocation:
    """Note an allocation; its context frees it at its end."""
    global _count
    with lock:
        _count += 1
        allocation.number = _count
        _map(allocation.kind, allocation.context.ordinal).add(
            allocation.address, allocation.size, allocation
        )
        context = allocation.context
        if "memory" not in context.kept:
            context.kept["memory"] = {}
            context.ends.append(lambda: _end(context))
        context.kept["memory"][allocation.number] = allocation
    return allocation


def _end(context: Context) -> None:
    """Forget all memory of a context that ends."""
    for allocation in list(context.kept.get("memory", {}).values()):
        with suppress(Failure, GridlaneError):
            remove(allocation)


Freed = tuple[protocol.Stream, protocol.Event]


def remove(allocation: Allocation, freed: Freed | None = None) -> None:
    """Forget an allocation. Its memory ends with its owner, or returns to its pool.

    Args:
        freed: the stream that frees it, and an event there: memory of a pool may be used again
            after it. None if all work is done.

    Raises:
        Failure: INVALID_VALUE, another thread freed it.
    """
    with lock:
        owned: dict[int, Allocation] = allocation.context.kept.get(
            "memory", {}
        )  # none after its end
        if owned.pop(allocation.number, None) is None:
            fail(INVALID_VALUE, f"{allocation.address:#x} was freed")
        _map(allocation.kind, allocation.context.ordinal).discard(allocation.address, allocation)
    if allocation.pool is not None:
        allocation.pool.give_back(allocation.owner, *(freed or (None, None)))


def find(address: int, size: int = 1, ordinal: int = 0) -> Allocation | None:
    """The allocation that holds bytes; of the device with the number first."""
    with lock:
        for each in outside:
            each(address)
        own = _of_devices.get(ordinal)
        entry = own.find(address, size) if own is not None else None
        if entry is None:
            for number, each in _of_devices.items():
                entry = entry or (each.find(address, size) if number != ordinal else None)
            entry = entry or _host.find(address, size)
    return entry[0] if entry is not None else None


def meets(address: int, size: int) -> bool:
    """Whether an allocation has one of the bytes; of C's blocks, only the first byte counts."""
    with lock:
        for each in outside:
            each(address)
        return any(each.meets(address, size) for each in (_host, *_of_devices.values()))


def starting_at(address: int, ordinal: int, *kinds: Kind) -> Allocation:
    """The allocation that begins at an address.

    Raises:
        Failure: INVALID_VALUE, none of these kinds does.
    """
    allocation = find(address, 0, ordinal)
    is_whole = allocation is not None and allocation.address == address and allocation.is_live
    if allocation is None or not is_whole or allocation.kind not in kinds:
        fail(INVALID_VALUE, f"{address:#x} is not what an allocation returned, or was freed")
    return allocation


def check_size(size: int) -> None:
    """Raise OUT_OF_MEMORY for more bytes than any machine addresses."""
    if size > raw.END:
        fail(OUT_OF_MEMORY, f"an allocation of {size} bytes")


def allocate(context: Context, size: int) -> Allocation:
    """Memory of a context's device.

    Raises:
        Failure: INVALID_VALUE for no bytes.
        DeviceError: OUT_OF_MEMORY.
    """
    if size <= 0:
        fail(INVALID_VALUE, f"an allocation of {size} bytes")
    check_size(size)
    buffer = context.device.allocate(size)
    return add(Allocation(buffer.address, size, "device", context, buffer))


def free(allocation: Allocation) -> None:
    """Free memory after the work that may use it.

    Raises:
        Failure: a kernel of that work failed; the memory is freed.
    """
    allocation.context.finish()
    remove(allocation)
    allocation.context.check()


hidden: weakref.WeakSet[Buffer] = weakref.WeakSet()
"""Memory that programs do not use by its address: arrays, records of textures, what pools keep."""


def variable(address: int, context: Context) -> Buffer | None:
    """Memory of a context's device that no program allocated: the variables of a module."""
    buffer = context.device.memory.find(address, 1)
    return None if buffer is None or buffer in hidden else buffer
