"""Writes the structured code of a graph whose nodes are placed.

Tasks on a stack replace recursion: each writes a node, and the branch behind it, to the end of a
region. At most one successor of a region's end follows it directly.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control
from gridlane.ir.rewriting import Labels
from gridlane.ir.values import Region, Value
from gridlane.passes.structure.structurize.flow import Flow, Node
from gridlane.passes.structure.structurize.jumps import Frame, Jump, Jumps
from gridlane.passes.structure.structurize.placing import Places

MOST_NESTED = 16
"""The deepest nesting of branches both of whose sides go on behind them. Further ones leave a scope
instead: devices limit the nesting, and their compilers take long for it."""

NEAR = 4
"""How many ops in front of a branch may be the comparison for it."""

_COMPLEMENTS: dict[type[Op], type[Op]] = {
    arith.Lt: arith.Ge,
    arith.Le: arith.Gt,
    arith.Gt: arith.Le,
    arith.Ge: arith.Lt,
    arith.Eq: arith.Ne,
    arith.Ne: arith.Eq,
}


@frozen
class _Spot:
    """The end of a region that is being written.

    Attributes:
        follow: the node that control reaches from the region's end, -1 for none.
        around: the innermost loop or scope.
        depth: the number of branches around.
    """

    region: Region
    follow: int = -1
    around: Frame | None = None
    depth: int = 0


class Emission:
    """Writes the body of a function."""

    def __init__(self, flow: Flow, places: Places) -> None:
        self.flow = flow
        self.places = places
        self.jumps = Jumps()
        self.scopes: dict[int, Frame] = {}
        """For each merge and each node behind a loop, the scope in front of it."""
        self.bodies: dict[int, Frame] = {}
        """For each header, the scope around the loop's body."""
        self.frames: dict[Op, Frame] = {}
        self.made: set[Op] = set()
        self.tasks: list[tuple[int, _Spot]] = []
        self.uses = Counter(value for node in flow.nodes for value in node.operands())

    def run(self) -> Region:
        """The structured code."""
        body = Region()
        self.tasks.append((0, _Spot(body)))
        while self.tasks:
            self._node(*self.tasks.pop())
        labels = Labels(self.flow.function)
        self.jumps.settle(body, self.frames, self.made, labels)
        return body

    def _node(self, number: int, spot: _Spot) -> None:
        """Write a node and what it dominates."""
        node = self.flow.nodes[number]
        if number in self.places.loops.headers:
            spot = self._before_merges(self.places.behind[number], spot)
            spot = self._loop(number, spot)
        home = spot.region
        home.ops += node.ops
        spot = self._before_merges(self.places.merges[number], spot)
        if node.end is not None:
            spot.region.ops.append(node.end)
        elif len(node.goals) == 1:
            self._go(number, node.goals[0], spot)
        else:
            self._branch(number, node, spot, home)

    def _before_merges(self, merges: list[int], spot: _Spot) -> _Spot:
        """Open a scope in front of each merge, the last one outermost; the innermost one's end."""
        for merge in reversed(merges):
            self.tasks.append((merge, spot))
            scope = control.ScopeOp(Region(), loc=self.flow.nodes[merge].loc)
            frame = self._open(scope, spot)
            self.scopes[merge] = frame
            spot = replace(spot, region=scope.body, follow=merge, around=frame)
        return spot

    def _loop(self, header: int, spot: _Spot) -> _Spot:
        """Open a loop, and a scope around its body for jumps to the next iteration."""
        loc = self.flow.nodes[header].loc
        loop = control.Loop(Region(), Region(), loc=loc)
        frame = self._open(loop, spot, header, spot.follow)
        scope = control.ScopeOp(Region(), loc=loc)
        loop_spot = replace(spot, region=loop.body, around=frame)
        self.bodies[header] = body = self._open(scope, loop_spot)
        return replace(spot, region=scope.body, follow=header, around=body)

    def _open(
        self, op: control.Loop | control.ScopeOp, spot: _Spot, goal: int = -1, follow: int = -1
    ) -> Frame:
        spot.region.ops.append(op)
        self.made.add(op)
        self.frames[op] = frame = Frame(op, spot.around, goal, follow)
        return frame

    # ---- branches

    def _go(self, number: int, goal: int, spot: _Spot) -> None:
        """Go on to a node: write it here, reach it by the region's end, or jump."""
        if self._is_inside(number, goal):
            self.tasks.append((goal, spot))
        elif goal != spot.follow:
            self._jump(number, goal, spot)

    def _jump(self, number: int, goal: int, spot: _Spot) -> None:
        assert spot.around is not None
        again = self.places.tree.dominates(goal, number)
        scope = (self.bodies if again else self.scopes)[goal]
        loop = spot.around.loop
        local: type[Op] | None = None
        if loop is not None and goal == loop.goal:
            local = control.Continue
        elif loop is not None and goal == loop.follow:
            local = control.Break
        jump = Jump(scope, local, self.flow.nodes[number].loc)
        self.jumps.jump(spot.region, jump, spot.around)

    def _branch(self, number: int, node: Node, spot: _Spot, home: Region) -> None:
        """Write a branch of a node whose ops are in region ``home``. A side from which control does
        not reach the region's end is placed in the branch alone, and the other one behind it."""
        inner = {goal for goal in node.goals if self._is_inside(number, goal)}
        weight = {goal: self.places.size[goal] if goal in inner else 0 for goal in node.goals}
        rests = [goal for goal in node.goals if not self._comes_to_end(goal, goal in inner, spot)]
        sides = (Region(), Region())
        nested = replace(spot, depth=spot.depth + 1)
        if not rests and spot.depth < MOST_NESTED:
            goals = [goal for goal in node.goals if goal != spot.follow]
            self._if(node, goals[0], sides, spot, home)
            for goal, side in zip(goals, sides, strict=False):
                self._go(number, goal, replace(nested, region=side))
            return
        first = min(rests or node.goals, key=weight.__getitem__)
        second = next(goal for goal in node.goals if goal != first)
        self._if(node, first, sides, spot, home)
        self._go(number, second, spot)
        self._go(number, first, replace(nested, region=sides[0], follow=-1))

    def _is_inside(self, number: int, goal: int) -> bool:
        """Whether a node is placed inside the branch of another node to it."""
        return goal in self.places.inline and self.places.tree.parent[goal] == number

    def _comes_to_end(self, goal: int, is_inside: bool, spot: _Spot) -> bool:
        """Whether control may reach a region's end from a side of a branch there."""
        if spot.follow < 0 or not is_inside:
            return goal == spot.follow
        return self.places.comes_to(goal, spot.follow)

    def _if(
        self, node: Node, goal: int, sides: tuple[Region, Region], spot: _Spot, home: Region
    ) -> None:
        """Write a branch whose first side is the way to a goal."""
        assert node.condition is not None
        condition = node.condition
        if goal != node.goals[0]:
            condition = self._not(node, condition, spot, home)
        op = control.If(condition, *sides, loc=node.loc)
        self.made.add(op)
        spot.region.ops.append(op)

    def _not(self, node: Node, condition: Value, spot: _Spot, home: Region) -> Value:
        """The opposite of a node's condition. If the condition is a comparison of the node, it is
        replaced by the opposite comparison, and removed if it has no other use."""
        op = condition.op
        is_own = op is not None and any(own is op for own in node.ops[-NEAR:])
        if is_own and isinstance(op, arith.Not):
            return op.value
        new: Op = arith.Not(condition, loc=node.loc)
        if is_own and isinstance(op, arith.Compare) and _has_complement(op):
            new = _COMPLEMENTS[type(op)](op.lhs, op.rhs, loc=op.loc)  # type: ignore[call-arg]  # a Compare
            if self.uses[condition] == 1:
                index = next(n for n in range(len(home.ops) - 1, -1, -1) if home.ops[n] is op)
                home.ops[index] = new
                return new.results[0]
        spot.region.ops.append(new)
        return new.results[0]


def _has_complement(op: arith.Compare) -> bool:
    """Whether the opposite comparison is one too: of floats, which may be NaN, two are."""
    type_ = op.lhs.type
    is_total = not isinstance(type_, DType) or not type_.is_float
    return is_total or isinstance(op, arith.Eq | arith.Ne)
