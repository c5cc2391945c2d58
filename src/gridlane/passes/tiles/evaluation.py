"""What functions of one number, and scalars of constants, compute: ops on elements, by numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.core.dtypes import DType
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, math
from gridlane.ir.values import Function, Value

Array = np.ndarray[Any, np.dtype[Any]]


def _shifted(left: bool) -> Callable[[Array, Array], Array]:
    def shift(value: Array, amount: Array) -> Array:
        bits = 8 * value.dtype.itemsize
        moved = np.left_shift if left else np.right_shift
        inside = np.minimum(amount, bits - 1).astype(value.dtype)
        return np.where(amount < bits, moved(value, inside), value.dtype.type(0))

    return shift


_RULES: dict[type[Op], Callable[..., Any]] = {
    arith.Add: np.add,
    arith.Sub: np.subtract,
    arith.Mul: np.multiply,
    arith.And: np.bitwise_and,
    arith.Or: np.bitwise_or,
    arith.Xor: np.bitwise_xor,
    arith.Shl: _shifted(True),
    arith.Shr: _shifted(False),
    arith.Eq: np.equal,
    arith.Ne: np.not_equal,
    arith.Lt: np.less,
    arith.Le: np.less_equal,
    arith.Gt: np.greater,
    arith.Ge: np.greater_equal,
    arith.Select: np.where,
    arith.Neg: np.negative,
    arith.Abs: np.abs,
    math.Rint: np.rint,
}


def _least(one: Array, other: Array) -> Array:
    takes = (one < other) | ((one == other) & np.signbit(one)) | np.isnan(other)
    return np.where(takes, one, other)


def _largest(one: Array, other: Array) -> Array:
    return np.negative(_least(np.negative(one), np.negative(other)))


_OF_WHOLE: dict[type[Op], Callable[..., Any]] = {arith.Min: np.minimum, arith.Max: np.maximum}
_OF_FLOATS: dict[type[Op], Callable[..., Any]] = {
    arith.Min: _least,
    arith.Max: _largest,
}
"""Ops that differ from numpy's of floats: numbers take precedence over NaN, and +0 is above -0."""


def results(function: Function, numbers: Array) -> Array | None:
    """What a function of one number returns for several; None where it is not known."""
    values: dict[Value, Array] = {}
    if len(function.params) != 1 or function.variables:
        return None
    param = function.params[0].value
    if not isinstance(param.type, DType) or param.type.numpy != numbers.dtype:
        return None
    values[param] = numbers
    with np.errstate(all="ignore"):
        for op in function.body.ops:
            if isinstance(op, control.Return):
                return values[op.values[0]] if len(op.values) == 1 else None
            made = _result(op, [values[each] for each in op.operands()], len(numbers))
            if made is None:
                return None
            values[op.results[0]] = made
    return None


def _result(op: Op, operands: list[Array], count: int) -> Array | None:
    type_ = op.results[0].type if op.results else None
    if not isinstance(type_, DType):
        return None
    if isinstance(op, arith.Const):
        return np.full(count, op.value, type_.numpy)
    if isinstance(op, arith.Bitcast):
        return operands[0].view(type_.numpy)
    whole = all(each.dtype.kind in "ui" for each in operands)
    if isinstance(op, arith.Cast):
        return _cast(operands[0], type_.numpy)
    rule = _RULES.get(type(op)) or (_OF_WHOLE if whole else _OF_FLOATS).get(type(op))
    if rule is None or (isinstance(op, arith.Shr) and operands[0].dtype.kind != "u"):
        return None
    return np.asarray(rule(*operands)).astype(type_.numpy)


def _cast(numbers: Array, kind: np.dtype[Any]) -> Array | None:
    """Numbers of another type; None where floats are none of the integers'."""
    if numbers.dtype.kind == "f" and kind.kind in "ui":
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
        if not ((numbers >= low) & (numbers <= high)).all() or kind.itemsize > 4:
            return None
        return np.trunc(numbers).astype(np.int64).astype(kind)
    plain = numbers.dtype.kind in "uif" and kind.kind in "uif"
    return numbers.astype(kind) if plain else None


def constant(value: Value) -> Array | None:
    """The one element that a scalar is, if constants decide it."""
    known: dict[Value, Array | None] = {}

    def of(each: Value) -> Array | None:
        if each not in known:
            op, made = each.op, None
            if op is not None and op.pure and not op.REGION_FIELDS and len(op.results) == 1:
                operands = [of(operand) for operand in op.operands()]
                plain = [operand for operand in operands if operand is not None]
                made = _result(op, plain, 1) if len(plain) == len(operands) else None
            known[each] = made
        return known[each]

    with np.errstate(all="ignore"):
        return of(value)
