"""Occupancy: how many blocks a device holds at once, by its own figures."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any, cast

from gridlane.abi.calls.function_attributes import (
    MAX_DYNAMIC_SHARED,
    attributes,
    largest_cluster,
)
from gridlane.abi.calls.launch_attributes import cluster_of
from gridlane.abi.failure import INVALID_CLUSTER_SIZE, INVALID_VALUE, fail
from gridlane.abi.state import streams
from gridlane.abi.state.modules import Function
from gridlane.abi.struct import Struct
from gridlane.core.cuda_table import enums
from gridlane.core.device_errors import handled
from gridlane.core.errors import DeviceError, LaunchError
from gridlane.launch.dimensions import ALONE, LARGEST_CLUSTER
from gridlane.modules.native import compiles_ptx

_THREADS = enums()["CUfunction_attribute"].values["CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK"]
_shared_of_block = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int)
_SharedOf = Callable[[int], int]


def blocks(function: Function, threads: int, shared: int) -> int:
    """Blocks that a multiprocessor holds at once; 0 of those that cannot be launched."""
    known = attributes(function)
    most = function.device.limits.max_dynamic_shared
    static = known.read(_STATIC)
    if threads > known.read(_THREADS) or shared + static > most:
        return 0
    return function.kernel.loaded(function.device).occupancy(threads, shared)


_STATIC = enums()["CUfunction_attribute"].values["CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES"]


def check_block(threads: int, flags: int = 0) -> None:
    """Raise INVALID_VALUE for blocks that no occupancy is of."""
    if threads <= 0 or flags & ~1:
        fail(INVALID_VALUE, f"occupancy of blocks of {threads} threads, with the flags {flags}")


def potential_block(function: Function, callback: int, shared: int, limit: int) -> tuple[int, int]:
    """Blocks that fill the device, and the threads of each, where most threads run at once."""
    if limit < 0:
        fail(INVALID_VALUE, f"blocks of at most {limit} threads")
    shared_of: _SharedOf = _shared_of_block(callback) if callback else lambda threads: shared
    device = function.device
    most = attributes(function).read(_THREADS)
    most = min(most, limit) if limit else most
    warp = max(1, device.limits.warp_size)
    best = size = 0
    # From large to small, as larger blocks of the same occupancy come first.
    for threads in sorted({most, *range(warp, most, warp)}, reverse=True):
        held = blocks(function, threads, shared_of(threads)) * threads
        if held > best:
            best, size = held, threads
    if not size:
        fail(INVALID_VALUE, f"no block of {function.kernel.name} fits with its shared memory")
    return best // size * device.limits.multiprocessors, size


def available_shared(function: Function, count: int, threads: int) -> int:
    """The most dynamic shared memory with which a multiprocessor holds so many blocks."""
    check_block(threads)
    if count <= 0 or blocks(function, threads, 0) < count:
        fail(INVALID_VALUE, f"a multiprocessor does not hold {count} blocks of {threads} threads")
    low, high = 0, attributes(function).read(MAX_DYNAMIC_SHARED)
    while low < high:
        middle = (low + high + 1) // 2
        if blocks(function, threads, middle) >= count:
            low = middle
        else:
            high = middle - 1
    return low


# --- clusters ---


def potential_cluster(function: Function, config: Struct | None) -> int:
    """The blocks of the largest cluster."""
    threads, shared = _configured(function, config)
    if not function.device.attributes().get("CLUSTER_LAUNCH"):
        return 1
    most = largest_cluster(function)
    if most > LARGEST_CLUSTER and compiles_ptx(function.device):
        most = _largest_that_fits(function, most, threads, shared)
    return most if blocks(function, threads, shared) else 0


def _largest_that_fits(function: Function, most: int, threads: int, shared: int) -> int:
    """The largest power of two of blocks, not less than any device has, of which a GPU holds a
    cluster."""
    while most > LARGEST_CLUSTER:
        try:
            _, plan = function.kernel.plan(
                (threads, 1, 1), function.device, cluster=(most, 1, 1), largest=most
            )
            if cast(Any, plan.kernel).kernel.active_clusters(threads, shared):
                break
        except LaunchError:  # the code is for other clusters
            return LARGEST_CLUSTER
        except DeviceError as error:
            if error.number != INVALID_CLUSTER_SIZE:
                raise
            handled(error)
        most //= 2
    return most


def active_clusters(function: Function, config: Struct | None) -> int:
    """Clusters that the device holds at once."""
    threads, shared = _configured(function, config)
    size = cluster_of(config) if config is not None else None
    if size is None or min(size) < 1:
        fail(INVALID_CLUSTER_SIZE, "the configuration does not say how large a cluster is")
    device = function.device
    most = largest_cluster(function) if device.attributes().get("CLUSTER_LAUNCH") else 1
    if math.prod(size) > most:
        fail(INVALID_CLUSTER_SIZE, f"clusters of {size} blocks; the largest has {most}")
    if size != ALONE and compiles_ptx(device):
        _, plan = function.kernel.plan((threads, 1, 1), device, cluster=size, largest=most)
        return cast(Any, plan.kernel).kernel.active_clusters(threads, shared)
    # Elsewhere a cluster takes the place of a block.
    return blocks(function, threads, shared) * device.limits.multiprocessors


def _configured(function: Function, config: Struct | None) -> tuple[int, int]:
    """The threads of a block and its dynamic shared memory, of either library's configuration."""
    if config is None:
        fail(INVALID_VALUE, "no configuration")
    if hasattr(config, "hStream"):
        size = config.blockDimX, config.blockDimY, config.blockDimZ
        stream, shared = config.hStream, config.sharedMemBytes
    else:
        size = config.blockDim.x, config.blockDim.y, config.blockDim.z
        stream, shared = config.stream, config.dynamicSmemBytes
    streams.stream(stream)
    threads = size[0] * size[1] * size[2]
    check_block(threads)
    return threads, shared
