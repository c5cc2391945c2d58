"""Fills with a byte."""

from __future__ import annotations

from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.state import copying, streams
from gridlane.abi.state.copying import Rows, check_device
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
) -> None:
    """Append a fill.

    Args:
        width: bytes of a row; ``height``: rows of a plane; ``planes``: how many of these.
        rows: from plane to plane.
    """
    found = streams.stream(stream)
    if not width or not height or not planes:
        return
    if height * planes > 1 and pitch < width:
        fail(INVALID_VALUE, f"rows of {width} bytes, {pitch} bytes apart")
    if planes > 1 and rows < height:
        fail(INVALID_VALUE, f"{height} rows in planes of {rows}")
    check_device(to, pitch * (height - 1 + rows * (planes - 1)) + width, found.context)
    pattern = bytes([value & 0xFF])
    if planes > 1 and rows == height:
        height, planes = height * planes, 1
    for plane in range(planes):
        copying.fill(found, Rows(to + plane * rows * pitch, True, pitch), pattern, width, height)


@implements("cudaMemset")
def fill(to: int, value: int, count: int) -> None:
    """Set bytes."""
    _fill(to, 0, value, count, 1, 0)


@implements("cudaMemsetAsync")
def fill_async(to: int, value: int, count: int, stream: int) -> None:
    """Set bytes, in a stream."""
    _fill(to, 0, value, count, 1, stream)


@implements("cudaMemset2D")
def fill_2d(to: int, pitch: int, value: int, width: int, height: int) -> None:
    """Set the bytes of rows."""
    _fill(to, pitch, value, width, height, 0)


@implements("cudaMemset2DAsync")
def fill_2d_async(to: int, pitch: int, value: int, width: int, height: int, stream: int) -> None:
    """Set the bytes of rows, in a stream."""
    _fill(to, pitch, value, width, height, stream)


@implements("cudaMemset3D")
def fill_3d(to: Struct, value: int, extent: Struct) -> None:
    """Set the bytes of planes of rows."""
    fill_3d_async(to, value, extent, 0)


@implements("cudaMemset3DAsync")
def fill_3d_async(to: Struct, value: int, extent: Struct, stream: int) -> None:
    """Set the bytes of planes of rows, in a stream."""
    _fill(to.ptr, to.pitch, value, extent.width, extent.height, stream, extent.depth, to.ysize)
