"""The runtime's functions of graphs whose structures differ from the driver's: each is the driver's
function, behind a translation of its structure. The others are declared with the driver's own."""

from __future__ import annotations

from typing import Any

from gridlane.abi.calls import graph_nodes
from gridlane.abi.calls.copies import ARRAY, DEVICE, HOST, UNIFIED
from gridlane.abi.calls.graph_nodes import given
from gridlane.abi.calls.registry import calls, implements
from gridlane.abi.failure import INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.abi.state import contexts, modules, registered
from gridlane.abi.state.conditionals import CONDITIONAL
from gridlane.abi.state.graph_memory import MEM_ALLOC
from gridlane.abi.state.work import KERNEL, MEMCPY, MEMSET
from gridlane.abi.struct import Struct
from gridlane.core.cuda_table import enums

_KINDS = enums()["cudaMemcpyKind"].values
_ENDS = {
    _KINDS["cudaMemcpyHostToHost"]: (HOST, HOST),
    _KINDS["cudaMemcpyHostToDevice"]: (HOST, DEVICE),
    _KINDS["cudaMemcpyDeviceToHost"]: (DEVICE, HOST),
    _KINDS["cudaMemcpyDeviceToDevice"]: (DEVICE, DEVICE),
    _KINDS["cudaMemcpyDefault"]: (UNIFIED, UNIFIED),
}
"""The memory that a copy reads and writes, by its kind."""


# --- structures ---


def kernel_params(params: Struct) -> Struct:
    """The driver's description of a launch, of a copy: the program's own keeps its host address."""
    # The members are those of the driver's first version, in its order.
    struct = Struct.of("CUDA_KERNEL_NODE_PARAMS_v1", bytes(params))
    struct.func = _function(params.func)
    return struct


def _function(address: int) -> int:
    """The handle of the function that is registered for a host address; a handle is returned as it
    is."""
    return registered.function(address, contexts.current()).handle


def linear_box(to: int, source: int, size: int, kind: int) -> Struct:
    """The driver's description of a copy of one row."""
    if kind not in _ENDS:
        fail(INVALID_VALUE, f"no kind of copies has the number {kind}")
    struct = Struct("CUDA_MEMCPY3D")
    struct.srcMemoryType, struct.dstMemoryType = _ENDS[kind]
    struct.srcHost = struct.srcDevice = source
    struct.dstHost = struct.dstDevice = to
    struct.WidthInBytes, struct.Height, struct.Depth = size, 1, 1
    return struct


def box(params: Struct) -> Struct:
    """The driver's description of a copy of rows."""
    if params.srcArray or params.dstArray:
        fail(NOT_SUPPORTED, "copies of arrays in graphs: copy linear memory")
    size = params.extent
    struct = linear_box(params.dstPtr.ptr, params.srcPtr.ptr, size.width, params.kind)
    struct.Height, struct.Depth = size.height, size.depth
    for end in ("src", "dst"):
        position, memory = getattr(params, f"{end}Pos"), getattr(params, f"{end}Ptr")
        for name, value in (("XInBytes", position.x), ("Y", position.y), ("Z", position.z)):
            setattr(struct, end + name, value)
        setattr(struct, f"{end}Pitch", memory.pitch)
        setattr(struct, f"{end}Height", memory.ysize)
    return struct


def params_of_box(struct: Struct) -> Struct:
    """The runtime's description of a copy."""
    if ARRAY in (struct.srcMemoryType, struct.dstMemoryType):
        fail(NOT_SUPPORTED, "copies of arrays in graphs: copy linear memory")
    runtime_params = Struct("cudaMemcpy3DParms")
    for end in ("src", "dst"):
        position, memory = (
            getattr(runtime_params, f"{end}Pos"),
            getattr(runtime_params, f"{end}Ptr"),
        )
        is_host = getattr(struct, f"{end}MemoryType") == HOST
        position.x, position.y, position.z = (
            getattr(struct, end + name) for name in ("XInBytes", "Y", "Z")
        )
        memory.ptr = getattr(struct, f"{end}Host" if is_host else f"{end}Device")
        memory.pitch = memory.xsize = getattr(struct, f"{end}Pitch")
        memory.ysize = getattr(struct, f"{end}Height")
    size = runtime_params.extent
    size.width, size.height, size.depth = struct.WidthInBytes, struct.Height, struct.Depth
    ends = struct.srcMemoryType, struct.dstMemoryType
    default = _KINDS["cudaMemcpyDefault"]
    runtime_params.kind = next((kind for kind, each in _ENDS.items() if each == ends), default)
    return runtime_params


def node_params(params: Struct) -> Struct:
    """The driver's description of a node of any type."""
    struct = Struct.of("CUgraphNodeParams", bytes(params))
    if params.type == MEMCPY:
        struct.memcpy.copyCtx = 0
        struct.memcpy.copyParams = box(params.memcpy.copyParams)
    elif params.type == KERNEL:
        struct.kernel.kern = struct.kernel.ctx = 0  # which the runtime's does not have
        struct.kernel.func = _function(struct.kernel.func)
    elif params.type == MEMSET:
        struct.memset.ctx = 0
    return struct


def _tell(params: Struct, struct: Struct) -> None:
    """Copy what a function has added to the driver's description into the runtime's."""
    if params.type == MEM_ALLOC:
        struct.alloc.dptr = params.alloc.dptr
    elif params.type == CONDITIONAL:
        struct.conditional.phGraph_out = params.conditional.phGraph_out


def instantiate_params(params: Struct) -> Struct:
    """The driver's description of an instantiation, in the memory of the runtime's: the members
    have other names alone."""
    return Struct("CUDA_GRAPH_INSTANTIATE_PARAMS", params.address, params)


# --- functions ---


def _declare(name: str, of_driver: str, place: int) -> None:
    """Declare a function that is the driver's, of a node's description at a place."""

    def function(*values: Any) -> Any:
        params = node_params(given(values[place]))
        result = calls("driver")[of_driver](*values[:place], params, *values[place + 1 :])
        _tell(params, values[place])
        return result

    function.__doc__ = f"As ``{of_driver}``, of the runtime's description of a node."
    implements(name)(function)


for _name, _call, _place in (
    ("cudaGraphAddNode", "cuGraphAddNode_v2", 4),
    ("cudaGraphAddNode_v2", "cuGraphAddNode_v2", 4),
    ("cudaGraphAddNode@12", "cuGraphAddNode", 3),
    ("cudaGraphNodeSetParams", "cuGraphNodeSetParams", 1),
    ("cudaGraphExecNodeSetParams", "cuGraphExecNodeSetParams", 2),
):
    _declare(_name, _call, _place)


@implements("cudaGraphKernelNodeGetParams")
def get_launch(handle: int) -> Struct:
    """The launch of a node, with the function as the program named it."""
    launch = graph_nodes.get_launch(handle)
    launch.func = registered.host_address(modules.functions.get(launch.func))
    return Struct("cudaKernelNodeParams", launch.address, launch)
