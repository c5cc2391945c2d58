"""Short vectors that follow each other, one for each lane: one access for all of their numbers,
which shuffles sort by component."""

from __future__ import annotations

from collections.abc import Iterable

from gridlane.codegen.llvm.cpu.lanes import Emission, Linear
from gridlane.codegen.llvm.text import memory_name, scalar_name
from gridlane.ir.types import Type, VectorType


def is_adjacent(state: Emission, pointer: Linear, type_: Type) -> bool:
    """Whether all lanes run and each has the vector behind that of the lane before."""
    if not isinstance(type_, VectorType) or type_.count not in (2, 4):
        return False
    plain = memory_name(type_.element) == scalar_name(type_.element)
    return plain and state.mask is None and pointer.stride == type_.size


def load(state: Emission, pointer: Linear, type_: VectorType) -> list[str]:
    """The components, each a vector of lanes."""
    held, lanes, count = memory_name(type_.element), state.lanes, type_.count
    wide = f"<{lanes * count} x {held}>"
    row = state.body.op(f"load {wide}, ptr {pointer.base}, align {type_.element.align}")
    return [
        _shuffled(state, wide, row, "poison", range(part, lanes * count, count))
        for part in range(count)
    ]


def store(state: Emission, pointer: Linear, parts: list[str], type_: VectorType) -> None:
    """Write the components, each a vector of lanes."""
    held, lanes, count = memory_name(type_.element), state.lanes, type_.count
    joined, size = parts, lanes
    while len(joined) > 2:
        pairs = zip(joined[::2], joined[1::2], strict=True)
        one = f"<{size} x {held}>"
        joined = [_shuffled(state, one, a, b, range(2 * size)) for a, b in pairs]
        size *= 2
    order = [part * lanes + lane for lane in range(lanes) for part in range(count)]
    row = _shuffled(state, f"<{size} x {held}>", joined[0], joined[1], order)
    wide = f"<{lanes * count} x {held}>"
    state.body.do(f"store {wide} {row}, ptr {pointer.base}, align {type_.element.align}")


def _shuffled(state: Emission, type_: str, lhs: str, rhs: str, order: Iterable[int]) -> str:
    picks = [f"i32 {number}" for number in order]
    mask = f"<{len(picks)} x i32> <{', '.join(picks)}>"
    return state.body.op(f"shufflevector {type_} {lhs}, {type_} {rhs}, {mask}")
