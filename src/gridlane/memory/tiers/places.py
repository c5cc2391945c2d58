"""The tiers that hold blocks in memory: host and devices, each with a quota and a clock."""

from __future__ import annotations

import mmap
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from gridlane.core.errors import TierFull
from gridlane.memory.tiers.block import DEVICE, HOST, Block

_LEAST_PAGES = 1 << 16
"""Blocks of fewer bytes come from the system's allocator."""


class DeviceStream(Protocol):
    """An ordered queue of copies; the streams of runtime's devices are such."""

    def upload(self, target: int, source: memoryview, keep: Any = None) -> None: ...
    def download(self, target: memoryview, source: int, keep: Any = None) -> None: ...
    def copy(self, target: int, source: int, size: int, keep: Any = None) -> None: ...
    def fill(self, target: int, byte: int, size: int, keep: Any = None) -> None: ...
    def synchronize(self) -> None: ...


class TierDevice(Protocol):
    """What a tier needs of a device; runtime's devices have it.

    Freeing a buffer lets the work that was appended before finish.
    """

    name: str

    @property
    def default_stream(self) -> Any: ...
    def allocate(self, size: int) -> Any: ...
    def new_stream(self) -> Any: ...
    def new_event(self, timing: bool = True) -> Any: ...


class Store(Protocol):
    """The disk tier: bytes by key. Its methods may be called from any thread."""

    def put(self, key: str, data: memoryview, itemsize: int | None = None) -> object:
        """Keep bytes, of elements of some size, in place of those that the key had."""
        ...

    def read(self, key: str, into: memoryview) -> object:
        """Copy the bytes of a key; as many as were put."""
        ...

    def delete(self, key: str) -> object:
        """Forget a key; KeyError if there is none."""
        ...

    def flush(self) -> object:
        """Return when what was put survives the end of the process."""
        ...


class Place:
    """A tier in memory. The lock of its ``Tiers`` guards it.

    Attributes:
        name: of the tier, for errors.
        bit: HOST or DEVICE.
        quota: the most bytes of blocks.
        used, peak: bytes of blocks and of reservations, now and at most.
        hope: how many motions, reservations and brief pins will end by themselves, so that waiting
            for one of them is no deadlock.
        evictions: how many blocks have left for others.
    """

    def __init__(self, name: str, bit: int, quota: int) -> None:
        self.name, self.bit, self.quota = name, bit, quota
        self.used = self.peak = self.hope = self.evictions = 0
        self.ring: OrderedDict[Block, None] = OrderedDict()

    def pinned(self, block: Block) -> bool:
        """Whether the copy here is pinned."""
        return (block.pins if self.bit == HOST else block.device_pins) > 0

    def victim(self, may_leave: Callable[[Block], bool]) -> Block | None:
        """The least recently used block that may leave, by a clock: a block that was used since the
        clock last passed gets a second chance."""
        ring, bit = self.ring, self.bit
        for _ in range(2 * len(ring)):
            block = next(iter(ring))
            ring.move_to_end(block)
            if block.moving is not None or self.pinned(block) or not may_leave(block):
                continue
            if block.referenced & bit:
                block.referenced &= ~bit
                continue
            return block
        return None

    def take(self, size: int) -> bool:
        """Reserve bytes, if there are so many."""
        if self.used + size > self.quota:
            return False
        self.used += size
        self.peak = max(self.peak, self.used)
        self.hope += 1
        return True

    def full(self, size: int, advice: str) -> TierFull:
        """The error where nothing may leave."""
        pinned = sum(each.size for each in self.ring if self.pinned(each))
        return TierFull(self.name, size, pinned, self.quota, advice)


class DevicePlace(Place):
    """The memory of a device, with streams of its own for copies in each direction.

    A copy is awaited by the thread that needs it, so an error is that of its own block.
    """

    def __init__(self, device: TierDevice, quota: int) -> None:
        super().__init__(f"device {device.name}", DEVICE, quota)
        self.device = device
        self._inward, self._outward = device.new_stream(), device.new_stream()
        self._in_lock, self._out_lock = threading.Lock(), threading.Lock()

    def upload(self, address: int, source: np.ndarray) -> None:
        """Copy a block to the device."""
        with self._in_lock:
            self._inward.upload(address, source.data, source)
            self._inward.synchronize()

    def clear(self, address: int, size: int) -> None:
        """Fill a block with zeros."""
        with self._in_lock:
            self._inward.fill(address, 0, size)
            self._inward.synchronize()

    def download(self, target: np.ndarray, address: int, fences: Sequence[Any]) -> None:
        """Copy a block to the host, after the work of events."""
        for each in fences:
            each.synchronize()
        with self._out_lock:
            self._outward.download(target.data, address, target)
            self._outward.synchronize()

    def fence(self, stream: Any) -> Any:
        """An event after the work so far of a stream, None where that is done."""
        stream = self.device.default_stream if stream is None else stream
        if stream.inline:
            return None
        event = self.device.new_event(timing=False)
        event.record(stream)
        return event


def host_memory(size: int) -> np.ndarray:
    """Zeros whose pages return to the system with the last reference to them."""
    if size < _LEAST_PAGES or sys.platform == "win32":
        return np.zeros(size, np.uint8)
    return np.frombuffer(mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), np.uint8)
