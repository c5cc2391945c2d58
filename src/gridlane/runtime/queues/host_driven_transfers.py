"""Copies between host and device, within the device, and fills.

The host copies to and from memory that it can map; other copies go through staging memory in
pieces. The device copies to and from pinned memory, which is staging memory.
"""

from __future__ import annotations

import ctypes
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np

from gridlane.core.device_errors import INVALID_VALUE, fail
from gridlane.runtime.queues.host_driven_context import Ordered
from gridlane.runtime.queues.host_driven_recorder import AnyRecorder, Place, Recorder

PIECE = 64 << 20
"""Bytes of staging memory in flight at once for one copy."""

R = TypeVar("R", bound=AnyRecorder)
P = TypeVar("P")


class Transfers(Generic[R, P]):
    """The copies of a device, whose recorder R refers to bytes by places P."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._recorder: R = device.recorder

    # --- implemented for each kind of memory ---

    def place(self, address: int, size: int) -> P:
        """The place of bytes of the device.

        Raises:
            DeviceError: INVALID_VALUE, the bytes are outside the device's memory.
        """
        raise NotImplementedError

    def needs_host(self, target: memoryview) -> bool:
        """Whether the host does the last step of a copy to its memory."""
        raise NotImplementedError

    def _upload(self, stream: Ordered, target: P, source: memoryview, keep: object) -> None:
        raise NotImplementedError

    def _write(self, stream: Ordered, target: P, source: memoryview) -> None:
        raise NotImplementedError

    def _download(self, stream: Ordered, target: memoryview, source: P, keep: object) -> None:
        raise NotImplementedError

    def _read(self, stream: Ordered, target: memoryview, source: P) -> None:
        raise NotImplementedError

    # --- common ---

    def upload(self, stream: Ordered, target: int, source: memoryview, keep: object) -> None:
        """Append a copy to the device; ``keep`` lives until it is done."""
        if source.nbytes:
            self._upload(stream, self.place(target, source.nbytes), source, keep)

    def write(self, stream: Ordered, target: int, source: memoryview) -> None:
        """Copy to the device, after the work so far; the source may change on return."""
        if source.nbytes:
            self._write(stream, self.place(target, source.nbytes), source)

    def download(self, stream: Ordered, target: memoryview, source: int, keep: object) -> None:
        """Append a copy to pinned memory; copy to other memory when the work so far is done."""
        if target.nbytes:
            self._download(stream, target, self.place(source, target.nbytes), keep)

    def read(self, stream: Ordered, target: memoryview, source: int) -> None:
        """Copy to the host; finished on return."""
        if target.nbytes:
            self._read(stream, target, self.place(source, target.nbytes))

    def copy(self, stream: Ordered, target: int, source: int, size: int) -> None:
        """Append a copy within the device; the bytes may overlap."""
        if not size or target == source:
            return
        goal, origin = self.place(target, size), self.place(source, size)
        if abs(target - source) < size:
            between = self._device.allocate(size)
            middle = self.place(between.address, size)
            self._recorder.copy(stream, middle, origin, size)
            origin = middle
        self._recorder.copy(stream, goal, origin, size)

    def fill(self, stream: Ordered, target: int, byte: int, size: int) -> None:
        """Append a fill."""
        if not 0 <= byte <= 255:
            fail(INVALID_VALUE, f"setting bytes to {byte}")
        if size:
            self._fill(stream, self.place(target, size), size, byte)

    def _fill(self, stream: Ordered, target: P, size: int, byte: int) -> None:
        self._recorder.fill(stream, target, size, byte)


def refuse_place(name: str, address: int, size: int) -> NoReturn:
    """Refuse bytes outside a device's memory."""
    fail(
        INVALID_VALUE,
        f"{size} bytes at {address:#x} are not in an array of the device {name!r}",
        f"copy the data to the device {name!r} with cuda.to_device",
    )


