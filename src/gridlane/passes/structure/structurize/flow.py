"""The graph that the structurizer works on: nodes by number, without labels and switches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby

from gridlane.core.dtypes import DType
from gridlane.core.source import UNKNOWN, Loc
from gridlane.ir.dominance import depth_first
from gridlane.ir.op import Op, clone_op
from gridlane.ir.ops import arith, control
from gridlane.ir.ops.graph import Branch, BranchIf, Graph, Switch
from gridlane.ir.values import Function, Region, Value


@dataclass(slots=True, eq=False)
class Node:
    """A block.

    Attributes:
        ops: all but the terminator.
        goals: the successors; two of them differ.
        condition: with two successors, whether the first is next.
        end: without successors, the return, raise or exit.
        loc: the terminator's.
        is_copy: node splitting has made it, or has copied it.
    """

    ops: list[Op] = field(default_factory=list[Op])
    goals: list[int] = field(default_factory=list[int])
    condition: Value | None = None
    end: Op | None = None
    loc: Loc = UNKNOWN
    is_copy: bool = False

    def go_to(self, goal: int) -> None:
        """Make a node the only successor."""
        self.goals, self.condition = [goal], None

    def branch(self, condition: Value, then: int, orelse: int) -> None:
        """Make two nodes the successors."""
        if then == orelse:
            self.go_to(then)
        else:
            self.goals, self.condition = [then, orelse], condition

    def replace_goal(self, old: int, new: int) -> None:
        """Change the edge to a node."""
        changed = [new if goal == old else goal for goal in self.goals]
        if len(changed) == 2 and changed[0] == changed[1]:
            self.go_to(new)
        else:
            self.goals = changed

    def operands(self) -> Iterator[Value]:
        """Every value that the node uses, also one of its own, with repetitions."""
        for op in Region(self.ops).walk():
            yield from op.operands()
        if self.condition is not None:
            yield self.condition
        if self.end is not None:
            yield from self.end.operands()

    def replace(self, new: dict[Value, Value]) -> None:
        """Replace values in all that the node uses."""
        ops = [*self.ops, self.end] if self.end else self.ops
        for op in Region(ops).walk():
            op.replace_operands(lambda value: new.get(value, value))
        if self.condition is not None:
            self.condition = new.get(self.condition, self.condition)


@dataclass(slots=True, eq=False)
class Flow:
    """A function's graph; node 0 is the entry.

    Attributes:
        head: ops in front of the graph.
        constants: those that ``constant`` has made.
    """

    function: Function
    head: list[Op]
    nodes: list[Node] = field(default_factory=list[Node])
    constants: dict[tuple[bool | int, DType], Value] = field(
        default_factory=dict[tuple[bool | int, DType], Value]
    )

    def add(self, node: Node) -> int:
        """Add a node; its number."""
        self.nodes.append(node)
        return len(self.nodes) - 1

    def constant(self, value: bool | int, type_: DType) -> Value:
        """A constant at the start of the function."""
        key = value, type_
        if key not in self.constants:
            op = arith.Const(value, type_)
            self.head.append(op)
            self.constants[key] = op.result
        return self.constants[key]

    def edges(self) -> list[list[int]]:
        """The successors of each node."""
        return [node.goals for node in self.nodes]

    def predecessors(self) -> list[list[int]]:
        """The predecessors of each node."""
        before: list[list[int]] = [[] for _ in self.nodes]
        for number, node in enumerate(self.nodes):
            for goal in node.goals:
                before[goal].append(number)
        return before


def flow_of(function: Function, graph: Graph) -> Flow:
    """The reachable part of a graph, without empty blocks and switches, behind an entry that has no
    predecessor."""
    flow = Flow(function, function.body.ops[:-1], [Node(goals=[1])])
    number = {block.label: index for index, block in enumerate(graph.blocks(), 1)}
    for block in graph.blocks():
        *ops, last = block.body.ops
        flow.add(Node(ops, loc=last.loc))
    for block in graph.blocks():
        node, last = flow.nodes[number[block.label]], block.body.ops[-1]
        if isinstance(last, Branch):
            node.go_to(number[last.target])
        elif isinstance(last, BranchIf):
            node.branch(last.condition, number[last.then], number[last.orelse])
        elif isinstance(last, Switch):
            goals = [number[label] for label in last.targets]
            _switch(flow, node, last, goals, number[last.default])
        elif isinstance(last, control.Exit) and function.is_kernel:
            node.end = control.Return(loc=last.loc)
        else:
            node.end = last
    _skip_empty(flow)
    _end_at_once(flow)
    return _reachable(flow)


def _switch(flow: Flow, node: Node, op: Switch, goals: list[int], default: int) -> None:
    """Replace a switch by a balanced tree of comparisons."""
    dtype = op.index.type
    assert isinstance(dtype, DType)
    count = dtype.unsigned.max + 1
    goals = [*goals[:count], default] if len(goals) < count else goals[:count]
    starts = [next(same)[0] for _, same in groupby(enumerate(goals), key=lambda item: item[1])]
    index = op.index
    if dtype.is_signed and len(starts) > 1:  # a negative index is a large one
        cast = arith.Bitcast(index, dtype.unsigned, loc=op.loc)
        node.ops.append(cast)
        index = cast.result
    waiting = [(node, starts)]
    while waiting:
        node, starts = waiting.pop()
        if len(starts) == 1:
            node.go_to(goals[starts[0]])
            continue
        middle = len(starts) // 2
        bound = arith.Const(starts[middle], dtype.unsigned, loc=op.loc)
        below = arith.Lt(index, bound.result, loc=op.loc)
        node.ops += [bound, below]
        sides: list[int] = []
        for part in (starts[:middle], starts[middle:]):
            if len(part) == 1:
                sides.append(goals[part[0]])
            else:
                sides.append(flow.add(Node(loc=op.loc)))
                waiting.append((flow.nodes[sides[-1]], part))
        node.branch(below.result, *sides)


def _skip_empty(flow: Flow) -> None:
    """Make branches to empty blocks go to what these go to."""
    final: dict[int, int] = {}
    for start in range(len(flow.nodes)):
        path: list[int] = []
        current, seen = start, set[int]()
        while current not in final and current not in seen and _is_empty(flow.nodes[current]):
            path.append(current)
            seen.add(current)
            current = flow.nodes[current].goals[0]
        # An endless loop of empty blocks stays one.
        for node in path:
            final[node] = final.get(current, current)
    for node in flow.nodes:
        for goal in dict.fromkeys(node.goals):
            if final.get(goal, goal) != goal:
                node.replace_goal(goal, final[goal])


def _is_empty(node: Node) -> bool:
    return not node.ops and len(node.goals) == 1


def _end_at_once(flow: Flow) -> None:
    """Copy each block that only ends the thread or function to the branches to it."""
    for node in list(flow.nodes):
        for goal in list(node.goals):
            last = flow.nodes[goal]
            if last.ops or last.end is None or goal == 0:
                continue
            end = clone_op(last.end, {}, {})
            if len(node.goals) == 1:
                node.goals, node.end, node.loc = [], end, last.loc
            else:
                node.replace_goal(goal, flow.add(Node(end=end, loc=last.loc)))


def _reachable(flow: Flow) -> Flow:
    """The flow without unreachable nodes."""
    preorder, _, _ = depth_first(flow.edges())
    kept = sorted(preorder)
    number = {old: new for new, old in enumerate(kept)}
    nodes = [flow.nodes[old] for old in kept]
    for node in nodes:
        node.goals = [number[goal] for goal in node.goals]
    return Flow(flow.function, flow.head, nodes)
