"""Copies between host and device. The host sees all memory, so it copies itself where it waits
anyway; what is appended to a stream is copied by the device, through pinned memory."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from gridlane.core.device_errors import INVALID_VALUE, fail
from gridlane.memory.suballocator import Arena

if TYPE_CHECKING:
    from gridlane.runtime.drivers.metal.device import MetalDevice
    from gridlane.runtime.drivers.metal.stream import MetalStream


def place(device: MetalDevice, address: int, size: int) -> tuple[Arena, int]:
    """(arena, offset) of bytes of the device.

    Raises:
        DeviceError: INVALID_VALUE, they are not the device's.
    """
    found = device.pool.addresses.find(address, size)
    if found is None:
        fail(
            INVALID_VALUE,
            f"{size} bytes at {address:#x} are not in an array of the device {device.name!r}",
            f"copy the data to the device {device.name!r} with cuda.to_device",
        )
    return found


def pinned(device: MetalDevice, view: memoryview) -> int:
    """The device's address of bytes of the host, or 0 where they are not pinned."""
    found = device.pool.pointers.find(_pointer(view), view.nbytes)
    return found[0].address + found[1] if found is not None else 0


def _pointer(view: memoryview) -> int:
    return np.frombuffer(view, np.uint8).ctypes.data


def _host(device: MetalDevice, address: int, size: int) -> int:
    arena, offset = place(device, address, size)
    return arena.pointer + offset


def upload(stream: MetalStream, target: int, source: memoryview, keep: Any) -> None:
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


def write(stream: MetalStream, target: int, source: memoryview) -> None:
    """Copy to the device, behind the work so far; the source may change on return."""
    size = source.nbytes
    if size:
        pointer = _host(stream.device, target, size)
        stream.recorder.wait(stream.recorder.mark(stream))
        ctypes.memmove(pointer, _pointer(source), size)


def download(stream: MetalStream, target: memoryview, source: int, keep: Any) -> None:
    """Append a copy to pinned memory; to other memory, copy when the work so far is done."""
    size, device = target.nbytes, stream.device
    if not size:
        return
    place(device, source, size)
    address = pinned(device, target)
    if not address:
        read(stream, target, source)
        return
    device.mover.copy(stream, address, source, size, (target, keep))


def read(stream: MetalStream, target: memoryview, source: int, keep: Any = None) -> None:
    """Copy to the host; finished on return."""
    size = target.nbytes
    if size:
        pointer = _host(stream.device, source, size)
        stream.recorder.wait(stream.recorder.mark(stream))
        ctypes.memmove(_pointer(target), pointer, size)


def copy(stream: MetalStream, target: int, source: int, size: int) -> None:
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


def fill(stream: MetalStream, target: int, byte: int, size: int) -> None:
    """Append setting bytes."""
    if not 0 <= byte <= 255:
        fail(INVALID_VALUE, f"setting bytes to {byte}")
    if size:
        place(stream.device, target, size)
        stream.device.mover.fill(stream, target, byte, size)
