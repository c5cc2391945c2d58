"""Run the warps of a block by turns, where some wait in loops for others, and the blocks of a
cluster.

One warp runs at a time, in order, until it waits: at ``run_others`` for its next turn, at a barrier
until all warps of its block that have not ended wait at it, and at one of the cluster or of the
grid until all of these do.
"""

from __future__ import annotations

from collections.abc import Callable

from gridlane.analysis.warp_scheduling import takes_turns
from gridlane.core.errors import KernelError
from gridlane.core.source import describe
from gridlane.interp.cooperative import Seat
from gridlane.interp.state import Block, Shape
from gridlane.ir.op import Op
from gridlane.ir.ops.clusters import ClusterSync
from gridlane.ir.ops.grid import Barrier, GridSync
from gridlane.ir.values import Module


def warps_take_turns(module: Module) -> bool:
    """Whether warps of the kernel's blocks wait for each other."""
    return takes_turns([op for f in module.functions.values() for op in f.body.walk()])


def run_by_turns(warps: list[Block], run: Callable[[Block], None]) -> None:
    """Run the warps of a block, or of the blocks of a cluster, to their ends; each is a ``Block``,
    also a whole block in lockstep.

    Raises:
        KernelError: they wait at different barriers, or one of them has failed.
    """
    seats = [Seat(warp.index, lambda _, warp=warp: run(warp)) for warp in warps]
    for warp, seat in zip(warps, seats, strict=True):
        warp.wait = seat.wait
    running = seats
    try:
        while running:
            _round(running, warps[0])
            running = [seat for seat in running if not seat.done]
    finally:
        if running:
            warps[0].launch.stopped = True  # also for a warp in an endless loop
        for seat in running:
            if not seat.done:
                seat.stop()


def _round(running: list[Seat], block: Block) -> None:
    """Run each warp that does not wait at a barrier, or all of a block or of the cluster which wait
    at one, until it waits or ends."""
    ready = _ready(running)
    if not ready:
        _check(running)
        if isinstance(running[0].waiting, GridSync) and block.launch.meet is not None:
            block.launch.meet(block.index, running[0].waiting)
    for seat in ready or running:
        seat.turn()
        if seat.error is not None:
            raise seat.error


def _ready(running: list[Seat]) -> list[Seat]:
    """Those that need not wait for other blocks."""
    blocks: dict[Shape, list[Seat]] = {}
    for seat in running:
        blocks.setdefault(seat.index, []).append(seat)
    ready: list[Seat] = []
    for seats in blocks.values():
        free = [s for s in seats if not isinstance(s.waiting, Barrier | ClusterSync | GridSync)]
        if not free and all(isinstance(seat.waiting, Barrier) for seat in seats):
            _check(seats)
            free = seats
        ready += free
    return ready


def _check(running: list[Seat]) -> None:
    barriers = list(dict.fromkeys(seat.waiting for seat in running))
    if len(barriers) == 1:
        return
    first, second = barriers[:2]
    assert isinstance(first, Op) and isinstance(second, Op)
    text = (
        f"{second.name}: not all threads of block {running[0].index} come to the same barrier: "
        f"some wait at that at {first.loc}, others at this one (at {second.loc})"
    )
    raise KernelError("\n".join(filter(None, (text, describe(second.loc), describe(first.loc)))))
