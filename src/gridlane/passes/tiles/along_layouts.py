"""Reductions of elements that threads hold in registers by a layout, in any order."""

from __future__ import annotations

from gridlane.core.dtypes import i32
from gridlane.ir.ops import tiles
from gridlane.ir.types import Type
from gridlane.ir.values import Value
from gridlane.passes.tiles.elements import call, element, type_of
from gridlane.passes.tiles.exchanges import (
    combine_cells,
    combine_cells_of,
    load_cells,
    moved,
    write_all,
)
from gridlane.passes.tiles.indices import (
    ZERO,
    BitIndex,
    Bits,
    Coordinates,
    as_value,
    flattened,
    log2,
    unflattened,
)
from gridlane.passes.tiles.layouts import LANE_BITS, Layout
from gridlane.passes.tiles.state import State, Storage

_BITS_OF_THREADS = 2
"""Each thread combines the values of up to 4 warps."""


def reduce_in_layout(
    state: State, op: tiles.TileReduce, layout: Layout, made: list[Storage]
) -> None:
    """Combine a thread's registers, then lanes, then warps."""
    line = Lines(op, layout)
    lanes = [bit for bit in line.threads if bit < LANE_BITS]
    warps = [bit for bit in line.threads if bit >= LANE_BITS]
    each = 1 << len(warps)
    cells: list[str] = []
    if warps:
        count = made[0].type.count * each
        cells = [state.shared(storage.type.element, count) for storage in made]
    with state.together():
        for registers in line.groups():
            values = _own(state, op, layout, registers)
            for bit in lanes:
                others = [moved(state, value, 1 << bit) for value in values]
                values = [*call(state, op.callee, [*values, *others])]
            at = line.of(state, registers[0])
            if made[0].layout is not None and not cells:
                write_all(state, made, at, values)  # all lanes have the whole line's
                continue
            with state.where(_has_no(state, lanes)):
                if cells:
                    _store_cells(state, cells, at, made, warps, values)
                    continue
                write_all(state, made, at, values)
    if not cells:
        return
    if made[0].layout is None:
        combine_cells(state, op, each, cells, made)
        return
    with state.together():
        for registers in line.groups():
            combine_cells_of(state, op, each, cells, made, line.of(state, registers[0]))


def reduce_whole(state: State, op: tiles.TileReduce, layout: Layout) -> list[Value]:
    """Combine all elements of a tile with one axis, as above; return what each thread has. All
    threads combine the values of the warps, so that one barrier is enough."""
    line = Lines(op, layout)
    lanes = [bit for bit in line.threads if bit < LANE_BITS]
    warps = [bit for bit in line.threads if bit >= LANE_BITS]
    with state.together():
        (registers,) = line.groups()
        values = _own(state, op, layout, registers)
        for bit in lanes:
            others = [moved(state, value, 1 << bit) for value in values]
            values = [*call(state, op.callee, [*values, *others])]
    if not warps:
        return values
    cells = [_cells_apart(state, value.type, 1 << len(warps)) for value in values]
    # A phase of its own, so that no barrier for the cells is in front of loads.
    with state.together(), state.where(_has_no(state, lanes)):
        _store(state, cells, _part_of(state, warps).value(state.b), values)
    with state.together():
        return _of_cells(state, op, cells, len(warps))


def _of_cells(state: State, op: tiles.TileReduce, cells: list[str], bits: int) -> list[Value]:
    """Combine the values of 2 ** bits warps: in pairs, so that few wait for each other; by lanes
    where there are many, which would be in registers of each thread."""
    b = state.b
    if bits > _BITS_OF_THREADS:
        values = load_cells(state, cells, b.and_(state.thread, b.const((1 << bits) - 1, i32)))
        for bit in range(bits):
            others = [moved(state, value, 1 << bit) for value in values]
            values = [*call(state, op.callee, [*values, *others])]
        return values
    parts = [load_cells(state, cells, b.const(number, i32)) for number in range(1 << bits)]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [[*call(state, op.callee, [*one, *other])] for one, other in pairs]
    return parts[0]


def _cells_apart(state: State, element: Type, count: int) -> str:
    """An array in shared memory that the next reduction does not use, as threads may still read
    it when others go on there."""
    order, now = state.placement.order, state.now
    later = (order.number[op] for op in order.ops if isinstance(op, tiles.TileReduce))
    following = min((number for number in later if number > now), default=now)
    return state.arrays.allot(element, count, (now, following))


class Lines:
    """The lines along an axis of a tile in a layout.

    Attributes:
        threads: the bits of a thread's number that are along the axis.
    """

    def __init__(self, op: tiles.TileReduce, layout: Layout) -> None:
        shape = type_of(op.arguments[0]).shape
        behind = 1
        for extent in shape[op.axis + 1 :]:
            behind *= extent
        self.shape, self.axis, self.layout = shape, op.axis, layout
        self._along = (shape[op.axis] - 1) * behind
        self.threads = [bit for bit, step in enumerate(layout.threads) if step & self._along]

    def groups(self) -> list[list[int]]:
        """The registers of each line of this thread."""
        lines: dict[int, list[int]] = {}
        for register in range(self.layout.count):
            line = self.layout.place(register, 0) & ~self._along
            lines.setdefault(line, []).append(register)
        return [*lines.values()]

    def of(self, state: State, register: int) -> Coordinates:
        """The coordinates of the line of a register in the result."""
        at = unflattened(state.b, self.layout.at(register, state.thread), self.shape)
        return (*at[: self.axis], *at[self.axis + 1 :]) or (ZERO,)


def _own(state: State, op: tiles.TileReduce, layout: Layout, registers: list[int]) -> list[Value]:
    shape, totals = type_of(op.arguments[0]).shape, list[Value]()
    places = [*state.places(layout, shape)]
    before, state.by_registers = state.by_registers, True
    for register in registers:
        values = [element(state, value, places[register]) for value in op.arguments]
        totals = [*call(state, op.callee, [*totals, *values])] if totals else values
    state.by_registers = before
    return totals


def _has_no(state: State, bits: list[int]) -> Value | None:
    """Whether all of some bits of the thread's number are clear; None without bits."""
    if not bits:
        return None
    b, mask = state.b, sum(1 << bit for bit in bits)
    return b.eq(b.and_(state.thread, b.const(mask, i32)), b.const(0, i32))


def _store_cells(
    state: State,
    cells: list[str],
    at: Coordinates,
    made: list[Storage],
    warps: list[int],
    values: list[Value],
) -> None:
    """Store the values of this warp's part of a line."""
    b = state.b
    number = b.mul(as_value(b, flattened(b, at, made[0].type.shape)), b.const(1 << len(warps), i32))
    _store(state, cells, b.add(number, _part_of(state, warps).value(b)), values)


def _part_of(state: State, warps: list[int]) -> BitIndex:
    """The number of this warp among those of a line."""
    last = (log2(state.threads) or 0) - 1
    parts = [Bits(state.thread, bit, 1, n, bit == last) for n, bit in enumerate(warps)]
    return BitIndex(0, tuple(parts))


def _store(state: State, cells: list[str], place: Value, values: list[Value]) -> None:
    for symbol, value in zip(cells, values, strict=True):
        state.touch(symbol, True)
        state.b.store(state.b.offset(state.pointer_to(symbol), place), value)
