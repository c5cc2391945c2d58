"""Launches of kernels."""

from __future__ import annotations

import math

from gridlane.abi import raw
from gridlane.abi.calls.function_attributes import (
    MAX_DYNAMIC_SHARED,
    attributes,
    largest_cluster,
    required_cluster,
)
from gridlane.abi.calls.launch_attributes import Chosen, attributes_of
from gridlane.abi.calls.occupancy import blocks
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import (
    COOPERATIVE_LAUNCH_TOO_LARGE,
    INVALID_CLUSTER_SIZE,
    INVALID_HANDLE,
    INVALID_VALUE,
    NOT_SUPPORTED,
    fail,
)
from gridlane.abi.state import libraries, notices, streams
from gridlane.abi.state.launching import Launch
from gridlane.abi.state.modules import Function
from gridlane.abi.state.streams import Stream
from gridlane.abi.struct import Struct
from gridlane.core import grid_plan
from gridlane.core.cuda_table import constants
from gridlane.launch.dimensions import ALONE, Dim3
from gridlane.modules.native import compiles_ptx

_BUFFER = constants()["CU_LAUNCH_PARAM_BUFFER_POINTER"]
_SIZE = constants()["CU_LAUNCH_PARAM_BUFFER_SIZE"]
_END = constants()["CU_LAUNCH_PARAM_END"]


def from_pointers(function: Function, pointers: int) -> bytes:
    """The parameters, of an array with the address of each."""
    if not function.params:
        return b""
    if not pointers:
        fail(INVALID_VALUE, f"{function.kernel.name} takes {len(function.params)} parameters")
    block = bytearray(function.size)
    addresses = raw.words(pointers, len(function.params))
    for param, begin, address in zip(function.params, function.offsets, addresses):
        if not address:
            fail(INVALID_VALUE, f"the pointer to the parameter {param.name} is null")
        block[begin : begin + param.size] = raw.view(address, param.size)
    return bytes(block)


def from_extra(function: Function, extra: int) -> bytes:
    """The parameters, packed by the program."""
    start = size = 0
    for _ in range(3):
        key = raw.words(extra, 1)[0]
        if key == _END:
            break
        if key not in (_BUFFER, _SIZE):
            fail(INVALID_VALUE, f"extra has the unknown key {key}")
        value = raw.words(extra + 8, 1)[0]
        if key == _BUFFER:
            start = value
        else:
            size = raw.words(value, 1)[0] if value else 0
        extra += 16
    if size < function.size or not (start or not function.size):
        fail(INVALID_VALUE, f"{size} bytes of parameters; the kernel takes {function.size}")
    return bytes(raw.view(start, function.size)) if function.size else b""


def start(
    function: Function,
    grid: Dim3,
    block: Dim3,
    shared: int,
    stream: Stream,
    params: bytes,
    chosen: Chosen | None = None,
) -> None:
    """Append a launch to a stream.

    Args:
        chosen: the settings of its attributes.

    Raises:
        Failure: no such launch exists, or the kernel cannot be compiled for the device. Later calls
            report that a kernel failed.
    """
    with notices.LaunchOf(function.kernel.name):
        _start(function, grid, block, shared, stream, params, chosen or Chosen())


def _start(
    function: Function,
    grid: Dim3,
    block: Dim3,
    shared: int,
    stream: Stream,
    params: bytes,
    chosen: Chosen,
) -> None:
    context = stream.context
    if function.module.context is not context:
        fail(INVALID_HANDLE, "the kernel and the stream are of two contexts")
    waits = chosen.cooperative and compiles_ptx(context.device)
    cluster = chosen.cluster or required_cluster(function)
    check_clusters(function, grid, cluster)
    work = Launch(
        *(function, grid, block, shared, params),
        waits=waits,
        cluster=cluster,
        largest=largest_cluster(function),
    )
    work.check_shape(context)
    if chosen.cooperative:
        check_cooperative(function, grid, block, shared)
    work.check(context)
    if shared:
        check_shared(function, shared)
    stream.submit(work)
    for event in chosen.events:
        event.native.record(stream.native)


def check_shared(function: Function, shared: int) -> None:
    """Raise INVALID_VALUE for more dynamic shared memory than the function has. A program sets it
    with CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES."""
    most = attributes(function).read(MAX_DYNAMIC_SHARED)
    if shared > most:
        fail(
            INVALID_VALUE,
            f"{shared} bytes of dynamic shared memory; {function.kernel.name} has {most}: for more "
            "set CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES with cuFuncSetAttribute",
        )


