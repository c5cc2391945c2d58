"""Reductions and scans along an axis."""

from __future__ import annotations

from gridlane.core.dtypes import i32
from gridlane.ir.ops import arith, tiles
from gridlane.ir.types import TileType, tile
from gridlane.ir.values import Value, Var
from gridlane.passes.tiles.accesses import Accesses
from gridlane.passes.tiles.along_layouts import reduce_in_layout, reduce_whole
from gridlane.passes.tiles.elements import call, element, type_of
from gridlane.passes.tiles.exchanges import combine_cells, moved, write_all
from gridlane.passes.tiles.indices import (
    ZERO,
    BitIndex,
    Coordinates,
    Index,
    as_value,
    log2,
    source,
    unflattened,
)
from gridlane.passes.tiles.machine import WARP
from gridlane.passes.tiles.placement import CHEAP
from gridlane.passes.tiles.spread import Spread, spread_of
from gridlane.passes.tiles.state import State, Storage

CHAINS = 4
"""Of the elements that a thread of a processor combines."""


def placed(line: Coordinates, axis: int, index: Index) -> Coordinates:
    """The coordinates of an element of a line."""
    return (*line[:axis], index, *line[axis:])


def reduce(state: State, op: tiles.TileReduce) -> None:
    """Combine the elements along an axis."""
    spread = spread_of(state.module, op, state.threads)
    shape = type_of(op.arguments[0]).shape
    layout = state.placement.layouts.get(op)
    if layout is not None and not any(isinstance(each.type, TileType) for each in op.results):
        state.values.update(zip(op.results, reduce_whole(state, op, layout), strict=True))
        return
    lines = (*shape[: op.axis], *shape[op.axis + 1 :]) or (1,)
    made = [
        state.allocate(
            tile(lines, type_of(value).element),
            state.placement.stored.get(result, False),
            op.loc,
            result if len(shape) > 1 else None,
        )
        for value, result in zip(op.arguments, op.results, strict=True)
    ]
    if layout is not None:
        reduce_in_layout(state, op, layout, made)
    elif spread.threads:
        _reduce_together(state, op, spread, made)
    else:
        with state.together(), state.elements(lines) as line:
            inner = line if len(shape) > 1 else ()
            totals = _reduced(state, op, inner, _Range(spread.extent))
            write_all(state, made, line, totals)
    _publish(state, op, made)


def _publish(state: State, op: tiles.TileReduce, made: list[Storage]) -> None:
    """The results: stored tiles, or scalars that all threads read."""
    for value, storage in zip(op.results, made, strict=True):
        if isinstance(value.type, TileType):
            state.stored[value] = storage
            continue
        with state.together():
            state.values[value] = state.read(storage, (ZERO,))


class _Range:
    """The elements of a line that one thread combines: ``count`` of them, in order."""

    def __init__(self, count: int) -> None:
        self.count = count

    def at(self, counter: Value | int) -> Index:
        """The index of the element with a number."""
        if isinstance(counter, int):
            return BitIndex(counter)
        return source(counter, self.count) if log2(self.count) is not None else counter


class _Part(_Range):
    """Those of one of several threads that have a line together."""

    def __init__(self, count: int, lane: BitIndex, lanes: int, strided: bool) -> None:
        super().__init__(count)
        self.lane, self.bits, self.strided = lane, log2(lanes) or 0, strided

    def of_chain(self, chain: int, counter: Value | int) -> Index:
        """The index in the line of the element with a number among those of a chain."""
        in_chain = self.count // CHAINS
        own = BitIndex(counter) if isinstance(counter, int) else source(counter, in_chain)
        assert isinstance(own, BitIndex)
        own = own.joined(BitIndex(chain), log2(CHAINS) or 0)
        return own.joined(self.lane, self.bits)

    def at(self, counter: Value | int) -> Index:
        """The index in the line."""
        own = super().at(counter)
        assert isinstance(own, BitIndex)
        if self.strided:
            return own.joined(self.lane, self.bits)
        return self.lane.joined(own, log2(self.count) or 0)


def _reduced(state: State, op: tiles.TileReduce, line: Coordinates, indices: _Range) -> list[Value]:
    """Elements of a line, combined in the order of ``indices``."""
    b = state.b
    if isinstance(indices, _Part) and _has_chains(state, op, indices):
        return _reduced_in_chains(state, op, line, indices)
    at = placed(line, op.axis, indices.at(0))
    first = [element(state, value, at) for value in op.arguments]
    if indices.count == 1:
        return first
    totals = [b.variable("total", value.type) for value in first]
    for var, value in zip(totals, first, strict=True):
        b.write(var, value)
    with state.counted(indices.count, "index", 1) as counter:
        at = placed(line, op.axis, indices.at(counter))
        more = [element(state, value, at) for value in op.arguments]
        combined = call(state, op.callee, [*map(b.read, totals), *more])
        for var, value in zip(totals, combined, strict=True):
            b.write(var, value)
    return [b.read(var) for var in totals]


