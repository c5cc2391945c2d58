"""Atomic read-modify-write. PTX ISA 9.0, "Parallel Synchronization and Communication"."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gridlane.core.dtypes import DType, bf16, f16, f32, i32, u16, u32
from gridlane.frontends.ptx.forms.memory import SCOPES, space_of
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Operand
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops import arith
from gridlane.ir.ops.atomic import Atomic, AtomicCas, AtomicKind
from gridlane.ir.ops.grid import MemoryOrder, MemoryScope
from gridlane.ir.values import Value

if TYPE_CHECKING:
    from gridlane.frontends.ptx.forms.table import Build

Operands = tuple[Operand, ...]

_RED = "[.relaxed|release] [.cta|cluster|gpu|sys]"
ATOM = "[.relaxed|acquire|release|acq_rel] [.cta|cluster|gpu|sys]"
HINT = "[.L2::cache_hint]"


def _rows(head: str, tail: str, operands: str) -> Callable[[Build], Build]:
    """Rows of an operation on global and on shared memory; there is no hint for the latter."""
    op, types = tail.rsplit(" ", 1)

    def declare(build: Build) -> Build:
        form(f"{head} [.global] {op} {HINT} {types}", f"{operands}, policy?")(build)
        return form(f"{head} .shared|shared::cta {op} {types}", operands)(build)

    return declare


KINDS = {
    "add": AtomicKind.ADD,
    "and": AtomicKind.AND,
    "or": AtomicKind.OR,
    "xor": AtomicKind.XOR,
    "exch": AtomicKind.EXCHANGE,
    "min": AtomicKind.MIN,
    "max": AtomicKind.MAX,
    "inc": AtomicKind.INC,
    "dec": AtomicKind.DEC,
}
_ORDERS = {
    "": MemoryOrder.RELAXED,
    "relaxed": MemoryOrder.RELAXED,
    "acquire": MemoryOrder.ACQUIRE,
    "release": MemoryOrder.RELEASE,
    "acq_rel": MemoryOrder.ACQ_REL,
}


def how(m: Match) -> tuple[MemoryOrder, MemoryScope]:
    """The order and the scope that a form names."""
    order = _ORDERS[m.one_of("relaxed", "acquire", "release", "acq_rel")]
    return order, SCOPES.get(m.one_of(*SCOPES), MemoryScope.DEVICE)


def _atomic(t: Values, m: Match, address: Operand, operand: Operand) -> Value:
    kind, dtype = KINDS[m.one_of(*KINDS)], m.type
    if kind in (AtomicKind.INC, AtomicKind.DEC) and dtype.is_signed:
        t.fail("inc and dec take .u32")
    value = t.read(operand, dtype)
    return t.emit(Atomic(kind, t.target(address, dtype, space_of(m)), value, *how(m)))


@_rows(f"atom {ATOM}", ".and|or|xor|exch .b32|b64", "d, a, b")
@_rows(f"atom {ATOM}", ".add .u32|s32|u64", "d, a, b")
@_rows(f"atom {ATOM}", ".min|max .u32|s32|u64|s64", "d, a, b")
@_rows(f"atom {ATOM}", ".inc|dec .u32", "d, a, b")
@_rows(f"atom {ATOM}", ".add .f32|f64", "d, a, b")
@_rows(f"atom {ATOM}", ".add .noftz .f16", "d, a, b")
def atom(t: Values, m: Match, o: Operands) -> None:
    """A change of memory; the result is the old value."""
    t.write(o[0], _atomic(t, m, o[1], o[2]))


@_rows(f"atom {ATOM}", ".add .noftz .f16x2|bf16|bf16x2", "d, a, b")
def atom_halves(t: Values, m: Match, o: Operands) -> None:
    """A change of numbers of 16 bits; the result is the old word."""
    t.write(o[0], _sum_of_halves(t, m, o[1], o[2]))


@_rows(f"red {_RED}", ".add .noftz .f16x2|bf16|bf16x2", "a, b")
def red_halves(t: Values, m: Match, o: Operands) -> None:
    """A change of numbers of 16 bits."""
    _sum_of_halves(t, m, o[0], o[1])


def _sum_of_halves(t: Values, m: Match, address: Operand, operand: Operand) -> Value:
    """Add to each half of a word."""
    word = u16 if m.has("bf16") else u32
    pointer = t.target(address, word, space_of(m))
    return _changed_halves(t, m, pointer, t.read(operand, word), f16 if m.has("f16x2") else bf16)


_HALVES = {AtomicKind.ADD: arith.Add, AtomicKind.MIN: arith.Min, AtomicKind.MAX: arith.Max}


def _changed_halves(t: Values, m: Match, pointer: Value, operand: Value, kind: DType) -> Value:
    """Change each half of a word by compare and swap. The word changes as a whole, which the ISA
    leaves open."""
    b, word, op = t.b, operand.type, _HALVES[KINDS[m.one_of(*KINDS)]]
    assert isinstance(word, DType)
    known = b.variable("old", word)
    b.write(known, b.load(pointer, True))
    with b.loop():
        seen = b.read(known)
        result = b.zero(word)
        for shift in range(0, word.bits, 16):
            place = b.const(shift, word)
            first, second = (
                b.bitcast(b.cast(b.binary(arith.Shr, each, place), u16), kind)
                for each in (seen, operand)
            )
            half = b.cast(b.bitcast(b.binary(op, first, second), u16), word)
            result = b.or_(result, b.binary(arith.Shl, half, place))
        got = t.emit(AtomicCas(pointer, seen, result, *how(m)))
        b.write(known, got)
        b.break_if(b.eq(got, seen))
    return b.read(known)


_VECTORS = (
    ".add [.L2::cache_hint] .v2|v4 .f32",
    ".add|min|max .noftz [.L2::cache_hint] .v2|v4|v8 .f16|bf16",
    ".add|min|max .noftz [.L2::cache_hint] .v2|v4 .f16x2|bf16x2",
)


@form(f"atom {ATOM} [.global] {_VECTORS[0]}", "d, a, b, policy?")
@form(f"atom {ATOM} [.global] {_VECTORS[1]}", "d, a, b, policy?")
@form(f"atom {ATOM} [.global] {_VECTORS[2]}", "d, a, b, policy?")
def atom_vector(t: Values, m: Match, o: Operands) -> None:
    """A change of each element; the results are the old ones."""
    old_values = _elements(t, m, o[1], o[2])
    for target, value in zip(t.parts(o[0], len(old_values)), old_values, strict=True):
        t.write(target, value)


@form(f"red {_RED} [.global] {_VECTORS[0]}", "a, b, policy?")
@form(f"red {_RED} [.global] {_VECTORS[1]}", "a, b, policy?")
@form(f"red {_RED} [.global] {_VECTORS[2]}", "a, b, policy?")
def red_vector(t: Values, m: Match, o: Operands) -> None:
    """A change of each element."""
    _elements(t, m, o[0], o[1])


def _elements(t: Values, m: Match, address: Operand, operand: Operand) -> list[Value]:
    """Change elements one after the other: each is atomic, and the vector is not."""
    count = int(m.one_of("v2", "v4", "v8")[1])
    kind = bf16 if m.has("bf16", "bf16x2") else f16
    word = f32 if m.has("f32") else u32 if m.has("f16x2", "bf16x2") else u16
    start = t.target(address, word, space_of(m))
    new_values: list[Value] = []
    for number, part in enumerate(t.parts(operand, count)):
        pointer = t.b.offset(start, t.b.const(number, i32))
        value = t.read(part, word)
        if word is f32:
            new_values.append(t.emit(Atomic(AtomicKind.ADD, pointer, value, *how(m))))
        else:
            new_values.append(_changed_halves(t, m, pointer, value, kind))
    return new_values


@_rows(f"red {_RED}", ".and|or|xor .b32|b64", "a, b")
@_rows(f"red {_RED}", ".add .u32|s32|u64", "a, b")
@_rows(f"red {_RED}", ".min|max .u32|s32|u64|s64", "a, b")
@_rows(f"red {_RED}", ".inc|dec .u32", "a, b")
@_rows(f"red {_RED}", ".add .f32|f64", "a, b")
@_rows(f"red {_RED}", ".add .noftz .f16", "a, b")
def red(t: Values, m: Match, o: Operands) -> None:
    """A change of memory."""
    _atomic(t, m, o[0], o[1])


@form(f"atom {ATOM} [.global|shared|shared::cta] .cas .b16|b32|b64", "d, a, b, c")
def cas(t: Values, m: Match, o: Operands) -> None:
    """Compare and swap; the result is the old value."""
    dtype: DType = m.type
    pointer = t.target(o[1], dtype, space_of(m))
    parts = t.read(o[2], dtype), t.read(o[3], dtype)
    t.write(o[0], t.emit(AtomicCas(pointer, *parts, *how(m))))
