"""Atomic read-modify-write: native where the language has it, else a compare-and-swap loop on the
32-bit word that holds the scalar."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from gridlane.codegen.clike.emission import Emission, Place, emits
from gridlane.codegen.clike.floats import bits_of, from_bits
from gridlane.codegen.clike.memory import alignment, place_of
from gridlane.codegen.clike.rounding import hidden_bits
from gridlane.codegen.clike.scalars import combined
from gridlane.core.dtypes import DType, b1, u32
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, atomic
from gridlane.ir.ops.grid import Fence, MemoryOrder
from gridlane.ir.types import Space

Kind = atomic.AtomicKind
Orders = frozenset[MemoryOrder]

_ARITH: dict[Kind, type[Op]] = {
    Kind.ADD: arith.Add,
    Kind.SUB: arith.Sub,
    Kind.AND: arith.And,
    Kind.OR: arith.Or,
    Kind.XOR: arith.Xor,
    Kind.NANMIN: arith.Min,
    Kind.NANMAX: arith.Max,
}


@emits(atomic.Atomic)
def read_modify_write(state: Emission, op: atomic.Atomic) -> None:
    """Emit an atomic with an operand."""
    dtype, place, value = _scalar(op), place_of(state, op.pointer), state.name(op.value)
    _ordered(state, op, _BEFORE)
    if place.space is Space.LOCAL:
        old = state.let(dtype, state.dialect.load(state, place, dtype))
        state.dialect.store(state, place, dtype, _next(state, op.kind, dtype, old, value))
    else:
        _require(state, op, dtype)
        native = state.dialect.atomic(state, place, dtype, op.kind.value, value)
        if native:
            old = state.let(dtype, native)
        else:
            old = _in_a_loop(state, op.kind, dtype, place, value)
    state.set(op.results[0], old)
    _ordered(state, op, _AFTER)


@emits(atomic.AtomicCas)
def compare_and_swap(state: Emission, op: atomic.AtomicCas) -> None:
    """Emit a compare-and-swap, which compares bit for bit."""
    dtype, place = _scalar(op), place_of(state, op.pointer)
    raw = dtype.unsigned
    wanted = state.let(raw, bits_of(state, dtype, state.name(op.expected)))
    desired = state.let(raw, bits_of(state, dtype, state.name(op.desired)))
    _ordered(state, op, _BEFORE)
    if place.space is Space.LOCAL:
        current = state.let(raw, bits_of(state, dtype, state.dialect.load(state, place, dtype)))
        with state.block_of(f"if ({current} == {wanted}) {{"):
            state.dialect.store(state, place, raw, desired)
    else:
        _require(state, op, dtype)
        current = state.variable(state.dialect.types[raw], state.literal(0, raw))
        word = _Word(state, place, dtype)
        with word.attempts() as (seen, old):
            state.line(f"{current} = {old};")
            with state.block_of(f"if ({old} != {wanted}) {{"):
                state.line("break;")
            word.replace(seen, desired)
    state.give(op.results[0], from_bits(state, dtype, current))
    _ordered(state, op, _AFTER)


def _scalar(op: atomic.Atomic | atomic.AtomicCas) -> DType:
    dtype = op.results[0].type
    assert isinstance(dtype, DType)
    return dtype


def _require(state: Emission, op: atomic.Atomic | atomic.AtomicCas, dtype: DType) -> None:
    """Refuse a scalar that is wider than the hardware's word, or may straddle two words."""
    if dtype.bits == 64:
        raise state.refuse(op, f"its atomics have 32 bits and {dtype} has 64; use two of 32")
    if alignment(op.pointer) < dtype.size:
        raise state.refuse(op, "the field of a packed record may straddle two words")


