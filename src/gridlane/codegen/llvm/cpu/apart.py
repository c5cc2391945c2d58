"""Accesses to arrays of which no other parameter has the memory: LLVM's scopes of aliases.

Each such array is a scope, and an access to it aliases nothing of the other scopes. LLVM then makes
vectors of loops without a test, at each start of the loop, of where arrays lie.
"""

from __future__ import annotations

import re

from gridlane.codegen.llvm.cpu.lanes import Emission
from gridlane.ir.ops import memory
from gridlane.ir.types import PointerType
from gridlane.ir.values import Value

_ACCESS = re.compile(r"^  (?:%\S+ = load|store) ")


def find_scopes(state: Emission) -> None:
    """Make the scopes of the kernel's parameters."""
    apart = [
        each.value
        for each in state.shapes.function.params
        if each.noalias and isinstance(each.value.type, PointerType)
    ]
    if len(apart) < 2:
        return
    nodes = state.metadata

    def node(text: str) -> int:
        nodes.append(text.format(len(nodes) + 1))
        return len(nodes)

    domain = node("distinct !{{!{0}}}")
    scopes = [node(f"distinct !{{{{!{{0}}, !{domain}}}}}") for _ in apart]
    for value, scope in zip(apart, scopes, strict=True):
        others = ", ".join(f"!{each}" for each in scopes if each != scope)
        own, other = node(f"!{{{{!{scope}}}}}"), node(f"!{{{{{others}}}}}")
        state.scopes[value] = f", !alias.scope !{own}, !noalias !{other}"


def note_scope(state: Emission, pointer: Value, start: int) -> None:
    """Note the array that a pointer is of at the loads and stores from a line on."""
    scope = state.scopes.get(_array_of(pointer)) if state.scopes else None
    if scope is None:
        return
    lines = state.body.lines
    for index in range(start, len(lines)):
        if _ACCESS.match(lines[index]):
            lines[index] += scope


def _array_of(pointer: Value) -> Value:
    """What a pointer is an offset from."""
    while isinstance(pointer.op, memory.Offset | memory.FieldPointer | memory.Recast):
        pointer = pointer.op.pointer
    return pointer
