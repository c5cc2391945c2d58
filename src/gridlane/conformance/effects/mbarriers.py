"""Cases of mbarriers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gridlane.conformance.cases import Case
from gridlane.conformance.effects.making import THREADS, case, out
from gridlane.conformance.kernels import Kernel
from gridlane.core.dtypes import b1, i32, u32, u64
from gridlane.ir.ops import grid, mbarriers
from gridlane.ir.values import Value

NAMES = ("init", "arrive", "expect", "complete", "passed", "pending")


def mbarriers_of_a_block() -> Iterator[Case]:
    """Phases of a barrier, by threads, warps and bytes."""
    for name in NAMES:
        yield case(f"mbarrier_{name}", "", _phases)
    yield case("mbarrier_arrive", "dropped", _dropped)


def _begun(kernel: Kernel, count: int) -> tuple[Value, Value]:
    """A barrier, and whether the thread is the block's first."""
    b = kernel.builder
    place = kernel.shared("bar", u64, 1, 8)
    first = b.eq(kernel.local, b.const(0, i32))
    with b.if_(first):
        b.emit(mbarriers.MbarrierInit(place, b.const(count, u32)))
    b.emit(grid.Barrier())
    return place, first


def _phases(kernel: Kernel) -> list[np.ndarray]:
    """All threads arrive, of which one expects bytes in two parts; then all arrive again."""
    b = kernel.builder
    place, first = _begun(kernel, THREADS)
    none, one = b.const(0, u32), b.const(1, u32)
    with b.if_(first):
        b.emit(mbarriers.MbarrierExpect(place, b.const(32, u32)))
    passed: list[Value] = []

    def look(waits: bool = False) -> None:
        """``waits``: the thread may wait for the phase of parity 1, which is complete. On a GPU a
        wait may still go on behind the barrier: that for another phase has no certain answer."""
        b.emit(grid.Barrier())
        passed.extend(
            b.value(mbarriers.MbarrierPassed(place, b.const(n, u32), True, waits and n == 1))
            for n in (0, 1)
        )
        b.emit(grid.Barrier())

    look(waits=True)
    with b.if_(b.not_(first)):
        b.emit(mbarriers.MbarrierArrive(place, one, none))
    look()
    with b.if_(first):
        b.emit(mbarriers.MbarrierArrive(place, one, b.const(16, u32), True))
        b.emit(mbarriers.MbarrierComplete(place, b.const(16, u32)))
    look()
    with b.if_(first):
        b.emit(mbarriers.MbarrierComplete(place, b.const(32, u32)))
    look()
    state = b.value(mbarriers.MbarrierArrive(place, one, none))
    some = b.value(mbarriers.MbarrierPending(state))
    look(waits=True)
    passed.append(b.value(mbarriers.MbarrierPassed(place, state)))
    passed.append(b.lt(some, b.const(THREADS + 1, u32)))
    passed.append(b.eq(some, none))
    for value in passed:
        kernel.store(value)
    return [out(b1) for _ in passed]


def _dropped(kernel: Kernel) -> list[np.ndarray]:
    """A thread leaves the barrier: the second phase waits for the others alone."""
    b = kernel.builder
    place, first = _begun(kernel, THREADS)
    none, one = b.const(0, u32), b.const(1, u32)
    with b.if_(first) as branch:
        b.emit(mbarriers.MbarrierArrive(place, one, none, drops=True))
        with b.inside(branch.orelse):
            b.emit(mbarriers.MbarrierArrive(place, one, none))
    b.emit(grid.Barrier())
    with b.if_(b.not_(first)):
        b.emit(mbarriers.MbarrierArrive(place, one, none))
    b.emit(grid.Barrier())
    for parity in (0, 1):
        state = b.const(parity, u32)
        kernel.store(b.value(mbarriers.MbarrierPassed(place, state, True)))
    return [out(b1), out(b1)]
