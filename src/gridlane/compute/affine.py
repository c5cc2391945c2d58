"""Affine expressions of Python's text as isl's."""

from __future__ import annotations

import ast
from collections.abc import Mapping


class NotAffine(Exception):
    """An expression is not affine; ``node`` is the part that is not."""

    def __init__(self, node: ast.expr) -> None:
        super().__init__(ast.unparse(node))
        self.node = node


def constant_of(node: ast.expr, captured: Mapping[str, object]) -> int | None:
    """The value of an integer constant, or None."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            value = constant_of(inner, captured)
            return None if value is None else -value
        case ast.Name(id=name) if type(captured.get(name)) is int:
            return int(captured[name])  # type: ignore[call-overload]  # an int, as the guard says
        case _:
            return None


def affine(node: ast.expr, names: Mapping[str, str], captured: Mapping[str, object]) -> str:
    """An expression in isl's text.

    Args:
        names: of loops and parameters in Python's text, and their names in isl's.
        captured: constants by name.

    Raises:
        NotAffine: it is none, such as a product of two names.

    >>> affine(ast.parse("2 * i + (n - 1) // 2", mode="eval").body, {"i": "i", "n": "n"}, {})
    '((2 * i) + floor(((n - 1)) / 2))'
    """
    value = constant_of(node, captured)
    if value is not None:
        return str(value) if value >= 0 else f"({value})"
    match node:
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return f"(-{affine(inner, names, captured)})"
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            sign = "+" if isinstance(op, ast.Add) else "-"
            one, other = affine(left, names, captured), affine(right, names, captured)
            return f"({one} {sign} {other})"
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            for factor, rest in ((left, right), (right, left)):
                by = constant_of(factor, captured)
                if by is not None:
                    return f"({by} * {affine(rest, names, captured)})"
        case ast.BinOp(left=left, op=ast.FloorDiv() | ast.Mod() as op, right=right):
            by = constant_of(right, captured)
            if by is not None and by > 0:
                text = affine(left, names, captured)
                is_rest = isinstance(op, ast.Mod)
                return f"(({text}) mod {by})" if is_rest else f"floor(({text}) / {by})"
        case _:
            pass
    raise NotAffine(node)


_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "=", ast.NotEq: "!=",
}  # fmt: skip
_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}  # fmt: skip


def condition(
    node: ast.expr, names: Mapping[str, str], captured: Mapping[str, object], holds: bool = True
) -> str:
    """A condition on affine expressions in isl's text, or its opposite.

    Raises:
        NotAffine: it is none.
    """
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return condition(inner, names, captured, not holds)
        case ast.BoolOp(op=op, values=values):
            word = " and " if isinstance(op, ast.And) == holds else " or "
            return f"({word.join(condition(each, names, captured, holds) for each in values)})"
        case ast.Compare(left=left, ops=ops, comparators=others):
            parts: list[str] = []
            for one, op, other in zip([left, *others], ops, others):
                kind = type(op)
                if kind not in _COMPARISONS:
                    raise NotAffine(node)
                sign = _COMPARISONS[kind if holds else _NEGATED[kind]]
                both = affine(one, names, captured), affine(other, names, captured)
                parts.append(f"{both[0]} {sign} {both[1]}")
            return f"({(' and ' if holds else ' or ').join(parts)})"
        case _:
            raise NotAffine(node)
