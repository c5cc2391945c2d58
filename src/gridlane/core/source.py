"""Source locations and the caret display that every diagnostic uses."""

from __future__ import annotations

import linecache
import os
from pathlib import Path

from gridlane.core.frozen import frozen


@frozen
class Loc:
    """A place in a source file.

    ``line`` and ``column`` count from 1; 0 means unknown. ``caller`` is the location of the call
    when the code was inlined.
    """

    file: str
    line: int
    column: int = 0
    end_column: int = 0
    function: str = ""
    caller: Loc | None = None

    def __str__(self) -> str:
        if not self.line:
            return self.file or "<unknown>"
        return f"{self.file}:{self.line}" + (f":{self.column}" if self.column else "")

    def inlined_at(self, caller: Loc) -> Loc:
        """This location, inlined into the call at ``caller``."""
        outer = caller if self.caller is None else self.caller.inlined_at(caller)
        return Loc(self.file, self.line, self.column, self.end_column, self.function, outer)


UNKNOWN = Loc("", 0)
_OWN = str(Path(__file__).parents[1]) + os.sep


def is_own_file(name: str) -> bool:
    """Whether a file is one of gridlane's own."""
    return name.startswith(_OWN)


def is_own(loc: Loc) -> bool:
    """Whether a place is in gridlane's own files."""
    return is_own_file(loc.file)


def users(loc: Loc) -> Loc:
    """The innermost place of a location and its callers that is not in gridlane's own files, such
    as its headers of CUDA C++; the location itself if all are."""
    place: Loc | None = loc
    while place is not None and is_own(place):
        place = place.caller
    return place or loc


def snippet(loc: Loc) -> str:
    """The located source line with a caret under the construct, or "" without a source."""
    text = linecache.getline(loc.file, loc.line).rstrip("\n") if loc.line else ""
    if not text:
        return ""
    shown = text.expandtabs(1)
    lines = [f"{loc.line:5d} | {shown}"]
    if loc.column:
        width = max(1, min(loc.end_column, len(shown) + 1) - loc.column)
        lines.append("      | " + " " * (loc.column - 1) + "^" * width)
    return "\n".join(lines)


def describe(loc: Loc) -> str:
    """File and line, the line with its caret, and the chain of inlined calls."""
    if loc == UNKNOWN:
        return ""
    where = f'  File "{loc.file}", line {loc.line}'
    if loc.function:
        where += f", in {loc.function}"
    parts = [where, snippet(loc)]
    if loc.caller is not None:
        parts += ["  called from", describe(loc.caller)]
    return "\n".join(part for part in parts if part)
