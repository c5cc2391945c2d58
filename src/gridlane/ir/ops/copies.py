"""Asynchronous copies from global to shared memory.

A thread's copies are committed in groups, and it waits for groups. A copy reads its source and
writes its target at any time between its start and the wait that covers it; a thread that reads the
target, or writes the source, in between is in a race. Other threads see the data after a barrier
that follows the wait. A copy that no wait covers may arrive late or never.
"""

from __future__ import annotations

from gridlane.ir.op import Op, Scope, operation
from gridlane.ir.ops.memory import element_of, space_of
from gridlane.ir.types import Space
from gridlane.ir.values import Value

SIZES = (4, 8, 16)
"""Bytes that one thread copies at once."""


@operation("async_copy")
class AsyncCopy(Op):
    """Start to copy 4, 8 or 16 ``bytes``. Both addresses are aligned to that size."""

    target: Value
    source: Value
    bytes: int

    def check(self, scope: Scope) -> None:
        for side, space in ((self.target, Space.SHARED), (self.source, Space.GLOBAL)):
            element_of(self, side)
            self.require(space_of(side) is space, f"{side.type} is not {space.name.lower()} memory")
        self.require(self.bytes in SIZES, f"copies 4, 8 or 16 bytes, not {self.bytes}")


@operation("async_commit")
class AsyncCommit(Op):
    """Make a group of this thread's copies that are in none yet; it may be empty."""


@operation("async_wait")
class AsyncWait(Op):
    """Wait until at most the ``pending`` latest of this thread's groups are in flight. Copies that
    are in no group are not waited for."""

    pending: int

    def check(self, scope: Scope) -> None:
        self.require(self.pending >= 0, f"cannot leave {self.pending} groups")
