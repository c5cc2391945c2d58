"""Atomics of 128 bits. PTX ISA 9.0, "atom", "ld" and "st".

They are compare-and-swaps of two words: an exchange repeats until no other thread interferes, a
load swaps 0 for 0, and a store is an exchange.
"""

from __future__ import annotations

from gridlane.core.dtypes import b1, u64
from gridlane.frontends.ptx.forms.atomics import ATOM, HINT, how
from gridlane.frontends.ptx.forms.memory import space_of
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Operand
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops import arith, memory
from gridlane.ir.ops.atomic import AtomicCasPair
from gridlane.ir.ops.grid import MemoryOrder, MemoryScope
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]
Pair = tuple[Value, Value]
_How = tuple[MemoryOrder, MemoryScope]

_L1 = "[.L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate]"
_SCOPE = ".cta|cluster|gpu|sys"


@form(f"atom {ATOM} [.global] .cas .b128", "d, a, b, c")
@form(f"atom {ATOM} .shared|shared::cta .cas .b128", "d, a, b, c")
def cas(t: Values, m: Match, o: Operands) -> None:
    """Compare and swap; the result is the old value."""
    pointer = _at(t, m, o[1])
    _write(t, o[0], _swapped(t, pointer, _read(t, o[2]), _read(t, o[3]), how(m)))


@form(f"atom {ATOM} [.global] .exch {HINT} .b128", "d, a, b, policy?")
@form(f"atom {ATOM} .shared|shared::cta .exch .b128", "d, a, b")
def exchange(t: Values, m: Match, o: Operands) -> None:
    """Store a value; the result is the old one."""
    _write(t, o[0], _exchanged(t, _at(t, m, o[1]), _read(t, o[2]), how(m)))


@form(f"ld .relaxed|acquire {_SCOPE} [.global] {_L1} {HINT} .b128", "d, a, policy?")
@form(
    f"ld .relaxed|acquire {_SCOPE} .global {_L1} {HINT} .L2::64B|L2::128B|L2::256B .b128",
    "d, a, policy?",
)
@form(f"ld .relaxed|acquire {_SCOPE} .shared|shared::cta .b128", "d, a")
@form("ld .mmio .relaxed .sys [.global] .b128", "d, a")
def load(t: Values, m: Match, o: Operands) -> None:
    """Read 16 bytes in one step."""
    zeros = t.b.zero(u64), t.b.zero(u64)
    _write(t, o[0], _swapped(t, _at(t, m, o[1]), zeros, zeros, how(m)))


@form(f"st .relaxed|release {_SCOPE} [.global] {_L1} {HINT} .b128", "a, b, policy?")
@form(f"st .relaxed|release {_SCOPE} .shared|shared::cta .b128", "a, b")
@form("st .mmio .relaxed .sys [.global] .b128", "a, b")
def store(t: Values, m: Match, o: Operands) -> None:
    """Write 16 bytes in one step."""
    _exchanged(t, _at(t, m, o[0]), _read(t, o[1]), how(m))


def _read(t: Values, operand: Operand) -> Pair:
    low, high = (t.read(part, u64) for part in t.parts(operand, 2))
    return low, high


def _write(t: Values, operand: Operand, values: Pair) -> None:
    for part, value in zip(t.parts(operand, 2), values, strict=True):
        t.write(part, value)


def _at(t: Values, m: Match, operand: Operand) -> Value:
    """The address. What is no multiple of 16 in global memory ends a process on some processors,
    so it ends the thread before."""
    b, pointer = t.b, t.target(operand, u64, space_of(m))
    assert isinstance(pointer.type, PointerType)
    if pointer.type.space is Space.GLOBAL:
        low = b.and_(b.value(memory.Address(pointer)), b.const(15, u64))
        message = "the address of an atomic of 128 bits is no multiple of 16"
        b.raise_if(b.binary(arith.Ne, low, b.zero(u64)), "RuntimeError", message)
    return pointer


def _swapped(t: Values, pointer: Value, expected: Pair, desired: Pair, how_: _How) -> Pair:
    op = AtomicCasPair(pointer, *expected, *desired, *how_, loc=t.b.loc)
    t.b.emit(op)
    return op.results[0], op.results[1]


def _exchanged(t: Values, pointer: Value, value: Pair, how_: _How) -> Pair:
    """Swap until memory had what was read before."""
    b = t.b
    known = b.variable("low", u64), b.variable("high", u64)
    start = _swapped(t, pointer, value, value, (MemoryOrder.RELAXED, how_[1]))
    for var, word in zip(known, start, strict=True):
        b.write(var, word)
    with b.loop():
        seen = b.read(known[0]), b.read(known[1])
        got = _swapped(t, pointer, seen, value, how_)
        same = b.const(True, b1)
        for var, word, old in zip(known, got, seen, strict=True):
            b.write(var, word)
            same = b.and_(same, b.eq(word, old))
        b.break_if(same)
    return b.read(known[0]), b.read(known[1])
