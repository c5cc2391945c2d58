"""Values of other lanes and warps."""

from __future__ import annotations

from gridlane.core.dtypes import b1, i32, u32
from gridlane.ir.ops import arith, tiles, warp
from gridlane.ir.values import Value
from gridlane.passes.tiles.elements import call
from gridlane.passes.tiles.indices import Coordinates, as_value, flattened
from gridlane.passes.tiles.machine import WARP
from gridlane.passes.tiles.state import State, Storage


def write_all(state: State, made: list[Storage], at: Coordinates, values: list[Value]) -> None:
    """Store an element of each of some tiles."""
    for storage, value in zip(made, values, strict=True):
        state.write(storage, at, value)


def moved(state: State, value: Value, distance: int) -> Value:
    """The value of the lane whose number differs in one bit."""
    b, is_bool = state.b, value.type is b1
    sent = b.cast(value, i32) if is_bool else value
    operands = b.const(0xFFFFFFFF, u32), sent, b.const(distance, i32), b.const(WARP, i32)
    moved = b.emit(warp.Shuffle(warp.ShuffleMode.XOR, *operands)).results[0]
    return b.value(arith.Ne(moved, b.const(0, i32))) if is_bool else moved


def combine_cells(
    state: State, op: tiles.TileReduce, each: int, cells: list[str], made: list[Storage]
) -> None:
    """Combine the values of the warps of each line, in order."""
    with state.together(), state.elements(made[0].type.shape) as at:
        combine_cells_of(state, op, each, cells, made, at)


def combine_cells_of(
    state: State,
    op: tiles.TileReduce,
    each: int,
    cells: list[str],
    made: list[Storage],
    at: Coordinates,
) -> None:
    """Combine those of one line."""
    b = state.b
    first = b.mul(as_value(b, flattened(b, at, made[0].type.shape)), b.const(each, i32))
    totals: list[Value] = []
    for number in range(each):
        values = load_cells(state, cells, b.add(first, b.const(number, i32)))
        totals = [*call(state, op.callee, [*totals, *values])] if totals else values
    write_all(state, made, at, totals)


def load_cells(state: State, cells: list[str], place: Value) -> list[Value]:
    """The values of a warp."""
    values: list[Value] = []
    for symbol in cells:
        state.touch(symbol)
        values.append(state.b.load(state.b.offset(state.pointer_to(symbol), place)))
    return values
