"""Branches, loops and exits: divergent control flow becomes masks, with a branch around code that
no lane runs.

The mask after a construct is the mask before it, less the lanes that have left another one around
it from there; see leaving.py.
"""

from __future__ import annotations

from gridlane.analysis.uniformity import Kind
from gridlane.codegen.llvm.cpu import leaving
from gridlane.codegen.llvm.cpu.agreeing import agree, agreed, agreement
from gridlane.codegen.llvm.cpu.dispatch import emit_op, emits
from gridlane.codegen.llvm.cpu.lanes import Emission
from gridlane.codegen.llvm.cpu.prefetch import steps_of
from gridlane.codegen.llvm.cpu.serial import run_serially, serial
from gridlane.codegen.llvm.cpu.shapes import VARYING
from gridlane.codegen.llvm.cpu.wholes import all_lanes_pass, is_testable, no_lane_passes
from gridlane.core.decisions import decided
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.values import Region

_SMALL = 10
"""The most pure ops that are cheaper to run for all lanes than to branch around."""

ASSUMED_TRIPS, ALONE_TRIPS = 16, 64
"""The trip counts that the estimate of work assumes for a loop, and for one of a block of one
thread, which runs what other blocks have threads for."""

_MAX_COPIES = 1
"""The deepest nesting of copies without masks, each of which doubles the code."""

_ALL_COPIES = _MAX_COPIES + 1
"""Copies that leave no room for others inside."""


def emit_ops(state: Emission, ops: list[Op], empty: str, check_last: bool = False) -> None:
    """Emit ops in order; jump to ``empty`` when no lane is left for the rest. With ``check_last``,
    also check after the last op."""
    start = state.body.here()
    for index, op in enumerate(ops):
        before = state.mask
        start = state.body.cut(start)
        emit_op(state, op)
        if not state.open:
            return
        held = state.shapes.kills.get(op)
        if not held:
            continue
        if op.terminator:  # all lanes that reach it leave, by masks
            if check_last:
                _close(state, empty)
            return
        state.mask = leaving.remaining(state, before, held)
        if index + 1 < len(ops) or check_last:
            rest = state.body.label("rest")
            assert state.mask is not None
            state.body.branch_if(state.any(state.mask), rest, empty)
            state.body.start(rest)


def _close(state: Emission, target: str) -> None:
    """End the current block with a jump, unless it has ended."""
    if state.open:
        state.body.branch(target)
    state.open = False


def _open(state: Emission, label: str) -> None:
    state.body.start(label)
    state.open = True


@emits(control.If)
def emit_if(state: Emission, op: control.If) -> None:
    """Emit an If: a branch when uniform, masks when not."""
    if state.shapes.of(op.condition).uniform:
        decided(op.loc, "if", "all lanes agree: a branch")
        _uniform_if(state, op)
        return
    condition = state.vector(op.condition)
    if _is_small(op.then) and _is_small(op.orelse):
        decided(op.loc, "if", "lanes differ: both sides, and a choice of each result")
        _both_sides(state, op, condition)
        return
    if _is_guard(state, op):
        decided(op.loc, "if", "a copy without masks where all lanes pass, a masked one else")
        _guard(state, op, condition)
        return
    decided(op.loc, "if", "lanes differ: each side masked")
    before = state.mask
    then_mask = state.both(before, condition)
    assert then_mask is not None
    else_mask = state.without(before, condition) if op.orelse.ops else None
    _side(state, op.then, then_mask)
    if op.orelse.ops:
        assert else_mask is not None
        _side(state, op.orelse, else_mask)
    state.mask = before


def _side(state: Emission, region: Region, mask: str) -> None:
    """Emit one side of a divergent If, skipped when its mask is empty."""
    if not region.ops:
        return
    label, merge = state.body.label("side"), state.body.label("merge")
    state.body.branch_if(state.any(mask), label, merge)
    _open(state, label)
    state.mask = mask
    emit_ops(state, region.ops, merge)
    _close(state, merge)
    _open(state, merge)


def _uniform_if(state: Emission, op: control.If) -> None:
    before = state.mask
    then, merge = state.body.label("then"), state.body.label("merge")
    orelse = state.body.label("else") if op.orelse.ops else merge
    state.body.branch_if(state.uniform(op.condition), then, orelse)
    for label, region in ((then, op.then), (orelse, op.orelse)):
        if label == merge:
            continue
        _open(state, label)
        state.mask = before
        emit_ops(state, region.ops, merge)
        _close(state, merge)
    _open(state, merge)
    state.mask = before


def _is_small(region: Region) -> bool:
    """Whether a region is cheap and has no effects but writes of variables."""
    if len(region.ops) > _SMALL:
        return False
    return all(
        isinstance(op, memory.WriteVar | memory.ReadVar) or (op.pure and type(op) not in _COSTLY)
        for op in region.ops
    )


_COSTLY = (arith.Div, arith.Rem)


