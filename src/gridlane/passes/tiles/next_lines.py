"""What is loaded next, for processors: the addresses of lines of factors. A product fetches these
lines into the cache while it multiplies, as copies of tiles whose lines lie far apart wait for
memory otherwise. These are the lines of the loop's next iteration, and of the next panel of a right
factor that is packed by panels.

Nothing is read: an address may be any number, so neither masks nor the end of the loop matter.
"""

from __future__ import annotations

from typing import NamedTuple

from gridlane.core.dtypes import DType, i32, u64
from gridlane.ir.ops import control, memory, tile_memory, tiles
from gridlane.ir.types import PointerType, tile
from gridlane.ir.values import Value
from gridlane.passes.tiles.elements import element, type_of
from gridlane.passes.tiles.indices import BitIndex, Coordinates, Index, as_value
from gridlane.passes.tiles.late_factors import is_along_columns, panelled_load
from gridlane.passes.tiles.pipelines import Finder, Pipeline, advanced, end_of
from gridlane.passes.tiles.state import NextLines, State

LINE = 64
"""Bytes of a cache line."""
_MOST = 8
"""Lines behind an address."""
_LEAST_BYTES, _LEAST_PRODUCTS = 1 << 15, 1 << 20
"""Of a tile, and of the product, from which on fetching pays."""


class Ahead(NamedTuple):
    """What a product fetches, as ``WarpProduct`` has it."""

    arrays: tuple[Value, ...] = ()
    counts: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()


def enter(state: State, loop: control.Loop) -> None:
    """Have the largest product of a loop fetch what the loop loads next."""
    end = end_of(loop) if state.machine.lockstep else None
    dots = [op for op in loop.body.ops if isinstance(op, tiles.TileDot)]
    dot = max(dots, key=_products, default=None)
    if end is None or dot is None or _products(dot) < _LEAST_PRODUCTS:
        return
    finder = Finder(state.placement, loop)
    panelled = panelled_load(state.placement, dot)
    loads = [
        op
        for op in loop.body.ops
        if isinstance(op, tile_memory.TileLoad)
        and op is not panelled
        and _has_many_lines(state, op)
        and finder.value(op.pointers)
    ]
    if loads and finder.steady([*loads]):
        scalars = sorted(finder.ops, key=state.placement.order.number.__getitem__)
        pipeline = Pipeline(loop, end, {}, scalars, finder.steps, frozenset())
        state.next_lines[dot] = lambda: _of_iteration(state, pipeline, loads)


def _products(dot: tiles.TileDot) -> int:
    return type_of(dot.lhs).count * type_of(dot.rhs).shape[-1]


def _has_many_lines(state: State, op: tile_memory.TileLoad) -> bool:
    """Whether a load is a factor whose lines are whole cache lines, and many."""
    (value,) = op.results
    type_, uses = type_of(value), state.placement.uses[value]
    kept = value in state.placement.stored or op in state.placement.spared
    if not kept or len(type_.shape) != 2:
        return False
    if not any(isinstance(use.root, tiles.TileDot) for use in uses):
        return False
    axis = _axis(state, op)
    run = min(state.contiguity.of(op.pointers).axes[axis].run, type_.shape[axis])
    return run * _bytes(op) >= LINE and type_.count * _bytes(op) >= _LEAST_BYTES


def _axis(state: State, op: tile_memory.TileLoad) -> int:
    """The axis of neighbours in memory."""
    return -2 if is_along_columns(state, op) else -1


def _bytes(op: tile_memory.TileLoad) -> int:
    type_ = type_of(op.pointers).element
    assert isinstance(type_, PointerType) and isinstance(type_.element, DType)
    return type_.element.size


def _of_iteration(state: State, pipeline: Pipeline, loads: list[tile_memory.TileLoad]) -> NextLines:
    """Write the addresses of the next iteration; called where the product stands."""
    saved, memo = dict(state.values), state.memo
    state.memo = {}
    advanced(state, pipeline, 1)
    extents = [type_of(op.pointers).shape[_axis(state, op)] for op in loads]
    sizes = [extent * _bytes(op) // LINE for op, extent in zip(loads, extents, strict=True)]
    lines = min(_MOST, *sizes)
    symbols, counts = list[str](), list[int]()
    for op, extent in zip(loads, extents, strict=True):
        count = type_of(op.pointers).count // extent
        for start in range(0, extent, lines * LINE // _bytes(op)):
            symbols.append(_array(state, count))
            counts.append(count)
            place = BitIndex(start)
            _write(state, op, symbols[-1], count, place, _axis(state, op))
    state.values, state.memo = saved, memo
    return NextLines(tuple(symbols), tuple(counts), (lines,) * len(counts))


def _array(state: State, count: int) -> str:
    return state.allocate(tile((count,), u64), False, state.b.loc).symbol


def _write(
    state: State, op: tile_memory.TileLoad, symbol: str, count: int, place: Index, axis: int = -1
) -> None:
    """Write the addresses of the elements at one place of each line."""
    b = state.b
    with state.together(), state.elements((count,)) as (line,):
        state.memo = {}
        at: Coordinates = (line, place) if axis == -1 else (place, line)
        address = b.value(memory.Address(element(state, op.pointers, at)))
        state.touch(symbol, True)
        b.store(b.offset(state.pointer_to(symbol), as_value(b, line)), address)


class NextPanel(NamedTuple):
    """The lines of the next panel of a right factor.

    Attributes:
        load: of the factor.
        symbol: of the addresses, one for each row.
        width: columns of a panel.
    """

    load: tile_memory.TileLoad
    symbol: str
    width: int

    def write(self, state: State, number: Value) -> None:
        """Write the addresses of what follows a panel."""
        b = state.b
        after = b.mul(b.add(number, b.const(1, i32)), b.const(self.width, i32))
        _write(state, self.load, self.symbol, type_of(self.load.pointers).shape[0], after)

    def ahead(self, state: State) -> Ahead:
        """These lines, for the product of the panel."""
        lines = -(-self.width * _bytes(self.load) // LINE) + 1  # they need not begin a line
        state.touch(self.symbol)
        count = type_of(self.load.pointers).shape[0]
        return Ahead((state.pointer_to(self.symbol),), (count,), (lines,))


def next_panel(state: State, op: tiles.TileDot, width: int) -> NextPanel | None:
    """The next panel of a large product; None if the right factor is not loaded so."""
    load = panelled_load(state.placement, op)
    if load is None or _products(op) < _LEAST_PRODUCTS:
        return None
    return NextPanel(load, _array(state, type_of(load.pointers).shape[0]), width)


def share(state: State, following: NextLines, number: Value, count: int) -> Ahead:
    """The part of lines that one of ``count`` panels fetches."""
    b, arrays, counts = state.b, list[Value](), list[int]()
    for symbol, have in zip(following.arrays, following.counts, strict=True):
        part = max(have // count, 1)
        state.touch(symbol)
        start = b.rem(b.mul(number, b.const(part, i32)), b.const(have, i32))
        arrays.append(b.offset(state.pointer_to(symbol), start))
        counts.append(part)
    return Ahead(tuple(arrays), tuple(counts), following.lines)
