"""Device functions of other frontends, which join a program's module."""

from __future__ import annotations

from collections.abc import Hashable

from gridlane.frontends.foreign.joining import Make, joined
from gridlane.frontends.triton.context import unit
from gridlane.ir.values import Function


def imported(key: tuple[Hashable, ...], prefix: str, make: Make) -> Function:
    """A function with all that it calls, once for each key. ``make`` translates it, into a module
    of its own."""
    u = unit()
    return joined(key, prefix, make, u.module, u.functions, u.unique)
