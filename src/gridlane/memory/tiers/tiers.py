"""Tiers of memory: quotas of devices, of the host and of a disk, and the blocks that move there."""

from __future__ import annotations

import itertools
import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

import numpy as np

from gridlane.core.byte_sizes import byte_size
from gridlane.core.errors import BlockInUse, TierError
from gridlane.core.process_bound import ProcessBound
from gridlane.memory.tiers.background import Background
from gridlane.memory.tiers.block import DEVICE, DISK, HOST, Block
from gridlane.memory.tiers.manager import Manager, Table
from gridlane.memory.tiers.motions import fetch, put
from gridlane.memory.tiers.places import DevicePlace, Place, Store, TierDevice
from gridlane.memory.tiers.statistics import TierStatistics

_numbers = itertools.count()


class Tiers(ProcessBound):
    """Tiers that tiered arrays share. Its methods may be called from any thread.

    A forked child cannot use those of its parent, which raise ``TierError`` there.

    Args:
        host: the quota of host memory, in bytes or as a text such as ``"2GiB"``.
        device: the quota of each device; None for no devices.
        disk: a store of blocks; None for none. ``close`` leaves it open.
        ahead: how many dirty blocks the background writes to disk before they are evicted.

    Raises:
        TypeError: the disk is no store.
        ValueError: a size that is none.

    >>> tiers = Tiers(host="64MiB")
    >>> tiers.statistics().host_quota
    67108864
    >>> tiers.close()
    """

    _instead = "copy the arrays to NumPy"

    def __init__(
        self,
        host: int | str,
        device: int | str | None = None,
        disk: Store | None = None,
        *,
        ahead: int = 4,
    ) -> None:
        quota = None if device is None else byte_size(device)
        if ahead < 0:
            raise ValueError(f"{ahead} blocks ahead are fewer than none")
        if disk is not None and not all(hasattr(disk, each) for each in ("put", "read", "delete")):
            raise TypeError(
                f"disk is a store of blocks, not {type(disk).__name__}\n"
                '  in a folder: Tiers(..., disk=BlockStore("folder", temporary=True))'
            )
        self.manager = Manager(byte_size(host), quota, disk)
        self.background = Background(self.manager, ahead if disk is not None else 0)
        self._prefix = f"{os.getpid()}-{next(_numbers)}-"
        self._numbers = itertools.count()

    # --- blocks ---

    def new_table(self, count: int) -> tuple[Table, str]:
        """The blocks of an array, which take no memory until they are used, and the prefix of their
        keys.

        Raises:
            TierError: the tiers are closed.
        """
        table: Table = [None] * count
        manager = self.manager
        with manager.locked():
            if manager.closed:
                raise TierError("the tiers are closed")
            manager.tables[id(table)] = table
        return table, f"{self._prefix}{next(self._numbers)}-"

    def block(self, table: Table, index: int, key: str, size: int, itemsize: int = 1) -> Block:
        """A block of a table, which is made if this is its first use."""
        manager = self.manager
        with manager.locked():
            block = table[index]
            if block is None:
                block = table[index] = Block(key, size, itemsize)
                block.freed = id(table) not in manager.tables
            return block

    def acquire(self, block: Block, write: bool = False) -> np.ndarray:
        """Pin the copy in host memory: its bytes. Hot.

        Args:
            write: whether it will be written. Copies in other places are invalid from now on.

        Raises:
            TierFull: there is no room for it.
            BlockInUse: a pin in another tier is in the way.
            SpillError: what must leave for it could not be written.
            Exception: what the store or the device raises.
        """
        manager = self.manager
        with manager.lock:
            if block.ready == HOST if write else block.ready & HOST:
                block.pins += 1
                block.writers += write
                block.referenced |= HOST
                manager.counters.hits += 1
                return block.host  # pyright: ignore[reportReturnType]  # it is there
        return self._acquire(block, manager.host, write)

    def release(self, block: Block, write: bool = False) -> None:
        """Unpin what ``acquire`` pinned. Hot."""
        manager = self.manager
        with manager.lock:
            block.pins -= 1
            block.writers -= write
            if manager.waiting:
                manager.condition.notify_all()

    def acquire_on(self, block: Block, device: TierDevice, write: bool = True) -> int:
        """Pin the copy on a device: its address, as kernels use it. See ``acquire``."""
        place = self.manager.device(device)
        return self._acquire(block, place, write).address

    def release_on(self, block: Block, write: bool = True, stream: Any = None) -> None:
        """Unpin what ``acquire_on`` pinned. The copy stays until the work so far of a stream, by
        default the device's default stream, is done."""
        manager = self.manager
        place = block.device
        fence = None if place is None else place.fence(stream)
        with manager.locked():
            if fence is not None:
                block.fences[:] = [each for each in block.fences if not each.query()]
                block.fences.append(fence)
            block.device_pins -= 1
            block.writers -= write
            manager.changed()

    def _acquire(
        self, block: Block, place: Place, write: bool, fresh: bool = False, brief: bool = False
    ) -> Any:
        """Pin a copy, which is brought to its place if it is not there."""
        manager = self.manager
        brought = False
        try:
            while True:
                with manager.locked():
                    manager.check(block)
                    if self._is_clear(block, place, write):
                        if place in manager.holders(block):
                            return self._pin(block, place, write, brief, brought)
                        block.claimed = True
                        brought = True
                    else:
                        manager.wait()
                        continue
                return self._bring(block, place, write, fresh, brief)
        finally:
            manager.delete_keys()
            if brought and self.background.ahead and 4 * manager.host.used > 3 * manager.host.quota:
                self.background.clean()

    def _is_clear(self, block: Block, place: Place, write: bool) -> bool:
        if block.moving is not None or block.claimed:
            return False
        return self.manager.free_of_conflicts(block, place, write)

    def _pin(self, block: Block, place: Place, write: bool, brief: bool, brought: bool) -> Any:
        manager = self.manager
        if write:
            manager.written(block, place)
            block.writers += 1
        if not brought:  # the first use is no reason to keep it: a scan uses each block once
            block.referenced |= place.bit
        manager.counters.misses += brought
        manager.counters.hits += not brought
        if isinstance(place, DevicePlace):
            block.device_pins += 1
            return block.buffer
        block.pins += 1
        block.brief += brief
        place.hope += brief
        return block.host

    def _bring(self, block: Block, place: Place, write: bool, fresh: bool, brief: bool) -> Any:
        """Bring a claimed block to a place and pin it."""
        manager = self.manager
        begun = False
        try:
            fetch(manager, block, place, write, fresh)
            begun = True
            with manager.locked():
                return self._pin(block, place, write, brief, brought=True)
        finally:
            manager.unclaim(block, begun)

    @contextmanager
    def brief(
        self, block: Block, write: bool = False, fresh: bool = False
    ) -> Generator[np.ndarray]:
        """Pin the host's copy while the with block, which waits for nothing, uses it.

        Args:
            fresh: all of it will be written, so its contents are not needed.
        """
        manager = self.manager
        data = self._acquire(block, manager.host, write, fresh, brief=True)
        try:
            yield data
        finally:
            with manager.locked():
                block.brief -= 1
                manager.host.hope -= 1
                self.release(block, write)

    def prefetch(self, blocks: Iterable[Block], device: TierDevice | None = None) -> None:
        """Bring blocks in the background, to the host or to a device. What fails is raised at the
        next use of its block; without room nothing happens."""
        place = self.manager.host if device is None else self.manager.device(device)
        for each in blocks:
            if not each.ready & place.bit:
                self.background.bring(each, place)

    # --- the whole ---

    def flush(self, blocks: Iterable[Block]) -> None:
        """Write what the disk does not have of some blocks, and flush the store.

        Raises:
            TierError: there is no disk.
            BlockInUse: one of them is pinned for writing.
        """
        manager = self.manager
        if manager.store is None:
            raise TierError("there is no disk to flush to\n  give one: Tiers(disk=...)")
        for block in blocks:
            while True:
                with manager.locked():
                    manager.check(block)
                    if block.writers > block.brief:
                        raise BlockInUse("a block is pinned for writing while its array is flushed")
                    clean = block.valid & ~(HOST | DEVICE)
                    still = block.moving is None and not block.writers
                    if not clean and not still:
                        manager.wait()
                        continue
                if clean:
                    break
                with self.brief(block):
                    self._clean(block)
        manager.store.flush()

    def _clean(self, block: Block) -> None:
        """Write the host's copy, which is pinned, to the store."""
        manager = self.manager
        with manager.locked():
            if block.moving is not None or block.writers or block.valid & DISK:
                return
            manager.begin(block)
        try:
            assert block.host is not None
            put(manager, block, block.host)
        finally:
            with manager.locked():
                manager.end(block)

    def wait(self) -> None:
        """Wait for the work of the background so far, and free what ended arrays have."""
        self.background.wait()
        self.manager.delete_keys()

    def statistics(self) -> TierStatistics:
        """The statistics; the blocks of arrays that have ended are freed before."""
        manager = self.manager
        with manager.locked():
            pass
        manager.delete_keys()
        with manager.locked():
            counters, host = manager.counters, manager.host
            return TierStatistics(
                blocks=sum(len(table) - table.count(None) for table in manager.tables.values()),
                host_used=host.used,
                host_peak=host.peak,
                host_quota=host.quota,
                device_used={each.device.name: each.used for each in manager.devices.values()},
                pinned=sum(each.size for each in host.ring if each.pins),
                host_evictions=host.evictions,
                device_evictions=sum(each.evictions for each in manager.devices.values()),
                undeleted=len(manager.undeleted),
                **vars(counters),
            )

    def close(self) -> None:
        """Free all blocks; arrays of these tiers raise from now on.

        Raises:
            BlockInUse: a block is pinned.
            Exception: what the store raised where it could not delete a block.
        """
        manager = self.manager
        with manager.locked():
            places = (manager.host, *manager.devices.values())
            if any(place.pinned(block) for place in places for block in place.ring):
                raise BlockInUse("a block is pinned while the tiers are closed")
            manager.closed = True
            manager.ended.extend(manager.tables.values())
            manager.settle()
        self.background.stop()
        again, manager.undeleted = manager.undeleted, []
        manager.keys.extend(key for key, _ in again)
        manager.delete_keys()
        if manager.undeleted:
            raise manager.undeleted[0][1]
