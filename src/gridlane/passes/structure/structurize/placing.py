"""Decides the position of the code of each node of a reducible graph.

The code of a node precedes that of the nodes that it dominates. These follow its branch: inside it,
if there is one edge to them (``inline``), else behind it, as a merge. A node outside of its
dominator's loop follows the loop. One that ends the thread shortly stays in the loop, unless it is
the only exit: behind the loop threads run it together, as one atomic.

A thread that has left a loop then waits for the others of its warp before it continues. That is
harmless where these cannot wait for it: in a loop without volatile loads, atomics, calls, barriers
and ops of warps no thread sees what another one does.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from gridlane.ir.dominance import Dominators, depth_first, dominators
from gridlane.ir.op import Op
from gridlane.ir.ops import atomic, control, memory
from gridlane.ir.values import Region
from gridlane.passes.structure.structurize.flow import Flow, Node

SHORT = 8
"""The most ops of a node that stays in a loop although it leaves it, as it ends the thread."""


@dataclass(slots=True)
class Loops:
    """The loops of a reducible graph, by their headers.

    Attributes:
        headers: the nodes that dominate the start of an edge to them.
        around: for each node, the header of the innermost loop that it is in, for a header of the
            next loop out; -1 for none.
    """

    headers: set[int]
    around: list[int]

    def of(self, node: int) -> int:
        """The header of the innermost loop around the code of a node, or -1."""
        return node if node in self.headers else self.around[node]


def loops_of(flow: Flow, tree: Dominators) -> Loops:
    """Find the loops, inner ones first (R. Tarjan, "Testing flow graph reducibility", 1974)."""
    latches: dict[int, list[int]] = {}
    before = flow.predecessors()
    for node in tree.order:
        for goal in flow.nodes[node].goals:
            if tree.dominates(goal, node):
                latches.setdefault(goal, []).append(node)
    around = [-1] * len(flow.nodes)
    joined = list(range(len(flow.nodes)))

    def outermost(node: int) -> int:
        """The header of the outermost loop so far that holds a node, or the node."""
        path: list[int] = []
        while joined[node] != node:
            path.append(node)
            node = joined[node]
        for each in path:
            joined[each] = node
        return node

    for header in reversed(tree.order):
        waiting = [outermost(latch) for latch in latches.get(header, ())]
        while waiting:
            node = waiting.pop()
            if outermost(node) == header:
                continue
            around[node], joined[node] = header, header
            waiting += [outermost(other) for other in before[node]]
    return Loops(set(latches), around)


@dataclass(slots=True)
class Places:
    """The positions of nodes.

    Attributes:
        merges: for each node the merges behind its branch, in order.
        behind: for each header the nodes behind its loop, in order.
        inline: the nodes inside the branch to them.
        size: the ops of each node and the nodes inside and behind it.
        first, last_inner, last: the place of each node in the order of the code, of the last node
            that sees its values, and of the last behind its loop.
        arrivals: for each node, the places of its predecessors, sorted.
    """

    tree: Dominators
    loops: Loops
    merges: list[list[int]]
    behind: list[list[int]]
    inline: set[int] = field(default_factory=set[int])
    size: list[int] = field(default_factory=list[int])
    first: list[int] = field(default_factory=list[int])
    last_inner: list[int] = field(default_factory=list[int])
    last: list[int] = field(default_factory=list[int])
    arrivals: list[list[int]] = field(default_factory=list[list[int]])

    def sees(self, node: int, home: int) -> bool:
        """Whether the values of one node are visible in another."""
        return self.first[home] <= self.first[node] <= self.last_inner[home]

    def comes_to(self, node: int, goal: int) -> bool:
        """Whether control may reach another node from an inline node or the nodes behind it."""
        arrival = self.arrivals[goal]
        index = bisect_left(arrival, self.first[node])
        return index < len(arrival) and arrival[index] <= self.last[node]


def places_of(flow: Flow) -> Places:
    """Place all nodes."""
    edges = flow.edges()
    tree = dominators(edges)
    loops = loops_of(flow, tree)
    before = flow.predecessors()
    inner: list[list[int]] = [[] for _ in edges]
    places = Places(tree, loops, [[] for _ in edges], [[] for _ in edges])
    sole = _sole_exits(flow, loops)
    _, postorder, _ = depth_first(edges)
    for node in reversed(postorder):
        owner = tree.parent[node]
        if owner < 0:
            continue
        outer, inside = loops.around[node], loops.of(owner)
        is_single = sum(not tree.dominates(node, other) for other in before[node]) == 1
        stays = is_single and node not in sole and _ends_shortly(flow.nodes[node])
        if outer != inside and not stays:
            while loops.around[inside] != outer:
                inside = loops.around[inside]
            places.behind[inside].append(node)
        elif is_single:
            places.inline.add(node)
            inner[owner].append(node)
        else:
            places.merges[owner].append(node)
            inner[owner].append(node)
    _number(flow, places, inner)
    places.arrivals = [sorted(places.first[other] for other in found) for found in before]
    return places


def may_wait(op: Op) -> bool:
    """Whether an op may see what another thread of the warp does meanwhile."""
    is_volatile = isinstance(op, memory.Load) and op.volatile
    return is_volatile or isinstance(
        op, atomic.Atomic | atomic.AtomicCas | atomic.AtomicCasPair | control.Call
    )


def _sole_exits(flow: Flow, loops: Loops) -> set[int]:
    """The nodes by which alone threads leave a loop, in which none waits for another one."""
    exits: dict[int, set[int]] = {header: set() for header in loops.headers}
    waiting = {-1}
    for number, node in enumerate(flow.nodes):
        if any(op.barrier or op.cross_lane or may_wait(op) for op in Region(node.ops).walk()):
            header = loops.of(number)
            while header not in waiting:
                waiting.add(header)
                header = loops.around[header]
        for goal in node.goals:
            header = loops.of(number)
            # An edge to a header repeats its loop, or enters it from the loop around.
            while header not in (loops.of(goal), loops.around[goal]):
                exits[header].add(goal)
                header = loops.around[header]
    return {
        goal
        for header, goals in exits.items()
        if len(goals) == 1 and header not in waiting
        for goal in goals
        if loops.around[header] == loops.around[goal]
    }


def _ends_shortly(node: Node) -> bool:
    """Whether a node ends the thread after few ops, in which threads do not meet."""
    return (
        node.end is not None
        and len(node.ops) <= SHORT
        and not any(op.barrier or op.cross_lane or op.REGION_FIELDS for op in node.ops)
    )


def _number(flow: Flow, places: Places, inner: list[list[int]]) -> None:
    """Number the nodes in an order of the code: a node, those that see its values, the others."""
    count = len(flow.nodes)
    places.first, places.last = [0] * count, [0] * count
    places.last_inner, places.size = [0] * count, [0] * count
    order: list[int] = []
    stack = [0]
    while stack:
        node = stack.pop()
        places.first[node] = len(order)
        order.append(node)
        stack += places.behind[node]
        stack += inner[node]
    for node in reversed(order):
        here = places.first[node]
        places.last_inner[node] = max([here, *[places.last[child] for child in inner[node]]])
        below = [places.last[child] for child in places.behind[node]]
        places.last[node] = max([places.last_inner[node], *below])
        children = [*inner[node], *places.behind[node]]
        places.size[node] = len(flow.nodes[node].ops) + 1 + sum(places.size[c] for c in children)
