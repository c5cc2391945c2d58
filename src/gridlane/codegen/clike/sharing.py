"""Which arrays of words a kernel uses atomically: WGSL has another type for those."""

from __future__ import annotations

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
            state.uses.update(f"atomic {ARRAYS[s]}" for s in _atomic_spaces(op))
    return space is not Space.LOCAL and f"atomic {ARRAYS[space]}" in state.uses


def _atomic_spaces(op: Op) -> list[Space]:
    """The spaces that an op uses atomically."""
    if isinstance(op, control.Raise | control.Report | control.Print):
        return [Space.GLOBAL]
    if isinstance(op, grid.BarrierReduce):
        return [Space.SHARED]
    if isinstance(op, atomic.Atomic | atomic.AtomicCas):
        return [space_of(op.pointer)]
    if isinstance(op, memory.Load | memory.Store):
        return [space_of(op.pointer)] if op.volatile else []
    return []
