"""Variables that are elements: ``w = a[i, j]``, sums in w, then ``a[i, j] = w``.

The element itself has the values of such a variable, if nothing else accesses it meanwhile. A
variable ties its statements to one thread; those of an element may be in any order that keeps the
dependences.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from dataclasses import replace

from gridlane.compute.model import Access, Nest, Statement
from gridlane.compute.polyhedra import Polyhedra
from gridlane.core.dtypes import DType


def without_copies(
    nest: Nest,
    types_of: Callable[[Nest], Callable[[str], DType]],
    same: Mapping[str, str] | None = None,
) -> Nest:
    """The same nest with elements in the places of variables that are copies of them.

    Args:
        types_of: the types of a nest's variables.
        same: tensors that are the same array as another one.
    """
    if not nest.variables:
        return nest
    polyhedra, type_of = Polyhedra(nest, same), types_of(nest)
    for name in nest.variables:
        pair = _ends(polyhedra, name)
        if pair is None or type_of(name) != nest.tensors[pair[0].write.name].dtype:
            continue
        last, first = pair
        statements = [
            _with_element(each, name, last)
            for each in nest.statements
            if each is not first and not (each is last and _is_name(each.node.value, name))
        ]
        variables = tuple([each for each in nest.variables if each != name])
        changed = replace(nest, statements=tuple(statements), variables=variables)
        after = types_of(changed)
        if all(after(each) == type_of(each) for each in variables):
            return without_copies(changed, types_of, same)
    return nest


def _ends(polyhedra: Polyhedra, name: str) -> tuple[Statement, Statement] | None:
    """The statement that stores a variable in an element, and the one that loads it from there."""
    users = polyhedra.users(name)
    first, last = users[0], users[-1]
    if not isinstance(first.node, ast.Assign) or not isinstance(last.node, ast.Assign):
        return None
    element, depth = last.write, len(first.loops)
    if (
        first.write.name != name
        or not isinstance(first.node.value, ast.Subscript)
        or element.name not in polyhedra.nest.tensors
        or element.indices is None
        or [(each.name, each.indices) for each in first.reads] != [(element.name, element.indices)]
        or not any(each.name == name for each in last.reads)
        or (first.loops, first.domain) != (last.loops, last.domain)
        or first.tests
        or last.tests
        or polyhedra.private.get(name, 0) < depth
    ):
        return None
    texts = {each.text for each in first.loops}
    start, end = first.place, last.place
    for each in polyhedra.nest.statements:
        is_user = each in users
        is_inside = each.loops[:depth] == first.loops and each.place[:depth] == start[:depth]
        is_between = is_inside and start[depth] <= each.place[depth] <= end[depth]
        if is_user and not (is_between and not texts & {e.text for e in each.loops[depth:]}):
            return None
        if is_between and _accesses(polyhedra, each, first, last):
            return None
    return last, first


def _accesses(polyhedra: Polyhedra, each: Statement, first: Statement, last: Statement) -> bool:
    """Whether a statement may access the element, but by its load and store."""
    accesses = [*each.reads] if each is first or each is last else [each.write, *each.reads]
    if each is first:
        accesses = []
    element = polyhedra.access(last, last.write)
    for access in accesses:
        memory = polyhedra.memory(access)
        if memory == polyhedra.memory(last.write):
            pairs = element.apply_range(polyhedra.access(each, access).reverse())
            if not pairs.intersect(
                polyhedra.same_iterations(last, each, len(first.loops))
            ).is_empty():
                return True
    return False


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


class _Replaced(ast.NodeTransformer):
    def __init__(self, name: str, element: ast.Subscript) -> None:
        self.name, self.element = name, element

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id != self.name:
            return node
        found = copy.deepcopy(self.element)
        found.ctx = node.ctx
        return ast.copy_location(found, node)


def _with_element(statement: Statement, name: str, last: Statement) -> Statement:
    assert isinstance(last.node, ast.Assign)
    target = last.node.targets[0]
    assert isinstance(target, ast.Subscript)

    def access(each: Access) -> Access:
        if each.name != name:
            return each
        return replace(each, name=last.write.name, indices=last.write.indices)

    if all(each.name != name for each in (statement.write, *statement.reads)):
        return statement
    change = _Replaced(name, target)
    node, tests = copy.deepcopy((statement.node, statement.tests))
    return replace(
        statement, write=access(statement.write), reads=tuple(map(access, statement.reads)),
        node=change.visit(node), tests=tuple([change.visit(each) for each in tests]),
    )  # fmt: skip
