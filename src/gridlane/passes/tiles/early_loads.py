"""Moves loads in front of reductions that they do not depend on.

Threads wait for each other at a reduction, so what they load behind it arrives one latency later,
and a store of it needs a barrier more, as it may overwrite what others have yet to load. Loads that
move stand in registers meanwhile, so they are few: up to ``EARLY`` bytes of a thread.
"""

from __future__ import annotations

from gridlane.ir.op import Op
from gridlane.ir.ops import memory, tile_memory, tiles
from gridlane.ir.values import Module, Region, Value
from gridlane.passes.tiles.machine import TileMachine
from gridlane.passes.tiles.placement import COMPUTED, EARLY, bytes_of


def move_loads(module: Module, machine: TileMachine) -> None:
    """Move loads of the kernel in front of the first reduction outside of loops and branches, where
    threads are not lanes of one processor."""
    region = module.kernel.body
    reductions = [n for n, op in enumerate(region.ops) if isinstance(op, tiles.TileReduce)]
    if not machine.vectors or machine.lockstep or not reductions:
        return
    first, room = reductions[0], EARLY * machine.threads(module.program_warps or 1)
    moved: dict[Op, None] = {}
    behind: set[Op] = set()
    for op in region.ops[first:]:
        if not _may_cross(op):
            break
        behind.add(op)
        size = bytes_of(op)
        if not isinstance(op, tile_memory.TileLoad) or size > room or not size:
            continue
        needed: dict[Op, None] = {}
        if all(_gather(value, behind, moved, needed) for value in op.operands()):
            moved |= needed | {op: None}
            room -= size
    _reorder(region, first, moved)


def _may_cross(op: Op) -> bool:
    """Whether a load may run in front of an op: nothing ends there, nor is written."""
    if isinstance(op, tile_memory.TileLoad | memory.Load):
        return not op.volatile
    return not op.REGION_FIELDS and (op.pure or isinstance(op, tiles.TileReduce | memory.ReadVar))


def _gather(value: Value, behind: set[Op], moved: dict[Op, None], needed: dict[Op, None]) -> bool:
    """Whether a value exists in front of the ops in ``behind``, or may: ``needed`` gets its ops."""
    waiting = [value]
    while waiting:
        op = waiting.pop().op
        if op is None or op not in behind or op in moved or op in needed:
            continue
        if not op.pure or isinstance(op, COMPUTED):
            return False
        needed[op] = None
        waiting += op.operands()
    return True


def _reorder(region: Region, first: int, moved: dict[Op, None]) -> None:
    rest = region.ops[first:]
    early = [op for op in rest if op in moved]
    region.ops = [*region.ops[:first], *early, *[op for op in rest if op not in moved]]
