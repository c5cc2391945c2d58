"""The names that a unit keeps to itself, and the numbers of its source files, in a linked text.

A name of a unit's own that another unit has as well gets a new one, which no unit has. It is
replaced wherever the unit has it, also where a label, a parameter or a variable of a function is
called so: what was one name stays one. Only registers that are declared together, as ``%r<4>``,
have names that the text does not spell where it declares them; what they hide stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gridlane.frontends.ptx.body import STATEMENT
from gridlane.frontends.ptx.linking.assembly import Edit
from gridlane.frontends.ptx.module import Item, PtxFunction, PtxModule
from gridlane.frontends.ptx.scopes import RANGE
from gridlane.frontends.ptx.text import Text

_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|(?<![\w$%.])([A-Za-z_$%][\w$]*+)(?!\s*<)(?P<opens>\s*\()?'
)
"""A string, or a name: no number, directive, or part behind a dot. In initial values ``generic`` in
front of a parenthesis is an operator."""
_LINES = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|\.(?:loc|file)\s+(?P<file>\d+)|(?P<inlined>,\s*function_name\s+[\w$%.]+'
    r"(?:\s*\+\s*\w+)?(?:\s*,\s*inlined_at(?:\s+\d+){3})?)"
)
"""A string, the number of a source file, or what ``.loc`` says of functions that were inlined,
which names labels of a section for debuggers."""
_TAKEN = re.compile(r"\$unit\d+(\$+)")
_MOST = 16


def ending(units: Iterable[PtxModule]) -> str:
    """The last characters of new names: no name of any unit ends so behind ``$unit`` and a
    number. They are no digits, so no registers that are declared together have such a name.

    Raises:
        PtxError: a unit has names with very many of these.
    """
    longest = 0
    for unit in units:
        for match in _TAKEN.finditer(unit.text.code):
            longest = max(longest, len(match[1]))
            if longest >= _MOST:
                unit.text.fail("a name ends like those that linking makes", match.start())
    return "$" * (longest + 1)


class Files:
    """The numbers of source files: each of each unit gets one of its own."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], str] = {}

    def number(self, unit: int, own: str) -> str:
        """The number in the linked text of a number in a unit."""
        return self._known.setdefault((unit, own.lstrip("0")), str(len(self._known) + 1))

    def edits(self, unit: int, text: Text, start: int, end: int) -> Iterator[Edit]:
        """What changes in a part of a unit."""
        for match in _LINES.finditer(text.code, start, end):
            if match["inlined"]:
                yield (*match.span(), "")
            elif match["file"]:
                number = self.number(unit, match["file"])
                if number != match["file"]:
                    yield (*match.span("file"), number)


def renamed(text: Text, item: Item, names: dict[str, str]) -> Iterator[Edit]:
    """What changes in a directive whose names have new ones.

    Raises:
        PtxError: a body has what is no statement, so that nothing is known of its names.
    """
    declared_item = item.made
    has_body = isinstance(declared_item, PtxFunction) and declared_item.has_body
    head = declared_item.start if isinstance(declared_item, PtxFunction) and has_body else item.end
    is_value = item.kind == "variable"
    yield from _tokens(text, item.start, head, names, _Hidden(), is_value)
    if isinstance(declared_item, PtxFunction) and has_body:
        yield from _in_body(text, declared_item, names)


class _Hidden:
    """The names of registers that are declared together, in the scopes that are open."""

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = {}
        self._scopes: list[list[str]] = [[]]

    def open(self) -> None:
        """A scope begins."""
        self._scopes.append([])

    def close(self) -> bool:
        """The innermost scope ends; whether there was one but the outermost."""
        for stem in self._scopes.pop():
            self._counts[stem].pop()
        return bool(self._scopes)

    def declare(self, stem: str, count: int) -> None:
        """Registers of the innermost scope."""
        counts = self._counts.setdefault(stem, [0])
        counts.append(max(counts[-1], count))
        self._scopes[-1].append(stem)

    def __contains__(self, name: str) -> bool:
        stem = name.rstrip("0123456789")
        digits = name[len(stem) :]
        counts = self._counts.get(stem)
        if counts is None or not 0 < len(digits) < 11 or (digits[0] == "0" and digits != "0"):
            return False
        return int(digits) < counts[-1]


def _tokens(
    text: Text,
    start: int,
    end: int,
    names: dict[str, str],
    hidden: _Hidden,
    is_value: bool = False,
) -> Iterator[Edit]:
    for match in _TOKEN.finditer(text.code, start, end):
        new = names.get(match[1]) if match[1] else None
        is_operator = is_value and match[1] == "generic" and match["opens"]
        if new is not None and not is_operator and match[1] not in hidden:
            yield (*match.span(1), new)


def _in_body(text: Text, function: PtxFunction, names: dict[str, str]) -> Iterator[Edit]:
    position, hidden = function.start, _Hidden()
    while match := STATEMENT.match(text.code, position, function.end):
        position = match.end()
        if match["loc"]:
            continue
        if match["brace"] == "{":
            hidden.open()
        elif match["brace"] and not hidden.close():
            text.fail("this brace closes nothing", match.start("brace"))
        if (match["op"] or "").startswith(".reg"):
            for each in RANGE.finditer(match["rest"]):
                base = 16 if each[2][1:2] in ("x", "X") else 10
                hidden.declare(each[1], int(each[2], base))
        for part in ("label", "guard", "rest"):
            if match[part]:
                yield from _tokens(text, *match.span(part), names, hidden)
    if text.code[position : function.end].strip():
        position += len(text.code[position:]) - len(text.code[position:].lstrip())
        text.fail("no statement of PTX", position)
