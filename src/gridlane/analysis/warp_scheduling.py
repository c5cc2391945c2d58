"""Kernels whose warps take turns on a host's core."""

from __future__ import annotations

from collections.abc import Sequence

from gridlane.ir.op import Op
from gridlane.ir.ops.clusters import ClusterSync
from gridlane.ir.ops.grid import Barrier, BarrierArrive, RunOthers


def may_take_turns(ops: Sequence[Op]) -> bool:
    """Whether the warps of a kernel with these ops may wait for each other in any order: each runs
    until it waits, and the next one goes on. Barriers are then places where a warp waits until all
    do, which barriers of some threads and what these are lowered to, reductions, are not."""
    meets = [op for op in ops if op.barrier or isinstance(op, BarrierArrive)]
    return all(isinstance(op, Barrier | ClusterSync | RunOthers) for op in meets)


def takes_turns(ops: Sequence[Op]) -> bool:
    """Whether warps of a kernel with these ops do so: some wait for what others do."""
    return any(isinstance(op, RunOthers) for op in ops) and may_take_turns(ops)
