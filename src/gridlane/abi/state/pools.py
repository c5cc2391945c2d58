"""Pools of device memory that streams allocate and free in the order of their work."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from gridlane.abi.failure import INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY, fail
from gridlane.abi.state import contexts, memory
from gridlane.abi.state.handles import Handles
from gridlane.abi.state.memory import Allocation
from gridlane.abi.state.streams import Stream
from gridlane.core import epochs
from gridlane.core.errors import DeviceError, GridlaneError
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.resource import Buffer
from gridlane.memory.suballocator import rounded
from gridlane.runtime import protocol

_SLACK = 2
"""A free piece serves requests down to this fraction of its size."""


@dataclass(slots=True, eq=False)
class Piece:
    """Memory of a pool.

    Attributes:
        memory: of the device, which has another one after it was lost.
        size: bytes that it holds of the device; ``used``: those that a program has, 0 if it is
            free.
        stream: in whose order it was freed last; ``done``: comes after the work that may use it.
            None if all of it was done.
    """

    buffer: Buffer
    memory: DeviceMemory[Any]
    size: int
    used: int = 0
    stream: protocol.Stream | None = None
    done: protocol.Event | None = None

    def is_done(self) -> bool:
        """Whether no work uses it any more."""
        if self.done is not None and self.done.query():
            self.stream = self.done = None
        return self.done is None


class Pool:
    """A pool of a device. Memory that is freed stays in it, up to its threshold, for later use.

    Args:
        device: whose memory it has.
        most: bytes that it may hold; 0 for as many as the device has.

    Attributes:
        threshold: bytes that it may hold after a wait for the device's work.
        reuse: by their numbers, the attributes that allow memory of other streams to be used again:
            2 once their work is done; 3 after a wait of the allocating stream for it.
    """

    def __init__(self, device: protocol.Device, most: int = 0) -> None:
        self.device, self.most = device, most
        self.threshold = 0
        self.reuse = {1: 1, 2: 1, 3: 1}
        self.reserved = self.reserved_high = self.used = self.used_high = 0
        self.destroyed = False
        self._free: list[Piece] = []
        self._lock = threading.RLock()
        self.handle = pools.add(self)

    # --- allocations ---

    def allocate(self, size: int, stream: Stream) -> Allocation:
        """Memory that later work of a stream may use.

        Raises:
            Failure: INVALID_VALUE for no bytes; OUT_OF_MEMORY, over the pool's maximum;
                NOT_SUPPORTED in a capture.
            DeviceError: OUT_OF_MEMORY.
        """
        if size <= 0:
            fail(INVALID_VALUE, f"an allocation of {size} bytes")
        check_order(stream, self.device)
        with self._lock:
            self._drop_lost()
            piece = self._reusable(rounded(size), stream.native) or self._added(rounded(size))
            piece.used, piece.stream, piece.done = rounded(size), None, None
            self.used += piece.used
            self.used_high = max(self.used_high, self.used)
        address = piece.buffer.address
        return memory.add(Allocation(address, size, "device", stream.context, piece, pool=self))

    def give_back(
        self, piece: Piece, stream: protocol.Stream | None, done: protocol.Event | None
    ) -> None:
        """Take memory back.

        Args:
            stream: in whose order it is free; ``done``: is recorded there. None if all work that
                may use the memory was done.
        """
        with self._lock:
            self.used -= piece.used
            piece.used, piece.stream, piece.done = 0, stream, done
            self._free.append(piece)
            if self.destroyed:
                self.trim(0)

    def trim(self, keep: int) -> None:
        """Return memory that no work uses to the device, down to ``keep`` bytes, not below."""
        with self._lock:
            for piece in sorted(self._free, key=lambda each: each.size, reverse=True):
                if self.reserved - piece.size >= keep and piece.is_done():
                    self._release(piece)

    def settle(self) -> None:
        """Return memory over the threshold; called after a wait for work."""
        with self._lock:
            if self.reserved <= self.threshold or not self._free:
                return
            for piece in tuple(self._free):
                if self.reserved > self.threshold and piece.is_done():
                    self._release(piece)

    def destroy(self) -> None:
        """End the pool. What is allocated of it stays valid until it is freed."""
        with self._lock:
            self.destroyed, self.threshold = True, 0
            self.trim(0)

    # --- details ---

    def _drop_lost(self) -> None:
        """Forget the memory of a device that was lost and opened again."""
        for piece in tuple(self._free):
            if piece.memory is not self.device.memory:
                self._release(piece)

    def _release(self, piece: Piece) -> None:
        self._free.remove(piece)
        self.reserved -= piece.size

    def _reusable(self, size: int, stream: protocol.Stream) -> Piece | None:
        """A free piece that later work of a stream may use: one that is free in its order, or of
        which all work is done; else one whose work it waits for."""
        fitting = [each for each in self._free if size <= each.size <= _SLACK * size]
        fitting.sort(key=lambda each: each.size)
        for each in fitting:
            if each.stream is stream or each.done is None:
                self._free.remove(each)
                return each
        if self.reuse[2]:
            for each in fitting:
                if each.is_done():
                    self._free.remove(each)
                    return each
        if self.reuse[3] and not stream.inline:  # which would wait here
            for each in fitting:
                assert each.done is not None
                each.done.wait(stream)
                self._free.remove(each)
                return each
        return None

    def _added(self, size: int) -> Piece:
        """A new piece. Where the device or the maximum leaves no room, the free ones are released
        first."""
        if self.most and self.reserved + size > self.most:
            self._release_all()
            if self.reserved + size > self.most:
                fail(OUT_OF_MEMORY, f"{size} bytes: the pool may hold {self.most}")
        try:
            buffer = self.device.allocate(size)
        except DeviceError as error:
            if error.number != OUT_OF_MEMORY or not self._free:
                raise
            self._release_all()
            buffer = self.device.allocate(size)
        memory.hidden.add(buffer)
        self.reserved += size
        epochs.pools.changed()
        self.reserved_high = max(self.reserved_high, self.reserved)
        return Piece(buffer, self.device.memory, size)

    def _release_all(self) -> None:
        for piece in tuple(self._free):
            if piece.done is not None:
                piece.done.synchronize()
            self._release(piece)


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