def _has_chains(state: State, op: tiles.TileReduce, part: _Part) -> bool:
    """Whether a thread of a processor combines elements in several chains, whose instructions need
    not wait for each other."""
    commutes = part.strided and part.count >= 2 * CHAINS and part.count % CHAINS == 0
    cheap = all(state.placement.cost(value) <= CHEAP for value in op.arguments)
    return state.machine.lockstep and commutes and cheap


def _reduced_in_chains(
    state: State, op: tiles.TileReduce, line: Coordinates, part: _Part
) -> list[Value]:
    """Elements of a line: every fourth, and these results."""
    b = state.b

    def elements_at(chain: int, counter: Value | int) -> list[Value]:
        at = placed(line, op.axis, part.of_chain(chain, counter))
        return [element(state, value, at) for value in op.arguments]

    chains: list[list[Var]] = []
    for chain in range(CHAINS):
        first = elements_at(chain, 0)
        chains.append([b.variable("total", value.type) for value in first])
        for var, value in zip(chains[-1], first, strict=True):
            b.write(var, value)
    with state.counted(part.count // CHAINS, "index", 1) as counter:
        for chain, totals in enumerate(chains):
            more = elements_at(chain, counter)
            combined = call(state, op.callee, [*map(b.read, totals), *more])
            for var, value in zip(totals, combined, strict=True):
                b.write(var, value)
    results = [[b.read(var) for var in totals] for totals in chains]
    while len(results) > 1:
        pairs = zip(results[::2], results[1::2], strict=True)
        results = [[*call(state, op.callee, [*one, *other])] for one, other in pairs]
    return results[0]


def _reduce_together(
    state: State, op: tiles.TileReduce, spread: Spread, made: list[Storage]
) -> None:
    """Several threads have a line together: each combines its elements, then they exchange."""
    lane = state.lane()
    assert isinstance(lane, BitIndex)
    width = log2(spread.threads) or 0
    groups = state.threads // spread.threads
    part = _Part(
        spread.extent // spread.threads, lane.below(width), spread.threads, spread.commutes
    )
    trips = -(-spread.lines // groups)
    cells = _cells(state, op, spread, trips)
    with state.together(), state.counted(trips, "line") as counter:
        number, inside = _line(state, spread, lane.high(width), counter, groups, trips)
        at = unflattened(state.b, number, made[0].type.shape)
        line = at if len(type_of(op.arguments[0]).shape) > 1 else ()
        totals = _reduced(state, op, line, part)
        totals = _exchanged(state, op, totals, min(spread.threads, WARP), spread.commutes)
        if cells:
            _store_cells(state, cells, counter, totals)
        else:
            first: Value | None = None
            # In lockstep a store of all lanes to one address is one store of their value.
            if not state.machine.lockstep or groups > 1:
                first = state.b.eq(as_value(state.b, part.lane), state.b.const(0, i32))
                first = first if inside is None else state.b.and_(first, inside)
            with state.where(first):
                write_all(state, made, at, totals)
    if cells:
        combine_cells(state, op, spread.threads // WARP, cells, made)


def _line(
    state: State, spread: Spread, group: BitIndex, counter: Value, groups: int, trips: int
) -> tuple[Index, Value | None]:
    """The number of a line, and whether it is one: where there are too few it is the last."""
    b, bits = state.b, log2(groups) or 0
    if trips * groups == spread.lines and log2(trips) is not None:
        return source(counter, trips).joined(group, bits), None
    number = b.add(b.mul(counter, b.const(groups, i32)), as_value(b, group))
    inside = b.lt(number, b.const(spread.lines, i32))
    return b.binary(arith.Min, number, b.const(spread.lines - 1, i32)), inside


def _exchanged(
    state: State, op: tiles.TileReduce, values: list[Value], lanes: int, commutes: bool
) -> list[Value]:
    """The values of some neighbouring lanes, combined; each lane has the result."""
    b, distance = state.b, 1
    while distance < lanes:
        others = [moved(state, value, distance) for value in values]
        if commutes:
            values = [*call(state, op.callee, [*values, *others])]
        else:
            bit = b.and_(state.thread, b.const(distance, i32))
            is_low = b.eq(bit, b.const(0, i32))
            low = [b.select(is_low, v, o) for v, o in zip(values, others, strict=True)]
            high = [b.select(is_low, o, v) for v, o in zip(values, others, strict=True)]
            values = [*call(state, op.callee, [*low, *high])]
        distance *= 2
    return values


# ---- lines that several warps share


def _cells(state: State, op: tiles.TileReduce, spread: Spread, trips: int) -> list[str]:
    """Shared memory for the values of warps; none where a line is one warp's."""
    if spread.threads <= WARP:
        return []
    count = trips * (state.threads // WARP)
    return [state.shared(type_of(value).element, count) for value in op.arguments]


def _store_cells(state: State, cells: list[str], trip: Value, values: list[Value]) -> None:
    b, lane = state.b, state.lane()
    assert isinstance(lane, BitIndex)
    number = b.add(b.mul(trip, b.const(state.threads // WARP, i32)), as_value(b, lane.high(5)))
    with state.where(b.eq(as_value(b, lane.below(5)), b.const(0, i32))):
        for symbol, value in zip(cells, values, strict=True):
            state.touch(symbol, True)
            b.store(b.offset(state.pointer_to(symbol), number), value)


# ---- scans


def scan(state: State, op: tiles.TileScan) -> None:
    """Combine the elements up to each along an axis."""
    made = [state.allocate(type_of(value), False, op.loc, value) for value in op.results]
    spread = spread_of(state.module, op, state.threads)
    if spread.lines >= state.threads:
        _scan_lines(state, op, spread, made)
    else:
        _scan_doubling(state, op, spread.extent, made)
    state.stored.update(zip(op.results, made, strict=True))


def _scan_lines(state: State, op: tiles.TileScan, spread: Spread, made: list[Storage]) -> None:
    """A thread scans whole lines."""
    b, shape = state.b, type_of(op.arguments[0]).shape
    last = spread.extent - 1

    def place(line: Coordinates, counter: Value | int) -> Coordinates:
        if not op.reverse:
            return placed(line, op.axis, _Range(spread.extent).at(counter))
        if isinstance(counter, int):
            return placed(line, op.axis, BitIndex(last - counter))
        return placed(line, op.axis, b.sub(b.const(last, i32), counter))

    with state.together(), state.elements((*shape[: op.axis], *shape[op.axis + 1 :])) as line:
        at = place(line, 0)
        first = [element(state, value, at) for value in op.arguments]
        totals: list[Var] = [b.variable("total", value.type) for value in first]
        for var, value in zip(totals, first, strict=True):
            b.write(var, value)
        write_all(state, made, at, first)
        with state.counted(spread.extent, "index", 1) as counter:
            at = place(line, counter)
            more = [element(state, value, at) for value in op.arguments]
            combined = [*call(state, op.callee, [*map(b.read, totals), *more])]
            for var, value in zip(totals, combined, strict=True):
                b.write(var, value)
            write_all(state, made, at, combined)


def _scan_doubling(state: State, op: tiles.TileScan, extent: int, made: list[Storage]) -> None:
    """Combine each element with the one 1, 2, 4, … before it."""
    b, shape = state.b, type_of(op.arguments[0]).shape
    with state.together(), state.elements(shape) as at:
        write_all(state, made, at, [element(state, value, at) for value in op.arguments])
    sums = [state.allocate(type_of(value), True, op.loc) for value in op.arguments]
    if extent == 1:
        return
    with state.counted((extent - 1).bit_length(), "doubling") as counter:
        distance = b.value(arith.Shl(b.const(1, i32), counter))
        state.pending = Accesses.any()
        with state.together(), state.elements(shape) as at:
            earlier, combines = _before(state, op, extent, as_value(b, at[op.axis]), distance)
            before = (*at[: op.axis], earlier, *at[op.axis + 1 :])
            mine = [state.read(storage, at) for storage in made]
            theirs = [state.read(storage, before) for storage in made]
            both = call(state, op.callee, [*theirs, *mine])
            chosen = [b.select(combines, x, y) for x, y in zip(both, mine, strict=True)]
            write_all(state, sums, at, chosen)
        with state.together(), state.elements(shape) as at:
            write_all(state, made, at, [state.read(storage, at) for storage in sums])
    state.pending = Accesses.any()


def _before(
    state: State, op: tiles.TileScan, extent: int, index: Value, distance: Value
) -> tuple[Value, Value]:
    """The index of the element that is combined with another one, and whether there is one."""
    b = state.b
    if op.reverse:
        last = b.const(extent - 1, i32)
        later = b.add(index, distance)
        return b.binary(arith.Min, later, last), b.value(arith.Le(later, last))
    earlier = b.binary(arith.Max, b.sub(index, distance), b.const(0, i32))
    return earlier, b.value(arith.Ge(index, distance))
