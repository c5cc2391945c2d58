"""The functions of the table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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
        return _base(self.name)


class _Functions(Mapping[str, Function]):
    """The rows of a library, each read at its first use: programs call few of them."""

    def __init__(self, api: Api) -> None:
        self._api: Api = api
        self._texts: dict[str, tuple[str, str]] = {}
        self._keys_by_base: dict[str, list[str]] = {}
        self._read: dict[str, Function] = {}
        heading = ""
        for line in lines(api):
            if line.startswith("["):
                heading = line
                continue
            name = line.partition(" ")[0]
            key = f"{name}@12" if name in self._texts else name
            self._texts[key] = heading, line
            self._keys_by_base.setdefault(_base(name), []).append(key)

    def __getitem__(self, key: str) -> Function:
        if key not in self._read:
            self._read[key] = self._with_shared(self._function(key))
        return self._read[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def _function(self, key: str) -> Function:
        heading, line = self._texts[key]
        above, row = _HEADING.fullmatch(heading), _ROW.fullmatch(line)
        if above is None or row is None:
            raise ValueError(f"{self._api}.txt has no function here: {line}")
        return _function(self._api, above, row)

    def _with_shared(self, row: Function) -> Function:
        """A row without a Python form has the returned parameters of the newest of its name that
        has one, as far as it has them."""
        if row.outs is not None or row.given:
            return row
        others = map(self._function, self._keys_by_base[row.base])
        kin = [each for each in others if each.outs is not None]
        if not kin:
            return row
        like, own = kin[-1], {each.name for each in row.parameters}
        given, both, optional = (
            tuple(name for name in names if name in own)
            for names in (like.given, like.both, like.optional)
        )
        return replace(row, given=given, both=both, optional=optional)


@cache
def functions(api: Api) -> Mapping[str, Function]:
    """The functions of a library by their exported names. One that CUDA 12 and 13 have with
    different parameters is ``NAME`` of 13 and ``NAME@12``.

    >>> row = functions("driver")["cuMemAlloc_v2"]
    >>> row.base, row.since, row.outs, row.parameters[0]
    ('cuMemAlloc', (3, 2), ('dptr',), Parameter(type='CUdeviceptr *', name='dptr'))
    """
    return _Functions(api)


def exported(api: Api, major: int) -> list[Function]:
    """The functions that a library of a major version of CUDA exports."""
    rows_by_name: dict[str, Function] = {}
    for key, row in functions(api).items():
        wanted = row.since[0] <= major and (row.until is None or major <= row.until)
        if wanted and (row.name not in rows_by_name or "@" in key):
            rows_by_name[row.name] = row
    return list(rows_by_name.values())


def _base(name: str) -> str:
    return re.sub(r"_v\d$", "", name)


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
