"""Finds the arrays of words that a kernel uses atomically: WGSL gives them another type."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gridlane.codegen.clike.emission import Emission
from gridlane.codegen.clike.words import ARRAYS
from gridlane.ir.op import Op
from gridlane.ir.ops import atomic, control, grid, memory
from gridlane.ir.ops.memory import space_of
from gridlane.ir.types import Space


def is_atomic(state: Emission, space: Space) -> bool:
    """Whether the kernel uses the array of a space atomically."""
    if "scanned" not in state.uses:
        state.uses.add("scanned")
        for op in state.module.kernel.body.walk():
            if type(op) in ATOMIC_SPACES:
                state.uses.update(f"atomic {ARRAYS[s]}" for s in ATOMIC_SPACES[type(op)](op))
    return space is not Space.LOCAL and f"atomic {ARRAYS[space]}" in state.uses


def _of_pointer(op: Op) -> Sequence[Space]:
    assert isinstance(op, atomic.Atomic | atomic.AtomicCas | memory.Load | memory.Store)
    return [space_of(op.pointer)]


def _if_volatile(op: Op) -> Sequence[Space]:
    assert isinstance(op, memory.Load | memory.Store)
    return [space_of(op.pointer)] if op.volatile else []


ATOMIC_SPACES: dict[type[Op], Callable[[Op], Sequence[Space]]] = {
    **dict.fromkeys((control.Raise, control.Report, control.Print), lambda op: [Space.GLOBAL]),
    grid.BarrierReduce: lambda op: [Space.SHARED],
    **dict.fromkeys((atomic.Atomic, atomic.AtomicCas), _of_pointer),
    **dict.fromkeys((memory.Load, memory.Store), _if_volatile),
}
"""The spaces that an op uses atomically."""
