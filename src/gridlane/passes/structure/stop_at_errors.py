"""Turns ``if failed: raise`` into an op that ends the launch: no lane is masked behind it."""

from __future__ import annotations

from gridlane.ir.op import Op
from gridlane.ir.ops import control
from gridlane.ir.values import Module, Region


def stop_at_errors(module: Module) -> None:
    """Turn ``if failed: raise`` into ``stop_if``, which ends the launch and masks no lanes."""
    for function in module.functions.values():
        _rewrite(function.body)


def _rewrite(region: Region) -> None:
    for number, op in enumerate(region.ops):
        for inner in op.regions():
            _rewrite(inner)
        error = _error(op)
        if isinstance(op, control.If) and error is not None:
            stop = control.StopIf(op.condition, error.code, error.numbers, loc=error.loc)
            region.ops[number] = stop


def _error(op: Op) -> control.Raise | None:
    """The error that is all of a branch."""
    if not isinstance(op, control.If) or op.orelse.ops or len(op.then.ops) != 1:
        return None
    only = op.then.ops[0]
    return only if isinstance(only, control.Raise) else None
