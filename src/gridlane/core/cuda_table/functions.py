"""The functions of the table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from gridlane.core.cuda_table.reading import declared, split_outside
from gridlane.core.cuda_text import lines

Api = Literal["driver", "runtime", "nvrtc"]
_ROW = re.compile(
    r"(?P<name>\w+) (?P<since>[\d.]+)(?:-(?P<until>\d+))? \((?P<params>.*)\)"
    r"(?: : (?P<result>[^-]+?))?(?: -> (?P<outs>[\w&?, ]+?))?(?: (?P<hidden>-))?"
    r"(?: (?P<own>pt[sd][sz]))?"
    r"(?: @(?P<needs>\w+))?(?: = (?P<does>.+?)(?:  # (?P<about>.+))?)?(?: ! (?P<refused>.+))?"
)
_HEADING = re.compile(r"\[(?P<family>.+)\] needs (?P<needs>\w+)(?:, refused: (?P<refused>.+))?")
Needs = Literal["nothing", "driver", "context"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function: its type as in C, and its name."""

    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Function:
    """A function that a library exports.

    Attributes:
        api: the library.
        name: as it is exported: ``cuMemAlloc_v2``.
        family: the heading that it is under.
        since: the CUDA that has it first, (major, minor); of the runtime 12 is the first that is
            told apart.
        until: the last major version that has it; None for one that all later versions have.
        result: the type of its result; "" for the API's error code.
        outs: the parameters that Python's caller gets back; None if Python does not know this
            version of the function.
        given: the parameters that its call in ``calls/`` returns; all others are arguments.
        both: those of them that the caller passes as well ("&").
        optional: those of them for which the caller may pass a null pointer ("?").
        per_thread: the suffix of its form for the default stream of a thread: ``ptsz`` for those
            that take a stream, ``ptds`` for those that do not; "" if there is none.
        needs: the state that it needs: ``driver`` for one that is initialised, ``context`` for a
            current context, which the runtime makes itself.
        does: what it does, of functions that one expression describes; ``abi/calls/rows.py``
            compiles it.
        about: its docstring.
        refused: the reason why gridlane lacks it; "" for functions that it has.
    """

    api: Api
    name: str
    family: str
    since: tuple[int, int]
    until: int | None
    parameters: tuple[Parameter, ...]
    result: str
    outs: tuple[str, ...] | None
    given: tuple[str, ...]
    both: tuple[str, ...]
    optional: tuple[str, ...]
    per_thread: str
    needs: Needs
    does: str
    about: str
    refused: str

    @property
    def base(self) -> str:
        """Its name in programs: ``cuMemAlloc``."""
        return re.sub(r"_v\d$", "", self.name)


@cache
def functions(api: Api) -> Mapping[str, Function]:
    """The functions of a library by their exported names. One that CUDA 12 and 13 have with
    different parameters is ``NAME`` of 13 and ``NAME@12``.

    >>> row = functions("driver")["cuMemAlloc_v2"]
    >>> row.base, row.since, row.outs, row.parameters[0]
    ('cuMemAlloc', (3, 2), ('dptr',), Parameter(type='CUdeviceptr *', name='dptr'))
    """
    rows_by_name: dict[str, Function] = {}
    heading: re.Match[str] | None = None
    for line in lines(api):
        if line.startswith("["):
            heading = _HEADING.fullmatch(line)
            continue
        row = _ROW.fullmatch(line)
        if row is None or heading is None:
            raise ValueError(f"{api}.txt has no function here: {line}")
        function_object = _function(api, heading, row)
        rows_by_name[
            function_object.name
            if function_object.name not in rows_by_name
            else f"{function_object.name}@12"
        ] = function_object
    kin = {row.base: row for row in rows_by_name.values() if row.outs is not None}
    for key, row in rows_by_name.items():
        if row.outs is None and not row.given and row.base in kin:
            like = kin[row.base]
            given, both, optional = (
                _shared(row, each) for each in (like.given, like.both, like.optional)
            )
            rows_by_name[key] = replace(row, given=given, both=both, optional=optional)
    return rows_by_name


def exported(api: Api, major: int) -> list[Function]:
    """The functions that a library of a major version of CUDA exports."""
    rows_by_name: dict[str, Function] = {}
    for key, row in functions(api).items():
        wanted = row.since[0] <= major and (row.until is None or major <= row.until)
        if wanted and (row.name not in rows_by_name or "@" in key):
            rows_by_name[row.name] = row
    return list(rows_by_name.values())


def _shared(row: Function, given: tuple[str, ...]) -> tuple[str, ...]:
    """The returned parameters of a function without a Python form: those of the newer function of
    its name, as far as it has them."""
    own = {each.name for each in row.parameters}
    return tuple(name for name in given if name in own)


def _function(api: Api, heading: re.Match[str], row: re.Match[str]) -> Function:
    major, _, minor = row["since"].partition(".")
    outs = tuple(row["outs"].split(", ")) if row["outs"] else ()
    given = tuple(each.strip("&?") for each in outs)
    needs = row["needs"] or heading["needs"]
    assert needs in ("nothing", "driver", "context"), row[0]
    return Function(
        api=api,
        name=row["name"],
        family=heading["family"],
        since=(int(major), int(minor or 0)),
        until=int(row["until"]) if row["until"] else None,
        parameters=tuple(Parameter(*declared(each)) for each in split_outside(row["params"])),
        result=row["result"] or "",
        outs=None if row["hidden"] else given,
        given=given,
        both=tuple(each.strip("&?") for each in outs if each.startswith("&")),
        optional=tuple(each.strip("&?") for each in outs if each.endswith("?")),
        per_thread=row["own"] or "",
        needs=needs,
        does=row["does"] or "",
        about=row["about"] or "",
        refused=row["refused"] or heading["refused"] or "",
    )
