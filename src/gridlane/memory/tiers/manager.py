"""The state that all blocks of some tiers share: places, room, motions, the ends of arrays.

A motion is a copy between places, by one thread, without the lock. Its block cannot be pinned or
evicted meanwhile, and it never waits for room or for another motion. A thread that waits for room
holds no reservation. So each wait here ends: all that is waited for is a motion, a reservation
whose motion follows, or a pin whose holder waits for nothing.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from gridlane.core.errors import BlockInUse, TierError
from gridlane.memory.tiers.block import DEVICE, DISK, HOST, ZERO, Block
from gridlane.memory.tiers.places import DevicePlace, Place, Store, TierDevice
from gridlane.memory.tiers.statistics import Counters

Table = list[Block | None]
"""The blocks of an array; None for one that was never used."""

_managers: weakref.WeakSet[Manager] = weakref.WeakSet()


class Manager:
    """The state.

    Args:
        host: the quota of host memory in bytes.
        device: the quota of each device; None for no device.
        store: the disk tier; None for none.
    """

    def __init__(self, host: int, device: int | None, store: Store | None) -> None:
        self.lock: Any = threading.RLock()
        self.condition = threading.Condition(self.lock)
        self.waiting = 0
        self.host = Place("host", HOST, host)
        self.store, self.device_quota = store, device
        self.devices: dict[int, DevicePlace] = {}
        self.counters = Counters()
        self.closed = False
        self.tables: dict[int, Table] = {}
        """The blocks of live arrays, by the identity of their list."""
        self.ended: deque[Table] = deque()
        """Those of arrays that have ended, whose memory is not yet freed."""
        self.keys: deque[str] = deque()
        """Keys of ended blocks, which the store still has."""
        self.undeleted: list[tuple[str, Exception]] = []
        """Keys whose deletion failed."""
        self.doomed: list[tuple[Any, tuple[Any, ...]]] = []
        """Memory that is freed once the lock is not held, and events to wait for before."""
        _managers.add(self)

    # --- the lock ---

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the lock; free what was dropped under it afterwards."""
        try:
            with self.lock:
                self.settle()
                yield
        finally:
            if self.doomed:
                self.bury()

    def bury(self) -> None:
        """Free what was dropped, after the work on devices that uses it."""
        doomed, self.doomed = self.doomed, []
        for _, fences in doomed:
            for each in fences:
                with suppress(Exception):  # a failure of the work is its stream's
                    each.synchronize()

    def wait(self) -> None:
        """Wait until a motion, a reservation or a pin ends; the caller has the lock."""
        self.waiting += 1
        try:
            self.condition.wait()
        finally:
            self.waiting -= 1

    def changed(self) -> None:
        """Wake those who wait; the caller has the lock."""
        if self.waiting:
            self.condition.notify_all()

    def device(self, device: TierDevice) -> DevicePlace:
        """The tier of a device.

        Raises:
            TierError: these tiers have no quota for devices.
        """
        place = self.devices.get(id(device))
        if place is not None:
            return place
        if self.device_quota is None:
            raise TierError(
                f"these tiers have no quota for the device {device.name}\n"
                '  give one: Tiers(device="1GiB")'
            )
        place = DevicePlace(device, self.device_quota)
        with self.lock:
            return self.devices.setdefault(id(device), place)

    def holders(self, block: Block) -> tuple[Place, ...]:
        """The places in memory that hold a copy."""
        if block.device is None:
            return () if block.host is None else (self.host,)
        return (block.device,) if block.host is None else (self.host, block.device)

    # --- what the lock's holder calls ---

    def check(self, block: Block) -> None:
        """Raise what the block has to report.

        Raises:
            TierError: its array is closed.
            Exception: what the background met with it.
        """
        if block.freed or self.closed:
            raise TierError("the array is closed")
        if block.failure is not None:
            failure, block.failure = block.failure, None
            block.settle()
            raise failure

    def free_of_conflicts(self, block: Block, place: Place, write: bool) -> bool:
        """Whether a copy in a place may be pinned, as far as pins in other places go; False if a
        brief pin is in the way.

        Raises:
            BlockInUse: a pin is in the way that may stay.
        """
        if block.device_pins and place.bit == DEVICE and block.device is not place:
            raise BlockInUse(
                f"a block is pinned on another device and required in the tier {place.name}\n"
                "  leave the with block of the first one before"
            )
        other, brief = block.device_pins, 0
        if place.bit == DEVICE:
            other, brief = block.pins, block.brief
        if not other or not (write or block.writers):
            return True
        if other > brief:
            whose = self.host.name if place.bit == DEVICE else getattr(block.device, "name", "")
            raise BlockInUse(
                f"a block is pinned in the tier {whose} and required in the tier {place.name}, "
                "one of them for writing\n  leave the with block of the first one before"
            )
        return False

    def begin(self, block: Block) -> None:
        """Begin a motion."""
        block.moving = self.holders(block)
        for each in block.moving:
            each.hope += 1
        block.settle()

    def end(self, block: Block) -> None:
        """End a motion, and free the block if its array has ended."""
        for each in block.moving or ():
            each.hope -= 1
        block.moving = None
        block.settle()
        if block.freed:
            self.free(block)
        self.changed()

    def unclaim(self, block: Block, begun: bool) -> None:
        """End a claim, and the motion that it began; the caller does not have the lock."""
        with self.locked():
            block.claimed = False
            if begun:
                self.end(block)
            elif block.freed and block.moving is None:
                self.free(block)
            self.changed()

    def unreserve(self, place: Place, size: int) -> None:
        """Give up a reservation."""
        place.used -= size
        place.hope -= 1
        self.changed()

    def install(self, block: Block, place: Place, memory: Any) -> None:
        """Add a copy in reserved room."""
        place.hope -= 1
        if isinstance(place, DevicePlace):
            if block.device is not None:
                self.drop(block, block.device)
            block.buffer, block.device = memory, place
        else:
            block.host = memory
        block.valid |= place.bit
        block.referenced &= ~place.bit
        place.ring[block] = None
        block.settle()
        self.changed()

    def drop(self, block: Block, place: Place) -> None:
        """Drop a copy. The caller has made sure that another one is valid, or none is needed."""
        if isinstance(place, DevicePlace):
            self.doomed.append((block.buffer, tuple(block.fences)))
            block.buffer = block.device = None
            block.fences.clear()
        else:
            self.doomed.append((block.host, ()))
            block.host = None
        block.valid &= ~place.bit
        del place.ring[block]
        place.used -= block.size
        block.settle()
        self.changed()

    def written(self, block: Block, place: Place) -> None:
        """Make the copy in a place the only valid one."""
        for each in self.holders(block):
            if each is not place:
                self.drop(block, each)
        block.valid = place.bit
        block.settle()

    def droppable(self, block: Block, place: Place) -> bool:
        """Whether another place has a valid copy."""
        return block.valid & ~place.bit != 0

    def evict_clean(self, block: Block, place: Place) -> bool:
        """Drop a copy that another place has as well; False if none has, or work on the device may
        still use it."""
        if not self.droppable(block, place):
            return False
        if place.bit == DEVICE and not all(each.query() for each in block.fences):
            return False
        place.evictions += 1
        self.drop(block, place)
        return True

    def take_free(self, size: int) -> bool:
        """Reserve host memory if what must leave for it is clean: nothing is moved."""
        host = self.host
        while not host.take(size):
            victim = host.victim(lambda block: True) if size <= host.quota else None
            if victim is None:
                return False
            if not self.evict_clean(victim, host):
                host.ring.move_to_end(victim, last=False)
                return False
        return True

    # --- the ends of arrays ---

    def finish(self, table: Table) -> None:
        """Free the blocks of an array at its end. Called at any moment, on any thread."""
        self.ended.append(table)
        # Inside the lock a collection may run this: the next user of the lock frees them then.
        lock = self.lock
        if lock._is_owned() or not lock.acquire(blocking=False):
            return
        try:
            self.settle()
        finally:
            lock.release()
        self.bury()

    def settle(self) -> None:
        """Free the blocks of ended arrays; the caller has the lock."""
        while self.ended:
            try:
                table = self.ended.popleft()
            except IndexError:
                return
            if self.tables.pop(id(table), None) is None:
                continue  # it was closed before
            for block in filter(None, table):
                block.freed = True
                block.settle()
                if block.moving is None and not block.claimed:
                    self.free(block)

    def free(self, block: Block) -> None:
        """Drop all copies of a block whose array has ended."""
        for each in self.holders(block):
            self.drop(block, each)
        block.valid = ZERO
        block.settle()
        if block.stored:
            block.stored = False
            self.keys.append(block.key)

    def delete_keys(self) -> None:
        """Delete what ended arrays have in the store; the caller does not have the lock."""
        while self.keys and self.store is not None:
            try:
                key = self.keys.popleft()
            except IndexError:
                return
            try:
                self.store.delete(key)
            except KeyError:  # the write of the block failed
                continue
            except Exception as error:
                self.undeleted.append((key, error))

    def stored(self, block: Block) -> None:
        """Note that the store has the contents; the caller has the lock."""
        block.valid |= DISK
        self.counters.to_disk += block.size


class _Forked:
    """The lock of tiers in a forked child."""

    def __enter__(self) -> NoReturn:
        raise TierError(
            "tiered arrays belong to the process that made them, and this is a forked child\n"
            "  copy what the child needs into NumPy arrays before the fork, or make tiers in it"
        )

    def __exit__(self, *args: object) -> None: ...

    def _is_owned(self) -> bool:
        return True  # arrays that end here have nothing to free: the parent has it


def _after_fork(managers: Iterable[Manager] = _managers) -> None:
    for each in managers:
        each.lock = _Forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