def _both_sides(state: Emission, op: control.If, condition: str) -> None:
    """Emit both sides without a branch; writes become selects."""
    before = state.mask
    state.mask = state.both(before, condition)
    emit_ops(state, op.then.ops, "")
    if op.orelse.ops:
        state.mask = state.without(before, condition)
        emit_ops(state, op.orelse.ops, "")
    state.mask = before


def _is_guard(state: Emission, op: control.If) -> bool:
    """Whether an If is of the ``if i < n`` kind: all lanes run it, and one scalar comparison
    decides whether all of them pass, which is the common case."""
    if state.mask is not None or op.orelse.ops or state.copies >= _MAX_COPIES:
        return False
    return is_testable(state, op.condition)


def _guard(state: Emission, op: control.If, condition: str) -> None:
    """Emit a copy without masks for when all lanes pass, and a masked copy for when some do."""
    full, check = state.body.label("full"), state.body.label("check")
    some, merge = state.body.label("some"), state.body.label("merge")
    state.body.branch_if(all_lanes_pass(state, op.condition), full, check)
    state.copies += 1
    _open(state, full)
    state.mask = None
    kept = dict(state.values)
    emit_ops(state, op.then.ops, merge)
    _close(state, merge)
    _open(state, check)
    state.values = kept
    _skip_if_none(state, op, merge)
    state.body.branch_if(state.any(condition), some, merge)
    _open(state, some)
    state.mask = condition
    emit_ops(state, op.then.ops, merge)
    _close(state, merge)
    _open(state, merge)
    state.copies -= 1
    state.mask = None


def _skip_if_none(state: Emission, op: control.If, merge: str) -> None:
    """Jump to ``merge`` where one scalar comparison says that no lane passes, as in most chunks of
    ``if thread < 4``: LLVM then compares the lanes behind that."""
    failure = no_lane_passes(state, op.condition)
    if failure is not None:
        each = state.body.label("each")
        state.body.branch_if(failure, merge, each)
        _open(state, each)


def _leading_guard(state: Emission, op: control.Loop) -> int | None:
    """The index of a test at the top of a loop's body, ``if i >= n: break``, or None. It must be
    the only divergent exit, and one scalar comparison must decide it."""
    if state.mask is not None or state.copies >= _MAX_COPIES:
        return None
    for index, test in enumerate(op.body.ops):
        if test.pure or isinstance(test, memory.ReadVar):
            continue
        if not isinstance(test, control.If) or test.orelse.ops:
            return None
        if [type(inner) for inner in test.then.ops] != [control.Break]:
            return None
        if not is_testable(state, test.condition, negate=True):
            return None
        inside = set(op.body.walk()) - {test, test.then.ops[0]}
        lost = [target for inner in inside for target, _ in state.shapes.kills.get(inner, ())]
        return None if any(target not in inside for target in lost) else index
    return None


def _whole_iterations(state: Emission, op: control.Loop, guard: int, done: str) -> None:
    """Emit a copy of a loop without masks, which runs while all lanes stay in the loop. The code
    after it resumes at the iteration in which some lane leaves. Where all lanes leave at once, the
    copy ends at ``done``, as the loop does."""
    start, rest = state.body.label("whole"), state.body.label("stay")
    apart, step = state.body.label("apart"), state.body.label("whole_step")
    test = op.body.ops[guard]
    assert isinstance(test, control.If)
    kept = dict(state.values)
    state.copies += 1
    state.body.branch(start)
    _open(state, start)
    emit_ops(state, op.body.ops[:guard], "")
    state.body.branch_if(all_lanes_pass(state, test.condition, negate=True), rest, apart)
    _open(state, rest)
    state.exits[op, "breaks"], state.exits[op, "continues"] = done, step
    for name in ("breaks", "continues"):  # of another copy, which has masks
        state.holders.pop((op, name), None)
    emit_ops(state, op.body.ops[guard + 1 :], step)
    _close(state, step)
    _open(state, step)
    emit_ops(state, op.step.ops, "")
    _close(state, start)
    _open(state, apart)
    state.copies -= 1
    state.values = kept
    state.mask = None


@emits(control.Loop)
def emit_loop(state: Emission, op: control.Loop) -> None:
    """Emit a loop, and a copy of it for lanes that agree where it starts."""
    if state.copies > _MAX_COPIES or _leading_guard(state, op) is not None:
        _loop(state, op)
        return
    agreement_here = agreement(state, op)
    if agreement_here is None:
        _lanes_apart(state, op)
        return
    work, before = state.work, state.mask
    same, apart, met = state.body.label("same"), state.body.label("apart"), state.body.label("met")
    state.body.branch_if(agree(state, agreement_here), same, apart)
    _open(state, same)
    state.copies += _ALL_COPIES
    with agreed(state, agreement_here):
        _loop(state, op)
    state.copies -= _ALL_COPIES
    _close(state, met)
    state.work = work
    _open(state, apart)
    _lanes_apart(state, op)
    _close(state, met)
    _open(state, met)
    state.mask = before


