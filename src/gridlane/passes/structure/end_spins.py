"""Ends threads that wait in a spin loop for what no thread will do.

Blocks that run one after the other cannot wait for a later one, and where two sides of a branch
wait for each other a GPU may run one of them for ever. A thread that has waited for
GRIDLANE_SPIN_LIMIT seconds reports an error in place of a launch that never ends; where there is a
clock the others do not wait at all from then on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from gridlane.core.config import config
from gridlane.core.dtypes import i32, u32, u64
from gridlane.ir.builder import Builder
from gridlane.ir.ops import arith, control
from gridlane.ir.ops.grid import Machine, Reading
from gridlane.ir.values import ErrorSite, Module, Region
from gridlane.passes.structure.release_first import is_spin

_BETWEEN = 1 << 6
"""Iterations between two looks at the clock."""
_FOR_EVER = 1 << 62
"""Nanoseconds. The error stays: by it the CPU knows the kernels that may wait for the host."""
_ROUND = 300
"""Nanoseconds of an iteration where there is no clock: what a GPU takes for an atomic at least."""


def end_spins(module: Module) -> None:
    """Limit the time of spin loops, by a clock."""
    _limit_all(module, _ByClock, config().spin_nanoseconds or _FOR_EVER)


def count_spins(module: Module) -> None:
    """Limit the iterations of spin loops, to about that time, on devices without a clock."""
    limit = config().spin_nanoseconds
    if limit:
        _limit_all(module, _ByCount, limit)


def _limit_all(module: Module, kind: type[_Limits], limit: int) -> None:
    for function in module.functions.values():
        if any(is_spin(op, of_warps=True) for op in function.body.walk()):
            kind(module, Builder(module, function), limit).region(function.body)


class _Limits(ABC):
    def __init__(self, module: Module, builder: Builder, limit: int) -> None:
        self.module, self.builder, self.limit = module, builder, limit

    def region(self, region: Region) -> None:
        """Limit the spin loops in a region."""
        for loop in list(region.ops):
            for inner in loop.regions():
                self.region(inner)
            if isinstance(loop, control.Loop) and is_spin(loop, of_warps=True):
                b = self.builder
                b.loc = loop.loc or next((op.loc for op in loop.body.walk() if op.loc), None)
                before, top = self.parts()
                loop.body.ops[:0] = top.ops
                index = region.ops.index(loop)
                region.ops[index:index] = before.ops

    @abstractmethod
    def parts(self) -> tuple[Region, Region]:
        """The ops in front of a loop, and those at the start of its body."""

    def error(self, why: str) -> int:
        """The error of a thread that has waited too long."""
        message = (
            f"a thread has waited in this loop for {self.limit / 1e9:g} s for what another one "
            f"does. {why}; GRIDLANE_SPIN_LIMIT sets the seconds, 0 for ever"
        )
        self.module.errors.append(ErrorSite("RuntimeError", message, self.builder.loc))
        return len(self.module.errors) - 1


class _ByClock(_Limits):
    def parts(self) -> tuple[Region, Region]:
        b = self.builder
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
                    why = (
                        "Blocks run in order here, as many at once as there are worker threads, so "
                        "none may wait for a later one"
                    )
                    b.emit(control.Raise(self.error(why)))
        return before, top


class _ByCount(_Limits):
    def parts(self) -> tuple[Region, Region]:
        b, most = self.builder, min(max(self.limit // _ROUND, 1), u32.max)
        rounds = b.variable("rounds", u32)
        with b.inside(Region()) as before:
            b.write(rounds, b.const(0, u32))
        with b.inside(Region()) as top:
            count = b.add(b.read(rounds), b.const(1, u32))
            b.write(rounds, count)
            with b.if_(b.value(arith.Gt(count, b.const(most, u32)))):
                why = "Two sides of a branch cannot wait for each other here, nor blocks"
                b.emit(control.Raise(self.error(why)))
        return before, top
