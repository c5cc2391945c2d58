"""Makes the ops of warps barriers of the block and shared memory, for devices without warps.

Threads meet at a barrier only where all of the block come to it. So control flow around such ops is
made the same for all threads: each keeps in a variable whether it would be there, and what has an
effect runs under a condition on it. The same is done where a kernel's own barriers stand behind the
end of some threads, or in control flow that is not seen to be the same for all.
"""

from __future__ import annotations

from gridlane.analysis.uniformity import BlockUniformity
from gridlane.ir.values import Module
from gridlane.passes.legalise.warps_by_blocks.lanes import MOST_THREADS
from gridlane.passes.legalise.warps_by_blocks.uniform import Uniform


def warps_by_blocks(module: Module) -> None:
    """Replace the ops of warps in a kernel whose calls are inlined, and let all threads come to its
    barriers; the block may have up to ``MOST_THREADS`` threads. Other kernels stay as they are."""
    if any(op.cross_lane for op in module.kernel.body.walk()):
        Uniform(module).rewrite()
    else:
        barriers_by_blocks(module)


def barriers_by_blocks(module: Module) -> None:
    """Let all threads come to the barriers of a kernel whose calls are inlined, for devices that
    have warps. Where a barrier is not seen to be run by all, the ops of warps are replaced too."""
    barriers = [op for op in module.kernel.body.walk() if op.barrier]
    if not barriers:
        return
    known = BlockUniformity(module.kernel)
    if any(known.divergent(op) for op in barriers):
        Uniform(module).rewrite()


__all__ = ["MOST_THREADS", "barriers_by_blocks", "warps_by_blocks"]
