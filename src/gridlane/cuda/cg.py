"""Cooperative groups in kernels, as in CUDA C++: the grid, a block, tiles of a block, and the lanes
of a warp that are active together.

>>> import numpy as np
>>> from gridlane import cuda
>>> @cuda.jit
... def sums(x, out):
...     tile = cuda.cg.tiled_partition(cuda.cg.this_thread_block(), 8)
...     total = tile.reduce(x[cuda.grid(1)], cuda.cg.plus)
...     if tile.thread_rank() == 0:
...         out[tile.meta_group_rank()] = total
>>> out = np.zeros(4, np.int32)
>>> sums[1, 32](np.arange(32, dtype=np.int32), out)
>>> [int(each) for each in out]
[28, 92, 156, 220]

Every thread of a group calls its functions. A result has the type of the value that is given.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.types import int32, uint32
from gridlane.frontends.python import stubs
from gridlane.frontends.python.stubs import (
    GridGroup,
    ThreadBlock,
    activemask,
    all_sync,
    any_sync,
    ballot_sync,
    ffs,
    laneid,
    lanemask_lt,
    match_any_sync,
    of_type,
    popc,
    shfl_sync,
    syncwarp,
    tile_length,
    zero_of,
)

this_grid: Any = stubs.this_grid
this_thread_block: Any = stubs.this_thread_block

ALL = 0xFFFFFFFF
"""Every lane of a warp."""


# --- functions that combine two values ---


@jit(device=True)
def plus(a: Any, b: Any) -> Any:
    """The sum."""
    return a + b


@jit(device=True)
def less(a: Any, b: Any) -> Any:
    """The smaller value."""
    return b if b < a else a


@jit(device=True)
def greater(a: Any, b: Any) -> Any:
    """The larger value."""
    return b if b > a else a


@jit(device=True)
def bit_and(a: Any, b: Any) -> Any:
    """The bits of both."""
    return a & b


@jit(device=True)
def bit_or(a: Any, b: Any) -> Any:
    """The bits of either."""
    return a | b


@jit(device=True)
def bit_xor(a: Any, b: Any) -> Any:
    """The bits of one of them."""
    return a ^ b


# --- lanes ---


@jit(device=True)
def _nth(mask: Any, n: Any) -> Any:
    """The lane of the n-th member of a mask."""
    for _ in range(n):
        mask &= mask - uint32(1)
    return int32(ffs(mask)) - int32(1)


@jit(device=True)
def _packed(mask: Any, votes: Any) -> Any:
    """The votes of the members of a mask, one bit after the other."""
    packed, bit = uint32(0), uint32(1)
    while mask:
        lowest = mask & (~mask + uint32(1))
        if votes & lowest:
            packed |= bit
        bit <<= uint32(1)
        mask ^= lowest
    return packed


@jit(device=True)
def _reduced(group: Any, value: Any, op: Any) -> Any:
    """Combine in a tree towards the first member, which broadcasts the result."""
    rank, count = group.thread_rank(), group.size()
    distance = int32(1)
    while distance < count:
        other = group.shfl_down(value, distance)
        if rank + distance < count:
            value = of_type(op(value, other), value)
        distance *= int32(2)
    return group.shfl(value, int32(0))


@jit(device=True)
def _scanned(group: Any, value: Any, op: Any) -> Any:
    """Combine with the members in front, as W. D. Hillis and G. L. Steele do."""
    rank, count = group.thread_rank(), group.size()
    distance = int32(1)
    while distance < count:
        other = group.shfl_up(value, distance)
        if rank >= distance:
            value = of_type(op(other, value), value)
        distance *= int32(2)
    return value


@jit(device=True)
def _scanned_before(group: Any, value: Any, op: Any) -> Any:
    before = group.shfl_up(_scanned(group, value, op), int32(1))
    return zero_of(value) if group.thread_rank() == 0 else before


# --- functions of both kinds of groups ---


@jit(device=True)
def _shfl(self: Any, value: Any, rank: Any) -> Any:
    return of_type(shfl_sync(self.lanes(), value, self.lane_of(int32(rank))), value)


@jit(device=True)
def _shfl_up(self: Any, value: Any, delta: Any) -> Any:
    rank = self.thread_rank()
    source = rank - int32(delta)
    return self.shfl(value, source if source >= 0 else rank)


@jit(device=True)
def _shfl_down(self: Any, value: Any, delta: Any) -> Any:
    rank = self.thread_rank()
    source = rank + int32(delta)
    return self.shfl(value, source if source < self.size() else rank)


@jit(device=True)
def _shfl_xor(self: Any, value: Any, mask: Any) -> Any:
    rank = self.thread_rank()
    source = rank ^ int32(mask)
    return self.shfl(value, source if source < self.size() else rank)


@jit(device=True)
def _sync(self: Any) -> None:
    syncwarp(self.lanes())


@jit(device=True)
def _any(self: Any, predicate: Any) -> Any:
    return any_sync(self.lanes(), predicate)


@jit(device=True)
def _all(self: Any, predicate: Any) -> Any:
    return all_sync(self.lanes(), predicate)


@jit(device=True)
def _ballot(self: Any, predicate: Any) -> Any:
    return self.ranks(uint32(ballot_sync(self.lanes(), predicate)))


@jit(device=True)
def _match_any(self: Any, value: Any) -> Any:
    return self.ranks(uint32(match_any_sync(self.lanes(), value)))


@jit(device=True)
def _reduce(self: Any, value: Any, op: Any = plus) -> Any:
    return _reduced(self, value, op)


@jit(device=True)
def _inclusive_scan(self: Any, value: Any, op: Any = plus) -> Any:
    return _scanned(self, value, op)


@jit(device=True)
def _exclusive_scan(self: Any, value: Any, op: Any = plus) -> Any:
    return _scanned_before(self, value, op)


# --- tiles of a block ---


@jit(device=True)
def _tile_rank(self: Any) -> Any:
    return int32(laneid) & (self.length - int32(1))


@jit(device=True)
def _tile_size(self: Any) -> Any:
    return self.length


@jit(device=True)
def _tile_start(self: Any) -> Any:
    return int32(laneid) & ~(self.length - int32(1))


@jit(device=True)
def _tile_lanes(self: Any) -> Any:
    return (uint32(ALL) >> uint32(int32(32) - self.length)) << uint32(self.start())


@jit(device=True)
def _tile_lane_of(self: Any, rank: Any) -> Any:
    return self.start() + (rank & (self.length - int32(1)))


@jit(device=True)
def _tile_ranks(self: Any, votes: Any) -> Any:
    return (votes & self.lanes()) >> uint32(self.start())


@jit(device=True)
def _meta_rank(self: Any) -> Any:
    return self.number


@jit(device=True)
def _meta_size(self: Any) -> Any:
    return self.tiles


@jit(device=True)
def _tile_of(self: Any, length: Any) -> Any:
    rank, count = int32(self.thread_rank()), int32(self.size())
    shift = int32(31) - int32(_leading_zeros(length))
    return ThreadBlockTile(length, rank >> shift, (count + length - int32(1)) >> shift)


@jit(device=True)
def _leading_zeros(value: Any) -> Any:
    return stubs.clz(int32(value))


class ThreadBlockTile(NamedTuple):
    """1 to 32 threads of a warp beside each other; ``tiled_partition`` makes it.

    Attributes:
        length: how many threads there are.
        number: of the tile in the group that it is a part of.
        tiles: how many of them are there.
    """

    length: int
    number: int
    tiles: int

    thread_rank = _tile_rank
    size = num_threads = _tile_size
    meta_group_rank = _meta_rank
    meta_group_size = _meta_size
    start = _tile_start
    lanes = _tile_lanes
    lane_of = _tile_lane_of
    ranks = _tile_ranks
    part = _tile_of
    sync = _sync
    shfl = _shfl
    shfl_up = _shfl_up
    shfl_down = _shfl_down
    shfl_xor = _shfl_xor
    any = _any
    all = _all
    ballot = _ballot
    match_any = _match_any
    reduce = _reduce
    inclusive_scan = _inclusive_scan
    exclusive_scan = _exclusive_scan


# --- lanes that are active together ---


@jit(device=True)
def _member_rank(self: Any) -> Any:
    return int32(popc(self.mask & uint32(lanemask_lt())))


@jit(device=True)
def _members(self: Any) -> Any:
    return int32(popc(self.mask))


@jit(device=True)
def _member_lanes(self: Any) -> Any:
    return self.mask


@jit(device=True)
def _member_lane_of(self: Any, rank: Any) -> Any:
    return _nth(self.mask, rank)


@jit(device=True)
def _member_ranks(self: Any, votes: Any) -> Any:
    return _packed(self.mask, votes)


@jit(device=True)
def _members_of(self: Any, length: Any) -> Any:
    """The members whose ranks are in one tile with the thread's."""
    shift = int32(31) - int32(_leading_zeros(length))
    own, rank, mask, members = self.thread_rank() >> shift, int32(0), self.mask, uint32(0)
    while mask:
        lowest = mask & (~mask + uint32(1))
        if rank >> shift == own:
            members |= lowest
        rank += int32(1)
        mask ^= lowest
    return CoalescedGroup(members, own, (self.size() + length - int32(1)) >> shift)