class ArenaTransfers(Transfers[Recorder[Any, Any, Place, Any, Any], Place]):
    """The copies of a device whose memory is arenas: a ``ArenaDevice``."""

    def __init__(self, device: Any) -> None:
        super().__init__(device)
        self._pool, self._staging = device.pool, device.staging_pool

    def place(self, address: int, size: int) -> Place:
        """(arena, offset) of bytes of the device."""
        for pool in (self._pool, self._staging):
            place: Place | None = pool.addresses.find(address, size)
            if place is not None:
                return place
        refuse_place(self._device.name, address, size)

    def needs_host(self, target: memoryview) -> bool:
        """Whether host memory is neither pinned nor empty."""
        return target.nbytes > 0 and self._pinned(target) is None

    def _pinned(self, view: memoryview) -> Place | None:
        return self._staging.pointers.find(_pointer(view), view.nbytes)

    def _upload(self, stream: Ordered, target: Place, source: memoryview, keep: object) -> None:
        pinned = self._pinned(source)
        if pinned is None:
            self._through_staging(stream, target, source)
        else:
            self._recorder.copy(stream, target, pinned, source.nbytes, (source, keep))

    def _write(self, stream: Ordered, target: Place, source: memoryview) -> None:
        if self._pool.by_pointer:
            self._recorder.wait(self._recorder.predecessor(stream))
            ctypes.memmove(_host(target), _pointer(source), source.nbytes)
        else:
            self._through_staging(stream, target, source)

    def _through_staging(self, stream: Ordered, target: Place, source: memoryview) -> None:
        """Copy the source now to staging memory, and append copies from there."""
        octets, (arena, offset), recorder = source.cast("B"), target, self._recorder
        before = 0
        for start in range(0, len(octets), PIECE):
            part = octets[start : start + PIECE]
            block = self._device.stage(len(part))
            ctypes.memmove(block.pointer, _pointer(part), len(part))
            origin = block.arena, block.offset
            recorder.copy(stream, (arena, offset + start), origin, len(part))
            if start:  # two pieces in flight
                recorder.wait(before)
            before = stream.point
            if len(octets) > PIECE:
                recorder.flush()

    def _download(self, stream: Ordered, target: memoryview, source: Place, keep: object) -> None:
        pinned = self._pinned(target)
        if pinned is None:
            self._read(stream, target, source)
        else:
            self._recorder.copy(stream, pinned, source, target.nbytes, (target, keep))

    def _read(self, stream: Ordered, target: memoryview, source: Place) -> None:
        (arena, offset), recorder = source, self._recorder
        if self._pool.by_pointer:
            recorder.wait(recorder.predecessor(stream))
            ctypes.memmove(_pointer(target), _host(source), target.nbytes)
            return
        octets = target.cast("B")
        for start in range(0, len(octets), PIECE):
            part = octets[start : start + PIECE]
            block = self._device.stage(len(part))
            goal = block.arena, block.offset
            recorder.copy(stream, goal, (arena, offset + start), len(part))
            recorder.wait(stream.point)
            ctypes.memmove(_pointer(part), block.pointer, len(part))

    def _fill(self, stream: Ordered, target: Place, size: int, byte: int) -> None:
        """Fill whole steps; copy the bytes at their edges."""
        (arena, start), step = target, self._recorder.fill_step
        end = start + size
        first, last = -(-start // step) * step, end // step * step
        if first < last:
            self._recorder.fill(stream, (arena, first), last - first, byte)
        else:
            first, last = end, end
        for left, right in ((start, first), (last, end)):
            if left < right:
                block = self._device.stage(right - left)
                block.view()[:] = bytes([byte]) * (right - left)
                origin = block.arena, block.offset
                self._recorder.copy(stream, (arena, left), origin, right - left)


def _pointer(view: memoryview) -> int:
    return np.frombuffer(view, np.uint8).ctypes.data


def _host(place: Place) -> int:
    return place[0].pointer + place[1]
