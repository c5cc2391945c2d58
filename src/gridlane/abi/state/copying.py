"""Copies and fills between the host and devices, in the order of a stream."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np

from gridlane.abi import raw
from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.state import memory, streams
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.streams import Stream
from gridlane.core.errors import GridlaneError

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


def copy(
    stream: Stream, to: Rows, source: Rows, width: int, height: int = 1, depth: int = 1
) -> None:
    """Append a copy of rows to a stream. The bytes of pageable host memory are read before it
    returns, and are written before it returns.

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
    in_one = depth == 1 or height == to.height == source.height
    if height * depth > 1 and width == to.pitch == source.pitch and in_one:
        width, height, depth = width * height * depth, 1, 1
    try:
        for plane in range(depth):
            for row in range(height):
                _row(stream, to, source, width, row, plane)
    except GridlaneError as error:
        raise streams.faulted(stream.context, error) from None


def _row(stream: Stream, to: Rows, source: Rows, width: int, row: int, plane: int) -> None:
    native, target, start = stream.native, to.at(row, plane), source.at(row, plane)
    ordinal = stream.context.ordinal
    if source.device and to.device:
        native.copy(target, start, width)
    elif to.device:
        pinned = memory.find(start, width, ordinal) if not native.inline else None
        if pinned is not None:
            native.upload(target, raw.view(start, width), pinned.owner)
        else:
            native.write(target, raw.view(start, width))
    elif source.device:
        pinned = memory.find(target, width, ordinal) if not native.inline else None
        if pinned is not None:
            native.download(raw.view(target, width), start, pinned.owner)
        else:
            native.read(raw.view(target, width), start)
    else:
        native.submit(lambda: ctypes.memmove(target, start, width))
        if not native.capturing:  # CUDA returns from these when they are done
            native.synchronize()


def fill(stream: Stream, to: Rows, pattern: bytes, count: int, height: int = 1) -> None:
    """Append a fill of rows to a stream.

    Args:
        pattern: of 1, 2 or 4 bytes; ``count``: how many of it make a row.
    """
    if not count or not height:
        return
    try:
        if height > 1 and to.pitch == count * len(pattern):
            count, height = count * height, 1
        for row in range(height):
            _fill_row(stream, to.at(row, 0), pattern, count)
    except GridlaneError as error:
        raise streams.faulted(stream.context, error) from None


def _fill_row(stream: Stream, address: int, pattern: bytes, count: int) -> None:
    native, size = stream.native, count * len(pattern)
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
