"""Which sums of a nest several threads may add up together, and which loops they divide.

A scope is the outermost loop all of whose iterations may run in any order but for reductions of
elements or variables that are the same ones in all of them. Dependences are isl's; the order of
evaluation of reductions is free for integers, which wrap, and for floats under ``fastmath``.
"""

from __future__ import annotations

import ast
from typing import Protocol

import islpy as isl

from gridlane.compute.expressions import FOR, IF, USER
from gridlane.compute.model import Access, Nest, Statement
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.schedules import Order
from gridlane.compute.strides import Rates
from gridlane.compute.tree import Loop, children, users
from gridlane.compute.typing import WEAK_FLOAT, WEAK_INT, Typing
from gridlane.core.dtypes import DType, b1
from gridlane.core.frozen import frozen

_RING = frozenset("+*&|^")
"""Operators of integers whose results modulo a power of two depend on their operands' alone."""


class Source(Protocol):
    """The nest that is emitted."""

    polyhedra: Polyhedra
    typing: Typing
    nest: Nest
    order: Order
    rates: Rates
    statements: dict[str, Statement]
    letter: str


@frozen
class Scope:
    """A loop whose iterations several threads divide.

    Attributes:
        sums: the statements of the reductions.
        locals: variables that each iteration has for itself.
        lanes: the iterators of its innermost loops.
    """

    sums: tuple[Statement, ...]
    locals: frozenset[str]
    lanes: tuple[str, ...]


