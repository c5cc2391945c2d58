"""Atomics and fences with their scopes.

Every atomic is relaxed, and fences around it define its order: that is valid on every GPU, and LLVM
drops the order of atomics for some. A target whose atomics need more has its own emitters.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from gridlane.codegen.llvm.atomics import (
    ORDERS,
    as_bits,
    combine,
    compare_and_swap,
    from_bits,
    modify,
)
from gridlane.codegen.llvm.gpu.emission import Emission, emits
from gridlane.codegen.llvm.gpu.trace import traced
from gridlane.codegen.llvm.text import scalar_name
from gridlane.core.dtypes import DType
from gridlane.ir.ops import grid
from gridlane.ir.ops.atomic import Atomic, AtomicCas, AtomicCasPair
from gridlane.ir.ops.grid import MemoryOrder
from gridlane.ir.ops.memory import space_of
from gridlane.ir.types import Space

_RELEASES = (MemoryOrder.RELEASE, MemoryOrder.ACQ_REL, MemoryOrder.SEQ_CST)
_ACQUIRES = (MemoryOrder.ACQUIRE, MemoryOrder.ACQ_REL, MemoryOrder.SEQ_CST)


@contextmanager
def ordered(state: Emission, op: Atomic | AtomicCas | AtomicCasPair) -> Generator[None]:
    """Emit a relaxed atomic between the fences that define its order."""
    scope = state.overlay.scopes[op.scope]
    with traced(state, op, op.pointer):
        if op.order in _RELEASES:
            strength = "seq_cst" if op.order is MemoryOrder.SEQ_CST else "acq_rel"
            state.body.do(f"fence {scope}{strength}")
        yield
        if op.order in _ACQUIRES:
            state.body.do(f"fence {scope}acq_rel")


def is_own(op: Atomic | AtomicCas | AtomicCasPair) -> bool:
    """Whether an atomic is on the thread's own memory, for which GPUs have no atomics: LLVM lowers
    them only where it optimises, and no other thread can intervene."""
    return space_of(op.pointer) is Space.LOCAL


@emits(Atomic)
def atomic(state: Emission, op: Atomic) -> None:
    """Emit a read-modify-write; the target's assembler drops an unused result."""
    with ordered(state, op):
        old = update(state, op)
    state.set(op.results[0], old)


def update(state: Emission, op: Atomic) -> str:
    """Emit the relaxed atomic alone; the old value."""
    type_, scope = op.value.type, state.overlay.atomic_scopes[op.scope]
    assert isinstance(type_, DType)
    pointer, value = state.typed(op.pointer), state.name(op.value)
    if is_own(op):
        name = scalar_name(type_)
        old = state.body.op(f"load {name}, {pointer}, align {type_.align}")
        new = combine(state.body, op.kind, type_, old, value)
        state.body.do(f"store {name} {new}, {pointer}, align {type_.align}")
        return old
    return modify(state.body, op.kind, type_, pointer, value, "monotonic", scope)


@emits(AtomicCas)
def cas(state: Emission, op: AtomicCas) -> None:
    """Emit a compare and swap on the bits."""
    with ordered(state, op):
        old = swap(state, op)
    state.set(op.results[0], old)


def swap(state: Emission, op: AtomicCas) -> str:
    """Emit the relaxed compare and swap alone; the old value."""
    type_, scope = op.desired.type, state.overlay.atomic_scopes[op.scope]
    assert isinstance(type_, DType)
    pointer, values = state.typed(op.pointer), (state.name(op.expected), state.name(op.desired))
    if is_own(op):
        bits = f"i{type_.bits}"
        expected, desired = (as_bits(state.body, value, type_) for value in values)
        old = state.body.op(f"load {bits}, {pointer}, align {type_.align}")
        same = state.body.op(f"icmp eq {bits} {old}, {expected}")
        new = state.body.op(f"select i1 {same}, {bits} {desired}, {bits} {old}")
        state.body.do(f"store {bits} {new}, {pointer}, align {type_.align}")
        return from_bits(state.body, old, type_)
    return compare_and_swap(state.body, type_, pointer, *values, "monotonic", scope)


@emits(grid.Fence)
def fence(state: Emission, op: grid.Fence) -> None:
    """Emit a fence; a relaxed one orders nothing."""
    if op.order is not MemoryOrder.RELAXED:
        state.body.do(f"fence {state.overlay.scopes[op.scope]}{ORDERS[op.order]}")
