"""Which values and which ops are the same for all threads of a block.

A value is uniform when every thread of a block has the same, an op when all threads of the block
run it or none. What is read from memory, and what depends on the thread, is varying. Early exits
under a varying condition make varying what they jump over: the rest of the loop for a break, of the
scope for a leave, of the kernel for a return.
"""

from __future__ import annotations

from gridlane.ir.op import Op
from gridlane.ir.ops import atomic, control, grid, memory, warp
from gridlane.ir.values import Function, Region, Value, Var

_VARYING = frozenset((
    grid.ThreadIdx, grid.LaneId, memory.Load, memory.LocalArray, atomic.Atomic,
    atomic.AtomicCas, warp.Shuffle, warp.Vote, warp.MatchAny, warp.MatchAll,
    warp.ActiveMask, warp.WarpReduce,
))  # fmt: skip
"""Results that differ from thread to thread whatever the operands are."""
_EXITS = (control.Break, control.Continue, control.Leave, control.Return, control.Raise)


class Uniformity:
    """The analysis of a kernel without calls."""

    def __init__(self, kernel: Function) -> None:
        self._varying: set[Value | Var] = set()
        self.divergent: set[Op] = set()
        """Ops that some threads of a block may run without the others."""
        self.lost: dict[Op, Op] = {}
        """Of those, the ops before which a thread may have ended, with where that is."""
        self.exits: dict[Op, list[Op]] = {}
        _find_exits(kernel.body, self.exits)
        size = -1
        while size != (size := len(self._varying) + len(self.divergent)):
            _Walk(self, kernel.body)

    def uniform(self, value: Value) -> bool:
        """Whether a value is the same for all threads of a block."""
        return value not in self._varying

    def mark(self, item: Value | Var) -> None:
        """A value or variable is varying."""
        self._varying.add(item)

    def is_varying(self, op: Op) -> bool:
        """Whether the results of an op are."""
        if isinstance(op, grid.BarrierReduce):
            return False
        if type(op) in _VARYING or op in self.divergent:
            return True
        if isinstance(op, memory.ReadVar):
            return op.var in self._varying
        return any(value in self._varying for value in op.operands())


class _Walk:
    """One walk through a kernel, which adds to what is known to be varying."""

    def __init__(self, known: Uniformity, body: Region) -> None:
        self.known = known
        self.ended: Op | None = None
        self.region(body, False)

    def region(self, region: Region, divergent: bool) -> None:
        for op in region.ops:
            if self.ended is not None:
                self.known.lost.setdefault(op, self.ended)
                divergent = True
            if divergent:
                self.known.divergent.add(op)
            self.op(op, divergent)
            # Behind a branch whose sides are left early, the threads are no longer together.
            if not divergent and not self.known.divergent.isdisjoint(self.known.exits.get(op, ())):
                divergent = True

    def op(self, op: Op, divergent: bool) -> None:
        """One op, and those in it."""
        known = self.known
        if isinstance(op, control.Return | control.Raise) and divergent:
            self.ended = self.ended or op
        if isinstance(op, memory.WriteVar) and (divergent or not known.uniform(op.value)):
            known.mark(op.var)
        if op.results and known.is_varying(op):
            for value in op.results:
                known.mark(value)
        inside = divergent
        if isinstance(op, control.If):
            inside = divergent or not known.uniform(op.condition)
        if isinstance(op, control.Loop):
            self.loop(op, inside)
            return
        for region in op.regions():
            self.region(region, inside)

    def loop(self, op: control.Loop, divergent: bool) -> None:
        """Threads that leave a loop in different iterations are apart in all of it."""
        known = self.known
        every = [e for inner in op.body for e in known.exits.get(inner, ())]
        exits = [e for e in every if e in known.divergent]
        ends = (e for e in exits if isinstance(e, control.Return | control.Raise))
        self.ended = self.ended or next(ends, None)
        divergent = divergent or bool(exits)
        self.region(op.body, divergent)
        self.region(op.step, divergent)


_CAUGHT: dict[type[Op], tuple[type[Op], ...]] = {
    control.Loop: (control.Break, control.Continue),
    control.ScopeOp: (control.Break, control.Continue, control.Leave),
}
"""The exits that go no further than the op that they are in."""


def _find_exits(region: Region, found: dict[Op, list[Op]]) -> list[Op]:
    """The exits inside of a region, and in ``found`` for each op that has some those that go behind
    what follows it in its region."""
    every: list[Op] = []
    for op in region.ops:
        own: list[Op] = [op] if isinstance(op, _EXITS) else []
        for name in op.REGION_FIELDS:
            inner = _find_exits(getattr(op, name), found)
            # A loop's step has none.
            own += [e for e in inner if not isinstance(e, _CAUGHT.get(type(op), ()))]
        if own:
            found[op] = own
            every += own
    return every
