"""Schedules the warps of a block in turns if they wait for each other in spin loops.

On a device that runs the warps of a block one after the other, a warp that waits for a later one
would never end. So each iteration of such a loop except the first yields to the others.
"""

from __future__ import annotations

from gridlane.analysis.warp_scheduling import may_take_turns
from gridlane.core.dtypes import b1
from gridlane.ir.builder import Builder
from gridlane.ir.ops import control
from gridlane.ir.ops.grid import RunOthers
from gridlane.ir.values import Module, Region
from gridlane.passes.structure.release_first import is_spin


def take_turns(module: Module) -> None:
    """Insert an op into each spin loop that yields to the other warps."""
    functions = module.functions.values()
    ops = [op for function in functions for op in function.body.walk()]
    if not may_take_turns(ops):
        return
    if not any(is_spin(op, of_warps=True) for op in ops):
        return
    for function in functions:
        _in_region(Builder(module, function), function.body)


def _in_region(b: Builder, region: Region) -> None:
    for loop in list(region.ops):
        for inner in loop.regions():
            _in_region(b, inner)
        if isinstance(loop, control.Loop) and is_spin(loop, of_warps=True):
            _in_loop(b, region, loop)


def _in_loop(b: Builder, region: Region, loop: control.Loop) -> None:
    b.loc = loop.loc
    again = b.variable("again", b1)
    with b.inside(Region()) as before:
        b.write(again, b.const(False, b1))
    with b.inside(Region()) as top:
        with b.if_(b.read(again)):
            b.emit(RunOthers())
        b.write(again, b.const(True, b1))
    loop.body.ops[:0] = top.ops
    index = region.ops.index(loop)
    region.ops[index:index] = before.ops
