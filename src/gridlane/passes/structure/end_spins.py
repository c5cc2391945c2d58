"""Ends threads that wait in a spin loop for what no thread will do.

Blocks that run one after the other cannot wait for a later one. A thread that has waited for
GRIDLANE_SPIN_LIMIT seconds reports an error in place of a launch that never ends; from then on
the others do not wait at all.
"""

from __future__ import annotations

from gridlane.core.config import config
from gridlane.core.dtypes import i32, u64
from gridlane.ir.builder import Builder
from gridlane.ir.ops import arith, control
from gridlane.ir.ops.grid import Machine, Reading
from gridlane.ir.values import ErrorSite, Module, Region
from gridlane.passes.structure.release_first import is_spin

_BETWEEN = 1 << 6
"""Iterations between two looks at the clock."""


def end_spins(module: Module) -> None:
    """Give the spin loops of a module's functions a limit of time."""
    limit = config().spin_nanoseconds
    if not limit:
        return
    for function in module.functions.values():
        if any(is_spin(op, of_warps=True) for op in function.body.walk()):
            _Limits(module, Builder(module, function), limit).region(function.body)


class _Limits:
    def __init__(self, module: Module, builder: Builder, limit: int) -> None:
        self.module, self.builder, self.limit = module, builder, limit

    def region(self, region: Region) -> None:
        """Limit the spin loops in a region."""
        for loop in list(region.ops):
            for inner in loop.regions():
                self.region(inner)
            if isinstance(loop, control.Loop) and is_spin(loop, of_warps=True):
                self._limit(region, loop)

    def _limit(self, region: Region, loop: control.Loop) -> None:
        b = self.builder
        b.loc = loop.loc or next((op.loc for op in loop.body.walk() if op.loc), None)
        rounds, since = b.variable("rounds", i32), b.variable("since", u64)
        with b.inside(Region()) as before:
            b.write(rounds, b.const(0, i32))
            b.write(since, b.const(0, u64))
        with b.inside(Region()) as top:
            count = b.add(b.read(rounds), b.const(1, i32))
            b.write(rounds, count)
            low = b.and_(count, b.const(_BETWEEN - 1, i32))
            with b.if_(b.eq(low, b.const(0, i32))):
                now, start = b.value(Machine(Reading.NANOSECONDS)), b.read(since)
                first = b.eq(start, b.const(0, u64))
                b.write(since, b.select(first, now, start))
                long = b.value(arith.Gt(b.sub(now, start), b.const(self.limit, u64)))
                failed = b.value(arith.Ne(b.value(Machine(Reading.ERRORS)), b.const(0, u64)))
                with b.if_(b.or_(failed, b.and_(b.not_(first), long))):
                    b.emit(control.Raise(self._error()))
        loop.body.ops[:0] = top.ops
        at = region.ops.index(loop)
        region.ops[at:at] = before.ops

    def _error(self) -> int:
        told = (
            f"a thread has waited in this loop for {self.limit / 1e9:g} s for what another one "
            "does. Blocks run in order here, as many at once as there are worker threads, so none "
            "may wait for a later one; GRIDLANE_SPIN_LIMIT sets the seconds, 0 for ever"
        )
        self.module.errors.append(ErrorSite("RuntimeError", told, self.builder.loc))
        return len(self.module.errors) - 1
