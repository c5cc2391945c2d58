"""Atomics: real ones on global memory, plain read-modify-writes on shared memory, since a block
stays on one worker."""

from __future__ import annotations

from gridlane.codegen.llvm.cpu.dispatch import emits
from gridlane.codegen.llvm.cpu.lanes import Emission, Uniform, Varying
from gridlane.codegen.llvm.cpu.perlane import for_each_lane
from gridlane.codegen.llvm.text import Body, literal, mangle, scalar_name, widen
from gridlane.core.dtypes import DType
from gridlane.ir.ops.atomic import Atomic, AtomicCas, AtomicKind
from gridlane.ir.ops.grid import MemoryOrder
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Value

_ORDERS = {
    MemoryOrder.RELAXED: "monotonic",
    MemoryOrder.ACQUIRE: "acquire",
    MemoryOrder.RELEASE: "release",
    MemoryOrder.ACQ_REL: "acq_rel",
    MemoryOrder.SEQ_CST: "seq_cst",
}

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

_FLOAT_RMW = {AtomicKind.ADD: "fadd", AtomicKind.SUB: "fsub"}

_REDUCTIONS = {
    AtomicKind.ADD: ("add", "add"),
    AtomicKind.SUB: ("add", "add"),
    AtomicKind.AND: ("and", "and"),
    AtomicKind.OR: ("or", "or"),
    AtomicKind.XOR: ("xor", "xor"),
    AtomicKind.MIN: ("smin", "umin"),
    AtomicKind.MAX: ("smax", "umax"),
}
"""Vector reductions that may stand for the lanes' atomics on one address."""


@emits(Atomic)
def atomic(state: Emission, op: Atomic) -> None:
    """A read-modify-write of each running lane."""
    type_ = op.value.type
    assert isinstance(type_, DType)
    unused = op.results[0] not in state.used
    pointer = state.rep(op.pointer)
    if unused and isinstance(pointer, Uniform) and _reduces(op.kind, type_):
        total = _reduced(state, op, type_)
        modify(state.body, op.kind, type_, pointer.name, total, _order(op))
        state.set(op.results[0], Varying("poison"))
        return

    def emit(scalars: list[str], lane: str) -> list[str]:
        old = modify(state.body, op.kind, type_, scalars[0], scalars[1], _order(op))
        return [] if unused else [old]

    operands = [(pointer, op.pointer.type), (state.rep(op.value), type_)]
    simple = _is_simple(op.kind, type_)
    results = for_each_lane(state, operands, [] if unused else [type_], emit, unroll=simple)
    state.set(op.results[0], Varying(results[0] if results else "poison"))


def _order(op: Atomic | AtomicCas) -> str:
    """LLVM's name of the ordering; "" for memory that only this worker sees."""
    assert isinstance(op.pointer.type, PointerType)
    private = op.pointer.type.space in (Space.SHARED, Space.LOCAL)
    return "" if private else _ORDERS[op.order]


def _is_simple(kind: AtomicKind, type_: DType) -> bool:
    """Whether one atomic is a few instructions without a loop."""
    return type_.is_integer and kind not in (AtomicKind.INC, AtomicKind.DEC)


def _reduces(kind: AtomicKind, type_: DType) -> bool:
    if type_.is_float:
        return kind in _FLOAT_RMW and type_.bits >= 32
    return kind in _REDUCTIONS


def _identity(kind: AtomicKind, type_: DType) -> str:
    if type_.is_float:
        return literal(-0.0, type_)
    if kind is AtomicKind.AND:
        return "-1"
    if kind is AtomicKind.MIN:
        return str(type_.max)
    return str(type_.min) if kind is AtomicKind.MAX else "0"


def _reduced(state: Emission, op: Atomic, type_: DType) -> str:
    """The running lanes' operands combined; addition of floats takes any order, as atomics do."""
    name = scalar_name(type_)
    vector = widen(name, state.lanes)
    value = state.vector(op.value)
    if state.mask is not None:
        identity = f"splat ({name} {_identity(op.kind, type_)})"
        value = state.body.op(
            f"select {state.mask_type} {state.mask}, {vector} {value}, {vector} {identity}"
        )
    if type_.is_float:
        full = f"llvm.vector.reduce.fadd.{mangle(name, state.lanes)}"
        start = (name, literal(-0.0, type_))
        return state.body.call(name, full, [start, (vector, value)], "reassoc ")
    stem = _REDUCTIONS[op.kind][0 if type_.is_signed else 1]
    full = f"llvm.vector.reduce.{stem}.{mangle(name, state.lanes)}"
    return state.body.call(name, full, [(vector, value)])


