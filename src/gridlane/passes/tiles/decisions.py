"""What the lowering decides, for ``explain``: where tiles are, how products are computed."""

from __future__ import annotations

from gridlane.core.decisions import asked, decided
from gridlane.core.dtypes import DType
from gridlane.core.source import Loc
from gridlane.ir.ops import tiles
from gridlane.ir.ops.matrix import DEPTHS
from gridlane.ir.ops.warpgroups import DEPTH_BYTES
from gridlane.ir.types import PointerType, TileType
from gridlane.ir.values import Module
from gridlane.passes.tiles.machine import TileMachine
from gridlane.passes.tiles.placement import Schedule

_POINTER = 8
"""The bytes of a pointer, which tiles may have as elements."""


def program(machine: TileMachine, module: Module, threads: int) -> None:
    """The threads of a program, and their shared memory."""
    if not asked():
        return
    used = sum(item.size for item in module.static_shared())
    if machine.lockstep:
        how = f"one vector of {threads} lanes at a time, with {used} bytes of the worker's memory"
    else:
        how = f"{threads} threads, with {used} of at most {machine.shared} bytes of shared memory"
    decided(module.kernel.loc, "program", how)


def stored(
    machine: TileMachine, type_: TileType, loc: Loc, own: int, stages: int = 1, name: str = ""
) -> None:
    """A tile that is stored.

    Args:
        own: elements that each thread keeps in its registers; 0 in memory of the block.
        stages: of a ring.
        name: of a variable.
    """
    if not asked():
        return
    shape = "x".join(map(str, type_.shape))
    element = type_.element
    text = f"{name and f'{name}, '}"
    text += f"{'pointers' if isinstance(element, PointerType) else element} of {shape}"
    if own:
        decided(loc, "tile", f"{text}: {own} of each thread in its registers")
        return
    size = _POINTER if isinstance(element, PointerType) else getattr(element, "size", _POINTER)
    where = "the worker's memory" if machine.lockstep else "shared memory"
    ring = f", {stages} of them" if stages > 1 else ""
    decided(loc, "tile", f"{text}: {type_.count * size} bytes of {where}{ring}")


def product(
    machine: TileMachine, op: tiles.TileDot, schedule: Schedule | None, factors: str = ""
) -> None:
    """How a product is computed; ``factors``: what they are, if not their elements."""
    if not asked():
        return
    left = op.lhs.type
    assert isinstance(left, TileType) and isinstance(left.element, DType)
    if machine.lockstep:
        how = "packed factors, and sums in vector registers"
    elif schedule is None:
        how = "each element by itself, from memory"
    elif schedule.groups is not None:
        count, groups = tiles.tile_of(op, op.rhs).shape[-1], schedule.groups
        shape = f"64x{count // groups.across}x{DEPTH_BYTES // left.element.size}"
        how = (
            f"instructions of warpgroups of {shape} {factors or left.element}, by "
            f"{groups.down} of these down and {groups.across} across, with "
            f"{schedule.layout.count} sums in the registers of each thread"
        )
    elif schedule.matrices is not None:
        how = (
            f"matrices of 16x16 {left.element}, by {schedule.matrices.down} subgroups down and "
            f"{schedule.matrices.across} across, with {schedule.layout.count} sums of each thread"
        )
    elif schedule.warps is None:
        how = f"multiply-adds, with {schedule.layout.count} sums in the registers of each thread"
    else:
        depth, warps = DEPTHS[left.element], schedule.warps
        each = f" for each of {schedule.batches} parts" if schedule.batches > 1 else ""
        how = (
            f"matrix instructions of 16x8x{depth} {left.element}, by {warps.down} warps down and "
            f"{warps.across} across{each}, with {schedule.layout.count} sums in the registers "
            "of each thread"
        )
    decided(op.loc, "product", how)


def pipeline(loc: Loc, loads: int, stages: int) -> None:
    """The loads that a loop copies ahead."""
    if asked():
        tiles_ = "the tile" if loads == 1 else f"the {loads} tiles"
        decided(loc, "loop", f"copies {tiles_} of later iterations ahead, in {stages} stages")


def produced(loc: Loc, loads: int, stages: int) -> None:
    """Loads that a warp of their own copies."""
    if asked():
        what = "the block" if loads == 1 else f"the {loads} blocks"
        how = f"a warp of its own copies {what} by tensor maps, in {stages} stages"
        decided(loc, "load", how)


def stored_by_map(loc: Loc) -> None:
    """A store that goes on while the next tile is computed."""
    if asked():
        decided(loc, "store", "by a tensor map, while the next iteration runs")


def shared(loc: Loc, size: int) -> None:
    """A load of which the programs of a cluster copy a part each to all."""
    if asked():
        decided(loc, "load", f"each of {size} programs in a cluster copies a part of it to all")


def no_cluster(loc: Loc, why: str) -> None:
    """Why programs are in no cluster, for which the launch asks."""
    decided(loc, "program", f"no cluster of programs shares its loads: {why}")


def no_producer(loc: Loc, why: str) -> None:
    """Why no warp of their own copies loads."""
    decided(loc, "load", f"no warp of its own copies blocks by tensor maps: {why}")
