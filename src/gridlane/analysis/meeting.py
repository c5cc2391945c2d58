"""The threads of a grid that reach its barriers together."""

from __future__ import annotations

from enum import IntEnum

from gridlane.analysis.uniformity import BlockUniformity, Kind, WayOut
from gridlane.ir.op import Op
from gridlane.ir.ops import control, grid, memory
from gridlane.ir.types import Space
from gridlane.ir.values import Function


class GridUniformity(BlockUniformity):
    """The values that all threads of a grid share where they meet, in any grid; their kind is
    ``Kind.BLOCK`` here."""

    OWN = BlockUniformity.OWN | {grid.BlockIdx, memory.GlobalAddress, memory.DynamicShared}

    def transfer(self, op: Op) -> tuple[Kind, ...]:
        """As for a block, but for what differs from block to block."""
        if isinstance(op, grid.BarrierReduce):
            return (Kind.VARYING,)
        return super().transfer(op)


class Meeting(IntEnum):
    """The threads that reach a barrier of the grid; larger is worse.

    All threads; all but those that have ended; some, while others may pass it and reach it in
    another iteration, reach another one, or end.
    """

    ALL = 0
    UNENDED = 1
    SOME = 2


def meeting_of(function: Function) -> Meeting:
    """The worst meeting of a kernel whose calls are inlined."""
    known = _Likely(function)
    syncs = (op for op in known.places.order if isinstance(op, grid.GridSync))
    return max((known.meeting(op) for op in syncs), default=Meeting.ALL)


class _Likely(GridUniformity):
    """Assumes that all threads load the same value from one address. If they do not, one thread
    writes while others read, and the host detects that they diverge.

    A thread that raises ends the grid, so no thread waits for it.
    """

    def transfer(self, op: Op) -> tuple[Kind, ...]:
        """As for a grid, but for loads and constant arrays."""
        if isinstance(op, memory.Load):
            return (self.of(op.pointer),)
        if isinstance(op, memory.GlobalAddress) and op.type.space is not Space.SHARED:
            return (Kind.BLOCK,)
        return super().transfer(op)

    def _exit(self, op: Op) -> None:
        if not isinstance(op, control.Raise):
            super()._exit(op)

    def meeting(self, op: Op) -> Meeting:
        """The threads that reach an op; compare ``divergent``."""
        worst = Meeting.ALL
        path = self.places.path[op]
        inner = [container for container, _ in path[1:]] + [op]
        for (container, region), holder in zip(path, inner, strict=True):
            worst = max(worst, self._inside(container))
            for before in region.ops:
                if before is holder:
                    break
                worst = max(worst, _without(self.kills.get(before)))
        return worst

    def _inside(self, container: Op | None) -> Meeting:
        """The threads that are inside of a construct together."""
        if isinstance(container, control.If):
            varies = self.condition_level(container) >= Kind.LINEAR
            return Meeting.SOME if varies else Meeting.ALL
        if isinstance(container, control.Loop):
            exits = self.exits[container]
            if max(exits.breaks, exits.continues) >= Kind.LINEAR:
                return Meeting.SOME
            return _without(self.kills.get(container))
        return Meeting.ALL


def _without(left: set[WayOut] | None) -> Meeting:
    """The threads that are behind an op in which some threads leave constructs."""
    if not left:
        return Meeting.ALL
    return Meeting.UNENDED if all(target is None for target, _ in left) else Meeting.SOME