class Sharing:
    """The scopes of a nest's kernels."""

    def __init__(self, source: Source) -> None:
        self.source, self.polyhedra, self.nest = source, source.polyhedra, source.polyhedra.nest
        self._scopes: dict[str, Scope | str] = {}

    def scope(self, node: isl.AstNode) -> Scope | str:
        """The scope that a loop is, or why it is none; no text where it has no sum."""
        key = f"{node.to_C_str()}"
        if key not in self._scopes:
            self._scopes[key] = self._scope(node)
        return self._scopes[key]

    def _scope(self, node: isl.AstNode) -> Scope | str:
        loop = Loop(node)
        if node.for_is_degenerate():
            return ""
        names = set(users(node))
        inside = [self.source.statements[each] for each in sorted(names)]
        own = self._dimension(loop)
        sums: list[Statement] = []
        local: set[str] = set()
        for each in inside:
            write = each.write
            if write.name in self.nest.variables and self._is_local(each, own):
                local.add(write.name)
            elif not each.operator:
                return ""
            elif self._moves(each, own) or self._meets(each, inside):
                return f"{write.name} is accessed by more than one sum in the loop"
            else:
                sums.append(each)
        if not sums:
            return ""
        reason = next(filter(None, map(self.order_reason, sums)), "")
        if reason:
            return reason
        if not self._is_free(names, own):
            return "it carries another dependence than that of sums"
        lanes = innermost_loops(node)
        adders = {each.name for each in sums}
        for each in lanes:
            number, mine = self._dimension(Loop(each)), set(users(each))
            if not self._is_free(mine, number):
                return f"{Loop(each).name} carries another dependence than that of sums"
            for one in mine - adders:
                if not self._is_local(self.source.statements[one], number):
                    return f"{self.source.statements[one].write.name} is a sum within a sum"
        return Scope(tuple(sums), frozenset(local), tuple([Loop(each).name for each in lanes]))

    def is_parallel(self, node: isl.AstNode) -> bool:
        """Whether iterations of an innermost loop run in any order, with variables of their own."""
        loop = Loop(node)
        if node.for_is_degenerate() or len(loops_in(node)) > 1:
            return False
        names, number = set(users(node)), self._dimension(loop)
        for each in names:
            statement = self.source.statements[each]
            is_variable = statement.write.name in self.nest.variables
            if is_variable and not self._is_local(statement, number):
                return False
        order = self.source.order
        return self.polyhedra.is_parallel(names, number, order.map, order.count)

    def order_reason(self, statement: Statement) -> str:
        """Why the order of evaluation of a reduction is that of the loops; empty if it is free."""
        name, typing = statement.write.name, self.source.typing
        target = typing.type_of(name)
        value = statement.node.value
        if isinstance(statement.node, ast.AugAssign):
            before = ast.Name(name, ast.Load())
            if isinstance(statement.node.target, ast.Subscript):
                given = statement.node.target
                before = ast.Subscript(given.value, given.slice, ast.Load())
            value = ast.BinOp(before, statement.node.op, value)
            ast.fix_missing_locations(ast.copy_location(value, statement.node))
        kind = typing.expression(value)[1]
        where = f"{name} is a sum by {statement.operator} of {target} (line {statement.loc.line})"
        if target is b1 or not isinstance(kind, DType | str):
            return f"{where}, which is no number"
        if target.is_float:
            is_number = kind in (WEAK_FLOAT, WEAK_INT) or (
                isinstance(kind, DType) and kind is not b1
            )
            if self.source.rates.sums and is_number:
                return ""
            return f"{where}, in the order of the loops: fastmath=True permits another one"
        if kind in (target, WEAK_INT):
            return ""
        is_integer = isinstance(kind, DType) and kind.is_integer and kind is not b1
        if is_integer and statement.operator in _RING and kind.size >= target.size:  # type: ignore[union-attr]  # a DType
            return ""
        return f"{where}, rounded from {kind} after each one"

    # ---- facts

    def _is_free(self, names: set[str], dimension: int) -> bool:
        order = self.source.order
        return self.polyhedra.is_parallel(names, dimension, order.map, order.count, relaxed=True)

    def _dimension(self, loop: Loop) -> int:
        return int(loop.name[len(self.source.letter) :])

    def _elements(self, statement: Statement, dimension: int, condition: str) -> isl.UnionMap:
        """Pairs of what a statement writes in iterations that agree in front of a dimension."""
        order, polyhedra = self.source.order, self.polyhedra
        domain = isl.UnionSet.from_set(polyhedra.domain(statement))
        times = order.map.intersect_domain(domain)
        one = [f"i{n}'" for n in range(order.count)]
        other = [f"i{n}'" if n < dimension else f"o{n}'" for n in range(order.count)]
        text = f"{{ [{', '.join(one)}] -> [{', '.join(other)}] : {condition} }}"
        both = isl.UnionMap.from_map(polyhedra.map(text))
        pairs = times.apply_range(both).apply_range(times.reverse())
        written = isl.UnionMap.from_map(polyhedra.access(statement, statement.write))
        return pairs.apply_domain(written).apply_range(written)

    def _moves(self, statement: Statement, dimension: int) -> bool:
        """Whether a statement writes several elements in iterations of a loop."""
        found = self._elements(statement, dimension, "1 = 1")
        return not found.is_subset(found.domain().identity())

    def _is_local(self, statement: Statement, dimension: int) -> bool:
        """Whether each iteration of a dimension has a variable for itself."""
        if statement.write.name not in self.nest.variables:
            return False
        found = self._elements(statement, dimension, f"o{dimension}' != i{dimension}'")
        return found.intersect(found.domain().identity()).is_empty()

    def _meets(self, adder: Statement, inside: list[Statement]) -> bool:
        """Whether what a statement adds to is accessed by more than the sum."""
        write = adder.write
        if write.indices is None:
            return True
        tested = [node for test in adder.tests for node in ast.walk(test)]
        names = {node.id for node in tested if isinstance(node, ast.Name)}
        memory = self._memory(write)
        if any(self.polyhedra.same.get(each, each) == memory for each in names):
            return True
        others = [each for each in inside if each is not adder]
        known = [a for each in others for a in (each.write, *each.reads)]
        known += [each for each in adder.reads if each.name != write.name]
        return any(self._memory(each) == memory for each in known)

    def _memory(self, access: Access) -> str:
        return self.polyhedra.same.get(access.name, access.name)


def loops_in(node: isl.AstNode) -> list[Loop]:
    """The loops of a node, itself included."""
    kind = node.get_type()
    if kind == USER:
        return []
    if kind == FOR:
        return [Loop(node), *loops_in(node.for_get_body())]
    return [loop for each in parts_of(node) for loop in loops_in(each)]


def innermost_loops(node: isl.AstNode) -> list[isl.AstNode]:
    """The loops in a node without loops in them, itself included."""
    kind = node.get_type()
    if kind == USER:
        return []
    if kind == FOR:
        found = innermost_loops(node.for_get_body())
        return found or ([] if node.for_is_degenerate() else [node])
    return [loop for each in parts_of(node) for loop in innermost_loops(each)]


def parts_of(node: isl.AstNode) -> list[isl.AstNode]:
    """The nodes of a condition or a sequence."""
    if node.get_type() == IF:
        inner = [node.if_get_then_node()]
        return inner + ([node.if_get_else_node()] if node.if_has_else_node() else [])
    return children(node)
