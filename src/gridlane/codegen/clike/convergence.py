"""Refuses barriers that not all threads of a block may reach: shaders wait for all of them, also
for those that have ended."""

from __future__ import annotations

from gridlane.codegen.clike.base import Dialect
from gridlane.core.errors import TargetError
from gridlane.ir.values import Function
from gridlane.passes.uniform_control import Uniformity


def require_convergence(kernel: Function, dialect: Dialect) -> None:
    """See that barriers, and where lanes exchange through shared memory warp ops, are run by all
    threads of the block.

    Raises:
        TargetError: at an op that some may not reach.
    """
    ops = [op for op in kernel.body.walk() if op.barrier or op.cross_lane]
    if not ops:
        return
    known = Uniformity(kernel)
    for op in ops:
        if op.barrier and op in known.lost:
            raise TargetError(
                f"{dialect.device} wait at a {op.name} for every thread of the block, and some may "
                "have ended by then: keep them to the end, with an if round what they shall not do",
                op.loc,
                (("a thread may end here", known.lost[op].loc),),
            )
        together = dialect.strict if op.barrier else not dialect.has_warps
        if together and op in known.divergent:
            raise TargetError(
                f"{dialect.device} do a {op.name} with all threads of the block, and only some may "
                "come here: move it out of the branch or loop that depends on the thread",
                op.loc,
            )
