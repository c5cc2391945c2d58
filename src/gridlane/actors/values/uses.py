"""The actors and topics that a handler names, with their places."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from gridlane.core.source import Loc
from gridlane.frontends.python.scope import lookup
from gridlane.frontends.python.source import source_of


@dataclass(frozen=True, slots=True)
class Use:
    """``ctx.send("name", …)`` or ``ctx.publish("topic", …)`` in a handler's own text."""

    method: str
    name: str
    place: Loc


def uses_of(function: Any) -> tuple[Use, ...]:
    """The uses in a handler; those of device functions that it calls are found at run time."""
    source = source_of(function)
    context = source.node.args.args[0].arg
    uses: list[Use] = []
    own = {*function.__code__.co_varnames, *function.__code__.co_cellvars}
    for node in ast.walk(source.node):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner, method = node.func.value, node.func.attr
        is_context = isinstance(owner, ast.Name) and owner.id == context
        if not is_context or method not in ("send", "publish") or not node.args:
            continue
        name = node.args[0]
        value = name.value if isinstance(name, ast.Constant) else None
        if isinstance(name, ast.Name) and name.id not in own:
            _, value = lookup(function, name.id)  # of the module, or of an enclosing function
        if isinstance(value, str):
            uses.append(Use(method, value, source.locate(node)))
    return tuple(uses)
