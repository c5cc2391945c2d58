"""Dispatches an op to its emitter. The modules of this package register theirs with ``emits``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.analysis.uniformity import Kind
from gridlane.codegen.emitters import Emitters
from gridlane.codegen.llvm import scalars
from gridlane.codegen.llvm.cpu.debug_lines import has_place, mark
from gridlane.codegen.llvm.cpu.lanes import Emission, InMemory, Linear, Rep, Uniform, Varying
from gridlane.codegen.llvm.cpu.likely import note
from gridlane.codegen.llvm.text import scalar_name
from gridlane.core.errors import TargetError
from gridlane.ir.op import Op

Emit = Callable[[Emission, Any], None]
EMITTERS = Emitters(scalars.TABLE)
"""The emitters of this code generator; its other modules register them."""
TABLE: dict[type[Op], Emit] = EMITTERS.table
emits = EMITTERS.emits


def emit_op(state: Emission, op: Op) -> None:
    """Emit one op.

    Raises:
        TargetError: the cpu target has no such op.
    """
    state.work += 1
    function = TABLE.get(type(op))
    if function is not None:
        before = len(state.body.lines)
        function(state, op)
        if has_place(op):
            mark(state, op, before)
    elif type(op) in scalars.TABLE:
        elementwise(state, op)
    else:
        raise TargetError(f"the cpu target has no {op.name}", op.loc)
    for result in op.results:
        if state.shapes.of(result).likely is not None:
            note(state, op, result)
        slot = state.crossing.get(result)
        if slot is not None and not isinstance(state.values[result], InMemory):
            state.keep(state.placed(slot), state.values[result], result.type)


def elementwise(state: Emission, op: Op) -> None:
    """Emit an op that is the same per lane: on the scalar when uniform, else on the vectors."""
    shape = state.shapes.of(op.results[0])
    if shape.kind is Kind.LINEAR:
        state.set(op.results[0], _linear(state, op))
        return
    lanes = 0 if shape.uniform and _all_uniform(state, op) else state.lanes
    held = state.uniform if not lanes else state.vector
    name = scalars.emit(state.body, op, lanes, [held(value) for value in op.operands()])
    assert name is not None
    if lanes and shape.uniform:
        # Differences of two linear values: the strides cancel, so the result is uniform.
        name, lanes = state.extract(name, _scalar(op), 0), 0
    set_result(state, op, name, lanes)


def operands_of(state: Emission, op: Op) -> tuple[list[str], int]:
    """(the operands of an op, lanes): scalars, and 0 lanes, where the result is uniform."""
    lanes = 0 if state.shapes.of(op.results[0]).uniform else state.lanes
    held = state.vector if lanes else state.uniform
    return [held(value) for value in op.operands()], lanes


def set_result(state: Emission, op: Op, name: str, lanes: int) -> None:
    """Set the result of such an op."""
    state.set(op.results[0], Varying(name) if lanes else Uniform(name))


def _scalar(op: Op) -> str:
    return scalar_name(op.results[0].type)


def _all_uniform(state: Emission, op: Op) -> bool:
    return all(isinstance(state.rep(value), Uniform) for value in op.operands())


def _linear(state: Emission, op: Op) -> Rep:
    """Emit an op on linear integers, on their bases."""
    bases: list[str] = []
    for value in op.operands():
        rep = state.rep(value)
        assert isinstance(rep, Linear | Uniform), (op.name, rep)
        bases.append(rep.base if isinstance(rep, Linear) else rep.name)
    name = scalars.emit(state.body, op, 0, bases)
    assert name is not None
    return Linear(name, state.shapes.of(op.results[0]).stride)
