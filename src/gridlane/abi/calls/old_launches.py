"""Launches as before CUDA 4: a function keeps its block, its parameters and its shared memory."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from gridlane.abi import raw
from gridlane.abi.calls.launches import start
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.state import libraries, streams
from gridlane.abi.state.modules import Function, check_parameters
from gridlane.launch.dimensions import Dim3


@dataclass(slots=True)
class Next:
    """The next launch of a function."""

    block: Dim3 | None = None
    shared: int = 0
    size: int = 0
    params: bytearray = field(default_factory=bytearray)


def _next(handle: int) -> tuple[Function, Next]:
    function = libraries.function_of(handle)
    if function.next is None:
        function.next = Next()
    return function, function.next


def _put(handle: int, offset: int, data: bytes) -> None:
    _, arguments = _next(handle)
    if offset < 0:
        fail(INVALID_VALUE, f"a parameter at {offset}")
    check_parameters(offset + len(data))
    arguments.params.extend(bytes(max(0, offset + len(data) - len(arguments.params))))
    arguments.params[offset : offset + len(data)] = data


@implements("cuFuncSetBlockShape")
def set_block(handle: int, x: int, y: int, z: int) -> None:
    """Set the shape of a function's blocks."""
    if min(x, y, z) <= 0:
        fail(INVALID_VALUE, f"blocks of {(x, y, z)} threads")
    _next(handle)[1].block = x, y, z


@implements("cuFuncSetSharedSize")
def set_shared(handle: int, size: int) -> None:
    """Set the dynamic shared memory of a function's blocks."""
    _next(handle)[1].shared = size


@implements("cuParamSetSize")
def set_size(handle: int, size: int) -> None:
    """Set the bytes of a function's parameters."""
    check_parameters(size)
    _next(handle)[1].size = size


@implements("cuParamSeti")
def set_integer(handle: int, offset: int, value: int) -> None:
    """Set a parameter that is a number of 32 bits."""
    _put(handle, offset, struct.pack("<I", value))


@implements("cuParamSetf")
def set_float(handle: int, offset: int, value: float) -> None:
    """Set a parameter that is a float."""
    _put(handle, offset, struct.pack("<f", value))


@implements("cuParamSetv")
def set_bytes(handle: int, offset: int, address: int, size: int) -> None:
    """Set a parameter of any bytes."""
    check_parameters(size)
    if size and not address:
        fail(INVALID_VALUE, f"{size} bytes of a parameter at no address")
    _put(handle, offset, bytes(raw.view(address, size)) if size else b"")


@implements("cuLaunchGridAsync")
def launch_grid_in(handle: int, width: int, height: int, stream: int) -> None:
    """Launch a grid in a stream."""
    function, arguments = _next(handle)
    if arguments.block is None:
        fail(INVALID_VALUE, f"{function.kernel.name} has no shape of blocks: cuFuncSetBlockShape")
    if min(arguments.size, len(arguments.params)) < function.size:
        fail(
            INVALID_VALUE,
            f"{function.kernel.name} takes {function.size} bytes of parameters; cuParamSetSize "
            f"says {arguments.size}, and {len(arguments.params)} are set",
        )
    params = bytes(arguments.params[: function.size])
    grid = width, height, 1
    start(function, grid, arguments.block, arguments.shared, streams.stream(stream), params)
