"""Loops while they are translated: the variables that they carry, and how they are left."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from gridlane.core.errors import CompileError
from gridlane.frontends.python.liveness import Flow
from gridlane.frontends.python.operands import Operand
from gridlane.frontends.python.specs import Spec
from gridlane.ir.values import Var

Environment = dict[str, Operand]
"""The variables of a function by name."""


@dataclass(slots=True, eq=False)
class Carrier:
    """A variable that a loop carries: its spec and IR variables once they are known."""

    name: str
    spec: Spec | None = None
    vars: list[Var] = field(default_factory=list[Var])
    head: Operand | None = None


@dataclass(slots=True, eq=False)
class Frame:
    """A loop in the making.

    ``retry`` is set when a guess proved too narrow; what was learned is in the translator.
    ``left`` says whether something leaves the loop, so that what follows is reachable;
    ``else_flag`` is the variable that says that the loop ended without a break. ``unbound`` is the
    error of a variable that was read before anything bound it.
    """

    node: ast.For | ast.While
    flow: Flow
    carriers: dict[str, Carrier]
    retry: bool = False
    left: bool = False
    else_flag: Var | None = None
    unbound: CompileError | None = None
