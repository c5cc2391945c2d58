"""Makes the ops of warps barriers of the block and shared memory, for devices without warps.

Threads meet at a barrier only where all of the block come to it. So control flow around such ops is
made the same for all threads: each keeps in a variable whether it would be there, and what has an
effect runs under a condition on it.
"""

from __future__ import annotations

from gridlane.ir.values import Module
from gridlane.passes.warps_by_blocks.lanes import MOST_THREADS
from gridlane.passes.warps_by_blocks.uniform import Uniform


def warps_by_blocks(module: Module) -> None:
    """Replace the ops of warps in a kernel whose calls are inlined; the block may have up to
    ``MOST_THREADS`` threads. Kernels without such ops stay as they are."""
    if any(op.cross_lane for op in module.kernel.body.walk()):
        Uniform(module).rewrite()


__all__ = ["MOST_THREADS", "warps_by_blocks"]
