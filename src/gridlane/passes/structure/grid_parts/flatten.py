"""A kernel as nodes of straight-line code, which end at its grid barriers among other places.

Only the constructs around a barrier become branches, and those that jump out of what they stand in;
the others stay as they are inside of a node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gridlane.core.source import UNKNOWN, Loc
from gridlane.ir.op import Op
from gridlane.ir.ops import control, grid
from gridlane.ir.values import Region, Value


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

    @property
    def is_open(self) -> bool:
        """Whether nothing ends it yet."""
        return not self.goals and self.end is None


@dataclass(frozen=True, slots=True)
class _Frame:
    """A flattened loop or scope: the nodes behind it and, of a loop, of its step."""

    op: control.Loop | control.ScopeOp
    behind: int
    step: int = -1


class Flat:
    """The nodes of a kernel without calls; the first is the entry.

    Attributes:
        syncs: the grid barriers, the first of which has number 1.
    """

    def __init__(self, body: Region) -> None:
        self.nodes: list[Node] = []
        self.syncs: list[grid.GridSync] = []
        self._frames: list[_Frame] = []
        self._at = self._new()
        self._region(body)
        self._end(control.Return())

    def sync_goal(self, number: int) -> int:
        """The node behind a grid barrier."""
        return next(node.goals[0] for node in self.nodes if node.sync == number)

    # --- nodes

    def _new(self) -> int:
        self.nodes.append(Node())
        return len(self.nodes) - 1

    def _go(self, goal: int, loc: Loc) -> None:
        """End the current node by a jump, unless it has ended."""
        node = self.nodes[self._at]
        if node.is_open:
            node.goals, node.loc = [goal], loc

    def _end(self, op: Op) -> None:
        node = self.nodes[self._at]
        if node.is_open:
            node.end, node.loc = op, op.loc

    # --- ops

    def _region(self, region: Region) -> None:
        for op in region.ops:
            if isinstance(op, grid.GridSync):
                self._sync(op)
            elif op.REGION_FIELDS and (_has_sync(op) or _jumps_out(op)):
                self._construct(op)
            elif op.terminator:
                self._jump(op)
            else:
                self.nodes[self._at].ops.append(op)

    def _sync(self, op: grid.GridSync) -> None:
        self.syncs.append(op)
        node, goal = self.nodes[self._at], self._new()
        node.goals, node.sync, node.loc = [goal], len(self.syncs), op.loc
        self._at = goal

    def _construct(self, op: Op) -> None:
        behind = self._new()
        if isinstance(op, control.If):
            self._branch(op, behind)
        elif isinstance(op, control.Loop):
            self._loop(op, behind)
        else:
            assert isinstance(op, control.ScopeOp), op
            self._inside(_Frame(op, behind), op.body)
            self._go(behind, op.loc)
        self._at = behind

    def _branch(self, op: control.If, behind: int) -> None:
        sides = self._new(), self._new()
        node = self.nodes[self._at]
        node.goals, node.condition, node.loc = [*sides], op.condition, op.loc
        for side, region in zip(sides, (op.then, op.orelse), strict=True):
            self._at = side
            self._region(region)
            self._go(behind, op.loc)

    def _loop(self, op: control.Loop, behind: int) -> None:
        begin, step = self._new(), self._new()
        self._go(begin, op.loc)
        self._at = begin
        self._inside(_Frame(op, behind, step), op.body)
        self._go(step, op.loc)
        self._at = step
        self._region(op.step)
        self._go(begin, op.loc)

    def _inside(self, frame: _Frame, region: Region) -> None:
        self._frames.append(frame)
        self._region(region)
        self._frames.pop()

    def _jump(self, op: Op) -> None:
        if isinstance(op, control.Break | control.Continue):
            loop = next(each for each in reversed(self._frames) if each.step >= 0)
            self._go(loop.behind if isinstance(op, control.Break) else loop.step, op.loc)
        elif isinstance(op, control.Leave):
            self._go(self._left(op).behind, op.loc)
        else:
            self._end(op)

    def _left(self, leave: control.Leave) -> _Frame:
        return next(
            each
            for each in reversed(self._frames)
            if isinstance(each.op, control.ScopeOp) and leave.target in (0, each.op.label)
        )


def _has_sync(op: Op) -> bool:
    return any(isinstance(each, grid.GridSync) for r in op.regions() for each in r.walk())


def _jumps_out(op: Op) -> bool:
    """Whether control may leave a construct in another way than by its end or by an error."""
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
