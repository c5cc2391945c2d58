"""Lowers the ops of warps to barriers of the block and shared memory, for devices without warps.

Threads meet at a barrier only in uniform control flow. So control flow around such ops is made
uniform: each thread keeps in a variable whether it is active, and ops with an effect run under a
condition on it. The pass does the same where a kernel's own barriers come after the end of some
threads, or in control flow that is not known to be uniform.
"""

from __future__ import annotations

from gridlane.analysis.uniformity import BlockUniformity
from gridlane.ir.values import Module
from gridlane.passes.legalise.warps_by_blocks.lanes import MOST_THREADS
from gridlane.passes.legalise.warps_by_blocks.uniform import Uniform


def warps_by_blocks(module: Module) -> None:
    """Replace the ops of warps in a kernel whose calls are inlined, and make its barriers uniform;
    the block may have up to ``MOST_THREADS`` threads. Other kernels stay as they are."""
    if any(op.cross_lane for op in module.kernel.body.walk()):
        Uniform(module).rewrite()
    else:
        barriers_by_blocks(module)


def barriers_by_blocks(module: Module) -> None:
    """Make the barriers of a kernel whose calls are inlined uniform, for devices that have warps.
    The ops of warps are replaced too where a barrier is not known to be uniform."""
    barriers = [op for op in module.kernel.body.walk() if op.barrier]
    if not barriers:
        return
    known = BlockUniformity(module.kernel)
    if any(known.divergent(op) for op in barriers):
        Uniform(module).rewrite()


__all__ = ["MOST_THREADS", "barriers_by_blocks", "warps_by_blocks"]
