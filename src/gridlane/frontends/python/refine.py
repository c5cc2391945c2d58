"""Refine the bounds of the integers that a condition compares, and variables that may be None,
where it is true or false.

``if 1 <= i < n - 1`` lets the body index ``a[i - 1]`` without a test for a negative index.
"""

from __future__ import annotations

import ast

from gridlane.frontends.python.operands import (
    NONE,
    EnumMember,
    Operand,
    OptionalOperand,
    Scalar,
)
from gridlane.frontends.python.translator import Translator

_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_MIRRORED = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.Eq}
_WITH_NONE: dict[type[ast.cmpop], bool] = {
    ast.Is: True,
    ast.Eq: True,
    ast.IsNot: False,
    ast.NotEq: False,
}
"""Whether a variable is None where such a comparison with None holds."""


def refined(
    t: Translator, env: dict[str, Operand], test: ast.expr, holds: bool
) -> dict[str, Operand]:
    """The variables with tighter bounds where ``test`` holds (or fails). ``env`` is not changed."""
    narrowed: dict[str, Operand] = {}
    _visit(t, env, test, holds, narrowed)
    return {**env, **narrowed} if narrowed else dict(env)


def _visit(
    t: Translator,
    env: dict[str, Operand],
    test: ast.expr,
    holds: bool,
    narrowed: dict[str, Operand],
) -> None:
    if isinstance(test, ast.Name | ast.NamedExpr) and holds:
        _settle(env, test, False, narrowed)
    elif isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And) is holds:
            for item in test.values:
                _visit(t, env, item, holds, narrowed)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        _visit(t, env, test.operand, not holds, narrowed)
    elif isinstance(test, ast.Compare) and (holds or len(test.ops) == 1):
        _comparison(t, env, test, holds, narrowed)


def _comparison(
    t: Translator,
    env: dict[str, Operand],
    test: ast.Compare,
    holds: bool,
    narrowed: dict[str, Operand],
) -> None:
    operands = t.compared.get(test)
    if operands is None or len(operands) <= len(test.ops):
        return
    nodes = [test.left, *test.comparators]
    for number, op in enumerate(test.ops):
        kind = type(op) if holds else _NEGATED.get(type(op))
        lhs, rhs = operands[number], operands[number + 1]
        if NONE in (lhs, rhs) and kind in _WITH_NONE:
            own = nodes[number] if rhs is NONE else nodes[number + 1]
            _settle(env, own, _WITH_NONE[kind], narrowed)
        if kind is None or not _integers(lhs, rhs):
            continue
        _tighten(env, nodes[number], kind, lhs, rhs, narrowed)  # type: ignore[arg-type]
        _tighten(env, nodes[number + 1], _MIRRORED.get(kind), rhs, lhs, narrowed)  # type: ignore  # scalars, by the guard


def _settle(
    env: dict[str, Operand], node: ast.expr, is_none: bool, narrowed: dict[str, Operand]
) -> None:
    """Bind a variable that may be None to what it is: None, or a value."""
    if isinstance(node, ast.NamedExpr):
        node = node.target
    if not isinstance(node, ast.Name):
        return
    bound = narrowed.get(node.id, env.get(node.id))
    if isinstance(bound, OptionalOperand):
        narrowed[node.id] = NONE if is_none else bound.inner


def _integers(lhs: Operand, rhs: Operand) -> bool:
    return all(isinstance(side, Scalar) and side.dtype.is_integer for side in (lhs, rhs))


def _tighten(
    env: dict[str, Operand],
    node: ast.expr,
    kind: type[ast.cmpop] | None,
    own: Scalar,
    other: Scalar,
    narrowed: dict[str, Operand],
) -> None:
    if not isinstance(node, ast.Name) or kind is None:
        return
    bound = narrowed.get(node.id, env.get(node.id))
    if not isinstance(bound, Scalar) or bound.value is not own.value:
        return
    lo, hi = bound.sure
    low, high = other.sure
    if kind in (ast.Gt, ast.GtE, ast.Eq):
        lo = max(lo, low + (kind is ast.Gt))
    if kind in (ast.Lt, ast.LtE, ast.Eq):
        hi = min(hi, high - (kind is ast.Lt))
    if lo < bound.lo:  # the bounds without overflow are tighter; a wrapped value may be below
        return
    # An empty range is unreachable; the bounds stay there, so that they are never empty.
    if lo <= hi and (lo, hi) != (bound.lo, bound.hi):
        tight = Scalar(bound.value, lo, hi)
        member = isinstance(bound, EnumMember)
        narrowed[node.id] = EnumMember(tight, bound.cls, bound.member) if member else tight
