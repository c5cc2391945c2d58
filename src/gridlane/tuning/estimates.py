"""An estimate of a launch's time from its work and its shape, by which candidates are ranked.

It is the larger of the time of operations and that of memory, over the share of the device that the
launch fills. Only the order of such estimates means anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gridlane.backends import backend
from gridlane.core.frozen import frozen
from gridlane.core.occupancy import multiprocessor, occupancy
from gridlane.runtime.protocol import Device
from gridlane.tuning.work import Work

_LANE = 32
_FILLS = 512
"""Threads of a multiprocessor that hide the latency of memory."""
_REGISTERS, _OF_TILES = 40, 128
"""Registers of a thread, before there is code that says it."""


@frozen
class Rates:
    """What a unit, a multiprocessor or a worker of the host, does in a microsecond.

    Attributes:
        operations, bytes: of lanes that are all filled.
        block: microseconds to start a block.
        launch: microseconds of a launch.
        lanes: threads that run as one.
    """

    operations: float
    bytes: float
    block: float
    launch: float
    lanes: int


HOST = Rates(2.0e4, 1.0e4, 0.2, 2.0, 8)
GPU = Rates(2.0e5, 2.0e4, 0.5, 3.0, 32)


def microseconds(
    work: Work, grid: Sequence[int], block: Sequence[int], device: Device, shared: int = 0
) -> float:
    """An estimate of a launch's time; infinite for a block that the device cannot hold.

    Args:
        grid: blocks, or programs, along each axis.
        block: threads along each axis; that of a program over tiles has no effect.
        shared: bytes of a block's dynamic shared memory.
    """
    on_host = backend(device.target((1, 1, 1)).name).on_host
    rates = HOST if on_host else GPU
    blocks = math.prod(grid)
    threads = 1 if work.warps else math.prod(block)
    held, filled = 1, 1.0
    if not on_host:
        held, filled = _held(work, 32 * work.warps or threads, shared, device)
    if not held:
        return math.inf
    lanes = neighbours = 1.0
    if not work.warps:
        lanes = threads / (-(-threads // rates.lanes) * rates.lanes)
        neighbours = min(1.0, block[0] / min(_LANE, 4 * rates.lanes))
    one = max(work.operations / (rates.operations * lanes), work.bytes / rates.bytes / neighbours)
    rounds = -(-blocks // (device.limits.multiprocessors * held)) * held
    return rates.launch + rounds * (rates.block + threads * one / filled)


def _held(work: Work, threads: int, shared: int, device: Device) -> tuple[int, float]:
    """Blocks that a multiprocessor has at once, and how much of its speed they reach."""
    try:
        facts = multiprocessor(device.attributes())
    except KeyError:
        return 1, 1.0
    registers = _OF_TILES if work.warps else _REGISTERS
    held = occupancy(facts, threads, registers, work.shared + shared).blocks
    return held, min(1.0, held * threads / _FILLS)
