"""Kernels whose warps take turns on a host's core."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gridlane.ir.op import Op
from gridlane.ir.ops.clusters import ClusterArrive, ClusterSync, ClusterWait
from gridlane.ir.ops.grid import Barrier, BarrierArrive, RunOthers
from gridlane.ir.values import Module


def may_take_turns(ops: Sequence[Op]) -> bool:
    """Whether the warps of a kernel with these ops may wait for each other in any order: each runs
    until it waits, and the next one goes on. Barriers are then places where a warp waits until all
    do, which barriers of some threads and what these are lowered to, reductions, are not."""
    meets = [op for op in ops if op.barrier or isinstance(op, BarrierArrive)]
    known = Barrier | ClusterArrive | ClusterSync | ClusterWait | RunOthers
    return all(isinstance(op, known) for op in meets)


def is_clustered(module: Module, ops: Sequence[Op]) -> bool:
    """Whether the warps of a kernel's clusters take turns: of several blocks, or of one that waits
    at the cluster's barrier."""
    waits = any(isinstance(op, ClusterArrive | ClusterSync | ClusterWait) for op in ops)
    return waits or math.prod(module.cluster) > 1


def takes_turns(ops: Sequence[Op]) -> bool:
    """Whether warps of a kernel with these ops do so: some wait for what others do."""
    return any(isinstance(op, RunOthers) for op in ops) and may_take_turns(ops)
