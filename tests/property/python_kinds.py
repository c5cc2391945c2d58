"""Kinds of plain Python's values, and the variables that have one on a path."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Kind:
    """A kind of values.

    Attributes:
        items: of a tuple.
        size: items of a view, of ``element``, the name of a dtype.
        fields: the name of a namedtuple, or ``LIST``.
    """

    name: str
    items: tuple[Kind, ...] = ()
    size: int = 0
    element: str = ""
    fields: str = ""


INT, NUMBER, BOOL, TEXT = Kind("int"), Kind("number"), Kind("bool"), Kind("text")
RANGE = Kind("range")
"""``NUMBER`` is an int, a float or a bool, whichever path was taken."""
NUMBERS = frozenset({INT, NUMBER, BOOL})
PAIR = Kind("tuple", (INT, NUMBER), fields="Pair")
LIST = "list"
"""The ``fields`` of what Python's starred targets get, which does not compare with tuples."""


def tuple_of(*items: Kind) -> Kind:
    return Kind("tuple", items)


def view_of(size: int, element: str = "int64") -> Kind:
    return Kind("view", size=size, element=element)


@dataclass(frozen=True)
class Function(Kind):
    """A function: a kind of its own, as a variable holds one on all paths.

    Attributes:
        number: what tells functions apart.
        params: kinds of what a call gives; the last ``optional`` of them may be left out.
        names: of the parameters, ``only_named`` that of the last one must be written.
        reads: (name, kind, level) of variables around it, as a call must find them.
    """

    number: int = 0
    params: tuple[Kind, ...] = ()
    names: tuple[str, ...] = ()
    only_named: bool = False
    optional: int = 0
    result: Kind = INT
    reads: frozenset[tuple[str, Kind, int]] = frozenset()


@dataclass(frozen=True)
class Variable:
    """A variable that has a value on all paths that come here.

    Attributes:
        level: how many functions stand around its own.
        fixed: nothing else is assigned to it.
    """

    kind: Kind
    level: int = 0
    fixed: bool = False


Environment = dict[str, Variable]


def joined(one: Kind, other: Kind) -> Kind | None:
    """The kind of a variable that has one or the other; None where it must not be read."""
    if one == other:
        return one
    if {one, other} <= NUMBERS:
        return NUMBER
    if (one.name, one.fields, len(one.items)) != ("tuple", other.fields, len(other.items)):
        return None
    items = [joined(a, b) for a, b in zip(one.items, other.items, strict=True)]
    found = tuple([item for item in items if item is not None])
    return replace(one, items=found) if len(found) == len(items) else None


def has_range(kind: Kind) -> bool:
    """Whether a range is in it: loops do not carry those."""
    return kind == RANGE or any(has_range(item) for item in kind.items)


def holds(kind: Kind, other: Kind) -> bool:
    """Whether a variable of a kind may have a value of another."""
    return joined(kind, other) == kind


def meet(ends: Iterable[Environment | None]) -> Environment | None:
    """The variables where paths meet, None where none arrives."""
    met: Environment | None = None
    for end in ends:
        if end is None or met is None:
            met = dict(end) if end is not None else met
            continue
        for name, variable in list(met.items()):
            kind = joined(variable.kind, end[name].kind) if name in end else None
            if kind is None:
                del met[name]
            elif kind != variable.kind:
                met[name] = replace(variable, kind=kind)
    return met
