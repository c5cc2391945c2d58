"""Lowers structured control flow to SPIR-V's: selections and loops that declare their merge blocks.

A branch may leave selections, but only the innermost loop. So a ``leave`` through loops and scopes
sets a variable, which is tested after the end of each of these. A scope is a loop that runs once.
"""

from __future__ import annotations

from gridlane.analysis.crossings import is_left_by
from gridlane.codegen.spirv import scalars
from gridlane.codegen.spirv.emission import TABLE, Emission, Exits, emits
from gridlane.codegen.spirv.opcodes import Opcode
from gridlane.core.dtypes import b1
from gridlane.core.errors import TargetError
from gridlane.ir.op import Op
from gridlane.ir.ops import control
from gridlane.ir.values import Region


def emit_region(state: Emission, region: Region) -> bool:
    """Emit the ops in order; whether their end is reachable. Unreachable ops are dropped."""
    for op in region.ops:
        emit_op(state, op)
        if op.terminator or state.code.ended:
            return False
    return True


def emit_op(state: Emission, op: Op) -> None:
    """Emit one op.

    Raises:
        TargetError: the target has no such op.
    """
    emitter = TABLE.get(type(op))
    if emitter is not None:
        emitter(state, op)
        return
    operands = [state.name(value) for value in op.operands()]
    emitted = scalars.emit(state.code, op, operands)
    if emitted is None:
        raise TargetError(f"the vulkan target has no {op.name}", op.loc)
    state.set(op.results[0], emitted)


@emits(control.If)
def branch(state: Emission, op: control.If) -> None:
    """Emit two sides that join."""
    code = state.code
    then, orelse, merge = code.fresh(), code.fresh(), code.fresh()
    sides = [(then, op.then)]
    if op.orelse.ops:
        sides.append((orelse, op.orelse))
    code.do(Opcode.SelectionMerge, merge, 0)
    on_false = orelse if op.orelse.ops else merge
    code.do(Opcode.BranchConditional, state.name(op.condition), then, on_false)
    reached = not op.orelse.ops
    for label, region in sides:
        code.start(label)
        if emit_region(state, region):
            code.branch(merge)
            reached = True
    _join(state, merge, reached)


def _join(state: Emission, merge: int, reached: bool) -> None:
    """Open the merge block, which must exist even if it is unreachable."""
    state.code.start(merge)
    if not reached:
        state.code.do(Opcode.Unreachable)


@emits(control.Loop)
def loop(state: Emission, op: control.Loop) -> None:
    """Emit the body and the step, with a back edge."""
    code = state.code
    head, exits = _open(state, op)
    if emit_region(state, op.body):
        code.branch(exits.next)
    code.start(exits.next)
    emit_region(state, op.step)
    code.branch(head)
    state.exits.pop()
    _join(state, exits.merge, exits.used)
    _go_on_leaving(state, op)


def _open(state: Emission, op: Op) -> tuple[int, Exits]:
    """Start a loop: (the label of its head, its exits)."""
    code = state.code
    head, body = code.fresh(), code.fresh()
    exits = Exits(op, code.fresh(), code.fresh())
    code.branch(head)
    code.start(head)
    code.do(Opcode.LoopMerge, exits.merge, exits.next, 0)
    code.branch(body)
    code.start(body)
    state.exits.append(exits)
    return head, exits


def _go_on_leaving(state: Emission, op: Op) -> None:
    """After a loop or scope, continue to leave the scopes that the thread is leaving."""
    for scope in state.crossings.of.get(op, ()):
        left = next(exits.left for exits in state.exits if exits.op is scope)
        state.exits[-1].used = True
        state.code.stop_if(state.code.get(b1, left), state.exits[-1].merge)


@emits(control.ScopeOp)
def scope(state: Emission, op: control.ScopeOp) -> None:
    """Emit a body whose end ``leave`` jumps to."""
    if op not in state.crossings.left:
        emit_region(state, op.body)
        return
    code = state.code
    left = 0
    if op in state.crossings.scopes:
        left = code.local(b1)
        code.set(left, code.const(False, b1))
    head, exits = _open(state, op)
    exits.left = left
    if emit_region(state, op.body):
        exits.used = True
        code.branch(exits.merge)
    code.start(exits.next)
    code.branch(head)
    state.exits.pop()
    _join(state, exits.merge, exits.used)
    _go_on_leaving(state, op)


@emits(control.Leave)
def leave_scope(state: Emission, op: control.Leave) -> None:
    """Jump to the end of the scope; out of loops and scopes in it, one after the other."""
    around = ((exits, exits.op) for exits in reversed(state.exits))
    left = next(e for e, o in around if isinstance(o, control.ScopeOp) and is_left_by(o, op))
    if left is not state.exits[-1]:
        state.code.set(left.left, state.code.const(True, b1))
    leave_loop(state, op)


@emits(control.Break)
def leave_loop(state: Emission, op: Op) -> None:
    """Jump to the end of the innermost loop."""
    state.exits[-1].used = True
    state.code.branch(state.exits[-1].merge)


@emits(control.Continue)
def continue_loop(state: Emission, op: Op) -> None:
    """Jump to the step."""
    state.code.branch(state.exits[-1].next)


@emits(control.Return)
def leave_kernel(state: Emission, op: control.Return) -> None:
    """End the thread: calls are inlined, so the function is the kernel."""
    state.code.do(Opcode.Return)
