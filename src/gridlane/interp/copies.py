"""The meaning of ``ir.ops.copies``: a copy is done as late as it may be, at the wait that covers
it, so that a missing wait shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gridlane.interp.memory import Memory
from gridlane.interp.values import Array
from gridlane.ir.op import Op
from gridlane.ir.ops import copies

if TYPE_CHECKING:
    from gridlane.interp.state import Frame


@dataclass(slots=True, eq=False)
class Started:
    """A copy of some lanes: addresses and the number of the group, of each of them."""

    size: int
    lanes: Array
    target: Array
    source: Array
    group: Array

    def only(self, chosen: Array) -> Started:
        """The copies of some of its lanes."""
        parts = (self.lanes, self.target, self.source, self.group)
        return Started(self.size, *[part[chosen] for part in parts])

    def perform(self, memory: Memory) -> None:
        """Copy."""
        dtype: np.dtype[Any] = np.dtype((np.void, self.size))
        memory.scatter(self.target, memory.gather(self.source, dtype))


class Copies:
    """The copies of a block that are under way, and how many groups each lane has committed."""

    def __init__(self, lanes: int) -> None:
        self.committed = np.zeros(lanes, np.int64)
        self.started: list[Started] = []

    def wait(self, memory: Memory, mask: Array, pending: int) -> None:
        """Perform what lanes wait for, in the order of the starts."""
        left: list[Started] = []
        for copy in self.started:
            due = mask[copy.lanes] & (copy.group < self.committed[copy.lanes] - pending)
            if due.any():
                copy.only(due).perform(memory)
            if not due.all():
                left.append(copy.only(~due))
        self.started = left


def _copy(frame: Frame, op: copies.AsyncCopy, mask: Array, target: Array, source: Array) -> None:
    block = frame.block
    for addresses in (target, source):
        block.launch.memory.check(addresses[mask], op.bytes, op.bytes)
    lanes = np.flatnonzero(mask)
    group = block.copies.committed[lanes]
    started = Started(op.bytes, lanes, target[mask], source[mask], group)
    block.copies.started.append(started)


def _commit(frame: Frame, op: Op, mask: Array) -> None:
    frame.block.copies.committed[mask] += 1


def _wait(frame: Frame, op: copies.AsyncWait, mask: Array) -> None:
    frame.block.copies.wait(frame.block.launch.memory, mask, op.pending)


OBSERVE: dict[type[Op], Callable[..., None]] = {
    copies.AsyncCopy: _copy,
    copies.AsyncCommit: _commit,
    copies.AsyncWait: _wait,
}
