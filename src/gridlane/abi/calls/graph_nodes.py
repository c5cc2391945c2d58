"""The nodes of graphs: their making, and the description of their work."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gridlane.abi.calls.copies import DEVICE, HOST, fill_of, rows_of
from gridlane.abi.calls.function_attributes import largest_cluster, required_cluster
from gridlane.abi.calls.graphs import dependencies_at
from gridlane.abi.calls.launches import check_clusters, from_extra, from_pointers
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.abi.state import contexts, modules, streams
from gridlane.abi.state.conditionals import CONDITIONAL, COUNTS, Condition, Conditional, condition
from gridlane.abi.state.copying import Copy, Fill
from gridlane.abi.state.graph_memory import MEM_ALLOC, MEM_FREE, Allocate, Block, freeing
from gridlane.abi.state.graphs import Child, Compound, Graph, Node, graph, node
from gridlane.abi.state.launching import Launch
from gridlane.abi.state.streams import Work
from gridlane.abi.state.work import (
    EMPTY,
    EVENT_RECORD,
    GRAPH,
    KERNEL,
    MEMCPY,
    MEMSET,
    TYPES,
    WAIT_EVENT,
    Empty,
    HostCall,
    Record,
    Wait,
)
from gridlane.abi.state.work import (
    HOST as HOST_CALL,
)
from gridlane.abi.struct import Struct
from gridlane.core.cuda_table import enums

W = TypeVar("W", bound=Work)
_MOVED = enums()["CUgraphChildGraphNodeOwnership"].values["CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE"]


def given(params: Struct | None) -> Struct:
    """A description.

    Raises:
        Failure: INVALID_VALUE, there is none.
    """
    return params if params is not None else fail(INVALID_VALUE, "no description of the node")


def work_of(node: Node, kind: type[W]) -> W:
    """The work of a node, of a kind.

    Raises:
        Failure: INVALID_VALUE, the node is of another kind.
    """
    if not isinstance(node.work, kind):
        fail(INVALID_VALUE, f"the node {node.handle:#x} is of another kind")
    return node.work


def added(handle: int, dependencies: int, count: int, work: Callable[[Graph], Work]) -> int:
    """Make a node in a graph. Nothing is made if the description is refused."""
    owner = graph(handle)
    after = dependencies_at(dependencies, count, owner)
    return owner.add(work(owner), after).handle


# --- from descriptions to work ---


def launch_of(params: Struct) -> Launch:
    """The launch that a description of any version describes."""
    function = modules.functions.get(params.func or getattr(params, "kern", 0))
    if params.kernelParams and params.extra:
        fail(INVALID_VALUE, "parameters by pointers and packed ones at once")
    block = (
        from_extra(function, params.extra)
        if params.extra
        else from_pointers(function, params.kernelParams)
    )
    grid = params.gridDimX, params.gridDimY, params.gridDimZ
    threads = params.blockDimX, params.blockDimY, params.blockDimZ
    cluster, largest = required_cluster(function), largest_cluster(function)
    check_clusters(function, grid, cluster)
    launch = Launch(
        *(function, grid, threads, params.sharedMemBytes, block), cluster=cluster, largest=largest
    )
    launch.check(function.module.context)
    return launch


def copy_of(box: Struct, context: int) -> Copy:
    """The copy that a CUDA_MEMCPY3D describes."""
    current_context = contexts.of_handle(context)
    if not (box.WidthInBytes and box.Height and box.Depth):
        fail(INVALID_VALUE, "a copy of no bytes: rows and planes are at least one")
    to, source = (rows_of(box, end, current_context, True) for end in ("dst", "src"))
    return Copy(to, source, box.WidthInBytes, box.Height, box.Depth, True, bytes(box))


def fill_from(params: Struct, context: int) -> Fill:
    """The fill that a description of any version describes."""
    if not (params.width and params.height):
        fail(INVALID_VALUE, "a fill of no bytes: rows are at least one")
    return fill_of(
        contexts.of_handle(context),
        params.dst,
        params.pitch,
        params.value,
        params.elementSize,
        params.width,
        params.height,
    )


def host_call_of(params: Struct) -> HostCall:
    """The call that a description of any version describes."""
    if not params.fn:
        fail(INVALID_VALUE, "no function")
    return HostCall(params.fn, params.userData)


def child_of(owner: Graph, handle: int) -> Child:
    """The work of a copy of another graph."""
    graph_object = graph(handle)
    if graph_object is owner:
        fail(INVALID_VALUE, "a graph cannot be part of itself")
    return Child(graph_object.copied(named=True, embedded=True))


def _child_of(owner: Graph, params: Struct) -> Child:
    if params.ownership == _MOVED:
        fail(NOT_SUPPORTED, "moving a graph into a node: let the node have a clone")
    return child_of(owner, params.graph)


def _allocation_of(params: Struct) -> Allocate:
    block = Block(contexts.current(), params.bytesize)
    params.dptr = block.buffer.address
    return Allocate(block)


def _conditional_of(owner: Graph, params: Struct) -> Conditional:
    condition_object = condition(params.handle)
    if params.type not in COUNTS or not COUNTS[params.type](params.size):
        fail(INVALID_VALUE, f"{params.size} graphs of a conditional node of type {params.type}")
    if params.handle not in owner.conditions:
        fail(INVALID_VALUE, "the condition is of another graph")
    bodies = tuple(Graph(embedded=True) for _ in range(params.size))
    for each in bodies:
        each.conditions = owner.conditions
    conditional = Conditional(condition_object, params.type, bodies)
    params.phGraph_out = conditional.handles()
    return conditional


_FROM: dict[int, Callable[[Graph, Struct], Work]] = {
    KERNEL: lambda _, each: launch_of(each.kernel),
    MEMCPY: lambda _, each: copy_of(each.memcpy.copyParams, each.memcpy.copyCtx),
    MEMSET: lambda _, each: fill_from(each.memset, each.memset.ctx),
    HOST_CALL: lambda _, each: host_call_of(each.host),
    GRAPH: lambda owner, each: _child_of(owner, each.graph),
    EMPTY: lambda _, each: Empty(),
    WAIT_EVENT: lambda _, each: Wait(streams.event(each.eventWait.event)),
    EVENT_RECORD: lambda _, each: Record(streams.event(each.eventRecord.event)),
    MEM_ALLOC: lambda _, each: _allocation_of(each.alloc),
    MEM_FREE: lambda _, each: freeing(each.free.dptr, contexts.current()),
    CONDITIONAL: lambda owner, each: _conditional_of(owner, each.conditional),
}
"""The work of a CUgraphNodeParams, by its type."""


def work_from(owner: Graph, params: Struct) -> Work:
    """The work that a CUgraphNodeParams describes.

    Raises:
        Failure: NOT_SUPPORTED, gridlane has no nodes of this type.
    """
    make = _FROM.get(params.type)
    if make is None:
        names = [name for name, number in TYPES.items() if number == params.type]
        if not names:
            fail(INVALID_VALUE, f"no type of node has the number {params.type}")
        fail(NOT_SUPPORTED, f"gridlane has no nodes of the type {names[0]}")
    return make(owner, params)


# --- making ---


@implements("cuGraphConditionalHandleCreate")
def create_condition(handle: int, context: int, default: int, flags: int) -> int:
    """Make a condition for nodes of a graph, and of graphs in it."""
    contexts.check_flags(flags, 1)
    new_condition = Condition(contexts.of_handle(context), default if flags else None)
    graph(handle).conditions[new_condition.handle] = new_condition
    return new_condition.handle


# --- the description of a node's work ---


def replace(node: Node, work: Work) -> None:
    """Give a node other work of its kind.

    Raises:
        Failure: INVALID_VALUE, the node is of another kind.
    """
    if node.work.kind != work.kind:
        fail(INVALID_VALUE, f"the node {node.handle:#x} is of another kind")
    if isinstance(node.work, Launch) and isinstance(work, Launch):
        work = work.with_attributes(node.work.attributes)
    node.work = work


@implements("cuGraphKernelNodeGetParams_v2")
def get_launch(handle: int) -> Struct:
    """The launch of a node. The parameters are where the node keeps them."""
    work, struct = work_of(node(handle), Launch), Struct("CUDA_KERNEL_NODE_PARAMS")
    struct.func = work.function.handle
    struct.gridDimX, struct.gridDimY, struct.gridDimZ = work.grid
    struct.blockDimX, struct.blockDimY, struct.blockDimZ = work.block
    struct.sharedMemBytes = work.shared
    struct.ctx = work.function.module.context.handle
    struct.kernelParams = work.pointers()
    return struct


@implements("cuGraphMemcpyNodeGetParams")
def get_copy(handle: int) -> Struct:
    """The copy of a node."""
    work, struct = work_of(node(handle), Copy), Struct("CUDA_MEMCPY3D")
    if work.told:
        return Struct.of("CUDA_MEMCPY3D", work.told)
    for end, rows in (("dst", work.to), ("src", work.source)):
        setattr(struct, f"{end}MemoryType", DEVICE if rows.device else HOST)
        setattr(struct, f"{end}Device" if rows.device else f"{end}Host", rows.address)
        setattr(struct, f"{end}Pitch", rows.pitch)
        setattr(struct, f"{end}Height", rows.height)
    struct.WidthInBytes, struct.Height, struct.Depth = work.width, work.height, work.depth
    return struct


@implements("cuGraphMemsetNodeGetParams", "cudaGraphMemsetNodeGetParams")
def get_fill(handle: int) -> Struct:
    """The fill of a node."""
    work, struct = work_of(node(handle), Fill), Struct("CUDA_MEMSET_NODE_PARAMS")
    struct.dst, struct.pitch = work.to.address, work.to.pitch
    struct.value, struct.elementSize = int.from_bytes(work.pattern, "little"), len(work.pattern)
    struct.width, struct.height = work.count, work.height
    return struct


@implements("cuGraphHostNodeGetParams", "cudaGraphHostNodeGetParams")
def get_host_call(handle: int) -> Struct:
    """The call of a node."""
    work, struct = work_of(node(handle), HostCall), Struct("CUDA_HOST_NODE_PARAMS")
    struct.fn, struct.userData = work.function, work.data
    return struct


@implements("cuGraphNodeSetParams")
def set_any(handle: int, params: Struct | None) -> None:
    """Give a node other work of its kind."""
    node_object, params = node(handle), given(params)
    if params.type != node_object.work.kind or isinstance(node_object.work, (Compound, Empty)):
        fail(INVALID_VALUE, f"the node {handle:#x} is of another kind, or has no description")
    replace(node_object, work_from(node_object.graph, params))
