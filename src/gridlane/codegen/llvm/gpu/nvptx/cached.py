"""Loads and stores with a cache policy, which LLVM has no instruction for."""

from __future__ import annotations

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


def _load_words(state: Emission, op: memory.Load, count: int) -> None:
    body = state.body
    targets = ", ".join(f"${n}" for n in range(count))
    text = f"ld{_WORDS[space_of(op.pointer)]}.{op.cache}.v{count}.b32 {{{targets}}}, [${count}];"
    result = "{ " + ", ".join(["i32"] * count) + " }"
    constraints = ",".join(["=r"] * count) + ",l,~{memory}"
    with traced(state, op, op.pointer):
        address = body.op(f"ptrtoint {state.typed(op.pointer)} to i64")
        words = body.op(f'call {result} asm sideeffect "{text}", "{constraints}"(i64 {address})')
    vector = "poison"
    for n in range(count):
        word = body.op(f"extractvalue {result} {words}, {n}")
        vector = body.op(f"insertelement <{count} x i32> {vector}, i32 {word}, i32 {n}")
    state.set(op.results[0], vector)


def _store_words(state: Emission, op: memory.Store, count: int) -> None:
    body, vector = state.body, state.name(op.value)
    sources = ", ".join(f"${n + 1}" for n in range(count))
    text = f"st{_WORDS[space_of(op.pointer)]}.{op.cache}.v{count}.b32 [$0], {{{sources}}};"
    words = [body.op(f"extractelement <{count} x i32> {vector}, i32 {n}") for n in range(count)]
    with traced(state, op, op.pointer):
        address = body.op(f"ptrtoint {state.typed(op.pointer)} to i64")
        operands = ", ".join([f"i64 {address}", *(f"i32 {word}" for word in words)])
        constraints = "l," + "r," * count + "~{memory}"
        body.do(f'call void asm sideeffect "{text}", "{constraints}"({operands})')


@emits(memory.Load)
def load(state: Emission, op: memory.Load) -> None:
    """Emit a load, with its policy in assembly."""
    type_ = op.results[0].type
    if not _has_policy(op.cache, op.pointer, type_):
        general.load(state, op)
        return
    if isinstance(type_, VectorType):
        _load_words(state, op, type_.count)
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
        _store_words(state, op, type_.count)
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
