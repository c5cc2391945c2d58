"""Chooses unroll factors for loops whose trip count is known.

A GPU has registers to spare and pays for every index, so short loops are worth unrolling in full,
as nvcc does. The factor is a hint: code generation keeps the meaning with any factor.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridlane.core.frozen import frozen
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.values import Module, Region, Value, Var

MOST_OPS = 768
"""The most ops of a loop that is unrolled in full."""
MOST_REPEATED_OPS = 512
"""The most ops of a body that does several iterations."""
MOST_ADDED_OPS, MOST_ADDED_TO_LARGE = 16384, 4096
"""The most ops that unrolling adds to a kernel, and to one in which it would add more than that:
what LLVM and the driver's compiler take grows faster than the code."""

_FREE = (arith.Const, memory.ReadVar, memory.WriteVar, control.Break)


def hint_unrolling(module: Module) -> None:
    """Set ``Loop.unroll`` of the innermost loops with a known trip count."""
    for function in module.functions.values():
        loops = list(_loops(function.body))
        share = 1
        if _added(loops, share) > MOST_ADDED_OPS:
            while _added(loops, share) > MOST_ADDED_TO_LARGE:
                share *= 2
        for loop in loops:
            times = loop.times(share)
            loop.op.unroll = times if times > 1 or share > 1 else 0


@frozen
class _Counted:
    """An innermost loop with a known trip count."""

    op: control.Loop
    trips: int
    size: int

    def times(self, share: int) -> int:
        """The trip count, or its largest divisor that is small enough; at least 1. In a kernel of
        many loops ``share`` divides the limits."""
        if self.trips * self.size <= MOST_OPS // share:
            return self.trips
        most = MOST_REPEATED_OPS // share // max(1, self.size)
        return max((n for n in range(1, most + 1) if self.trips % n == 0), default=1)


def _added(loops: list[_Counted], share: int) -> int:
    """The ops that unrolling adds."""
    return sum((loop.times(share) - 1) * loop.size for loop in loops)


def _loops(region: Region) -> Iterator[_Counted]:
    for number, op in enumerate(region.ops):
        for inner in op.regions():
            yield from _loops(inner)
        if isinstance(op, control.Loop) and not op.unroll and _is_innermost(op):
            trips = trip_count(op, region.ops[:number])
            if trips:
                yield _Counted(op, trips, _size(op))


def _is_innermost(loop: control.Loop) -> bool:
    return not any(isinstance(op, control.Loop) for op in loop.body.walk())


def _size(loop: control.Loop) -> int:
    return sum(not isinstance(op, _FREE) for part in loop.regions() for op in part.walk())


def trip_count(loop: control.Loop, before: list[Op]) -> int:
    """The trip count of a loop from a constant to a constant; 0 when it is unknown."""
    test = next((op for op in loop.body.ops if isinstance(op, control.If)), None)
    if test is None or [type(op) for op in test.then.ops] != [control.Break]:
        return 0
    compare = test.condition.op
    if not isinstance(compare, arith.Ge) or not isinstance(compare.lhs.op, memory.ReadVar):
        return 0
    counter, stop = compare.lhs.op.var, _constant(compare.rhs)
    start, step = _start(counter, before), step_of(counter, loop)
    if stop is None or start is None or step <= 0 or _writes(loop.body, counter):
        return 0
    return max(0, -(-(stop - start) // step))


def _constant(value: Value) -> int | None:
    return int(value.op.value) if isinstance(value.op, arith.Const) else None


def _start(counter: Var, before: list[Op]) -> int | None:
    """A variable's value after some ops, when it is a constant."""
    for op in reversed(before):
        if isinstance(op, memory.WriteVar) and op.var is counter:
            return _constant(op.value)
        if any(_writes(region, counter) for region in op.regions()):
            return None
    return None


def step_of(counter: Var, loop: control.Loop) -> int:
    """The constant that the step adds to the counter; 0 where it does something else."""
    writes = [op for op in loop.step.ops if isinstance(op, memory.WriteVar) and op.var is counter]
    added = writes[0].value.op if len(writes) == 1 else None
    if not isinstance(added, arith.Add) or not isinstance(added.lhs.op, memory.ReadVar):
        return 0
    return (_constant(added.rhs) or 0) if added.lhs.op.var is counter else 0


def _writes(region: Region, var: Var) -> bool:
    return any(isinstance(op, memory.WriteVar) and op.var is var for op in region.walk())
