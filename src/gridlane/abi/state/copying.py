"""Copies and fills between the host and devices, in the order of a stream."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from gridlane.abi import raw
from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.state import memory, streams
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.streams import Stream
from gridlane.core.cuda_table import enums
from gridlane.core.errors import GridlaneError
from gridlane.memory.resource import Buffer

_TYPES = enums()["CUgraphNodeType"].values
_PIECE = 1 << 20
"""Bytes of a pattern that is written at once; the rest are copies of it on the device."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of bytes in memory.

    Attributes:
        address: of the first byte.
        device: whether it is the device's memory, not the host's.
        pitch: bytes from row to row; ``height``: rows from plane to plane.
    """

    address: int
    device: bool
    pitch: int = 0
    height: int = 0

    def at(self, row: int, plane: int) -> int:
        """The address of a row."""
        return self.address + self.pitch * (row + self.height * plane)


def side(address: int, size: int, context: Context) -> bool:
    """Whether bytes are the device's, by their address.

    Raises:
        Failure: INVALID_VALUE, they reach over the end of what was allocated, or of a module's
            variables.
    """
    allocation = memory.find(address, 1, context.ordinal)
    owned = allocation is not None and allocation.kind in ("device", "managed")
    loaded = None if owned else memory.variable(address, context)
    for there in (allocation, loaded):
        if there is not None and address + size > there.address + there.size:
            fail(
                INVALID_VALUE,
                f"{size} bytes at {address:#x}: the allocation there has {there.size} from "
                f"{there.address:#x} on",
            )
    return owned or loaded is not None


def check_device(address: int, size: int, context: Context) -> None:
    """Raise INVALID_VALUE unless bytes are the device's, or pinned memory of the host that the
    device uses by its address."""
    if not size or side(address, size, context):
        return
    if not context.device.host_visible or memory.find(address, 1, context.ordinal) is None:
        fail(INVALID_VALUE, f"{address:#x} is not memory of the device {context.device.name}")


def check_fill(address: int, size: int, context: Context) -> bool:
    """Whether bytes to be set are the device's; others are the host's, which devices use.

    Raises:
        Failure: INVALID_VALUE, they are neither.
    """
    if not size or side(address, size, context):
        return True
    if memory.find(address, size, context.ordinal) is None:
        fail(
            INVALID_VALUE,
            f"{address:#x} is neither memory of the device {context.device.name} nor memory of the "
            "host that was allocated or registered for devices",
        )
    return False


class Staging:
    """Memory of the host that copies of pageable memory go through, one launch after another."""

    def __init__(self) -> None:
        self._buffer: Buffer | None = None

    def take(self, context: Context, size: int) -> Buffer:
        """Reserve bytes for the copies of a launch, which are ordered behind those of the previous
        one."""
        if self._buffer is None or self._buffer.size < size:
            self._buffer = context.device.allocate_host(size, "pinned")
        return self._buffer


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of rows.

    Attributes:
        width: bytes of a row; ``height``: rows of a plane; ``depth``: planes.
        late: whether pageable memory of the host is read and written when the copy executes, as in
            graphs; if not, before ``run`` returns.
        told: the CUDA_MEMCPY3D that a program described it by; b"" if it did not.
        staging: of an executable graph, for copies that are late; None for memory of each launch.
    """

    to: Rows
    source: Rows
    width: int
    height: int = 1
    depth: int = 1
    late: bool = False
    told: bytes = b""
    staging: Staging | None = None
    kind: ClassVar[int] = _TYPES["CU_GRAPH_NODE_TYPE_MEMCPY"]

    @property
    def is_linear(self) -> bool:
        """Whether it is of one row."""
        return self.height * self.depth == 1

    def run(self, stream: Stream) -> None:
        """Append it to a stream."""
        to, source, width, height, depth = self.to, self.source, self.width, self.height, self.depth
        in_one = depth == 1 or height == to.height == source.height
        if height * depth > 1 and width == to.pitch == source.pitch and in_one:
            width, height, depth = width * height * depth, 1, 1
        try:
            between = self._between(stream)
            for plane in range(depth):
                for row in range(height):
                    place = (plane * height + row) * width
                    area = (between, between.address + place) if between else None
                    _row(stream, to.at(row, plane), source.at(row, plane), self, width, area)
        except GridlaneError as error:
            raise streams.faulted(stream.context, error) from None
        stream.context.check()  # it may have waited for a kernel that failed

    def _between(self, stream: Stream) -> Buffer | None:
        """The staging memory of a launch, if it needs any."""
        if not self.late or stream.queue.inline or self.to.device == self.source.device:
            return None
        host = self.source if self.to.device else self.to
        if memory.find(host.address, 1, stream.context.ordinal) is not None:
            return None
        size = self.width * self.height * self.depth
        return (self.staging or Staging()).take(stream.context, size)


