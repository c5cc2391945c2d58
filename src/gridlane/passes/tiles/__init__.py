"""Lowers programs over tiles (stage ``tile``) to the threads of a block (stage ``kernel``)."""

from __future__ import annotations

from gridlane.ir.families import TILES
from gridlane.ir.types import TileType
from gridlane.ir.values import Function, Module
from gridlane.passes.tiles.machine import TileMachine

__all__ = ["TileMachine", "has_tiles", "lower_tiles"]


def has_tiles(module: Module) -> bool:
    """Whether a module is a program over tiles."""
    return module.program_warps > 0 or any(map(_uses_tiles, module.functions.values()))


def _uses_tiles(function: Function) -> bool:
    if any(isinstance(var.type, TileType) for var in function.variables):
        return True
    return any(op.name in TILES for op in function.body.walk())


def lower_tiles(module: Module, machine: TileMachine) -> None:
    """Lower a program over tiles to the threads of a block; other modules are left alone.

    Raises:
        TargetError: an op that a program over tiles cannot have, or more memory than a block has.
    """
    if not has_tiles(module):
        return
    from gridlane.passes.optimise.promote import promote_variables
    from gridlane.passes.structure.inline import inline_into
    from gridlane.passes.tiles.advances import split_advances
    from gridlane.passes.tiles.fitting import lower_fitting

    inline_into(module, module.kernel)
    promote_variables(module)
    split_advances(module)
    promote_variables(module)
    lower_fitting(machine, module)
    module.program_warps = module.program_warps or 1
    promote_variables(module)
