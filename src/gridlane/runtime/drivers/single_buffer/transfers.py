"""Copies between host and device, within the device, and fills.

Libraries copy whole words. A small kernel, ``move``, copies partial words and keeps the other bytes
of the word: it is ordinary work in the queue, so it is in order.

``move(target, source, size, word)`` copies bytes from ``source``; a ``source`` of 0 sets them to
those of ``word``, byte n of memory to byte n % 4. The bytes must not overlap. Both are offsets in
one buffer. For ``move_between``, ``source`` is an offset in another buffer, which it binds as
``heap1``.
"""

from __future__ import annotations

import struct
from typing import Any, Protocol

from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import INVALID_VALUE, fail
from gridlane.core.dtypes import u32
from gridlane.core.parameters import lay_out
from gridlane.core.shader_abi import located
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.resource import Buffer
from gridlane.runtime.drivers.single_buffer.engine import Read, Write
from gridlane.runtime.drivers.single_buffer.queue import Queue

THREADS = 256
"""Threads of a block of ``move``; each handles one word."""
SMALL = 4096
"""Copies of up to so many bytes stay in the list; larger ones are submitted at once."""
_MOVE = struct.Struct("<4I")


class Program(Protocol):
    """A kernel, loaded."""

    def program(self, shared: int) -> Any:
        """The engine's program for so many bytes of dynamic shared memory."""
        ...


class Memory(Protocol):
    """The device interface that copies use.

    Attributes:
        memory, queue: its memory and its work.
    """

    name: str
    memory: DeviceMemory[Buffer]
    queue: Queue

    @property
    def move(self) -> Program:
        """The kernel for copies within a buffer, and fills."""
        ...

    @property
    def move_between(self) -> Program:
        """The kernel for copies between buffers."""
        ...


def move_kernel(
    target: str, format_: str, entry: str, text: str, between: bool = False
) -> Artifact:
    """The kernel ``move``, or ``move_between``, in the engine's language."""
    names = ("target", "source", "size", "word")
    slots, _ = lay_out((name, u32, n, ()) for n, name in enumerate(names))
    block, size = (THREADS, 1, 1), _MOVE.size
    return Artifact(
        target,
        format_,
        text.encode(),
        entry,
        slots,
        size,
        block=block,
        kernel="move_between" if between else "move",
        buffers=(0, 1) if between else (),
    )


def check(device: Memory, address: int, size: int) -> None:
    """Refuse bytes outside the device's memory.

    Raises:
        DeviceError: INVALID_VALUE.
    """
    if device.memory.find(address, size) is None:
        fail(
            INVALID_VALUE,
            f"{size} bytes at {address:#x} are not in an array of the device {device.name!r}",
            f"copy the data to the device {device.name!r} with cuda.to_device",
        )


def upload(device: Memory, target: int, source: memoryview, keep: object = None) -> None:
    """Append a copy to the device. The bytes must not change until it is done; ``keep`` lives as
    long."""
    octets = source.cast("B")
    size = len(octets)
    if not size:
        return
    check(device, target, size)
    first = min(size, -target % 4)
    last = max(first, size - (target + size) % 4)
    for start, end in ((0, first), (last, size)):
        if start < end:
            word = bytearray(4)
            for n in range(start, end):
                word[(target + n) % 4] = octets[n]
            _move(device, target + start, 0, end - start, int.from_bytes(word, "little"))
    if first < last:
        device.queue.put(Write(target + first, octets[first:last], keep))


def write(device: Memory, target: int, source: memoryview) -> None:
    """Append a copy to the device; the bytes may change on return."""
    if source.nbytes <= SMALL:
        upload(device, target, memoryview(bytes(source)))
        return
    upload(device, target, source)
    device.queue.flush()


def download(device: Memory, target: memoryview, source: int, keep: object = None) -> None:
    """Append a copy to the host. ``keep`` lives until it is done."""
    octets = target.cast("B")
    size = len(octets)
    if not size:
        return
    check(device, source, size)
    skip = source % 4
    device.queue.put(Read(source - skip, -(-(skip + size) // 4) * 4, octets, skip, keep))


def copy(device: Memory, target: int, source: int, size: int) -> None:
    """Append a copy within the device; the bytes may overlap."""
    if not size or target == source:
        return
    check(device, target, size)
    check(device, source, size)
    if abs(target - source) >= size or located(target)[0] != located(source)[0]:
        _move(device, target, source, size)
        return
    between = device.memory.allocate(size)
    _move(device, between.address, source, size)
    _move(device, target, between.address, size)


def fill(device: Memory, target: int, byte: int, size: int) -> None:
    """Append a fill."""
    if not 0 <= byte <= 255:
        fail(INVALID_VALUE, f"setting bytes to {byte}")
    if not size:
        return
    check(device, target, size)
    _move(device, target, 0, size, byte * 0x01010101)


def _move(device: Memory, target: int, source: int, size: int, word: int = 0) -> None:
    count = (target + size + 3) // 4 - target // 4
    (to, target), (of, source) = located(target), located(source)
    apart = source != 0 and to != of
    program = (device.move_between if apart else device.move).program(0)
    params = _MOVE.pack(target, source, size, word)
    buffers = (to, of) if apart else (to,)
    device.queue.launch(program, params, (-(-count // THREADS), 1, 1), 0, 0, buffers)
