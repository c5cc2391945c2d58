"""Asynchronous copies in flight: those that a block has started and not waited for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gridlane.interp.memory import Memory
from gridlane.interp.values import Array


@dataclass(slots=True, eq=False)
class Started:
    """A copy of some lanes: the addresses and the group number of each lane."""

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
    """The copies of a block that are in flight, and how many groups each lane has committed."""

    def __init__(self, lanes: int) -> None:
        self.committed = np.zeros(lanes, np.int64)
        self.started: list[Started] = []

    def wait(self, memory: Memory, mask: Array, pending: int) -> None:
        """Perform the copies that lanes wait for, in the order in which they started."""
        left: list[Started] = []
        for copy in self.started:
            due = mask[copy.lanes] & (copy.group < self.committed[copy.lanes] - pending)
            if due.any():
                copy.only(due).perform(memory)
            if not due.all():
                left.append(copy.only(~due))
        self.started = left
