"""Copies between host and a Metal device. The host sees all memory, so a copy that it waits for is
its own; the device makes copies appended to a stream, through pinned memory."""

from __future__ import annotations

import ctypes
from typing import Any, Protocol

import numpy as np

from gridlane.core.device_errors import INVALID_VALUE, fail
from gridlane.memory.suballocator import Arena, Suballocation
from gridlane.runtime.drivers.metal.memory import Pool
from gridlane.runtime.drivers.metal.moving import Mover
from gridlane.runtime.drivers.metal.recorder import Queue, Recorder


class Memory(Protocol):
    """The device interface that copies use."""

    name: str
    pool: Pool
    mover: Mover

    def allocate(self, size: int) -> Suballocation:
        """Allocate device memory."""
        ...


class Stream(Queue, Protocol):
    """The stream interface that copies use."""

    @property
    def device(self) -> Memory:
        """The device of the stream."""
        ...

    @property
    def recorder(self) -> Recorder:
        """The recorder of the device's work."""
        ...


def place(memory: Memory, address: int, size: int) -> tuple[Arena, int]:
    """(arena, offset) of bytes of the device.

    Raises:
        DeviceError: INVALID_VALUE, the bytes are outside the device's memory.
    """
    located_place = memory.pool.addresses.find(address, size)
    if located_place is None:
        fail(
            INVALID_VALUE,
            f"{size} bytes at {address:#x} are not in an array of the device {memory.name!r}",
            f"copy the data to the device {memory.name!r} with cuda.to_device",
        )
    return located_place


def pinned(memory: Memory, view: memoryview) -> int:
    """The device's address of host bytes, or 0 if they are not pinned."""
    pointer = memory.pool.pointers.find(_pointer(view), view.nbytes)
    return pointer[0].address + pointer[1] if pointer is not None else 0


def _pointer(view: memoryview) -> int:
    return np.frombuffer(view, np.uint8).ctypes.data


def _host(memory: Memory, address: int, size: int) -> int:
    arena, offset = place(memory, address, size)
    return arena.pointer + offset


def upload(stream: Stream, target: int, source: memoryview, keep: Any) -> None:
    """Append a copy to the device."""
    size, device = source.nbytes, stream.device
    if not size:
        return
    place(device, target, size)
    address = pinned(device, source)
    if address:
        device.mover.copy(stream, target, address, size, (source, keep))
        return
    block = device.allocate(size)
    ctypes.memmove(block.pointer, _pointer(source), size)
    device.mover.copy(stream, target, block.address, size, block)


def write(stream: Stream, target: int, source: memoryview) -> None:
    """Copy to the device, after the work so far; the source may change on return."""
    size = source.nbytes
    if size:
        pointer = _host(stream.device, target, size)
        stream.recorder.wait(stream.recorder.mark(stream))
        ctypes.memmove(pointer, _pointer(source), size)


def download(stream: Stream, target: memoryview, source: int, keep: Any) -> None:
    """Append a copy to pinned memory; copy to other memory when the work so far is done."""
    size, device = target.nbytes, stream.device
    if not size:
        return
    place(device, source, size)
    address = pinned(device, target)
    if not address:
        read(stream, target, source)
        return
    device.mover.copy(stream, address, source, size, (target, keep))


def read(stream: Stream, target: memoryview, source: int, keep: Any = None) -> None:
    """Copy to the host; finished on return."""
    size = target.nbytes
    if size:
        pointer = _host(stream.device, source, size)
        stream.recorder.wait(stream.recorder.mark(stream))
        ctypes.memmove(_pointer(target), pointer, size)


def copy(stream: Stream, target: int, source: int, size: int) -> None:
    """Append a copy within the device; the bytes may overlap."""
    device = stream.device
    if not size or target == source:
        return
    place(device, target, size)
    place(device, source, size)
    if abs(target - source) >= size:
        device.mover.copy(stream, target, source, size)
        return
    block = device.allocate(size)
    device.mover.copy(stream, block.address, source, size, block)
    device.mover.copy(stream, target, block.address, size, block)


def fill(stream: Stream, target: int, byte: int, size: int) -> None:
    """Append a fill."""
    if not 0 <= byte <= 255:
        fail(INVALID_VALUE, f"setting bytes to {byte}")
    if size:
        place(stream.device, target, size)
        stream.device.mover.fill(stream, target, byte, size)
