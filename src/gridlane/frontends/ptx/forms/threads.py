"""Barriers, fences and warps. PTX ISA 9.0, "Parallel Synchronization and Communication"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from gridlane.core.dtypes import b1, i32, u32, u64
from gridlane.frontends.ptx.forms.functions import MEETING, function
from gridlane.frontends.ptx.forms.memory import SCOPES
from gridlane.frontends.ptx.forms.table import Match, form, rows
from gridlane.frontends.ptx.operands import Number, Operand
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops import arith
from gridlane.ir.ops.grid import (
    Axis,
    Barrier,
    BarrierArrive,
    BarrierPart,
    BarrierReduce,
    BlockDim,
    Fence,
    GridSync,
    MemoryOrder,
    MemoryScope,
    Reduction,
    SyncWarp,
)
from gridlane.ir.ops.tensors import ProxyFence
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]


def _number(t: Values, operand: Operand) -> Value:
    if isinstance(operand, Number) and not 0 <= operand.value < 16:
        t.fail(f"a block has barriers 0 to 15, not {operand.value}")
    return t.read(operand, u32)


def _part(t: Values, number: Operand, count: Operand) -> tuple[Value, Value]:
    """The number of a barrier, and of its threads."""
    if isinstance(count, Number) and (count.value <= 0 or int(count.value) % 32):
        t.fail(f"the number of threads is a multiple of 32, not {count.value}")
    return _number(t, number), t.read(count, u32)


def _is_aligned(m: Match) -> bool:
    return m.form.root == "bar" or m.has("aligned")


@form("bar [.cta] .sync", "a, b?")
@form("barrier [.cta] .sync [.aligned]", "a, b?")
def barrier(t: Values, m: Match, o: Operands) -> None:
    """Wait for the block, or for some threads of it."""
    false = t.b.const(False, b1)
    if len(o) == 2:
        t.b.emit(BarrierPart(Reduction.NONE, *_part(t, *o), false, _is_aligned(m)))
        return
    number = _number(t, o[0])
    if _may_arrive(t, o[0]):
        t.b.emit(BarrierPart(Reduction.NONE, number, _all(t), false, _is_aligned(m)))
        return
    t.b.emit(Barrier())  # all threads of the block wait at it, whatever its number is


_ARRIVALS = re.compile(r"\bbar(?:rier)?(?:\.cta)?\.arrive(?:\.aligned)?\s+([^\s,;]+)")


@lru_cache(maxsize=8)
def _arrivals(code: str) -> frozenset[str]:
    return frozenset(_ARRIVALS.findall(code))


def _may_arrive(t: Values, number: Operand) -> bool:
    """Whether some threads may arrive at a barrier of the whole block without waiting. Where
    registers hold numbers, the barrier 0 is taken to be the usual one, at which all wait."""
    arrivals = _arrivals(t.text.code)
    if not arrivals or not isinstance(number, Number):
        return bool(arrivals)
    others = any(not each.isdigit() for each in arrivals) and number.value != 0
    return others or str(number.value) in arrivals


def _all(t: Values) -> Value:
    """The threads of the block, in whole warps."""
    b = t.b
    x, y, z = (b.cast(b.value(BlockDim(axis)), u32) for axis in Axis)
    threads = b.add(b.mul(x, b.mul(y, z)), b.const(31, u32))
    return b.and_(threads, b.const(~31 & u32.max, u32))


@form("pmevent [.mask]", "a")
def event(t: Values, m: Match, o: Operands) -> None:
    """A counter of a profiler, of which no result depends."""
    most = 0xFFFF if m.has("mask") else 15
    if not isinstance(o[0], Number) or o[0].is_float or not 0 <= o[0].value <= most:
        t.fail(f"an event is a constant of 0 to {most}")


@form("bar [.cta] .arrive", "a, b")
@form("barrier [.cta] .arrive [.aligned]", "a, b")
def arrive(t: Values, m: Match, o: Operands) -> None:
    """Arrive at a barrier, without waiting."""
    t.b.emit(BarrierArrive(*_part(t, *o), _is_aligned(m)))


def _reduced(t: Values, m: Match, kind: Reduction, o: Operands) -> Value:
    """The reduction of a predicate at a barrier."""
    predicate = t.read(o[-1], b1)
    if len(o) == 4:
        return t.emit(BarrierPart(kind, *_part(t, o[1], o[2]), predicate, _is_aligned(m)))
    _number(t, o[1])
    return t.emit(BarrierReduce(kind, predicate))


@form("bar [.cta] .red .popc .u32", "d, a, p")
@form("bar [.cta] .red .popc .u32", "d, a, b, p")
@form("barrier [.cta] .red .popc [.aligned] .u32", "d, a, p")
@form("barrier [.cta] .red .popc [.aligned] .u32", "d, a, b, p")
def barrier_count(t: Values, m: Match, o: Operands) -> None:
    """Wait, and count."""
    t.write(o[0], t.b.cast(_reduced(t, m, Reduction.COUNT, o), u32))


@form("bar [.cta] .red .and|or .pred", "d, a, p")
@form("bar [.cta] .red .and|or .pred", "d, a, b, p")
@form("barrier [.cta] .red .and|or [.aligned] .pred", "d, a, p")
@form("barrier [.cta] .red .and|or [.aligned] .pred", "d, a, b, p")
def barrier_vote(t: Values, m: Match, o: Operands) -> None:
    """Wait, and return whether all or any predicates are true."""
    reduced = _reduced(t, m, Reduction.ALL if m.has("and") else Reduction.ANY, o)
    t.write(o[0], t.b.binary(arith.Ne, reduced, t.b.const(0, i32)))


rows(
    ("bar .warp .sync", "a u32", SyncWarp),
    # There is one way to memory here, and descriptions of tensors are memory like any other.
    ("membar .proxy .alias", "", None),
    ("fence .proxy .alias", "", None),
    ("fence .proxy .tensormap::generic .release .cta|cluster|gpu|sys", "", None),
    ("fence .proxy .tensormap::generic .acquire .cta|cluster|gpu|sys", "a, size u32", None),
    # No result depends on a pause.
    ("nanosleep .u32", "a u32", None),
)


@form("membar .cta|gl|sys")
@form("fence [.sc|acq_rel|acquire|release] .cta|cluster|gpu|sys")
def fence(t: Values, m: Match, o: Operands) -> None:
    """Order memory."""
    scope = MemoryScope.DEVICE if m.has("gl") else SCOPES[m.one_of(*SCOPES)]
    orders = {"acq_rel": MemoryOrder.ACQ_REL, "acquire": MemoryOrder.ACQUIRE}
    orders["release"] = MemoryOrder.RELEASE
    order = orders.get(m.one_of(*orders), MemoryOrder.SEQ_CST)
    t.b.emit(Fence(scope, order))


@form("fence .proxy .async")
@form("fence .proxy .async .global|shared::cta")
def fence_of_copies(t: Values, m: Match, o: Operands) -> None:
    """Order a thread's accesses before asynchronous ones."""
    t.b.emit(ProxyFence(m.has("shared::cta")))


