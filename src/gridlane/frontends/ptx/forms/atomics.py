"""Atomic read-modify-write. PTX ISA 9.0, "Parallel Synchronization and Communication"."""

from __future__ import annotations

from gridlane.core.dtypes import DType
from gridlane.frontends.ptx.forms.memory import SCOPES, space_of
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Operand
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops.atomic import Atomic, AtomicCas, AtomicKind
from gridlane.ir.ops.grid import MemoryOrder, MemoryScope
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]

_HEAD = "[.relaxed|acquire|release|acq_rel] [.cta|cluster|gpu|sys] [.global|shared|shared::cta]"
_HINT = "[.L2::cache_hint]"
_KINDS = {
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


def _how(m: Match) -> tuple[MemoryOrder, MemoryScope]:
    order = _ORDERS[m.one_of("relaxed", "acquire", "release", "acq_rel")]
    return order, SCOPES.get(m.one_of(*SCOPES), MemoryScope.DEVICE)


def _atomic(t: Values, m: Match, address: Operand, operand: Operand) -> Value:
    kind, dtype = _KINDS[m.one_of(*_KINDS)], m.type
    if kind in (AtomicKind.INC, AtomicKind.DEC) and dtype.is_signed:
        t.fail("inc and dec take .u32")
    value = t.read(operand, dtype)
    return t.emit(Atomic(kind, t.target(address, dtype, space_of(m)), value, *_how(m)))


@form(f"atom {_HEAD} .and|or|xor|exch {_HINT} .b32|b64", "d, a, b, policy?")
@form(f"atom {_HEAD} .add {_HINT} .u32|s32|u64|s64", "d, a, b, policy?")
@form(f"atom {_HEAD} .min|max {_HINT} .u32|s32|u64|s64", "d, a, b, policy?")
@form(f"atom {_HEAD} .inc|dec {_HINT} .u32", "d, a, b, policy?")
@form(f"atom {_HEAD} .add {_HINT} .f32|f64", "d, a, b, policy?")
@form(f"atom {_HEAD} .add .noftz {_HINT} .f16", "d, a, b, policy?")
def atom(t: Values, m: Match, o: Operands) -> None:
    """A change of memory; the result is the old value."""
    t.write(o[0], _atomic(t, m, o[1], o[2]))


@form(f"red {_HEAD} .and|or|xor {_HINT} .b32|b64", "a, b, policy?")
@form(f"red {_HEAD} .add {_HINT} .u32|s32|u64|s64", "a, b, policy?")
@form(f"red {_HEAD} .min|max {_HINT} .u32|s32|u64|s64", "a, b, policy?")
@form(f"red {_HEAD} .inc|dec {_HINT} .u32", "a, b, policy?")
@form(f"red {_HEAD} .add {_HINT} .f32|f64", "a, b, policy?")
@form(f"red {_HEAD} .add .noftz {_HINT} .f16", "a, b, policy?")
def red(t: Values, m: Match, o: Operands) -> None:
    """A change of memory."""
    _atomic(t, m, o[0], o[1])


@form(f"atom {_HEAD} .cas {_HINT} .b16|b32|b64", "d, a, b, c, policy?")
def cas(t: Values, m: Match, o: Operands) -> None:
    """Compare and swap; the result is the old value."""
    dtype: DType = m.type
    pointer = t.target(o[1], dtype, space_of(m))
    parts = t.read(o[2], dtype), t.read(o[3], dtype)
    t.write(o[0], t.emit(AtomicCas(pointer, *parts, *_how(m))))
