"""Loads and stores with a cache policy, which LLVM has no instruction for."""

from __future__ import annotations

from collections.abc import Sequence

from gridlane.codegen.llvm.gpu import memory as general
from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.nvptx.overlay import emits
from gridlane.codegen.llvm.gpu.trace import traced
from gridlane.core.dtypes import DType, u32
from gridlane.ir.ops import memory
from gridlane.ir.ops.memory import space_of
from gridlane.ir.types import Space, Type, VectorType
from gridlane.ir.values import Value

_WORDS = {Space.GLOBAL: ".global", Space.GENERIC: ""}
_HELD = {8: ("i16", "h"), 16: ("i16", "h"), 32: ("i32", "r"), 64: ("i64", "l")}
"""A number's register in assembly, which has none of 8 bits, and its constraint."""


def _has_policy(policy: str, pointer: Value, type_: Type) -> bool:
    """Whether the instruction exists: policies are for numbers and vectors of global memory."""
    known = isinstance(type_, DType) or _is_words(type_)
    return bool(policy) and space_of(pointer) in _WORDS and known


def _is_words(type_: Type) -> bool:
    """Whether a type is a vector of words that one instruction accesses."""
    return isinstance(type_, VectorType) and type_.element is u32 and type_.count in (2, 4)


def words_of(op: memory.Load | memory.Store) -> int:
    """The words of a vector of them in memory that has cache policies; 0 of other accesses."""
    type_ = op.value.type if isinstance(op, memory.Store) else op.results[0].type
    known = _is_words(type_) and space_of(op.pointer) in _WORDS
    return type_.count if known and isinstance(type_, VectorType) else 0


def _instruction(name: str, op: memory.Load | memory.Store, count: int) -> str:
    policy = f".{op.cache}" if op.cache else ""
    return f"{name}{_WORDS[space_of(op.pointer)]}{policy}.v{count}.b32"


def load_words(
    state: Emission, op: memory.Load, condition: str = "", others: Sequence[str] = ()
) -> list[str]:
    """Load a vector of words; where a condition does not hold, others."""
    body, count = state.body, words_of(op)
    targets = ", ".join(f"${n}" for n in range(count))
    text = f"{_instruction('ld', op, count)} {{{targets}}}, [${count}];"
    result = "{ " + ", ".join(["i32"] * count) + " }"
    constraints = ",".join(["=r"] * count) + ",l,"
    with traced(state, op, op.pointer):
        operands = [f"i64 {body.op(f'ptrtoint {state.typed(op.pointer)} to i64')}"]
        if condition:
            text, constraints = f"@${count + 1} {text}", f"{constraints}b,"
            constraints += "".join(f"{n}," for n in range(count))
            operands += [f"i1 {condition}", *(f"i32 {word}" for word in others)]
        call = f'"{text}", "{constraints}~{{memory}}"({", ".join(operands)})'
        words = body.op(f"call {result} asm sideeffect {call}")
    return [body.op(f"extractvalue {result} {words}, {n}") for n in range(count)]


def store_words(state: Emission, op: memory.Store, condition: str = "") -> None:
    """Store a vector of words, where a condition holds if there is one."""
    body, vector, count = state.body, state.name(op.value), words_of(op)
    sources = ", ".join(f"${n + 1}" for n in range(count))
    text = f"{_instruction('st', op, count)} [$0], {{{sources}}};"
    words = [body.op(f"extractelement <{count} x i32> {vector}, i32 {n}") for n in range(count)]
    with traced(state, op, op.pointer):
        address = body.op(f"ptrtoint {state.typed(op.pointer)} to i64")
        operands = ", ".join([f"i64 {address}", *(f"i32 {word}" for word in words)])
        constraints = "l," + "r," * count
        if condition:
            text, constraints = f"@${count + 1} {text}", f"{constraints}b,"
            operands += f", i1 {condition}"
        body.do(f'call void asm sideeffect "{text}", "{constraints}~{{memory}}"({operands})')


@emits(memory.Load)
def load(state: Emission, op: memory.Load) -> None:
    """Emit a load, with its policy in assembly."""
    type_ = op.results[0].type
    if not _has_policy(op.cache, op.pointer, type_):
        general.load(state, op)
        return
    if isinstance(type_, VectorType):
        vector = "poison"
        for n, word in enumerate(load_words(state, op)):
            whole = f"<{type_.count} x i32> {vector}"
            vector = state.body.op(f"insertelement {whole}, i32 {word}, i32 {n}")
        state.set(op.results[0], vector)
        return
    assert isinstance(type_, DType)
    bits, body = type_.size * 8, state.body
    held, letter = _HELD[bits]
    text = f"ld{_WORDS[space_of(op.pointer)]}.{op.cache}.b{bits} $0, [$1];"
    with traced(state, op, op.pointer):
        address = body.op(f"ptrtoint {state.typed(op.pointer)} to i64")
        call = f'call {held} asm sideeffect "{text}", "={letter},l,~{{memory}}"(i64 {address})'
        name = body.op(call)
    register = state.register_name(type_)
    if bits == 8:
        name = body.op(f"trunc i16 {name} to i8")
    if register == "i1":
        name = body.op(f"icmp ne i8 {name}, 0")
    elif type_.is_float:
        name = body.op(f"bitcast i{bits} {name} to {register}")
    state.set(op.results[0], name)


@emits(memory.Store)
def store(state: Emission, op: memory.Store) -> None:
    """Emit a store, with its policy in assembly."""
    type_ = op.value.type
    if not _has_policy(op.cache, op.pointer, type_):
        general.store(state, op)
        return
    if isinstance(type_, VectorType):
        store_words(state, op)
        return
    assert isinstance(type_, DType)
    bits, body = type_.size * 8, state.body
    held, letter = _HELD[bits]
    name, register = state.name(op.value), state.register_name(type_)
    if type_.is_float:
        name = body.op(f"bitcast {register} {name} to i{bits}")
    elif register in ("i1", "i8"):
        name = body.op(f"zext {register} {name} to i16")
    text = f"st{_WORDS[space_of(op.pointer)]}.{op.cache}.b{bits} [$0], $1;"
    with traced(state, op, op.pointer):
        address = body.op(f"ptrtoint {state.typed(op.pointer)} to i64")
        operands = f"(i64 {address}, {held} {name})"
        body.do(f'call void asm sideeffect "{text}", "l,{letter},~{{memory}}"{operands}')
