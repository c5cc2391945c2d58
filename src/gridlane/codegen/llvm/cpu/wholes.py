"""Decides by one scalar comparison, instead of a vector of them, whether all lanes pass a test, or
none.

A comparison of values that are linear in the lane holds for all lanes if it holds for the worst
one, the first or the last. Where that lane's value would wrap, the answer is no: the caller then
tests every lane.
"""

from __future__ import annotations

from gridlane.analysis.uniformity import Kind
from gridlane.codegen.llvm.cpu.lanes import Emission, Linear, Uniform
from gridlane.codegen.llvm.text import scalar_name
from gridlane.core.dtypes import DType
from gridlane.ir.op import Op
from gridlane.ir.ops import arith
from gridlane.ir.values import Value

_NEGATED: dict[type[Op], type[Op]] = {
    arith.Lt: arith.Ge,
    arith.Le: arith.Gt,
    arith.Gt: arith.Le,
    arith.Ge: arith.Lt,
    arith.Eq: arith.Ne,
    arith.Ne: arith.Eq,
}
_WORDS: dict[type[Op], str] = {
    arith.Lt: "lt",
    arith.Le: "le",
    arith.Gt: "gt",
    arith.Ge: "ge",
    arith.Eq: "eq",
    arith.Ne: "ne",
}
_RISING = (arith.Gt, arith.Ge)
"""Comparisons whose worst lane is the one with the smallest left side."""


def is_testable(state: Emission, condition: Value, negate: bool = False) -> bool:
    """Whether ``all_lanes_pass`` supports a condition: its operands may be of another segment."""
    op = condition.op
    if condition in state.stale:
        return False
    if state.shapes.of(condition).uniform:
        return True
    if isinstance(op, arith.Not):
        return is_testable(state, op.value, not negate)
    if isinstance(op, arith.Or if negate else arith.And):
        return is_testable(state, op.lhs, negate) and is_testable(state, op.rhs, negate)
    if op is None or type(op) not in _NEGATED:
        return False
    kind = _NEGATED[type(op)] if negate else type(op)
    if kind in (arith.Eq, arith.Ne):
        return False
    assert isinstance(op, arith.Compare)
    type_ = op.lhs.type
    if not isinstance(type_, DType) or not type_.is_integer:
        return False
    return all(_keeps_order(state, value, type_) for value in (op.lhs, op.rhs))


def _keeps_order(state: Emission, value: Value, type_: DType) -> bool:
    """Whether a value is uniform, or linear without wrapping between the first and the last lane: a
    distance beyond the type's range wraps in every chunk."""
    if value in state.stale:
        return False
    shape = state.shapes.of(value)
    return shape.kind <= Kind.LINEAR and abs(shape.stride) * (state.lanes - 1) <= type_.max


def all_lanes_pass(state: Emission, condition: Value, negate: bool = False) -> str:
    """An i1: true only if the condition (or, if negated, its negation) holds in every lane."""
    op, body = condition.op, state.body
    rep = state.values.get(condition)
    if isinstance(rep, Uniform):
        return body.op(f"xor i1 {rep.name}, true") if negate else rep.name
    if isinstance(op, arith.Not):
        return all_lanes_pass(state, op.value, not negate)
    if isinstance(op, arith.And | arith.Or):
        a, b = [all_lanes_pass(state, side, negate) for side in (op.lhs, op.rhs)]
        return body.op(f"and i1 {a}, {b}")
    assert isinstance(op, arith.Compare)
    kind = _NEGATED[type(op)] if negate else type(op)
    type_ = op.lhs.type
    assert isinstance(type_, DType)
    rise = _stride(state, op.lhs) - _stride(state, op.rhs)
    if kind in _RISING:
        rise = -rise
    lane = state.lanes - 1 if rise > 0 else 0
    wraps: list[str] = []
    a, b = [_at_lane(state, side, type_, lane, wraps) for side in (op.lhs, op.rhs)]
    sign = "s" if type_.is_signed else "u"
    result = body.op(f"icmp {sign}{_WORDS[kind]} {scalar_name(type_)} {a}, {b}")
    for wrap in wraps:
        exact = body.op(f"xor i1 {wrap}, true")
        result = body.op(f"and i1 {result}, {exact}")
    return result


def no_lane_passes(state: Emission, condition: Value) -> str | None:
    """An i1: true only if the condition fails in every lane; None if no comparison of scalars
    decides it."""
    op = condition.op
    if not isinstance(op, arith.And):
        is_known = is_testable(state, condition, negate=True)
        return all_lanes_pass(state, condition, negate=True) if is_known else None
    a, b = no_lane_passes(state, op.lhs), no_lane_passes(state, op.rhs)
    if a is None or b is None:
        return a or b
    return state.body.op(f"or i1 {a}, {b}")


def _stride(state: Emission, value: Value) -> int:
    rep = state.rep(value)
    return rep.stride if isinstance(rep, Linear) else 0


def _at_lane(state: Emission, value: Value, type_: DType, lane: int, wraps: list[str]) -> str:
    """A linear value in a lane; appends an i1: whether it wrapped."""
    rep = state.rep(value)
    if isinstance(rep, Uniform):
        return rep.name
    assert isinstance(rep, Linear)
    name = scalar_name(type_)
    # The last lane is checked even if the first is compared: a lane between them may wrap.
    distance = (state.lanes - 1) * rep.stride
    word = ("s" if type_.is_signed else "u") + ("add" if distance >= 0 else "sub")
    pair = f"{{{name}, i1}}"
    full = f"llvm.{word}.with.overflow.{name}"
    difference = state.body.call(pair, full, [(name, rep.base), (name, str(abs(distance)))])
    wraps.append(state.body.op(f"extractvalue {pair} {difference}, 1"))
    return rep.base if lane == 0 else state.body.op(f"extractvalue {pair} {difference}, 0")
