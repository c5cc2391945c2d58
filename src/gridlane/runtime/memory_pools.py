"""Pools of device memory in the order of streams: those of CUDA's interface and of Python."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from gridlane.core.device_errors import OUT_OF_MEMORY, fail, handled
from gridlane.core.errors import DeviceError
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.resource import Buffer
from gridlane.memory.suballocator import rounded
from gridlane.runtime.protocol import Device, Event, Stream

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
    stream: Stream | None = None
    done: Event | None = None

    def is_done(self) -> bool:
        """Whether no work uses it any more."""
        if self.done is not None and self.done.query():
            self.stream = self.done = None
        return self.done is None


class MemoryPool:
    """A pool of a device. Memory that is freed stays in it, up to its threshold, for later use.

    Args:
        device: whose memory it has.
        most: bytes that it may hold; 0 for as many as the device has.

    Attributes:
        threshold: bytes that it may hold after a wait for the device's work.
        reuse: by their numbers, the attributes that allow memory of other streams to be used again:
            2 once their work is done; 3 after a wait of the allocating stream for it.
    """

    def __init__(self, device: Device, most: int = 0) -> None:
        self.device, self.most = device, most
        self.threshold = 0
        self.reuse = {1: 1, 2: 1, 3: 1}
        self.reserved = self.reserved_high = self.used = self.used_high = 0
        self.destroyed = False
        self._free: list[Piece] = []
        self._lock = threading.RLock()

    # --- allocations ---

    def take(self, size: int, stream: Stream) -> Piece:
        """Memory that later work of a stream may use.

        Raises:
            DeviceError: OUT_OF_MEMORY, of the device or over the pool's maximum.
        """
        with self._lock:
            self._drop_lost()
            piece = self._reusable(rounded(size), stream) or self._added(rounded(size))
            piece.used, piece.stream, piece.done = rounded(size), None, None
            self.used += piece.used
            self.used_high = max(self.used_high, self.used)
        return piece

    def give_back(self, piece: Piece, stream: Stream | None, done: Event | None) -> None:
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

    def _reusable(self, size: int, stream: Stream) -> Piece | None:
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
                held = f"{self.reserved} held of the pool's limit of {self.most}"
                fail(OUT_OF_MEMORY, f"{size} bytes, with {held}")
        try:
            buffer = self._buffer(size)
        except DeviceError as error:
            if error.number != OUT_OF_MEMORY or not self._free:
                raise
            handled(error)
            self._release_all()
            buffer = self._buffer(size)
        self.reserved += size
        self.reserved_high = max(self.reserved_high, self.reserved)
        return Piece(buffer, self.device.memory, size)

    def _buffer(self, size: int) -> Buffer:
        """New memory of the device."""
        return self.device.allocate(size)

    def _release_all(self) -> None:
        for piece in tuple(self._free):
            if piece.done is not None:
                piece.done.synchronize()
            self._release(piece)
