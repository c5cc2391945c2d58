"""The meaning of ``ir.ops.grid``. In lockstep a barrier only checks that all threads reach it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.core.config import config
from gridlane.core.errors import KernelError
from gridlane.core.source import describe
from gridlane.interp.parting import part, wait_apart
from gridlane.interp.state import Frame, Shape
from gridlane.interp.values import WARP, Array, Lanes
from gridlane.ir.op import Op
from gridlane.ir.ops import grid


def _thread_idx(frame: Frame, op: grid.ThreadIdx, mask: Array) -> Array:
    return frame.block.thread_index[op.axis.value]


def _same_for_all(frame: Frame, shape: Shape, axis: grid.Axis) -> Array:
    return np.full(frame.block.lanes, shape[axis.value], np.int32)


def _block_idx(frame: Frame, op: grid.BlockIdx, mask: Array) -> Array:
    return _same_for_all(frame, frame.block.index, op.axis)


def _block_dim(frame: Frame, op: grid.BlockDim, mask: Array) -> Array:
    return _same_for_all(frame, frame.block.launch.shape, op.axis)


def _grid_dim(frame: Frame, op: grid.GridDim, mask: Array) -> Array:
    return _same_for_all(frame, frame.block.launch.grid, op.axis)


def _lane_id(frame: Frame, op: grid.LaneId, mask: Array) -> Array:
    return frame.block.lane


def wait_for_block(frame: Frame, op: Op, mask: Array) -> None:
    """Threads that end without reaching the barrier are not waited for, so a barrier that some
    threads pass is an error only once these reach another one."""
    block = frame.block
    late = block.passed_by & mask
    if late.any():
        assert block.passed is not None
        passed, here = block.passed.loc, block.thread(int(late.argmax()))
        text = (
            f"{op.name}: not all threads of block {block.index} come to the same barrier: thread "
            f"{here} does not come to that at {passed}, where others wait, and comes to this one "
            f"(at {op.loc})"
        )
        raise KernelError("\n".join(filter(None, (text, describe(op.loc), describe(passed)))))
    if block.parted:
        raise wait_apart(block, op, block.parted[0].op)
    missing = block.threads & ~block.ended & ~mask
    if missing.any():
        block.passed_by, block.passed = block.passed_by | missing, op
    if block.wait is not None:
        block.wait(op)


def _grid_sync(frame: Frame, op: grid.GridSync, mask: Array) -> Array:
    """Threads that end without reaching the barrier are not waited for: lanes wait while others of
    the block may end."""
    block, launch = frame.block, frame.block.launch
    if launch.error is None:
        passed = block.passed
        if passed is not None and (block.passed_by & mask).any():
            raise wait_apart(block, op, passed)
        if block.parted or (block.threads & ~block.ended & ~mask).any():
            part(frame, op, mask)
            return np.zeros_like(mask)
        block.meet(op)
    if launch.error is None:
        return mask
    block.end(mask)
    return np.zeros_like(mask)


def _barrier_reduce(frame: Frame, op: grid.BarrierReduce, mask: Array, predicate: Array) -> Array:
    wait_for_block(frame, op, mask)
    result = _REDUCTIONS[op.kind](predicate[mask])
    return np.full(frame.block.lanes, result, np.int32)


def _barrier_part(
    frame: Frame, op: grid.BarrierPart, mask: Array, number: Array, count: Array, predicate: Array
) -> Array:
    block = frame.block
    array = np.zeros(block.lanes, np.int32)
    for each in np.unique(number[mask]):
        here = mask & (number == each)
        wanted = np.unique(count[here])
        arrived = 0 if op.hidden else block.arrived.pop(int(each), 0)
        came = -(-(int(here.sum()) + arrived) // WARP) * WARP
        if each > 15 or len(wanted) > 1 or wanted[0] != came:
            raise _of_part(frame, op, int(each), f"waits for {wanted[0]} threads, {came} reach it")
        array[here] = _REDUCTIONS[op.kind](predicate[here])
    return array


def _barrier_arrive(
    frame: Frame, op: grid.BarrierArrive, mask: Array, number: Array, count: Array
) -> None:
    arrived = frame.block.arrived
    for each in np.unique(number[mask]):
        here = mask & (number == each)
        if each > 15:
            raise _of_part(frame, op, int(each), "is none of the 16 of a block")
        arrived[int(each)] = arrived.get(int(each), 0) + int(here.sum())


def _of_part(frame: Frame, op: Op, number: int, text: str) -> KernelError:
    message = f"{op.name}: barrier {number} of block {frame.block.index} {text} (at {op.loc})"
    return KernelError("\n".join(filter(None, (message, describe(op.loc)))))


def _run_others(frame: Frame, op: grid.RunOthers, mask: Array) -> Array:
    frame.block.launch.check(op.loc)
    if frame.block.wait is not None:
        frame.block.wait(op)
    return np.full(frame.block.lanes, config().spin_milliseconds, np.int32)


def _machine(frame: Frame, op: grid.Machine, mask: Array) -> Array:
    readings = {
        grid.Reading.MULTIPROCESSOR: 0,
        grid.Reading.MULTIPROCESSORS: 1,
        grid.Reading.ERRORS: int(frame.block.launch.error is not None),
    }
    value = readings.get(op.kind, time.perf_counter_ns())
    return np.full(frame.block.lanes, value, np.uint64)


_REDUCTIONS: dict[grid.Reduction, Callable[[Array], int]] = {
    grid.Reduction.COUNT: np.count_nonzero,
    grid.Reduction.ALL: np.all,
    grid.Reduction.ANY: np.any,
    grid.Reduction.NONE: lambda predicates: 0,
}


def _nothing(frame: Frame, op: Op, mask: Array, *operands: Lanes) -> None:
    """Lockstep orders all memory accesses."""


OBSERVE: dict[type[Op], Callable[..., Lanes | None]] = {
    grid.ThreadIdx: _thread_idx,
    grid.BlockIdx: _block_idx,
    grid.BlockDim: _block_dim,
    grid.GridDim: _grid_dim,
    grid.LaneId: _lane_id,
    grid.Barrier: wait_for_block,
    grid.BarrierReduce: _barrier_reduce,
    grid.BarrierPart: _barrier_part,
    grid.BarrierArrive: _barrier_arrive,
    grid.Machine: _machine,
    grid.RunOthers: _run_others,
    grid.SyncWarp: _nothing,
    grid.Fence: _nothing,
}

CONTROL: dict[type[Op], Callable[[Any, Any, Array], Array]] = {grid.GridSync: _grid_sync}
