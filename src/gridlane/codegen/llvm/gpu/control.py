"""Lowers structured control flow to branches."""

from __future__ import annotations

from dataclasses import replace

from gridlane.codegen.llvm import scalars
from gridlane.codegen.llvm.gpu.emission import Emission, emits
from gridlane.codegen.llvm.gpu.lines import line_mark
from gridlane.core.errors import TargetError
from gridlane.ir.op import Op
from gridlane.ir.ops import control
from gridlane.ir.values import Region


def emit_region(state: Emission, region: Region) -> bool:
    """Emit the ops in order; whether their end is reachable."""
    for op in region.ops:
        emit_op(state, op)
        if op.terminator:
            return False
    return True


def emit_op(state: Emission, op: Op) -> None:
    """Emit one op.

    Raises:
        TargetError: the target has no such op.
    """
    state.body.mark = line_mark(state, op.loc)
    emitter = state.emitter(type(op))
    if emitter is not None:
        emitter(state, op)
        return
    operands = [state.name(value) for value in op.operands()]
    emitted = scalars.emit(state.body, op, 0, operands)
    if emitted is None:
        raise TargetError(f"the {state.overlay.target} target has no {op.name}", op.loc)
    state.set(op.results[0], emitted)


@emits(control.If)
def branch(state: Emission, op: control.If) -> None:
    """Emit two sides that join."""
    body = state.body
    then, orelse, join = body.label("then"), body.label("else"), body.label("join")
    sides = [(then, op.then)]
    if op.orelse.ops:
        sides.append((orelse, op.orelse))
    body.branch_if(state.name(op.condition), then, orelse if op.orelse.ops else join)
    for label, region in sides:
        body.start(label)
        if emit_region(state, region):
            body.branch(join)
    body.start(join)


@emits(control.Loop)
def loop(state: Emission, op: control.Loop) -> None:
    """Emit the body and the step, with a back edge."""
    body = state.body
    head, step, end = body.label("loop"), body.label("step"), body.label("end")
    outer = state.targets
    state.targets = replace(outer, end=end, step=step)
    body.branch(head)
    body.start(head)
    if emit_region(state, op.body):
        body.branch(step)
    body.start(step)
    emit_region(state, op.step)
    body.do(f"br label %{head}{_unrolling(state, op.unroll)}")
    state.targets = outer
    body.start(end)


def _unrolling(state: Emission, times: int) -> str:
    """The unroll hint of a loop as metadata of its back edge."""
    if not times:
        return ""
    text = '"llvm.loop.unroll.disable"' if times == 1 else '"llvm.loop.unroll.count"'
    wish = state.node(f"!{{!{text}}}" if times == 1 else f"!{{!{text}, i32 {times}}}")
    return f", !llvm.loop !{state.node(f'distinct !{{!$self, !{wish}}}')}"


@emits(control.ScopeOp)
def scope(state: Emission, op: control.ScopeOp) -> None:
    """Emit a body that ``leave`` jumps out of."""
    end = state.body.label("left")
    outer = state.targets
    state.targets = replace(outer, scope=end)
    state.ends[op.label] = end
    if emit_region(state, op.body):
        state.body.branch(end)
    state.targets = outer
    state.body.start(end)


@emits(control.Break)
def leave_loop(state: Emission, op: Op) -> None:
    """Jump to the end of the loop."""
    state.body.branch(state.targets.end)


@emits(control.Continue)
def continue_loop(state: Emission, op: Op) -> None:
    """Jump to the step."""
    state.body.branch(state.targets.step)


@emits(control.Leave)
def leave_scope(state: Emission, op: control.Leave) -> None:
    """Jump to the end of the scope."""
    state.body.branch(state.ends[op.target] if op.target else state.targets.scope)


@emits(control.Return)
def leave_kernel(state: Emission, op: control.Return) -> None:
    """End the thread: calls are inlined, so the function is the kernel."""
    state.body.do(state.leaving)
