"""Folds what compilers compute of the signs of indices that are never negative.

``x < 0 ? x + n : x`` and divisions by powers of two read the sign of an index, and compilers write
``x + 2 < 0`` as ``x < -2``. Where the index is a sum of thread and block indices all of these are
known, and the address is linear in the thread again. What is known of an integer is its largest
value, if it is never negative; control flow is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.core.dtypes import DType
from gridlane.ir.builder import constant
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, grid
from gridlane.ir.rewriting import erase_dead
from gridlane.ir.values import Function, Module, Value

Known = dict[Value, int]
"""The largest value of each integer that is never negative."""

MOST_THREADS, MOST_BLOCKS = 1024, (1 << 31) - 1


def fold_signs(module: Module) -> None:
    """Fold what compilers compute of signs of indices that are never negative."""
    for function in module.functions.values():
        _fold(function)


def _fold(function: Function) -> None:
    known: Known = {}
    new: dict[Value, Value] = {}

    def change(value: Value) -> Value:
        return new.get(value, value)

    regions = [function.body]
    while regions:  # a region before those inside, as these alone see its values
        region = regions.pop()
        for place, op in enumerate(region.ops):
            if new:
                op.replace_operands(change)
            if op.REGION_FIELDS:
                regions += op.regions()
            elif type(op) in _KNOWN and _is_integer(op.results[0]):
                region.ops[place] = _folded(op, known, new)
    if new:
        erase_dead(function.body)


def _folded(op: Op, known: Known, new: dict[Value, Value]) -> Op:
    """The op, or the constant that it is; ``new`` receives what its result is now."""
    result = op.results[0]
    assert isinstance(result.type, DType)
    rule = _SAME.get(type(op))
    same = rule(op, known) if rule else None
    if isinstance(same, Value):
        new[result] = same
        return op
    if same is not None:
        const = arith.Const(same, result.type, loc=op.loc)
        new[result] = const.result
        known[const.result] = same
        return const
    largest = _LARGEST.get(type(op))
    most = largest(op, known) if largest else None
    if most is not None and most <= result.type.max:
        known[result] = most
    return op


def _is_integer(value: Value) -> bool:
    return isinstance(value.type, DType) and value.type.is_integer


# --- what a result is: another value, a number, or None for neither


def _and(op: arith.And, known: Known) -> Value | int | None:
    for value, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        mask, most = constant(other), known.get(value)
        if type(mask) is int and most is not None:
            kept = mask & ((1 << most.bit_length()) - 1)
            if not kept:
                return 0
            if kept == (1 << most.bit_length()) - 1:
                return value
    return 0 if 0 in (known.get(op.lhs), known.get(op.rhs)) else None


def _shift(op: arith.Shl | arith.Shr, known: Known) -> Value | int | None:
    amount, most = constant(op.amount), known.get(op.value)
    if amount == 0:
        return op.value
    if most == 0:
        return 0
    if not isinstance(op, arith.Shr) or not isinstance(amount, int) or most is None:
        return None
    return 0 if amount > 0 and not most >> amount else None


def _sum(op: arith.Add | arith.Or | arith.Xor, known: Known) -> Value | int | None:
    if known.get(op.rhs) == 0:
        return op.lhs
    return op.rhs if known.get(op.lhs) == 0 else None


def _select(op: arith.Select, known: Known) -> Value | int | None:
    chosen = _truth(op.condition, known)
    return None if chosen is None else (op.on_true if chosen else op.on_false)


def _truth(condition: Value, known: Known) -> bool | None:
    """Whether a comparison with a constant holds for all values that an integer may have."""
    op = condition.op
    if isinstance(op, arith.Not):
        inner = _truth(op.value, known)
        return None if inner is None else not inner
    if not isinstance(op, arith.Compare) or not _is_integer(op.lhs):
        return None
    number, most = constant(op.rhs), known.get(op.lhs)
    if most is None or type(number) is not int:
        return None
    rule = _TRUTHS.get(type(op))
    return rule(number, most) if rule else None


def _below(number: int, most: int) -> bool | None:
    return False if number <= 0 else (True if most < number else None)


def _equal(number: int, most: int) -> bool | None:
    return None if 0 <= number <= most else False


def _negated(rule: Callable[[int, int], bool | None]) -> Callable[[int, int], bool | None]:
    def negated(number: int, most: int) -> bool | None:
        truth = rule(number, most)
        return None if truth is None else not truth

    return negated


def _below_or_equal(number: int, most: int) -> bool | None:
    return _below(number + 1, most)


_TRUTHS: dict[type[Op], Callable[[int, int], bool | None]] = {
    arith.Lt: _below,
    arith.Ge: _negated(_below),
    arith.Le: _below_or_equal,
    arith.Gt: _negated(_below_or_equal),
    arith.Eq: _equal,
    arith.Ne: _negated(_equal),
}
"""Whether a value from 0 to ``most`` compares so with a number, if that is sure."""


_SAME: dict[type[Op], Callable[[Any, Known], Value | int | None]] = {
    arith.And: _and,
    arith.Shl: _shift,
    arith.Shr: _shift,
    arith.Add: _sum,
    arith.Or: _sum,
    arith.Xor: _sum,
    arith.Select: _select,
}


# --- the largest value of a result


def _const(op: arith.Const, known: Known) -> int | None:
    value = constant(op.result)
    return value if type(value) is int and value >= 0 else None


def _cast(op: arith.Cast, known: Known) -> int | None:
    source = op.value.type
    if op.value in known:
        return known[op.value]  # a smaller type that lacks it has no entry
    if isinstance(source, DType) and source.is_integer and not source.is_signed:
        return source.max
    return None


def _least(op: arith.And, known: Known) -> int | None:
    sides = [known[side] for side in (op.lhs, op.rhs) if side in known]
    return min(sides) if sides else None


def _both(combine: Callable[[int, int], int]) -> Callable[[Any, Known], int | None]:
    def rule(op: Any, known: Known) -> int | None:
        has = op.lhs in known and op.rhs in known
        return combine(known[op.lhs], known[op.rhs]) if has else None

    return rule


def _moved(op: arith.Shl | arith.Shr, known: Known) -> int | None:
    amount, most = constant(op.amount), known.get(op.value)
    if most is None or type(amount) is not int or not 0 <= amount < 64:
        return None
    return most << amount if isinstance(op, arith.Shl) else most >> amount


def _number(most: int) -> Callable[[Any, Known], int | None]:
    return lambda op, known: most


_LARGEST: dict[type[Op], Callable[[Any, Known], int | None]] = {
    arith.Const: _const,
    arith.Cast: _cast,
    arith.And: _least,
    arith.Add: _both(int.__add__),
    arith.Mul: _both(int.__mul__),
    arith.Min: _both(min),
    arith.Max: _both(max),
    arith.Or: _both(lambda a, b: (1 << max(a, b).bit_length()) - 1),
    arith.Shl: _moved,
    arith.Shr: _moved,
    grid.ThreadIdx: _number(MOST_THREADS - 1),
    grid.BlockDim: _number(MOST_THREADS),
    grid.BlockIdx: _number(MOST_BLOCKS),
    grid.GridDim: _number(MOST_BLOCKS),
}
_KNOWN = frozenset((*_SAME, *_LARGEST))
