"""Atomics that LLVM does not lower as PTX supports them: for the whole system, and of f16.

LLVM lowers every atomic to device scope, so atomics of system scope are written in assembly.
"""

from __future__ import annotations

from gridlane.codegen.llvm.atomics import as_bits, from_bits
from gridlane.codegen.llvm.gpu import atomics
from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.nvptx.overlay import emits, require
from gridlane.codegen.llvm.text import scalar_name
from gridlane.core.dtypes import DType
from gridlane.ir.ops.atomic import Atomic, AtomicCas, AtomicCasPair, AtomicKind
from gridlane.ir.ops.grid import MemoryScope
from gridlane.ir.ops.memory import space_of
from gridlane.ir.types import Space
from gridlane.ir.values import Value


@emits(Atomic)
def atomic(state: Emission, op: Atomic) -> None:
    """Emit a read-modify-write; ptxas drops an unused result."""
    type_ = op.value.type
    assert isinstance(type_, DType)
    with atomics.ordered(state, op):
        if atomics.is_own(op):
            old = atomics.update(state, op)
        elif op.scope is MemoryScope.SYSTEM:
            old = _for_the_system(state, op, type_, state.name(op.value))
        elif op.kind in (AtomicKind.ADD, AtomicKind.SUB) and type_.name == "f16":
            old = _half_add(state, op)
        else:
            old = atomics.update(state, op)
    state.set(op.results[0], old)


def _half_add(state: Emission, op: Atomic) -> str:
    """Emit atom.add of an f16; a difference adds the negative, which is as exact."""
    value, scope = state.name(op.value), state.overlay.atomic_scopes[op.scope]
    if op.kind is AtomicKind.SUB:
        value = state.body.op(f"fneg half {value}")
    return state.body.op(f"atomicrmw fadd {state.typed(op.pointer)}, half {value} {scope}monotonic")


@emits(AtomicCas)
def cas(state: Emission, op: AtomicCas) -> None:
    """Emit a compare and swap on the bits."""
    with atomics.ordered(state, op):
        system = op.scope is MemoryScope.SYSTEM and not atomics.is_own(op)
        old = _swap_for_the_system(state, op) if system else atomics.swap(state, op)
    state.set(op.results[0], old)


_SCOPES = {
    MemoryScope.WARP: "cta",
    MemoryScope.BLOCK: "cta",
    MemoryScope.DEVICE: "gpu",
    MemoryScope.SYSTEM: "sys",
}


@emits(AtomicCasPair)
def cas_pair(state: Emission, op: AtomicCasPair) -> None:
    """Emit atom.cas.b128; a thread's own memory is compared and written by words."""
    require(state, 90, op, "an atomic of 128 bits")
    words = [state.name(each) for each in [*op.operands()][1:]]
    with atomics.ordered(state, op):
        old = _own_pair(state, op, words) if atomics.is_own(op) else _swapped(state, op, words)
    for result, old_word in zip(op.results, old, strict=True):
        state.set(result, old_word)


def _swapped(state: Emission, op: AtomicCasPair, words: list[str]) -> list[str]:
    width, letter, where, address = _address(state, op.pointer)
    text = (
        "{ .reg .b128 %old, %expected, %desired; mov.b128 %expected, {$3, $4}; "
        f"mov.b128 %desired, {{$5, $6}}; atom.relaxed.{_SCOPES[op.scope]}{where}.cas.b128 %old, "
        "[$2], %expected, %desired; mov.b128 {$0, $1}, %old; }"
    )
    arguments = ", ".join((f"{width} {address}", *(f"i64 {word}" for word in words)))
    constraints = f"=l,=l,{letter},l,l,l,l,~{{memory}}"
    pair = state.body.op(f'call {{i64, i64}} asm sideeffect "{text}", "{constraints}"({arguments})')
    return [state.body.op(f"extractvalue {{i64, i64}} {pair}, {place}") for place in (0, 1)]


def _own_pair(state: Emission, op: AtomicCasPair, words: list[str]) -> list[str]:
    body, kind = state.body, state.register_name(op.pointer.type)
    second = body.op(f"getelementptr i64, {state.typed(op.pointer)}, i32 1")
    pointers = state.typed(op.pointer), f"{kind} {second}"
    old = [body.op(f"load i64, {place}, align 8") for place in pointers]
    same = [body.op(f"icmp eq i64 {a}, {b}") for a, b in zip(old, words, strict=False)]
    both = body.op(f"and i1 {same[0]}, {same[1]}")
    for place, was, desired in zip(pointers, old, words[2:], strict=True):
        new = body.op(f"select i1 {both}, i64 {desired}, i64 {was}")
        body.do(f"store i64 {new}, {place}, align 8")
    return old


