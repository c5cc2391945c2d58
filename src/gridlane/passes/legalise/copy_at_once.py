"""Expands asynchronous copies into loads and stores, for targets without such copies."""

from __future__ import annotations

from gridlane.core.dtypes import u32
from gridlane.ir.op import Op
from gridlane.ir.ops import copies, memory
from gridlane.ir.types import Type, vector
from gridlane.ir.values import Module, Region, Value


def copy_at_once(module: Module) -> None:
    """Make every copy synchronous, so that it is complete at every wait."""
    for function in module.functions.values():
        _rewrite(function.body)


def _rewrite(region: Region) -> None:
    ops: list[Op] = []
    for op in region.ops:
        for inner in op.regions():
            _rewrite(inner)
        if isinstance(op, copies.AsyncCopy):
            ops += _plain(op)
        elif not isinstance(op, copies.AsyncCommit | copies.AsyncWait):
            ops.append(op)
    region.ops = ops


def _plain(op: copies.AsyncCopy) -> list[Op]:
    """A load and a store of the copy's size."""
    count = op.bytes // u32.size
    type_: Type = u32 if count == 1 else vector(u32, count)

    def recast(value: Value) -> memory.Recast:
        return memory.Recast(value, memory.pointer_beside(value, type_), loc=op.loc)

    source, target = recast(op.source), recast(op.target)
    load = memory.Load(source.result, loc=op.loc)
    return [source, load, target, memory.Store(target.result, load.result, loc=op.loc)]
