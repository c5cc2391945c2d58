"""Executable graphs: instantiation, launches, updates."""

from __future__ import annotations

from pathlib import Path

from gridlane.abi.calls.graph_nodes import (
    given,
    work_from,
)
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import (
    FILE_NOT_FOUND,
    GRAPH_EXEC_UPDATE_FAILURE,
    INVALID_VALUE,
    NOT_SUPPORTED,
    Failure,
    fail,
)
from gridlane.abi.state import contexts, executables, streams, updates
from gridlane.abi.state.copying import Copy, Fill
from gridlane.abi.state.executables import Executable, executable
from gridlane.abi.state.graph_text import drawn
from gridlane.abi.state.graphs import Child, Graph, Node, graph, node
from gridlane.abi.state.streams import Work
from gridlane.abi.state.work import Empty
from gridlane.abi.struct import Struct
from gridlane.core.cuda_table import enums

_RESULTS = enums()["CUgraphInstantiateResult"].values
_, _UPLOAD, _ON_DEVICE, _PRIORITY = enums()["CUgraphInstantiate_flags"].values.values()
_DOT_FLAGS = sum(set(enums()["CUgraphDebugDot_flags"].values.values()))


# --- instantiation ---


def made_of(graph_object: Graph, flags: int) -> Executable:
    """Instantiate a graph.

    Raises:
        Failure: INVALID_VALUE, it has a cycle, or a capture makes nodes in it; NOT_SUPPORTED, it is
            to be launched by kernels.
    """
    if flags & _ON_DEVICE:
        fail(NOT_SUPPORTED, "launches of graphs by kernels: launch the graph from the host")
    if graph_object.captures:
        fail(INVALID_VALUE, "a capture makes nodes in the graph: end it first")
    bad = executables.unordered(graph_object)
    if bad is not None:
        fail(INVALID_VALUE, f"the node {bad.handle:#x} is part of a cycle")
    executables.check(graph_object, contexts.current())
    return Executable(graph_object, contexts.current(), flags)


@implements("cuGraphInstantiateWithFlags", "cudaGraphInstantiate", "cudaGraphInstantiateWithFlags")
def instantiate(handle: int, flags: int) -> int:
    """Create an executable graph."""
    contexts.check_flags(flags, executables.AUTO_FREE | _ON_DEVICE | _PRIORITY)
    return made_of(graph(handle), flags).handle


@implements("cuGraphInstantiate", "cuGraphInstantiate_v2")
def instantiate_with_log(handle: int, room: int) -> tuple[int, int, bytes]:
    """Create an executable graph; no node is wrong, and the log is empty."""
    return instantiate(handle, 0), 0, b"\0" if room else b""


@implements("cuGraphInstantiateWithParams")
def instantiate_with_params(handle: int, params: Struct | None) -> int:
    """Create an executable graph, and write the error to the description."""
    graph_object, params = graph(handle), given(params)
    flags = params.flags
    contexts.check_flags(flags, executables.AUTO_FREE | _UPLOAD | _ON_DEVICE | _PRIORITY)
    if flags & _UPLOAD:
        streams.stream(params.hUploadStream)
    params.hErrNode_out, params.result_out = 0, _RESULTS["CUDA_GRAPH_INSTANTIATE_ERROR"]
    bad = executables.unordered(graph_object)
    if bad is not None:
        params.hErrNode_out = bad.handle
        params.result_out = _RESULTS["CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE"]
    executable_object = made_of(graph_object, flags)
    params.result_out = _RESULTS["CUDA_GRAPH_INSTANTIATE_SUCCESS"]
    return executable_object.handle


@implements("cuGraphExecGetFlags", "cudaGraphExecGetFlags")
def get_flags(handle: int) -> int:
    """The flags of its instantiation that stay: not that to upload it once."""
    return executable(handle).flags & ~_UPLOAD


# --- nodes of executables ---


def _found(handle: int, item: int) -> tuple[Executable, Node]:
    owner = executable(handle)
    return owner, owner.copy_of(node(item))


def change(handle: int, item: int, work: Work) -> None:
    """Give a node of an executable other work; launches so far keep what they had.

    Raises:
        Failure: INVALID_VALUE, the change is one that needs a new instantiation.
    """
    owner, node = _found(handle, item)
    if node.work.kind != work.kind or updates.change(node.work, work):
        fail(INVALID_VALUE, f"such a change of the node {item:#x} needs a new instantiation")
    executables.check_work(work, owner.context)
    executables.put(node, work)