def _in_a_loop(state: Emission, kind: Kind, dtype: DType, place: Place, value: str) -> str:
    """Retry until no other thread intervened; the old value."""
    raw = dtype.unsigned
    variable = state.variable(state.dialect.types[dtype], state.zero(dtype))
    word = _Word(state, place, dtype)
    with word.attempts() as (seen, old):
        state.line(f"{variable} = {from_bits(state, dtype, old)};")
        following = state.let(dtype, _next(state, kind, dtype, variable, value))
        word.replace(seen, state.let(raw, bits_of(state, dtype, following)))
    return state.named(state.dialect.types[dtype], variable)


def _next(state: Emission, kind: Kind, dtype: DType, old: str, value: str) -> str:
    """The value that an atomic stores."""
    choose = state.dialect.choose
    if kind in _ARITH:
        return combined(state, _ARITH[kind], dtype, [old, value])
    if kind is Kind.EXCHANGE:
        return value
    if kind in (Kind.MIN, Kind.MAX):
        compare = arith.Lt if kind is Kind.MIN else arith.Gt
        wins = state.let(b1, combined(state, compare, dtype, [value, old]))
        return choose(wins, value, old)
    zero, one = state.literal(0, dtype), state.literal(1, dtype)
    if kind is Kind.INC:
        more = state.let(dtype, combined(state, arith.Add, dtype, [old, one]))
        return choose(f"{old} >= {value}", zero, more)
    less = state.let(dtype, combined(state, arith.Sub, dtype, [old, one]))
    return choose(f"({old} == {zero} || {old} > {value})", value, less)


class _Word:
    """The 32-bit word around a scalar of 8, 16 or 32 bits, which is swapped as a whole."""

    def __init__(self, state: Emission, place: Place, dtype: DType) -> None:
        self.state, self.dtype = state, dtype
        self.place, self.shift, self.current = place, "", ""
        if dtype.bits < 32:
            pointer, low = state.dialect.word(state, place)
            self.place = replace(place, pointer=pointer, volatile=False)
            self.shift = state.let(u32, f"{low} * 8u")
        self.mask = f"{(1 << dtype.bits) - 1:#x}u"

    @contextmanager
    def attempts(self) -> Generator[tuple[str, str]]:
        """Emit a loop until ``replace`` succeeds: (the word read, the scalar's bits)."""
        state = self.state
        first = state.dialect.atomic_load(state, self.place)
        self.current = state.variable(state.dialect.types[u32], first)
        with state.block_of(state.dialect.loop):
            seen = state.let(u32, self.current)
            yield seen, self._extracted(seen)

    def _extracted(self, seen: str) -> str:
        """The bits of the scalar in a word."""
        if not self.shift:
            return seen
        raw = self.dtype.unsigned
        bare = f"(({seen} >> {self.shift}) & {self.mask})"
        return self.state.let(raw, self.state.dialect.convert(raw, bare))

    def replace(self, seen: str, raw: str) -> None:
        """Swap in the scalar's bits and leave the loop, unless the word has changed."""
        state, desired = self.state, raw
        if self.shift:
            kept = f"({seen} & ~({self.mask} << {self.shift}))"
            moved = f"({state.dialect.convert(u32, raw)} << {self.shift})"
            desired = state.let(u32, hidden_bits(state, f"{kept} | {moved}"))
        current, done = state.dialect.exchange_if(state, self.place, seen, desired)
        with state.block_of(f"if ({done}) {{"):
            state.line("break;")
        state.line(f"{self.current} = {current};")


_BEFORE = frozenset((MemoryOrder.RELEASE, MemoryOrder.ACQ_REL, MemoryOrder.SEQ_CST))
_AFTER = frozenset((MemoryOrder.ACQUIRE, MemoryOrder.ACQ_REL, MemoryOrder.SEQ_CST))


def _ordered(state: Emission, op: atomic.Atomic | atomic.AtomicCas, orders: Orders) -> None:
    """Emit a fence for an order: the languages have relaxed atomics alone."""
    if op.order in orders:
        state.dialect.fence(state, Fence(op.scope, op.order, loc=op.loc))
