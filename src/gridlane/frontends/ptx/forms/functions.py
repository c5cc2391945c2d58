"""The table of functions that PTX calls and CUDA defines: ``vprintf``, ``__assertfail`` ..."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gridlane.frontends.ptx.values import Values
from gridlane.ir.values import Value

Call = Callable[[Values, Sequence[Value]], Sequence[Value]]
"""Translates a call: it gets a value for each argument (one for each piece of an argument that is
bytes; an address as a pointer where its variable is known) and returns one for each result."""

FUNCTIONS: dict[str, Call] = {}

MEETING = "gridlane_meet_grid"
"""The barrier of a grid in ``cooperative_groups.h`` of whole programs: it has a body, for drivers
that compile the PTX themselves."""


def function(*names: str) -> Callable[[Call], Call]:
    """Put functions into the table: the decorated one translates calls of them."""

    def declare(call: Call) -> Call:
        FUNCTIONS.update(dict.fromkeys(names, call))
        return call

    return declare
