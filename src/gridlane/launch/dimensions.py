"""Grids and blocks: the user's notation, and the limits of a device."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, cast

from gridlane.core.errors import LaunchError
from gridlane.runtime.protocol import Device, Limits

Dim3 = tuple[int, int, int]

ALONE: Dim3 = (1, 1, 1)
"""The cluster of a block that is one of its own."""
LARGEST_CLUSTER = 8
"""Blocks that every device with clusters takes in one."""
LARGEST_NON_PORTABLE = 16
"""Those that some devices take in one, where a program allows it for a kernel."""

MISSING_CONFIGURATION = """
Kernel launch configuration was not specified. Use the syntax:

kernel_function[blockspergrid, threadsperblock](arg0, arg1, ..., argn)
"""


def dim3(dimensions: Any, name: str) -> Dim3:
    """Three ints from an int or from a sequence of one to three.

    >>> dim3((4, 2), "griddim")
    (4, 2, 1)
    """
    if type(dimensions) is int:
        return dimensions, 1, 1
    several = isinstance(dimensions, (tuple, list))
    items = cast("list[Any]", [*dimensions] if several else [dimensions])
    if not 1 <= len(items) <= 3:
        raise ValueError(f"{name} must be a sequence of 1, 2 or 3 integers, got {dimensions!r}")
    if not all(type(item) is int or isinstance(item, Integral) for item in items):
        floats = any(isinstance(item, float) for item in items)
        raise TypeError(
            f"{name} must be a sequence of integers, got {items!r}"
            + ("; n / threads is a float: write (n + threads - 1) // threads" if floats else "")
        )
    x, y, z = [*map(int, items), 1, 1][:3]
    return x, y, z


_SMALLER = {
    "grid": "use larger blocks, or a loop in the kernel",
    "block": "use more and smaller blocks",
}


def check_shape(
    kernel: str, grid: Dim3, block: Dim3, limits: Limits, bounds: int | None = None
) -> None:
    """Raise LaunchError if no launch of this shape exists.

    ``bounds`` is the largest number of threads that the kernel's launch bounds allow.
    """
    for name, dims, largest in (
        ("grid", grid, limits.max_grid),
        ("block", block, limits.max_block),
    ):
        for axis, size, most in zip("xyz", dims, largest):
            if size < 1:
                raise LaunchError(
                    f"launch of {kernel}: the {name} {dims} has {size} along {axis}; "
                    "every axis needs at least 1 (CUDA_ERROR_INVALID_VALUE)"
                )
            if size > most:
                raise LaunchError(
                    f"launch of {kernel}: the {name} {dims} has {size} along {axis}, "
                    f"and the most is {most}; {_SMALLER[name]} (CUDA_ERROR_INVALID_VALUE)"
                )
    threads = math.prod(block)
    if threads > limits.max_threads:
        raise LaunchError(
            f"launch of {kernel}: the block {block} has {threads} threads, and the most is "
            f"{limits.max_threads}; use more and smaller blocks (CUDA_ERROR_INVALID_VALUE)"
        )
    if bounds is not None and threads > bounds:
        raise LaunchError(
            f"launch of {kernel}: the block {block} has {threads} threads, and the kernel's launch "
            f"bounds allow {bounds} (CUDA_ERROR_INVALID_VALUE)"
        )


def check_clusters(kernel: str, cluster: Dim3, device: Device, most: int = LARGEST_CLUSTER) -> None:
    """Raise LaunchError if the device launches no such clusters, or not of so many blocks."""
    if cluster == ALONE:
        return
    message = f"launch of {kernel}: clusters of {cluster} blocks"
    if not device.attributes().get("CLUSTER_LAUNCH"):
        raise LaunchError(
            f"{message}: the device {device.name} has none; cpu, interp and, from compute "
            "capability 9.0 on, cuda have clusters: choose one of these, or let blocks exchange "
            "data through global memory (CUDA_ERROR_NOT_SUPPORTED)"
        )
    if min(cluster) < 1 or math.prod(cluster) > most:
        raise LaunchError(f"{message}: a cluster has 1 to {most} (CUDA_ERROR_INVALID_CLUSTER_SIZE)")


def check_cluster(
    kernel: str, grid: Dim3, cluster: Dim3, device: Device, most: int = LARGEST_CLUSTER
) -> None:
    """Raise LaunchError if the device launches no such clusters, or the grid does not consist of
    them."""
    if cluster == ALONE:
        return
    check_clusters(kernel, cluster, device, most)
    if any(size % each for size, each in zip(grid, cluster)):
        raise LaunchError(
            f"launch of {kernel}: clusters of {cluster} blocks: the grid {grid} is no multiple of "
            "them along each axis (CUDA_ERROR_INVALID_CLUSTER_SIZE)"
        )


def check_shared(kernel: str, static: int, dynamic: int, limits: Limits) -> None:
    """Raise LaunchError if a block's shared memory does not fit."""
    if dynamic < 0:
        raise LaunchError(f"launch of {kernel}: {dynamic} bytes of dynamic shared memory")
    most = limits.max_dynamic_shared if dynamic else limits.max_shared
    if static + dynamic > most:
        raise LaunchError(
            f"launch of {kernel}: {static} bytes of static and {dynamic} of dynamic shared memory "
            f"are more than a block's {most}; give each block less work at a time "
            "(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)"
        )