def modify(body: Body, kind: AtomicKind, type_: DType, pointer: str, value: str, order: str) -> str:
    """One lane's read-modify-write; returns the old value."""
    name = scalar_name(type_)
    if not order:
        old = body.op(f"load {name}, ptr {pointer}, align {type_.align}")
        new = combine(body, kind, type_, old, value)
        body.do(f"store {name} {new}, ptr {pointer}, align {type_.align}")
        return old
    if type_.is_integer:
        word = _INTEGER_RMW[kind][0 if type_.is_signed else 1]
        return body.op(f"atomicrmw {word} ptr {pointer}, {name} {value} {order}")
    if kind in _FLOAT_RMW and type_.bits >= 32:
        return body.op(f"atomicrmw {_FLOAT_RMW[kind]} ptr {pointer}, {name} {value} {order}")
    return _exchange_loop(body, kind, type_, pointer, value, order)


def _exchange_loop(
    body: Body, kind: AtomicKind, type_: DType, pointer: str, value: str, order: str
) -> str:
    """Compare and swap until nothing came between."""
    name, bits = scalar_name(type_), f"i{type_.bits}"
    seen = body.alloca(bits)
    first = body.op(f"load atomic {bits}, ptr {pointer} monotonic, align {type_.align}")
    body.do(f"store {bits} {first}, ptr {seen}")
    again, done = body.label("retry"), body.label("swapped")
    body.branch(again)
    body.start(again)
    raw = body.op(f"load {bits}, ptr {seen}")
    old = raw if name == bits else body.op(f"bitcast {bits} {raw} to {name}")
    new = combine(body, kind, type_, old, value)
    raw_new = new if name == bits else body.op(f"bitcast {name} {new} to {bits}")
    pair = body.op(f"cmpxchg ptr {pointer}, {bits} {raw}, {bits} {raw_new} {order} monotonic")
    now = body.op(f"extractvalue {{{bits}, i1}} {pair}, 0")
    body.do(f"store {bits} {now}, ptr {seen}")
    won = body.op(f"extractvalue {{{bits}, i1}} {pair}, 1")
    body.branch_if(won, done, again)
    body.start(done)
    return old


def combine(body: Body, kind: AtomicKind, type_: DType, old: str, value: str) -> str:
    """What an atomic stores, from the old value and the operand."""
    name = scalar_name(type_)
    if kind is AtomicKind.EXCHANGE:
        return value
    if type_.name == "bf16":
        return _combine_bf16(body, kind, old, value)
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


def _combine_bf16(body: Body, kind: AtomicKind, old: str, value: str) -> str:
    from gridlane.codegen.llvm.scalars import extend_bf16, round_bf16
    from gridlane.core.dtypes import f32

    wide = [extend_bf16(body, bits, 0) for bits in (old, value)]
    return round_bf16(body, combine(body, kind, f32, wide[0], wide[1]), 0)


def _wrapping_step(body: Body, kind: AtomicKind, name: str, old: str, limit: str) -> str:
    """INC and DEC."""
    past = body.op(f"icmp {'uge' if kind is AtomicKind.INC else 'ugt'} {name} {old}, {limit}")
    if kind is AtomicKind.INC:
        step = body.op(f"add {name} {old}, 1")
        return body.op(f"select i1 {past}, {name} 0, {name} {step}")
    zero = body.op(f"icmp eq {name} {old}, 0")
    wrap = body.op(f"or i1 {past}, {zero}")
    step = body.op(f"sub {name} {old}, 1")
    return body.op(f"select i1 {wrap}, {name} {limit}, {name} {step}")


@emits(AtomicCas)
def compare_and_swap(state: Emission, op: AtomicCas) -> None:
    """A compare and swap of each running lane, on the bits."""
    type_ = op.desired.type
    assert isinstance(type_, DType)
    name, bits = scalar_name(type_), f"i{type_.bits}"
    order = _order(op)
    body = state.body

    def as_bits(value: str) -> str:
        return value if name == bits else body.op(f"bitcast {name} {value} to {bits}")

    def emit(scalars: list[str], lane: str) -> list[str]:
        pointer, expected, desired = scalars[0], as_bits(scalars[1]), as_bits(scalars[2])
        if order:
            pair = body.op(
                f"cmpxchg ptr {pointer}, {bits} {expected}, {bits} {desired} {order} monotonic"
            )
            old = body.op(f"extractvalue {{{bits}, i1}} {pair}, 0")
        else:
            old = body.op(f"load {bits}, ptr {pointer}, align {type_.align}")
            same = body.op(f"icmp eq {bits} {old}, {expected}")
            new = body.op(f"select i1 {same}, {bits} {desired}, {bits} {old}")
            body.do(f"store {bits} {new}, ptr {pointer}, align {type_.align}")
        return [old if name == bits else body.op(f"bitcast {bits} {old} to {name}")]

    def operand(value: Value) -> tuple[object, object]:
        return (state.rep(value), value.type)

    operands = [operand(value) for value in (op.pointer, op.expected, op.desired)]
    results = for_each_lane(state, operands, [type_], emit)  # type: ignore[arg-type]  # reps and types
    state.set(op.results[0], Varying(results[0]))
