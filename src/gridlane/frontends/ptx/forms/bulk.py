"""Copies of many bytes by one thread: ``cp.async.bulk``, ``cp.reduce.async.bulk``, ``st.async``.
PTX ISA 9.0, "Data Movement and Conversion Instructions: Asynchronous Copy".

The thread copies at once, which an asynchronous copy may do as well; so there is nothing to wait
for in groups.
"""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.dtypes import DType, u16, u32, u64
from gridlane.frontends.ptx.forms.atomics import KINDS
from gridlane.frontends.ptx.forms.mbarrier import publish, transferred
from gridlane.frontends.ptx.forms.table import Match, form, rows
from gridlane.frontends.ptx.operands import Number, Operand
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops.arith import Ne
from gridlane.ir.ops.atomic import Atomic
from gridlane.ir.ops.clusters import ALONE, MbarrierCompletePeer, each_rank, peer
from gridlane.ir.ops.grid import MemoryOrder, MemoryScope
from gridlane.ir.ops.mbarriers import MbarrierComplete
from gridlane.ir.ops.memory import pointer_beside
from gridlane.ir.ops.tensors import BulkCommit, BulkWait
from gridlane.ir.types import Space, VectorType
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]

_HINT = "[.L2::cache_hint]"
_DONE = ".mbarrier::complete_tx::bytes"
_INTO = f".shared::cta .global {_DONE}"
_OUT = ".global .shared::cta .bulk_group"


def _each(t: Values, count: Value, change: Callable[[Value], None]) -> None:
    """Do something for each number below a count."""
    b = t.b
    counter = b.variable("element", u32)
    b.write(counter, b.zero(u32))
    with b.loop():
        number = b.read(counter)
        b.break_if(b.not_(b.lt(number, count)))
        change(number)
        b.write(counter, b.add(number, b.const(1, u32)))


def bytes_of(t: Values, size: Operand) -> Value:
    """The bytes of a copy, a u32."""
    if isinstance(size, Number) and int(size.value) % 16:
        t.fail(f"the bytes of a copy are a multiple of 16, not {size.value}")
    return t.read(size, u32)


def _copy(t: Values, o: Operands, to: Space, source: Space) -> Value:
    """Copy words; the bytes."""
    b, size = t.b, bytes_of(t, o[2])
    target, origin = t.target(o[0], u32, to), t.pointer(o[1], u32, source)
    words = b.div(size, b.const(4, u32))
    _each(t, words, lambda n: b.store(b.offset(target, n), b.load(b.offset(origin, n))))
    return size


@form(f"cp .async .bulk {_INTO} {_HINT}", "a, b, size, bar, policy?")
def copy_in(t: Values, m: Match, o: Operands) -> None:
    """Copy to shared memory, and signal an mbarrier."""
    size = _copy(t, o, Space.SHARED, Space.GLOBAL)
    transferred(t, o[3], size)


@form(f"cp .async .bulk {_INTO} .multicast::cluster {_HINT}", "a, b, size, bar, mask, policy?")
def copy_to_several(t: Values, m: Match, o: Operands) -> None:
    """Copy to the same place in several blocks of the cluster, and signal an mbarrier in each."""
    b, size, blocks = t.b, bytes_of(t, o[2]), t.b.cast(t.read(o[4], u16), u32)
    origin, words = t.pointer(o[1], u32, Space.GLOBAL), b.div(size, b.const(4, u32))
    (target, _), (bar, _) = t.peers(o[0], u32), t.peers(o[3], u64)
    if t.variables.whole.cluster == ALONE:
        with b.if_(b.binary(Ne, blocks, b.const(0, u32))):
            _each(t, words, lambda n: b.store(b.offset(target, n), b.load(b.offset(origin, n))))
            b.emit(MbarrierComplete(bar, size))
        return
    with each_rank(b, blocks) as rank:
        there = peer(b, target, rank)
        _each(t, words, lambda n: b.store(b.offset(there, n), b.load(b.offset(origin, n))))
        publish(t)
        b.emit(MbarrierCompletePeer(bar, rank, size))


