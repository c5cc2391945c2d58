"""Copies between host and device, within the device, and fills.

If the host can map the device's memory, it copies directly; else copies go through staging memory
in pieces. Pinned memory is staging memory, so the device copies to and from it directly.
"""

from __future__ import annotations

from typing import Any, Protocol

from gridlane.core.device_errors import INVALID_VALUE, fail
from gridlane.memory.suballocator import Arena, Suballocation
from gridlane.runtime.drivers.vulkan.api import bindings
from gridlane.runtime.drivers.vulkan.memory import Pool
from gridlane.runtime.drivers.vulkan.recorder import Queue, Recorder

PIECE = 64 << 20
"""Bytes of staging memory in flight at once for one copy."""

Place = tuple[Arena, int]


class Memory(Protocol):
    """The device interface that copies use.

    Attributes:
        pool, staging_pool: the device's memory, and the host memory that it can access.
    """

    name: str
    pool: Pool
    staging_pool: Pool

    def allocate(self, size: int) -> Suballocation:
        """Allocate device memory."""
        ...

    def stage(self, size: int) -> Suballocation:
        """Allocate memory that host and device share."""
        ...


class Stream(Queue, Protocol):
    """The stream interface that copies use."""

    recorder: Recorder

    @property
    def device(self) -> Memory:
        """The device of the stream."""
        ...


def place(memory: Memory, address: int, size: int) -> Place:
    """(arena, offset) of bytes of the device.

    Raises:
        DeviceError: INVALID_VALUE, the bytes are outside the device's memory.
    """
    for pool in (memory.pool, memory.staging_pool):
        block = pool.addresses.find(address, size)
        if block is not None:
            return block
    fail(
        INVALID_VALUE,
        f"{size} bytes at {address:#x} are not in an array of the device {memory.name!r}",
        f"copy the data to the device {memory.name!r} with cuda.to_device",
    )


def is_ours(memory: Memory, view: memoryview) -> bool:
    """Whether the device can access host memory directly: it is pinned, or empty."""
    return not view.nbytes or _staged(memory, view) is not None


def _staged(memory: Memory, view: memoryview) -> Place | None:
    address = int(bindings().ffi.cast("uintptr_t", bindings().ffi.from_buffer(view)))
    return memory.staging_pool.pointers.find(address, view.nbytes)


def _move(stream: Stream, source: Place, target: Place, size: int, keep: Any = None) -> None:
    (one, offset), (two, to) = source, target
    stream.recorder.copy(
        stream, one.buffer, one.skip + offset, two.buffer, two.skip + to, size, keep
    )


# --- to the device ---


def upload(stream: Stream, target: int, source: memoryview, keep: Any = None) -> None:
    """Append a copy to the device."""
    size = source.nbytes
    if not size:
        return
    goal = place(stream.device, target, size)
    staged = _staged(stream.device, source)
    if staged is not None:
        _move(stream, staged, goal, size, (source, keep))
    else:
        _through_staging(stream, goal, source)


def write(stream: Stream, target: int, source: memoryview) -> None:
    """Copy to the device, after the work so far; the source may change on return."""
    size = source.nbytes
    if not size:
        return
    arena, offset = goal = place(stream.device, target, size)
    if not stream.device.pool.by_pointer:
        _through_staging(stream, goal, source)
        return
    _wait(stream)
    bindings().ffi.memmove(_host(arena, offset), source, size)


def _through_staging(stream: Stream, goal: Place, source: memoryview) -> None:
    """Copy the source now to staging memory, and append copies from there."""
    octets, (arena, offset) = source.cast("B"), goal
    before = 0
    for done_bytes in range(0, len(octets), PIECE):
        part = octets[done_bytes : done_bytes + PIECE]
        block = stream.device.stage(len(part))
        bindings().ffi.memmove(_host(block.arena, block.offset), part, len(part))
        _move(stream, (block.arena, block.offset), (arena, offset + done_bytes), len(part))
        if done_bytes:  # two pieces in flight
            stream.recorder.wait(before)
        before = stream.point
        if len(octets) > PIECE:
            stream.recorder.flush()


# --- to the host ---


def download(stream: Stream, target: memoryview, source: int, keep: Any = None) -> None:
    """Append a copy to pinned memory; copy to other memory when the work so far is done."""
    size = target.nbytes
    if not size:
        return
    staged = _staged(stream.device, target)
    if staged is None:
        read(stream, target, source)
        return
    _move(stream, place(stream.device, source, size), staged, size, (target, keep))


def read(stream: Stream, target: memoryview, source: int, keep: Any = None) -> None:
    """Copy to the host; finished on return."""
    size = target.nbytes
    if not size:
        return
    arena, offset = place(stream.device, source, size)
    if stream.device.pool.by_pointer:
        _wait(stream)
        bindings().ffi.memmove(target, _host(arena, offset), size)
        return
    octets = target.cast("B")
    for done_bytes in range(0, size, PIECE):
        part = octets[done_bytes : done_bytes + PIECE]
        block = stream.device.stage(len(part))
        _move(stream, (arena, offset + done_bytes), (block.arena, block.offset), len(part))
        stream.recorder.wait(stream.point)
        bindings().ffi.memmove(part, _host(block.arena, block.offset), len(part))


def _wait(stream: Stream) -> None:
    """Wait for the work that a copy by the host must follow."""
    stream.recorder.wait(stream.recorder.mark(stream)[0])


def _host(arena: Arena, offset: int) -> Any:
    return bindings().ffi.cast("char *", arena.pointer + offset)


# --- within the device ---


def copy(stream: Stream, target: int, source: int, size: int) -> None:
    """Append a copy within the device; the bytes may overlap."""
    if not size or target == source:
        return
    goal, origin = place(stream.device, target, size), place(stream.device, source, size)
    if abs(target - source) < size:  # Vulkan's copies must not overlap
        block = stream.device.allocate(size)
        between = block.arena, block.offset
        _move(stream, origin, between, size)
        _move(stream, between, goal, size)
        return
    _move(stream, origin, goal, size)


def fill(stream: Stream, target: int, byte: int, size: int) -> None:
    """Append a fill."""
    if not 0 <= byte <= 255:
        fail(INVALID_VALUE, f"setting bytes to {byte}")
    if not size:
        return
    arena, offset = place(stream.device, target, size)
    word = byte * 0x01010101
    first, last = -(-offset // 4) * 4, (offset + size) // 4 * 4  # Vulkan sets whole words
    if first < last:
        stream.recorder.fill(stream, arena.buffer, arena.skip + first, last - first, word)
        edges = ((offset, first), (last, offset + size))
    else:
        edges = ((offset, offset + size),)
    for start, end in edges:
        if start < end:
            block = stream.device.stage(end - start)
            block.view()[:] = bytes([byte]) * (end - start)
            _move(stream, (block.arena, block.offset), (arena, start), end - start)
