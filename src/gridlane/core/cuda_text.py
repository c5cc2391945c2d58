"""Read the text files of ``cuda_table`` without the rest of it: failures need little of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_ROOM = Path(__file__).parent / "cuda_table"


def _text(name: str) -> str:
    return (_ROOM / f"{name}.txt").read_text(encoding="ascii")


def lines(name: str) -> Iterator[str]:
    """The lines of a file of the table, without its comments and empty lines."""
    for line in _text(name).splitlines():
        if line and not line.startswith("#"):
            yield line


def pairs(row: str) -> list[tuple[str, str]]:
    """The names and values of a row of an enumeration."""
    return re.findall(r"(\w+) ([+-]?\d+)", row)


def numbers(*tags: str) -> list[dict[str, int]]:
    """The names and values of a few enumerations by their tags, later ones as well."""
    text = _text("enums")
    values: list[dict[str, int]] = []
    for tag in tags:
        begin = re.search(rf"^enum {tag}\b", text, re.MULTILINE)
        assert begin is not None, tag
        _, *members = text[begin.start() : text.find("\nenum ", begin.end())].split("\n")
        values.append({name: int(value) for row in members for name, value in pairs(row)})
    return values