def copy(
    stream: Stream, to: Rows, source: Rows, width: int, height: int = 1, depth: int = 1
) -> None:
    """Append a copy of rows to a stream. The bytes of pageable host memory are read before it
    returns, and are written before it returns, unless the stream is captured.

    Args:
        width: bytes of a row; ``height``: rows of a plane; ``depth``: planes.
    """
    if not width or not height or not depth:
        return
    if not to.address or not source.address:
        fail(INVALID_VALUE, "a null address")
    for each in (to, source):
        if not each.device:
            raw.check_range(each.address, each.at(height - 1, depth - 1) - each.address + width)
    late = stream.capture is not None
    stream.submit(Copy(to, source, width, height, depth, late))


def _row(
    stream: Stream,
    target: int,
    start: int,
    work: Copy,
    size: int,
    area: tuple[Buffer, int] | None,
) -> None:
    """Append the copy of one row.

    Args:
        target, start: the addresses of the row.
        area: the staging memory of the row, and its address; None if the copy uses none.
    """
    native, to_device, from_device = stream.queue, work.to.device, work.source.device
    if from_device and to_device:
        native.copy(target, start, size)
    elif not from_device and not to_device:
        native.submit(partial(_move, target, start, size))
        if not work.late:  # CUDA returns from these when they are done
            native.synchronize()
    elif area is not None:
        buffer, place = area
        view = raw.view(place, size, buffer)
        if to_device:
            native.submit(partial(_move, place, start, size, buffer))
            native.upload(target, view, buffer)
        else:
            native.download(view, start, buffer)
            native.submit(partial(_move, target, place, size, buffer))
    else:
        host = start if to_device else target
        pinned = memory.find(host, size, stream.context.ordinal) if not native.inline else None
        view = raw.view(host, size, pinned.owner if pinned else None)
        if pinned is not None and to_device:
            native.upload(target, view, pinned.owner)
        elif pinned is not None:
            native.download(view, start, pinned.owner)
        elif to_device:
            native.write(target, view)
        else:
            native.read(view, start)


def _move(target: int, source: int, size: int, keep: object = None) -> None:
    """Move bytes of the host. ``keep`` lives until then, as it is an argument."""
    ctypes.memmove(target, source, size)


@dataclass(frozen=True, slots=True)
class Fill:
    """A fill of rows.

    Attributes:
        pattern: of 1, 2 or 4 bytes; ``count``: how many of it make a row.
    """

    to: Rows
    pattern: bytes
    count: int
    height: int = 1
    kind: ClassVar[int] = _TYPES["CU_GRAPH_NODE_TYPE_MEMSET"]

    def run(self, stream: Stream) -> None:
        """Append it to a stream."""
        count, height = self.count, self.height
        try:
            if height > 1 and self.to.pitch == count * len(self.pattern):
                count, height = count * height, 1
            for row in range(height):
                _fill_row(stream, self.to.at(row, 0), self.to.device, self.pattern, count)
        except GridlaneError as error:
            raise streams.faulted(stream.context, error) from None
        stream.context.check()  # it may have waited for a kernel that failed


def _fill_row(stream: Stream, address: int, device: bool, pattern: bytes, count: int) -> None:
    native, size = stream.queue, count * len(pattern)
    if not device:
        allocation = memory.find(address, size, stream.context.ordinal)
        owner = allocation.owner if allocation else None
        native.submit(partial(_set, raw.view(address, size, owner), pattern))
        return
    if len(set(pattern)) == 1:
        native.fill(address, pattern[0], size)
        return
    piece = min(size, _PIECE)
    data = np.frombuffer(pattern * (piece // len(pattern)), np.uint8)
    native.upload(address, data.data, data)
    done = piece
    while done < size:
        more = min(done, size - done)
        native.copy(address + done, address, more)
        done += more


def _set(target: memoryview, pattern: bytes) -> None:
    """Set bytes of the host to a pattern."""
    np.frombuffer(target, np.uint8).reshape(-1, len(pattern))[:] = np.frombuffer(pattern, np.uint8)
