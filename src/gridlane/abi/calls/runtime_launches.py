"""Launches of kernels by the runtime."""

from __future__ import annotations

from gridlane.abi.calls.launch_attributes import Chosen, attributes_of
from gridlane.abi.calls.launches import from_pointers, start
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import (
    INVALID_CONFIGURATION,
    INVALID_DEVICE_FUNCTION,
    INVALID_VALUE,
    fail,
)
from gridlane.abi.state import libraries, streams
from gridlane.abi.struct import Struct


@implements("cudaLaunchKernel")
def launch_runtime(
    function: int, grid: Struct, block: Struct, pointers: int, shared: int, stream: int
) -> None:
    """Launch a kernel."""
    _runtime(function, grid, block, pointers, shared, stream, Chosen())


@implements("cudaLaunchCooperativeKernel")
def launch_runtime_cooperative(
    function: int, grid: Struct, block: Struct, pointers: int, shared: int, stream: int
) -> None:
    """Launch a kernel whose blocks may wait for each other."""
    _runtime(function, grid, block, pointers, shared, stream, Chosen(cooperative=True))


@implements("cudaLaunchKernelExC")
def launch_runtime_with_config(config: Struct | None, function: int, pointers: int) -> None:
    """Launch a kernel with attributes."""
    if config is None:
        fail(INVALID_VALUE, "no configuration")
    chosen = attributes_of(config.attrs, config.numAttrs)
    grid, block = config.gridDim, config.blockDim
    _runtime(function, grid, block, pointers, config.dynamicSmemBytes, config.stream, chosen)


def _runtime(
    function: int,
    grid: Struct,
    block: Struct,
    pointers: int,
    shared: int,
    stream: int,
    chosen: Chosen,
) -> None:
    found = streams.stream(stream)
    kernel = libraries.function_of(function, found.context, INVALID_DEVICE_FUNCTION)
    if min(grid.x, grid.y, grid.z, block.x, block.y, block.z) <= 0:
        fail(INVALID_CONFIGURATION, f"a grid or a block with no extent: {grid.x}, {block.x}")
    params = from_pointers(kernel, pointers)
    places = (grid.x, grid.y, grid.z), (block.x, block.y, block.z)
    start(kernel, *places, shared, found, params, chosen)
