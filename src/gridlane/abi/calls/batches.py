"""Copies of many pieces of memory by one call."""

from __future__ import annotations

from itertools import pairwise

from gridlane.abi import raw
from gridlane.abi.calls import copies
from gridlane.abi.calls.array_ends import put_array, put_extent, texel_of
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.state import memory, streams
from gridlane.abi.state.streams import LEGACY, Stream
from gridlane.abi.struct import Struct
from gridlane.core.cuda_table import enums, layout

_ORDERS = enums()["CUmemcpySrcAccessOrder"].values
_DURING = _ORDERS["CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL"]
_IN_STREAM = _ORDERS["CU_MEMCPY_SRC_ACCESS_ORDER_STREAM"]
_KNOWN = range(_IN_STREAM, 4)
_MOST = 1 << 32
"""Copies of a batch; more are no number of a program's."""
_POINTER, _ARRAY = (
    enums()["CUmemcpy3DOperandType"].values[f"CU_MEMCPY_OPERAND_TYPE_{name}"]
    for name in ("POINTER", "ARRAY")
)


def _stream(handle: int) -> Stream:
    if handle in (0, LEGACY):
        fail(INVALID_VALUE, "batches are for streams other than the default one")
    return streams.stream(handle)


def _check(order: int, flags: int) -> int:
    """The order in which sources are read, if it is one."""
    if order not in _KNOWN or flags & ~1:
        fail(INVALID_VALUE, f"copies with the access order {order} and the flags {flags:#x}")
    return order


def _orders(attributes: Struct | None, starts_address: int, count: int, copies_: int) -> list[int]:
    """The order of each copy: attributes are for those from a place on."""
    if not copies_:
        return []
    if attributes is None or not starts_address or not 0 < count <= copies_:
        fail(INVALID_VALUE, f"{count} attributes for {copies_} copies")
    starts = raw.words(starts_address, count)
    if starts[0] or any(a >= b for a, b in pairwise(starts)) or starts[-1] >= copies_:
        fail(INVALID_VALUE, f"the attributes begin at the copies {starts}")
    step = layout("CUmemcpyAttributes").size
    orders: list[int] = []
    for n, start in enumerate(starts):
        each = Struct("CUmemcpyAttributes", attributes.address + n * step)
        end = starts[n + 1] if n + 1 < count else copies_
        orders += [_check(each.srcAccessOrder, each.flags)] * (end - start)
    return orders


def _reach(stream: Stream, source: int, size: int, order: int) -> None:
    """Wait for the work so far, if a source that copies read at once is to be read after it."""
    is_plain = memory.find(source, max(1, size), stream.context.ordinal) is None
    if order == _IN_STREAM and is_plain and not stream.queue.inline and stream.capture is None:
        streams.wait(stream)


def _done(stream: Stream, orders: list[int]) -> None:
    """Wait if sources have to be read before the call returns."""
    if _DURING in orders and not stream.queue.inline and stream.capture is None:
        streams.wait(stream)


@implements("cuMemcpyBatchAsync_v2", "cudaMemcpyBatchAsync")
def batch(
    targets: int,
    sources: int,
    sizes: int,
    count: int,
    attributes: Struct | None,
    starts: int,
    kinds: int,
    handle: int,
) -> None:
    """Copy pieces of memory in a stream, by their addresses."""
    stream = _stream(handle)
    if count > _MOST or (count and not (targets and sources and sizes)):
        fail(INVALID_VALUE, f"{count} copies without their addresses or sizes")
    orders = _orders(attributes, starts, kinds, count)
    given = (raw.words(each, count) for each in (targets, sources, sizes))
    for to, source, size, order in zip(*given, orders):
        _reach(stream, source, size, order)
        copies.by_address(to, source, size, handle)
    _done(stream, orders)


