"""Graphs, their edges, and what they keep."""

from __future__ import annotations

from collections.abc import Iterable

from gridlane.abi import raw
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.abi.state.graphs import Child, Graph, Node, graph, node
from gridlane.abi.state.user_objects import UserObject, user_object
from gridlane.abi.struct import Struct
from gridlane.core.cuda_table import enums, layout

_MOVE = enums()["CUuserObjectRetain_flags"].values["CU_GRAPH_USER_OBJECT_MOVE"]
_NO_SYNC = enums()["CUuserObject_flags"].values["CU_USER_OBJECT_NO_DESTRUCTOR_SYNC"]
_MOST = (1 << 31) - 1


@implements("cuGraphCreate", "cudaGraphCreate")
def create(flags: int) -> int:
    """Create a graph without nodes."""
    if flags:
        fail(INVALID_VALUE, f"a graph with the flags {flags:#x}; there are none")
    return Graph().handle


@implements("cuGraphDestroy", "cudaGraphDestroy")
def destroy(handle: int) -> None:
    """End a graph and its nodes. What was instantiated of it stays."""
    graph_object = graph(handle)
    if graph_object.embedded or graph_object.captures:
        fail(INVALID_VALUE, "the graph is part of a node, or a capture makes nodes in it")
    graph_object.end()


@implements("cuGraphNodeFindInClone", "cudaGraphNodeFindInClone")
def find_in_clone(original: int, handle: int) -> int:
    """The copy of a node in a clone of its graph."""
    origin = graph(handle).origins.get(node(original).handle)
    if origin is None or origin not in origin.graph.nodes:
        fail(INVALID_VALUE, f"the graph has no copy of the node {original:#x}")
    return origin.handle


@implements("cuGraphDestroyNode", "cudaGraphDestroyNode")
def destroy_node(handle: int) -> None:
    """End a node and its edges."""
    node_object = node(handle)
    if node_object.graph.captures:
        fail(INVALID_VALUE, "a capture makes nodes in the graph")
    node_object.graph.remove(node_object)


@implements("cuGraphChildGraphNodeGetGraph", "cudaGraphChildGraphNodeGetGraph")
def get_child(handle: int) -> int:
    """The graph of a node. Changes of it are changes of the node's work."""
    work = node(handle).work
    if not isinstance(work, Child):
        fail(INVALID_VALUE, f"{handle:#x} is no node with a graph")
    return work.graph.handle


# --- lists of nodes and of edges ---


_MOST_ROOM = 1 << 28
"""The most elements that an array of nodes is believed to have."""


def in_room(nodes: Iterable[Node], room: int) -> tuple[list[int], int]:
    """Handles in an array with room for so many, 0 after the last, and their number; without room,
    the number of all.

    Raises:
        Failure: INVALID_VALUE, no program has such an array.
    """
    if room > _MOST_ROOM:
        fail(INVALID_VALUE, f"an array of {room} nodes")
    handles = [each.handle for each in nodes]
    if not room:
        return [], len(handles)
    given = handles[:room]
    return given + [0] * (room - len(given)), len(given)


def plain_edges(count: int) -> list[Struct]:
    """The data of edges: full order between the nodes, as all edges here have."""
    return [Struct("CUgraphEdgeData") for _ in range(count)]


def with_edge_data(listed: tuple[list[int], int]) -> tuple[list[int], list[Struct], int]:
    """Listed nodes with the data of the edges to them, and their number."""
    nodes, count = listed
    return nodes, plain_edges(len(nodes)), count


@implements("cuGraphGetRootNodes", "cudaGraphGetRootNodes")
def get_roots(handle: int, room: int) -> tuple[list[int], int]:
    """The nodes that follow none."""
    return in_room((each for each in graph(handle).nodes if not each.dependencies), room)


@implements("cuGraphGetEdges", "cudaGraphGetEdges@12")
def get_edges(handle: int, room: int) -> tuple[list[int], list[int], int]:
    """The first node of each edge, and the second."""
    pairs = list(graph(handle).edges())
    first, count = in_room((each for each, _ in pairs), room)
    return first, in_room((each for _, each in pairs), room)[0], count


