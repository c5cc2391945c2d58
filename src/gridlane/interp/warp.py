"""The meaning of ``ir.ops.warp``. Each lane sees the lanes that are active and in its own mask."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gridlane.interp.arith import PLAIN
from gridlane.interp.state import WARP, Frame
from gridlane.interp.values import Array, Lanes
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, warp

_POSITIONS = np.arange(WARP, dtype=np.uint32)


def packed(flags: Array) -> Array:
    """For each lane, the u32 of its warp's flags."""
    bits = flags.reshape(-1, WARP).astype(np.uint32) << _POSITIONS
    return np.repeat(np.bitwise_or.reduce(bits, axis=1), WARP)


def _members(active: Array, mask: Array) -> Array:
    """For each lane, the u32 of the participating lanes."""
    return packed(active) & mask


def _shuffle(
    frame: Frame,
    op: warp.Shuffle,
    active: Array,
    mask: Array,
    value: Array,
    lane: Array,
    width: Array,
) -> tuple[Array, Array]:
    own = frame.block.lane.astype(np.int64)
    start = own & -width.astype(np.int64)
    end = start + width
    source = _SOURCES[op.mode](own, start, lane.astype(np.int64) & 31, width)
    inside = (source >= start) & (source < end)
    if op.mode is warp.ShuffleMode.XOR:
        inside = (source >= 0) & (source < end)
    base = np.arange(len(own)) - own
    from_ = np.where(inside, base + source, base + own)
    values = np.where(active, value, np.zeros_like(value))
    return values[from_], inside


_SOURCES: dict[warp.ShuffleMode, Callable[[Array, Array, Array, Array], Array]] = {
    warp.ShuffleMode.IDX: lambda own, start, lane, width: start + (lane & (width - 1)),
    warp.ShuffleMode.UP: lambda own, start, lane, width: own - lane,
    warp.ShuffleMode.DOWN: lambda own, start, lane, width: own + lane,
    warp.ShuffleMode.XOR: lambda own, start, lane, width: own ^ lane,
}


def _vote(frame: Frame, op: warp.Vote, active: Array, mask: Array, predicate: Array) -> Array:
    members = _members(active, mask)
    return _VOTES[op.mode](members, members & packed(predicate))


_VOTES: dict[warp.VoteMode, Callable[[Array, Array], Array]] = {
    warp.VoteMode.ALL: lambda members, true: true == members,
    warp.VoteMode.ANY: lambda members, true: true != 0,
    warp.VoteMode.EQ: lambda members, true: (true == members) | (true == 0),
    warp.VoteMode.BALLOT: lambda members, true: true,
}


def _equals(value: Array) -> Array:
    """For each lane, the u32 of the lanes whose value is bitwise equal."""
    bits = value.view(f"u{value.dtype.itemsize}").reshape(-1, WARP)
    same = bits[:, :, None] == bits[:, None, :]
    packed_rows = np.bitwise_or.reduce(same.astype(np.uint32) << _POSITIONS, axis=2)
    return packed_rows.reshape(-1)


def _match_any(frame: Frame, op: Op, active: Array, mask: Array, value: Array) -> Array:
    return _members(active, mask) & _equals(value)


def _match_all(
    frame: Frame, op: Op, active: Array, mask: Array, value: Array
) -> tuple[Array, Array]:
    members = _members(active, mask)
    # All are equal when all are equal to the first participating lane.
    first = np.log2(np.maximum(members & (~members + 1), 1)).astype(np.int64)
    base = np.arange(len(members)) // WARP * WARP
    same = (members & ~_equals(value)[base + first]) == 0
    return np.where(same, members, 0).astype(np.uint32), same


def _active_mask(frame: Frame, op: Op, active: Array) -> Array:
    return packed(active)


def _reduce(frame: Frame, op: warp.WarpReduce, active: Array, mask: Array, value: Array) -> Array:
    combine = PLAIN[_REDUCTIONS[op.kind]]
    members = _members(active, mask)
    rows = np.repeat(value.reshape(-1, WARP), WARP, axis=0)
    result, empty = np.zeros_like(value), np.ones(len(value), np.bool_)
    for position in range(WARP):
        member = (members >> np.uint32(position)) & 1 != 0
        column = rows[:, position]
        combined = np.where(empty, column, combine(result, column))
        result = np.where(member, combined, result)
        empty = empty & ~member
    return result


_REDUCTIONS: dict[warp.WarpReduction, type[Op]] = {
    warp.WarpReduction.ADD: arith.Add,
    warp.WarpReduction.MIN: arith.Min,
    warp.WarpReduction.MAX: arith.Max,
    warp.WarpReduction.AND: arith.And,
    warp.WarpReduction.OR: arith.Or,
    warp.WarpReduction.XOR: arith.Xor,
}

OBSERVE: dict[type[Op], Callable[..., Lanes | None]] = {
    warp.Shuffle: _shuffle,
    warp.Vote: _vote,
    warp.MatchAny: _match_any,
    warp.MatchAll: _match_all,
    warp.ActiveMask: _active_mask,
    warp.WarpReduce: _reduce,
}
