"""Gives each cycle of a graph one entry.

In a strongly connected region with several entries, the part that runs before its header is copied,
if it is at most as large as the region; otherwise the region gets one new entry, which dispatches
by a variable. Node splitting: J. Janssen and H. Corporaal, "Making graphs reducible with controlled
node splitting", ACM TOPLAS 19(6), 1997.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gridlane.core.dtypes import b1, i32
from gridlane.ir.dominance import Edges, depth_first, dominators
from gridlane.ir.families import MATRIX
from gridlane.ir.op import clone_op
from gridlane.ir.ops import arith, control, grid, memory
from gridlane.ir.values import Region, Value, Var
from gridlane.passes.structure.inline import declare_variables
from gridlane.passes.structure.structurize.demotion import Uses
from gridlane.passes.structure.structurize.flow import Flow, Node

PATIENT = 4
"""The rounds that take each region by its own entries alone; later ones take all entries of the
regions inside at once, which bounds the work and the nesting."""

MOST_COPIED = 0.5
"""The part of a region that may be copied."""

MOST_TRIES = 8
"""The entries that are tried as the header of a region."""


@dataclass(slots=True)
class _Region:
    """A strongly connected region with several entries."""

    nodes: list[int]
    entries: list[int]


def make_reducible(flow: Flow) -> None:
    """Rewrite regions with several entries until there is none. The entry of the flow has no
    predecessor."""
    rounds = 0
    while wrong := _irreducible(flow.edges()):
        splitter = _Splitter(flow, wrong if rounds >= PATIENT else {})
        for region in list(_regions(flow, wrong)):
            splitter.rewrite(region)
        rounds += 1


def _irreducible(edges: Edges) -> dict[int, list[int]]:
    """By its start, each retreating edge to a node that does not dominate the start."""
    tree = dominators(edges)
    _, postorder, _ = depth_first(edges)
    rank = [0] * len(edges)
    for index, node in enumerate(postorder):
        rank[node] = index
    wrong: dict[int, list[int]] = {}
    for node in postorder:
        for goal in edges[node]:
            if rank[goal] >= rank[node] and not tree.dominates(goal, node):
                wrong.setdefault(node, []).append(goal)
    return wrong


def _regions(flow: Flow, wrong: dict[int, list[int]]) -> Iterator[_Region]:
    """The outermost regions with several entries; they are disjoint."""
    edges, before = flow.edges(), flow.predecessors()
    waiting = [list(range(len(edges)))]
    while waiting:
        for nodes in _components(edges, waiting.pop()):
            own = set(nodes)
            if not any(goal in own for node in nodes for goal in wrong.get(node, ())):
                continue
            entries = [node for node in nodes if any(p not in own for p in before[node])]
            if len(entries) == 1:
                waiting.append([node for node in nodes if node != entries[0]])
            else:
                yield _Region(sorted(nodes), sorted(entries))


def _components(edges: Edges, nodes: list[int]) -> Iterator[list[int]]:
    """The strongly connected components of more than one node in a part of a graph (R. Tarjan,
    "Depth-first search and linear graph algorithms", SIAM J. Comput. 1(2), 1972)."""
    unseen, number, low = set(nodes), dict[int, int](), dict[int, int]()
    open_nodes, place = list[int](), dict[int, int]()
    for root in nodes:
        stack = [(root, iter(edges[root]))] if root in unseen else []
        while stack:
            node, following = stack[-1]
            if node in unseen:
                unseen.discard(node)
                number[node] = low[node] = len(number)
                place[node] = len(open_nodes)
                open_nodes.append(node)
            goal = next((g for g in following if g in unseen or g in low), None)
            if goal is None:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[node])
                if low[node] == number[node]:
                    open_node = open_nodes[place[node] :]
                    del open_nodes[place[node] :]
                    for each in open_node:
                        del low[each]
                    if len(open_node) > 1:
                        yield open_node
            elif goal in unseen:
                stack.append((goal, iter(edges[goal])))
            else:
                low[node] = min(low[node], number[goal])


class _Splitter:
    """Rewrites regions of a flow.

    Attributes:
        wrong: edges whose goals become entries of the region that they are in.
    """

    def __init__(self, flow: Flow, wrong: dict[int, list[int]]) -> None:
        self.flow = flow
        self.wrong = wrong
        self.before = flow.predecessors()
        self.uses = Uses(flow)

    def rewrite(self, region: _Region) -> None:
        """Leave a region with one entry."""
        copied = None if self.wrong else self._copied(region)
        if copied is not None:
            self._copy(region, copied)
            return
        own = set(region.nodes)
        entries = dict.fromkeys(region.entries)
        for node in region.nodes:
            entries |= dict.fromkeys(goal for goal in self.wrong.get(node, ()) if goal in own)
        self._dispatch(list(entries))

    # ---- node splitting

    def _copied(self, region: _Region) -> list[int] | None:
        """The fewest nodes to copy, which run before some entry does; None where they may not be
        copied."""
        candidates = [self._before(region, header) for header in region.entries[:MOST_TRIES]]
        sizes = [self._size(nodes) for nodes in candidates]
        whole = self._size(region.nodes)
        for size, nodes in sorted(zip(sizes, candidates, strict=True)):
            if size > whole * MOST_COPIED:
                return None
            if all(_may_be_copied(self.flow.nodes[node]) for node in nodes):
                return nodes if self._is_reducible(nodes, region) else None
        return None

    def _size(self, nodes: list[int]) -> int:
        return sum(len(self.flow.nodes[node].ops) + 1 for node in nodes)

    def _before(self, region: _Region, header: int) -> list[int]:
        """The nodes that the other entries reach without passing a header."""
        own = set(region.nodes) - {header}
        waiting = [entry for entry in region.entries if entry != header]
        nodes = set(waiting)
        while waiting:
            new = own.intersection(self.flow.nodes[waiting.pop()].goals) - nodes
            nodes |= new
            waiting += new
        return sorted(nodes)

    def _is_reducible(self, nodes: list[int], region: _Region) -> bool:
        """Whether the part to copy is reducible by itself."""
        number = {node: index for index, node in enumerate(nodes, 1)}
        edges = [[number[node] for node in nodes if node in region.entries]]
        for node in nodes:
            edges.append([number[g] for g in self.flow.nodes[node].goals if g in number])
        return not _irreducible(edges)

    def _copy(self, region: _Region, copied: list[int]) -> None:
        """Redirect the edges into the region to copies of nodes."""
        flow, own = self.flow, set(region.nodes)
        inside = [value for node in copied for op in flow.nodes[node].ops for value in op.results]
        users = self.uses.users
        self.uses.demote({value: list(users[value]) for value in inside if users.get(value)})
        number = {node: len(flow.nodes) + index for index, node in enumerate(copied)}
        for node in copied:
            self._add(_copy_of(flow.nodes[node], number))
        for entry in set(region.entries) & set(number):
            for other in self.before[entry]:
                if other not in own:
                    flow.nodes[other].replace_goal(entry, number[entry])

    def _add(self, node: Node) -> None:
        """Add a copy, which another region may branch to or use values of."""
        number = self.flow.add(node)
        self.before.append([])
        for goal in node.goals:
            if goal < len(self.before):
                self.before[goal].append(number)
        for value in node.operands():
            if value in self.uses.home:
                self.uses.users.setdefault(value, {})[number] = None

    # ---- dispatch

    def _dispatch(self, entries: list[int]) -> None:
        """Redirect all edges to the entries to a new node, which dispatches by a variable."""
        flow = self.flow
        type_ = b1 if len(entries) == 2 else i32
        var = Var("entry", type_)
        declare_variables(flow.function, [var])
        consts = [flow.constant(bool(n) if type_ is b1 else n, type_) for n in range(len(entries))]
        number = dict(zip(entries, consts, strict=True))
        read = memory.ReadVar(var)
        header = flow.add(Node([read]))
        for node in dict.fromkeys(other for entry in entries for other in self.before[entry]):
            self._redirect(flow.nodes[node], number, var, header)
        waiting = [(flow.nodes[header], entries)]
        while waiting:
            node, part = waiting.pop()
            middle = len(part) // 2
            if type_ is b1:
                node.branch(read.result, part[1], part[0])
                continue
            below = arith.Lt(read.result, number[part[middle]])
            node.ops.append(below)
            sides: list[int] = []
            for half in (part[:middle], part[middle:]):
                if len(half) == 1:
                    sides += half
                else:
                    sides.append(flow.add(Node()))
                    waiting.append((flow.nodes[sides[-1]], half))
            node.branch(below.result, *sides)

    def _redirect(self, node: Node, number: dict[int, Value], var: Var, header: int) -> None:
        """Make a node's edges to the entries write their number and branch to the header."""
        entries = [goal for goal in node.goals if goal in number]
        if len(entries) == 2:
            assert node.condition is not None
            then, orelse = (number[goal] for goal in node.goals)
            chosen = arith.Select(node.condition, then, orelse, loc=node.loc)
            node.ops += [chosen, memory.WriteVar(var, chosen.result, loc=node.loc)]
            node.go_to(header)
            return
        for entry in entries:
            write = memory.WriteVar(var, number[entry], loc=node.loc)
            if len(node.goals) == 1:
                node.ops.append(write)
                node.go_to(header)
            else:
                between = self.flow.add(Node([write], [header], loc=node.loc))
                node.replace_goal(entry, between)


def _may_be_copied(node: Node) -> bool:
    """Whether a node may run at two places: not where threads meet in it, as they must meet at one
    place, and once at most, which bounds the growth."""
    if node.is_copy:
        return False
    return not any(
        op.barrier or op.cross_lane or op.name in MATRIX or isinstance(op, _ALONE)
        for op in Region(node.ops).walk()
    )


_ALONE = (control.Call, memory.LocalArray, grid.GridSync)
"""Threads may meet in a call. An array is another one in a copy."""


def _copy_of(node: Node, number: dict[int, int]) -> Node:
    values: dict[Value, Value] = {}
    ops = [clone_op(op, values, {}) for op in node.ops]
    end = clone_op(node.end, values, {}) if node.end else None
    condition = values.get(node.condition, node.condition) if node.condition else None
    node.is_copy = True
    goals = [number.get(goal, goal) for goal in node.goals]
    return Node(ops, goals, condition, end, node.loc, is_copy=True)