@form("fence .mbarrier_init .release .cluster")
@form("fence .acquire|release .sync_restrict::shared::cta .cluster")
def fence_of_some(t: Values, m: Match, o: Operands) -> None:
    """Order some of the accesses; this orders all."""
    t.b.emit(Fence(MemoryScope.DEVICE, MemoryOrder.SEQ_CST))


@form("brkpt")
def breakpoint_(t: Values, m: Match, o: Operands) -> None:
    """Do nothing: there is no debugger."""
    t.raise_("RuntimeError", "the kernel has reached a breakpoint, and no debugger is attached")


@function("cudaCGSynchronizeGrid")
def grid_sync(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """The barrier of cooperative groups, called by CUDA's library function."""
    t.b.emit(GridSync())
    return [t.b.const(0, u32)]


@function(MEETING)
def meet_grid(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """The barrier of whole programs; see ``MEETING``."""
    t.b.emit(GridSync())
    return []


_OF_GRIDS = 1
"""cudaCGScopeGrid, and the handle of the grid."""


@function("cudaCGGetIntrinsicHandle")
def group_handle(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """The handle of a group that a launch has: its grid. Of the others there is none."""
    is_grid = t.b.eq(arguments[0], t.b.const(_OF_GRIDS, u32))
    return [t.b.select(is_grid, t.b.const(_OF_GRIDS, u64), t.b.const(0, u64))]


@function("cudaCGSynchronize")
def group_sync(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """The barrier of a group by its handle."""
    is_grid = t.b.eq(arguments[0], t.b.const(_OF_GRIDS, u64))
    with t.b.if_(t.b.not_(is_grid)):
        t.raise_("RuntimeError", "cudaCGSynchronize has the handle of no grid")
    t.b.emit(GridSync())
    return [t.b.const(0, u32)]
