"""Products of matrices. A target's matrix instructions belong here, in front of the loops."""

from __future__ import annotations

from gridlane.core.dtypes import DType, f16, f32, f64
from gridlane.ir.op import FastMath
from gridlane.ir.ops import arith, memory, tiles
from gridlane.ir.types import tile
from gridlane.ir.values import Value, Var
from gridlane.passes.tiles.elements import element, type_of
from gridlane.passes.tiles.indices import (
    BitIndex,
    Coordinates,
    Index,
    log2,
    source,
)
from gridlane.passes.tiles.machine import WARP
from gridlane.passes.tiles.state import State, Storage


def dot(state: State, op: tiles.TileDot) -> None:
    """Add the product of two matrices to a third."""
    result = op.results[0]
    if result not in state.placement.stored:
        return
    rows, columns = type_of(result).shape[-2:]
    blocked = state.machine.lockstep and columns % WARP == 0
    factors = _factors(state, op)
    storage = _in_place(state, op) or state.allocate(
        type_of(result), state.placement.stored[result], op.loc, result
    )
    if blocked and log2(rows) is not None and log2(columns // WARP) is not None:
        _by_registers(state, op, factors, storage)
    else:
        _by_elements(state, op, factors, storage)
    state.stored[result] = storage


Factors = tuple[Value | Storage, Value | Storage]


def _factors(state: State, op: tiles.TileDot) -> Factors:
    """The factors as they are read: on processors rows of the accumulator's type in memory."""
    if not state.machine.lockstep:
        return op.lhs, op.rhs
    left, right = (_packed(state, value, _sum_type(op)) for value in (op.lhs, op.rhs))
    return left, right


def _packed(state: State, value: Value, element_type: DType) -> Storage:
    stored, type_ = state.stored.get(value), type_of(value)
    if stored is not None and not stored.own and type_.element is element_type:
        return stored
    packed = state.allocate(tile(type_.shape, element_type), False, state.b.loc)
    with state.together(), state.elements(type_.shape) as at:
        state.write(packed, at, state.b.cast(element(state, value, at), element_type))
    return packed


def _sum_type(op: tiles.TileDot) -> DType:
    """The type of the sums."""
    type_ = type_of(op.acc).element
    assert isinstance(type_, DType)
    return f32 if type_ is f16 else type_


def _in_place(state: State, op: tiles.TileDot) -> Storage | None:
    """The memory of the variable that the accumulator is read from and the result written to."""
    read, result = op.acc.op, op.results[0]
    uses = state.placement.uses[result]
    if not isinstance(read, memory.ReadVar) or op.acc in state.stored or len(uses) != 1:
        return None
    write, number = uses[0].root, state.placement.order.number
    if (
        not isinstance(write, memory.WriteVar)
        or write.var is not read.var
        or write.value is not result
    ):
        return None
    for each in state.placement.order.ops:
        if isinstance(each, memory.ReadVar) and each.var is read.var:
            roots = [use.root for use in state.placement.uses[each.results[0]]]
            if number[each] < number[write] and any(
                root is not op and number[root] > number[op] for root in roots
            ):
                return None
    path = state.placement.order.path
    same = path[write][-1][1] is path[op][-1][1]
    return state.variables[read.var] if same else None


def _part(state: State, factor: Value | Storage, at: Coordinates, type_: DType) -> Value:
    if isinstance(factor, Storage):
        return state.read(factor, at)
    return state.b.cast(element(state, factor, at), type_)


def _sum(state: State, total: Value, left: Value, right: Value) -> Value:
    """total + left * right; floats may be fused."""
    b = state.b
    if total.type in (f32, f64):
        product = b.value(arith.Mul(left, right, FastMath.CONTRACT))
        return b.value(arith.Add(total, product, FastMath.CONTRACT))
    return b.add(total, b.mul(left, right))


def _by_elements(state: State, op: tiles.TileDot, factors: Factors, storage: Storage) -> None:
    """Each thread computes its elements, one after the other."""
    b, type_, depth = state.b, _sum_type(op), type_of(op.lhs).shape[-1]
    with state.together(), state.elements(storage.type.shape) as at:
        *batch, row, column = at
        total = b.variable("total", type_)
        b.write(total, b.cast(element(state, op.acc, at), type_))
        with state.counted(depth, "k") as counter:
            k: Index = source(counter, depth) if log2(depth) is not None else counter
            left = _part(state, factors[0], (*batch, row, k), type_)
            right = _part(state, factors[1], (*batch, k, column), type_)
            b.write(total, _sum(state, b.read(total), left, right))
        state.write(storage, at, _rounded(state, storage, b.read(total)))


def _rounded(state: State, storage: Storage, value: Value) -> Value:
    element_type = storage.type.element
    assert isinstance(element_type, DType)
    return state.b.cast(value, element_type)


def _by_registers(state: State, op: tiles.TileDot, factors: Factors, storage: Storage) -> None:
    """Some rows of the accumulator, each a vector of columns, are in registers while the sums
    run."""
    b, type_ = state.b, _sum_type(op)
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
            right = _part(state, factors[1], (*outer, k, column), type_)
            for total, (*_, row, _c) in zip(totals, at, strict=True):
                left = _part(state, factors[0], (*outer, row, k), type_)
                b.write(total, _sum(state, b.read(total), left, right))
        for place, total in zip(at, totals, strict=True):
            state.write(storage, place, _rounded(state, storage, b.read(total)))
