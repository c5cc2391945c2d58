"""Device functions of another frontend, which join the module that calls them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, MutableMapping
from typing import Any

from gridlane.ir.ops.control import Call
from gridlane.ir.values import Function, Module

Make = Callable[[], tuple[Module, Function]]
"""Translates a function, with what it calls, into a module of its own."""


def joined(
    key: Hashable,
    prefix: str,
    make: Make,
    module: Module,
    known: MutableMapping[Any, Function],
    unique: Callable[[str], str],
) -> Function:
    """A function in a module, with all that it calls, once for each key.

    Args:
        prefix: of the names of functions.
        known: the functions that joined, by their keys.
        unique: the name that a function has in the module, by the one that it should have.
    """
    found = known.get(key)
    if found is None:
        made, found = make()
        names = {name: unique(f"{prefix}.{name}") for name in made.functions}
        for function in [*made.functions.values()]:
            function.name = names[function.name]
            for op in function.body.walk():
                if isinstance(op, Call):
                    op.callee = names[op.callee]
            module.functions[function.name] = function
        known[key] = found
    return found
