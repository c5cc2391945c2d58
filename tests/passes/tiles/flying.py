"""A check of products in flight: what they read stays as it is until their wait."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from gridlane.core.dtypes import b1, u32
from gridlane.interp import clusters, machine, warpgroups
from gridlane.interp import tensors as copies_of_boxes
from gridlane.ir.builder import Builder
from gridlane.ir.ops import arith, grid
from gridlane.ir.ops.clusters import TensorMulticast
from gridlane.ir.ops.copies import AsyncCopy
from gridlane.ir.ops.tensors import BulkCommit, BulkWait, TensorLoad, TensorStore
from gridlane.ir.ops.warpgroups import WARPS, WarpgroupCommit, WarpgroupMma, WarpgroupWait
from gridlane.ir.ops.warpgroups import thread_number as number_of
from gridlane.ir.values import Module, Region
from gridlane.passes.legalise.expand_ops import expand_mbarriers
from gridlane.passes.structure.barriers_by_turns import barriers_by_turns
from gridlane.passes.structure.take_turns import take_turns

Read = tuple[Any, np.ndarray, np.ndarray]
"""A block's memory, addresses in it, and what was there when a product began."""


class Watch:
    """The products in flight of each part of a block that runs in lockstep: a warp where warps take
    turns.

    Attributes:
        most: the most groups that were in flight behind a wait.
    """

    def __init__(self) -> None:
        self.open: dict[Any, list[Read]] = defaultdict(list)
        self.groups: dict[Any, list[list[Read]]] = defaultdict(list)
        self.most = 0

    def fill(self, targets: np.ndarray) -> None:
        """Require that the copy of 16 bytes to each target overwrites no factor in flight."""
        for groups in [*self.groups.values(), [*self.open.values()]]:
            for _, places, _ in (read for group in groups for read in group):
                assert not np.isin(places // 16, targets // 16).any(), "a factor is overwritten"

    def wait(self, who: Any, pending: int) -> None:
        """Require that the groups which are done have read what was there at their begin."""
        groups = self.groups[who]
        done = max(len(groups) - pending, 0)
        for group in groups[:done]:
            for memory, places, before in group:
                now = memory.gather(places, before.dtype)
                np.testing.assert_array_equal(now, before, "a factor in flight is overwritten")
        self.groups[who] = groups[done:]
        self.most = max(self.most, len(groups) - done)


class LateStores:
    """Copies of boxes to tensors, each done as late as it may be: shared memory is read where a
    thread waits for that, and the tensor is written where it waits for the whole copy. As on GPUs
    whole chunks of 16 bytes are written, also where a line of the tensor ends in one."""

    def __init__(self) -> None:
        self.open: dict[Any, list[Any]] = defaultdict(list)
        self.groups: dict[Any, list[list[Any]]] = defaultdict(list)
        self.read: dict[Any, list[Any]] = defaultdict(list)

    def store(
        self, frame: Any, op: TensorStore, mask: Any, start: Any, map_: Any, *corner: Any
    ) -> None:
        for lane in np.flatnonzero(mask):
            one = np.zeros(len(mask), np.bool_)
            one[lane] = True
            copy = frame, one, start.copy(), map_.copy(), [each.copy() for each in corner]
            self.open[frame.block, int(lane)].append(copy)

    def commit(self, frame: Any, op: BulkCommit, mask: Any) -> None:
        for lane in np.flatnonzero(mask):
            who = frame.block, int(lane)
            self.groups[who].append(self.open.pop(who, []))

    def wait(self, frame: Any, op: BulkWait, mask: Any) -> None:
        for lane in np.flatnonzero(mask):
            who = frame.block, int(lane)
            groups = self.groups[who]
            done = max(len(groups) - op.pending, 0)
            for group in groups[:done]:
                self.read[who] += [each for copy in group for each in self._values(*copy)]
            self.groups[who] = groups[done:]
            if not op.only_reads:
                assert not op.pending
                self.write(who)

    def _values(self, frame: Any, mask: Any, start: Any, map_: Any, corner: Any) -> Any:
        memory = frame.block.launch.memory
        for _, box in copies_of_boxes._boxes(frame, mask, start, map_, tuple(corner), True):
            values = memory.gather(box.shared[box.inside], box.bits)
            yield memory, box.there[box.inside], values

    def write(self, who: Any) -> None:
        """Do a thread's copies whose memory has been read."""
        for memory, there, values in self.read.pop(who, []):
            memory.scatter(there, values)

    def end(self) -> None:
        """Require that shared memory has been read, and do the rest."""
        unread = [
            *self.open.values(),
            *[each for groups in self.groups.values() for each in groups],
        ]
        assert not any(unread), "shared memory ends before it is read"
        for who in [*self.read]:
            self.write(who)


@contextmanager
def watched() -> Generator[Watch]:
    """Watch all products by warpgroups in the interpreter."""
    watch, places = Watch(), warpgroups.places
    frames: list[Any] = []

    def noted(*args: Any) -> Any:
        where = places(*args)
        flat, kind = where.reshape(-1), np.dtype(f"u{args[4]}")
        block = frames[-1].block
        memory = block.launch.memory
        watch.open[block].append((memory, flat, memory.gather(flat, kind).copy()))
        return where

    def product(frame: Any, *args: Any) -> Any:
        frames.append(frame)
        return before[WarpgroupMma](frame, *args)

    def commit(frame: Any, *args: Any) -> None:
        watch.groups[frame.block].append(watch.open.pop(frame.block, []))

    def wait(frame: Any, op: WarpgroupWait, mask: Any, *values: Any) -> Any:
        watch.wait(frame.block, op.pending)
        return values[0] if len(values) == 1 else values or None

    def copy(frame: Any, op: AsyncCopy, mask: Any, target: Any, source: Any) -> None:
        watch.fill(target[mask])
        before[AsyncCopy](frame, op, mask, target, source)

    def load(frame: Any, op: TensorLoad, mask: Any, start: Any, *args: Any) -> None:
        watch.fill(start[mask])
        before[TensorLoad](frame, op, mask, start, *args)

    def multicast(
        frame: Any, op: TensorMulticast, mask: Any, start: Any, map_: Any, bar: Any, blocks: Any,
        *args: Any,
    ) -> None:  # fmt: skip
        for rank in range(len(frame.block.cluster)):
            here = mask & (blocks >> rank & 1 > 0)
            ranks = np.full(len(mask), rank, np.uint32)
            watch.fill(clusters.peer_address(frame, op, here, start, ranks)[here])
        before[TensorMulticast](frame, op, mask, start, map_, bar, blocks, *args)

    before, late = dict(machine.OBSERVE), LateStores()
    changes = {
        TensorStore: late.store, BulkCommit: late.commit, BulkWait: late.wait,
        WarpgroupMma: product, WarpgroupCommit: commit, WarpgroupWait: wait, AsyncCopy: copy,
        TensorLoad: load, TensorMulticast: multicast,
    }  # fmt: skip
    with (
        patch.object(warpgroups, "places", noted),
        patch.object(WarpgroupWait, "barrier", False),
        patch.dict(machine.OBSERVE, changes),  # type: ignore[arg-type]  # of these classes
    ):
        yield watch
        late.end()
    assert not any(watch.open.values()) and not any(watch.groups.values()), "not awaited"


def by_turns(module: Module) -> None:
    """Change a module so that its warps take turns: those of a warpgroup meet at its waits. It runs
    while products are ``watched``."""
    function = module.kernel
    b = Builder(module, function)
    _meet(b, function.body)
    expand_mbarriers(module)
    barriers_by_turns(module)
    take_turns(module)


def _meet(b: Builder, region: Region) -> None:
    ops, region.ops = region.ops, []
    for op in ops:
        for inner in op.regions():
            _meet(b, inner)
        if isinstance(op, WarpgroupWait):
            with b.inside(Region()) as before:
                group = b.binary(arith.Shr, number_of(b), b.const(7, u32))
                count, false = b.const(32 * WARPS, u32), b.const(False, b1)
                kind = grid.Reduction.NONE
                b.emit(grid.BarrierPart(kind, group, count, false, hidden=True))
            region.ops += before.ops
        region.ops.append(op)
