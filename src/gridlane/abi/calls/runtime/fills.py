"""Fills with a byte."""

from __future__ import annotations

from gridlane.abi.calls.copies import finished_if_asked
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.state import streams
from gridlane.abi.state.copying import Fill, Rows, check_fill
from gridlane.abi.state.streams import Stream
from gridlane.abi.struct import Struct


def _fill(
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


@implements("cudaMemset")
def fill(to: int, value: int, count: int) -> None:
    """Set bytes."""
    finished_if_asked(_fill(to, 0, value, count, 1, 0), to)


@implements("cudaMemsetAsync")
def fill_async(to: int, value: int, count: int, stream: int) -> None:
    """Set bytes, in a stream."""
    _fill(to, 0, value, count, 1, stream)


@implements("cudaMemset2D")
def fill_2d(to: int, pitch: int, value: int, width: int, height: int) -> None:
    """Set the bytes of rows."""
    finished_if_asked(_fill(to, pitch, value, width, height, 0), to)


@implements("cudaMemset2DAsync")
def fill_2d_async(to: int, pitch: int, value: int, width: int, height: int, stream: int) -> None:
    """Set the bytes of rows, in a stream."""
    _fill(to, pitch, value, width, height, stream)


@implements("cudaMemset3D")
def fill_3d(to: Struct, value: int, extent: Struct) -> None:
    """Set the bytes of planes of rows."""
    finished_if_asked(_fill_3d(to, value, extent, 0), to.ptr)


@implements("cudaMemset3DAsync")
def fill_3d_async(to: Struct, value: int, extent: Struct, stream: int) -> None:
    """Set the bytes of planes of rows, in a stream."""
    _fill_3d(to, value, extent, stream)


def _fill_3d(to: Struct, value: int, extent: Struct, stream: int) -> Stream:
    width, height, planes = extent.width, extent.height, extent.depth
    return _fill(to.ptr, to.pitch, value, width, height, stream, planes, to.ysize)
