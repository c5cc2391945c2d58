"""Loops during their translation: their loop-carried variables and their exits."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from gridlane.core.errors import NameLookupError
from gridlane.core.source import Loc
from gridlane.frontends.python.liveness import Flow
from gridlane.frontends.python.operands import Operand
from gridlane.frontends.python.specs import Spec
from gridlane.ir.values import Var

Environment = dict[str, Operand]
"""The variables of a function by name."""
Copy = tuple[object, ...]
"""What tells copies of a statement apart: the places of the inlined calls and the numbers of the
unrolled iterations that it stands in."""


@dataclass(slots=True, eq=False)
class Carrier:
    """A loop-carried variable: its spec and IR variables once they are known, or the operand that
    it must stay, as that has no spec."""

    name: str
    spec: Spec | None = None
    vars: list[Var] = field(default_factory=list[Var])
    head: Operand | None = None
    fixed: Operand | None = None


@dataclass(slots=True, eq=False)
class Frame:
    """A loop during its translation.

    ``copy`` is the number of the loop's copy, as each copy has its own types of variables.
    ``retry`` is set if a guessed type proved too narrow; the translator records the wider one.
    ``left``: whether the loop has an exit, so that the code after it is reachable. ``else_flag`` is
    the variable that is true if the loop ended without a break. ``unbound`` is the error of a
    variable that was read before it was bound.
    """

    node: ast.For | ast.While
    flow: Flow
    carriers: dict[str, Carrier]
    copy: Copy = ()
    retry: bool = False
    left: bool = False
    else_flag: Var | None = None
    unbound: UnboundYet | None = None


class UnboundYet(NameLookupError):
    """A variable that an iteration may find bound by an earlier one, read before it was seen.
    ``frame`` is the loop that is translated again once it has been."""

    def __init__(self, name: str, loc: Loc, frame: Frame) -> None:
        super().__init__(_UNBOUND.format(name), loc)
        self.variable = name
        self.frame = frame


def unbound(loops: list[Frame], name: str, loc: Loc) -> NameLookupError:
    """The error of a variable that is read before it is bound: one that the innermost of the open
    loops that may bind it retries, else one for the user."""
    for frame in reversed(loops):
        if name in frame.carriers and name in frame.flow.live_head:
            return UnboundYet(name, loc, frame)
    return NameLookupError(_UNBOUND.format(name), loc)


_UNBOUND = "{} is read here, but nothing has been assigned to it on this path; assign it before"