class CoalescedGroup(NamedTuple):
    """Lanes of a warp, in their order; ``coalesced_threads`` and partitions make it.

    Attributes:
        mask: a bit for each lane.
        number, tiles: as of ThreadBlockTile.
    """

    mask: int
    number: int
    tiles: int

    thread_rank = _member_rank
    size = num_threads = _members
    meta_group_rank = _meta_rank
    meta_group_size = _meta_size
    lanes = _member_lanes
    lane_of = _member_lane_of
    ranks = _member_ranks
    part = _members_of
    sync = _sync
    shfl = _shfl
    shfl_up = _shfl_up
    shfl_down = _shfl_down
    any = _any
    all = _all
    ballot = _ballot
    match_any = _match_any
    reduce = _reduce
    inclusive_scan = _inclusive_scan
    exclusive_scan = _exclusive_scan


# --- what makes groups ---


@jit(device=True)
def coalesced_threads() -> Any:
    """The lanes of the warp that are active here."""
    return CoalescedGroup(uint32(activemask()), int32(0), int32(1))


@jit(device=True)
def tiled_partition(parent: Any, size: Any) -> Any:
    """The tile of ``size`` threads that the thread is in.

    Args:
        parent: a block, a tile, or coalesced threads, whose part is one as well.
        size: a constant: 1, 2, 4, 8, 16 or 32.
    """
    return _part(parent, int32(tile_length(size)))


