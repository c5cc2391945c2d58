"""The reads of a function's text from around it: names, and their attributes."""

from __future__ import annotations

import ast

from gridlane.core.frozen import frozen

Path = tuple[str, ...]


@frozen
class Reads:
    """The reads of a function.

    Attributes:
        bare: names without an attribute: their values may be used in any way.
        paths: names with the attributes that follow, as in ``settings.sizes.block``.
        loose: attributes of anything else, such as of a local variable, which may be a module, a
            class or another object from around the function.
    """

    bare: tuple[str, ...]
    paths: tuple[Path, ...]
    loose: frozenset[str]


def reads_of(node: ast.FunctionDef | ast.Lambda, local: frozenset[str]) -> Reads:
    """The reads of a function's body. Names of functions inside it that are also names around it
    count as read: a superfluous read is harmless."""
    bare: set[str] = set()
    paths: set[Path] = set()
    loose: set[str] = set()
    waiting: list[ast.AST] = list(node.body) if isinstance(node, ast.FunctionDef) else [node.body]
    while waiting:
        item = waiting.pop()
        names: list[str] = []
        while isinstance(item, ast.Attribute):
            names.append(item.attr)
            item = item.value
        if isinstance(item, ast.Name):
            if item.id in local:
                loose.update(names)
            elif names:
                paths.add((item.id, *reversed(names)))
            else:
                bare.add(item.id)
            continue
        loose.update(names)
        waiting += ast.iter_child_nodes(item)
    return Reads(tuple(sorted(bare)), tuple(sorted(paths)), frozenset(loose))
