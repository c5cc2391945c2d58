"""Graphs: nodes of work, and which node follows which."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Protocol, runtime_checkable

from gridlane.abi.failure import INVALID_VALUE
from gridlane.abi.state.handles import Handles
from gridlane.abi.state.streams import Stream, Work
from gridlane.abi.state.user_objects import UserObject
from gridlane.abi.state.work import GRAPH


class Node:
    """A piece of work in a graph.

    Attributes:
        work: is replaced by another of its kind, never changed.
        dependencies: the nodes that it follows, in the order in which they were given.
        dependents: the nodes that follow it.
        number: its number in the graph, from 0 in the order of their making.
        handle: its number; 0 for a node of an executable, which programs cannot name.
    """

    __slots__ = ("dependencies", "dependents", "graph", "handle", "number", "work")

    def __init__(self, graph: Graph, work: Work) -> None:
        self.graph, self.work, self.number = graph, work, next(graph.node_numbers)
        self.dependencies: dict[Node, None] = {}
        self.dependents: dict[Node, None] = {}
        self.handle = nodes.add(self) if graph.handle else 0

    @property
    def tools_number(self) -> int:
        """A number that no other node of the process has."""
        return self.graph.number << 32 | self.number


class Graph:
    """Nodes and their dependencies.

    Attributes:
        handle: its number; 0 for one that programs cannot name, and after its end.
        number: a number that no other graph of the process has, also after its end.
        node_numbers: the numbers of the nodes that will be made.
        nodes: in the order of their making.
        sinks: the nodes that none follows, in the order in which they became so.
        objects: the references that it holds to user objects.
        embedded: whether it is part of a node of another graph, which ends it.
        captures: how many captures make nodes in it.
        conditions: what nodes of its own and of graphs in it are chosen by, by their handles.
        origins: of a clone: its nodes by the handles of the nodes that they are copies of.
    """

    def __init__(self, named: bool = True, embedded: bool = False) -> None:
        self.number, self.node_numbers = next(_numbers), itertools.count()
        self.nodes: dict[Node, None] = {}
        self.sinks: dict[Node, None] = {}
        self.objects: dict[UserObject, int] = {}
        self.embedded, self.captures = embedded, 0
        self.origins: dict[int, Node] = {}
        self.conditions: dict[int, Any] = {}
        self.handle = graphs.add(self) if named else 0

    def add(self, work: Work, dependencies: Iterable[Node] = ()) -> Node:
        """Make a node that follows others of the graph."""
        new_node = Node(self, work)
        self.nodes[new_node] = self.sinks[new_node] = None
        for each in work.graphs if isinstance(work, Compound) else ():
            self.conditions |= each.conditions
        for each in dependencies:
            self.connect(each, new_node)
        return new_node

    def connect(self, first: Node, then: Node) -> None:
        """Add an edge between two nodes."""
        first.dependents[then] = then.dependencies[first] = None
        self.sinks.pop(first, None)

    def disconnect(self, first: Node, then: Node) -> None:
        """End what ``connect`` began."""
        del first.dependents[then], then.dependencies[first]
        if not first.dependents:
            self.sinks[first] = None

    def remove(self, node: Node) -> None:
        """End a node."""
        for each in tuple(node.dependencies):
            self.disconnect(each, node)
        for each in tuple(node.dependents):
            self.disconnect(node, each)
        del self.nodes[node], self.sinks[node]
        _forget(node)

    def edges(self) -> Iterator[tuple[Node, Node]]:
        """Each pair of a node and one that follows it."""
        for node in self.nodes:
            for each in node.dependents:
                yield node, each

    def order(self) -> list[Node]:
        """The nodes, each behind all that it follows; without those that a cycle keeps from it."""
        waiting = {node: len(node.dependencies) for node in self.nodes}
        ordered = [node for node, count in waiting.items() if not count]
        for node in ordered:  # which grows
            for each in node.dependents:
                waiting[each] -= 1
                if not waiting[each]:
                    ordered.append(each)
        return ordered

    def copied(self, named: bool, embedded: bool = False) -> Graph:
        """A graph with copies of the nodes, which holds references of its own to user objects."""
        return self.copies(named, embedded)[0]

    def copies(self, named: bool, embedded: bool = False) -> tuple[Graph, dict[Node, Node]]:
        """``copied``, and the copy of each node, also of those of graphs in this one."""
        new_graph, copies_by_node = Graph(named, embedded), dict[Node, Node]()
        inner = dict[Node, Node]()
        for node in self.nodes:
            work = node.work
            if isinstance(work, Compound):
                work, further = work.copies(named)
                inner |= further
            copies_by_node[node] = new_graph.add(work)
        for node, copy in copies_by_node.items():
            copy.dependencies = {copies_by_node[each]: None for each in node.dependencies}
            copy.dependents = {copies_by_node[each]: None for each in node.dependents}
        new_graph.sinks = {copies_by_node[each]: None for each in self.sinks}
        new_graph.conditions = dict(self.conditions)
        new_graph.origins = {node.handle: copy for node, copy in (copies_by_node | inner).items()}
        for each, count in self.objects.items():
            each.retain(count)
            new_graph.objects[each] = count
        return new_graph, copies_by_node | inner

    def end(self) -> None:
        """End its nodes, and release the objects that it holds."""
        graphs.discard(self.handle)
        self.handle = 0
        for node in self.nodes:
            _forget(node)
            node.dependencies, node.dependents = {}, {}  # a cycle would keep what it owns
        self.origins, self.conditions = {}, {}
        self.nodes.clear()
        self.sinks.clear()
        for each, count in self.objects.items():
            each.release(count)
        self.objects.clear()


@runtime_checkable
class Compound(Work, Protocol):
    """Work of a node that owns graphs."""

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """The graphs."""
        ...

    def copies(self, named: bool) -> tuple[Compound, dict[Node, Node]]:
        """The same work with copies of the graphs, and the copy of each node."""
        ...


class Child:
    """The work of a graph, as that of one node, which owns the graph."""

    __slots__ = ("graph",)
    kind: ClassVar[int] = GRAPH

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """The graph."""
        return (self.graph,)

    def copies(self, named: bool) -> tuple[Child, dict[Node, Node]]:
        """The work of a copy of the graph, and the copy of each node."""
        graph, copies_by_node = self.graph.copies(named, True)
        return Child(graph), copies_by_node

    def run(self, stream: Stream) -> None:
        """Append the work of the graph to a stream."""
        for node in self.graph.order():
            node.work.run(stream)


graphs = Handles[Graph]("graph", INVALID_VALUE)
graph = graphs.get
_numbers = itertools.count(1)
nodes = Handles[Node]("node of a graph", INVALID_VALUE)
node = nodes.get


def _forget(node: Node) -> None:
    """End the handle of a node, and what it owns."""
    nodes.discard(node.handle)
    if isinstance(node.work, Compound):
        for each in node.work.graphs:
            each.end()
