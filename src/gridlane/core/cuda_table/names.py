"""The enumerations, the other names of types, the callbacks and the constants of the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gridlane.core.cuda_text import lines, pairs


@dataclass(frozen=True, slots=True)
class Enum:
    """An enumeration.

    Attributes:
        names: its tag, then its other names.
        values: by name, in the order of the header.
        later: those that came after CUDA 13.0, which no function of gridlane knows.
    """

    names: tuple[str, ...]
    values: Mapping[str, int]
    later: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Callback:
    """A pointer to a function of the caller's, by its prototype in C."""

    name: str
    prototype: str


@cache
def enums() -> Mapping[str, Enum]:
    """The enumerations by each of their names.

    >>> enums()["CUresult"].values["CUDA_ERROR_NOT_FOUND"]
    500
    """
    enums_by_name: dict[str, Enum] = {}
    values: dict[str, int] = {}
    later: dict[str, int] = {}
    for line in lines("enums"):
        if line.startswith("  "):
            for name, value in pairs(line):
                (later if value.startswith("+") else values)[name] = int(value)
        else:
            values, later = {}, {}
            enum = Enum(tuple(line.split()[1:]), values, later)
            enums_by_name.update(dict.fromkeys(enum.names, enum))
    return enums_by_name


@cache
def _others() -> tuple[Mapping[str, str], Mapping[str, Callback], Mapping[str, int]]:
    named: dict[str, str] = {}
    called: dict[str, Callback] = {}
    numbers: dict[str, int] = {}
    known = {name: value for each in enums().values() for name, value in each.values.items()}
    for line in lines("names"):
        kind, _, rest = line.partition(" ")
        if kind == "callback":
            name = rest.partition("(*")[2].partition(")")[0]
            called[name] = Callback(name, rest)
            continue
        name, _, what = rest.partition(" ")
        if kind == "type":
            named[name] = what
        else:
            numbers[name] = known[what] if what in known else int(what)
    return named, called, numbers


def aliases() -> Mapping[str, str]:
    """The types of names: ``CUdevice`` is ``int``, ``CUcontext`` a handle."""
    return _others()[0]


def callbacks() -> Mapping[str, Callback]:
    """The callbacks by name."""
    return _others()[1]


def constants() -> Mapping[str, int]:
    """The numbers that headers define as macros.

    >>> constants()["CU_MEMHOSTALLOC_DEVICEMAP"]
    2
    """
    return _others()[2]
