"""A thread's place in its logical warp."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.coop.invocable import Invocable, shared_bytes, thread_rank, with_memory
from gridlane.algorithms.coop.merging import Group, sync_of_warp
from gridlane.algorithms.coop.parameters import MOST_THREADS, WARP
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher


@cached
def lanes(width: int) -> Dispatcher:
    """The device function that returns a thread's rank in its block, its lane in its logical warp
    of ``width`` threads, the number of lanes there that have a thread, and their mask.

    A warp of 32 has ``32 // width`` logical warps; the lanes behind them are one that is smaller.
    """
    full = np.uint32((1 << width) - 1)

    @jit(device=True)
    def place():
        rank = thread_rank()
        physical = rank % WARP
        lane = physical % width
        first = rank - lane
        threads = cuda.blockDim.x * cuda.blockDim.y * cuda.blockDim.z
        count = min(width, WARP - (physical - lane), threads - first)
        return rank, lane, count, np.uint32(full << np.uint32(physical - lane))

    return place


@cached
def group_of(width: int, items: int) -> Group:
    """The group of a logical warp."""
    each = -(-WARP // width)

    @jit(device=True)
    def part():
        rank = thread_rank()
        return rank // WARP * each + rank % WARP // width

    return Group(width, items, sync_of_warp, part, MOST_THREADS // WARP * each)


def with_memory_of_warps(
    implementation: Dispatcher, arrays: int, size: int, group: Group
) -> Invocable:
    """An algorithm of warps with ``size`` bytes each: of the memory that a call has, or of its own
    one, which has as many parts as a block may have warps."""
    part: Any = group.part
    # Of this algorithm alone: another one's warps may still be in it when this one begins.
    whole = shared_bytes(max(1, size * group.parts))

    @jit(device=True)
    def memory():
        first = part() * size
        return whole()[first : first + size]

    return with_memory(implementation, arrays, size, memory)
