"""Runs the threads that arrive at a barrier before those that wait at it.

Devices that run a block's threads in the order of the program, one side of a branch after the
other, need the side that arrives without waiting first. Sides are independent: no thread runs both.
"""

from __future__ import annotations

from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control
from gridlane.ir.ops.grid import BarrierArrive, BarrierPart
from gridlane.ir.values import Module, Region


def arrive_first(module: Module) -> None:
    """Swap the sides of branches where the first waits and the second one arrives."""
    for function in module.functions.values():
        if any(isinstance(op, BarrierArrive) for op in function.body.walk()):
            _region(function.body)


def _region(region: Region) -> None:
    ops: list[Op] = []
    for op in region.ops:
        for inner in op.regions():
            _region(inner)
        if isinstance(op, control.If) and _waits_first(op):
            other = arith.Not(op.condition, loc=op.loc)
            op.condition = other.result
            op.then, op.orelse = op.orelse, op.then
            ops.append(other)
        ops.append(op)
    region.ops = ops


def _waits_first(op: control.If) -> bool:
    first, second = op.then, op.orelse
    return (
        any(isinstance(inner, BarrierPart) for inner in first.walk())
        and any(isinstance(inner, BarrierArrive) for inner in second.walk())
        and not any(isinstance(inner, BarrierArrive) for inner in first.walk())
    )
