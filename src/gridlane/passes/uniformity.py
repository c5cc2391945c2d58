"""Where all threads of a block are together, as far as the structure of a kernel shows.

A value is uniform when it is the same for all threads of a block: constants, parameters, indices of
the block, and what is computed of these. A variable is, when all that is written to it is uniform
and is written where all threads are together. What memory holds counts as different.

All threads are together in a region whose branches have uniform conditions, unless some of them may
have left: a loop that some of the threads break out of or continue counts as apart as a whole, and
so does a scope that some leave. Behind a return or a raise of some, nothing is together any more.
"""

from __future__ import annotations

from gridlane.core.source import Loc
from gridlane.ir.op import Op
from gridlane.ir.ops import control, grid, memory
from gridlane.ir.values import Function, Region, Value, Var

_UNIFORM = (grid.BlockIdx, grid.BlockDim, grid.GridDim, grid.DynamicSharedSize)
_VARYING = (grid.ThreadIdx, grid.LaneId, memory.LocalArray)
_SAME_PLACE = (memory.GlobalAddress, memory.DynamicShared, grid.BarrierReduce)


class Uniformity:
    """The analysis of one function without calls. ``apart[op]`` is the place that sets threads
    apart where the op stands; an op that is not in it has all threads together."""

    def __init__(self, function: Function) -> None:
        self.varying: set[Value] = set()
        self.variables: set[Var] = set()
        self.split: dict[Op, Loc] = {}
        """Loops and scopes that some of the threads leave early, and the kernel's ends."""
        self.apart: dict[Op, Loc] = {}
        self.ended: Loc | None = None
        before = -1
        # Each turn only adds, so it ends.
        while before != self._known():
            before = self._known()
            self.ended = None
            self._region(function.body, None, ())

    def _known(self) -> int:
        return len(self.varying) + len(self.variables) + len(self.split) + len(self.apart)

    def _region(self, region: Region, apart: Loc | None, around: tuple[Op, ...]) -> None:
        for op in region.ops:
            place = apart or self.ended
            if place is not None:
                self.apart.setdefault(op, place)
            self._op(op, place, around)

    def _op(self, op: Op, apart: Loc | None, around: tuple[Op, ...]) -> None:
        if isinstance(op, memory.WriteVar):
            if apart is not None or op.value in self.varying:
                self.variables.add(op.var)
        elif op.terminator:
            if apart is not None:
                self._leave(op, apart, around)
        elif op.REGION_FIELDS:
            self._nested(op, apart, around)
        elif self._is_varying(op):
            self.varying.update(op.results)

    def _is_varying(self, op: Op) -> bool:
        if isinstance(op, memory.ReadVar):
            return op.var in self.variables
        if isinstance(op, _UNIFORM + _SAME_PLACE):
            return False
        if not op.pure or isinstance(op, _VARYING):
            return True
        return any(value in self.varying for value in op.operands())

    def _nested(self, op: Op, apart: Loc | None, around: tuple[Op, ...]) -> None:
        if isinstance(op, control.If):
            if apart is None and op.condition in self.varying:
                apart = op.loc
        else:
            apart = apart or self.split.get(op)
            around = (*around, op)
        for region in op.regions():
            self._region(region, apart, around)

    def _leave(self, op: Op, apart: Loc, around: tuple[Op, ...]) -> None:
        """Some of the threads leave the constructs that an op leaves."""
        if isinstance(op, control.Return | control.Raise):
            self.ended = self.ended or op.loc
            left = around
        else:
            kind = control.ScopeOp if isinstance(op, control.Leave) else control.Loop
            last = max(n for n, item in enumerate(around) if isinstance(item, kind))
            left = around[last:]
        for item in left:
            self.split.setdefault(item, apart)
