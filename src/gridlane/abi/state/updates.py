"""Updates of executable graphs by graphs of the same form."""

from __future__ import annotations

from gridlane.abi.state.contexts import Context
from gridlane.abi.state.copying import Copy, Fill
from gridlane.abi.state.executables import check_work, put, unordered
from gridlane.abi.state.graphs import Child, Graph, Node
from gridlane.abi.state.launching import Launch
from gridlane.abi.state.streams import Work
from gridlane.core.cuda_table import enums

SUCCESS, ERROR, TOPOLOGY, TYPE, _, PARAMETERS, NOT_SUPPORTED, FUNCTION, ATTRIBUTES = enums()[
    "CUgraphExecUpdateResult"
].values.values()


class Mismatch(Exception):
    """A graph does not fit.

    Attributes:
        result: the number of CUgraphExecUpdateResult.
        node: of the graph that does not fit; ``dependency``: of that node.
    """

    def __init__(
        self, result: int, node: Node | None = None, dependency: Node | None = None
    ) -> None:
        super().__init__(result)
        self.result, self.node, self.dependency = result, node, dependency


def update(graph: Graph, by: Graph, context: Context) -> None:
    """Replace the work of a graph's nodes by that of their pairs in another graph: all, or none.

    Raises:
        Mismatch: the graphs have two forms, or a node's work cannot be replaced by its pair's.
    """
    pairs = replacements(graph, by)
    for _, work in pairs:
        check_work(work, context)
    for node, work in pairs:
        put(node, work)


def replacements(graph: Graph, by: Graph) -> list[tuple[Node, Work]]:
    """The nodes of a graph, and those of graphs in it, with the work that replaces theirs.

    Raises:
        Mismatch: see ``update``.
    """
    pairs: list[tuple[Node, Work]] = []
    for new, old in _pairs(graph, by).items():
        if new.work.kind != old.work.kind:
            raise Mismatch(TYPE, new)
        if isinstance(new.work, Child) and isinstance(old.work, Child):
            pairs += replacements(old.work.graph, new.work.graph)
            continue
        result = change(old.work, new.work)
        if result:
            raise Mismatch(result, new)
        pairs.append((old, new.work))
    return pairs


def _pairs(graph: Graph, by: Graph) -> dict[Node, Node]:
    """The nodes of ``by``, each with its pair of ``graph``: the sinks in their order, then the
    dependencies of pairs in theirs."""
    if len(graph.nodes) != len(by.nodes):
        raise Mismatch(TOPOLOGY)
    bad = unordered(by)
    if bad is not None:
        raise Mismatch(ERROR, bad)
    sinks = list(by.sinks)
    if len(sinks) > len(graph.sinks):
        raise Mismatch(TOPOLOGY, sinks[len(graph.sinks)])
    paired = dict(zip(sinks, graph.sinks))
    taken = {old: new for new, old in paired.items()}
    waiting = list(paired)
    for new in waiting:  # which grows
        old = paired[new]
        if len(new.dependencies) != len(old.dependencies):
            raise Mismatch(TOPOLOGY, new)
        for first, other in zip(new.dependencies, old.dependencies):
            if first not in paired and other not in taken:
                paired[first], taken[other] = other, first
                waiting.append(first)
            elif paired.get(first) is not other:
                raise Mismatch(TOPOLOGY, new, first)
    if len(paired) != len(by.nodes):
        raise Mismatch(TOPOLOGY)
    return paired


def change(old: Work, new: Work) -> int:
    """The number of CUgraphExecUpdateResult for a change of a node's work in an executable."""
    if isinstance(old, Launch) and isinstance(new, Launch):
        return FUNCTION if old.function.module.context is not new.function.module.context else 0
    if isinstance(old, Copy) and isinstance(new, Copy):
        sides = [(each.to.device, each.source.device) for each in (old, new)]
        return PARAMETERS if sides[0] != sides[1] else 0
    if isinstance(old, Fill) and isinstance(new, Fill):
        shapes = [
            (each.height, each.count, each.to.pitch, len(each.pattern)) for each in (old, new)
        ]
        if shapes[0] != shapes[1] and (old.height > 1 or new.height > 1):
            return PARAMETERS
    return 0
