"""Stores of products' sums by 16 bytes a lane.

In the layouts of ``mma`` and ``warpgroup_mma`` a lane has two neighbours of each row, and four
lanes eight, so that a vector of 4 bytes a lane fills half of a sector of memory. The four lanes
exchange words of two elements: of four times eight columns each has eight then.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridlane.core.dtypes import DType, i32
from gridlane.core.frozen import frozen
from gridlane.ir.ops import arith, tile_memory
from gridlane.ir.values import Value
from gridlane.passes.tiles.elements import element, type_of
from gridlane.passes.tiles.exchanges import moved
from gridlane.passes.tiles.indices import Coordinates, log2, unflattened
from gridlane.passes.tiles.layouts import Layout
from gridlane.passes.tiles.state import State
from gridlane.passes.tiles.vectors import Group, packed
from gridlane.passes.tiles.widths import width_of

_PAIR, _LANES, _GROUPS = 1, (2, 4), (8, 16)
"""The steps of columns: of two neighbours of a lane, of four lanes, and of four groups."""
_SIZE = 2
"""Bytes of elements."""
_WIDTH = 8
"""Of these in 16 bytes."""


@frozen
class Row:
    """What a lane stores at once.

    Attributes:
        at: the coordinates of the first element.
        words: of two elements each.
    """

    at: Coordinates
    words: tuple[Value, ...]


def has_rows(state: State, op: tile_memory.TileStore | tile_memory.TileStoreBlock) -> bool:
    """Whether lanes exchange what a store writes."""
    layout = state.placement.layouts.get(op)
    type_ = type_of(op.value)
    *others, columns = type_.shape
    if layout is None or not others or not isinstance(type_.element, DType):
        return False
    columns = log2(columns)
    return (
        type_.element.size == _SIZE
        and layout.is_sole()
        and layout.is_whole()
        and columns is not None
        and 1 << columns >= _WIDTH
        and layout.threads[:2] == _LANES
        and {_PAIR, *_GROUPS} <= {*layout.registers}
        and width_of(state.contiguity, op, len(others)) >= _WIDTH
    )


Store = tile_memory.TileStore | tile_memory.TileStoreBlock


def rows_of(state: State, op: Store) -> Iterator[Row]:
    """What this thread stores, for each of which code is written. All threads run it together, and
    all exchanges stand in front of the stores, so that none waits for another one."""
    before, state.by_registers = state.by_registers, True
    yield from [*_exchanged_rows(state, op)]
    state.by_registers = before


def _exchanged_rows(state: State, op: Store) -> Iterator[Row]:
    layout, b, type_ = state.placement.layouts[op], state.b, type_of(op.value)
    pair, *groups = [1 << layout.registers.index(step) for step in (_PAIR, *_GROUPS)]
    exchanged = _exchanged(layout)
    group = Group(((),) * 2, 0, type_.element)  # type: ignore[arg-type]  # a scalar
    lane = [_bit(state, bit) for bit in range(2)]
    for first in range(layout.count):
        if first & (pair | sum(groups)):
            continue
        words: list[Value] = []
        for number in range(4):
            register = first + sum(step for n, step in enumerate(groups) if number >> n & 1)
            places = [
                unflattened(b, layout.at(each, state.thread), type_.shape)
                for each in (register, register + pair)
            ]
            words += packed(b, group, [element(state, op.value, at) for at in places])
        for bit in range(2):
            words = _swapped(state, words, bit, lane[bit])
        at = unflattened(b, exchanged.at(first, state.thread), type_.shape)
        yield Row(at, tuple(words))


def _exchanged(layout: Layout) -> Layout:
    """The layout of what lanes store: bits of lanes and of registers have changed places."""
    swapped = dict(zip((*_LANES, *_GROUPS), (*_GROUPS, *_LANES), strict=True))
    steps = [
        tuple([swapped.get(s, s) for s in each]) for each in (layout.registers, layout.threads)
    ]
    return Layout(steps[0], steps[1], layout.bits)


def _bit(state: State, bit: int) -> Value:
    """Whether a bit of this thread's number is set."""
    b = state.b
    masked = b.and_(state.thread, b.const(1 << bit, i32))
    return b.value(arith.Ne(masked, b.const(0, i32)))


def _swapped(state: State, words: list[Value], bit: int, is_set: Value) -> list[Value]:
    """Words of whose numbers a bit has changed places with one of the lane's number."""
    b, result = state.b, [*words]
    for low in range(4):
        if low >> bit & 1:
            continue
        high = low | 1 << bit
        got = moved(state, b.select(is_set, words[low], words[high]), 1 << bit)
        result[low] = b.select(is_set, got, words[low])
        result[high] = b.select(is_set, words[high], got)
    return result
