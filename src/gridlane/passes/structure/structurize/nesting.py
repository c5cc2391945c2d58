"""Separates nested loops that have their header in common.

Threads that part in the inner loop meet again behind it, inside the outer one. So the edges back
from there go to a header of their own. The code behind the inner loop begins where all paths from
the header meet, at a post-dominator of it.
"""

from __future__ import annotations

from collections.abc import Callable

from gridlane.ir.dominance import Dominators, dominators
from gridlane.ir.op import Op
from gridlane.ir.ops import control
from gridlane.ir.values import Region
from gridlane.passes.structure.structurize.flow import Flow, Node
from gridlane.passes.structure.structurize.placing import Loops, loops_of, may_wait

LITTLE = 8
"""The most ops for which threads do not wait for others that are still in the inner loop."""

PATIENCE = 16
"""How many nodes are looked at for each node of the flow: what thousands of loops in each other
take beyond that is not worth it."""


def separate_loops(flow: Flow) -> None:
    """Separate the headers of the loops of a reducible flow."""
    tree = dominators(flow.edges())
    latches: dict[int, list[int]] = {}
    for node in tree.order:
        for goal in flow.nodes[node].goals:
            if tree.dominates(goal, node):
                latches.setdefault(goal, []).append(node)
    several = {header: found for header, found in latches.items() if len(found) > 1}
    if several:
        separator = _Separator(flow, tree, loops_of(flow, tree))
        for header, sources in several.items():
            separator.separate(header, sources)


class _Separator:
    """Separates loops of a flow.

    Attributes:
        patience: the nodes that may still be looked at.
    """

    def __init__(self, flow: Flow, tree: Dominators, loops: Loops) -> None:
        self.flow = flow
        self.tree = tree
        self.loops = loops
        self.patience = PATIENCE * len(flow.nodes)
        self.before = flow.predecessors()
        self.after = _post_dominators(flow, self.before)

    def separate(self, header: int, latches: list[int]) -> None:
        """Separate the loops of one header, inner ones first."""
        head, meeting = header, self.after[header]
        while self._is_in_loop(meeting, header) and self.patience > 0:
            inner = [latch for latch in latches if not self.tree.dominates(meeting, latch)]
            if 0 < len(inner) < len(latches):
                inside = self._body(header, inner)
                outer = self._body(header, latches) - inside
                if meeting not in inside and self._is_better(inside, outer):
                    head = self._split(head, inner)
                    latches = [latch for latch in latches if latch not in inner]
            meeting = self.after[meeting]

    def _is_in_loop(self, node: int, header: int) -> bool:
        """Whether a node, other than the header, is in its loop."""
        if node in (-1, header) or not self.tree.dominates(header, node):
            return False
        around = self.loops.of(node)
        while around not in (-1, header):
            self.patience -= 1
            around = self.loops.around[around]
        return around == header

    def _body(self, header: int, latches: list[int]) -> set[int]:
        """The nodes of the loop with these edges back."""
        nodes = {header, *latches}
        waiting = [latch for latch in latches if latch != header]
        while waiting:
            new = [node for node in self.before[waiting.pop()] if node not in nodes]
            nodes.update(new)
            waiting += new
        self.patience -= len(nodes)
        return nodes

    def _is_better(self, inner: set[int], outer: set[int]) -> bool:
        """Whether threads should wait for others behind the inner loop: they have to if they meet
        there, and should not if there is little to do or the others may wait for them."""
        size = sum(len(self.flow.nodes[node].ops) for node in outer)
        return self._any(outer, _meets) or (size > LITTLE and not self._any(inner, may_wait))

    def _any(self, nodes: set[int], test: Callable[[Op], bool]) -> bool:
        return any(test(op) for node in nodes for op in Region(self.flow.nodes[node].ops).walk())

    def _split(self, head: int, inner: list[int]) -> int:
        """Redirect all edges to a header, except those of the inner loop, to a new header."""
        flow = self.flow
        others = [node for node in self.before[head] if node not in inner]
        new = flow.add(Node(goals=[head], loc=flow.nodes[head].loc))
        for node in others:
            flow.nodes[node].replace_goal(head, new)
        self.before[head] = [*inner, new]
        self.before.append(others)
        return new


def _post_dominators(flow: Flow, before: list[list[int]]) -> list[int]:
    """The immediate post-dominator of each node; -1 where there is none."""
    ends = [number for number, node in enumerate(flow.nodes) if node.end is not None]
    last = len(flow.nodes)
    parent = dominators([*before, ends], last).parent
    return [-1 if node == last else node for node in parent]


def _meets(op: Op) -> bool:
    return op.barrier or op.cross_lane or isinstance(op, control.Call)
