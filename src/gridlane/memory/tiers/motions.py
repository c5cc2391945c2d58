"""Motions of blocks between tiers. No function here is called with the lock held."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.core.errors import SpillError, TierFull
from gridlane.memory.tiers.block import DEVICE, DISK, HOST, ZERO, Block
from gridlane.memory.tiers.manager import Manager
from gridlane.memory.tiers.places import DevicePlace, Place, host_memory

_NO_DISK = "release blocks, allow more, or add a disk: Tiers(disk=...), GRIDLANE_TIERS_DISK"
_RELEASE = "release blocks, or allow more bytes"


def reserve(manager: Manager, place: Place, size: int, wait: bool = True) -> None:
    """Reserve room in a place, and move down what must leave for it.

    Raises:
        TierFull: nothing may leave.
        SpillError: what must leave could not be written.
    """
    advice = _RELEASE if manager.store is not None else _NO_DISK
    while True:
        with manager.locked():
            while not place.take(size):
                victim = place.victim(lambda block: _may_leave(manager, block, place))
                if size > place.quota or (victim is None and not (wait and place.hope)):
                    raise place.full(size, advice)
                if victim is None:
                    manager.wait()
                elif not manager.evict_clean(victim, place):
                    manager.begin(victim)
                    break
            else:
                return
        move_down(manager, victim, place)


def _may_leave(manager: Manager, block: Block, place: Place) -> bool:
    below = manager.store is not None or place.bit == DEVICE
    return below or manager.droppable(block, place)


def move_down(manager: Manager, block: Block, place: Place, keep: bool = False) -> None:
    """Write a block whose motion has begun to the tier below, and drop the copy here.

    Args:
        keep: keep the copy, which is then clean.

    Raises:
        SpillError: it could not be written, and stays as it is.
        TierFull: there is no tier below with room.
    """
    try:
        if not keep and manager.droppable(block, place):
            for each in tuple(block.fences):
                each.synchronize()
        elif isinstance(place, DevicePlace):
            _device_down(manager, block)
        else:
            assert block.host is not None
            put(manager, block, block.host)
    except TierFull:
        _end(manager, block)
        raise
    except Exception as error:
        _end(manager, block)
        raise SpillError(
            f"a block of {block.size} bytes cannot leave the tier {place.name}: {error}"
        ) from error
    except BaseException:
        _end(manager, block)
        raise
    with manager.locked():
        if not keep and not place.pinned(block):
            place.evictions += 1
            manager.drop(block, place)
        manager.end(block)


def _end(manager: Manager, block: Block) -> None:
    with manager.locked():
        manager.end(block)


def put(manager: Manager, block: Block, data: np.ndarray) -> None:
    """Write the contents of a block in motion to the store."""
    assert manager.store is not None
    block.stored = True  # a part of it may be there after an error
    manager.store.put(block.key, data.data, block.itemsize)
    with manager.locked():
        manager.stored(block)


def read(manager: Manager, block: Block, into: np.ndarray) -> None:
    """Read the contents of a block in motion from the store."""
    assert manager.store is not None
    manager.store.read(block.key, into.data)
    with manager.locked():
        manager.counters.from_disk += block.size


def _download(manager: Manager, block: Block, into: np.ndarray) -> None:
    assert block.device is not None
    block.device.download(into, block.buffer.address, tuple(block.fences))
    with manager.locked():
        manager.counters.from_device += block.size


def _device_down(manager: Manager, block: Block) -> None:
    """Move a device's copy to host memory that is free, or past it to the disk. This never waits
    for room: who waits for a device's room may hold host memory that others wait for."""
    with manager.locked():
        reserved = manager.take_free(block.size)
    if not reserved and manager.store is None:
        with manager.locked():
            raise manager.host.full(block.size, _NO_DISK)
    try:
        data = host_memory(block.size)
        _download(manager, block, data)
    except BaseException:
        if reserved:
            with manager.locked():
                manager.unreserve(manager.host, block.size)
        raise
    if not reserved:
        put(manager, block, data)
        return
    with manager.locked():
        manager.install(block, manager.host, data)


def fetch(manager: Manager, block: Block, place: Place, write: bool, fresh: bool) -> None:
    """Bring a block that this thread has claimed to a place. Its motion has begun on return.

    Args:
        write: whether it will be pinned for writing.
        fresh: its contents will all be replaced.

    Raises:
        TierFull, SpillError, BlockInUse.
        Exception: what the store or the device raises.
    """
    reserve(manager, place, block.size)
    begun = installed = False
    try:
        with manager.locked():
            while block.moving is not None or not manager.free_of_conflicts(block, place, write):
                manager.wait()
            manager.check(block)
            manager.begin(block)
            begun = True
        memory = _copy_in(manager, block, place, fresh)
        with manager.locked():
            installed = True
            manager.install(block, place, memory)
    except BaseException:
        with manager.locked():
            if not installed:
                manager.unreserve(place, block.size)
            if begun:
                manager.end(block)
        raise


def _copy_in(manager: Manager, block: Block, place: Place, fresh: bool) -> Any:
    """The memory of a new copy."""
    if isinstance(place, DevicePlace):
        return _to_device(manager, block, place, fresh)
    data = host_memory(block.size)
    _fill(manager, block, data, fresh)
    return data


def _fill(manager: Manager, block: Block, data: np.ndarray, fresh: bool = False) -> None:
    """Copy the contents of a block into zeros."""
    if fresh or block.valid & ZERO:
        return
    if block.valid & HOST:
        assert block.host is not None
        data[:] = block.host
    elif block.valid & DEVICE:
        _download(manager, block, data)
    else:
        assert block.valid & DISK
        read(manager, block, data)


def _to_device(manager: Manager, block: Block, place: DevicePlace, fresh: bool) -> Any:
    buffer = place.device.allocate(block.size)
    if fresh or block.valid & ZERO:
        place.clear(buffer.address, block.size)
        return buffer
    data = block.host if block.valid & HOST else None
    if data is None:
        with manager.locked():
            reserved = manager.take_free(block.size)
        try:
            data = host_memory(block.size)
            _fill(manager, block, data)
        except BaseException:
            if reserved:
                with manager.locked():
                    manager.unreserve(manager.host, block.size)
            raise
        if reserved:
            with manager.locked():
                manager.install(block, manager.host, data)
    place.upload(buffer.address, data)
    with manager.locked():
        manager.counters.to_device += block.size
    return buffer
