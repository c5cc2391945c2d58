"""The names that a function binds, and those that functions inside of it read from around them.

Python Language Reference, section 4.2.2: a name that is bound in a function is local to it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

Names = frozenset[str]
Nested = ast.FunctionDef | ast.Lambda


def walk_own(roots: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes of one function: of functions inside of it the node itself and its defaults."""
    waiting = list(roots)
    while waiting:
        item = waiting.pop()
        yield item
        if isinstance(item, ast.FunctionDef | ast.Lambda):
            waiting += [*item.args.defaults, *[each for each in item.args.kw_defaults if each]]
        else:
            waiting += ast.iter_child_nodes(item)


def names_in(roots: Iterable[ast.AST]) -> tuple[Names, Names]:
    """The names that nodes read, what functions inside of them read included, and those that they
    assign."""
    loads: set[str] = set()
    stores: set[str] = set()
    for item in walk_own(roots):
        if isinstance(item, ast.Name):
            (loads if isinstance(item.ctx, ast.Load) else stores).add(item.id)
        elif isinstance(item, ast.AugAssign) and isinstance(item.target, ast.Name):
            loads.add(item.target.id)
        elif isinstance(item, ast.FunctionDef | ast.Lambda):
            loads |= read_around(item)
            if isinstance(item, ast.FunctionDef):
                stores.add(item.name)
    return frozenset(loads), frozenset(stores)


def bound_by(function: Nested) -> Names:
    """The parameters and variables of a function."""
    return names_in(_body(function))[1] | _parameters(function)


def read_around(function: Nested) -> Names:
    """The names that a function reads from around it, for functions inside of it as well."""
    loads, stores = names_in(_body(function))  # once: it visits the functions inside
    return loads - stores - _parameters(function)


def read_by_nested(roots: Iterable[ast.AST]) -> Names:
    """The names that functions inside of some nodes read from around them. A call reads them
    wherever it is, with the values that they have then."""
    nested = [item for item in walk_own(roots) if isinstance(item, ast.FunctionDef | ast.Lambda)]
    return frozenset().union(*map(read_around, nested))


def _parameters(function: Nested) -> Names:
    args = function.args
    rest = [each for each in (args.vararg, args.kwarg) if each is not None]
    return frozenset(
        [each.arg for each in (*args.posonlyargs, *args.args, *args.kwonlyargs, *rest)]
    )


def _body(function: Nested) -> list[ast.AST]:
    return [*function.body] if isinstance(function, ast.FunctionDef) else [function.body]
