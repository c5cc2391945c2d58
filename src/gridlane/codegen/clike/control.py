"""Lowers the IR's structured control flow to C's statements."""

from __future__ import annotations

from gridlane.codegen.clike.emission import TABLE, Construct, Emission, emits
from gridlane.core.dtypes import b1
from gridlane.ir.op import Op
from gridlane.ir.ops import control
from gridlane.ir.values import Region


def emit_region(state: Emission, region: Region) -> bool:
    """Emit the ops in order; whether their end is reachable."""
    for op in region.ops:
        emitter = TABLE.get(type(op))
        if emitter is None:
            raise state.refuse(op, "it has no such op")
        emitter(state, op)
        if op.terminator:
            return False
    return True


@emits(control.If)
def branch(state: Emission, op: control.If) -> None:
    """Emit if and else."""
    with state.block_of(f"if ({state.name(op.condition)}) {{"):
        emit_region(state, op.then)
    if op.orelse.ops:
        with state.block_of("else {"):
            emit_region(state, op.orelse)


@emits(control.Loop)
def loop(state: Emission, op: control.Loop) -> None:
    """Emit an endless loop. The step is emitted at its end and before each ``continue``; it is
    short."""
    with state.block_of(state.dialect.loop):
        state.constructs.append(Construct(op))
        if emit_region(state, op.body):
            emit_region(state, op.step)
        state.constructs.pop()
    if _leaves(op.body):
        state.line(f"if ({_innermost_scope(state).flag}) {{ break; }}")


@emits(control.ScopeOp)
def scope(state: Emission, op: control.ScopeOp) -> None:
    """Emit a block that ``break`` leaves. Where a loop inside leaves it, a flag tells the ops after
    that loop, and the loops around it, to break too."""
    construct = Construct(op)
    if _leaves_from_loop(op.body):
        construct.flag = state.variable(state.dialect.types[b1], "false")
    begin, end = state.dialect.once
    state.line(begin)
    state.depth += 1
    state.constructs.append(construct)
    reaches = emit_region(state, op.body)
    state.constructs.pop()
    if not end.startswith("}"):  # the block is a loop that its last statement leaves
        statement, _, end = end.partition(" ")
        if reaches:
            state.line(statement)
    state.depth -= 1
    state.line(end)


@emits(control.Break)
def leave_loop(state: Emission, op: Op) -> None:
    """Leave the loop, which is the innermost construct."""
    state.line("break;")


@emits(control.Continue)
def continue_loop(state: Emission, op: Op) -> None:
    """Emit the step, then continue with the next iteration."""
    innermost = state.constructs[-1].op
    assert isinstance(innermost, control.Loop)
    emit_region(state, innermost.step)
    state.line("continue;")


@emits(control.Leave)
def leave_scope(state: Emission, op: Op) -> None:
    """Leave the scope; from a loop in it, set the scope's flag."""
    if isinstance(state.constructs[-1].op, control.Loop):
        state.line(f"{_innermost_scope(state).flag} = true;")
    state.line("break;")


def _innermost_scope(state: Emission) -> Construct:
    return next(c for c in reversed(state.constructs) if isinstance(c.op, control.ScopeOp))


def _leaves(region: Region) -> bool:
    """Whether an op in a region leaves a scope around it."""
    for op in region.ops:
        if isinstance(op, control.Leave):
            return True
        if not isinstance(op, control.ScopeOp) and any(map(_leaves, op.regions())):
            return True
    return False


def _leaves_from_loop(region: Region) -> bool:
    """Whether a loop in a scope's body has a ``leave`` of that scope."""
    for op in region.ops:
        if isinstance(op, control.ScopeOp):
            continue
        if isinstance(op, control.Loop) and _leaves(op.body):
            return True
        if any(map(_leaves_from_loop, op.regions())):
            return True
    return False