@form(f"cp .async .bulk .shared::cta .shared::cta {_DONE} {_HINT}", "a, b, size, bar, policy?")
def copy_to_peer(t: Values, m: Match, o: Operands) -> None:
    """Copy this block's shared memory to that of a block of the cluster, and signal an mbarrier
    there."""
    b, size = t.b, bytes_of(t, o[2])
    words = b.div(size, b.const(4, u32))
    origin, (target, rank) = t.shared(o[1], u32), t.peers(o[0], u32)
    if rank is not None:
        target = peer(b, target, rank)
    _each(t, words, lambda n: b.store(b.offset(target, n), b.load(b.offset(origin, n))))
    transferred(t, o[3], size)


@form(f"cp .async .bulk {_OUT} {_HINT}", "a, b, size, policy?")
def copy_out(t: Values, m: Match, o: Operands) -> None:
    """Copy to global memory."""
    _copy(t, o, Space.GLOBAL, Space.SHARED)


@form(f"cp .reduce .async .bulk {_OUT} {_HINT} .add .u32|s32|u64|f32|f64", "a, b, size, policy?")
@form(f"cp .reduce .async .bulk {_OUT} {_HINT} .min|max .u32|s32|u64|s64", "a, b, size, policy?")
@form(f"cp .reduce .async .bulk {_OUT} {_HINT} .inc|dec .u32", "a, b, size, policy?")
@form(f"cp .reduce .async .bulk {_OUT} {_HINT} .and|or|xor .b32|b64", "a, b, size, policy?")
def reduce_out(t: Values, m: Match, o: Operands) -> None:
    """Change each element of global memory atomically."""
    b, kind, size = t.b, m.type, bytes_of(t, o[2])
    target, origin = t.target(o[0], kind, Space.GLOBAL), t.pointer(o[1], kind, Space.SHARED)
    change = KINDS[m.one_of(*KINDS)]

    def step(number: Value) -> None:
        value, place = b.load(b.offset(origin, number)), b.offset(target, number)
        t.emit(Atomic(change, place, value, MemoryOrder.RELAXED, MemoryScope.DEVICE))

    _each(t, b.div(size, b.const(kind.size, u32)), step)


rows(
    ("cp .async .bulk .commit_group", "", BulkCommit),
    (f"cp .async .bulk .prefetch .L2 .global {_HINT}", "a, size u32, policy? u64", None),
)


@form("cp .async .bulk .wait_group [.read]", "n")
def wait(t: Values, m: Match, o: Operands) -> None:
    """Wait for groups."""
    if not isinstance(o[0], Number) or not 0 <= o[0].value < 1 << 16:
        t.fail("the number of groups that are left is a constant")
    t.b.emit(BulkWait(int(o[0].value), m.has("read")))


_TOLD = "st .async [.weak] .shared::cta .mbarrier::complete_tx::bytes"


@form(f"{_TOLD} [.v2|v4] .b32|u32|s32|f32|b64|u64|s64|f64", "a, b, bar")
def store(t: Values, m: Match, o: Operands) -> None:
    """Write memory, and signal an mbarrier."""
    kind: DType = m.type
    count = int((m.one_of("v2", "v4") or "v1")[1:])
    sources = t.parts(o[1], count) if count > 1 else (o[1],)
    element = kind if count == 1 else VectorType(kind, count)
    target = t.target(o[0], element, Space.SHARED)
    target = t.b.recast(target, pointer_beside(target, kind))
    for number, part in enumerate(sources):
        t.b.store(t.b.offset(target, t.b.const(number, u32)), t.read(part, kind))
    transferred(t, o[2], t.b.const(kind.size * count, u32))


_CHANGED = "red .async [.relaxed] [.cluster] .shared::cta .mbarrier::complete_tx::bytes"


@form(f"{_CHANGED} .inc|dec .u32", "a, b, bar")
@form(f"{_CHANGED} .min|max .u32|s32", "a, b, bar")
@form(f"{_CHANGED} .and|or|xor .b32", "a, b, bar")
@form(f"{_CHANGED} .add .u32|s32|u64", "a, b, bar")
def reduce_there(t: Values, m: Match, o: Operands) -> None:
    """Change memory atomically, and signal an mbarrier."""
    value, target = t.read(o[1], m.type), t.target(o[0], m.type, Space.SHARED)
    change = KINDS[m.one_of(*KINDS)]
    t.emit(Atomic(change, target, value, MemoryOrder.RELAXED, MemoryScope.DEVICE))
    transferred(t, o[2], t.b.const(m.type.size, u32))
