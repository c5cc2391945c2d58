"""Atomics: hardware atomics on global memory, plain read-modify-writes on shared memory, since a
block stays on one worker."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.codegen.llvm.atomics import (
    FLOAT_RMW,
    ORDERS,
    as_bits,
    combine,
    from_bits,
    modify,
)
from gridlane.codegen.llvm.atomics import compare_and_swap as swap
from gridlane.codegen.llvm.cpu.dispatch import emits
from gridlane.codegen.llvm.cpu.lanes import Emission, Uniform, Varying
from gridlane.codegen.llvm.cpu.perlane import Operand, for_each_lane
from gridlane.codegen.llvm.text import Body, literal, mangle, scalar_name, widen
from gridlane.core.dtypes import DType, i32, u64
from gridlane.ir.ops.atomic import Atomic, AtomicCas, AtomicCasPair, AtomicKind
from gridlane.ir.ops.memory import Offset
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Value

_REDUCTIONS = {
    AtomicKind.ADD: ("add", "add"),
    AtomicKind.SUB: ("add", "add"),
    AtomicKind.AND: ("and", "and"),
    AtomicKind.OR: ("or", "or"),
    AtomicKind.XOR: ("xor", "xor"),
    AtomicKind.MIN: ("smin", "umin"),
    AtomicKind.MAX: ("smax", "umax"),
}
"""Vector reductions that replace the lanes' atomics on one address."""


@emits(Atomic)
def atomic(state: Emission, op: Atomic) -> None:
    """Emit a read-modify-write of each running lane."""
    type_ = op.value.type
    assert isinstance(type_, DType)
    unused = op.results[0] not in state.used
    pointer = state.rep(op.pointer)
    if unused and isinstance(pointer, Uniform) and (state.alone or _reduces(op.kind, type_)):
        total = state.uniform(op.value) if state.alone else _reduced(state, op, type_)
        _modify(state.body, op.kind, type_, pointer.name, total, _order(op))
        state.set(op.results[0], Varying("poison"))
        return

    place, address = _place(state, op.pointer)

    def emit(scalars: list[str], lane: str) -> list[str]:
        old = _modify(state.body, op.kind, type_, address(scalars[0]), scalars[1], _order(op))
        return [] if unused else [old]

    operands = [place, (state.rep(op.value), type_)]
    simple = _is_simple(op.kind, type_)
    results = for_each_lane(state, operands, [] if unused else [type_], emit, unroll=simple)
    state.set(op.results[0], Varying(results[0] if results else "poison"))


def is_one(state: Emission, op: Atomic) -> bool:
    """Whether one atomic does what those of all lanes do, if nothing uses its result."""
    assert isinstance(op.value.type, DType)
    return state.shapes.of(op.pointer).uniform and _reduces(op.kind, op.value.type)


def _place(state: Emission, pointer: Value) -> tuple[Operand, Callable[[str], str]]:
    """The values that distinguish the lanes' addresses, and a function from a lane's value to its
    address.

    In shared memory these are the low 32 bits of the index, as a block's memory is smaller: a
    vector of them is half as large as one of addresses, and the processor adds the base.
    """
    rep, op = state.rep(pointer), pointer.op
    if isinstance(rep, Varying) and isinstance(op, Offset):
        base = state.rep(op.pointer)
        if isinstance(base, Uniform) and _space(pointer) is Space.SHARED:
            return (_half(state, op.index), i32), _indexed(state, op, base.name)
    return (rep, pointer.type), lambda scalar: scalar


def _space(pointer: Value) -> Space:
    assert isinstance(pointer.type, PointerType)
    return pointer.type.space


def _half(state: Emission, index: Value) -> Varying:
    """An index as an i32."""
    assert isinstance(index.type, DType)
    name, bits = state.vector(index), index.type.bits
    if bits != 32:
        cut = "trunc" if bits > 32 else "sext" if index.type.is_signed else "zext"
        types = widen(f"i{bits}", state.lanes), widen("i32", state.lanes)
        name = state.body.op(f"{cut} {types[0]} {name} to {types[1]}")
    return Varying(name)


def _indexed(state: Emission, op: Offset, base: str) -> Callable[[str], str]:
    assert isinstance(op.pointer.type, PointerType)
    size, body = op.pointer.type.element.size, state.body

    def address(scalar: str) -> str:
        wide = body.op(f"sext i32 {scalar} to i64")
        return body.op(f"getelementptr [{size} x i8], ptr {base}, i64 {wide}")

    return address


