"""Device functions of other frontends, which join a program's module."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from gridlane.frontends.triton.context import unit
from gridlane.ir.ops.control import Call
from gridlane.ir.values import Function, Module


def imported(
    key: tuple[Hashable, ...], prefix: str, make: Callable[[], tuple[Module, Function]]
) -> Function:
    """A function with all that it calls, once for each key. ``make`` translates it, into a module
    of its own."""
    u = unit()
    known = u.functions.get(key)
    if known is None:
        module, known = make()
        names = {name: u.unique(f"{prefix}.{name}") for name in module.functions}
        for function in [*module.functions.values()]:
            function.name = names[function.name]
            for op in function.body.walk():
                if isinstance(op, Call):
                    op.callee = names[op.callee]
            u.module.functions[function.name] = function
        u.functions[key] = known
    return known
