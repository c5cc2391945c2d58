"""Variables of the program's own device code, by the host addresses that are registered for
them."""

from __future__ import annotations

from gridlane.abi.calls.registry import implements
from gridlane.abi.calls.runtime.copies import INVALID_MEMCPY_DIRECTION, append, sides
from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.state import registered, streams
from gridlane.abi.state.streams import Stream


def part_of(symbol: int, count: int, offset: int, stream: int) -> int:
    """The address of bytes of a variable."""
    memory, inside = registered.variable(symbol, streams.stream(stream).context)
    start = inside + offset
    if start + count > memory.size:
        fail(INVALID_VALUE, f"{count} bytes from {start} on, of a variable of {memory.size}")
    return memory.address + start


def target(symbol: int, count: int, offset: int, kind: int, stream: int = 0) -> int:
    """The address of the bytes of a variable that a copy writes."""
    if sides(kind)[0] is False:
        fail(INVALID_MEMCPY_DIRECTION, "a variable of the device is the target")
    return part_of(symbol, count, offset, stream)


def origin(symbol: int, count: int, offset: int, kind: int, stream: int = 0) -> int:
    """The address of the bytes of a variable that a copy reads."""
    if sides(kind)[1] is False:
        fail(INVALID_MEMCPY_DIRECTION, "a variable of the device is the source")
    return part_of(symbol, count, offset, stream)


def to_symbol(symbol: int, source: int, count: int, offset: int, kind: int, stream: int) -> Stream:
    """Append a copy to a variable."""
    return append(target(symbol, count, offset, kind, stream), source, count, kind, stream)


def from_symbol(to: int, symbol: int, count: int, offset: int, kind: int, stream: int) -> Stream:
    """Append a copy from a variable."""
    return append(to, origin(symbol, count, offset, kind, stream), count, kind, stream)


@implements("cudaGetSymbolSize")
def symbol_size(symbol: int) -> int:
    """The bytes of a variable."""
    return registered.variable(symbol, streams.stream(0).context)[0].size