@jit(device=True)
def _part(parent: Any, length: Any) -> Any:
    return _tile_of(parent, length) if parent is stubs.THIS_BLOCK else parent.part(length)


@jit(device=True)
def binary_partition(group: Any, predicate: Any) -> Any:
    """The members whose predicate equals the thread's."""
    holds = uint32(ballot_sync(group.lanes(), predicate))
    same = holds if predicate else ~holds
    return CoalescedGroup(group.lanes() & same, int32(0), int32(1))


@jit(device=True)
def labeled_partition(group: Any, label: Any) -> Any:
    """The members that have the thread's label."""
    same = uint32(match_any_sync(group.lanes(), label))
    return CoalescedGroup(group.lanes() & same, int32(0), int32(1))


@jit(device=True)
def sync(group: Any) -> None:
    """Wait for every thread of a group."""
    group.sync()


@jit(device=True)
def reduce(group: Any, value: Any, op: Any = plus) -> Any:
    """All values of a tile or of coalesced threads combined, for every member."""
    return group.reduce(value, op)


@jit(device=True)
def inclusive_scan(group: Any, value: Any, op: Any = plus) -> Any:
    """The values up to the thread's own combined."""
    return group.inclusive_scan(value, op)


@jit(device=True)
def exclusive_scan(group: Any, value: Any, op: Any = plus) -> Any:
    """The values in front of the thread's own combined; 0 for the first member."""
    return group.exclusive_scan(value, op)


__all__ = [
    "CoalescedGroup", "GridGroup", "ThreadBlock", "ThreadBlockTile", "binary_partition", "bit_and",
    "bit_or", "bit_xor", "coalesced_threads", "exclusive_scan", "greater", "inclusive_scan",
    "labeled_partition", "less", "plus", "reduce", "sync", "this_grid", "this_thread_block",
    "tiled_partition",
]  # fmt: skip