def _lanes_apart(state: Emission, op: control.Loop) -> None:
    """Emit a loop whose lanes may diverge, by masks or one lane after the other."""
    serial_plan = serial(state, op)
    if serial_plan is None:
        _loop(state, op)
        return
    decided(op.loc, "loop", "lane by lane, as scalar code: each walks along memory of its own")
    work = state.work
    state.copies += _ALL_COPIES
    run_serially(state, serial_plan, lambda: _loop(state, op))
    state.copies -= _ALL_COPIES
    state.work += (state.work - work) * (state.lanes_of_vector - 1)


def _loop(state: Emission, op: control.Loop) -> None:
    """Emit a loop; with divergent exits it runs until no lane is left."""
    work = state.work
    state.strides.update(steps_of(state, op))
    varying = state.shapes.is_varying_loop(op)
    message = "lanes differ: masked, until the last has ended" if varying else "all lanes agree"
    decided(op.loc, "loop", message)
    exits = state.shapes.exits[op]
    before = state.mask
    body, step = state.body.label("body"), state.body.label("step")
    done = state.body.label("done")
    has_continues = exits.continues >= Kind.LINEAR
    guard = _leading_guard(state, op) if varying else None
    if guard is not None:
        _whole_iterations(state, op, guard, done)
    if varying:
        leaving.enter(state, (op, "breaks"), before)
    if has_continues:
        leaving.enter(state, (op, "continues"), None)
    state.exits[op, "breaks"], state.exits[op, "continues"] = done, step
    state.body.branch(body)
    _open(state, body)
    held = set(state.shapes.kills.get(op, ()))
    if varying:
        held.add((op, "breaks"))
        state.mask = leaving.running(state, before, held)
    if has_continues:
        leaving.enter_again(state, (op, "continues"))
    # With no lane left the loop ends, unless some lanes only wait at the step.
    empty = done if varying and not has_continues else step
    emit_ops(state, op.body.ops, empty, check_last=empty == done)
    _close(state, step)
    _open(state, step)
    _step(state, op, before, held if varying else None, done if has_continues and varying else "")
    _repeat(state, body)
    _open(state, done)
    leaving.arrive(state, (op, "breaks"))
    state.mask = before
    state.work += (state.work - work) * (assumed_trips(state) - 1)


def assumed_trips(state: Emission) -> int:
    """The trip count that the estimate of work assumes for a loop."""
    return ALONE_TRIPS if state.layout.lanes == 1 else ASSUMED_TRIPS


def _repeat(state: Emission, head: str) -> None:
    """The back edge of a loop."""
    if state.repeats_loops or not state.open:
        _close(state, head)
        return
    state.repeat(head, "runtime.disable")
    state.open = False


def _step(
    state: Emission,
    op: control.Loop,
    before: str | None,
    held: set[tuple[Op | None, str]] | None,
    done: str,
) -> None:
    """Emit the step region, which every lane that is still in the loop runs."""
    leaving.arrive(state, (op, "continues"))
    state.mask = leaving.remaining(state, before, held) if held else before
    if done:
        label = state.body.label("again")
        assert state.mask is not None
        state.body.branch_if(state.any(state.mask), label, done)
        _open(state, label)
    emit_ops(state, op.step.ops, "")


@emits(control.ScopeOp)
def emit_scope(state: Emission, op: control.ScopeOp) -> None:
    """Emit a scope that lanes may leave early."""
    before = state.mask
    done = state.body.label("left")
    if state.shapes.exits[op].breaks >= Kind.LINEAR:
        leaving.enter(state, (op, "breaks"), before)
    state.exits[op, "breaks"] = done
    emit_ops(state, op.body.ops, done)
    _close(state, done)
    _open(state, done)
    leaving.arrive(state, (op, "breaks"))
    state.mask = before


@emits(control.Break, control.Continue, control.Leave, control.Return)
def emit_exit(state: Emission, op: Op) -> None:
    """Emit break, continue, leave or return: a jump if all running lanes take it, else they wait
    for the others."""
    target, _ = state.shapes.places.target(op)
    name = "continues" if isinstance(op, control.Continue) else "breaks"
    varying = bool(state.shapes.kills.get(op))
    noted = leaving.leave(state, (target, name))
    if not varying:
        _close(state, state.exits[target, name])
    elif not noted:
        raise AssertionError(f"{op.name} diverges without a holder")


@emits(memory.ReadVar)
def read_variable(state: Emission, op: memory.ReadVar) -> None:
    """Read a variable."""
    state.set(op.results[0], state.fetch(state.variables[op.var], op.var.type))


@emits(memory.WriteVar)
def write_variable(state: Emission, op: memory.WriteVar) -> None:
    """Write a variable; a write by only some of its readers is a select."""
    slot = state.variables[op.var]
    rep = state.rep(op.value)
    if op in state.shapes.masked and state.mask is not None:
        old = state.fetch(slot, op.var.type)
        rep = state.select(state.mask, state.shaped(rep, VARYING, op.var.type), old, op.var.type)
    state.keep(slot, rep, op.var.type)