def change_copy(handle: int, item: int, work: Copy) -> None:
    """Give a node another copy; both are of one row."""
    before = _found(handle, item)[1].work
    if not (isinstance(before, Copy) and before.is_linear and work.is_linear):
        fail(INVALID_VALUE, "a copy of several rows: instantiate the graph anew")
    change(handle, item, work)


def change_fill(handle: int, item: int, work: Fill) -> None:
    """Give a node another fill, of as many rows."""
    before = _found(handle, item)[1].work
    if not isinstance(before, Fill) or before.height != work.height:
        fail(INVALID_VALUE, "a fill of another number of rows: instantiate the graph anew")
    change(handle, item, work)


@implements("cuGraphExecChildGraphNodeSetParams", "cudaGraphExecChildGraphNodeSetParams")
def set_child(handle: int, item: int, child: int) -> None:
    """Give the nodes of a graph in the executable the work of those of a graph of the same form."""
    owner, node = _found(handle, item)
    if not isinstance(node.work, Child):
        fail(INVALID_VALUE, f"the node {item:#x} is of another kind")
    try:
        updates.update(node.work.graph, graph(child), owner.context)
    except updates.Mismatch as error:
        fail(INVALID_VALUE, f"the graph does not fit, by the result {error.result}")


@implements("cuGraphExecNodeSetParams")
def set_any(handle: int, item: int, params: Struct | None) -> None:
    """Give a node other work of its kind."""
    node, params = _found(handle, item)[1], given(params)
    if params.type != node.work.kind or isinstance(node.work, Empty):
        fail(INVALID_VALUE, f"the node {item:#x} is of another kind, or has no description")
    if isinstance(node.work, Child):
        set_child(handle, item, params.graph.graph)
        return
    work = work_from(node.graph, params)
    if isinstance(work, Copy):
        change_copy(handle, item, work)
    elif isinstance(work, Fill):
        change_fill(handle, item, work)
    else:
        change(handle, item, work)


@implements("cuGraphNodeSetEnabled", "cudaGraphNodeSetEnabled")
def set_enabled(handle: int, item: int, is_enabled: int) -> None:
    """Enable or disable the work of a node in launches."""
    owner, node = _found(handle, item)
    owner.enable(node, bool(is_enabled))


@implements("cuGraphNodeGetEnabled", "cudaGraphNodeGetEnabled")
def get_enabled(handle: int, item: int) -> int:
    """Whether launches do the work of a node."""
    owner, node = _found(handle, item)
    owner.check_can_be_disabled(node)
    return int(node not in owner.disabled)


@implements("cuGraphExecUpdate_v2", "cudaGraphExecUpdate")
def update(handle: int, by: int) -> Struct:
    """Give the nodes the work of those of a graph of the same form."""
    owner, graph_object = executable(handle), graph(by)
    struct = Struct("CUgraphExecUpdateResultInfo")
    try:
        updates.update(owner.graph, graph_object, owner.context)
    except updates.Mismatch as error:
        struct.result = error.result
        struct.errorNode = error.node.handle if error.node else 0
        struct.errorFromNode = error.dependency.handle if error.dependency else 0
        what = f"the graph does not fit, by the result {error.result}"
        raise Failure(GRAPH_EXEC_UPDATE_FAILURE, what, (struct,)) from None
    return struct


@implements("cuGraphExecUpdate")
def update_in_parts(handle: int, by: int) -> tuple[int, int]:
    """Give the nodes the work of those of a graph of the same form: the node that does not fit,
    and the result."""
    try:
        outcome = update(handle, by)
    except Failure as error:
        if error.given:
            outcome = error.given[0]
            error.given = (outcome.errorNode, outcome.result)
        raise
    return outcome.errorNode, outcome.result


# --- a graph as text ---


@implements("cuGraphDebugDotPrint", "cudaGraphDebugDotPrint")
def print_dot(handle: int, path: bytes, flags: int) -> None:
    """Write a graph to a file, in the language of Graphviz."""
    graph_object = graph(handle)
    contexts.check_flags(flags, _DOT_FLAGS)
    if not path:
        fail(INVALID_VALUE, "no path")
    try:
        Path(path.decode()).write_text(drawn(graph_object, flags), encoding="utf-8")
    except OSError as error:
        fail(FILE_NOT_FOUND, str(error))
