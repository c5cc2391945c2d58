"""Which arrays of words a kernel uses atomically: WGSL has another type for those."""

from __future__ import annotations

from gridlane.codegen.clike.emission import Emission
from gridlane.codegen.clike.words import ARRAYS
from gridlane.core.dtypes import DType, b1
from gridlane.ir.op import Op
from gridlane.ir.ops import atomic, control, grid, memory
from gridlane.ir.types import PointerType, Space


def is_atomic(state: Emission, space: Space) -> bool:
    """Whether the kernel uses the array of a space atomically."""
    if "scanned" not in state.uses:
        state.uses.add("scanned")
        for op in state.module.kernel.body.walk():
            state.uses.update(f"atomic {ARRAYS[s]}" for s in _atomic_spaces(state, op))
    return space is not Space.LOCAL and f"atomic {ARRAYS[space]}" in state.uses


def _atomic_spaces(state: Emission, op: Op) -> list[Space]:
    """The spaces that an op uses atomically."""
    if isinstance(op, control.Raise | control.Print):
        return [Space.GLOBAL]
    if isinstance(op, grid.BarrierReduce):
        return [Space.SHARED]
    if isinstance(op, atomic.Atomic | atomic.AtomicCas):
        return [state.spaces.of(op.pointer)]
    if isinstance(op, memory.Load | memory.Store):
        assert isinstance(op.pointer.type, PointerType)
        bytes_ = isinstance(op, memory.Store) and _has_bytes(op)
        return [state.spaces.of(op.pointer)] if op.volatile or bytes_ else []
    return []


def _has_bytes(op: memory.Store) -> bool:
    """Whether a store writes less than words: bools, or a record that is packed."""
    return op.value.type is b1 or not isinstance(op.value.type, DType | PointerType)
