"""Loads and stores of vectors under a condition: instructions with a predicate.

LLVM makes them a branch each, and moves what is stored into it, so that all operands of that stay
in registers until then; ptxas moves no load out of its place in a branch.
"""

from __future__ import annotations

from gridlane.codegen.llvm.gpu import control as general
from gridlane.codegen.llvm.gpu.control import emit_op
from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.nvptx.cached import load_words, store_words, words_of
from gridlane.codegen.llvm.gpu.nvptx.overlay import emits
from gridlane.ir.op import Op
from gridlane.ir.ops import control, memory
from gridlane.ir.values import Value, Var


@emits(control.If)
def branch(state: Emission, op: control.If) -> None:
    """Emit an access of words with the condition as its predicate; other code as branches."""
    ops = [*op.then.ops]
    casts: list[Op] = []
    while ops and isinstance(ops[0], memory.Recast):
        casts.append(ops.pop(0))
    plain = bool(ops) and not op.orelse.ops and not state.options.debug
    access = ops[0] if plain else None
    if isinstance(access, memory.Load | memory.Store) and access.volatile:
        access = None
    if isinstance(access, memory.Store) and len(ops) == 1 and words_of(access):
        for each in casts:
            emit_op(state, each)
        store_words(state, access, state.name(op.condition))
        return
    variables = _variables(state, access, ops[1:]) if isinstance(access, memory.Load) else []
    if isinstance(access, memory.Load) and variables:
        for each in casts:
            emit_op(state, each)
        _load(state, access, variables, state.name(op.condition))
        return
    general.branch(state, op)


def _variables(state: Emission, load: memory.Load, rest: list[Op]) -> list[Var]:
    """The variables that words of a load are written to, in order; none where there is other
    code."""
    count = words_of(load)
    if not count or _is_constant(state, load.pointer):
        return []
    parts, writes = rest[:count], rest[count:]
    found: list[Var] = []
    for number, (part, write) in enumerate(zip(parts, writes, strict=False)):
        if not isinstance(part, memory.Part) or not isinstance(write, memory.WriteVar):
            return []
        if part.whole is not load.results[0] or part.index != number or write.value.op is not part:
            return []
        found.append(write.var)
    alone = count == len(found) == len(set(found)) and len(rest) == 2 * count
    return found if alone else []


def _is_constant(state: Emission, pointer: Value) -> bool:
    """Whether an address is in an array that nothing writes, which LLVM reads by ``ld.nc``."""
    while isinstance(pointer.op, memory.Recast | memory.Offset):
        pointer = pointer.op.pointer
    return any(param.value is pointer and param.readonly for param in state.module.kernel.params)


def _load(state: Emission, op: memory.Load, variables: list[Var], condition: str) -> None:
    """Load words into variables under a condition, which keep what they are without it."""
    body = state.body
    slots = [state.slots[var] for var in variables]
    before = [body.op(f"load i32, ptr {slot}") for slot in slots]
    for slot, word in zip(slots, load_words(state, op, condition, before), strict=True):
        body.do(f"store i32 {word}, ptr {slot}")
