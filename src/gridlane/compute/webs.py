"""Variables apart: a name whose values do not meet is several variables.

A web is the statements between which the values of a variable flow (Muchnick, "Advanced Compiler
Design and Implementation", 1997, section 16.3.3). Two nests in a row that use ``w`` do not depend
on each other by it.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from dataclasses import replace

import islpy as isl

from gridlane.compute.assigned import require_assigned
from gridlane.compute.model import Access, Nest, Statement
from gridlane.compute.polyhedra import Polyhedra

_SET = isl.dim_type.set


def apart(nest: Nest) -> Nest:
    """The same nest with a name of its own for each web of a variable.

    Raises:
        TypingError: a variable may be read before it is written.
    """
    flows, names, origins = Polyhedra(nest, private=False), {*nest.names}, dict(nest.origins)
    require_assigned(nest, flows)
    renamed: dict[str, dict[str, str]] = {}
    variables: list[str] = []
    for variable in nest.variables:
        for number, web in enumerate(_webs(nest, flows, variable)):
            name, count = variable, number + 1
            while number and name in names:
                name, count = f"{variable}_{count}", count + 1
            names.add(name)
            variables.append(name)
            origins[name] = nest.origins.get(variable, variable)
            for statement in web:
                renamed.setdefault(statement, {})[variable] = name
    statements = [_renamed(each, renamed.get(each.name, {})) for each in nest.statements]
    return replace(nest, variables=tuple(variables), statements=tuple(statements), origins=origins)


def _webs(nest: Nest, flows: Polyhedra, variable: str) -> list[list[str]]:
    """The statements of each web of a variable, in the order of the text."""
    users = [each.name for each in flows.users(variable)]
    web = {name: name for name in users}

    def top(name: str) -> str:
        while web[name] != name:
            name = web[name]
        return name

    values = flows.flow(variable).get_map_list()
    for number in range(values.n_map()):
        pair = values.get_at(number).get_space()
        one, other = (pair.domain(), pair.range())
        ends = [str(each.get_tuple_name(_SET)) for each in (one, other)]
        web[top(ends[1])] = top(ends[0])
    found: dict[str, list[str]] = {}
    for name in users:
        found.setdefault(top(name), []).append(name)
    return [*found.values()]


def _renamed(statement: Statement, names: Mapping[str, str]) -> Statement:
    if all(one == other for one, other in names.items()):
        return statement

    def access(each: Access) -> Access:
        return replace(each, name=names.get(each.name, each.name))

    node, tests = copy.deepcopy((statement.node, statement.tests))
    for tree in (node, *tests):
        for each in ast.walk(tree):
            if isinstance(each, ast.Name):
                each.id = names.get(each.id, each.id)
    return replace(
        statement, write=access(statement.write), reads=tuple(map(access, statement.reads)),
        node=node, tests=tests,
    )  # fmt: skip
