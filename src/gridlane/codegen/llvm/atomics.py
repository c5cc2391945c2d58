"""One thread's read-modify-writes: an LLVM atomic where there is one, else compare and swap."""

from __future__ import annotations

from gridlane.codegen.llvm.scalars import extend_bits, round_to_bits
from gridlane.codegen.llvm.text import Body, held_as_bits, scalar_name
from gridlane.core.dtypes import DType, f32
from gridlane.ir.ops.atomic import AtomicKind
from gridlane.ir.ops.grid import MemoryOrder

ORDERS = {
    MemoryOrder.RELAXED: "monotonic",
    MemoryOrder.ACQUIRE: "acquire",
    MemoryOrder.RELEASE: "release",
    MemoryOrder.ACQ_REL: "acq_rel",
    MemoryOrder.SEQ_CST: "seq_cst",
}
"""LLVM's names of the memory orders."""

_INTEGER_RMW = {
    AtomicKind.ADD: ("add", "add"),
    AtomicKind.SUB: ("sub", "sub"),
    AtomicKind.AND: ("and", "and"),
    AtomicKind.OR: ("or", "or"),
    AtomicKind.XOR: ("xor", "xor"),
    AtomicKind.EXCHANGE: ("xchg", "xchg"),
    AtomicKind.MIN: ("min", "umin"),
    AtomicKind.MAX: ("max", "umax"),
    AtomicKind.NANMIN: ("min", "umin"),
    AtomicKind.NANMAX: ("max", "umax"),
    AtomicKind.INC: ("uinc_wrap", "uinc_wrap"),
    AtomicKind.DEC: ("udec_wrap", "udec_wrap"),
}
"""atomicrmw operations for signed and unsigned integers."""

FLOAT_RMW = {AtomicKind.ADD: "fadd", AtomicKind.SUB: "fsub"}
"""atomicrmw operations for floats of 32 and 64 bits."""


def modify(
    body: Body,
    kind: AtomicKind,
    type_: DType,
    pointer: str,
    value: str,
    order: str,
    scope: str = "",
) -> str:
    """One thread's read-modify-write; returns the old value.

    Args:
        pointer: the typed address, as in ``ptr %p``.
        order: LLVM's ordering.
        scope: ``syncscope("...") `` or "" for the whole system.
    """
    name = scalar_name(type_)
    if type_.is_integer:
        word = _INTEGER_RMW[kind][0 if type_.is_signed else 1]
        return body.op(f"atomicrmw {word} {pointer}, {name} {value} {scope}{order}")
    if kind in FLOAT_RMW and type_.bits >= 32:
        return body.op(f"atomicrmw {FLOAT_RMW[kind]} {pointer}, {name} {value} {scope}{order}")
    return _exchange_loop(body, kind, type_, pointer, value, f"{scope}{order}", scope)


def compare_and_swap(
    body: Body,
    type_: DType,
    pointer: str,
    expected: str,
    desired: str,
    order: str,
    scope: str = "",
) -> str:
    """Store ``desired`` where memory has the bits of ``expected``; returns the old value."""
    bits = f"i{type_.bits}"
    pair = body.op(
        f"cmpxchg {pointer}, {bits} {as_bits(body, expected, type_)}, "
        f"{bits} {as_bits(body, desired, type_)} {scope}{order} monotonic"
    )
    old = body.op(f"extractvalue {{{bits}, i1}} {pair}, 0")
    return from_bits(body, old, type_)


def as_bits(body: Body, value: str, type_: DType) -> str:
    """A scalar's bits as an integer."""
    name, bits = scalar_name(type_), f"i{type_.bits}"
    return value if name == bits else body.op(f"bitcast {name} {value} to {bits}")


def from_bits(body: Body, value: str, type_: DType) -> str:
    """The scalar with an integer's bits."""
    name, bits = scalar_name(type_), f"i{type_.bits}"
    return value if name == bits else body.op(f"bitcast {bits} {value} to {name}")


def _exchange_loop(
    body: Body, kind: AtomicKind, type_: DType, pointer: str, value: str, order: str, scope: str
) -> str:
    """Emit a compare-and-swap loop until no other thread intervened."""
    bits = f"i{type_.bits}"
    seen = body.alloca(bits)
    first = body.op(f"load atomic {bits}, {pointer} {scope}monotonic, align {type_.align}")
    body.do(f"store {bits} {first}, ptr {seen}")
    again, done = body.label("retry"), body.label("swapped")
    body.branch(again)
    body.start(again)
    raw = body.op(f"load {bits}, ptr {seen}")
    old = from_bits(body, raw, type_)
    new = as_bits(body, combine(body, kind, type_, old, value), type_)
    pair = body.op(f"cmpxchg {pointer}, {bits} {raw}, {bits} {new} {order} monotonic")
    now = body.op(f"extractvalue {{{bits}, i1}} {pair}, 0")
    body.do(f"store {bits} {now}, ptr {seen}")
    won = body.op(f"extractvalue {{{bits}, i1}} {pair}, 1")
    body.branch_if(won, done, again)
    body.start(done)
    return old


def combine(body: Body, kind: AtomicKind, type_: DType, old: str, value: str) -> str:
    """The value that an atomic stores, from the old value and the operand."""
    name = scalar_name(type_)
    if kind is AtomicKind.EXCHANGE:
        return value
    if held_as_bits(type_):
        return _combine_bits(body, kind, type_, old, value)
    if kind in (AtomicKind.ADD, AtomicKind.SUB):
        word = ("f" if type_.is_float else "") + kind.value
        return body.op(f"{word} {name} {old}, {value}")
    if kind in (AtomicKind.AND, AtomicKind.OR, AtomicKind.XOR):
        return body.op(f"{kind.value} {name} {old}, {value}")
    if kind in (AtomicKind.INC, AtomicKind.DEC):
        return _wrapping_step(body, kind, name, old, value)
    if kind in (AtomicKind.NANMIN, AtomicKind.NANMAX) and type_.is_float:
        stem = "minimumnum" if kind is AtomicKind.NANMIN else "maximumnum"
        return body.intrinsic(stem, name, 0, [old, value])
    smaller = kind in (AtomicKind.MIN, AtomicKind.NANMIN)
    if type_.is_float:
        better = body.op(f"fcmp {'ogt' if smaller else 'olt'} {name} {old}, {value}")
    else:
        sign = "s" if type_.is_signed else "u"
        better = body.op(f"icmp {sign}{'gt' if smaller else 'lt'} {name} {old}, {value}")
    return body.op(f"select i1 {better}, {name} {value}, {name} {old}")


def _combine_bits(body: Body, kind: AtomicKind, type_: DType, old: str, value: str) -> str:
    """The value that an atomic stores, for a float held as its bits."""
    wide = [extend_bits(body, bits, type_, 0) for bits in (old, value)]
    return round_to_bits(body, combine(body, kind, f32, wide[0], wide[1]), type_, 0)


def _wrapping_step(body: Body, kind: AtomicKind, name: str, old: str, limit: str) -> str:
    """The value that INC or DEC stores."""
    past = body.op(f"icmp {'uge' if kind is AtomicKind.INC else 'ugt'} {name} {old}, {limit}")
    if kind is AtomicKind.INC:
        step = body.op(f"add {name} {old}, 1")
        return body.op(f"select i1 {past}, {name} 0, {name} {step}")
    zero = body.op(f"icmp eq {name} {old}, 0")
    wrap = body.op(f"or i1 {past}, {zero}")
    step = body.op(f"sub {name} {old}, 1")
    return body.op(f"select i1 {wrap}, {name} {limit}, {name} {step}")
