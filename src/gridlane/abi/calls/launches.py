"""Launches of kernels."""

from __future__ import annotations

from gridlane.abi import raw
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.abi.state import modules, streams
from gridlane.abi.state.launching import start
from gridlane.abi.state.modules import Function
from gridlane.abi.struct import Struct
from gridlane.abi.table import constants, enums, layout
from gridlane.launch.dimensions import Dim3

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


def launch(
    handle: int, grid: Dim3, block: Dim3, shared: int, stream: int, pointers: int, extra: int
) -> None:
    """Append a launch with parameters in one of the two forms."""
    function = modules.functions.get(handle)
    if pointers and extra:
        fail(INVALID_VALUE, "parameters by pointers and packed ones at once")
    params = from_extra(function, extra) if extra else from_pointers(function, pointers)
    start(function, grid, block, shared, streams.stream(stream), params)


@implements("cuLaunchKernel")
def launch_kernel(
    function: int,
    gx: int,
    gy: int,
    gz: int,
    bx: int,
    by: int,
    bz: int,
    shared: int,
    stream: int,
    pointers: int,
    extra: int,
) -> None:
    """Launch a kernel."""
    launch(function, (gx, gy, gz), (bx, by, bz), shared, stream, pointers, extra)


@implements("cuLaunchKernelEx")
def launch_with_config(config: Struct | None, function: int, pointers: int, extra: int) -> None:
    """Launch a kernel with attributes."""
    if config is None:
        fail(INVALID_VALUE, "no configuration")
    check_attributes(config.attrs, config.numAttrs)
    grid = config.gridDimX, config.gridDimY, config.gridDimZ
    block = config.blockDimX, config.blockDimY, config.blockDimZ
    launch(function, grid, block, config.sharedMemBytes, config.hStream, pointers, extra)


def check_attributes(address: int, count: int) -> None:
    """Raise NOT_SUPPORTED for an attribute of a launch that changes what the kernel does."""
    values = enums()["CUlaunchAttributeID"].values
    names = {number: name for name, number in values.items()}
    step = layout("CUlaunchAttribute").size
    for n in range(count):
        each = Struct("CUlaunchAttribute", address + n * step)
        name = names.get(each.id, "")
        value = each.value
        if name == "CU_LAUNCH_ATTRIBUTE_COOPERATIVE" and value.cooperative:
            fail(NOT_SUPPORTED, "cooperative launches")
        if name == "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION":
            size = value.clusterDim
            if (size.x, size.y, size.z) not in ((0, 0, 0), (1, 1, 1)):
                fail(NOT_SUPPORTED, "clusters of several blocks")
