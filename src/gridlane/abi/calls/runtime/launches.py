"""Launches of kernels, which have a host address or a handle."""

from __future__ import annotations

from gridlane.abi.calls import launches as driver
from gridlane.abi.calls.launch_attributes import Chosen, attributes_of
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_CONFIGURATION, INVALID_HANDLE, INVALID_VALUE, fail
from gridlane.abi.state import contexts, notices, registered, streams
from gridlane.abi.state.contexts import Context
from gridlane.abi.struct import Struct
from gridlane.launch.dimensions import Dim3


def dim3(given: Struct) -> Dim3:
    """The sizes along the axes."""
    return given.x, given.y, given.z


def check_shape(grid: Dim3, block: Dim3, context: Context) -> None:
    """Raise cudaErrorInvalidConfiguration for a grid or block that the device does not have."""
    limits = context.device.limits
    threads = block[0] * block[1] * block[2]
    if (
        min(*grid, *block) <= 0
        or threads > limits.max_threads
        or any(size > most for size, most in zip(block, limits.max_block))
        or any(size > most for size, most in zip(grid, limits.max_grid))
    ):
        fail(
            INVALID_CONFIGURATION,
            f"a grid of {grid} blocks of {block} threads; the device {context.device.name} has "
            f"grids of {limits.max_grid} and blocks of {limits.max_block}, {limits.max_threads} "
            "threads in all",
        )


def launch(
    function: int,
    grid: Dim3,
    block: Dim3,
    pointers: int,
    shared: int,
    stream: int,
    chosen: Chosen,
) -> None:
    """Append a launch."""
    target = streams.stream(stream)
    if target.context is not contexts.current():
        fail(INVALID_HANDLE, "the stream is of another context")
    kernel = registered.function(function, target.context)
    with notices.LaunchOf(kernel.kernel.name):
        check_shape(grid, block, target.context)
        params = driver.from_pointers(kernel, pointers)
    driver.start(kernel, grid, block, shared, target, params, chosen)


@implements("cudaLaunchKernelExC")
def launch_with_config(config: Struct | None, function: int, pointers: int) -> None:
    """Launch a kernel with attributes."""
    if config is None:
        fail(INVALID_VALUE, "no configuration")
    chosen = attributes_of(config.attrs, config.numAttrs)
    grid, block = dim3(config.gridDim), dim3(config.blockDim)
    launch(function, grid, block, pointers, config.dynamicSmemBytes, config.stream, chosen)
