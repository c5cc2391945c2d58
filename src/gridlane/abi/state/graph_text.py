"""Graphs in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from gridlane.abi.state.copying import Copy, Fill
from gridlane.abi.state.graphs import Child, Graph, Node
from gridlane.abi.state.launching import Launch
from gridlane.abi.state.streams import Work
from gridlane.abi.state.work import TYPES, HostCall, Record, Wait
from gridlane.core.cuda_table import enums

_FLAGS = {
    name.removeprefix("CU_GRAPH_DEBUG_DOT_FLAGS_"): number
    for name, number in enums()["CUgraphDebugDot_flags"].values.items()
}
_NAMES = {
    number: name.removeprefix("CU_GRAPH_NODE_TYPE_").lower() for name, number in TYPES.items()
}


def drawn(graph: Graph, flags: int) -> str:
    """A graph as text.

    Args:
        flags: the facts of nodes in the text, by the bits of CUgraphDebugDot_flags.
    """
    lines = _lines(graph, flags, "  ")
    return "\n".join([f"digraph graph_{graph.number} {{", *lines, "}", ""])


def _name(node: Node) -> str:
    """The name of a node, in the numbers that cuGraphGetId and cuGraphNodeGetLocalId return."""
    return f"graph_{node.graph.number}_node_{node.number}"


def _lines(graph: Graph, flags: int, indent: str) -> Iterator[str]:
    for node in graph.nodes:
        label = "\\n".join([_NAMES[node.work.kind], *_facts(node, flags)])
        label = label.replace('"', '\\"')
        yield f'{indent}{_name(node)} [label="{label}"];'
        if isinstance(node.work, Child):
            yield f"{indent}subgraph cluster_{node.work.graph.number} {{"
            yield from _lines(node.work.graph, flags, indent + "  ")
            yield f"{indent}}}"
    for first, then in graph.edges():
        yield f"{indent}{_name(first)} -> {_name(then)};"


def _facts(node: Node, flags: int) -> Iterator[str]:
    if flags & (_FLAGS["HANDLES"] | _FLAGS["VERBOSE"]):
        yield f"{node.handle:#x}"
    for kind, flag, tell in _TOLD:
        if isinstance(node.work, kind) and flags & (_FLAGS[flag] | _FLAGS["VERBOSE"]):
            yield tell(node.work)


def _launch(work: Work) -> str:
    assert isinstance(work, Launch)
    return f"{work.function.kernel.name} {work.grid} {work.block} {work.shared}"


def _copy(work: Work) -> str:
    assert isinstance(work, Copy)
    size = f"{work.width} x {work.height} x {work.depth}"
    return f"{work.to.address:#x} = {work.source.address:#x} ({size})"


def _fill(work: Work) -> str:
    assert isinstance(work, Fill)
    return f"{work.to.address:#x} = 0x{work.pattern[::-1].hex()} ({work.count} x {work.height})"


def _host_call(work: Work) -> str:
    assert isinstance(work, HostCall)
    return f"{work.function:#x}({work.data:#x})"


def _event(work: Work) -> str:
    assert isinstance(work, (Record, Wait))
    return f"{work.event.handle:#x}"


_TOLD = (
    (Launch, "KERNEL_NODE_PARAMS", _launch),
    (Copy, "MEMCPY_NODE_PARAMS", _copy),
    (Fill, "MEMSET_NODE_PARAMS", _fill),
    (HostCall, "HOST_NODE_PARAMS", _host_call),
    ((Record, Wait), "EVENT_NODE_PARAMS", _event),
)
"""Kinds of work, the flag by which they are told, and their facts."""
