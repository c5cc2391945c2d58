"""Flatten a kernel to nodes of straight-line code, which end at its grid barriers among other
places.

Only constructs around a barrier become branches, and constructs that jump out of their container.
The others stay whole inside of a node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gridlane.core.source import UNKNOWN, Loc
from gridlane.ir.op import Op
from gridlane.ir.ops import control, graph, grid
from gridlane.ir.values import Region, Value
from gridlane.passes.structure.flatten import blocks_of


@dataclass(slots=True, eq=False)
class Node:
    """Straight-line code.

    Attributes:
        goals: the nodes that follow; two for a branch, the first of them where ``condition`` holds.
        sync: the number of the grid barrier behind the code, counted from 1; 0 for none.
        end: without goals, the return or raise.
        loc: of the end.
    """

    ops: list[Op] = field(default_factory=list[Op])
    goals: list[int] = field(default_factory=list[int])
    condition: Value | None = None
    sync: int = 0
    end: Op | None = None
    loc: Loc = UNKNOWN


class Flat:
    """The nodes of a kernel without calls; the first is the entry.

    Attributes:
        syncs: the grid barriers, the first of which has number 1.
    """

    def __init__(self, body: Region) -> None:
        self.syncs: list[grid.GridSync] = []
        blocks = blocks_of(
            body, UNKNOWN, lambda op: _has_sync(op) or _jumps_out(op), (grid.GridSync,)
        )
        # Barriers are numbered in program order, nodes in the order in which constructs begin.
        labels = sorted(block.label for block in blocks)
        indices = {label: index for index, label in enumerate(labels)}
        indices_of_nodes = {block.label: self._node(block.body.ops, indices) for block in blocks}
        self.nodes = [indices_of_nodes[label] for label in labels]

    def sync_goal(self, number: int) -> int:
        """The node behind a grid barrier."""
        return next(node.goals[0] for node in self.nodes if node.sync == number)

    def _node(self, ops: list[Op], indices: dict[int, int]) -> Node:
        """A block of a graph as a node."""
        *ops, end = ops
        node = Node(ops, loc=end.loc)
        match end:
            case graph.Branch():
                node.goals = [indices[end.target]]
            case graph.BranchIf():
                node.goals = [indices[end.then], indices[end.orelse]]
                node.condition = end.condition
            case _:
                node.end = end
        if ops and isinstance(ops[-1], grid.GridSync):
            self.syncs.append(ops[-1])
            node.sync = len(self.syncs)
            ops.pop()
        return node


def _has_sync(op: Op) -> bool:
    return any(isinstance(each, grid.GridSync) for r in op.regions() for each in r.walk())


def _jumps_out(op: Op) -> bool:
    """Whether control may leave a construct other than by its end or by an error."""
    stack: list[tuple[Iterator[Op], Op]] = [(iter(r.ops), op) for r in op.regions()]
    while stack:
        for each in stack[-1][0]:
            if isinstance(each, control.Return | control.Exit):
                return True
            around = (outer for _, outer in reversed(stack))
            if isinstance(each, control.Break | control.Continue):
                if not any(isinstance(outer, control.Loop) for outer in around):
                    return True
            elif isinstance(each, control.Leave):
                scopes = (outer for outer in around if isinstance(outer, control.ScopeOp))
                if not any(each.target in (0, outer.label) for outer in scopes):
                    return True
            if each.REGION_FIELDS:
                stack += [(iter(r.ops), each) for r in each.regions()]
                break
        else:
            stack.pop()
    return False
