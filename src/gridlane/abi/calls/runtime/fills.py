"""Fills with a byte."""

from __future__ import annotations

from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.state import streams
from gridlane.abi.state.copying import Fill, Rows, check_fill
from gridlane.abi.state.streams import Stream
from gridlane.abi.struct import Struct


def fill_rows(
    to: int,
    pitch: int,
    value: int,
    width: int,
    height: int,
    stream: int,
    planes: int = 1,
    rows: int = 0,
) -> Stream:
    """Append a fill.

    Args:
        width: bytes of a row; ``height``: rows of a plane; ``planes``: how many of these.
        rows: from plane to plane.
    """
    target = streams.stream(stream)
    if not width or not height or not planes:
        return target
    if height * planes > 1 and pitch < width:
        fail(INVALID_VALUE, f"rows of {width} bytes, {pitch} bytes apart")
    if planes > 1 and rows < height:
        fail(INVALID_VALUE, f"{height} rows in planes of {rows}")
    device = check_fill(to, pitch * (height - 1 + rows * (planes - 1)) + width, target.context)
    pattern = bytes([value & 0xFF])
    if planes > 1 and rows == height:
        height, planes = height * planes, 1
    for plane in range(planes):
        start = Rows(to + plane * rows * pitch, device, pitch)
        target.submit(Fill(start, pattern, width, height))
    return target


def fill_planes(to: Struct, value: int, extent: Struct, stream: int) -> Stream:
    """Append a fill of planes."""
    width, height, planes = extent.width, extent.height, extent.depth
    return fill_rows(to.ptr, to.pitch, value, width, height, stream, planes, to.ysize)
