"""Resolves jumps, which the emission leaves open, to ``break``, ``continue`` and ``leave``.

A jump to the head or the end of the innermost loop is a ``break`` or ``continue`` if no scope is
between; a scope is emitted only if a ``leave`` needs it. So each scope that turns out to be needed
may turn more jumps into leaves, of scopes further out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gridlane.core.source import Loc
from gridlane.ir.op import Op
from gridlane.ir.ops import control
from gridlane.ir.rewriting import Labels
from gridlane.ir.values import Region


@dataclass(slots=True, eq=False)
class Frame:
    """A loop or scope around a region.

    Attributes:
        op: the loop or scope.
        loop: the frame of the innermost loop, itself for a loop.
        goal: of a loop its header.
        follow: of a loop the node behind it, -1 for none.
        is_needed: a leave jumps to the scope's end.
        is_inside: it is, or is inside, a needed scope of the same loop.
        scopes: the frames of scopes directly inside, in the same loop.
        flexible: the jumps directly inside that need no scope unless one is in their way.
    """

    op: control.Loop | control.ScopeOp
    around: Frame | None
    goal: int = -1
    follow: int = -1
    loop: Frame | None = None
    is_needed: bool = False
    is_inside: bool = False
    scopes: list[Frame] = field(default_factory=list["Frame"])
    flexible: list[Jump] = field(default_factory=list["Jump"])

    def __post_init__(self) -> None:
        if isinstance(self.op, control.Loop):
            self.loop = self
        elif self.around is not None:
            self.loop = self.around.loop
            self.is_inside = self.around.is_inside
            self.around.scopes.append(self)


@dataclass(slots=True, eq=False)
class Jump:
    """A jump to a node.

    Attributes:
        scope: the scope whose end or, around a loop's body, whose next iteration is the node.
        local: the op that does it if no scope is in the way.
    """

    scope: Frame
    local: type[Op] | None
    loc: Loc


class Jumps:
    """The jumps of a function, each in the place of its op in the regions."""

    def __init__(self) -> None:
        self.open: dict[Op, Jump] = {}

    def jump(self, region: Region, jump: Jump, around: Frame) -> None:
        """End a region, which is in a frame, with a jump."""
        place = control.Leave(loc=jump.loc)
        region.ops.append(place)
        self.open[place] = jump
        if jump.local is None or around.is_inside:
            self.leave(jump)
        else:
            around.flexible.append(jump)

    def leave(self, jump: Jump) -> None:
        """Make a jump a leave, and those whose way the scope then is in."""
        waiting = [jump]
        while waiting:
            jump = waiting.pop()
            jump.local = None
            if jump.scope.is_needed:
                continue
            jump.scope.is_needed = True
            inside = [jump.scope]
            while inside:
                frame = inside.pop()
                if not frame.is_inside:
                    frame.is_inside = True
                    waiting += frame.flexible
                    inside += frame.scopes

    def settle(
        self, body: Region, frames: dict[Op, Frame], branches: set[Op], labels: Labels
    ) -> None:
        """Write the ops of all jumps, and dissolve the scopes without need. ``branches``: the
        branches, loops and scopes of the emission."""
        source, body.ops = body.ops, []
        stack: list[tuple[Iterator[Op], list[Op], Op | None]] = [(iter(source), body.ops, None)]
        while stack:
            ops, out, scope = stack[-1]
            for op in ops:
                if op in self.open:
                    out.append(self._settled(op, scope, labels))
                    continue
                if op not in branches:
                    out.append(op)
                    continue
                frame = frames.get(op)
                if isinstance(op, control.ScopeOp) and frame and not frame.is_needed:
                    stack.append((iter(op.body.ops), out, scope))
                    break
                out.append(op)
                inner = op if isinstance(op, control.ScopeOp) else scope
                for region in op.regions():
                    source, region.ops = region.ops, []
                    stack.append((iter(source), region.ops, inner))
                break
            else:
                stack.pop()

    def _settled(self, op: Op, scope: Op | None, labels: Labels) -> Op:
        jump = self.open[op]
        if jump.local is not None:
            return jump.local(loc=jump.loc)
        left = jump.scope.op
        assert isinstance(left, control.ScopeOp)
        if left is scope:
            return op
        left.label = left.label or labels.fresh()
        return control.Leave(left.label, loc=jump.loc)
