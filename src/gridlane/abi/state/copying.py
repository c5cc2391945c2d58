"""Copies and fills between the host and devices, in the order of a stream."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gridlane.abi import raw
from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.state import memory, streams
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.streams import Stream
from gridlane.abi.table import enums
from gridlane.core.errors import GridlaneError

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
        Failure: INVALID_VALUE, they reach over the end of what was allocated.
    """
    found = memory.find(address, 1, context.ordinal)
    if found is not None and address + size > found.address + found.size:
        fail(
            INVALID_VALUE,
            f"{size} bytes at {address:#x}: the allocation there has {found.size} from "
            f"{found.address:#x} on",
        )
    return memory.is_device(address, size, context)


def check_device(address: int, size: int, context: Context) -> None:
    """Raise INVALID_VALUE unless bytes are the device's."""
    if size and not side(address, size, context):
        fail(INVALID_VALUE, f"{address:#x} is not memory of the device {context.device.name}")


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of rows.

    Attributes:
        width: bytes of a row; ``height``: rows of a plane; ``depth``: planes.
        late: whether pageable memory of the host is read and written when the copy executes, as in
            graphs; if not, before ``run`` returns.
        told: the CUDA_MEMCPY3D that a program described it by; b"" if it did not.
    """

    to: Rows
    source: Rows
    width: int
    height: int = 1
    depth: int = 1
    late: bool = False
    told: bytes = b""
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
            for plane in range(depth):
                for row in range(height):
                    _row(stream, to, source, width, row, plane, self.late)
        except GridlaneError as error:
            raise streams.faulted(stream.context, error) from None


def copy(
    stream: Stream, to: Rows, source: Rows, width: int, height: int = 1, depth: int = 1
) -> None:
    """Append a copy of rows to a stream. The bytes of pageable host memory are read before it
    returns, and are written before it returns, unless the stream is captured.

    Args:
        width: bytes of a row; ``height``: rows of a plane; ``depth``: planes.
    """
    if width and height and depth:
        late = stream.capture is not None
        stream.submit(Copy(to, source, width, height, depth, late))


def _row(
    stream: Stream, to: Rows, source: Rows, width: int, row: int, plane: int, late: bool
) -> None:
    native, target, start = stream.queue, to.at(row, plane), source.at(row, plane)
    ordinal = stream.context.ordinal
    if source.device and to.device:
        native.copy(target, start, width)
    elif to.device:
        pinned = memory.find(start, width, ordinal) if not native.inline else None
        if pinned is not None:
            native.upload(target, raw.view(start, width, pinned.owner), pinned.owner)
        elif late and not native.inline:
            _upload_late(stream, target, start, width)
        else:
            native.write(target, raw.view(start, width))
    elif source.device:
        pinned = memory.find(target, width, ordinal) if not native.inline else None
        if pinned is not None:
            native.download(raw.view(target, width, pinned.owner), start, pinned.owner)
        elif late and not native.inline:
            _download_late(stream, target, start, width)
        else:
            native.read(raw.view(target, width), start)
    else:
        native.submit(lambda: ctypes.memmove(target, start, width))


def _upload_late(stream: Stream, target: int, start: int, size: int) -> None:
    """Append a copy from pageable memory, which is read after the work so far."""
    staging = stream.context.device.allocate_host(size, "pinned")
    stream.queue.submit(lambda: ctypes.memmove(staging.address, start, size))
    stream.queue.upload(target, raw.view(staging.address, size, staging), staging)


def _download_late(stream: Stream, target: int, start: int, size: int) -> None:
    """Append a copy to pageable memory, which is written in the order of the stream."""
    staging = stream.context.device.allocate_host(size, "pinned")
    stream.queue.download(raw.view(staging.address, size, staging), start, staging)
    stream.queue.submit(lambda: ctypes.memmove(target, staging.address, size))


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
                _fill_row(stream, self.to.at(row, 0), self.pattern, count)
        except GridlaneError as error:
            raise streams.faulted(stream.context, error) from None


def _fill_row(stream: Stream, address: int, pattern: bytes, count: int) -> None:
    native, size = stream.queue, count * len(pattern)
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
