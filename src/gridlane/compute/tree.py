"""Loops and statements of isl's syntax trees."""

from __future__ import annotations

from copy import copy

import islpy as isl

from gridlane.compute.expressions import FOR, IF, USER, python


class Loop:
    """A loop of isl's tree in Python's text."""

    def __init__(self, node: isl.AstNode) -> None:
        self.name = str(node.for_get_iterator().get_id().get_name())
        self.first = python(node.for_get_init())
        self.step = 1 if node.for_is_degenerate() else int(python(node.for_get_inc()))
        if node.for_is_degenerate():
            self.end = f"{self.first} + 1"
            self.condition, self.range = f"{self.name} == {self.first}", f"({self.first},)"
            return
        self.condition = python(node.for_get_cond())
        bound = node.for_get_cond()
        last = python(bound.get_op_arg(1))
        if bound.get_op_type() == isl.ast_expr_op_type.le:
            last = f"{last} + 1"
        self.end = last  # beyond the last value
        step = f", {self.step}" if self.step > 1 else ""
        self.range = f"range({self.first}, {last}{step})"

    def between(self, first: str, end: str) -> Loop:
        """The same loop with other bounds, of step 1."""
        found = copy(self)
        found.first, found.end, found.range = first, end, f"range({first}, {end})"
        return found


def children(node: isl.AstNode) -> list[isl.AstNode]:
    """The nodes in a block."""
    found = node.block_get_children()
    return [found.get_at(n) for n in range(found.n_ast_node())]


def branches(node: isl.AstNode) -> list[isl.AstNode]:
    """The nodes in a block, or the sides of a test."""
    if node.get_type() != IF:
        return children(node)
    sides = [node.if_get_then_node()]
    return [*sides, node.if_get_else_node()] if node.if_has_else_node() else sides


def depth_of(node: isl.AstNode) -> int:
    """The most loops in each other in a node."""
    kind = node.get_type()
    if kind == USER:
        return 0
    if kind == FOR:
        return (0 if node.for_is_degenerate() else 1) + depth_of(node.for_get_body())
    return max(map(depth_of, branches(node)), default=0)


def users_at(node: isl.AstNode, depth: int) -> list[str]:
    """The statements with so many loops around them in a node."""
    kind = node.get_type()
    if kind == USER:
        return users(node) if depth == 0 else []
    if kind == FOR:
        return users_at(node.for_get_body(), depth if node.for_is_degenerate() else depth - 1)
    return [name for each in branches(node) for name in users_at(each, depth)]


def users(node: isl.AstNode) -> list[str]:
    """The names of the statements in a node."""
    kind = node.get_type()
    if kind == USER:
        return [str(node.user_get_expr().get_op_arg(0).get_id().get_name())]
    if kind == FOR:
        return users(node.for_get_body())
    return [name for each in branches(node) for name in users(each)]
