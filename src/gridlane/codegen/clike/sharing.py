"""Finds the arrays of words that a kernel uses atomically: WGSL gives them another type."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gridlane.codegen.clike.emission import Emission
from gridlane.codegen.clike.word_memory import array_of
from gridlane.ir.op import Op
from gridlane.ir.ops import atomic, control, grid, memory
from gridlane.ir.types import PointerType, Space


def is_atomic(state: Emission, space: Space, buffer: int = 0) -> bool:
    """Whether the kernel uses the array of a space, or of a buffer, atomically."""
    if "scanned" not in state.uses:
        state.uses.add("scanned")
        for op in state.module.kernel.body.walk():
            if type(op) in ATOMIC_ARRAYS:
                state.uses.update(f"atomic {name}" for name in ATOMIC_ARRAYS[type(op)](op))
    return space is not Space.LOCAL and f"atomic {array_of(space, buffer)}" in state.uses


def _of_pointer(op: Op) -> Sequence[str]:
    assert isinstance(op, atomic.Atomic | atomic.AtomicCas | memory.Load | memory.Store)
    assert isinstance(op.pointer.type, PointerType)
    return [array_of(op.pointer.type.space, op.pointer.type.buffer)]


def _if_volatile(op: Op) -> Sequence[str]:
    assert isinstance(op, memory.Load | memory.Store)
    return _of_pointer(op) if op.volatile else []


_REPORTING = (control.Raise, control.Report, control.Print)
ATOMIC_ARRAYS: dict[type[Op], Callable[[Op], Sequence[str]]] = {
    **dict.fromkeys(_REPORTING, lambda op: [array_of(Space.GLOBAL)]),
    grid.BarrierReduce: lambda op: [array_of(Space.SHARED)],
    **dict.fromkeys((atomic.Atomic, atomic.AtomicCas), _of_pointer),
    **dict.fromkeys((memory.Load, memory.Store), _if_volatile),
}
"""The names of the arrays that an op uses atomically."""
