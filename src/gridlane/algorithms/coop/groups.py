"""Threads that share memory and synchronise: a block, or a logical warp."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.coop.elements import Element
from gridlane.algorithms.coop.invocable import (
    block_bytes,
    rank_in_block,
    shared_bytes,
    thread_rank,
)
from gridlane.algorithms.coop.parameters import (
    MOST_THREADS,
    WARP,
    block_of,
    dim3,
    items_of,
    warp_of,
)
from gridlane.core.frozen import frozen
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher


@frozen
class Group:
    """A block, or a warp of each.

    Attributes:
        threads: how many.
        items: items of each.
        place: the device function that returns a thread's place, how many threads there are, and
            the mask of their lanes.
        sync: the device function, of a mask, that makes writes to shared memory visible to all.
        part: the device function of the warp's number in its block; None for a block.
        parts: how many numbers there are.
    """

    threads: int
    items: int
    place: Dispatcher
    sync: Dispatcher
    part: Dispatcher | None = None
    parts: int = 1

    @property
    def count(self) -> int:
        """All items."""
        return self.threads * self.items

    def section(self, element: Element, start: int = 0, count: int | None = None) -> Dispatcher:
        """The device function that finds items in the group's memory, from byte ``start``: as many
        as the group has, or ``count``."""
        count, part = count or self.count, self.part
        if element.size or part is None:
            return element.section(start, count)
        whole = element.section(0, self.parts * count, "warp")

        @jit(device=True)
        def section(memory):
            first = part() * count
            return whole(memory)[first : first + count]

        return section

    def memory(self, size: int) -> Dispatcher:
        """The device function that returns a memory of ``size`` bytes that no call has."""
        part, most = self.part, max(1, size)
        if part is None:
            return block_bytes(most)
        # Of one algorithm alone: another one's warps may still be in it when this one begins.
        whole = shared_bytes(most * self.parts)

        @jit(device=True)
        def memory():
            first = part() * most
            return whole()[first : first + most]

        return memory


def block_group(threads_per_block: Any, items_per_thread: int) -> Group:
    """The threads of a block.

    Raises:
        ValueError: a number that is not allowed.
    """
    items = items_of(items_per_thread)
    dim, threads = block_of(threads_per_block)
    return Group(threads, items, _place_in_block(dim, threads), _sync_block)


def warp_group(threads_in_warp: int, items_per_thread: int) -> Group:
    """The lanes of a logical warp.

    Raises:
        ValueError: a number that is not allowed.
    """
    items, width = items_of(items_per_thread), warp_of(threads_in_warp)
    each = -(-WARP // width)
    return Group(
        width, items, _lane(width), _sync_warp, _number(width, each), MOST_THREADS // WARP * each
    )


@cached
def _place_in_block(dim: dim3, threads: int) -> Dispatcher:
    rank = rank_in_block(dim)

    @jit(device=True)
    def place():
        return rank(), threads, 0

    return place


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
def _lane(width: int) -> Dispatcher:
    of_thread = lanes(width)

    @jit(device=True)
    def place():
        _, lane, count, mask = of_thread()
        return lane, count, mask

    return place


@cached
def _number(width: int, each: int) -> Dispatcher:
    @jit(device=True)
    def number():
        rank = thread_rank()
        return rank // WARP * each + rank % WARP // width

    return number


@jit(device=True)
def _sync_block(mask: Any) -> None:
    cuda.syncthreads()


@jit(device=True)
def _sync_warp(mask: Any) -> None:
    cuda.syncwarp(mask)
