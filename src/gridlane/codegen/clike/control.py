"""Lowers the IR's structured control flow to C's statements."""

from __future__ import annotations

from gridlane.analysis.crossings import is_left_by
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
    _go_on_leaving(state, op)


def _go_on_leaving(state: Emission, op: Op) -> None:
    """After a loop or scope, continue to leave the scopes around it that a thread is leaving."""
    for scope in state.crossings.of.get(op, ()):
        flag = next(c.flag for c in reversed(state.constructs) if c.op is scope)
        state.line(f"if ({flag}) {{ break; }}")


@emits(control.ScopeOp)
def scope(state: Emission, op: control.ScopeOp) -> None:
    """Emit a block that ``break`` leaves. If a loop or scope inside leaves it, a flag makes the ops
    after that one, and the loops and scopes around it, break too."""
    construct = Construct(op)
    if op in state.crossings.scopes:
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
    _go_on_leaving(state, op)


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
def leave_scope(state: Emission, op: control.Leave) -> None:
    """Leave the scope; from a loop or scope in it, set the scope's flag."""
    around = ((c, c.op) for c in reversed(state.constructs))
    left = next(c for c, o in around if isinstance(o, control.ScopeOp) and is_left_by(o, op))
    if left is not state.constructs[-1]:
        state.line(f"{left.flag} = true;")
    state.line("break;")
