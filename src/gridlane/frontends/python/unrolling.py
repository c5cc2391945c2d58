"""The loops that ``consteval`` unrolls: their targets, and what they may not contain."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from gridlane.core.argtypes import TupleType

Fail = Callable[..., NoReturn]
"""Raises the error of a node."""


def check_unrolled(node: ast.For, fail: Fail) -> None:
    """Raise for a body that leaves the loop, or assigns its variable."""
    for leaving in _leaving(node.body):
        word = "break" if isinstance(leaving, ast.Break) else "continue"
        fail(leaving, f"Loop unrolling does not support {word} statements")
    variables = {each.id for each in ast.walk(node.target) if isinstance(each, ast.Name)}
    for each in [inner for statement in node.body for inner in ast.walk(statement)]:
        is_stored = isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)
        if is_stored and each.id in variables:  # type: ignore[attr-defined]  # a Name
            name = each.id  # type: ignore[attr-defined]  # a Name
            fail(each, f"Loop unrolling does not support rebinding loop variable {name!r}")


def _leaving(nodes: list[ast.stmt]) -> list[ast.stmt]:
    """The statements that leave the loop around them, not one inside."""
    leaving: list[ast.stmt] = []
    for node in nodes:
        if isinstance(node, ast.Break | ast.Continue):
            leaving.append(node)
        elif isinstance(node, ast.For | ast.While):
            leaving += _leaving(node.orelse)
        elif not isinstance(node, ast.FunctionDef):
            for name in ("body", "orelse", "finalbody"):
                leaving += _leaving(getattr(node, name, []))
    return leaving


def items_of_parameter(
    node: ast.expr, parameters: Mapping[str, Any], fail: Fail
) -> list[ast.expr] | None:
    """The items of a parameter that is a tuple, as expressions; None of any other expression."""
    if not isinstance(node, ast.Name) or node.id not in parameters:
        return None
    kind = parameters[node.id]
    if not isinstance(kind, TupleType):
        fail(
            node,
            f"Cannot unroll over parameter {node.id!r} of type {kind}: only a tuple has a length "
            "that is known when the kernel is compiled",
        )
    indices = range(len(kind.items))
    return [ast.Subscript(copy.copy(node), ast.Constant(n), ast.Load()) for n in indices]


def bound_targets(target: ast.expr, value: Any, fail: Fail) -> dict[str, Any]:
    """What the names of a target are bound to.

    >>> pair = ast.parse("for a, [b, c] in x: pass").body[0].target
    >>> bound_targets(pair, (1, (2, 3)), print)
    {'a': 1, 'b': 2, 'c': 3}
    """
    if isinstance(target, ast.Name):
        return {target.id: value}
    if not isinstance(target, ast.Tuple | ast.List):
        kind = "starred" if isinstance(target, ast.Starred) else type(target).__name__
        fail(target, f"Loop unrolling does not support {kind} targets")
    for each in target.elts:
        if isinstance(each, ast.Starred):
            fail(each, "Loop unrolling does not support starred targets")
    try:
        values = list(value)
    except TypeError as error:
        name = type(value).__name__
        fail(target, f"Cannot unpack {name} into {ast.unparse(target)}", error)
    wanted = len(target.elts)
    if len(values) != wanted:
        excess = "not enough" if len(values) < wanted else "too many"
        fail(target, f"{excess} values to unpack (expected {wanted}, got {len(values)})")
    bound: dict[str, Any] = {}
    for each, inner in zip(target.elts, values):
        bound |= bound_targets(each, inner, fail)
    return bound


def substituted(statement: ast.stmt, nodes: Mapping[str, ast.expr]) -> ast.stmt:
    """A copy of a statement with expressions in place of names."""
    return _Substitution(nodes).visit(copy.deepcopy(statement))


class _Substitution(ast.NodeTransformer):
    def __init__(self, nodes: Mapping[str, ast.expr]) -> None:
        self.nodes = nodes

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """The expression of a name."""
        replacement = self.nodes.get(node.id)
        if replacement is None:
            return node
        result = ast.fix_missing_locations(ast.copy_location(copy.deepcopy(replacement), node))
        for each in ast.walk(result):
            ast.copy_location(each, node)
        return result
