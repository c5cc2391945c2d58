"""The version and the target of a linked text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gridlane.frontends.ptx.module import PtxModule

_TARGET = re.compile(r"sm_(\d+)([af]?)")
_FOR_DEBUGGERS = "debug"
"""The option that demands sections for debuggers, which linking leaves out."""


def head(units: Sequence[PtxModule]) -> str:
    """The first lines: the newest version, and the highest target.

    Raises:
        PtxError: a target is of one generation alone, and another unit is for a later one; or
            options of targets differ.
    """
    major, minor = max(unit.version for unit in units)
    target = ", ".join((_highest(units), *_options(units)))
    return f".version {major}.{minor}\n.target {target}\n.address_size 64\n"


def _highest(units: Sequence[PtxModule]) -> str:
    highest = max(units, key=_order)
    for unit in units:
        number, suffix = _parts(unit)
        if suffix and (number, suffix) != _parts(highest) and number < _parts(highest)[0]:
            unit.text.fail(
                f"the target {unit.target} is of one generation alone, and {highest.text.name} is "
                f"for {highest.target}; compile both for one target",
                unit.text.code.index(unit.target),
                len(unit.target),
            )
    return highest.target


def _parts(unit: PtxModule) -> tuple[int, str]:
    match = _TARGET.fullmatch(unit.target)
    assert match is not None  # the index took it
    return int(match[1][:9]), match[2]


def _order(unit: PtxModule) -> tuple[int, int]:
    number, suffix = _parts(unit)
    return number, ("", "f", "a").index(suffix)


def _options(units: Sequence[PtxModule]) -> tuple[str, ...]:
    first, *others = units
    wanted = {each for each in first.options if each != _FOR_DEBUGGERS}
    for unit in others:
        if {each for each in unit.options if each != _FOR_DEBUGGERS} != wanted:
            unit.text.fail(
                f"the options of .target are {', '.join(unit.options) or 'none'} here and "
                f"{', '.join(first.options) or 'none'} in {first.text.name}",
                unit.text.code.index(".target"),
                7,
            )
    return tuple(each for each in first.options if each != _FOR_DEBUGGERS)
