"""Copies between arrays of texels and linear memory."""

from __future__ import annotations

from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import fail
from gridlane.abi.state import arrays, copying, streams
from gridlane.abi.state.copying import Rows, check_device, side
from gridlane.abi.state.streams import Stream

_TO_DEVICE, _TO_HOST, _WITHIN, _BY_ADDRESS = 1, 2, 3, 4
"""Kinds of copies, as the runtime numbers them."""
_BAD_PITCH, _BAD_KIND = 12, 21
"""cudaErrorInvalidPitchValue and cudaErrorInvalidMemcpyDirection."""


def _run(handle: int, offset: int, size: int, stream: Stream) -> Rows:
    """Bytes of an array in the order of its rows."""
    return arrays.run(arrays.arrays.get(handle), offset, size, stream.context)


def _box(handle: int, x: int, y: int, width: int, height: int, stream: Stream) -> Rows:
    """Rows of an array from a place on."""
    return arrays.rows(arrays.arrays.get(handle), x, y, 0, width, height, 1, stream.context)


# --- the driver's ---


def host_to_array(to: int, offset: int, source: int, size: int, stream: int) -> Stream:
    """Append a copy from the host to an array."""
    target = streams.stream(stream)
    copying.copy(target, _run(to, offset, size, target), Rows(source, False), size)
    return target


def array_to_host(to: int, source: int, offset: int, size: int, stream: int) -> Stream:
    """Append a copy from an array to the host."""
    target = streams.stream(stream)
    copying.copy(target, Rows(to, False), _run(source, offset, size, target), size)
    return target


@implements("cuMemcpyDtoA_v2")
def device_to_array(to: int, offset: int, source: int, size: int) -> None:
    """Copy from linear memory of the device to an array."""
    stream = streams.stream(0)
    check_device(source, size, stream.context)
    copying.copy(stream, _run(to, offset, size, stream), Rows(source, True), size)


@implements("cuMemcpyAtoD_v2")
def array_to_device(to: int, source: int, offset: int, size: int) -> None:
    """Copy from an array to linear memory of the device."""
    stream = streams.stream(0)
    check_device(to, size, stream.context)
    copying.copy(stream, Rows(to, True), _run(source, offset, size, stream), size)


@implements("cuMemcpyAtoA_v2", "cuMemcpyAtoA")
def array_to_array(to: int, offset: int, source: int, start: int, size: int) -> None:
    """Copy from an array to another."""
    stream = streams.stream(0)
    target = _run(to, offset, size, stream)
    copying.copy(stream, target, _run(source, start, size, stream), size)


# --- the runtime's ---


def _linear(
    address: int, pitch: int, width: int, height: int, kind: int, host: int, stream: Stream
) -> Rows:
    """Rows of linear memory.

    Args:
        kind: of the copy; ``host``: the kind for which they are the host's.

    Raises:
        Failure: the pitch is too small, or the kind is another direction's.
    """
    if height > 1 and pitch < width:
        fail(_BAD_PITCH, f"rows of {width} bytes, {pitch} bytes apart")
    size = pitch * (height - 1) + width if width and height else 0
    if kind == host:
        return Rows(address, False, pitch)
    if kind == _WITHIN:
        check_device(address, size, stream.context)
        return Rows(address, True, pitch)
    if kind != _BY_ADDRESS:
        fail(_BAD_KIND, f"copies of the kind {kind}")
    return Rows(address, bool(size) and side(address, size, stream.context), pitch)


def rows_to_array(
    to: int,
    x: int,
    y: int,
    source: int,
    pitch: int,
    width: int,
    height: int,
    kind: int,
    stream: int,
) -> Stream:
    """Append a copy of rows to an array."""
    stream_object = streams.stream(stream)
    given = _linear(source, pitch, width, height, kind, _TO_DEVICE, stream_object)
    target = _box(to, x, y, width, height, stream_object)
    copying.copy(stream_object, target, given, width, height)
    return stream_object


def rows_from_array(
    to: int,
    pitch: int,
    source: int,
    x: int,
    y: int,
    width: int,
    height: int,
    kind: int,
    stream: int,
) -> Stream:
    """Append a copy of rows of an array."""
    stream_object = streams.stream(stream)
    target = _linear(to, pitch, width, height, kind, _TO_HOST, stream_object)
    start = _box(source, x, y, width, height, stream_object)
    copying.copy(stream_object, target, start, width, height)
    return stream_object


@implements("cudaMemcpy2DArrayToArray")
def rows_within(
    to: int, x: int, y: int, source: int, u: int, v: int, width: int, height: int, kind: int
) -> None:
    """Copy rows from an array to another."""
    if kind not in (_WITHIN, _BY_ADDRESS):
        fail(_BAD_KIND, f"copies of the kind {kind}")
    stream = streams.stream(0)
    target = _box(to, x, y, width, height, stream)
    start = _box(source, u, v, width, height, stream)
    copying.copy(stream, target, start, width, height)


def _place(handle: int, x: int, y: int) -> int:
    """The offset in an array of a byte of a row."""
    return x + y * arrays.arrays.get(handle).pitch


def to_array(to: int, x: int, y: int, source: int, size: int, kind: int, stream: int) -> Stream:
    """Append a copy of bytes to an array, row after row."""
    target = streams.stream(stream)
    given = _linear(source, size, size, 1, kind, _TO_DEVICE, target)
    copying.copy(target, _run(to, _place(to, x, y), size, target), given, size)
    return target


def from_array(to: int, source: int, x: int, y: int, size: int, kind: int, stream: int) -> Stream:
    """Append a copy of bytes of an array, row after row."""
    stream_object = streams.stream(stream)
    target = _linear(to, size, size, 1, kind, _TO_HOST, stream_object)
    copying.copy(
        stream_object, target, _run(source, _place(source, x, y), size, stream_object), size
    )
    return stream_object


@implements("cudaMemcpyArrayToArray")
def bytes_within(
    to: int, x: int, y: int, source: int, u: int, v: int, size: int, kind: int
) -> None:
    """Copy bytes from an array to another, row after row."""
    if kind not in (_WITHIN, _BY_ADDRESS):
        fail(_BAD_KIND, f"copies of the kind {kind}")
    stream = streams.stream(0)
    target = _run(to, _place(to, x, y), size, stream)
    copying.copy(stream, target, _run(source, _place(source, u, v), size, stream), size)
