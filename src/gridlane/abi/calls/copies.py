"""Copies and fills of linear memory."""

from __future__ import annotations

from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.abi.state import arrays, contexts, copying, memory, streams
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.copying import Fill, Rows, check_device, check_fill, side
from gridlane.abi.state.streams import Stream
from gridlane.abi.struct import Struct
from gridlane.core.cuda_table import enums

_TYPES = enums()["CUmemorytype"].values
HOST, DEVICE, ARRAY, UNIFIED = (
    _TYPES[f"CU_MEMORYTYPE_{name}"] for name in ("HOST", "DEVICE", "ARRAY", "UNIFIED")
)


def finished(stream: Stream) -> None:
    """Wait for a copy, unless the stream did it."""
    if not stream.native.inline:
        streams.wait(stream)


def finished_if_asked(stream: Stream, *addresses: int) -> None:
    """Wait for a copy or fill of host memory, or of memory for which the program requested
    synchronous copies."""
    for each in addresses:
        allocation = memory.find(each, 1, stream.context.ordinal)
        if allocation is not None and (
            allocation.synchronous or allocation.kind in ("host", "registered")
        ):
            finished(stream)
            return


def to_device(to: int, source: int, size: int, stream: int) -> Stream:
    """Append a copy from the host."""
    target = streams.stream(stream)
    check_device(to, size, target.context)
    copying.copy(target, Rows(to, True), Rows(source, False), size)
    return target


def to_host(to: int, source: int, size: int, stream: int) -> Stream:
    """Append a copy to the host."""
    target = streams.stream(stream)
    check_device(source, size, target.context)
    copying.copy(target, Rows(to, False), Rows(source, True), size)
    return target


def within(to: int, source: int, size: int, stream: int) -> Stream:
    """Append a copy from device to device."""
    target = streams.stream(stream)
    check_device(to, size, target.context)
    check_device(source, size, target.context)
    copying.copy(target, Rows(to, True), Rows(source, True), size)
    return target


def by_address(to: int, source: int, size: int, stream: int) -> Stream:
    """Append a copy whose source and target memory is found by the addresses."""
    stream_object = streams.stream(stream)
    target, start = (Rows(each, side(each, size, stream_object.context)) for each in (to, source))
    copying.copy(stream_object, target, start, size)
    return stream_object


def between(
    to: int, to_context: int, source: int, from_context: int, size: int, stream: int
) -> Stream:
    """Append a copy between contexts of one device."""
    there, here = contexts.of_handle(to_context), contexts.of_handle(from_context)
    if there.device is not here.device:
        fail(NOT_SUPPORTED, "copies between two devices go through the host: copy there first")
    return within(to, source, size, stream)


# --- rows and planes ---


def rows_of(box: Struct, end: str, context: Context, is_3d: bool) -> Rows:
    """One end, ``src`` or ``dst``, of a copy of rows."""
    kind = getattr(box, f"{end}MemoryType")
    pitch = getattr(box, f"{end}Pitch")
    height = getattr(box, f"{end}Height") if is_3d else 0
    if kind == ARRAY:
        return _in_array(box, end, context, is_3d)
    if kind not in (HOST, DEVICE, UNIFIED):
        fail(INVALID_VALUE, f"no kind of memory has the number {kind}")
    start = getattr(box, f"{end}Host" if kind == HOST else f"{end}Device")
    if not start and box.WidthInBytes:
        fail(INVALID_VALUE, "a null address")
    rows, planes = max(1, box.Height), max(1, box.Depth) if is_3d else 1
    pitch = pitch or getattr(box, f"{end}XInBytes") + box.WidthInBytes
    height = height or getattr(box, f"{end}Y") + rows
    if pitch < box.WidthInBytes + getattr(box, f"{end}XInBytes"):
        fail(INVALID_VALUE, f"rows of {box.WidthInBytes} bytes, {pitch} bytes apart")
    first = Rows(start, False, pitch, height)
    plane = getattr(box, f"{end}Z") if is_3d else 0
    begin = first.at(getattr(box, f"{end}Y"), plane) + getattr(box, f"{end}XInBytes")
    last = pitch * (rows - 1 + height * (planes - 1)) + box.WidthInBytes
    is_device = kind == DEVICE or (kind == UNIFIED and side(begin, last, context))
    if kind == DEVICE:
        check_device(begin, last, context)
    return Rows(begin, is_device, pitch, height)


def _in_array(box: Struct, end: str, context: Context, is_3d: bool) -> Rows:
    """An end that is in an array of texels."""
    array = arrays.arrays.get(getattr(box, f"{end}Array"))
    x, y = getattr(box, f"{end}XInBytes"), getattr(box, f"{end}Y")
    z, depth = (getattr(box, f"{end}Z"), box.Depth) if is_3d else (0, 1)
    if is_3d and getattr(box, f"{end}LOD"):
        fail(INVALID_VALUE, f"{end}LOD is 0: a level of a mipmapped array is an array")
    return arrays.rows(array, x, y, z, box.WidthInBytes, box.Height, depth, context)


def box_copy(box: Struct | None, stream: int, is_3d: bool) -> Stream:
    """Append a copy of rows, or of planes of rows."""
    target = streams.stream(stream)
    if box is None:
        fail(INVALID_VALUE, "no description of the copy")
    if not box.WidthInBytes or not box.Height or (is_3d and not box.Depth):
        return target
    to, source = (rows_of(box, end, target.context, is_3d) for end in ("dst", "src"))
    copying.copy(target, to, source, box.WidthInBytes, box.Height, box.Depth if is_3d else 1)
    return target


# --- fills ---


def fill_of(
    context: Context, to: int, pitch: int, value: int, size: int, width: int, height: int
) -> Fill:
    """A fill of rows with a value of ``size`` bytes."""
    if size not in (1, 2, 4) or to % size:
        fail(INVALID_VALUE, f"{size}-byte values at {to:#x}")
    if height > 1 and (pitch % size or pitch < width * size):
        fail(INVALID_VALUE, f"{width} values of {size} bytes in rows {pitch} bytes apart")
    bytes_ = pitch * (height - 1) + width * size if width and height else 0
    device = check_fill(to, bytes_, context)
    pattern = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    return Fill(Rows(to, device, pitch), pattern, width, height)


def _fill(
    to: int, pitch: int, value: int, size: int, width: int, height: int, stream: int
) -> Stream:
    """Append a fill of rows with a value of ``size`` bytes."""
    target = streams.stream(stream)
    work = fill_of(target.context, to, pitch, value, size, width, height)
    if width and height:
        target.submit(work)
    return target


def _declare(size: int) -> None:
    """Declare the four functions of a size of value."""
    bits = 8 * size

    @implements(f"cuMemsetD{bits}_v2")
    def once(to: int, value: int, count: int) -> None:
        finished_if_asked(_fill(to, 0, value, size, count, 1, 0), to)

    @implements(f"cuMemsetD{bits}Async")
    def in_stream(to: int, value: int, count: int, stream: int) -> None:
        _fill(to, 0, value, size, count, 1, stream)

    @implements(f"cuMemsetD2D{bits}_v2")
    def rows(to: int, pitch: int, value: int, width: int, height: int) -> None:
        finished_if_asked(_fill(to, pitch, value, size, width, height, 0), to)

    @implements(f"cuMemsetD2D{bits}Async")
    def rows_in_stream(
        to: int, pitch: int, value: int, width: int, height: int, stream: int
    ) -> None:
        _fill(to, pitch, value, size, width, height, stream)


for _size in (1, 2, 4):
    _declare(_size)
