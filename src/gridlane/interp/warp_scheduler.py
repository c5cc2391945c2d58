"""Run the warps of a block by turns, where some wait in loops for others, and the blocks of a
cluster.

One warp runs at a time, in order, until it waits: at ``run_others`` for its next turn, at a barrier
until all warps of its block that have not ended wait at it, and at one of the cluster or of the
grid until all of these do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gridlane.analysis.warp_scheduling import takes_turns
from gridlane.core.errors import KernelError
from gridlane.core.source import describe
from gridlane.interp.cooperative import Seat
from gridlane.interp.state import Block, Shape
from gridlane.interp.values import Array
from gridlane.ir.op import Op
from gridlane.ir.ops.clusters import ClusterSync, ClusterWait
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
    seats = [_Warp(warp, run) for warp in warps]
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


class _Warp(Seat):
    """The thread of a warp, or of a block in lockstep."""

    def __init__(self, block: Block, run: Callable[[Block], None]) -> None:
        self.block = block
        super().__init__(block.index, lambda _: run(block))
        block.wait = self.wait

    @property
    def arrivals(self) -> int:
        """How often all threads that have not ended have arrived at the cluster's barrier."""
        return int(self.block.arrivals[self._running].min(initial=1 << 62))

    @property
    def waits(self) -> int:
        """How often some thread has waited there."""
        return int(self.block.waits[self._running].max(initial=0))

    @property
    def _running(self) -> Array:
        return self.block.threads & ~self.block.ended


def _round(running: list[_Warp], block: Block) -> None:
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


def _ready(running: list[_Warp]) -> list[_Warp]:
    """Those that need not wait for others."""
    arrivals = min(seat.arrivals for seat in running)
    blocks: dict[Shape, list[_Warp]] = {}
    for seat in running:
        blocks.setdefault(seat.index, []).append(seat)
    ready: list[_Warp] = []
    for seats in blocks.values():
        free = [seat for seat in seats if _is_free(seat, arrivals)]
        if not free and all(isinstance(seat.waiting, Barrier) for seat in seats):
            _check(seats)
            free = seats
        ready += free
    return ready


def _is_free(seat: _Warp, arrivals: int) -> bool:
    if isinstance(seat.waiting, ClusterSync | ClusterWait):
        return arrivals >= seat.waits
    return not isinstance(seat.waiting, Barrier | GridSync)


def _check(running: Sequence[Seat]) -> None:
    barriers = list(dict.fromkeys(seat.waiting for seat in running))
    first, second = barriers[0], barriers[-1]
    assert isinstance(first, Op) and isinstance(second, Op)
    if first is second and isinstance(first, ClusterSync | ClusterWait):
        text = f"{first.name}: not all threads of the cluster arrive at its barrier"
        text = f"{text} (at {first.loc})"
        raise KernelError("\n".join(filter(None, (text, describe(first.loc)))))
    if first is second:
        return
    text = (
        f"{second.name}: not all threads of block {running[0].index} come to the same barrier: "
        f"some wait at that at {first.loc}, others at this one (at {second.loc})"
    )
    raise KernelError("\n".join(filter(None, (text, describe(second.loc), describe(first.loc)))))
