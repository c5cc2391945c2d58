"""Pools of device memory that streams allocate and free in the order of their work."""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import partial
from typing import Any

from gridlane.abi.failure import INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.abi.state import contexts, memory
from gridlane.abi.state.handles import Handles
from gridlane.abi.state.memory import Allocation
from gridlane.abi.state.streams import Stream
from gridlane.core import epochs
from gridlane.core.errors import GridlaneError
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.resource import Buffer
from gridlane.runtime import protocol
from gridlane.runtime.memory_pools import MemoryPool


class Pool(MemoryPool):
    """A pool of CUDA's interface, with a number."""

    def __init__(self, device: protocol.Device, most: int = 0) -> None:
        super().__init__(device, most)
        self.handle = pools.add(self)

    def allocate(self, size: int, stream: Stream) -> Allocation:
        """Memory that later work of a stream may use.

        Raises:
            Failure: INVALID_VALUE for no bytes; NOT_SUPPORTED in a capture.
            DeviceError: OUT_OF_MEMORY, of the device or over the pool's maximum.
        """
        if size <= 0:
            fail(INVALID_VALUE, f"an allocation of {size} bytes")
        check_order(stream, self.device)
        piece = self.take(size, stream.native)
        address = piece.buffer.address
        return memory.add(Allocation(address, size, "device", stream.context, piece, pool=self))

    def _buffer(self, size: int) -> Buffer:
        buffer = super()._buffer(size)
        memory.hidden.add(buffer)
        epochs.pools.changed()
        return buffer


pools = Handles[Pool]("memory pool", INVALID_VALUE)
pool = pools.get
_lock = threading.RLock()
_defaults: dict[DeviceMemory[Any], Pool] = {}
_chosen: dict[DeviceMemory[Any], Pool] = {}


def default(device: protocol.Device) -> Pool:
    """The pool that a device has from the beginning."""
    with _lock:
        if device.memory not in _defaults:
            _defaults[device.memory] = Pool(device)
        return _defaults[device.memory]


def chosen(device: protocol.Device) -> Pool:
    """The pool that streams of a device allocate from."""
    pool = _chosen.get(device.memory)
    return pool if pool is not None and not pool.destroyed else default(device)


def choose(device: protocol.Device, pool: Pool) -> None:
    """Set the pool from which streams of a device allocate.

    Raises:
        Failure: INVALID_VALUE, it is another device's.
    """
    if device is not pool.device:
        fail(INVALID_VALUE, f"the pool is of {pool.device.name}, not of {device.name}")
    _chosen[device.memory] = pool


def destroy(pool: Pool) -> None:
    """End a pool.

    Raises:
        Failure: INVALID_VALUE, it is the one that a device has from the beginning.
    """
    if pool in _defaults.values():
        fail(INVALID_VALUE, "the default pool of a device cannot be destroyed")
    pools.remove(pool.handle)
    _leaving.add(pool)
    pool.destroy()


_leaving: set[Pool] = set()
"""Destroyed pools that may still hold memory."""


def check_order(stream: Stream, device: protocol.Device) -> None:
    """Raise where memory cannot follow the order of a stream: it is recorded, or of another device.

    Raises:
        Failure: NOT_SUPPORTED, INVALID_VALUE.
    """
    if stream.native.capturing:
        fail(NOT_SUPPORTED, "memory that a graph allocates: allocate before the capture")
    if device is not stream.context.device:
        fail(INVALID_VALUE, f"the stream is not of the device {device.name}, which has the memory")


def free(address: int, stream: Stream) -> None:
    """Free memory after the work that is in a stream.

    Raises:
        Failure: INVALID_VALUE, no allocation begins there.
    """
    native = stream.native
    allocation = memory.starting_at(address, stream.context.ordinal, "device", "managed")
    check_order(stream, allocation.context.device)
    if native.inline:
        memory.remove(allocation)
    elif allocation.pool is not None:
        done = allocation.context.device.new_event(False)
        done.record(native)
        memory.remove(allocation, (native, done))
    else:
        owner = allocation.owner
        memory.remove(allocation)
        native.submit(partial(_hold, owner), always=True)


def _hold(owner: object) -> None:
    """Do nothing: what is an argument of later work lives until then."""


def settle(device: protocol.Device) -> None:
    """Return what pools of a device hold over their threshold; called after a wait for work."""
    for each in (*pools.objects(), *_leaving):
        if each.device is device and each.reserved:
            with suppress(GridlaneError):  # the device is lost: its memory is as well
                each.settle()
        if each.destroyed and not each.reserved:
            _leaving.discard(each)


def holds_any(device: protocol.Device) -> bool:
    """Whether pools of a device hold memory, so that ``settle`` may have something to do."""
    every = (*pools.objects(), *_leaving)
    return any(each.device is device and each.reserved for each in every)


contexts.after_wait.append(settle)