@implements("cuGraphGetEdges_v2", "cudaGraphGetEdges", "cudaGraphGetEdges_v2")
def get_edges_with_data(handle: int, room: int) -> tuple[list[int], list[int], list[Struct], int]:
    """The first node of each edge, the second, and its data."""
    first, then, count = get_edges(handle, room)
    return first, then, plain_edges(len(first)), count


# --- edges ---


def check_edges(data: Struct | None, count: int) -> None:
    """Raise NOT_SUPPORTED for an edge that orders less than all the work of two nodes."""
    size = layout("CUgraphEdgeData").size
    if data is not None and any(raw.view(data.address, size * count)):
        fail(NOT_SUPPORTED, "edges between parts of kernels: leave the data of edges zero")


def nodes_at(address: int, count: int, owner: Graph) -> list[Node]:
    """The nodes of a graph whose handles are in an array."""
    if count and not address:
        fail(INVALID_VALUE, f"{count} nodes at no address")
    nodes = [node(each) for each in raw.words(address, count)]
    if any(each.graph is not owner for each in nodes):
        fail(INVALID_VALUE, "a node is of another graph")
    return nodes


def dependencies_at(address: int, count: int, owner: Graph) -> list[Node]:
    """The nodes of a graph that another is to follow, each once."""
    nodes = nodes_at(address, count, owner)
    if len(set(nodes)) < len(nodes):
        fail(INVALID_VALUE, "a node is among the dependencies twice")
    return nodes


def _pairs(handle: int, first: int, then: int, count: int) -> tuple[Graph, list[tuple[Node, Node]]]:
    owner = graph(handle)
    pairs = list(zip(nodes_at(first, count, owner), nodes_at(then, count, owner)))
    if len(set(pairs)) < len(pairs):
        fail(INVALID_VALUE, "an edge is given twice")
    return owner, pairs


@implements("cuGraphAddDependencies", "cudaGraphAddDependencies@12")
def add_dependencies(handle: int, first: int, then: int, count: int) -> None:
    """Let nodes follow others."""
    owner, pairs = _pairs(handle, first, then, count)
    if any(a is b or b in a.dependents for a, b in pairs):
        fail(INVALID_VALUE, "an edge is there, or leads from a node to itself")
    for a, b in pairs:
        owner.connect(a, b)


@implements("cuGraphRemoveDependencies", "cudaGraphRemoveDependencies@12")
def remove_dependencies(handle: int, first: int, then: int, count: int) -> None:
    """Remove edges."""
    owner, pairs = _pairs(handle, first, then, count)
    if any(b not in a.dependents for a, b in pairs):
        fail(INVALID_VALUE, "an edge is not there")
    for a, b in pairs:
        owner.disconnect(a, b)


# --- user objects ---


def check_count(count: int) -> None:
    """Raise INVALID_VALUE for a number of references that no object has."""
    if not 0 < count <= _MOST:
        fail(INVALID_VALUE, f"{count} references")


@implements("cuUserObjectCreate", "cudaUserObjectCreate")
def create_object(pointer: int, destructor: int, count: int, flags: int) -> int:
    """Create a user object; the program holds its references."""
    check_count(count)
    if flags != _NO_SYNC or not destructor:
        fail(INVALID_VALUE, "a user object has a destructor that nothing waits for, by its flag")
    return UserObject(pointer, destructor, count).handle


@implements("cuGraphRetainUserObject", "cudaGraphRetainUserObject")
def graph_retain(handle: int, item: int, count: int, flags: int) -> None:
    """Add references to a graph: new ones, or by the flag those of the program."""
    owner, counted_object = graph(handle), user_object(item)
    check_count(count)
    if flags & ~_MOVE:
        fail(INVALID_VALUE, f"retaining with the flags {flags:#x}")
    if not flags:
        counted_object.retain(count)
    owner.objects[counted_object] = owner.objects.get(counted_object, 0) + count


@implements("cuGraphReleaseUserObject", "cudaGraphReleaseUserObject")
def graph_release(handle: int, item: int, count: int) -> None:
    """Release a graph's references."""
    owner, counted_object = graph(handle), user_object(item)
    check_count(count)
    held = owner.objects.get(counted_object, 0)
    if count > held:
        fail(INVALID_VALUE, f"the graph holds {held} references, not {count}")
    owner.objects[counted_object] = held - count
    if held == count:
        del owner.objects[counted_object]
    counted_object.release(count)
