"""Threads that walk: each is a block, and its innermost loops are vectors of the compiler."""

from __future__ import annotations

import ast

import islpy as isl

from gridlane.compute.expressions import BLOCK, FOR, IF, USER
from gridlane.compute.model import Statement
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.schedules import Order
from gridlane.compute.strides import Rates, Stride, Strides
from gridlane.compute.tree import Loop, children, depth_of, users

_INSTRUCTIONS = frozenset(("sqrt", "fabs", "floor", "ceil", "trunc"))
"""Functions of ``math`` that vectors of processors have."""
_SIZES = (4, 8)
"""Bytes of the elements that loops are vectorised with."""


def innermost(node: isl.AstNode, depth: int) -> list[isl.AstNode]:
    """The loops without loops in them that are so many loops deep in a node."""
    kind = node.get_type()
    if kind == USER:
        return []
    if kind == FOR:
        body = node.for_get_body()
        if node.for_is_degenerate():
            return innermost(body, depth)
        return [node] if depth == 1 and depth_of(body) == 0 else innermost(body, depth - 1)
    if kind == IF:
        inner = [node.if_get_then_node()]
        inner += [node.if_get_else_node()] if node.if_has_else_node() else []
    else:
        assert kind == BLOCK
        inner = children(node)
    return [loop for each in inner for loop in innermost(each, depth)]


class Walks:
    """Which loops of an order are vectors of a thread that runs alone."""

    def __init__(
        self, polyhedra: Polyhedra, order: Order, strides: Strides, rates: Rates, letter: str
    ) -> None:
        self.polyhedra, self.order, self.strides = polyhedra, order, strides
        self.rates, self.letter = rates, letter
        self.statements = {each.name: each for each in polyhedra.nest.statements}

    def add_up(self, nodes: list[isl.AstNode]) -> bool:
        """Whether one of the deepest loops in nodes writes the same element in all iterations."""
        depth = max(map(depth_of, nodes))
        for node in [loop for each in nodes for loop in innermost(each, depth)] if depth else []:
            place, step = int(Loop(node).name[len(self.letter) :]), Loop(node).step
            if Stride.NONE in self.strides.strides(place, step, {*users(node)}, writes=True):
                return True
        return False

    def are_vectors(self, nodes: list[isl.AstNode]) -> bool:
        """Whether all of the deepest loops in nodes are vectors."""
        depth = max(map(depth_of, nodes))
        loops = [loop for each in nodes for loop in innermost(each, depth)] if depth else []
        return bool(loops) and all(map(self.is_vector, loops))

    def count(self, nodes: list[isl.AstNode]) -> int:
        """How many of the deepest loops are in nodes, or 1; 1 where no threads walk."""
        if self.rates.vector == 1:
            return 1
        depth = max(map(depth_of, nodes))
        return max(1, sum(len(innermost(each, depth)) for each in nodes) if depth else 1)

    def is_vector(self, node: isl.AstNode) -> bool:
        """Whether a loop's iterations are next to each other in memory and in any order, or sums
        that may be in any order."""
        names, loop = {*users(node)}, Loop(node)
        statements = [self.statements[each] for each in names]
        if not all(map(self._has_instructions, statements)):
            return False
        if any(each.parallel for s in statements for each in s.loops):
            return False  # by the user's word: the compiler would test what it is not to test
        dimension = int(loop.name[len(self.letter) :])
        if Stride.MANY in self.strides.strides(dimension, loop.step, names):
            return False
        if self.rates.sums and self._is_sum(statements, dimension, loop.step):
            return True
        place = names, dimension, self.order.map, self.order.count
        return self.polyhedra.is_parallel(*place) or (
            all(map(self._is_free, statements)) and self.polyhedra.is_parallel(*place, relaxed=True)
        )

    def can_have_rows(self, node: isl.AstNode, inner: isl.AstNode) -> bool:
        """Whether a thread may run several iterations of a loop at once: all that it has is a
        vector of one statement, whose element does not move with the loop.

        Args:
            inner: what the loop has.
        """
        if inner.get_type() != FOR or inner.for_get_body().get_type() != USER:
            return False
        if node.for_is_degenerate() or inner.for_is_degenerate() or not self.is_vector(inner):
            return False
        loop, vector, names = Loop(node), Loop(inner), {*users(inner)}
        (statement,) = [self.statements[each] for each in names]
        accessed = {each.name for each in (statement.write, *statement.reads)}
        if loop.step > 1 or vector.step > 1 or accessed & {*self.polyhedra.nest.variables}:
            return False
        outer, within = [int(each.name[len(self.letter) :]) for each in (loop, vector)]
        along, across = [self.strides.strides(place, 1, names) for place in (outer, within)]
        if not along or not across or (along[0], across[0]) != (Stride.NONE, Stride.ONE):
            return False  # it writes other elements, or there are no two iterations
        return self.polyhedra.may_turn(names, outer, within, self.order.map, self.order.count)

    def _is_sum(self, statements: list[Statement], dimension: int, step: int) -> bool:
        """Whether all that a loop carries is a sum in one element."""
        statement, *others = statements
        node, name = statement.node, statement.name
        if others or not isinstance(node, ast.AugAssign):
            return False
        if not isinstance(node.op, ast.Add | ast.Sub):
            return False
        moves = self.strides.moves(dimension, step, {name}).get(name, {})
        return self.polyhedra.is_one_element(statement, {n for n, by in moves.items() if by})

    def _is_free(self, statement: Statement) -> bool:
        """Whether a reduction may be evaluated in any order, or none is."""
        type_ = self.polyhedra.nest.tensors.get(statement.write.name)
        is_integer = type_ is not None and type_.dtype.is_integer
        return not statement.operator or self.rates.sums or is_integer

    def _has_instructions(self, statement: Statement) -> bool:
        tensors = self.polyhedra.nest.tensors
        for each in (statement.write, *statement.reads):
            if each.name in tensors and tensors[each.name].dtype.size not in _SIZES:
                return False
        calls = [n.func for n in ast.walk(statement.node) if isinstance(n, ast.Call)]
        return not statement.tests and all(
            n.attr in _INSTRUCTIONS for n in calls if isinstance(n, ast.Attribute)
        )
