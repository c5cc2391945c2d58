"""The meaning of ``ir.ops.control``: which lanes are alive after an op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.core.c_formats import joined
from gridlane.interp.state import Exits, Frame
from gridlane.interp.values import Array, Lanes, filled, merged
from gridlane.ir.op import Op
from gridlane.ir.ops import control
from gridlane.ir.ops.tile_memory import TileStopIf
from gridlane.ir.values import Value

Reported = control.Raise | control.Report | control.StopIf | control.CheckAccess | TileStopIf


def _if(frame: Frame, op: control.If, mask: Array) -> Array:
    condition = frame.values[op.condition]
    assert isinstance(condition, np.ndarray)
    then = frame.run_region(frame, op.then, mask & condition)
    return then | frame.run_region(frame, op.orelse, mask & ~condition)


def _loop(frame: Frame, op: control.Loop, mask: Array) -> Array:
    return next_iterations(frame, op, mask, np.zeros_like(mask))


def next_iterations(frame: Frame, op: control.Loop, mask: Array, behind: Array) -> Array:
    """Run a loop until no lane is left in it; ``behind`` are those that have left it before."""
    while mask.any():
        frame.block.launch.check(op.loc)
        exits = Exits(frame.block.lanes)
        frame.loops.append(exits)
        mask = frame.run_region(frame, op.body, mask) | exits.to_step
        frame.loops.pop()
        mask = frame.run_region(frame, op.step, mask)
        behind = behind | exits.behind
    return behind


def _scope(frame: Frame, op: control.ScopeOp, mask: Array) -> Array:
    exits = Exits(frame.block.lanes, op.label)
    frame.scopes.append(exits)
    mask = frame.run_region(frame, op.body, mask)
    frame.scopes.pop()
    return mask | exits.behind


def _none(mask: Array) -> Array:
    return np.zeros_like(mask)


def _break(frame: Frame, op: control.Break, mask: Array) -> Array:
    frame.loops[-1].behind |= mask
    return _none(mask)


def _continue(frame: Frame, op: control.Continue, mask: Array) -> Array:
    frame.loops[-1].to_step |= mask
    return _none(mask)


def _leave(frame: Frame, op: control.Leave, mask: Array) -> Array:
    wanted = op.target or frame.scopes[-1].label
    left = next(scope for scope in reversed(frame.scopes) if scope.label == wanted)
    left.behind |= mask
    return _none(mask)


def _return(frame: Frame, op: control.Return, mask: Array) -> Array:
    values = [frame.values[value] for value in op.values]
    frame.results = tuple(
        merged(mask, new, old) for new, old in zip(values, frame.results, strict=True)
    )
    if frame.function.is_kernel:
        frame.block.end(mask)
    return _none(mask)


def _exit(frame: Frame, op: control.Exit, mask: Array) -> Array:
    frame.block.end(mask)
    return _none(mask)


def _raise(frame: Frame, op: control.Raise, mask: Array) -> Array:
    report(frame, op, mask)
    frame.block.end(mask)
    return _none(mask)


def report(
    frame: Frame,
    op: Reported,
    mask: Array,
) -> Array:
    """Record the error of an op, if it is the grid's first, for the first lane of the mask."""
    block = frame.block
    if block.launch.error is None and mask.any():
        thread = block.thread(int(mask.argmax()))
        block.launch.error = (op.code, block.index, thread)
        block.launch.numbers = tuple([_number(frame, value, mask) for value in _numbers_of(op)])
    return mask


def _numbers_of(op: Reported) -> tuple[Value, ...]:
    """The numbers of an error's detail."""
    if isinstance(op, control.CheckAccess):
        return (op.pointer,)
    return () if isinstance(op, control.Report | TileStopIf) else op.numbers


def _number(frame: Frame, value: Value, mask: Array) -> int:
    lanes = frame.values[value]
    assert isinstance(lanes, np.ndarray)
    return int(lanes[mask.argmax()])


def _stop_if(frame: Frame, op: control.StopIf, mask: Array) -> Array:
    condition = frame.values[op.condition]
    assert isinstance(condition, np.ndarray)
    failed = mask & condition
    report(frame, op, failed)
    frame.block.end(failed)
    return mask & ~failed


def _check_access(frame: Frame, op: control.CheckAccess, mask: Array) -> Array:
    addresses = frame.values[op.pointer]
    assert isinstance(addresses, np.ndarray)
    failed = mask.copy()
    failed[mask] = ~frame.block.launch.memory.holds(addresses[mask], op.bytes)
    report(frame, op, failed)
    frame.block.end(failed)
    return mask & ~failed


def _call(frame: Frame, op: control.Call, mask: Array) -> Array:
    block = frame.block
    callee = block.launch.module.functions[op.callee]
    arguments = tuple(frame.values[value] for value in op.arguments)
    inner = None if frame.tracker is None else frame.tracker.entered(op, callee)
    frame.calling = op
    results = block.launch.run_function(block, callee, arguments, mask, inner)
    for each in block.parted:
        mask = mask & ~each.lanes
    return finish_call(frame, op, mask, results, inner)


def finish_call(
    frame: Frame, op: control.Call, mask: Array, results: tuple[Lanes, ...], inner: Any
) -> Array:
    """Take the results of a call for the lanes that have returned; ``inner`` is its tracker."""
    block = frame.block
    if frame.tracker is not None:
        frame.tracker.left(op, inner, mask)
    for value, new in zip(op.results, results, strict=True):
        old = frame.values.get(value)
        old = filled(value.type, block.lanes) if old is None else old
        frame.values[value] = merged(mask, new, old)
    return mask & ~block.ended


def _print(frame: Frame, op: control.Print, mask: Array) -> Array:
    arguments = [frame.values[value] for value in op.arguments]
    for lane in np.flatnonzero(mask):
        values: list[Any] = [value[lane] for value in arguments]
        frame.block.launch.prints.append(joined(op.parts, op.formats, values) + op.end)
    return mask


CONTROL: dict[type[Op], Callable[[Any, Any, Array], Array]] = {
    control.If: _if,
    control.Loop: _loop,
    control.ScopeOp: _scope,
    control.Break: _break,
    control.Continue: _continue,
    control.Leave: _leave,
    control.Return: _return,
    control.Exit: _exit,
    control.Raise: _raise,
    control.StopIf: _stop_if,
    control.CheckAccess: _check_access,
    control.Report: report,
    control.Call: _call,
    control.Print: _print,
}