# ---- system scope


def _swap_for_the_system(state: Emission, op: AtomicCas) -> str:
    """Emit atom.sys.cas, of 16 bits and more.

    Raises:
        TargetError: the type is smaller.
    """
    type_ = op.desired.type
    assert isinstance(type_, DType)
    if type_.bits < 16:
        raise state.refuse(op, f"of {type_} for the whole system; 16 bits are the least")
    values = state.name(op.expected), state.name(op.desired)
    bits = [as_bits(state.body, value, type_) for value in values]
    operands = [(_letter(type_, True), f"i{type_.bits}", value) for value in bits]
    old_bits = _assembly(state, op.pointer, "cas", f"b{type_.bits}", operands)
    return from_bits(state.body, old_bits, type_)


_WORDS = {
    AtomicKind.ADD: "add",
    AtomicKind.SUB: "add",
    AtomicKind.AND: "and",
    AtomicKind.OR: "or",
    AtomicKind.XOR: "xor",
    AtomicKind.EXCHANGE: "exch",
    AtomicKind.MIN: "min",
    AtomicKind.MAX: "max",
    AtomicKind.NANMIN: "min",
    AtomicKind.NANMAX: "max",
    AtomicKind.INC: "inc",
    AtomicKind.DEC: "dec",
}
_ON_BITS = (AtomicKind.AND, AtomicKind.OR, AtomicKind.XOR, AtomicKind.EXCHANGE)
_ON_FLOATS = (AtomicKind.ADD, AtomicKind.SUB, AtomicKind.EXCHANGE)


def _for_the_system(state: Emission, op: Atomic, type_: DType, value: str) -> str:
    """Emit atom.sys, for the types and kinds that the instruction supports.

    Raises:
        TargetError: the instruction does not support the type or kind.
    """
    wraps = op.kind in (AtomicKind.INC, AtomicKind.DEC)
    known = type_.bits >= 32 and (not type_.is_float or op.kind in _ON_FLOATS)
    if not known or (wraps and type_.bits != 32):
        raise state.refuse(
            op, f"{op.kind.value} of {type_} for the whole system; use a compare and swap"
        )
    name = scalar_name(type_)
    if op.kind is AtomicKind.SUB:
        negative = f"fneg {name} {value}" if type_.is_float else f"sub {name} 0, {value}"
        value = state.body.op(negative)
    if op.kind in _ON_BITS:
        bits = as_bits(state.body, value, type_)
        operands = [(_letter(type_, True), f"i{type_.bits}", bits)]
        old_bits = _assembly(state, op.pointer, _WORDS[op.kind], f"b{type_.bits}", operands)
        return from_bits(state.body, old_bits, type_)
    signed = type_.is_signed and op.kind not in (AtomicKind.ADD, AtomicKind.SUB)
    kind = "f" if type_.is_float else "s" if signed else "u"
    operands = [(_letter(type_, False), name, value)]
    return _assembly(state, op.pointer, _WORDS[op.kind], f"{kind}{type_.bits}", operands)


def _letter(type_: DType, as_bits_: bool) -> str:
    """The constraint of an operand in assembly."""
    if type_.is_float and not as_bits_:
        return "f" if type_.bits == 32 else "d"
    return {16: "h", 32: "r", 64: "l"}[type_.bits]


def _assembly(
    state: Emission, pointer: Value, word: str, suffix: str, operands: list[tuple[str, str, str]]
) -> str:
    """Emit ``atom.relaxed.sys``; operands: (constraint, type, value); result as the first."""
    width, letter, where, address = _address(state, pointer)
    names = ", ".join(f"${n + 2}" for n in range(len(operands)))
    text = f"atom.relaxed.sys{where}.{word}.{suffix} $0, [$1], {names};"
    constraints = ",".join((f"={operands[0][0]}", letter, *(c for c, _, _ in operands)))
    arguments = ", ".join((f"{width} {address}", *(f"{t} {v}" for _, t, v in operands)))
    return state.body.op(
        f'call {operands[0][1]} asm sideeffect "{text}", "{constraints},~{{memory}}"({arguments})'
    )


def _address(state: Emission, pointer: Value) -> tuple[str, str, str, str]:
    """The type of an address in assembly, its constraint, its space and the number."""
    space = space_of(pointer)
    width, letter = ("i32", "r") if space is Space.SHARED else ("i64", "l")
    where = {Space.GLOBAL: ".global", Space.SHARED: ".shared"}.get(space, "")
    return width, letter, where, state.body.op(f"ptrtoint {state.typed(pointer)} to {width}")
