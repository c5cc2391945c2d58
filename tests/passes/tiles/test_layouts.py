"""Layouts: as PTX places the registers of ``mma``, exhaustively; their algebra."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridlane.core.dtypes import i32
from gridlane.ir.ops.products import sum_place
from gridlane.ir.values import Value
from gridlane.passes.tiles.indices import BitIndex
from gridlane.passes.tiles.layouts import (
    Layout,
    Warps,
    blocked_layout,
    composed,
    core_layout,
    inverse,
    is_same,
    mapped,
    warps_of,
)

DIVISIONS = [
    (16, 8, Warps(1, 1)),
    (64, 32, Warps(2, 2)),
    (128, 64, Warps(4, 1)),
    (16, 64, Warps(1, 4)),
    (64, 128, Warps(4, 2)),
]


@pytest.mark.parametrize("rows, columns, warps", DIVISIONS)
def test_sums_lie_as_mma_places_them(rows, columns, warps):
    layout = core_layout(rows, columns, warps)
    high, wide = rows // warps.down, columns // warps.across
    for warp in range(warps.down * warps.across):
        top, left = warp // warps.across * high, warp % warps.across * wide
        for lane in range(32):
            register = 0
            for row in range(0, high, 16):
                for column in range(0, wide, 8):
                    for number in range(4):
                        down, across = sum_place(lane, number)
                        want = (top + row + down) * columns + left + column + across
                        assert layout.place(register, warp * 32 + lane) == want
                        register += 1
            assert register == layout.count


@pytest.mark.parametrize(
    "rows, columns, threads",
    [(64, 64, 128), (16, 16, 128), (128, 8, 64), (8, 512, 256), (1, 64, 64)],
)
def test_blocks_hold_each_element_once(rows, columns, threads):
    layout = blocked_layout(rows, columns, threads)
    places = {layout.place(r, t) for r in range(layout.count) for t in range(threads)}
    assert places == set(range(rows * columns))
    assert layout.is_whole()


def test_a_tile_that_is_too_small_has_none():
    assert blocked_layout(4, 4, 32) is None
    assert warps_of(16, 16, 4, False) is None
    assert warps_of(16, 32, 4, True) == Warps(1, 4)


@given(st.permutations(range(9)), st.integers(0, 9))
def test_holders(order, split):
    steps = [1 << bit for bit in order]
    layout = Layout(tuple(steps[:split]), tuple(steps[split:]), 9)
    for number in (0, 1, 5, 137, 511):
        register, thread = layout.holder(number)
        assert layout.place(register, thread) == number


@given(st.lists(st.integers(0, 63), min_size=6, max_size=6))
def test_inverse(steps):
    images = {mapped(steps, number) for number in range(64)}
    if len(images) < 64:
        with pytest.raises(ValueError, match="has no inverse"):
            inverse(steps)
        return
    both = composed(inverse(steps), steps)
    assert both == (1, 2, 4, 8, 16, 32)
    assert [mapped(inverse(steps), mapped(steps, n)) for n in range(64)] == [*range(64)]


@given(st.permutations(range(8)), st.integers(0, 7), st.integers(0, 8))
def test_indices_of_elements(order, register, cut):
    steps = [1 << bit for bit in order]
    layout, thread = Layout(tuple(steps[:3]), tuple(steps[3:]), 8), Value(i32)
    index = layout.at(register, thread)
    assert index.constant == layout.place(register, 0)
    for number in range(32):
        bits = sum((number >> p.low & (1 << p.count) - 1) << p.at for p in index.parts)
        assert index.constant + bits == layout.place(register, number)
    again = index.high(cut).joined(index.below(cut), cut)
    assert is_same(again, index)
    assert not is_same(BitIndex(index.constant ^ 1, index.parts), index)