def check_cooperative(function: Function, grid: Dim3, block: Dim3, shared: int) -> None:
    """Raise unless all blocks of a grid run at once on the function's device.

    Where the device runs blocks in no order, a kernel is launched in parts that end at its barriers
    of the grid, so that any grid can meet.

    Raises:
        Failure: NOT_SUPPORTED, the device runs them in no order, and the kernel has no barrier of
            the grid that is known, so that its blocks wait in loops of their own; or
            COOPERATIVE_LAUNCH_TOO_LARGE.
    """
    device, count = function.device, math.prod(grid)
    if not compiles_ptx(device):
        _, plan = function.kernel.plan(block, device)
        code = plan.kernel.artifact
        if count > 1 and not (code.cooperative or code.format == grid_plan.FORMAT):
            fail(
                NOT_SUPPORTED,
                f"a cooperative launch of {count} blocks: the device {device.name} runs blocks in "
                f"no order, and {function.kernel.name} has no barrier of the grid at which it "
                "could be launched in parts, such as that of cooperative_groups.h (where nvcc "
                "inlines it, so not by -G); use that, or launch one block",
            )
        return
    held = blocks(function, math.prod(block), shared) * device.limits.multiprocessors
    if count > held:
        fail(
            COOPERATIVE_LAUNCH_TOO_LARGE,
            f"{count} blocks; the device {device.name} holds {held} at once",
        )


def check_clusters(function: Function, grid: Dim3, cluster: Dim3 | None) -> None:
    """Raise NOT_SUPPORTED for clusters of several blocks on a device without them, or
    INVALID_CLUSTER_SIZE where no grid consists of such, or the launch does not say of which.

    Args:
        cluster: as an attribute says, of the launch or the function.
    """
    device, entry = function.device, function.kernel.source.entry
    if cluster is None and entry.cluster is None and entry.names_clusters:
        fail(
            INVALID_CLUSTER_SIZE,
            f"{function.kernel.name} leaves the size of its clusters to the launch, which does not "
            "say it: set CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION",
        )
    size = cluster or entry.cluster or ALONE
    if size == ALONE or ("blocksareclusters" in entry.tuning and compiles_ptx(device)):
        return
    if not device.attributes().get("CLUSTER_LAUNCH"):
        fail(
            NOT_SUPPORTED,
            f"clusters of {size} blocks; a cluster has one block on the device {device.name}: use "
            "cpu, interp or cuda from compute capability 9.0 on, or launch without clusters",
        )
    most = largest_cluster(function)
    if math.prod(size) > most or any(n % m for n, m in zip(grid, size)):
        fail(
            INVALID_CLUSTER_SIZE,
            f"clusters of {size} blocks in a grid of {grid}; a cluster has {most} at most, and "
            "the grid consists of them along each axis",
        )
    if entry.cluster not in (None, size):
        fail(
            INVALID_CLUSTER_SIZE,
            f"clusters of {size} blocks; the code of {function.kernel.name} is for clusters of "
            f"{entry.cluster}",
        )


def launch(
    handle: int,
    grid: Dim3,
    block: Dim3,
    shared: int,
    stream: int,
    pointers: int,
    extra: int,
    chosen: Chosen | None = None,
) -> None:
    """Append a launch with parameters in one of the two forms."""
    target = streams.stream(stream)
    function = libraries.function_of(handle, target.context)
    if pointers and extra:
        fail(INVALID_VALUE, "parameters by pointers and packed ones at once")
    with notices.LaunchOf(function.kernel.name):
        params = from_extra(function, extra) if extra else from_pointers(function, pointers)
    start(function, grid, block, shared, target, params, chosen)


@implements("cuLaunchKernelEx")
def launch_with_config(config: Struct | None, function: int, pointers: int, extra: int) -> None:
    """Launch a kernel with attributes."""
    if config is None:
        fail(INVALID_VALUE, "no configuration")
    chosen = attributes_of(config.attrs, config.numAttrs)
    grid = config.gridDimX, config.gridDimY, config.gridDimZ
    block = config.blockDimX, config.blockDimY, config.blockDimZ
    shared, stream = config.sharedMemBytes, config.hStream
    launch(function, grid, block, shared, stream, pointers, extra, chosen)