def _order(op: Atomic | AtomicCas | AtomicCasPair) -> str:
    """LLVM's name of the ordering; "" for memory that only this worker accesses."""
    private = _space(op.pointer) in (Space.SHARED, Space.LOCAL)
    return "" if private else ORDERS[op.order]


def _is_simple(kind: AtomicKind, type_: DType) -> bool:
    """Whether one atomic is a few instructions without a loop."""
    return type_.is_integer and kind not in (AtomicKind.INC, AtomicKind.DEC)


def _reduces(kind: AtomicKind, type_: DType) -> bool:
    if type_.is_float:
        return kind in FLOAT_RMW and type_.bits >= 32
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
    """The reduction of the running lanes' operands; floats add in any order, as by atomics."""
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


def _modify(
    body: Body, kind: AtomicKind, type_: DType, pointer: str, value: str, order: str
) -> str:
    """One lane's read-modify-write; returns the old value. Plain if private to this worker."""
    if order:
        return modify(body, kind, type_, f"ptr {pointer}", value, order)
    name = scalar_name(type_)
    old = body.op(f"load {name}, ptr {pointer}, align {type_.align}")
    new = combine(body, kind, type_, old, value)
    body.do(f"store {name} {new}, ptr {pointer}, align {type_.align}")
    return old


@emits(AtomicCas)
def compare_and_swap(state: Emission, op: AtomicCas) -> None:
    """Emit a compare and swap of each running lane, on the bits."""
    type_ = op.desired.type
    assert isinstance(type_, DType)
    order = _order(op)
    body = state.body

    def emit(scalars: list[str], lane: str) -> list[str]:
        pointer, expected, desired = scalars
        if order:
            return [swap(body, type_, f"ptr {pointer}", expected, desired, order)]
        bits = f"i{type_.bits}"
        want, new = as_bits(body, expected, type_), as_bits(body, desired, type_)
        old = body.op(f"load {bits}, ptr {pointer}, align {type_.align}")
        same = body.op(f"icmp eq {bits} {old}, {want}")
        stored = body.op(f"select i1 {same}, {bits} {new}, {bits} {old}")
        body.do(f"store {bits} {stored}, ptr {pointer}, align {type_.align}")
        return [from_bits(body, old, type_)]

    def operand(value: Value) -> tuple[object, object]:
        return (state.rep(value), value.type)

    operands = [operand(value) for value in (op.pointer, op.expected, op.desired)]
    results = for_each_lane(state, operands, [type_], emit)  # type: ignore[arg-type]  # reps and types
    state.set(op.results[0], Varying(results[0]))


@emits(AtomicCasPair)
def compare_and_swap_pair(state: Emission, op: AtomicCasPair) -> None:
    """Emit a compare and swap of 16 bytes for each running lane."""
    order, body = _order(op), state.body

    def joined(low: str, high: str) -> str:
        low, high = (body.op(f"zext i64 {each} to i128") for each in (low, high))
        return body.op(f"or i128 {low}, {body.op(f'shl i128 {high}, 64')}")

    def emit(scalars: list[str], lane: str) -> list[str]:
        pointer, expected, desired = scalars[0], joined(*scalars[1:3]), joined(*scalars[3:])
        if order:
            arguments = f"i128 {expected}, i128 {desired}"
            pair = body.op(f"cmpxchg ptr {pointer}, {arguments} {order} monotonic, align 16")
            old = body.op(f"extractvalue {{i128, i1}} {pair}, 0")
        else:
            old = body.op(f"load i128, ptr {pointer}, align 8")
            same = body.op(f"icmp eq i128 {old}, {expected}")
            stored = body.op(f"select i1 {same}, i128 {desired}, i128 {old}")
            body.do(f"store i128 {stored}, ptr {pointer}, align 8")
        upper = body.op(f"lshr i128 {old}, 64")
        return [body.op(f"trunc i128 {each} to i64") for each in (old, upper)]

    operands: list[Operand] = [(state.rep(value), value.type) for value in op.operands()]
    for result, item in zip(
        op.results, for_each_lane(state, operands, [u64, u64], emit), strict=True
    ):
        state.set(result, Varying(item))
