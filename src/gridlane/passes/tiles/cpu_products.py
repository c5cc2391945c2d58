"""Products of matrices on processors: packed factors, and sums in vector registers."""

from __future__ import annotations

from gridlane.core.dtypes import DType
from gridlane.ir.ops import tiles
from gridlane.ir.types import tile
from gridlane.ir.values import Value, Var
from gridlane.passes.tiles.elements import element, type_of
from gridlane.passes.tiles.indices import BitIndex, Coordinates, Index, log2, source
from gridlane.passes.tiles.machine import WARP
from gridlane.passes.tiles.state import State, Storage
from gridlane.passes.tiles.sums import Factors, add_product, part, rounded, sum_type


def dot_on_processor(state: State, op: tiles.TileDot, storage: Storage) -> bool:
    """Compute a product whose columns are whole vectors; whether it is one."""
    rows, columns = storage.type.shape[-2:]
    whole = columns % WARP == 0 and log2(rows) is not None and log2(columns // WARP) is not None
    if whole:
        by_registers(state, op, packed_factors(state, op), storage)
    return whole


def packed_factors(state: State, op: tiles.TileDot) -> Factors:
    """The factors as rows of the accumulator's type in memory."""
    left, right = (_packed(state, value, sum_type(op)) for value in (op.lhs, op.rhs))
    return left, right


def _packed(state: State, value: Value, element_type: DType) -> Storage:
    stored, type_ = state.stored.get(value), type_of(value)
    if stored is not None and not stored.own and type_.element is element_type:
        return stored
    packed = state.allocate(tile(type_.shape, element_type), False, state.b.loc)
    with state.together(), state.elements(type_.shape) as at:
        state.write(packed, at, state.b.cast(element(state, value, at), element_type))
    return packed


def by_registers(state: State, op: tiles.TileDot, factors: Factors, storage: Storage) -> None:
    """Some rows of the accumulator, each a vector of columns, are in registers while the sums
    run."""
    b, type_ = state.b, sum_type(op)
    *batches, rows, columns = storage.type.shape
    depth, group = type_of(op.lhs).shape[-1], min(rows, state.machine.rows)
    lane = state.lane()
    assert isinstance(lane, BitIndex)
    with (
        state.together(),
        state.counted(batches[0] if batches else 1, "batch") as batch,
        state.counted(columns // WARP, "columns") as block,
        state.counted(rows // group, "rows") as rows_of,
    ):
        outer: Coordinates = (batch,) if batches else ()
        column = source(block, columns // WARP).joined(lane, 5)
        first = source(rows_of, rows // group)
        at = [
            (*outer, first.joined(BitIndex(row), log2(group) or 0), column) for row in range(group)
        ]
        totals: list[Var] = []
        for place in at:
            totals.append(b.variable("total", type_))
            b.write(totals[-1], b.cast(element(state, op.acc, place), type_))
        with state.counted(depth, "k") as counter:
            k: Index = source(counter, depth) if log2(depth) is not None else counter
            right = part(state, factors[1], (*outer, k, column), type_)
            for total, (*_, row, _c) in zip(totals, at, strict=True):
                left = part(state, factors[0], (*outer, row, k), type_)
                b.write(total, add_product(state, b.read(total), left, right))
        for place, total in zip(at, totals, strict=True):
            state.write(storage, place, rounded(state, storage, b.read(total)))
