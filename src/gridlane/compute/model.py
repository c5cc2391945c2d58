"""A loop nest as statements with their loops and accesses, in the texts that isl reads.

Verdoolaege, "isl: An Integer Set Library for the Polyhedral Model", 2010. A statement runs once for
each point of its domain: the values of the loops around it. A text of isl holds the names of loops
and of parameters: extents, and integer arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import field

from gridlane.compute.tensors import TensorType
from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen
from gridlane.core.source import Loc


@frozen
class Access:
    """What a statement reads or writes: an element of a tensor, or a variable.

    Attributes:
        name: of the tensor or variable.
        indices: in isl's text; None if one of them is not affine, so that it may be any element.
        loc: of the expression.
    """

    name: str
    indices: tuple[str, ...] | None
    loc: Loc


@frozen
class LoopName:
    """A loop: a name that no other loop of the nest has, and that of the function's text.

    Attributes:
        downward: it counts down.
        parallel: the user's word that its iterations do not depend on each other.
    """

    name: str
    text: str
    loc: Loc
    downward: bool = False
    parallel: bool = False


@frozen
class Statement:
    """An assignment of the nest.

    Attributes:
        name: ``S0``, ``S1``, in the order of the text.
        loops: those around it, outermost first.
        domain: conditions on the names of loops, in isl's text.
        place: where it stands: the position among its siblings at each depth, one more than loops.
        node: the assignment; an augmented one is one too.
        write: what it writes.
        reads: what it reads, conditions that are not affine included.
        tests: conditions that are not affine, under which alone it writes.
        operator: of a reduction ``x = x op value``, where the value does not read x: one of
            ``+``, ``*``, ``min``, ``max``, ``&``, ``|``, ``^``; else empty.
    """

    name: str
    loops: tuple[LoopName, ...]
    domain: tuple[str, ...]
    place: tuple[int, ...]
    node: ast.Assign | ast.AugAssign
    write: Access
    reads: tuple[Access, ...]
    tests: tuple[ast.expr, ...]
    operator: str
    loc: Loc


@frozen
class Nest:
    """The loops of a function.

    Attributes:
        name: of the function.
        tensors, scalars: types of the arguments by name, in the order of ``arguments``.
        arguments: the names of the arguments in order.
        weak: scalars of Python's types int and float, which have the type of what they meet.
        extents: names of extents, with their bounds.
        variables: scalars that statements write.
        origins: the name in the text of a variable that has another one.
        captured: numbers outside of the function that it reads.
        conversions: names outside of the function that are dtypes.
        statements: in the order of the text.
        place: where a part of the function's text stands.
    """

    name: str
    arguments: tuple[str, ...]
    tensors: dict[str, TensorType]
    scalars: dict[str, DType]
    weak: frozenset[str]
    extents: dict[str, tuple[int, int | None]]
    variables: tuple[str, ...]
    captured: dict[str, int | float | bool]
    conversions: dict[str, DType]
    statements: tuple[Statement, ...]
    place: Callable[[ast.AST], Loc]
    origins: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names that isl's texts may hold beside loops: extents and integer arguments."""
        whole = [name for name, kind in self.scalars.items() if kind.is_integer]
        return tuple(dict.fromkeys((*self.extents, *whole)))

    @property
    def names(self) -> set[str]:
        """All names of arguments, extents, variables and loops."""
        loops = [loop for each in self.statements for loop in each.loops]
        texts = {name for loop in loops for name in (loop.name, loop.text)}
        return {*self.arguments, *self.extents, *self.variables, *self.captured, *texts}
