"""Loads and stores with a cache policy, which LLVM has no instruction for."""

from __future__ import annotations

from gridlane.codegen.llvm.gpu import memory as general
from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.nvptx.overlay import emits
from gridlane.codegen.llvm.gpu.trace import traced
from gridlane.core.dtypes import DType
from gridlane.ir.ops import memory
from gridlane.ir.ops.memory import space_of
from gridlane.ir.types import Space, Type
from gridlane.ir.values import Value

_WORDS = {Space.GLOBAL: ".global", Space.GENERIC: ""}
_HELD = {8: ("i16", "h"), 16: ("i16", "h"), 32: ("i32", "r"), 64: ("i64", "l")}
"""A number's register in assembly, which has none of 8 bits, and its constraint."""


def _has_policy(policy: str, pointer: Value, type_: Type) -> bool:
    """Whether the instruction exists: policies are for numbers of global memory."""
    return bool(policy) and space_of(pointer) in _WORDS and isinstance(type_, DType)


@emits(memory.Load)
def load(state: Emission, op: memory.Load) -> None:
    """Emit a load, with its policy in assembly."""
    type_ = op.results[0].type
    if not _has_policy(op.cache, op.pointer, type_):
        general.load(state, op)
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
