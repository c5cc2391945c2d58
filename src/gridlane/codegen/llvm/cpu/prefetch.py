"""Prefetches of the next iteration, in loops whose lanes each run scalar code.

A processor starts the loads of later iterations by itself while few instructions lie between. The
scalar code of all lanes, as that of atomics is, is longer than its lookahead, and a loop in strides
of the grid has no pattern of lines that it could predict.
"""

from __future__ import annotations

from gridlane.codegen.llvm.cpu.lanes import Emission, Linear, Uniform
from gridlane.codegen.llvm.text import Body
from gridlane.core.dtypes import i64
from gridlane.ir.ops import arith, atomic, control, memory
from gridlane.ir.types import PointerType
from gridlane.ir.values import Value, Var

LINE = 64
"""Bytes of a cache line."""
LEAST_LANES = 64
"""Chunks with fewer lanes have little scalar code."""


def steps_of(state: Emission, op: control.Loop) -> dict[Var, Value]:
    """The variables that a loop's step adds to, with what it adds, where prefetching pays."""
    if state.lanes < LEAST_LANES or not any(isinstance(o, atomic.Atomic) for o in op.body.walk()):
        return {}
    steps: dict[Var, Value] = {}
    for write in op.step.ops:
        if isinstance(write, memory.WriteVar) and isinstance(write.value.op, arith.Add):
            total = write.value.op
            if _reads(total.lhs, write.var) and _outside(state, op, total.rhs):
                steps[write.var] = total.rhs
    return steps


def _outside(state: Emission, loop: control.Loop, value: Value) -> bool:
    path = () if value.op is None else state.shapes.places.path.get(value.op, ())
    return value.type is i64 and all(container is not loop for container, _ in path)


def _reads(value: Value, var: Var) -> bool:
    return isinstance(value.op, memory.ReadVar) and value.op.var is var


def prefetch(state: Emission, op: memory.Load) -> None:
    """Prefetch the lines that a load of neighbouring elements reads in the next iteration."""
    offset, pointer = op.pointer.op, state.rep(op.pointer)
    if not isinstance(offset, memory.Offset) or not isinstance(pointer, Linear):
        return
    index = offset.index.op
    step = state.strides.get(index.var) if isinstance(index, memory.ReadVar) else None
    rep = None if step is None else state.values.get(step)
    assert isinstance(offset.pointer.type, PointerType)
    size = offset.pointer.type.element.size
    if not isinstance(rep, Uniform) or pointer.stride != size:
        return
    body = state.body
    ahead = body.op(f"getelementptr [{size} x i8], ptr {pointer.base}, i64 {rep.name}")
    for step_offset in range(0, size * state.lanes, LINE):
        fetch_line(body, body.op(f"getelementptr i8, ptr {ahead}, i64 {step_offset}"))


def fetch_line(body: Body, address: str, level: int = 3) -> None:
    """Fetch a cache line to read it; ``level``: 3 for the first cache, 2 for the second."""
    read_data = [("i32", "0"), ("i32", str(level)), ("i32", "1")]
    body.call("void", "llvm.prefetch.p0", [("ptr", address), *read_data])
