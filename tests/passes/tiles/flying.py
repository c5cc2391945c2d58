"""A check of products in flight: what they read stays as it is until their wait."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from gridlane.interp import machine, warpgroups
from gridlane.ir.ops.copies import AsyncCopy
from gridlane.ir.ops.warpgroups import WarpgroupCommit, WarpgroupMma, WarpgroupWait

Read = tuple[Any, np.ndarray, np.ndarray]
"""A block's memory, addresses in it, and what was there when a product began."""


class Watch:
    """The products in flight, of blocks whose warps run in lockstep.

    Attributes:
        most: the most groups that were in flight behind a wait.
    """

    def __init__(self) -> None:
        self.open: list[Read] = []
        self.groups: list[list[Read]] = []
        self.most = 0

    def fill(self, targets: np.ndarray) -> None:
        """Require that the copy of 16 bytes to each target overwrites no factor in flight."""
        for group in [*self.groups, self.open]:
            for _, places, _ in group:
                assert not np.isin(places // 16, targets // 16).any(), "a factor is overwritten"

    def wait(self, pending: int) -> None:
        """Require that the groups which are done have read what was there at their begin."""
        done = len(self.groups) - pending
        for group in self.groups[: max(done, 0)]:
            for memory, places, before in group:
                now = memory.gather(places, before.dtype)
                np.testing.assert_array_equal(now, before, "a factor in flight is overwritten")
        self.groups = self.groups[max(done, 0) :]
        self.most = max(self.most, len(self.groups))


@contextmanager
def watched() -> Generator[Watch]:
    """Watch all products by warpgroups in the interpreter."""
    watch, places = Watch(), warpgroups.places
    frames: list[Any] = []

    def noted(*args: Any) -> Any:
        where = places(*args)
        flat, kind = where.reshape(-1), np.dtype(f"u{args[4]}")
        memory = frames[-1].block.launch.memory
        watch.open.append((memory, flat, memory.gather(flat, kind).copy()))
        return where

    def product(frame: Any, *args: Any) -> Any:
        frames.append(frame)
        return before[WarpgroupMma](frame, *args)

    def commit(frame: Any, *args: Any) -> None:
        watch.groups.append(watch.open)
        watch.open = []

    def wait(frame: Any, op: WarpgroupWait, *args: Any) -> Any:
        watch.wait(op.pending)
        return before[WarpgroupWait](frame, op, *args)

    def copy(frame: Any, op: AsyncCopy, mask: Any, target: Any, source: Any) -> None:
        watch.fill(target[mask])
        before[AsyncCopy](frame, op, mask, target, source)

    before = dict(machine.OBSERVE)
    changes = {
        WarpgroupMma: product, WarpgroupCommit: commit, WarpgroupWait: wait, AsyncCopy: copy,
    }  # fmt: skip
    with (
        patch.object(warpgroups, "places", noted),
        patch.dict(machine.OBSERVE, changes),  # type: ignore[arg-type]  # of these classes
    ):
        yield watch
    assert not watch.open and not watch.groups, "products that nothing awaits"
