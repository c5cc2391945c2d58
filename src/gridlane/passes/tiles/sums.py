"""Parts of products that all ways to compute them share."""

from __future__ import annotations

from gridlane.core.dtypes import DType, f16, f32, f64
from gridlane.ir.op import FastMath
from gridlane.ir.ops import arith, memory, tiles
from gridlane.ir.values import Value
from gridlane.passes.tiles.elements import element, type_of
from gridlane.passes.tiles.indices import Coordinates
from gridlane.passes.tiles.state import State, Storage

Factors = tuple[Value | Storage, Value | Storage]


def sum_type(op: tiles.TileDot) -> DType:
    """The type of the sums."""
    type_ = type_of(op.acc).element
    assert isinstance(type_, DType)
    return f32 if type_ is f16 else type_


def in_place(state: State, op: tiles.TileDot) -> Storage | None:
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


def part(state: State, factor: Value | Storage, at: Coordinates, type_: DType) -> Value:
    """An element of a factor."""
    if isinstance(factor, Storage):
        return state.read(factor, at)
    return state.b.cast(element(state, factor, at), type_)


def add_product(state: State, total: Value, left: Value, right: Value, fused: bool) -> Value:
    """total + left * right; floats may be fused."""
    b = state.b
    if total.type in (f32, f64):
        fast = FastMath.CONTRACT if fused else FastMath.NONE
        product = b.value(arith.Mul(left, right, fast))
        return b.value(arith.Add(total, product, fast))
    return b.add(total, b.mul(left, right))


def rounded(state: State, storage: Storage, value: Value) -> Value:
    """A sum as the result has it."""
    element_type = storage.type.element
    assert isinstance(element_type, DType)
    return state.b.cast(value, element_type)
