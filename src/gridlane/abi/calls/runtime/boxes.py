"""Copies of rows and of planes of rows, as the driver's."""

from __future__ import annotations

from gridlane.abi.calls import copies as driver
from gridlane.abi.calls.array_ends import put_array, put_extent, texel_of
from gridlane.abi.calls.runtime.copies import DEFAULT, INVALID_PITCH, check_side, sides
from gridlane.abi.failure import INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.abi.state import contexts, streams
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.streams import Stream
from gridlane.abi.struct import Struct


def rows(
    to: int,
    to_pitch: int,
    source: int,
    pitch: int,
    width: int,
    height: int,
    kind: int,
    stream: int,
) -> Stream:
    """Append a copy of rows."""
    target, start = sides(kind)
    stream_object = streams.stream(stream)
    if width > min(to_pitch, pitch):
        fail(INVALID_PITCH, f"rows of {width} bytes, {pitch} and {to_pitch} bytes apart")
    if not width or not height:
        return stream_object
    box = Struct("CUDA_MEMCPY2D")
    box.WidthInBytes, box.Height = width, height
    for end, address, step, expected in (
        ("dst", to, to_pitch, target),
        ("src", source, pitch, start),
    ):
        size = step * (height - 1) + width
        _put(box, end, address, step, check_side(address, size, expected, stream_object.context))
    return driver.box_copy(box, stream, False)


def _put(box: Struct, end: str, address: int, pitch: int, is_device: bool) -> None:
    """Fill one end, ``src`` or ``dst``, of a description of the driver's."""
    setattr(box, f"{end}MemoryType", driver.DEVICE if is_device else driver.HOST)
    setattr(box, f"{end}Device" if is_device else f"{end}Host", address)
    setattr(box, f"{end}Pitch", pitch)


def _end(
    box: Struct, end: str, given: Struct, expected: bool | None, texel: int, context: Context
) -> None:
    """Fill one end of a copy of planes."""
    array, memory = getattr(given, f"{end}Array"), getattr(given, f"{end}Ptr")
    place, extent, width = getattr(given, f"{end}Pos"), given.extent, box.WidthInBytes
    if bool(array) == bool(memory.ptr):
        fail(INVALID_VALUE, f"a copy takes one of {end}Array and {end}Ptr")
    if array:
        put_array(box, end, array, place, texel)
        return
    if place.x + width > memory.pitch:
        fail(
            INVALID_PITCH,
            f"{width} bytes from {place.x} on, in rows {memory.pitch} bytes apart",
        )
    if extent.depth > 1 and place.y + extent.height > memory.ysize:
        fail(
            INVALID_VALUE,
            f"{extent.height} rows from {place.y} on, in planes of {memory.ysize}",
        )
    first = memory.pitch * (place.y + memory.ysize * place.z) + place.x
    last = memory.pitch * (extent.height - 1 + memory.ysize * (extent.depth - 1)) + width
    start = memory.ptr + first
    _put(box, end, start, memory.pitch, check_side(start, last, expected, context))
    setattr(box, f"{end}Height", memory.ysize)


def planes(given: Struct | None, kind: int, stream: int) -> Stream:
    """Append a copy of planes."""
    if given is None:
        fail(INVALID_VALUE, "no description of the copy")
    target, start = sides(kind)
    stream_object, extent = streams.stream(stream), given.extent
    if not extent.width or not extent.height or not extent.depth:
        return stream_object
    box = Struct("CUDA_MEMCPY3D")
    texel = texel_of(given.srcArray, given.dstArray)
    put_extent(box, extent, texel)
    _end(box, "dst", given, target, texel, stream_object.context)
    _end(box, "src", given, start, texel, stream_object.context)
    return driver.box_copy(box, stream, True)


def planes_within(given: Struct | None, stream: int) -> Stream:
    """Append a copy of planes within a device."""
    if given is None:
        fail(INVALID_VALUE, "no description of the copy")
    for each in (given.srcDevice, given.dstDevice):
        contexts.primary(each)
    if given.srcDevice != given.dstDevice:
        fail(NOT_SUPPORTED, "copies between two devices go through the host: copy there first")
    return planes(given, DEFAULT, stream)
