"""Expressions of literals alone, evaluated as CPython's compiler does before numba sees them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

Number = bool | int | float | complex

LARGEST = 1 << 12
"""Bits of the largest integer that is computed: no larger one fits in 64 bits again."""


def _power(base: Any, exponent: Any) -> Number:
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 0:
        _limit(int(base).bit_length() * exponent)
    return base**exponent


def _shift_left(value: Any, amount: Any) -> Number:
    if amount > 0:
        _limit(int(value).bit_length() + amount)
    return value << amount


def _limit(bits: int) -> None:
    if bits > LARGEST:
        raise OverflowError(f"an integer of some {bits} bits does not fit in 64 bits")


BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.LShift: _shift_left,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
"""Operators of numbers; OverflowError where an integer is too large to be computed."""

_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}


def folded(node: ast.expr) -> Number | None:
    """The value of an expression of literal numbers; None for any other, and for one whose
    evaluation fails, such as ``1 // 0``, which is left to run.

    Raises:
        OverflowError: an integer is too large to be computed.
    """
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, Number) else None
    try:
        if isinstance(node, ast.UnaryOp):
            value = folded(node.operand)
            return None if value is None else _UNARY[type(node.op)](value)
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            right = folded(node.right)
            left = None if right is None else folded(node.left)
            return None if left is None else BINARY[type(node.op)](left, right)
    except (ArithmeticError, TypeError, ValueError) as error:
        if type(error) is OverflowError and isinstance(node, ast.BinOp) and _is_int(node):
            raise
    return None


def _is_int(node: ast.BinOp) -> bool:
    """Whether both sides are integers, so that an overflow is an integer's."""
    return type(node.op) is not ast.Div and all(
        isinstance(folded(side), int) for side in (node.left, node.right)
    )