@implements("cuMemcpyWithAttributesAsync", "cudaMemcpyWithAttributesAsync")
def with_attributes(
    to: int, source: int, size: int, attributes: Struct | None, handle: int
) -> None:
    """Copy memory in a stream, by its addresses; the default stream as well."""
    stream = streams.stream(handle)
    if attributes is None:
        fail(INVALID_VALUE, "a copy without its attributes")
    order = _check(attributes.srcAccessOrder, attributes.flags)
    _reach(stream, source, size, order)
    copies.by_address(to, source, size, handle)
    _done(stream, [order])


_NO_INDEX = (1 << 64) - 1
"""What CUDA 12 writes for a failure that is of no one copy."""


def name_no_copy(failed: int) -> None:
    """Write that a failure is of no one copy, to an address of the program's; null is none."""
    if failed:
        raw.put_words(failed, (_NO_INDEX,))


def _array(given: Struct) -> int:
    """The array that an end is in; 0 for linear memory."""
    if given.type not in (_POINTER, _ARRAY):
        fail(INVALID_VALUE, f"no kind of memory has the number {given.type}")
    if given.type == _POINTER:
        return 0
    return given.op.array.array or fail(INVALID_VALUE, "no array")


def _end(box: Struct, end: str, given: Struct, texel: int) -> None:
    """Fill one end of a copy of planes."""
    array = _array(given)
    if array:
        put_array(box, end, array, given.op.array.offset, texel)
        return
    place, width = given.op.ptr, box.WidthInBytes
    row, height = place.rowLength * texel or width, place.layerHeight or box.Height
    if not width <= row <= raw.END or height < box.Height:
        fail(
            INVALID_VALUE,
            f"{box.Height} rows of {width} bytes in planes of {height} of {row}",
        )
    setattr(box, f"{end}MemoryType", copies.UNIFIED)
    setattr(box, f"{end}Device", place.ptr)
    setattr(box, f"{end}Pitch", row)
    setattr(box, f"{end}Height", height)


@implements("cuMemcpy3DBatchAsync_v2", "cudaMemcpy3DBatchAsync")
def batch_3d(count: int, operations: Struct | None, flags: int, handle: int) -> None:
    """Copy planes of rows in a stream, by their addresses."""
    stream = _stream(handle)
    if flags or count > _MOST or (count and operations is None):
        fail(INVALID_VALUE, f"{count} copies with the flags {flags:#x}")
    step, orders = layout("CUDA_MEMCPY3D_BATCH_OP").size, list[int]()
    for n in range(count):
        assert operations is not None
        each = Struct("CUDA_MEMCPY3D_BATCH_OP", operations.address + n * step)
        orders.append(_planes(each, stream, handle, f"the copy {n}"))
    _done(stream, orders)


@implements("cuMemcpy3DWithAttributesAsync", "cudaMemcpy3DWithAttributesAsync")
def planes_with_attributes(operation: Struct | None, flags: int, handle: int) -> None:
    """Copy planes of rows in a stream, by their addresses; the default stream as well."""
    stream = streams.stream(handle)
    if flags or operation is None:
        fail(INVALID_VALUE, f"a copy with the flags {flags:#x}")
    given = Struct("CUDA_MEMCPY3D_BATCH_OP", operation.address)
    _done(stream, [_planes(given, stream, handle, "the copy")])


def _planes(given: Struct, stream: Stream, handle: int, name: str) -> int:
    """Append a copy of planes of rows, and return the order in which its source is read."""
    order, extent = _check(given.srcAccessOrder, given.flags), given.extent
    if not (extent.width and extent.height and extent.depth):
        fail(INVALID_VALUE, f"{name} has no extent")
    texel = texel_of(_array(given.src), _array(given.dst))
    box = Struct("CUDA_MEMCPY3D")
    put_extent(box, extent, texel)
    _end(box, "dst", given.dst, texel)
    _end(box, "src", given.src, texel)
    if not _array(given.src):
        _reach(stream, box.srcDevice, 1, order)
    copies.box_copy(box, handle, True)
    return order
