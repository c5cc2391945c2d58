"""Repeats the bodies of innermost loops under their condition, which lowers the trip count.

This is for devices that end a thread's loops after a number of iterations; see watch_loops.py. A
copy runs where the loop would have continued, so the test between copies must have no effect and
nothing else may change it: it is computed from variables and from values defined before the loop.
"""

from __future__ import annotations

from gridlane.ir.op import Op, clone_region
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.values import Function, Module, Region, Value
from gridlane.passes.optimise.unroll import trip_count

MOST_COPIES = 16
MOST_OPS = 192
"""The most ops of a body with its copies: drivers take long to compile more."""
SHORT = 32
"""The trip count up to which drivers unroll loops on their own."""

_FREE = (arith.Const, memory.ReadVar, memory.WriteVar)


def repeat_bodies(module: Module) -> None:
    """Repeat the bodies of the kernel's innermost loops, whose calls are inlined."""
    _region(module.kernel, module.kernel.body)


def _region(kernel: Function, region: Region) -> None:
    for number, op in enumerate(region.ops):
        for inner in op.regions():
            _region(kernel, inner)
        if isinstance(op, control.Loop):
            trips = trip_count(op, region.ops[:number])
            if not 0 < trips <= SHORT:
                _repeat(op, trips)


def _repeat(loop: control.Loop, trips: int) -> None:
    """Copy a loop's body, where the loop is suitable. Copies need no test where ``trips`` is known
    (not 0) and they divide it."""
    test_index = _test(loop)
    if test_index is None:
        return
    head, test, rest = (
        loop.body.ops[:test_index],
        loop.body.ops[test_index],
        loop.body.ops[test_index + 1 :],
    )
    assert isinstance(test, control.If)
    work = Region([*rest, *loop.step.ops])
    if any(_stays_alone(op) for op in work.walk()):
        return
    size = sum(not isinstance(op, _FREE) for part in (Region(head), work) for op in part.walk())
    times = min(MOST_COPIES, MOST_OPS // max(1, size))
    even = max((n for n in range(1, times + 1) if trips % n == 0), default=1) if trips else 1
    is_even = 2 * even > times and not any(isinstance(op, control.Break) for op in work.walk())
    copies: list[Op] = []
    for _ in range((even if is_even else times) - 1):
        values: dict[Value, Value] = {}
        again = clone_region(Region(head), values)
        condition = values.get(test.condition, test.condition)
        copy = clone_region(work, values)
        copies += again.ops
        if is_even:
            copies += copy.ops
            continue
        goes_on = arith.Not(condition, loc=test.loc)
        copies += [goes_on, control.If(goes_on.results[0], copy, Region(), loc=test.loc)]
    loop.body.ops += loop.step.ops + copies
    loop.step.ops = []


def _test(loop: control.Loop) -> int | None:
    """The index of a test that starts the body and depends on variables alone, or None."""
    for index, op in enumerate(loop.body.ops):
        if isinstance(op, control.If):
            only_breaks = [type(inner) for inner in op.then.ops] == [control.Break]
            return index if only_breaks and not op.orelse.ops else None
        if not (op.pure or isinstance(op, memory.ReadVar)):
            return None
    return None


def _stays_alone(op: Op) -> bool:
    """Whether a body with this op is not repeated: it has a barrier or cross-lane op, or exits
    other than a break. The ops after a return become the other side of a branch, and llvmpipe
    miscompiles branches nested more than 80 deep."""
    ways = (control.Loop, control.ScopeOp, control.Continue, control.Leave, control.Return)
    return op.barrier or op.cross_lane or isinstance(op, (*ways, control.Raise))
