"""Turns structured control flow, stage ``kernel``, into blocks of stage ``cfg``.

It is the inverse of ``structurize``. The removal of recursion divides functions at their calls, and
the split at grid barriers divides kernels at these, which only a graph allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace

from gridlane.core.frozen import frozen
from gridlane.core.source import Loc
from gridlane.ir.op import Op
from gridlane.ir.ops import control, graph
from gridlane.ir.values import Function, Region


def flatten_control(function: Function) -> None:
    """Replace a function's body by a graph that does the same."""
    function.body = Region([graph.Graph(Region([*blocks_of(function.body, function.loc)]))])


def blocks_of(
    body: Region,
    loc: Loc,
    takes: Callable[[Op], bool] = lambda op: True,
    last: tuple[type[Op], ...] = (),
) -> list[graph.Block]:
    """A function's body as blocks that do the same, the entry first. They have its ops.

    Args:
        loc: of a return that the body lacks.
        takes: whether a construct becomes blocks. The others stay as they are inside of a block, so
            nothing in them may jump out of them.
        last: ops behind which a block ends.
    """
    flattening = _Flattening(takes, last)
    flattening.open(flattening.label(), loc)
    if not flattening.region(body, _Goals()):
        flattening.emit(control.Return(), loc)
    return flattening.blocks


@frozen
class _Goals:
    """The blocks that the jumps of a region go to; 0 where there is none."""

    left: int = 0
    stepped: int = 0
    scope: int = 0
    scopes: Mapping[int, int] = field(default_factory=dict[int, int])


class _Flattening:
    """The blocks in the making. Label 0 is no block, so that it can mean that there is none."""

    def __init__(self, takes: Callable[[Op], bool], last: tuple[type[Op], ...]) -> None:
        self.takes, self.last = takes, last
        self.blocks: list[graph.Block] = []
        self.labels = 0
        self.reached: set[int] = set()

    def label(self) -> int:
        """The label of a later block."""
        self.labels += 1
        return self.labels

    def open(self, label: int, loc: Loc) -> None:
        """Begin a block."""
        self.block = graph.Block(label, Region())
        self.block.loc = loc
        self.blocks.append(self.block)

    def emit(self, op: Op, loc: Loc) -> None:
        """Append an op to the block."""
        op.loc = loc
        self.block.body.ops.append(op)

    def branch(self, target: int, loc: Loc) -> None:
        """End the block by going to another."""
        self.reached.add(target)
        self.emit(graph.Branch(target), loc)

    def region(self, region: Region, goals: _Goals) -> bool:
        """Append a region; return whether control does not reach its end."""
        for op in region.ops:
            match op:
                case control.If() if self.takes(op):
                    ended = self._if(op, goals)
                case control.Loop() if self.takes(op):
                    ended = self._loop(op, goals)
                case control.ScopeOp() if self.takes(op):
                    ended = self._scope(op, goals)
                case control.Break():
                    self.branch(goals.left, op.loc)
                    ended = True
                case control.Continue():
                    self.branch(goals.stepped, op.loc)
                    ended = True
                case control.Leave():
                    to = goals.scopes[op.target] if op.target else goals.scope
                    self.branch(to, op.loc)
                    ended = True
                case _:
                    self.block.body.ops.append(op)
                    ended = op.terminator
                    if isinstance(op, self.last):
                        self._end_block(op.loc)
            if ended:
                return True
        return False

    def _if(self, op: control.If, goals: _Goals) -> bool:
        after = self.label()
        sides = [(self.label(), op.then), (self.label(), op.orelse)]
        self.emit(graph.BranchIf(op.condition, sides[0][0], sides[1][0]), op.loc)
        for label, side in sides:
            self.open(label, op.loc)
            if not self.region(side, goals):
                self.branch(after, op.loc)
        return self._go_on(after, op.loc)

    def _loop(self, op: control.Loop, goals: _Goals) -> bool:
        after, body, step = self.label(), self.label(), self.label()
        self.branch(body, op.loc)
        self.open(body, op.loc)
        if not self.region(op.body, replace(goals, left=after, stepped=step)):
            self.branch(step, op.loc)
        if step in self.reached:
            self.open(step, op.loc)
            self.region(op.step, goals)
            self.branch(body, op.loc)
        return self._go_on(after, op.loc)

    def _scope(self, op: control.ScopeOp, goals: _Goals) -> bool:
        after = self.label()
        scopes = {**goals.scopes, op.label: after} if op.label else goals.scopes
        if not self.region(op.body, replace(goals, scope=after, scopes=scopes)):
            self.branch(after, op.loc)
        return self._go_on(after, op.loc)

    def _end_block(self, loc: Loc) -> None:
        """Continue in a block of its own."""
        after = self.label()
        self.branch(after, loc)
        self.open(after, loc)

    def _go_on(self, after: int, loc: Loc) -> bool:
        """Continue in a block if it has predecessors; return whether it has none."""
        if after not in self.reached:
            return True
        self.open(after, loc)
        return False
